"""Locks and leases: who holds what, in which order, for how long, and what a stalled holder gets.

Killed and restarted holders, X12 and L5 among them, are in test_crash; D10 is in test_cases_traps,
D12 in test_requests.
"""

import logging
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import psycopg
import pytest
from psycopg import Cursor
from psycopg.conninfo import make_conninfo

from pyreplay import execution
from pyreplay.client import Replay
from pyreplay.errors import (
    InvalidArgument,
    LeaseLost,
    ReplayExecutionInProgress,
    ReplayExecutionUnavailable,
    ScopeBusy,
)
from pyreplay.executor import Mode, run_batch
from pyreplay.live import LiveProcessor
from pyreplay.records import RequestStatus
from tests.conftest import Connect
from tests.crash_driver import release
from tests.invariants import check_invariants
from tests.schedule import hold, pause_at, stopping_at
from tests.support import freeze, wait_until
from tests.world import HOST, Gate, Trouble, World, aside, fail, processing

COLLIDE = """
create or replace function replay._scope_lock_key(
  p_host_id uuid, p_projection_id int, p_scope_type text, p_scope_key text)
  returns bigint language sql immutable return 42
"""
HELD = """
select locktype from pg_locks where pid = %s and locktype <> 'virtualxid' and granted
"""
KEYS = """
select count(*) from pg_locks l
join pg_stat_activity a on a.pid = l.pid
where l.locktype = 'advisory' and l.objsubid = 1 and a.application_name = 'counted'
"""
LATER = "9998-01-01T00:00:00Z"
Key = tuple[Any, Any, Any]


@pytest.fixture(params=[False, True], ids=["", "colliding keys"])
def keyed_world(world: World, request: pytest.FixtureRequest) -> World:
    """A world, and the same where all scopes share one lock key."""
    if request.param:
        world.conn.execute(COLLIDE)
    return world


def approved(world: World, *labels: str, behind: Sequence[str] = ()) -> RequestStatus:
    """A transaction for each label fails, one for each of `behind` comes then; an approved plan
    over the failures, whose handlers work now."""
    world.trouble = dict.fromkeys(labels, fail)
    world.append_each(*labels, *behind)
    world.run()
    world.trouble.clear()
    return world.plan()


def intended(world: World, *labels: str) -> Key:
    """The same, its intent committed."""
    request = approved(world, *labels)
    key = HOST, request.request_id, request.plan_hash
    world.replay.execute_request(*key, reason="go")
    return key


def scope_keys(world: World) -> list[int]:
    """The lock keys of all scopes that have progress or failed, in their order."""
    query = """select distinct replay._scope_lock_key(h.host_id, p.projection_id, h.scope_type,
        h.scope_key) from replay.stream_head h, replay.projection p order by 1"""
    return [key for (key,) in world.conn.execute(query)]


def is_locked(world: World, query: str, *values: object) -> bool:
    """Whether a row that the query finds is locked by somebody."""
    try:
        with world.conn.transaction():
            world.conn.execute(f"{query} for update nowait", values)
    except psycopg.errors.LockNotAvailable:
        return True
    return False


def wait_until_idle(world: World) -> None:
    """Return once nobody has a lock on the one request."""
    for _ in range(1000):
        if not is_locked(world, "select from replay.request"):
            return
        world.conn.execute("select pg_sleep(0.01)")
    raise AssertionError("somebody holds the request for ever")


def is_key_locked(world: World, key: int) -> bool:
    """Whether somebody holds that scope lock."""
    with world.conn.transaction():
        found = world.conn.execute("select pg_try_advisory_xact_lock(%s)", (key,)).fetchone()
    return found == (False,)


def wait_for(world: World, name: str) -> None:
    """Return once the session of that name waits for a lock."""
    query = """select pid from pg_stat_activity where application_name = %s
        and cardinality(pg_blocking_pids(pid)) > 0"""
    wait_until(world.conn, f"exists ({query})", (name,))


def named(world: World, name: str) -> str:
    return make_conninfo(world.dsn, application_name=name)


# L1, L2: a holder past its lease


def begin(replay: Replay, key: Key, fence: int) -> object:
    return replay.begin_items(*key[:2], fence)


def load(replay: Replay, key: Key, fence: int) -> object:
    return replay.load_items(*key[:2], fence)


def settle(replay: Replay, key: Key, fence: int) -> object:
    return replay.settle_items(*key[:2], fence)


def fail_whole(replay: Replay, key: Key, fence: int) -> object:
    return replay.settle_items(*key[:2], fence, failure_code="STALE_PLAN")


