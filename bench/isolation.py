"""Does a replay with a slow handler cost those anything that it does not concern?

Live traffic on 1,000 aggregates: two live processors on four lanes and an appender go as fast as
they can. A replay of 100 of the aggregates, whose handler takes 200 ms an item, runs beside it a
quarter at a time; between the quarters the same traffic runs alone. So the two take turns every
five seconds and share whatever else the machine does. The server keeps to memory (fsync off), so
that nothing hides behind the disk.
"""

import json
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid5

import psycopg
from psycopg import Cursor

from bench.report import Row, compare
from bench.work import Lab
from pyreplay import execution
from pyreplay.client import Replay
from pyreplay.embedded import find_binaries
from pyreplay.errors import AggregateProjectionBlocked
from pyreplay.live import LiveProcessor
from pyreplay.projection import Event, Projection
from pyreplay.records import RequestStatus
from tests.servers import Server, open_server

HOST = UUID("00000000-0000-4000-8000-000000000001")
DATABASES = 3
PAIRS = 4
SLOW = 0.2
REPLAYED = [f"R{number}" for number in range(100)]
OTHERS = [f"O{number}" for number in range(900)]


@dataclass(frozen=True, slots=True)
class Round:
    """One database: pairs of transactions a second of the others, alone and beside a replay;
    samples of who waits for whom; replayed aggregates that were applied in order."""

    pairs: list[tuple[float, float]]
    samples: int
    waiting: int
    exact: int


class Shop:
    """A database with 1,000 aggregates, 100 of which have failed, planned and approved."""

    def __init__(self, dsn: str) -> None:
        self.dsn = dsn
        self.is_broken = True
        self.is_replaying = threading.local()
        self.conn: psycopg.Connection[Any] = psycopg.connect(dsn, autocommit=True)
        self.replay = Replay(self.conn)
        self.projection = Projection("orders")
        self.projection.handles("Stepped")(self.handle)
        self.conn.execute(
            "create table seen (place bigint generated always as identity, name text, version int)"
        )
        self.digest = self.replay.publish_registry(self.projection.entries()).digest
        self.replay.register_projection("orders")
        self.replay.start_projection("orders")
        self.replay.set_lanes(HOST, 4)
        self.heads = dict.fromkeys(OTHERS + REPLAYED, 0)
        everything = OTHERS + REPLAYED * 2
        for first in range(0, len(everything), 100):
            self.append(self.replay, everything[first : first + 100])
        LiveProcessor(dsn, self.projection).run(once=True)
        self.is_broken = False
        self.conn.execute("vacuum analyze")

    def handle(self, cursor: Cursor[Any], event: Event) -> None:
        name = event.subject or ""
        if name.startswith("R"):
            if self.is_broken:
                raise ValueError
            if getattr(self.is_replaying, "now", False):
                time.sleep(SLOW)
        cursor.execute(
            "insert into seen (name, version) values (%s, %s)", (name, event.aggregate_version)
        )

    def append(self, replay: Replay, names: list[str]) -> None:
        """Append the next version of each, a transaction of its own, in one commit."""
        with replay.conn.transaction():
            for name in names:
                transaction_id = f"{name}@{self.heads[name] + 1}"
                event = json.dumps(self.next_event(name)).encode()
                replay.append_transaction(HOST, transaction_id, [event], self.digest)
                self.heads[name] += 1

    def next_event(self, name: str) -> dict[str, Any]:
        version = self.heads[name] + 1
        transaction_id = f"{name}@{version}"
        return {
            "specversion": "1.0",
            "id": str(uuid5(HOST, transaction_id)),
            "source": "urn:bench",
            "type": "Stepped",
            "subject": name,
            "time": "2026-01-01T00:00:00Z",
            "host": str(HOST),
            "transactionid": transaction_id,
            "transactioncount": 1,
            "transactionordinal": 0,
            "eventschema": "1",
            "aggregatetype": "Thing",
            "aggregateversion": version,
            "data": {"version": version},
        }

    def append_others(self, stop: threading.Event) -> None:
        """As fast as it goes, round and round, thirty in a commit."""
        with psycopg.connect(self.dsn, autocommit=True) as conn:
            replay, first = Replay(conn), 0
            while not stop.is_set():
                self.append(replay, OTHERS[first : first + 30])
                first = (first + 30) % len(OTHERS)

    def append_replayed(self, stop: threading.Event) -> None:
        """Ten a second, of which those that still wait for the replay are refused."""
        with psycopg.connect(self.dsn, autocommit=True) as conn:
            replay, turn = Replay(conn), 0
            while not stop.wait(0.1):
                turn += 1
                try:
                    self.append(replay, [REPLAYED[turn % len(REPLAYED)]])
                except AggregateProjectionBlocked:
                    continue

    def approve(self) -> RequestStatus:
        """A plan of all failures; the second person is another login role."""
        failures = self.replay.list_failures(limit=1000)
        assert len(failures) == len(REPLAYED)
        request = self.replay.create_request(
            HOST, "orders", failure_ids=[f.failure_id for f in failures], reason="fixed"
        )
        key = HOST, request.request_id, request.plan_hash
        if not self.conn.execute("select from pg_roles where rolname = 'bob'").rowcount:
            self.conn.execute("create role bob login")
        self.conn.execute("grant replay_approver to bob")
        self.replay.add_member("bob")
        with psycopg.connect(self.dsn, user="bob", autocommit=True) as conn:
            Replay(conn).approve_request(*key, reason="fixed")
        return self.replay.execute_request(*key, reason="go")

    def execute(self, conn: psycopg.Connection[Any], request: RequestStatus, items: int) -> None:
        self.is_replaying.now = True
        key = HOST, request.request_id, request.plan_hash
        status = execution.execute(conn, self.projection, *key, items=items)
        self.is_replaying.now = False
        assert status.status in ("RUNNING", "SUCCEEDED")

    def count_others(self) -> int:
        found = self.conn.execute("select count(*) from seen where name like 'O%'").fetchone()
        assert found
        return int(found[0])

    def count_exact(self) -> int:
        """How many of the replayed aggregates were applied 1, 2, 3 ... up to their head."""
        found = dict(
            self.conn.execute(
                "select name, array_agg(version order by place) from seen"
                " where name like 'R%' group by name"
            ).fetchall()
        )
        return sum(found.get(name) == [*range(1, self.heads[name] + 1)] for name in REPLAYED)


