"""Each known race as a forced schedule: it passes on the engine as it is, every time, and fails on
one that has the bug. Random runs alone missed such bugs."""

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from pyreplay import execution
from pyreplay.client import Replay
from pyreplay.live import LiveProcessor, process_batch
from pyreplay.records import BatchResult, RequestStatus
from tests.invariants import find_violations
from tests.schedule import hold, pause_at, replace_in, stopping_at
from tests.world import HOST, World, aside, fail

Sabotage = list[tuple[str, str, str]]

_LOCKS = "perform replay._lock_scopes(array("
_NO_LOCKS = "perform cardinality(array("
_LOCK_BATCH = """perform replay._own_batch(p_xact_id);
  perform replay._lock_scopes(array(
    select replay._scope_lock_key(b.host_id, b.projection_id, s.scope_type, s.scope_key)
    from replay.batch_item b cross join unnest(b.scopes) s where b.xact_id = p_xact_id));"""
_ONLY_IF_NEXT = """and not exists (
      select from replay.deferred_scope s
      left join replay.progress p on (p.host_id, p.projection_id, p.scope_type, p.scope_key)
        = (s.host_id, s.projection_id, s.scope_type, s.scope_key)
      where (s.host_id, s.projection_id, s.transaction_id)
        = (x.host_id, x.projection_id, x.transaction_id)
        and s.first_version > coalesce(p.version, 0) + 1)
    order by x.first_version) w"""
_UNREAD = "exists (select from replay.barrier b where b.request_id = p_request.request_id)"
_LOCKED = "= (p_request.host_id, p_request.request_id)));"


class Lost(Exception):
    """The race was lost: what stands in the database is wrong."""


def must_end(world: World, *labels: str) -> None:
    """Raise Lost unless the invariants hold, and live work then ends with these labels."""
    if found := find_violations(world.conn):
        raise Lost(found)
    live(world)
    if world.seen()[-len(labels) :] != list(labels):
        raise Lost(world.seen())


def two_scopes_advance_at_once(world: World) -> None:
    """T needs A@2 and C@2. One batch has moved A and woken whom it could, another moves C: neither
    sees the other's progress, and yet one of them must wake T."""
    x, a, c = aggregates(world, 3)
    world.append_each(f"{a}@2", f"{c}@2")
    world.append("T", f"{x}@2", f"{a}@3", f"{c}@3")
    world.run(lane=0)
    assert world.deferred() == ["T"]
    pause_at(world.conn, "_conclude_batch", after="_wake_next(p_xact_id);", name="woken")

    with hold(world.dsn, "woken") as woken, aside(live, world, stop="woken", lane=1) as one:
        woken.wait_until_reached()
        with aside(live, world, name="other", lane=2) as two:
            wait_until_stuck(world, "other", two)
            woken.let_pass()

    assert one.result().applied_count == two.result().applied_count == 1
    must_end(world, f"{x}@2", f"{a}@3", f"{c}@3")


def a_batch_defers_what_an_item_makes_next(world: World) -> None:
    """A live batch has read progress 0 and will defer A@2; meanwhile the item moves A to 1. Its
    settle waits for that batch, sees A@2 deferred, and wakes it."""
    world.append_each("A@1", "A@2")
    world.trouble["A@1"] = fail
    live(world, limit=1, steps=1)
    world.trouble.clear()
    request = world.plan()
    pause_at(world.conn, "claim_batch", after="_decide(v_items) d;", name="decided")
    pause_at(world.conn, "load_items", after="any (v_items);", name="loaded")

    with (
        hold(world.dsn, "loaded") as loaded,
        hold(world.dsn, "decided") as decided,
        aside(replay_items, world, request, stop="loaded", name="replay") as replay,
    ):
        loaded.wait_until_reached()
        with aside(live, world, stop="decided") as batch:
            decided.wait_until_reached()
            loaded.let_pass()
            wait_until_stuck(world, "replay", replay)
            assert world.progress() == {"Thing:A": 1}
            decided.let_pass()

    assert batch.result().deferred_count == 1
    assert replay.result().status == "SUCCEEDED"
    must_end(world, "A@1", "A@2")


def two_batches_meet_in_one_scope(world: World) -> None:
    """One batch applies A@2 and has woken whom it could; another, of another lane, holds A@3. The
    second must not decide before the first has committed."""
    x, a = aggregates(world, 2)
    world.append_each(f"{a}@2")
    world.append("T", f"{x}@2", f"{a}@3")
    pause_at(world.conn, "_conclude_batch", after="_wake_next(p_xact_id);", name="woken")

    with hold(world.dsn, "woken") as woken, aside(live, world, stop="woken", lane=1) as one:
        woken.wait_until_reached()
        with aside(live, world, name="other", lane=0) as two:
            wait_until_stuck(world, "other", two)
            woken.let_pass()

    assert one.result().applied_count == 1
    two.result()
    must_end(world, f"{a}@2", f"{x}@2", f"{a}@3")


