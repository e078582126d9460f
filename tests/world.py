"""A small application to try the engine on: one read model, and handlers that fail on demand."""

import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any
from uuid import UUID, uuid5

import psycopg
from psycopg import Cursor

from pyreplay import execution
from pyreplay.client import Replay
from pyreplay.live import LiveProcessor
from pyreplay.projection import Event, Projection
from pyreplay.records import BatchResult, FailureSummary, RequestStatus

HOST = UUID("00000000-0000-4000-8000-000000000001")
OTHER_HOST = UUID("00000000-0000-4000-8000-000000000002")
# What holds nothing once all work is done.
AT_REST_EMPTY = (
    *("barrier", "deferred", "deferred_scope", "wake", "batch_item", "outbox_pending"),
    "trial",
)
ROLES = ["replay_reader", "replay_operator", "replay_approver", "replay_processor"]

SCHEMA = """
create schema app;
create table app.seen (
  place bigint generated always as identity primary key,
  host_id uuid not null,
  transaction_id text not null,
  event_id text not null,
  label text not null,
  payload bytea not null
);
"""

Trouble = Callable[[Cursor[Any]], object]


class World:
    """One database with an application in it.

    Aggregates are named A, B, ... A label such as "A@3" names a member: aggregate A, version 3;
    "G#2" names graph root G, revision 2; "u1" an unordered one.
    `trouble` maps a label to what its handler does instead of succeeding. `handled` is what
    handlers were given, in order, whatever came of it.
    """

    def __init__(self, dsn: str, name: str = "orders") -> None:
        self.dsn = dsn
        self.conn: psycopg.Connection[Any] = psycopg.connect(dsn, autocommit=True)
        self.replay = Replay(self.conn)
        self.trouble: dict[str, Trouble] = {}
        self.handled: list[tuple[str, bytes]] = []
        self._people: dict[str, Replay] = {}
        self.projection = Projection(name)
        self.projection.handles("Stepped")(self._handle)
        self.projection.handles("Changed", policy="GRAPH_ROOT")(self._handle)
        self.projection.handles(
            "Noted", policy="TRANSACTION_ONLY", repair_disposition="NOT_REPAIRABLE_UNORDERED"
        )(self._handle)
        if not self.conn.execute("select to_regnamespace('app')").fetchone()[0]:  # type: ignore[index]
            self.conn.execute(SCHEMA)
        self.registry = self.replay.publish_registry(self.projection.entries())
        self.replay.register_projection(name)

    def close(self) -> None:
        for replay in (self.replay, *self._people.values()):
            replay.conn.close()

    def start(self, at: str = "BEGINNING") -> None:
        self.replay.start_projection(self.projection.name, at=at)

    def append(
        self,
        transaction_id: str,
        *labels: str,
        host_id: UUID = HOST,
        replay: Replay | None = None,
    ) -> Any:
        """Append one transaction whose members are named by labels."""
        events = payloads(host_id, transaction_id, labels)
        return self.append_events(transaction_id, events, host_id=host_id, replay=replay)

    def append_events(
        self,
        transaction_id: str,
        events: list[bytes],
        *,
        host_id: UUID = HOST,
        replay: Replay | None = None,
    ) -> Any:
        """Append one transaction of exactly these bytes."""
        return (replay or self.replay).append_transaction(
            host_id, transaction_id, events, self.registry.digest
        )

    def append_each(self, *labels: str, host_id: UUID = HOST) -> None:
        """Append a transaction of its own for each label; the label is its id."""
        with self.conn.transaction():
            for label in labels:
                self.append(label, label, host_id=host_id)

    def processor(self, **options: Any) -> LiveProcessor:
        return LiveProcessor(self.dsn, self.projection, **options)

    def run(self, **options: Any) -> BatchResult:
        """Process until nothing is left."""
        return self.processor(**options).run(once=True)

    def seen(self, host_id: UUID = HOST) -> list[str]:
        """Labels in the order in which they were applied."""
        rows = self.conn.execute(
            "select label from app.seen where host_id = %s order by place", (host_id,)
        )
        return [label for (label,) in rows]

    def failures(self, **filters: Any) -> list[FailureSummary]:
        return self.replay.list_failures(**filters)

    def as_person(self, name: str) -> Replay:
        """A client on a session of that login role, closed with the world."""
        if name not in self._people or self._people[name].conn.closed:
            if not self.conn.execute("select from pg_roles where rolname = %s", (name,)).rowcount:
                self.conn.execute(f"create role {name} login")
            self.conn.execute(f"grant {', '.join(ROLES)} to {name}")
            self.replay.add_member(name)
            self._people[name] = Replay(psycopg.connect(self.dsn, user=name, autocommit=True))
        return self._people[name]

    def plan(
        self, *failures: FailureSummary, mode: str = "EXECUTE", approve: bool = True
    ) -> RequestStatus:
        """A plan over these failures (all open ones when none is given), approved."""
        alice, bob = self.as_person("alice"), self.as_person("bob")
        chosen = [f.failure_id for f in failures or self.failures()]
        request = alice.create_request(
            HOST, self.projection.name, mode=mode, failure_ids=chosen, reason="handler fixed"
        )
        if approve:
            request = bob.approve_request(
                HOST, request.request_id, request.plan_hash, reason="looks right"
            )
        return request

    def execute(self, request: RequestStatus, **options: Any) -> RequestStatus:
        """Commit the intent and execute, in a session of its own."""
        key = HOST, request.request_id, request.plan_hash
        projection = options.pop("projection", self.projection)
        with psycopg.connect(self.dsn, autocommit=True) as conn:
            Replay(conn).execute_request(*key, reason="go")
            return execution.execute(conn, projection, *key, **options)

    def heal(self, *failures: FailureSummary) -> RequestStatus:
        """Plan, approve and execute."""
        return self.execute(self.plan(*failures))

    def count(self, table: str) -> int:
        row = self.conn.execute(f"select count(*) from replay.{table}").fetchone()
        assert row
        return int(row[0])

    def leftovers(self) -> dict[str, int]:
        """Rows in tables that hold none once all work is done."""
        return {table: n for table in AT_REST_EMPTY if (n := self.count(table))}

    def progress(self, host_id: UUID = HOST) -> dict[str, int]:
        """The last applied version of each scope."""
        query = "select scope_key, version from replay.progress where host_id = %s"
        return dict(self.conn.execute(query, (host_id,)).fetchall())

    def deferred(self, host_id: UUID = HOST) -> list[str]:
        """Ids of the deferred transactions, in the order of their arrival."""
        query = "select transaction_id from replay.deferred where host_id = %s"
        rows = self.conn.execute(f"{query} order by lane, source_offset", (host_id,))
        return [transaction_id for (transaction_id,) in rows]

    def position(self, host_id: UUID = HOST, lane: int = 0) -> int:
        row = self.conn.execute(
            "select last_offset from replay.position where host_id = %s and lane = %s",
            (host_id, lane),
        ).fetchone()
        return int(row[0]) if row else 0

    def _handle(self, cursor: Cursor[Any], event: Event) -> None:
        label = event.data["label"]
        self.handled.append((label, event.payload))
        cursor.execute(
            "insert into app.seen (host_id, transaction_id, event_id, label, payload)"
            " values (%s, %s, %s, %s, %s)",
            (event.host_id, event.transaction_id, event.id, label, event.payload),
        )
        if label in self.trouble:
            self.trouble[label](cursor)


