"""Replay and drain, each beside a clean live run of the very same transactions.

Each round begins with a copy of a database in which the plan is made, approved and to be executed;
planning is not measured. Rates are events a second.
"""

from collections.abc import Callable
from functools import partial
from typing import Any
from uuid import UUID

from psycopg import sql

from bench.report import Row, compare
from bench.work import (
    CLEAN,
    HOST,
    Connection,
    Digest,
    Lab,
    connect,
    count,
    digest,
    keep_none,
    name_of,
    prepare,
    projection,
    rate,
    require,
    run_live,
    start,
    take_turns,
)
from pyreplay import execution
from pyreplay.client import Replay

APPROVER = "bench_approver"
Key = tuple[UUID, UUID, bytes]


class Plan:
    """A database in which a projection failed, and the plan that heals it, of so many items."""

    def __init__(self, lab: Lab, name: str, fixture: str, failures: int, deferred: int) -> None:
        self.lab, self.failures, self.deferred = lab, failures, deferred
        self.healed: Digest | None = None
        dsn = lab.build(name, fixture)
        self.template = name_of(dsn)
        with connect(dsn) as conn:
            self.events = count(conn, "select count(*) from replay.event")
            start(conn, "failed")
            for kind in CLEAN:
                start(conn, kind)
            result = run_live(dsn, keep_none, "failed")
            require((result.failed_count, result.deferred_count), (failures, deferred), "failed")
            self.key = approve(conn, "failed")
            conn.execute("vacuum (analyze)")

    def run(self, kind: str, *, live: bool, number: int) -> float:
        """Execute the plan in a copy of the database, or run the same events live there."""
        dsn = self.lab.create("bench_copy", self.template)
        with connect(dsn) as conn:
            prepare(conn)
            if live:
                work: Callable[[], Any] = partial(run_live, dsn, CLEAN[kind], kind)
            else:
                work = partial(self._execute, conn, kind)
            found = rate(self.events, work)
            self._check(conn, live=live)
            self._require_same(digest(conn), f"{kind}, round {number + 1}")
        return found

    def _execute(self, conn: Connection, kind: str) -> None:
        status = execution.execute(conn, projection(CLEAN[kind], "failed"), *self.key)
        require(status.status, "SUCCEEDED", "the request")

    def _check(self, conn: Connection, *, live: bool) -> None:
        still = self.failures if live else 0
        query = "select count(*) from replay.failure where status = 'OPEN'"
        require(count(conn, query), still, "open failures")
        still = self.deferred if live else 0
        require(count(conn, "select count(*) from replay.deferred"), still, "deferred")

    def _require_same(self, found: Digest, what: str) -> None:
        """All runs of a plan, live or not, must leave the same read model."""
        self.healed = self.healed or found
        require(found, self.healed, what)
        require(found[1], self.events, what)


def approve(conn: Connection, group: str) -> Key:
    """A plan of all open failures, approved by another login role, its execution intended."""
    replay = Replay(conn)
    failures = conn.execute("select failure_id from replay.failure where status = 'OPEN'")
    ids = [failure_id for (failure_id,) in failures]
    made = replay.create_request(HOST, "bench", group, failure_ids=ids, reason="bench")
    key = made.host_id, made.request_id, made.plan_hash
    role = sql.Identifier(APPROVER)
    if not conn.execute("select from pg_roles where rolname = %s", (APPROVER,)).rowcount:
        conn.execute(sql.SQL("create role {} login").format(role))
    conn.execute(sql.SQL("grant replay_approver to {}").format(role))
    replay.add_member(APPROVER)
    # As good as a login of that role, on a server that asks for passwords too.
    conn.execute(sql.SQL("set session authorization {}").format(role))
    replay.approve_request(*key, reason="bench")
    conn.execute("reset session authorization")
    replay.execute_request(*key, reason="bench")
    return key


def measure(lab: Lab, rounds: int, _left_out: list[str]) -> list[Row]:
    size = lab.size
    failures = f"beginnings('{HOST}', {size.failures})"
    rows = []
    replay = Plan(lab, "bench_replay", failures, size.failures, 0)
    for kind, at_least in (("SQL", 0.6), ("Python", 0.5)):
        name = f"replay of {size.failures:,} failures, {kind} handlers: the same live"
        rows.append(_measure(replay, kind, name, at_least, rounds))
    drain = Plan(lab, "bench_drain", f"queue('{HOST}', {size.deferred})", 1, size.deferred)
    name = f"drain of {size.deferred:,} behind one failure, SQL handlers: the same live"
    rows.append(_measure(drain, "SQL", name, 0.6, rounds))
    return rows


def _measure(plan: Plan, kind: str, name: str, at_least: float, rounds: int) -> Row:
    runs = {
        f"{kind} live": lambda number: plan.run(kind, live=True, number=number),
        f"{kind} healed": lambda number: plan.run(kind, live=False, number=number),
    }
    found = take_turns(rounds, runs)
    pairs = list(zip(found[f"{kind} healed"], found[f"{kind} live"], strict=True))
    return compare(name, pairs, at_least=at_least)
