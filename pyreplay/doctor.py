"""What is wrong with a server, its engine and the work at hand, and what to do about it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import Any

import psycopg
from psycopg.rows import dict_row

from .binaries import OLDEST_VERSION
from .errors import DriverOutdated, EngineOutdated, NotInstalled
from .install import check_installed

Connection = psycopg.Connection[Any]

ROLES = r"""
select session_user::text, string_agg(r.rolname, ', ' order by r.rolname)
from pg_roles r where r.rolname like 'replay\_%' and pg_has_role(r.oid, 'usage')
"""

# Health as a DBA reads it, one row a projection.
HEALTH = "select * from replay.health order by projection, consumer_group"

PAUSED = "select changed_by, reason from replay.setting where not enabled"

# Intents whose holder is gone with barriers standing.
ABANDONED = """
select request_id, barrier_count from replay.request_status
where retryable and barrier_count > 0 order by requested_at
"""

LIMITED = "select host_id, state, byte_count from replay.capacity where state <> 'OK' order by 1"

UNCONFIRMED = """
select instance_id, state from replay.instance_status
where is_expected and state <> 'CONFIRMED' order by instance_id
"""

# In an order, so that the same cycles are named again.
WAITS = """
select distinct host_id, projection, consumer_group, transaction_id, waits_for
from replay.deferred_wait order by 1, 2, 3, 4, 5
"""

# A deferred transaction: host, projection, consumer group, transaction id.
Node = tuple[Any, str, str, str]

# Cycles that are named, and transactions of each.
_CYCLES_MOST = _NAMES_MOST = 10


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at: OK, NOTE (worth knowing) or TROUBLE (to be mended)."""

    result: str
    check: str
    finding: str
    next: str = ""


def examine(conn: Connection) -> list[Finding]:
    """Every finding; what an earlier one makes pointless is left out.

    conn must be in autocommit; its role should be a superuser or in replay_reader.
    """
    found = list(_check_server(conn))
    engine = _check_engine(conn)
    found.append(engine)
    if engine.result == "TROUBLE":
        return found
    for check in (
        *(_check_roles, _check_projections, _check_deferred),
        *(_check_requests, _check_capacity, _check_instances),
    ):
        try:
            found += check(conn)
        except psycopg.errors.InsufficientPrivilege:
            hint = "Run it as a member of replay_reader."
            found.append(Finding("NOTE", check.__name__[7:], "this role may not look", hint))
    return found


def _check_server(conn: Connection) -> Iterator[Finding]:
    release = conn.info.server_version
    yield _judge(
        release >= OLDEST_VERSION * 10000,
        "server",
        f"PostgreSQL {release // 10000}.{release % 10000}",
        f"Use PostgreSQL {OLDEST_VERSION} or newer.",
    )
    encoding = conn.info.parameter_status("server_encoding")
    yield _judge(encoding == "UTF8", "encoding", str(encoding), "Make a database in UTF8.")
    for name, why in (
        ("autovacuum", "Turn it on: positions and progress are updated all the time."),
        ("track_counts", "Turn it on: autovacuum needs it."),
        ("fsync", "Turn it on: a crash would lose what was acknowledged."),
    ):
        row = conn.execute("select current_setting(%s)", [name]).fetchone()
        yield _judge(row == ("on",), name, row[0] if row else "?", why)


def _check_engine(conn: Connection) -> Finding:
    try:
        check_installed(conn)
    except (NotInstalled, EngineOutdated, DriverOutdated) as error:
        return Finding("TROUBLE", "engine", str(error), error.hint or "")
    except psycopg.errors.InsufficientPrivilege:
        return Finding(
            "TROUBLE", "engine", "this role may not use schema replay", "Grant it a replay_ role."
        )
    return Finding("OK", "engine", "installed, and this driver's")


def _check_roles(conn: Connection) -> Iterator[Finding]:
    for actor, held in conn.execute(ROLES):
        yield Finding("OK" if held else "NOTE", "roles", f"{actor} has {held or 'none of them'}")


def _check_projections(conn: Connection) -> Iterator[Finding]:
    rows = conn.cursor(row_factory=dict_row).execute(HEALTH).fetchall()
    if not rows:
        yield Finding(
            "NOTE", "projections", "none is registered", "`pyreplay register projection NAME`"
        )
    for row in rows:
        troubles = [make(row) for applies, make in PROJECTION_TROUBLES if applies(row)]
        yield from troubles or [
            Finding("OK", _named(row), f"{row['status']}, {row['lag']} transactions to read")
        ]