class Sampler:
    """Asks 20 times a second whether somebody waits for a session that stands in a handler."""

    QUERY = """
        select count(*) from pg_stat_activity holder
        join pg_stat_activity waiter on holder.pid = any (pg_blocking_pids(waiter.pid))
        where holder.pid = %s and holder.state = 'idle in transaction'"""

    def __init__(self, dsn: str, pid: int) -> None:
        self.dsn, self.pid = dsn, pid
        self.samples = self.waiting = 0

    def run(self, stop: threading.Event) -> None:
        with psycopg.connect(self.dsn, autocommit=True) as conn:
            while not stop.wait(0.05):
                found = conn.execute(self.QUERY, (self.pid,)).fetchone()
                self.samples += 1
                self.waiting += bool(found and found[0])


@contextmanager
def busy(*works: Callable[[threading.Event], object]) -> Iterator[None]:
    """Do the works side by side until the block is left."""
    stop = threading.Event()
    with ThreadPoolExecutor(len(works)) as pool:
        running = [pool.submit(work, stop) for work in works]
        try:
            yield
        finally:
            stop.set()
        for work in running:
            work.result()


def run_round(server: Server) -> Round:
    dsn = server.create_database()
    shop = Shop(dsn)
    request = shop.approve()
    size = len(REPLAYED) // PAIRS
    processors = [LiveProcessor(dsn, shop.projection, limit=100) for _ in range(2)]
    live = [lambda stop, p=processor: p.run(stop=stop) for processor in processors]
    pairs = []
    try:
        with psycopg.connect(dsn, autocommit=True) as conn:
            sampler = Sampler(dsn, conn.info.backend_pid)
            with busy(shop.append_others, shop.append_replayed, sampler.run, *live):
                time.sleep(1)
                for _ in range(PAIRS):
                    alone = measure_while(shop, lambda: time.sleep(size * SLOW))
                    beside = measure_while(shop, lambda: shop.execute(conn, request, size))
                    pairs.append((alone, beside))
                    print(f"  {alone:.0f} alone, {beside:.0f} beside", flush=True)
        # What was appended last.
        LiveProcessor(dsn, shop.projection).run(once=True)
        return Round(pairs, sampler.samples, sampler.waiting, shop.count_exact())
    finally:
        shop.conn.close()
        server.drop_database(dsn)


def measure_while(shop: Shop, work: Callable[[], object]) -> float:
    """How many transactions of the others a second are applied until the work is done."""
    before, began = shop.count_others(), time.perf_counter()
    work()
    return (shop.count_others() - before) / (time.perf_counter() - began)


def measure(_lab: Lab, _rounds: int, _left_out: list[str]) -> list[Row]:
    """Run the rounds, as many as it needs, on a server of its own."""
    server = open_server("embedded", find_binaries())
    rounds = [run_round(server) for _ in range(DATABASES)]
    pairs = [pair for one in rounds for pair in one.pairs]
    samples = sum(one.samples for one in rounds)
    free = samples - sum(one.waiting for one in rounds)
    exact, wanted = sum(one.exact for one in rounds), len(rounds) * len(REPLAYED)
    return [
        compare(
            "isolation: throughput of the others during a replay: alone",
            [(beside, alone) for alone, beside in pairs],
            at_least=0.95,
            unit="transactions/s",
        ),
        _share("isolation: samples with nobody waiting for the handler", free, samples),
        _share("isolation: replayed aggregates in exact order", exact, wanted),
    ]


def _share(row: str, value: int, wanted: int) -> Row:
    shares = [(float(value), float(wanted))]
    return compare(row, shares, at_least=1.0, unit="of all")
