"""Faults of order: what comes behind a failure or a gap waits, and nothing is skipped."""

from typing import Any

import psycopg
import pytest

from pyreplay.client import Replay
from tests.support import wait_until
from tests.world import (
    HOST,
    OTHER_HOST,
    Gate,
    World,
    aside,
    fail,
    one_aggregate_per_lane,
    processing,
)


def run_once(world: World, label: str, work: Any) -> None:
    """Do the work when the handler of this label runs for the first time."""

    def trouble(cursor: Any) -> None:
        del world.trouble[label]
        work()

    world.trouble[label] = trouble


def test_O1_what_comes_behind_a_failure_is_deferred_whole(world: World) -> None:
    """A@1 fails, A@2 waits whole with its other member; it is no second failure."""
    world.append("T1", "A@1")
    world.append("T2", "A@2", "B@1")
    world.trouble["A@1"] = fail

    result = world.run()

    assert [f.transaction_id for f in world.failures()] == ["T1"]
    assert world.deferred() == ["T2"]
    assert world.seen() == []
    assert world.progress() == {}
    assert (result.failed_count, result.deferred_count, result.applied_count) == (1, 1, 0)
    assert world.position() == 2


def test_O2_a_failure_is_replayed_however_far_the_position_has_moved(world: World) -> None:
    """B@5 has long been applied behind it; A@1 is applied all the same."""
    world.append_each("A@1", "B@1", "B@2", "B@3", "B@4", "B@5")
    world.trouble["A@1"] = fail
    world.run()
    world.trouble.clear()

    request = world.heal()

    assert request.status == "SUCCEEDED"
    assert world.seen() == ["B@1", "B@2", "B@3", "B@4", "B@5", "A@1"]
    assert world.failures() == []
    assert world.position() == 6


def test_O3_a_poisoned_follower_becomes_a_failure_of_its_own(world: World) -> None:
    """A@2 waits behind A@1 and is poisoned too: the plan heals 1, a second plan heals 2."""
    world.append_each("A@1", "A@2", "A@3")
    world.trouble = {"A@1": fail, "A@2": fail}
    world.run()
    del world.trouble["A@1"]

    first = world.heal()

    assert (first.status, first.item_count) == ("SUCCEEDED", 1)
    assert world.seen() == ["A@1"]
    assert [f.transaction_id for f in world.failures()] == ["A@2"]
    assert world.deferred() == ["A@3"]

    del world.trouble["A@2"]
    second = world.heal()

    assert second.status == "SUCCEEDED"
    assert world.seen() == ["A@1", "A@2", "A@3"]
    assert world.failures() == []
    assert world.leftovers() == {}


def test_O5_pages_list_every_open_failure_exactly_once(world: World) -> None:
    """More failures than a page holds, of two hosts, one healed meanwhile: each is listed once."""
    labels = [f"K{n}@1" for n in range(11)]
    world.trouble = dict.fromkeys(labels, fail)
    for host_id in (HOST, OTHER_HOST):
        world.append_each(*labels[:6], host_id=host_id)
        world.run(limit=5)
    for host_id in (HOST, OTHER_HOST):
        world.append_each(*labels[6:], host_id=host_id)
    world.run(limit=3)

    world.trouble.clear()
    listed = world.failures(limit=4)
    world.heal(listed[1])
    while page := world.failures(after=listed[-1].failure_id, limit=4):
        listed += page

    names = [(f.host_id, f.transaction_id) for f in listed]
    assert sorted(names) == sorted((host, label) for host in (HOST, OTHER_HOST) for label in labels)
    assert len(set(names)) == 22
    assert len(world.failures(limit=1000)) == 21


@pytest.mark.both_servers
@pytest.mark.parametrize("held", ["A@3", "A@4"])
def test_O9_live_work_arriving_during_a_replay_comes_last(world: World, held: str) -> None:
    """3 is replayed with 4 and 5 behind it; 6 is read live while 3 (or 4) runs: 3, 4, 5, 6."""
    world.append_each(*(f"A@{version}" for version in range(1, 7)))
    world.trouble["A@3"] = fail
    processor = world.processor(limit=5)
    processor.step()
    processor.close()
    assert (world.seen(), world.deferred()) == (["A@1", "A@2"], ["A@4", "A@5"])
    del world.trouble["A@3"]
    request = world.plan()

    gate = world.trouble[held] = Gate()
    with aside(world.execute, request) as replay:
        gate.wait_until_entered()
        world.run()
        gate.open()
    world.run()

    assert replay.result().status == "SUCCEEDED"
    assert world.seen() == [f"A@{version}" for version in range(1, 7)]
    assert world.position() == 6
    assert world.leftovers() == {}


