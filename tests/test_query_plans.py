"""No hot statement reads more of a growing table the more it holds. The plan's shape says so, not
the time: auto_explain tells the plans of all statements, inside functions too."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import md5
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from pyreplay.client import Replay
from pyreplay.doctor import examine
from tests.conftest import Connect
from tests.query_plans import Catalog, Fault, Watcher, make_history
from tests.world import World

# One of the ten that the fixture spreads its failures over.
HOST = UUID(hex=md5(b"host0").hexdigest())
FIXTURE = Path(__file__).parents[1] / "bench/failures.sql"
ORDERS = ("orders", "default")
ERROR = {"error_code": "ValueError"}

# What looks at all current work may read that whole, with the progress it is joined with, and
# requests, which people make one by one.
CURRENT = (
    *("failure", "failure_scope", "deferred", "deferred_scope", "barrier", "pending_action"),
    *("progress", "request"),
)
VIEWS = ("health", "blocked_scope", "gap", "deferred_work", "open_failure", "open_action")
OF_ONE_REQUEST = ("request_status", "item", "attempt_log", "audit_log")

# Function and table of what is planned badly in an empty database, until the table is analyzed.
KNOWN_EMPTY = {
    # Read whole into a hash table.
    ("_judge", "deferred"),
    ("_judge", "failure"),
    ("_judge", "ledger"),
    # Bound by the tenant only.
    ("_batch_scopes", "failure"),
    # A foreign key's check; to the planner, one index of an empty table is as good as another.
    ("_capture", "failure"),
}
# The same where a vacuum has told the planner that all tables are empty.
KNOWN_VACUUMED = KNOWN_EMPTY | {
    ("_batch_scopes", "barrier"),
    ("_batch_scopes", "failure_scope"),
    ("_capture", "event"),
    ("_claim_positions", "wake"),
    # Asked only while event types are excluded.
    ("_read_candidates", "event"),
    ("_read_woken", "deferred"),
    ("_read_woken", "deferred_scope"),
    # On PostgreSQL 15.
    ("_stored_transaction", "event"),
    ("_transaction_fingerprint", "event"),
    ("claim_batch", "event"),
}


class Drive:
    """The way of a few transactions from append to healed, watched step by step.

    at_least: see Catalog.
    """

    def __init__(self, world: World, watcher: Watcher, at_least: int) -> None:
        self.world, self.watcher = world, watcher
        self.replay = Replay(watcher.conn)
        self.catalog = Catalog(world.conn, at_least)
        self.faults: set[Fault] = set()

    @contextmanager
    def step(self, name: str, whole: Sequence[str] = ()) -> Iterator[None]:
        """Watch what is done in the block. whole: tables that it may read whole."""
        self.watcher.take()
        yield
        plans = self.watcher.take()
        assert plans, f"no plan was seen in {name}"
        for plan in plans:
            self.faults.update(self.catalog.faults(name, plan, whole))

    def live(self) -> None:
        """What appends and processes, over and over."""
        with self.step("append"):
            for labels in ("A@1", "A@2", "A@3 G#1", "u1", "B@1", "G#2", "a D@1"):
                self.append(*labels.split())
            self.append("A@1")
        self.batch(failing="A@1")
        again = "update replay.position set last_offset = last_offset - 7 where host_id = %s"
        self.world.conn.execute(again, [HOST])
        # By now all of it is known.
        self.batch()
        for label in ("E@1", "E@2", "u2"):
            self.append(label)
        with self.step("capture"):
            decisions = [
                self.replay.capture_failure(*ORDERS, HOST, label, ERROR)
                for label in ("E@1", "E@2", "u2", "E@1")
            ]
        assert decisions == ["FAIL", "DEFER", "FAIL", "OBSERVED"]

    def append(self, *labels: str) -> None:
        self.world.append(labels[0], *labels, host_id=HOST, replay=self.replay)

    def batch(self, failing: str = "", **options: Any) -> None:
        with self.watcher.conn.transaction():
            with self.step("claim"):
                batch = self.replay.claim_batch(*ORDERS, **options)
            failed = [item.ord for item in batch if item.transaction_id == failing]
            skipped: list[int] = []
            for item in batch:
                if {*failed, *skipped} & {*item.follows}:
                    skipped.append(item.ord)
            with self.step("complete"):
                reports = [{"ord": place, **ERROR} for place in failed]
                self.replay.complete_batch(batch[0].xact_id, reports, skipped)

    def heal(self) -> None:
        """What people do about A@1, E@1 and u2; behind them wait five."""
        found = self.world.conn.execute(
            "select failure_id from replay.failure where transaction_id in ('A@1', 'E@1', 'u2')"
        )
        self.look(ids := [failure_id for (failure_id,) in found])
        selections: list[dict[str, Any]] = [
            {"failure_ids": ids},
            {"strategy": "DEPENDENCY_CLOSURE", "transaction_ids": ["E@2"]},
        ]
        with self.step("preview"):
            for selection in selections:
                self.replay.preview_request(HOST, *ORDERS, **selection)
        with self.step("create"):
            made = [
                self.replay.create_request(HOST, *ORDERS, **selection, reason="mended")
                for selection in selections
            ]
        key = HOST, made[0].request_id, made[0].plan_hash
        self.world.as_person("bob").approve_request(*key, reason="seen")
        self.execute(*key)
        self.batch(woken_only=True)
        self.survey(key[1])

    def look(self, ids: Sequence[Any]) -> None:
        with self.step("list"):
            self.replay.list_failures(limit=2)
            self.replay.list_failures(host_id=HOST, projection="orders", limit=2)
            self.replay.list_failures(host_id=HOST, status=None, limit=2)
            self.replay.list_failures(host_id=HOST, after=ids[0], limit=2)
            self.replay.list_failures(host_id=HOST, scope_type="AGGREGATE", scope_key="Thing:A")
        with self.step("get"):
            self.replay.get_failure(HOST, ids[0])

    def execute(self, *key: Any) -> None:
        with self.step("execute"):
            self.replay.execute_request(*key, reason="go")
            claim = (*key[:2], self.replay.claim_request(*key).fence)
        with self.step("begin items"):
            self.replay.begin_items(*claim)
        with self.watcher.conn.transaction():
            with self.step("load items"):
                items = self.replay.load_items(*claim)
            with self.step("complete items"):
                self.replay.complete_items(*claim, items[0].xact_id)
        with self.step("settle items"):
            self.replay.settle_items(*claim)

    def survey(self, request_id: Any) -> None:
        conn, key = self.watcher.conn, (HOST, request_id)
        with self.step("doctor", whole=CURRENT):
            examine(conn)
        for view in VIEWS:
            with self.step(f"view {view}", whole=CURRENT):
                self.watcher.explain(f"select * from replay.{view}")
        with self.step("request", whole=["request"]):
            self.replay.list_requests(host_id=HOST, limit=2)
        with self.step("request"):
            self.replay.get_request(*key)
            self.replay.list_items(*key)
            self.replay.get_timeline(*key)
            for view in OF_ONE_REQUEST:
                of_one = f"select * from replay.{view} where host_id = %s and request_id = %s"
                conn.execute(of_one, key)
        with self.step("transaction status"):
            of_one = (
                "select * from replay.transaction_status"
                " where host_id = %s and transaction_id = 'A@1'"
            )
            conn.execute(of_one, [HOST])


def unknown(drive: Drive, known: set[tuple[str, str]]) -> str:
    """The faults that are not known, a line each."""
    return "\n".join(
        ": ".join(f) for f in sorted(drive.faults) if (f.function, f.table) not in known
    )


@pytest.fixture
def watcher(connect: Connect) -> Watcher:
    return Watcher(connect(autocommit=True))


@pytest.mark.both_servers
def test_plans_made_in_an_empty_database_are_good_in_a_full_one(
    world: World, watcher: Watcher
) -> None:
    """A processor's session keeps them."""
    drive = Drive(world, watcher, at_least=0)
    drive.live()
    assert unknown(drive, KNOWN_EMPTY) == ""
    mended = KNOWN_EMPTY - {(fault.function, fault.table) for fault in drive.faults}
    assert not mended, "known and mended: take it off the list"


