"""The plans of all statements that a session runs, those inside functions too, and what in them
would not scale."""

import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, NamedTuple
from uuid import UUID

import psycopg
from psycopg.errors import Diagnostic

Node = dict[str, Any]

# What stays small, however much is stored. Everything else in the schema grows.
SMALL = {
    "schema_file": "a row a release",
    "install": "one row",
    "error": "as installed",
    "request_transition": "as installed",
    "registry": "a row a published version",
    "registry_entry": "rows a published version",
    "projection": "a row a read model",
    "config": "a row a change of settings",
    "host": "a row a host with several lanes",
    "host_member": "a row a person, or a few",
    "archive": "a row a host that had failures",
    "failure_streak": "a row a projection",
    "instance": "a row a process",
    "outbox_lane": "a row a host and lane",
    "position": "a row a projection, host and lane",
    "trial": "what runs carefully at this moment",
}

# Equal in most rows of a table, so that an index is hardly narrowed down by them.
TENANT = {"host_id", "projection_id", "is_open", "status"}

# What hands on the first rows it gets, so that a LIMIT above it bounds what is read below it.
STREAMING = {"Limit", "Nested Loop", "Subquery Scan", "Result", "LockRows", "ProjectSet"}

SETTINGS = {
    "log_min_duration": "0",
    "log_nested_statements": "on",
    "log_format": "json",
    "log_level": "notice",
}

# In the context of a notice.
FUNCTION = re.compile(r'(?:SQL function "|PL/pgSQL function replay\.)(\w+)')

INDEXES = """
select x.relname, c.relname, array(
  select a.attname from unnest(i.indkey) with ordinality k (attnum, place)
  join pg_attribute a on (a.attrelid, a.attnum) = (i.indrelid, k.attnum)
  order by k.place)
from pg_index i
join pg_class x on x.oid = i.indexrelid
join pg_class c on c.oid = i.indrelid
where c.relnamespace = 'replay'::regnamespace
"""

LARGE = """
select relname from pg_class
where relnamespace = 'replay'::regnamespace and relkind = 'r' and (%s = 0 or reltuples >= %s)
"""


# What accumulates in one host: %(count)s rows of each kind. They refer to nothing.
HISTORY = (
    "insert into replay.progress (host_id, projection_id, scope_type, scope_key, version)"
    " select %(host)s, 1, 'AGGREGATE', 'Thing:past-' || n, 1 from generate_series(1, %(count)s) n",
    "insert into replay.deferred (host_id, projection_id, transaction_id, lane, source_offset,"
    "  deferred_at)"
    " select %(host)s, 1, 'waiting-' || n, 0, n, now() from generate_series(1, %(count)s) n",
    "insert into replay.deferred_scope (host_id, projection_id, scope_type, scope_key,"
    "  first_version, last_version, transaction_id)"
    " select %(host)s, 1, 'AGGREGATE', 'Thing:waiting-' || n / 10, n %% 10 + 2, n %% 10 + 2,"
    "  'waiting-' || n from generate_series(1, %(count)s) n",
    "insert into replay.ledger (host_id, projection_id, transaction_id, fingerprint, applied_at)"
    " select %(host)s, 1, 'past-' || n, '', now() from generate_series(1, %(count)s) n",
    "insert into replay.observation (host_id, projection_id, transaction_id, lane, source_offset,"
    "  delivery_fingerprint, observed_at)"
    " select %(host)s, 1, 'past-' || n, 0, n, '', now() from generate_series(1, %(count)s) n",
    "insert into replay.audit (host_id, action, actor, request_id, failure_id, recorded_at)"
    " select %(host)s, 'FAILURE_RESOLVED', 'past', md5('r' || n / 10)::uuid, md5('f' || n)::uuid,"
    "  now() from generate_series(1, %(count)s) n",
    "insert into replay.request (host_id, request_id, projection_id, strategy, mode, status, plan,"
    "  item_count, member_count, byte_count, reason, requested_by, requested_at, expires_at)"
    " select %(host)s, md5('r' || n)::uuid, 1, 'EXACT', 'EXECUTE', 'SUCCEEDED', '', 10, 10, 0, '',"
    "  'past', now(), now() from generate_series(1, %(count)s) n",
    "insert into replay.request_item (host_id, request_id, item_no, failure_id, fingerprint,"
    "  status)"
    " select %(host)s, md5('r' || n / 10)::uuid, n %% 10, md5('f' || n)::uuid, '', 'SUCCEEDED'"
    " from generate_series(1, %(count)s) n",
    "insert into replay.run (host_id, request_id, fence, status, claimed_by, started_at)"
    " select %(host)s, md5('r' || n)::uuid, 1, 'SUCCEEDED', 'past', now()"
    " from generate_series(1, %(count)s) n",
    "insert into replay.attempt (host_id, request_id, item_no, fence, result, ended_at)"
    " select %(host)s, md5('r' || n / 10)::uuid, n %% 10, 1, 'SUCCEEDED', now()"
    " from generate_series(1, %(count)s) n",
)