class Gate:
    """Trouble that holds a handler, once, until the test opens the gate."""

    def __init__(self) -> None:
        self._entered, self._opened = threading.Event(), threading.Event()

    def __call__(self, cursor: Cursor[Any]) -> None:
        self._entered.set()
        assert self._opened.wait(30), "nobody opened the gate"

    def wait_until_entered(self) -> None:
        assert self._entered.wait(30), "no handler came to the gate"

    def open(self) -> None:
        self._opened.set()


@contextmanager
def aside(work: Callable[..., Any], *args: Any, **options: Any) -> Iterator[Future[Any]]:
    """Do the work in another thread meanwhile; it has ended when the block is left."""
    with ThreadPoolExecutor(1) as pool:
        yield pool.submit(work, *args, **options)


def one_aggregate_per_lane(world: World, lane_count: int) -> list[str]:
    """Give the host that many lanes and return an aggregate for each, applied at version 1."""
    world.replay.set_lanes(HOST, lane_count)
    world.append_each(*(f"P{number}@1" for number in range(40)))
    world.run()
    world.conn.execute("truncate app.seen")
    query = "select min(transaction_id) from replay.outbox group by lane order by lane"
    return [label.removesuffix("@1") for (label,) in world.conn.execute(query)]


@contextmanager
def processing(*processors: LiveProcessor) -> Iterator[None]:
    """Let live processors run side by side until the block is left, whatever happens in it."""
    stop = threading.Event()
    with ThreadPoolExecutor(len(processors)) as pool:
        running = [pool.submit(processor.run, stop=stop) for processor in processors]
        try:
            yield
        finally:
            stop.set()
    for future in running:
        future.result()


def payloads(host_id: UUID, transaction_id: str, labels: tuple[str, ...]) -> list[bytes]:
    """The members of one transaction as CloudEvents in JSON."""
    return [
        json.dumps(envelope(host_id, transaction_id, len(labels), ordinal, label)).encode()
        for ordinal, label in enumerate(labels)
    ]


def envelope(
    host_id: UUID, transaction_id: str, count: int, ordinal: int, label: str
) -> dict[str, Any]:
    """One CloudEvent for a label."""
    event: dict[str, Any] = {
        "specversion": "1.0",
        "id": str(uuid5(host_id, f"{transaction_id}/{ordinal}")),
        "source": "urn:test",
        "type": "Noted",
        "subject": label,
        "time": "2026-01-01T00:00:00Z",
        "host": str(host_id),
        "transactionid": transaction_id,
        "transactioncount": count,
        "transactionordinal": ordinal,
        "eventschema": "1",
        "data": {"label": label},
    }
    if "@" in label:
        subject, version = label.split("@")
        event |= {
            "type": "Stepped",
            "subject": subject,
            "aggregatetype": "Thing",
            "aggregateversion": int(version),
        }
    if "#" in label:
        root, revision = label.split("#")
        event |= {"type": "Changed", "graphroot": root, "graphrevision": int(revision)}
    return event


def fail(cursor: Cursor[Any]) -> None:
    """Trouble in Python."""
    raise ValueError("secret value 4711")


def divide(cursor: Cursor[Any]) -> None:
    """Trouble in the database: 22012."""
    cursor.execute("select 1/0")


def raise_state(state: str) -> Trouble:
    """Trouble in the database with this SQLSTATE."""

    def trouble(cursor: Cursor[Any]) -> None:
        cursor.execute(f"do $$ begin raise exception using errcode = '{state}'; end $$")

    return trouble