def a_drain_and_a_settle_meet_at_a_deferred_row(world: World) -> None:
    """T waits for A@1 and B@2. A drain reads T behind B@2 and waits for scope A, which a settle
    holds that is about to wake T: it needs T's row."""
    world.append_each("A@1", "B@1", "B@2")
    world.append("T", "A@2", "B@3")
    world.trouble |= {"A@1": fail, "B@1": fail}
    live(world)
    world.trouble.clear()
    first, second = sorted(world.failures(), key=lambda failure: failure.transaction_id)
    replay_items(world, world.plan(second))
    assert world.count("wake") == 1
    request = world.plan(first)
    pause_at(world.conn, "_lower_barriers", after=_LOCKED, name="locked", when=_UNREAD)

    with (
        hold(world.dsn, "locked") as locked,
        aside(replay_items, world, request, stop="locked") as replay,
    ):
        locked.wait_until_reached()
        with aside(drain, world, name="drain") as drained:
            wait_until_stuck(world, "drain", drained)
            locked.let_pass()

    assert replay.result().status == "SUCCEEDED"
    assert drained.result().drained_count == 2
    must_end(world, "B@1", "A@1", "B@2", "A@2", "B@3")


RACES: dict[str, tuple[Callable[[World], None], Sabotage]] = {
    "wake-up lost between two scopes, D3": (
        two_scopes_advance_at_once,
        [("_wake_next", "order by x.first_version) w", _ONLY_IF_NEXT)],
    ),
    "deferred by a batch that read progress before the item moved it, D4": (
        a_batch_defers_what_an_item_makes_next,
        [
            (
                "complete_items",
                "perform replay._move_progress(p_xact_id);",
                "perform replay._move_progress(p_xact_id); perform replay._wake_next(p_xact_id);",
            ),
            ("_lower_barriers", "and s.first_version <=", "and false and s.first_version <="),
        ],
    ),
    "settle without the locks": (
        a_batch_defers_what_an_item_makes_next,
        [("_lower_barriers", _LOCKS, _NO_LOCKS)],
    ),
    "scope locks behind the handlers": (
        two_batches_meet_in_one_scope,
        [
            ("claim_batch", _LOCKS, _NO_LOCKS),
            ("complete_batch", "perform replay._own_batch(p_xact_id);", _LOCK_BATCH),
        ],
    ),
    "a deferred row locked before its scope": (
        a_drain_and_a_settle_meet_at_a_deferred_row,
        [("_read_woken", "d.source_offset\n  limit p_limit;", "d.source_offset\n  limit p_limit"
          "\n  for update of d;")],
    ),
}  # fmt: skip


@pytest.fixture(autouse=True)
def nobody_drains(monkeypatch: pytest.MonkeyPatch) -> None:
    """What waited behind an item is left to the live processors of the schedule."""
    monkeypatch.setattr(execution._Run, "drain", lambda run: None)


@pytest.mark.both_servers
@pytest.mark.parametrize("name", RACES)
def test_race_is_won_I5_I11(name: str, world: World) -> None:
    race, _ = RACES[name]
    race(world)


@pytest.mark.parametrize("name", RACES)
def test_race_is_lost_by_the_bug(name: str, world: World) -> None:
    race, sabotage = RACES[name]
    for function, old, new in sabotage:
        replace_in(world.conn, function, (old, new))
    with pytest.raises((Lost, psycopg.errors.DeadlockDetected)):
        race(world)


def aggregates(world: World, lane_count: int) -> list[str]:
    """Give the host that many lanes and return an aggregate for each, applied at version 1."""
    world.replay.set_lanes(HOST, lane_count)
    world.append_each(*(f"P{number}@1" for number in range(20)))
    world.run()
    query = "select min(transaction_id) from replay.outbox group by lane order by lane"
    return [label.removesuffix("@1") for (label,) in world.conn.execute(query)]


def live(
    world: World, *, stop: str = "", name: str = "live", steps: int | None = None, **options: Any
) -> BatchResult:
    """Process live until nothing is left, or so many batches, in a session of that name which
    stops at that point."""
    processor = LiveProcessor(_session(world, stop, name), world.projection, **options)
    if steps is None:
        return processor.run(once=True)
    for _ in range(steps):
        processor.step()
    processor.close()
    return processor.totals


def drain(world: World, *, name: str) -> BatchResult | None:
    """One batch of what is woken; a deadlock is not tried again."""
    with psycopg.connect(_session(world, "", name), autocommit=True) as conn:
        return process_batch(conn, world.projection, woken_only=True)


def replay_items(
    world: World, request: RequestStatus, *, stop: str = "", name: str = "replay"
) -> RequestStatus:
    """Execute a request's items, and leave what waited behind them to live processors."""
    key = HOST, request.request_id, request.plan_hash
    with psycopg.connect(_session(world, stop, name), autocommit=True) as conn:
        Replay(conn).execute_request(*key, reason="go")
        return execution.execute(conn, world.projection, *key)


def _session(world: World, stop: str, name: str) -> str:
    dsn = stopping_at(world.dsn, stop) if stop else world.dsn
    return make_conninfo(dsn, application_name=name)


def wait_until_stuck(world: World, name: str, work: Future[Any]) -> None:
    """Return once the session of that name waits for another one, or, where a bug does not let it
    wait, has done its work."""
    waits = """select count(*) > 0, pg_sleep(0.01) from pg_stat_activity a
        where a.application_name = %s and cardinality(pg_blocking_pids(a.pid)) > 0"""
    for _ in range(2000):
        found = world.conn.execute(waits, (name,)).fetchone()
        if work.done() or (found and found[0]):
            return
    raise AssertionError(f"{name} neither waits nor ends")