def give_up(replay: Replay, key: Key, fence: int) -> object:
    return replay.yield_request(*key[:2], fence)


def report_dry_run(replay: Replay, key: Key, fence: int) -> object:
    return replay.roll_back_items(*key[:2], fence)


@pytest.mark.parametrize(
    "call",
    [begin, load, settle, fail_whole, give_up, report_dry_run],
    ids=lambda call: call.__name__,
)
def test_L1_L2_I9_a_holder_past_its_lease_writes_nothing(
    world: World, connect: Connect, call: Callable[[Replay, Key, int], object]
) -> None:
    """The holder stalls behind begin_items, the same role claims again once the lease has ended,
    the first wakes: whatever it tries, to go on or to finish, is refused and leaves no trace."""
    key = intended(world, "A@1")
    first = Replay(connect(autocommit=True))
    second = Replay(connect(autocommit=True))
    first.claim_request(*key)
    first.begin_items(*key[:2], 1)
    with pytest.raises(ReplayExecutionInProgress):
        second.claim_request(*key)

    freeze(second.conn, LATER)
    assert second.claim_request(*key).fence == 2
    before = written(world)
    with pytest.raises(LeaseLost):
        call(first, key, 1)

    assert written(world) == before
    freeze(first.conn, LATER)
    with pytest.raises(LeaseLost):
        call(first, key, 1)
    assert second.settle_items(*key[:2], 2).status == "RUNNING"
    second.yield_request(*key[:2], 2)
    check_invariants(world.conn)


def written(world: World) -> list[str]:
    """All that a holder could have written."""
    tables = (
        "request",
        "run",
        "attempt",
        "request_item",
        "barrier",
        "progress",
        "failure",
        "audit",
    )
    found = []
    for table in tables:
        found += world.conn.execute(f"select t::text from replay.{table} t order by 1").fetchall()
    return [text for (text,) in found]


def test_L1_the_driver_stops_when_its_lease_is_lost(world: World, connect: Connect) -> None:
    """execute stalls behind its claim, another one claims and finishes: LEASE_LOST, one effect."""
    request = approved(world, "A@1", "B@1")
    key = HOST, request.request_id, request.plan_hash
    gate = Gate()

    with aside(world.execute, request, on_progress=gate) as first:
        gate.wait_until_entered()
        second = connect(autocommit=True)
        freeze(second, LATER)
        status = execution.execute(second, world.projection, *key)
        gate.open()
        with pytest.raises(LeaseLost):
            first.result(30)

    assert (status.status, status.fence) == ("SUCCEEDED", 2)
    assert sorted(world.seen()) == ["A@1", "B@1"]
    query = "select fence, status from replay.run order by fence"
    assert world.conn.execute(query).fetchall() == [(1, "ABANDONED"), (2, "SUCCEEDED")]
    check_invariants(world.conn)


def test_L3_of_two_claims_at_once_one_holds(world: World) -> None:
    """A retry in the instant of the first claim, which has not committed yet: one run."""
    key = intended(world, "A@1")
    pause_at(world.conn, "claim_request", after="v_actor, replay._now());", name="claiming")

    def claim_and_run() -> RequestStatus:
        with psycopg.connect(stopping_at(world.dsn, "claiming"), autocommit=True) as conn:
            return execution.execute(conn, world.projection, *key)

    with hold(world.dsn, "claiming") as claiming, aside(claim_and_run) as first:
        claiming.wait_until_reached()
        with pytest.raises(ReplayExecutionInProgress):
            world.replay.claim_request(*key)
        claiming.let_pass()

    assert first.result().status == "SUCCEEDED"
    assert (world.count("run"), world.seen()) == (1, ["A@1"])


# L9 to L11


