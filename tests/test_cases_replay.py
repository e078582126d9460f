"""Faults of replay: exactly what was approved runs, once, and nothing else moves."""

import logging
import threading
from concurrent.futures import FIRST_COMPLETED, wait
from typing import Any

import pytest

from pyreplay.errors import InvalidReplayState, ReplayExecutionInProgress, StalePlan
from pyreplay.projection import Projection
from pyreplay.records import RequestStatus
from tests.support import wait_until
from tests.world import HOST, Gate, World, aside, fail, processing

POSITION = "select last_offset, applied_count, moved_at from replay.position"
ATTEMPTS = "select item_no, fence, result, error_code from replay.attempt order by item_no, fence"
MOVE = "update replay.progress set version = version + %s where scope_key = 'Thing:A'"


def fail_then_mend(world: World, *bad: str) -> None:
    """Let these labels fail once, live."""
    world.trouble = dict.fromkeys(bad, fail)
    world.run()
    world.trouble.clear()


def attempts(world: World) -> list[tuple[Any, ...]]:
    return world.conn.execute(ATTEMPTS).fetchall()


def modes(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What the executor's telemetry said of each transaction that ran: its id and mode."""
    found = [r.getMessage() for r in caplog.records if r.name == "pyreplay.executor"]
    return [message.removeprefix("orders: ") for message in found]


def test_X1_a_replay_moves_no_position(world: World) -> None:
    """Position 9, transaction 3 is replayed, the processor restarts: position 9, nothing again."""
    world.append_each(*(f"K{n}@1" for n in range(1, 10)))
    fail_then_mend(world, "K3@1")
    before = world.conn.execute(POSITION).fetchall()
    assert world.position() == 9

    world.heal()

    assert world.conn.execute(POSITION).fetchall() == before
    restarted = world.run()
    assert restarted.applied_count == restarted.drained_count == 0
    assert world.conn.execute(POSITION).fetchall() == before
    assert sorted(world.seen()) == [f"K{n}@1" for n in range(1, 10)]


def test_X2_without_a_handler_the_failure_stays_open_and_says_which(world: World) -> None:
    """The executing program has no handler for a member: OPEN, and the attempt names the type."""
    world.append_each("A@1")
    fail_then_mend(world, "A@1")
    lacking = Projection("orders")
    lacking.ignore("Noted")

    request = world.execute(world.plan(), projection=lacking)

    assert (request.status, request.failure_code) == ("FAILED", "PROJECTION_FAILED")
    (item,) = world.replay.list_items(HOST, request.request_id)
    assert (item.status, item.failure_status) == ("FAILED", "OPEN")
    assert (item.error_code, item.error_text) == (
        "HANDLER_MISSING",
        "no handler for Stepped (schema 1)",
    )
    assert world.seen() == []
    assert world.progress() == {}
    assert world.leftovers() == {}


def test_X6_the_second_of_five_fails_and_those_behind_it_are_untouched(world: World) -> None:
    """Item 1 is done, item 2 gets its one attempt, 3 to 5 get none and are not run to the end."""
    labels = [f"K{n}@1" for n in range(1, 6)]
    world.append_each(*labels)
    fail_then_mend(world, *labels)
    request = world.plan()
    world.trouble["K2@1"] = fail

    request = world.execute(request)

    assert (request.status, request.failure_code) == ("FAILED", "PROJECTION_FAILED")
    assert attempts(world) == [(1, 1, "SUCCEEDED", None), (2, 1, "FAILED", "ValueError")]
    assert world.seen() == ["K1@1"]
    assert [f.transaction_id for f in world.failures()] == labels[1:]
    items = world.replay.list_items(HOST, request.request_id)
    assert [i.status for i in items] == ["SUCCEEDED", "FAILED", "PENDING", "PENDING", "PENDING"]
    assert world.leftovers() == {}

    world.trouble.clear()
    assert world.heal().status == "SUCCEEDED"
    assert world.seen() == labels


def test_X9_a_like_failure_that_arrives_after_the_plan_is_not_in_the_run(world: World) -> None:
    """The same error of the same handler, captured after approval: not run, still OPEN."""
    world.append_each("A@1", "B@1")
    fail_then_mend(world, "A@1", "B@1")
    request = world.plan()
    world.append_each("C@1")
    fail_then_mend(world, "C@1")

    request = world.execute(request)

    assert (request.status, request.item_count) == ("SUCCEEDED", 2)
    assert world.seen() == ["A@1", "B@1"]
    assert [f.transaction_id for f in world.failures()] == ["C@1"]


def test_X10_progress_that_moved_after_approval_makes_the_plan_stale(world: World) -> None:
    """Whether it moves before the intent or behind it: STALE_PLAN and no effect."""
    world.append_each("A@1", "A@2")
    fail_then_mend(world, "A@2")
    request = world.plan()
    world.conn.execute(MOVE, (1,))

    with pytest.raises(StalePlan) as refusal:
        world.execute(request)

    assert refusal.value.details["fact"].startswith("progress")
    assert world.replay.get_request(HOST, request.request_id).status == "APPROVED"

    world.conn.execute(MOVE, (-1,))
    world.replay.execute_request(HOST, request.request_id, request.plan_hash, reason="go")
    world.conn.execute(MOVE, (1,))
    request = world.execute(request)

    assert (request.status, request.failure_code) == ("FAILED", "STALE_PLAN")
    assert world.seen() == ["A@1"]
    assert [label for label, _ in world.handled].count("A@2") == 2, "live, never in the replay"
    assert [f.status for f in world.failures()] == ["OPEN"]
    assert attempts(world) == []
    assert world.leftovers() == {}


@pytest.mark.both_servers
def test_X10_progress_that_moves_while_the_handler_runs_is_caught_by_the_write(
    world: World,
) -> None:
    """Somebody moves progress between the check and the write: the chunk leaves nothing."""
    world.append_each("A@1", "A@2")
    fail_then_mend(world, "A@2")
    request = world.plan()
    gate = world.trouble["A@2"] = Gate()

    with aside(world.execute, request) as replay:
        gate.wait_until_entered()
        world.conn.execute(MOVE, (1,))
        gate.open()

    assert replay.exception().sqlstate == "RP501"
    assert world.seen() == ["A@1"]
    assert [f.status for f in world.failures()] == ["OPEN"]
    assert world.leftovers() == {}
    assert world.replay.get_request(HOST, request.request_id).retryable


def test_X13_the_last_event_alone_and_one_after_a_gap_are_both_replays(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing about the place of a transaction turns its replay into live work."""
    world.append_each("A@1", "B@1", "B@2", "C@1")
    fail_then_mend(world, "A@1", "C@1")
    behind_a_hole, last = world.failures()
    caplog.set_level(logging.DEBUG, "pyreplay.executor")

    world.heal(last)
    assert modes(caplog) == ["C@1 ran in REPLAY"]
    caplog.clear()
    world.heal(behind_a_hole)
    assert modes(caplog) == ["A@1 ran in REPLAY"]


def test_X13_what_had_waited_behind_a_gap_and_then_failed_is_a_replay(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """A@2 waited for a gap to heal and failed once it was next; bringing it back is a replay."""
    world.append_each("A@1", "A@2")
    fail_then_mend(world, "A@1")
    world.trouble["A@2"] = fail
    world.heal()
    world.trouble.clear()
    (failure,) = world.failures()
    caplog.set_level(logging.DEBUG, "pyreplay.executor")

    world.heal(failure)

    assert modes(caplog) == ["A@2 ran in REPLAY"]
    assert world.seen() == ["A@1", "A@2"]


@pytest.mark.both_servers
def test_X16_a_retry_while_the_first_attempt_runs_is_refused(world: World) -> None:
    """While a handler of the replay runs, executing again answers at once: in progress."""
    world.append_each("A@1")
    fail_then_mend(world, "A@1")
    request = world.plan()
    key = HOST, request.request_id, request.plan_hash
    gate = world.trouble["A@1"] = Gate()

    with aside(world.execute, request) as replay:
        gate.wait_until_entered()
        world.conn.execute("set lock_timeout = '5s'")
        with pytest.raises(ReplayExecutionInProgress) as refusal:
            world.replay.execute_request(*key, reason="again")
        with pytest.raises(ReplayExecutionInProgress):
            world.replay.claim_request(*key)
        with pytest.raises(ReplayExecutionInProgress):
            world.replay.cancel_request(HOST, request.request_id, reason="too late")
        gate.open()

    assert refusal.value.details["lease_until"]
    assert replay.result().status == "SUCCEEDED"
    assert world.seen() == ["A@1"]
    assert attempts(world) == [(1, 1, "SUCCEEDED", None)]


def test_X17_a_resolved_failure_cannot_be_selected(world: World) -> None:
    """What was brought back cannot be planned again, alone or beside an open one."""
    world.append_each("A@1", "B@1")
    fail_then_mend(world, "A@1", "B@1")
    resolved, still_open = world.failures()
    world.heal(resolved)

    for chosen in ([resolved], [still_open, resolved]):
        with pytest.raises(InvalidReplayState) as refusal:
            world.plan(*chosen)
        assert refusal.value.details == {
            "failure_id": str(resolved.failure_id),
            "status": "RESOLVED",
        }
    assert world.count("request") == 1


@pytest.mark.both_servers
@pytest.mark.parametrize("held", [True, False])
def test_I10_two_executions_of_one_request_at_once_have_one_effect(
    world: World, held: bool
) -> None:
    """Two sessions execute one request in the same instant: one runs it, the other is refused."""
    labels = [f"K{n}@1" for n in range(5)]
    world.append_each(*labels)
    fail_then_mend(world, *labels)
    request = world.plan()
    start = threading.Barrier(2)
    if held:
        world.trouble["K0@1"] = gate = Gate()

    def execute() -> RequestStatus:
        start.wait()
        return world.execute(request)

    with aside(execute) as one, aside(execute) as two:
        if held:
            gate.wait_until_entered()
            wait([one, two], timeout=30, return_when=FIRST_COMPLETED)
            gate.open()

    errors = [e for e in (one.exception(), two.exception()) if e is not None]
    assert len(errors) == 1
    assert isinstance(errors[0], ReplayExecutionInProgress | InvalidReplayState)
    assert world.replay.get_request(HOST, request.request_id).status == "SUCCEEDED"
    assert world.seen() == labels
    assert world.count("run") == 1
    assert attempts(world) == [(n, 1, "SUCCEEDED", None) for n in range(1, 6)]
    assert world.leftovers() == {}


@pytest.mark.both_servers
def test_I10_two_plans_over_one_failure_have_one_effect(world: World) -> None:
    """Two approved plans hold the same failure and are executed at once: the second waits for the
    scope, finds its plan stale and does nothing."""
    world.append_each("A@1")
    fail_then_mend(world, "A@1")
    first, second = world.plan(), world.plan()
    gate = world.trouble["A@1"] = Gate()

    with aside(world.execute, first) as one:
        gate.wait_until_entered()
        with aside(world.execute, second) as two:
            wait_until(world.conn, "select count(*) = 2 from replay.run")
            gate.open()

    assert one.result().status == "SUCCEEDED"
    assert (two.result().status, two.result().failure_code) == ("FAILED", "STALE_PLAN")
    assert world.seen() == ["A@1"]
    assert attempts(world) == [(1, 1, "SUCCEEDED", None)]
    assert world.leftovers() == {}


def test_failures_of_every_scope_are_replayed_whole(world: World) -> None:
    """Aggregates, graphs and unordered work, mixed in one plan; what waited behind flows."""
    world.append("T1", "A@1", "G#1", "G#1", "B@1")
    world.append("T2", "u1", "u2")
    world.append("T3", "G#2", "A@2")
    world.append("T4", "B@2")
    fail_then_mend(world, "B@1", "u2")
    assert world.deferred() == ["T3", "T4"]

    request = world.heal()

    assert (request.status, request.item_count, request.member_count) == ("SUCCEEDED", 2, 6)
    assert world.seen()[:6] == ["A@1", "G#1", "G#1", "B@1", "u1", "u2"]
    assert sorted(world.seen()[6:]) == ["A@2", "B@2", "G#2"]
    assert world.progress() == {"Thing:A": 2, "Thing:B": 2, "G": 2}
    assert world.count("ledger") == 1
    assert world.leftovers() == {}


@pytest.mark.both_servers
def test_a_replay_beside_a_running_live_processor_keeps_every_order(world: World) -> None:
    """Twenty failures with work behind them are replayed while a live processor drains and reads
    what is appended in between: each event once, each aggregate in version order."""
    names = [f"K{n}" for n in range(40)]
    world.append_each(*(f"{name}@{version}" for version in (1, 2, 3) for name in names))
    fail_then_mend(world, *(f"{name}@1" for name in names[:20]))
    request = world.plan()

    with processing(world.processor(limit=5)), aside(world.execute, request) as replay:
        for version in (4, 5):
            world.append_each(*(f"{name}@{version}" for name in names[20:]))
        assert replay.result().status == "SUCCEEDED"
        world.append_each(*(f"{name}@{version}" for version in (4, 5) for name in names[:20]))
        wait_until(world.conn, "select count(*) = 200 from app.seen")

    for name in names:
        applied = [label for label in world.seen() if label.startswith(f"{name}@")]
        assert applied == [f"{name}@{version}" for version in range(1, 6)]
    assert len(world.seen()) == 200
    assert world.failures() == []
    assert world.leftovers() == {}