@pytest.mark.both_servers
def test_so_are_those_made_where_all_is_known_to_be_empty(world: World, watcher: Watcher) -> None:
    world.conn.execute("vacuum (analyze)")
    drive = Drive(world, watcher, at_least=0)
    drive.live()
    assert unknown(drive, KNOWN_VACUUMED) == ""


@pytest.mark.both_servers
@pytest.mark.parametrize(
    "count",
    [20_000, pytest.param(1_000_000, marks=[pytest.mark.soak, pytest.mark.timeout(1800)])],
)
def test_plans_beside_many_open_failures_are_good(
    world: World, watcher: Watcher, count: int
) -> None:
    world.conn.execute(FIXTURE.read_text())
    world.conn.execute("select bench.make_failures(%s)", [count])
    make_history(world.conn, HOST, max(count // 10, 20_000))
    world.conn.execute("vacuum analyze")
    drive = Drive(world, watcher, at_least=count // 20)
    drive.live()
    drive.heal()
    assert unknown(drive, set()) == ""


@pytest.mark.parametrize(
    ("sabotage", "caught"),
    [
        ("drop index replay.failure_scope_open", ("_check_not_blocked", "failure_scope")),
        (
            "alter table replay.progress drop constraint progress_pkey",
            ("_batch_scopes", "progress"),
        ),
    ],
)
def test_a_lost_index_is_noticed(
    world: World, watcher: Watcher, sabotage: str, caught: tuple[str, str]
) -> None:
    world.conn.execute(sabotage)
    drive = Drive(world, watcher, at_least=0)
    drive.live()
    assert caught in {(fault.function, fault.table) for fault in drive.faults}


def test_a_server_that_tells_no_plans_is_refused(connect: Connect) -> None:
    with pytest.raises(LookupError, match="auto_explain"):
        Watcher(connect(autocommit=True), log_min_duration="-1")
