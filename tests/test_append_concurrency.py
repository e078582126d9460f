"""Two sessions that append at once, against real servers."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from pyreplay.client import Replay
from pyreplay.errors import (
    EventIdConflict,
    TransactionConflict,
    VersionConflict,
)
from tests.conftest import Connect
from tests.support import wait_until_blocked
from tests.world import HOST, World, envelope

pytestmark = pytest.mark.both_servers


@pytest.fixture
def world(dsn: str) -> Iterator[World]:
    world = World(dsn)
    yield world
    world.close()


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor() as pool:
        yield pool


def outbox(world: World, lane: int = 0) -> list[str]:
    """Transaction ids of a lane in their order; asserts that there is no gap."""
    rows = world.conn.execute(
        "select source_offset, transaction_id from replay.outbox where lane = %s order by 1",
        (lane,),
    ).fetchall()
    assert [offset for offset, _ in rows] == list(range(1, len(rows) + 1))
    return [name for _, name in rows]


def test_same_id_at_once_is_one_transaction_and_one_answer(
    world: World, connect: Connect, pool: ThreadPoolExecutor
) -> None:
    first, second = Replay(connect()), Replay(connect())
    answer = world.append("t1", "A@1", replay=first)
    waiting = pool.submit(world.append, "t1", "A@1", replay=second)
    wait_until_blocked(world.conn, second.conn.info.backend_pid)
    first.conn.commit()
    assert waiting.result() == answer
    second.conn.commit()
    assert outbox(world) == ["t1"]


def test_same_id_at_once_with_other_bytes_is_a_conflict(
    world: World, connect: Connect, pool: ThreadPoolExecutor
) -> None:
    first, second = Replay(connect()), Replay(connect())
    world.append("t1", "A@1", replay=first)
    waiting = pool.submit(world.append, "t1", "B@1", replay=second)
    wait_until_blocked(world.conn, second.conn.info.backend_pid)
    first.conn.commit()
    with pytest.raises(TransactionConflict):
        waiting.result()


def test_same_id_at_once_is_appended_by_the_second_when_the_first_rolls_back(
    world: World, connect: Connect, pool: ThreadPoolExecutor
) -> None:
    first, second = Replay(connect()), Replay(connect())
    world.append("t1", "A@1", replay=first)
    waiting = pool.submit(world.append, "t1", "A@1", replay=second)
    wait_until_blocked(world.conn, second.conn.info.backend_pid)
    first.conn.rollback()
    assert waiting.result().transaction_id == "t1"
    second.conn.commit()
    assert outbox(world) == ["t1"]


@pytest.mark.parametrize(("commits", "fits"), [(True, "A@3"), (False, "A@2")])
def test_same_aggregate_at_once_takes_turns(
    world: World, connect: Connect, pool: ThreadPoolExecutor, commits: bool, fits: str
) -> None:
    world.append("t1", "A@1")
    first, second, third = (Replay(connect()) for _ in range(3))
    world.append("t2", "A@2", replay=first)
    same = pool.submit(world.append, "t3", "A@2", replay=second)
    wait_until_blocked(world.conn, second.conn.info.backend_pid)
    if commits:
        first.conn.commit()
        with pytest.raises(VersionConflict) as refusal:
            same.result()
        assert refusal.value.details["expected"] == 3
    else:
        first.conn.rollback()
        assert same.result().transaction_id == "t3"
        second.conn.rollback()
    assert world.append("t4", fits, replay=third).transaction_id == "t4"


def test_a_new_aggregate_at_once_takes_turns(
    world: World, connect: Connect, pool: ThreadPoolExecutor
) -> None:
    first, second = Replay(connect()), Replay(connect())
    world.append("t1", "A@1", replay=first)
    waiting = pool.submit(world.append, "t2", "A@1", replay=second)
    wait_until_blocked(world.conn, second.conn.info.backend_pid)
    first.conn.commit()
    with pytest.raises(VersionConflict):
        waiting.result()


def test_aggregates_in_opposite_order_do_not_deadlock(
    world: World, connect: Connect, pool: ThreadPoolExecutor
) -> None:
    """Stream heads are locked by key, not in the order of the members."""
    world.append("t0", "A@1", "B@1", "C@1")
    holder, first, second = (Replay(connect()) for _ in range(3))
    # Whoever locked its last key first would stand here holding what the other one needs.
    holder.conn.execute(
        "select from replay.stream_head where scope_key = 'Thing:B' for no key update"
    )
    one = pool.submit(world.append, "t1", "A@2", "B@2", "C@2", replay=first)
    wait_until_blocked(world.conn, first.conn.info.backend_pid)
    two = pool.submit(world.append, "t2", "C@2", "B@2", "A@2", replay=second)
    wait_until_blocked(world.conn, second.conn.info.backend_pid)
    holder.conn.rollback()
    assert one.result().transaction_id == "t1"
    first.conn.commit()
    with pytest.raises(VersionConflict):
        two.result()


def test_same_event_id_at_once_is_refused(
    world: World, connect: Connect, pool: ThreadPoolExecutor
) -> None:
    def append(name: str, label: str, replay: Replay) -> Any:
        event = envelope(HOST, name, 1, 0, label) | {"id": "one"}
        return replay.append_transaction(HOST, name, [_json(event)], world.registry.digest)

    first, second = Replay(connect()), Replay(connect())
    append("t1", "u1", first)
    waiting = pool.submit(append, "t2", "u2", second)
    wait_until_blocked(world.conn, second.conn.info.backend_pid)
    first.conn.commit()
    with pytest.raises(EventIdConflict) as refusal:
        waiting.result()
    assert refusal.value.details["stored_in"] == "t1"


def test_d8_lanes_in_opposite_order_do_not_deadlock_and_nobody_waits_for_the_idle(
    world: World, connect: Connect, pool: ThreadPoolExecutor
) -> None:
    world.replay.set_lanes(HOST, 2)
    low, high = _two_of_each_lane(world)
    idle, first, second, holder = (Replay(connect()) for _ in range(4))
    world.append("idle", "I@1", replay=idle)
    world.append("t1", f"{low[0]}@2", replay=first)
    world.append("t2", f"{high[0]}@2", replay=first)
    world.append("t3", f"{high[1]}@2", replay=second)
    world.append("t4", f"{low[1]}@2", replay=second)
    holder.conn.execute("select from replay.outbox_lane where lane = 0 for no key update")
    commits = []
    for session in (first, second):
        commits.append(pool.submit(session.conn.commit))
        wait_until_blocked(world.conn, session.conn.info.backend_pid)
    holder.conn.rollback()
    for commit in commits:
        commit.result()
    # Nobody has waited for the idle one, and it leaves no hole.
    assert {"t1", "t4"} <= set(outbox(world, 0))
    assert {"t2", "t3"} <= set(outbox(world, 1))
    idle.conn.rollback()
    assert "idle" not in outbox(world, 0) + outbox(world, 1)


def test_o7_an_append_that_rolls_back_leaves_no_hole(world: World, connect: Connect) -> None:
    undone, done = Replay(connect()), Replay(connect())
    world.append("t1", "A@1")
    world.append("undone", "B@1", replay=undone)
    world.append("t2", "C@1", replay=done)
    done.conn.commit()
    undone.conn.rollback()
    world.append("t3", "B@1")
    assert outbox(world) == ["t1", "t2", "t3"]
    world.start()
    world.run()
    assert world.seen() == ["A@1", "C@1", "B@1"]


def test_offsets_follow_the_commits(world: World, connect: Connect) -> None:
    slow, quick = Replay(connect()), Replay(connect())
    world.append("slow", "A@1", replay=slow)
    world.append("quick", "B@1", replay=quick)
    quick.conn.commit()
    slow.conn.commit()
    assert outbox(world) == ["quick", "slow"]


def test_one_database_transaction_is_numbered_in_its_order(world: World, connect: Connect) -> None:
    session = Replay(connect())
    with session.conn.transaction():
        world.append("t1", "A@1", replay=session)
        with session.conn.transaction(force_rollback=True):
            world.append("undone", "A@2", replay=session)
        world.append("t2", "A@2", replay=session)
        session.conn.execute("set constraints all immediate")
        world.append("t3", "A@3", replay=session)
        session.conn.execute("set constraints all deferred")
        world.append("t4", "A@4", replay=session)
    assert outbox(world) == ["t1", "t2", "t3", "t4"]
    with session.conn.transaction():
        with session.conn.transaction(force_rollback=True):
            world.append("undone", "B@1", replay=session)
        world.append("t5", "B@1", replay=session)
    assert outbox(world) == ["t1", "t2", "t3", "t4", "t5"]
    assert world.count("outbox_pending") == 0


def test_two_publishers_at_once_lose_no_entry(
    world: World, connect: Connect, pool: ThreadPoolExecutor
) -> None:
    first, second = Replay(connect()), Replay(connect())
    entry = {
        "event_schema": "1",
        "policy": "TRANSACTION_ONLY",
        "repair_disposition": "FIX_AND_EXACT_REPLAY_ONLY",
        "side_effects": "NONE",
    }
    first.publish_registry([entry | {"event_type": "One"}])
    waiting = pool.submit(second.publish_registry, [entry | {"event_type": "Two"}])
    wait_until_blocked(world.conn, second.conn.info.backend_pid)
    # Readers and appenders go on meanwhile.
    assert world.append("t1", "A@1").registry_version == 1
    first.conn.commit()
    assert waiting.result().registry_version == 3
    second.conn.commit()
    names = {found.event_type for found in world.replay.get_registry()}
    assert {"One", "Two", "Stepped"} <= names


def _json(event: dict[str, Any]) -> bytes:
    return json.dumps(event).encode()


def _two_of_each_lane(world: World) -> tuple[list[str], list[str]]:
    """Aggregates at version 1: two of lane 0 and two of lane 1."""
    found: dict[int, list[str]] = {0: [], 1: []}
    for name in (f"S{number}" for number in range(100)):
        world.append(name, f"{name}@1")
        row = world.conn.execute(
            "select lane from replay.outbox where transaction_id = %s", (name,)
        ).fetchone()
        assert row
        found[row[0]].append(name)
        if len(found[0]) > 1 and len(found[1]) > 1:
            return found[0], found[1]
    raise AssertionError("one lane gets nothing")