def test_L9_a_deadlock_inside_a_lock_call_is_reported_as_40P01_and_retried(
    world: World, connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    """A stranger takes two scope locks in the wrong order. The batch that deadlocks with it is
    rolled back as 40P01, captures nothing, and goes through when the stranger has gone."""
    world.append("T", "A@1", "B@1")
    low, high = scope_keys(world)
    stranger = connect()
    stranger.execute("set deadlock_timeout = '1h'")
    stranger.execute("select pg_advisory_xact_lock(%s)", (high,))
    hasty = make_conninfo(world.dsn, options="-c deadlock_timeout=50ms", application_name="batch")

    processor = LiveProcessor(hasty, world.projection)

    with caplog.at_level(logging.WARNING), aside(processor.run, once=True) as batch:
        wait_for(world, "batch")
        # It returns when the batch has been rolled back.
        stranger.execute("select pg_advisory_xact_lock(%s)", (low,))
        stranger.rollback()

    assert batch.result().applied_count == 1
    assert [r.getMessage() for r in caplog.records] == ["orders: batch rolled back: 40P01"]
    assert world.count("failure") == 0
    assert world.seen() == ["A@1", "B@1"]


def test_L10_locks_of_other_applications_do_not_clash(world: World, connect: Connect) -> None:
    """Somebody holds small numbers and unsalted hashes of all our texts: nobody waits."""
    request = approved(world, "A@1", behind=("A@2", "B@1", "G#1", "u1"))
    texts = ["Thing:A", "Thing:B", "AGGREGATE", "AGGREGATE Thing:A", "orders", "default", "u1", "G"]
    texts += [str(HOST), f"{HOST} 1 AGGREGATE Thing:A", str(request.request_id)]
    texts += [f"liveness {HOST} {request.request_id}", "positions 1"]
    other = connect(autocommit=True)
    other.execute("select pg_advisory_lock(n) from generate_series(-100, 1000) n")
    other.execute(
        "select pg_advisory_lock(hashtext(t)), pg_advisory_lock(hashtextextended(t, 0)),"
        " pg_advisory_lock(1, hashtext(t)) from unnest(%s::text[]) t",
        (texts,),
    )
    impatient = make_conninfo(world.dsn, options="-c lock_timeout=1s")

    with psycopg.connect(impatient, autocommit=True) as conn:
        key = HOST, request.request_id, request.plan_hash
        Replay(conn).execute_request(*key, reason="go")
        status = execution.execute(conn, world.projection, *key)
    LiveProcessor(impatient, world.projection).run(once=True)

    assert status.status == "SUCCEEDED"
    assert sorted(world.seen()) == ["A@1", "A@2", "B@1", "G#1", "u1"]


@pytest.mark.parametrize("budget", [1e18, float("inf"), float("nan"), 0, -1, 86401])
def test_L11_a_budget_out_of_bounds_is_refused_at_input(world: World, budget: float) -> None:
    key = intended(world, "A@1")
    with psycopg.connect(world.dsn, autocommit=True) as conn, pytest.raises(InvalidArgument):
        execution.execute(conn, world.projection, *key, budget=budget)
    assert world.count("run") == 0


@pytest.mark.parametrize(
    ("budget", "error"),
    [
        ("1000000000000000000 seconds", psycopg.DataError),
        ("178000000 years", InvalidArgument),
        ("0", InvalidArgument),
        ("25 hours", InvalidArgument),
    ],
)
def test_L11_the_database_refuses_it_too(world: World, budget: str, error: type[Exception]) -> None:
    key = intended(world, "A@1")
    claim = "select replay.claim_request(%s, %s, %s, p_budget => %s::text::interval)"
    with pytest.raises(error):
        world.conn.execute(claim, (*key, budget))
    assert world.count("run") == 0


# D11


def stall_in_statement(cursor: Cursor[Any]) -> None:
    cursor.execute("select pg_advisory_xact_lock(99)")


@pytest.mark.parametrize("where", ["in a statement", "between statements"])
def test_D11_a_holder_stalled_in_its_transaction_ends_by_its_timeout(
    world: World, connect: Connect, where: str
) -> None:
    """A claim answers at once while the holder stalls; when its lease runs out it ends by its own
    timeout, and a retry goes through. Nothing of the stalled run stays."""
    request = approved(world, "A@1")
    key = HOST, request.request_id, request.plan_hash
    gate, mended = Gate(), release(())
    world.trouble["A@1"] = gate if where == "between statements" else stall_in_statement
    blocker = connect()
    blocker.execute("select pg_advisory_xact_lock(99)")
    other = connect(autocommit=True)
    other.execute("set lock_timeout = '100ms'")

    with aside(world.execute, request, budget=2) as first:
        if where == "between statements":
            gate.wait_until_entered()
        else:
            wait_until(world.conn, "exists (select from pg_locks where not granted)")
        with pytest.raises(ReplayExecutionInProgress) as refused:
            Replay(other).claim_request(*key)
        assert refused.value.details["lease_until"] is not None
        # The holder lets go by itself; nobody opens the gate, nobody unlocks 99.
        wait_until(
            world.conn, "select coalesce(lease_until < replay._now(), true) from replay.request"
        )
        wait_until_idle(world)
        assert execution.execute(other, mended, *key).status == "SUCCEEDED"
        gate.open()
        with suppress(LeaseLost, ReplayExecutionUnavailable):
            assert first.result(30).status == "RUNNING"

    assert world.seen() == ["A@1"]
    query = "select count(*) from replay.attempt where result = 'SUCCEEDED'"
    assert world.conn.execute(query).fetchone() == (1,)
    assert world.leftovers() == {}
    check_invariants(world.conn)


# D14

COMMITTERS = """
grant usage on schema app to public;
grant select, insert on app.seen to public;
create function app.committing() returns void language plpgsql as $$ begin commit; end $$;
create procedure app.commit_all() language plpgsql as $$ begin commit; end $$;
"""


def run_sql(statement: str) -> Trouble:
    return lambda cursor: cursor.execute(statement)


def commit_connection(cursor: Cursor[Any]) -> None:
    cursor.connection.commit()


@pytest.mark.parametrize(
    ("trouble", "code"),
    [
        (run_sql("select count(*) from replay.progress"), "42501"),
        (run_sql("update replay.position set last_offset = 9"), "42501"),
        (run_sql("select replay._wake_next(pg_current_xact_id())"), "42501"),
        (run_sql("select app.committing()"), "2D000"),
        (run_sql("call app.commit_all()"), "2D000"),
        (run_sql("commit"), "HANDLER_CONTRACT"),
        (run_sql(" /* now */ -- really\n COMMIT"), "HANDLER_CONTRACT"),
        (run_sql("rollback"), "HANDLER_CONTRACT"),
        (run_sql("select 1; commit"), "42601"),
        (commit_connection, "HANDLER_CONTRACT"),
    ],
)
def test_D14_a_handler_neither_reads_the_engine_nor_commits(
    world: World, trouble: Trouble, code: str
) -> None:
    """As the login role of a processor, which is no superuser: the transaction fails, alone."""
    world.conn.execute(COMMITTERS)
    world.as_person("worker").conn.close()
    world.append_each("A@1", "B@1")
    world.trouble["A@1"] = trouble

    LiveProcessor(make_conninfo(world.dsn, user="worker"), world.projection).run(once=True)

    assert [(f.transaction_id, f.error_code) for f in world.failures()] == [("A@1", code)]
    assert world.seen() == ["B@1"]
    assert world.position() == 2
    check_invariants(world.conn)


# The lock order of db/schema/001_schema.sql, pair by pair: who waits for the second of a pair holds
# the first. Repairs (4) come with a later schema; nobody takes a position (1) and a request (2).


def test_order_1_2_nobody_needs_both_at_once(world: World, connect: Connect) -> None:
    """With every position locked a replay goes through, with every request locked live work."""
    request = approved(world, "A@1")
    stranger = connect()
    stranger.execute("select from replay.position for update")
    assert world.execute(request).status == "SUCCEEDED"
    stranger.rollback()
    stranger.execute("select from replay.request for update")
    world.append_each("A@2")
    assert world.run().applied_count == 1
    stranger.rollback()


def test_order_1_5_position_then_scopes(keyed_world: World, connect: Connect) -> None:
    world = keyed_world
    world.append_each("A@1")
    world.run()
    world.append_each("A@2")
    stranger = connect()
    stranger.execute("select pg_advisory_xact_lock(%s)", (scope_keys(world)[0],))
    with aside(LiveProcessor(named(world, "batch"), world.projection).run, once=True) as batch:
        wait_for(world, "batch")
        assert is_locked(world, "select from replay.position")
        assert world.handled[-1][0] == "A@1"
        stranger.rollback()
    assert batch.result().applied_count == 1


def test_order_2_3_request_then_failures_by_id(keyed_world: World, connect: Connect) -> None:
    world = keyed_world
    request = approved(world, "A@1", "B@1", "C@1")
    ids = [i for (i,) in world.conn.execute("select failure_id from replay.failure order by 1")]
    stranger = connect()
    stranger.execute("select from replay.failure where failure_id = %s for update", (ids[1],))
    with aside(execute_as, world, request, "replay") as replay:
        wait_for(world, "replay")
        assert is_locked(world, "select from replay.request")
        for failure_id, expected in zip(ids, (True, True, False), strict=True):
            query = "select from replay.failure where failure_id = %s"
            assert is_locked(world, query, failure_id) == expected
        stranger.rollback()
    assert replay.result().status == "SUCCEEDED"


def test_order_2_5_request_then_scopes(keyed_world: World, connect: Connect) -> None:
    """Begin asks for scopes without waiting; settle waits, the request locked."""
    world = keyed_world
    key = intended(world, "A@1")
    holder = Replay(connect(autocommit=True, application_name="replay"))
    stranger = connect()
    holder.claim_request(*key)
    lock = "select pg_advisory_xact_lock(%s)"
    stranger.execute(lock, (scope_keys(world)[0],))
    with pytest.raises(ScopeBusy):
        holder.begin_items(*key[:2], 1)
    stranger.rollback()
    holder.begin_items(*key[:2], 1)
    stranger.execute(lock, (scope_keys(world)[0],))
    with aside(holder.settle_items, *key[:2], 1) as settled:
        wait_for(world, "replay")
        assert is_locked(world, "select from replay.request")
        stranger.rollback()
    assert settled.result().status == "RUNNING"
    holder.yield_request(*key[:2], 1)


def test_order_3_5_a_run_locks_failures_and_no_scope(keyed_world: World, connect: Connect) -> None:
    """With every scope lock in other hands a begun chunk loads, runs, completes and commits."""
    world = keyed_world
    key = intended(world, "A@1", "B@1")
    stranger, conn = connect(), connect(autocommit=True)
    conn.execute("set lock_timeout = '5s'")
    holder = Replay(conn)
    holder.claim_request(*key)
    holder.begin_items(*key[:2], 1)
    for scope_key in scope_keys(world):
        stranger.execute("select pg_advisory_xact_lock(%s)", (scope_key,))
    run_chunk(world, holder, key, 1)
    assert sorted(world.seen()) == ["A@1", "B@1"]
    stranger.rollback()
    assert holder.settle_items(*key[:2], 1).status == "SUCCEEDED"


def test_order_5_by_key(world: World, connect: Connect) -> None:
    """Scope locks are taken one by one, by key: who waits for one holds the smaller ones only."""
    world.append("T", "A@1", "B@1", "C@1", "G#1")
    keys = scope_keys(world)
    stranger = connect()
    stranger.execute("select pg_advisory_xact_lock(%s)", (keys[2],))
    with aside(LiveProcessor(named(world, "batch"), world.projection).run, once=True) as batch:
        wait_for(world, "batch")
        assert [is_key_locked(world, key) for key in keys] == [True, True, True, False]
        stranger.rollback()
    assert batch.result().applied_count == 1


def touch_balance(cursor: Cursor[Any]) -> None:
    cursor.execute("update app.balance set amount = amount + 1")


def test_order_5_6_scopes_then_rows_of_handlers(keyed_world: World, connect: Connect) -> None:
    world = keyed_world
    world.conn.execute("create table app.balance as select 0 as amount")
    world.append_each("A@1")
    world.trouble["A@1"] = touch_balance
    stranger = connect()
    stranger.execute("select from app.balance for update")
    with aside(LiveProcessor(named(world, "batch"), world.projection).run, once=True) as batch:
        wait_for(world, "batch")
        assert is_key_locked(world, scope_keys(world)[0])
        stranger.rollback()
    assert batch.result().applied_count == 1


@pytest.mark.parametrize("mode", ["live", "replay"])
def test_order_6_7_8_rows_of_handlers_then_of_the_engine_then_counters(
    keyed_world: World, connect: Connect, mode: str
) -> None:
    """Progress is locked by a stranger: the handler's rows are taken, counters untouched yet."""
    world = keyed_world
    world.conn.execute("create table app.balance as select 0 as amount")
    world.append_each("A@1")
    world.run()
    request = approved(world, "A@2") if mode == "replay" else None
    if mode == "live":
        world.append_each("A@2")
    world.trouble["A@2"] = touch_balance
    counters = world.conn.execute("select p::text from replay.position p").fetchone()
    stranger = connect()
    stranger.execute("select from replay.progress for update")
    work: Any = (
        aside(execute_as, world, request, "work")
        if request
        else aside(LiveProcessor(named(world, "work"), world.projection).run, once=True)
    )
    with work as done:
        wait_for(world, "work")
        assert is_locked(world, "select from app.balance")
        with connect() as reader:
            assert reader.execute("select p::text from replay.position p").fetchone() == counters
        stranger.rollback()
    assert done.result()
    assert world.progress() == {"Thing:A": 2}


def test_colliding_scope_keys_cost_time_and_break_nothing(world: World) -> None:
    """All scopes share one key: two processors and a replay, side by side, still end well."""
    world.conn.execute(COLLIDE)
    first, *others = [[f"{name}@{version}" for name in "ABCDEFGH"] for version in (1, 2, 3, 4)]
    request = approved(world, *first[:3], behind=[*first[3:], *others[0], *others[1]])
    with processing(world.processor(limit=2), world.processor(limit=3)):
        world.append_each(*others[2][3:])
        assert world.execute(request).status == "SUCCEEDED"
        wait_until(world.conn, "select count(*) = 29 from app.seen")
    check_invariants(world.conn)
    assert world.leftovers() == {}


def execute_as(world: World, request: RequestStatus, name: str) -> RequestStatus:
    """Execute in a session of that name, all items in one chunk."""
    key = HOST, request.request_id, request.plan_hash
    with psycopg.connect(named(world, name), autocommit=True) as conn:
        holder = Replay(conn)
        holder.execute_request(*key, reason="go")
        fence = holder.claim_request(*key).fence
        holder.begin_items(*key[:2], fence)
        run_chunk(world, holder, key, fence)
        return holder.settle_items(*key[:2], fence)


def run_chunk(world: World, holder: Replay, key: Key, fence: int) -> None:
    """Load, run and complete the chunk that was begun, in one database transaction."""
    deadline = time.monotonic() + 60
    with holder.conn.transaction():
        batch = holder.load_items(*key[:2], fence)
        outcome = run_batch(holder.conn, world.projection, batch, Mode.REPLAY, deadline=deadline)
        holder.complete_items(
            *key[:2], fence, batch[0].xact_id, failures=outcome.failures, upto=outcome.upto
        )


# What stays, and how much


def test_no_lock_survives_its_transaction_except_the_liveness_lock(
    world: World, connect: Connect
) -> None:
    """Between its transactions a holder has its liveness lock, once; behind its end nothing. A live
    processor has nothing between two batches."""
    request = approved(world, "A@1", "B@1", "C@1", "D@1", behind=("A@2", "B@2"))
    key = HOST, request.request_id, request.plan_hash
    conn = connect(autocommit=True)
    held: list[list[str]] = []

    def look(_: object = None) -> None:
        pid = conn.info.backend_pid
        held.append([kind for (kind,) in world.conn.execute(HELD, (pid,))])

    replay = Replay(conn)
    replay.execute_request(*key, reason="go")
    look()
    execution.execute(conn, world.projection, *key, items=2, on_progress=look)
    look()
    execution.execute(conn, world.projection, *key, on_progress=look)
    look()
    assert held[0] == [] and held[-1] == []
    assert {tuple(kinds) for kinds in held} == {(), ("advisory",)}
    assert held.count(["advisory"]) >= 4

    processor = LiveProcessor(named(world, "live"), world.projection, limit=1)
    processor.step()
    query = """select count(*) from pg_locks l join pg_stat_activity a on a.pid = l.pid
        where a.application_name = 'live' and l.locktype <> 'virtualxid'"""
    assert world.conn.execute(query).fetchone() == (0,)
    processor.close()


def test_a_batch_and_a_chunk_take_at_most_500_keys(world: World) -> None:
    """Transactions of 60 scopes each, ten at hand: eight at a time, live and in a replay."""
    # The first batch of a lane takes a lock more, for its position.
    world.append_each("u1")
    world.run()
    for number in range(10):
        world.append(f"T{number}", *(f"K{number}x{n}@1" for n in range(60)))
    keys: list[int] = []

    def count_and_fail(_: Cursor[Any]) -> None:
        keys.append(int((world.conn.execute(KEYS).fetchone() or (0,))[0]))
        raise ValueError

    world.trouble = {f"K{number}x0@1": count_and_fail for number in range(10)}
    LiveProcessor(named(world, "counted"), world.projection).run(once=True)
    assert len(world.failures()) == 10
    assert max(keys) == 480

    request = world.plan()
    pause_at(world.conn, "begin_items", after="any (v_items);", name="begun")
    key = HOST, request.request_id, request.plan_hash
    world.replay.execute_request(*key, reason="go")
    world.replay.claim_request(*key)
    dsn = make_conninfo(stopping_at(world.dsn, "begun"), application_name="counted")
    with (
        psycopg.connect(dsn, autocommit=True) as conn,
        hold(world.dsn, "begun") as begun,
        aside(Replay(conn).begin_items, *key[:2], 1, limit=5000) as chunk,
    ):
        begun.wait_until_reached()
        assert world.conn.execute(KEYS).fetchone() == (480,)
        begun.let_pass()
    assert chunk.result() == 8
    world.replay.yield_request(*key[:2], 1)