def _check_deferred(conn: Connection) -> Iterator[Finding]:
    """Cycles of deferred transactions, each of which waits for the next."""
    waits: dict[Node, list[Node]] = {}
    for *place, transaction_id, waits_for in conn.execute(WAITS):
        waits.setdefault((*place, transaction_id), []).append((*place, waits_for))
    for number, cycle in enumerate(_cycles(waits)):
        host_id, projection, group, first = cycle[0]
        check = f"projection {projection} ({group})"
        if number == _CYCLES_MOST:
            more = "further deferred transactions wait for each other"
            yield Finding("TROUBLE", check, more, "They are named once those above are mended.")
            return
        names = [transaction_id for *_, transaction_id in cycle]
        if len(names) - 1 > _NAMES_MOST:
            names[_NAMES_MOST:] = [f"... ({len(names) - 1} in all)"]
        quoted = first.replace("'", "''")
        yield Finding(
            "TROUBLE",
            check,
            f"deferred transactions of host {host_id} wait for each other for ever: "
            + " -> ".join(names),
            "Mend their source: its versions contradict each other, no order applies them all. "
            f"`select * from replay.deferred_work where transaction_id = '{quoted}'`",
        )


def _cycles(waits: dict[Node, list[Node]]) -> Iterator[list[Node]]:
    """Cycles, each from a node back to it along what it waits for, until none is left: what is
    found is taken out by its first step."""
    while True:
        try:
            TopologicalSorter(waits).prepare()
            return
        except CycleError as error:
            cycle: list[Node] = error.args[1][::-1]
        yield cycle
        waits[cycle[0]].remove(cycle[1])


def _check_requests(conn: Connection) -> Iterator[Finding]:
    for changed_by, reason in conn.execute(PAUSED):
        yield Finding(
            "TROUBLE",
            "execution",
            f"replays are paused by {changed_by}: {reason}",
            "`pyreplay resume execution --reason ...`",
        )
    for request_id, count in conn.execute(ABANDONED):
        yield Finding(
            "TROUBLE",
            f"request {request_id}",
            f"its holder is gone and left {count} barriers",
            f"`pyreplay execute request {request_id} ...` goes on and settles them.",
        )


def _check_capacity(conn: Connection) -> Iterator[Finding]:
    for host_id, state, byte_count in conn.execute(LIMITED):
        yield Finding(
            "TROUBLE" if state == "FULL" else "NOTE",
            f"host {host_id}",
            f"{byte_count} bytes of failures are kept: {state}",
            "Heal them, then `pyreplay remove payloads`; or `pyreplay set capacity`.",
        )


def _check_instances(conn: Connection) -> Iterator[Finding]:
    for instance_id, state in conn.execute(UNCONFIRMED):
        yield Finding(
            "TROUBLE",
            f"instance {instance_id}",
            f"it is expected and {state}",
            "Start it, or `pyreplay expect instance NAME --no-longer`.",
        )


def _judge(is_well: bool, check: str, finding: str, otherwise: str) -> Finding:
    return (
        Finding("OK", check, finding) if is_well else Finding("TROUBLE", check, finding, otherwise)
    )


def _named(row: dict[str, Any]) -> str:
    return f"projection {row['projection']} ({row['consumer_group']})"


def _finding(result: str, text: str, step: str) -> Callable[[dict[str, Any]], Finding]:
    return lambda row: Finding(result, _named(row), text.format(**row), step.format(**row))


PROJECTION_TROUBLES: list[
    tuple[Callable[[dict[str, Any]], bool], Callable[[dict[str, Any]], Finding]]
] = [
    (
        lambda row: row["status"] == "REGISTERED",
        _finding("TROUBLE", "it is not started", "`pyreplay start projection {projection}`"),
    ),
    (
        lambda row: row["status"] == "PAUSED",
        _finding(
            "TROUBLE",
            "it is paused ({pause_reason}), {lag} transactions to read",
            "`pyreplay resume projection {projection} --reason ...`",
        ),
    ),
    (
        lambda row: row["fault_count"] > 0,
        _finding(
            "TROUBLE",
            "the last batch of {fault_count} lanes was rolled back whole",
            "`select * from replay.projection_lag where fault_code is not null`",
        ),
    ),
    (
        lambda row: row["incident"],
        _finding(
            "TROUBLE",
            "{blocked_scope_count} scopes are blocked, the oldest for {oldest_age}",
            "`pyreplay list failures --projection {projection}`",
        ),
    ),
    (
        lambda row: row["blocked_scope_count"] > 0 and not row["incident"],
        _finding(
            "NOTE",
            "{blocked_scope_count} scopes are blocked since less than 900 s",
            "`pyreplay list failures --projection {projection}`",
        ),
    ),
    (
        lambda row: row["gap_count"] > 0,
        _finding(
            "TROUBLE",
            "versions are missing in {gap_count} places",
            "`select * from replay.gap`",
        ),
    ),
]