@pytest.mark.parametrize("in_one_batch", [True, False])
def test_O10_whoever_is_deferred_in_one_scope_is_awaited_in_all(
    world: World, in_one_batch: bool
) -> None:
    """T waits for A and touches B too; U, later and only in B, waits behind T."""
    world.append("F", "A@1")
    world.append("T", "A@2", "B@1")
    world.trouble["A@1"] = fail
    if not in_one_batch:
        world.run()
    world.append("U", "B@2")
    world.run()
    assert world.deferred() == ["T", "U"]
    assert world.seen() == []
    world.trouble.clear()

    world.heal()

    assert world.seen() == ["A@1", "A@2", "B@1", "B@2"]
    assert world.leftovers() == {}


@pytest.mark.both_servers
def test_O11_one_healed_failure_lets_its_whole_chain_flow(world: World) -> None:
    """A@1 fails, A@2 to A@500 wait; one plan of one item, and all flow in order, while A@501 is
    appended and a live processor runs in the middle of it."""
    chain = [f"A@{version}" for version in range(1, 502)]
    world.append_each(*chain[:500])
    world.trouble["A@1"] = fail
    world.run()
    assert len(world.deferred()) == 499
    world.trouble.clear()

    def arrive() -> None:
        with psycopg.connect(world.dsn, autocommit=True) as other:
            world.append("A@501", "A@501", replay=Replay(other))
        world.run()

    run_once(world, "A@250", arrive)
    request = world.heal()
    world.run()

    assert (request.status, request.item_count) == ("SUCCEEDED", 1)
    assert world.count("request") == 1
    assert world.seen() == chain
    assert world.progress() == {"Thing:A": 501}
    assert world.position() == 501
    assert world.leftovers() == {}


def test_O12_a_version_from_another_lane_waits_for_the_one_before_it(world: World) -> None:
    """A@3 is read before A@2, which comes by another lane: a gap that names 2, and heals by
    itself once 2 has been read."""
    other, a = one_aggregate_per_lane(world, 2)
    world.append("T2", f"{a}@2")
    world.append("T3", f"{other}@2", f"{a}@3")

    world.run(lane=0)

    query = "select scope_key, missing_first, missing_last, found_version, appended from replay.gap"
    assert world.conn.execute(query).fetchall() == [(f"Thing:{a}", 2, 2, 3, True)]
    assert world.deferred() == ["T3"]
    assert world.seen() == []

    world.run(lane=1)
    world.run(lane=0)

    assert world.seen() == [f"{a}@2", f"{other}@2", f"{a}@3"]
    assert world.conn.execute(query).fetchall() == []
    assert world.failures() == []
    assert world.leftovers() == {}


@pytest.mark.both_servers
def test_two_processors_side_by_side_apply_each_event_once_in_version_order(world: World) -> None:
    """Many aggregates over four lanes, transactions that cross them, two processors at once."""
    world.replay.set_lanes(HOST, 4)
    names = [f"K{n}" for n in range(24)]
    with world.conn.transaction():
        for version in range(1, 9):
            for a, b in zip(names[version % 2 :: 2], names[1 - version % 2 :: 2], strict=True):
                world.append(f"{a}{b}-{version}", f"{a}@{version}", f"{b}@{version}")

    one, two = world.processor(limit=7), world.processor(limit=9)
    with processing(one, two):
        wait_until(world.conn, "select count(*) = 192 from app.seen")

    for name in names:
        applied = [label for label in world.seen() if label.startswith(f"{name}@")]
        assert applied == [f"{name}@{version}" for version in range(1, 9)]
    assert one.totals.applied_count > 0 < two.totals.applied_count
    assert len(world.seen()) == 192
    assert world.failures() == []
    assert world.leftovers() == {}


@pytest.mark.both_servers
def test_pausing_lets_the_batch_in_hand_finish_and_no_other_begin(world: World) -> None:
    """Pause waits for nobody; the batch that runs ends, the next is taken after resume only."""
    world.append_each("A@1")
    gate = world.trouble["A@1"] = Gate()
    with aside(world.run) as live:
        gate.wait_until_entered()
        world.replay.pause_projection(world.projection.name, reason="maintenance")
        gate.open()
    assert live.result().applied_count == 1
    world.append_each("A@2")

    assert world.run().applied_count == 0
    assert world.seen() == ["A@1"]
    world.replay.resume_projection(world.projection.name, reason="done")
    assert world.run().applied_count == 1
    assert world.seen() == ["A@1", "A@2"]