@dataclass(frozen=True, slots=True)
class Plan:
    """One statement that ran. function: the innermost one it is in; empty: sent by the client."""

    function: str
    root: Node


class Fault(NamedTuple):
    """What does not scale: in which function a table is read, and how."""

    step: str
    function: str
    table: str
    how: str


class Watcher:
    """Keeps the plans of a session, which must be a superuser's.

    Raises UndefinedFile where the server has no auto_explain, LookupError where it says nothing.
    """

    def __init__(self, conn: psycopg.Connection[Any], **settings: str) -> None:
        self.conn = conn
        self.plans: list[Plan] = []
        conn.execute("load 'auto_explain'")
        for name, value in (SETTINGS | settings).items():
            conn.execute("select set_config(%s, %s, false)", [f"auto_explain.{name}", value])
        conn.add_notice_handler(self._keep)
        conn.execute("select 'watched'")
        if not self.take():
            raise LookupError("auto_explain tells no plans here")

    def take(self) -> list[Plan]:
        """The plans since the last time."""
        taken, self.plans = self.plans, []
        return taken

    def explain(self, query: str) -> None:
        """Keep the plan of a query that is not run, for it has too many rows."""
        found = self.conn.execute(f"explain (format json) {query}").fetchone()
        assert found
        self.plans.append(Plan("", found[0][0]["Plan"]))

    def _keep(self, notice: Diagnostic) -> None:
        before, found, text = (notice.message_primary or "").partition("plan:\n")
        if found and before.startswith("duration"):
            explained = json.loads(text)
            within = FUNCTION.search(notice.context or "")
            self.plans.append(Plan(within[1] if within else "", explained["Plan"]))


class Catalog:
    """The tables to watch and the columns of their indexes, in order.

    at_least: watch those with so many rows, for a table that holds little is best read whole; with
    0 all that grow.
    """

    def __init__(self, conn: psycopg.Connection[Any], at_least: int) -> None:
        self.indexes = {index: (table, columns) for index, table, columns in conn.execute(INDEXES)}
        rows = conn.execute(LARGE, [at_least, at_least])
        self.watched = {name for (name,) in rows} - SMALL.keys()

    def faults(self, step: str, plan: Plan, whole: Collection[str]) -> Iterator[Fault]:
        """What in the plan reads more of a watched table the more it holds.

        whole: tables that it is meant to read whole.
        """
        for table, how in self._walk(plan.root, limited=False):
            if table in self.watched and table not in whole:
                yield Fault(step, plan.function, table, how)

    def _walk(self, node: Node, *, limited: bool) -> Iterator[tuple[str, str]]:
        """Each table that is not looked up in by key, and how it is read instead."""
        kind = node["Node Type"]
        if kind in ("Seq Scan", "Sample Scan"):
            yield node["Relation Name"], kind
        if index := node.get("Index Name"):
            table, columns = self.indexes.get(index, ("", []))
            condition = node.get("Index Cond", "")
            # A filter may let no row pass, and the limit is never reached.
            is_bounded = limited and "Filter" not in node
            if not is_bounded and not _is_narrow(columns, condition):
                yield table, f"{kind} by {index}, {condition or 'all of it'}"
        limited = kind == "Limit" or (limited and kind in STREAMING)
        for child in node.get("Plans", []):
            yield from self._walk(child, limited=limited)


def make_history(conn: psycopg.Connection[Any], host_id: UUID, count: int) -> None:
    with conn.transaction():
        conn.execute("set local session_replication_role = replica")
        for statement in HISTORY:
            conn.execute(statement, {"host": host_id, "count": count})


def _is_narrow(columns: list[str], condition: str) -> bool:
    """Whether the condition binds the index's first columns, and more than the tenant's."""
    bound = takewhile(lambda column: re.search(rf"\b{column}\b", condition), columns)
    return not set(bound) <= TENANT
