"""Dead ends and traps that were found by trying the design."""

import json
import logging
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from psycopg import Cursor

from pyreplay.client import Replay
from pyreplay.errors import (
    AggregateProjectionBlocked,
    ReplayExecutionUnavailable,
    StalePlan,
    TransactionConflict,
)
from tests.support import wait_until
from tests.world import (
    HOST,
    Gate,
    World,
    aside,
    envelope,
    fail,
    one_aggregate_per_lane,
    payloads,
    processing,
    raise_state,
)

FAULTS = "select fault_code from replay.projection_lag"
FOREIGN_KEY = """
create table app.parent (id int primary key);
create table app.child (parent int, constraint child_of foreign key (parent)
  references app.parent deferrable initially deferred);
"""
# Holds whoever has written its wake rows, until the test lets go of lock 99.
HOLD = """
create function app.hold() returns trigger language plpgsql as $$
begin
  perform pg_advisory_xact_lock_shared(99);
  return new;
end $$;
create trigger hold before update on replay.position
for each row execute function app.hold();
"""
WAITING = """
select count(*) = %s from pg_stat_activity a
where a.datname = current_database() and cardinality(pg_blocking_pids(a.pid)) > 0
"""
SECRET = "Zebra-4711"
Break = Callable[[World], Callable[[], object]]


def set_head(world: World, key: str, version: int) -> None:
    """Move a stream head by hand, as only the owner can: the outbox never produces these cases."""
    query = "update replay.stream_head set version = %s where scope_key = %s"
    world.conn.execute(query, (version, key))


def test_D1_a_transaction_half_behind_and_half_next_is_evidence(world: World) -> None:
    """T carries A@3 and B@7 while A is at 5 and B at 6: evidence, it holds no scope, and B goes
    on waiting for a 7 of its own."""
    world.append_each("A@1", "A@2", *(f"B@{version}" for version in range(1, 7)))
    world.run()
    world.append("T", "A@3", "B@7")
    world.append("T8", "B@8")
    world.conn.execute("update replay.progress set version = 5 where scope_key = 'Thing:A'")

    result = world.run()

    assert (result.conflict_count, result.deferred_count) == (1, 1)
    query = "select kind, transaction_id, cardinality(digests) from replay.evidence"
    assert world.conn.execute(query).fetchall() == [("CONFLICT", "T", 2)]
    assert world.progress() == {"Thing:A": 5, "Thing:B": 6}
    assert (world.count("failure"), world.deferred(), world.position()) == (0, ["T8"], 10)
    gap = world.conn.execute("select missing_first, missing_last, found_version from replay.gap")
    assert gap.fetchall() == [(7, 7, 8)]

    set_head(world, "Thing:B", 6)
    world.append("T7", "B@7")
    world.run()
    assert world.seen()[-2:] == ["B@7", "B@8"]
    assert world.leftovers() == {}


def test_D1_a_version_that_a_deferred_transaction_holds_is_evidence_naming_both(
    world: World,
) -> None:
    """Another id carries a version that already waits: evidence, and the first goes on waiting."""
    world.append("F", "A@1")
    world.append("T", "A@2")
    world.trouble["A@1"] = fail
    set_head(world, "Thing:A", 1)
    world.append("other", "A@2", "B@1")

    assert world.processor(limit=2).run(once=True).conflict_count == 1

    query = "select transaction_id, other_transaction_id from replay.evidence"
    assert world.conn.execute(query).fetchall() == [("other", "T")]
    assert world.deferred() == ["T"]
    world.trouble.clear()
    world.heal()
    assert world.seen() == ["A@1", "A@2"]
    assert world.leftovers() == {}


@pytest.mark.both_servers
def test_D3_two_batches_that_make_a_transaction_next_together_wake_it(world: World) -> None:
    """T needs A@2 and C@2. Two batches apply these at once and neither sees the other's: T is
    woken all the same, and applied."""
    x, a, c = one_aggregate_per_lane(world, 3)
    world.append_each(f"{a}@2", f"{c}@2")
    world.append("T", f"{x}@2", f"{a}@3", f"{c}@3")
    world.run(lane=0)
    assert world.deferred() == ["T"]
    world.conn.execute(HOLD)
    world.conn.execute("select pg_advisory_lock(99)")

    with aside(world.run, lane=1) as one, aside(world.run, lane=2) as two:
        wait_until(world.conn, WAITING, [2])
        assert world.progress()[f"Thing:{a}"] == world.progress()[f"Thing:{c}"] == 1
        world.conn.execute("select pg_advisory_unlock(99)")

    assert one.result().applied_count == two.result().applied_count == 1
    assert world.run(lane=0).drained_count == 1
    assert sorted(world.seen()[:2]) == sorted([f"{a}@2", f"{c}@2"])
    assert world.seen()[2:] == [f"{x}@2", f"{a}@3", f"{c}@3"]
    assert world.leftovers() == {}


@pytest.mark.both_servers
def test_D4_what_a_batch_defers_while_an_item_makes_it_next_is_woken_by_settle(
    world: World,
) -> None:
    """A live batch defers A@2 having read progress 0; before it commits, the item moves A to 1.
    Settle waits for that batch, and wakes A@2."""
    world.append_each("A@1", "A@2", "B@1")
    world.trouble["A@1"] = fail
    processor = world.processor(limit=1)
    processor.step()
    processor.close()
    request = world.plan()
    item, live = Gate(), Gate()
    world.trouble = {"A@1": item, "B@1": live}

    with aside(world.execute, request) as replay:
        item.wait_until_entered()
        with aside(world.run) as batch:
            live.wait_until_entered()
            item.open()
            wait_until(world.conn, WAITING, [1])
            assert world.progress() == {"Thing:A": 1}
            assert world.deferred() == []
            live.open()

    assert (batch.result().deferred_count, batch.result().applied_count) == (1, 1)
    assert replay.result().status == "SUCCEEDED"
    assert world.seen() == ["A@1", "B@1", "A@2"]
    assert world.leftovers() == {}


@pytest.mark.both_servers
def test_D5_a_projection_that_starts_late_sees_no_gap(dsn: str) -> None:
    """It starts NOW at A@6, with A@7 being appended in that instant: 7 and 8 apply, 1 to 6 do not
    count as missing; one that starts at BEGINNING applies all."""
    world, full = World(dsn), World(dsn, "full")
    world.append_each(*(f"A@{version}" for version in range(1, 7)))
    with psycopg.connect(dsn) as other:
        world.append("A@7", "A@7", replay=Replay(other))
        world.start(at="NOW")
    full.start()
    world.append_each("A@8", "B@1")

    result = world.run()

    assert result.applied_count == 3
    assert world.seen() == ["A@7", "A@8", "B@1"]
    assert world.count("gap") == 0
    assert full.run().applied_count == 9
    assert world.leftovers() == {}
    world.close()
    full.close()


def test_D6_a_deferred_foreign_key_is_a_failure_of_its_transaction(world: World) -> None:
    """A handler breaks a constraint that is checked at COMMIT: the failure of that transaction,
    live and in a replay; the position moves and the others are applied."""
    world.conn.execute(FOREIGN_KEY)
    world.append_each("A@1", "B@1", "C@1")
    world.trouble["B@1"] = lambda cursor: cursor.execute("insert into app.child values (1)")

    world.run()

    (failure,) = world.failures()
    found = failure.transaction_id, failure.error_code, failure.error_constraint
    assert found == ("B@1", "23503", "child_of")
    assert world.seen() == ["A@1", "C@1"]
    assert world.position() == 3

    assert world.heal().status == "FAILED"
    assert world.conn.execute("select error_code from replay.attempt").fetchall() == [("23503",)]
    world.conn.execute("insert into app.parent values (1)")
    assert world.heal().status == "SUCCEEDED"
    assert world.seen() == ["A@1", "C@1", "B@1"]


def break_handler(trouble: Callable[[Cursor[Any]], object]) -> Break:
    """Let the handler of A@1 meet this."""

    def break_it(world: World) -> Callable[[], object]:
        world.trouble["A@1"] = trouble
        return world.trouble.clear

    return break_it


def break_engine(world: World) -> Callable[[], object]:
    """Take a function away, as in the middle of a bad upgrade."""
    world.conn.execute("alter function replay.complete_batch rename to complete_batch_later")
    back = "alter function replay.complete_batch_later rename to complete_batch"
    return lambda: world.conn.execute(back)


def kill_own_session(cursor: Cursor[Any]) -> None:
    cursor.execute("select pg_terminate_backend(pg_backend_pid())")


@pytest.mark.both_servers
@pytest.mark.parametrize(
    ("code", "break_it"),
    [
        ("53100", break_handler(raise_state("53100"))),
        ("53200", break_handler(raise_state("53200"))),
        ("57P01", break_handler(raise_state("57P01"))),
        ("57P01|OperationalError", break_handler(kill_own_session)),
        ("42883", break_engine),
    ],
    ids=["disk full", "lock table full", "shutdown", "killed", "engine function missing"],
)
def test_D7_a_fault_of_the_batch_captures_nothing_and_mends_by_itself(
    world: World, code: str, break_it: Break
) -> None:
    """No failure, the position stays, health shows why; once mended it goes on without help."""
    world.append_each("A@1", "B@1")
    mend = break_it(world)

    with processing(world.processor()):
        wait_until(world.conn, f"({FAULTS}) similar to %s", [code])
        assert world.count("failure") == 0
        assert world.position() == 0
        assert world.seen() == []
        mend()
        wait_until(world.conn, "select count(*) = 2 from app.seen")

    assert world.conn.execute(FAULTS).fetchone() == (None,)
    assert world.seen() == ["A@1", "B@1"]
    assert world.count("failure") == 0
    assert world.position() == 2


def test_D7_a_fault_during_a_replay_leaves_it_resumable(world: World) -> None:
    """The disk is full while an item runs: no attempt is counted, and a retry finishes it."""
    world.append_each("A@1")
    world.trouble["A@1"] = fail
    world.run()
    request = world.plan()
    world.trouble["A@1"] = raise_state("53100")

    with pytest.raises(psycopg.errors.DiskFull):
        world.execute(request)

    assert world.replay.get_request(HOST, request.request_id).retryable
    assert (world.count("attempt"), world.leftovers()) == (0, {})
    world.trouble.clear()
    assert world.execute(request).status == "SUCCEEDED"
    assert world.seen() == ["A@1"]


@pytest.mark.both_servers
def test_D7_a_session_killed_during_a_replay_leaves_nothing_half_done(world: World) -> None:
    """The holder's session dies inside an item: nothing of it stays but the obligation to settle,
    the caller is told to look, and a retry at once finishes it."""
    world.append("T1", "A@1", "B@1")
    world.trouble["B@1"] = fail
    world.run()
    request = world.plan()
    world.trouble["B@1"] = kill_own_session

    with pytest.raises(ReplayExecutionUnavailable):
        world.execute(request)

    wait_until(world.conn, "select retryable from replay.request_status")
    assert (world.seen(), world.progress()) == ([], {})
    assert world.leftovers() == {"barrier": 2}
    world.trouble.clear()
    assert world.execute(request).status == "SUCCEEDED"
    query = "select fence, result from replay.attempt order by fence"
    assert world.conn.execute(query).fetchall() == [(1, "ABANDONED"), (2, "SUCCEEDED")]
    assert world.seen() == ["A@1", "B@1"]
    assert world.leftovers() == {}


def test_D7_a_fault_behind_the_items_is_live_works_and_not_the_replays(world: World) -> None:
    """The items are done, then the disk is full while A@2, which waited, is applied: the replay
    has succeeded and says so, A@2 is no failure, and a live processor applies it later."""
    world.append_each("A@1", "A@2")
    world.trouble["A@1"] = fail
    world.run()
    world.trouble = {"A@2": raise_state("53100")}

    assert world.heal().status == "SUCCEEDED"

    assert world.seen() == ["A@1"]
    assert (world.failures(), world.deferred()) == ([], ["A@2"])
    assert world.conn.execute(FAULTS).fetchone() == ("53100",)
    world.trouble.clear()
    assert world.run().drained_count == 1
    assert world.conn.execute(FAULTS).fetchone() == (None,)
    assert world.seen() == ["A@1", "A@2"]


@pytest.mark.both_servers
def test_D9_an_append_whose_commit_was_lost_can_be_repeated(world: World) -> None:
    """The scope is blocked by the time of the retry: the same bytes get the stored answer, others
    a conflict; new work is refused. One that never committed is simply appended."""
    with psycopg.connect(world.dsn) as lost:
        stored = world.append("T1", "A@1", replay=Replay(lost))
    world.trouble["A@1"] = fail
    world.run()

    assert world.append("T1", "A@1") == stored
    with pytest.raises(TransactionConflict):
        world.append_events("T1", [payloads(HOST, "T1", ("A@1",))[0] + b" "])
    with pytest.raises(AggregateProjectionBlocked) as blocked:
        world.append("T2", "A@2")
    assert blocked.value.details["failure_id"] == str(world.failures()[0].failure_id)
    assert (world.count("transaction"), world.count("outbox")) == (1, 1)

    killed = psycopg.connect(world.dsn)
    world.append("T3", "B@1", replay=Replay(killed))
    world.conn.execute("select pg_terminate_backend(%s, 5000)", (killed.info.backend_pid,))
    killed.close()
    world.append("T3", "B@1")
    assert world.run().applied_count == 1


@pytest.mark.both_servers
def test_D10_a_redelivery_is_observed_while_the_replay_holds_the_failure(world: World) -> None:
    """The item's handler is slow and the transaction is delivered again, live: the observation is
    committed at once, not when the replay ends."""
    world.append_each("A@1", "A@2")
    world.trouble["A@1"] = fail
    world.run()
    (failure,) = world.failures()
    request = world.plan()
    gate = world.trouble["A@1"] = Gate()

    with aside(world.execute, request) as replay:
        gate.wait_until_entered()
        world.conn.execute("update replay.position set last_offset = 0")
        result = world.run(budget=5)
        assert not replay.done()
        assert (result.observed_count, world.count("observation")) == (2, 2)
        gate.open()

    assert replay.result().status == "SUCCEEDED"
    assert world.replay.get_failure(HOST, failure.failure_id).observation_count == 1
    assert world.seen() == ["A@1", "A@2"]
    assert world.count("failure") == 1
    assert world.leftovers() == {}


def kept_text(world: World) -> str:
    """All that tables and views of the engine show, payload columns left out."""
    query = """select relname from pg_class
        where relnamespace = 'replay'::regnamespace and relkind in ('r', 'v', 'm')"""
    names = [name for (name,) in world.conn.execute(query)]
    assert "failure" in names and "open_failure" in names
    text = "select coalesce(string_agg((to_jsonb(t) - 'payload')::text, ' '), '') from replay.{} t"
    return " ".join(str(world.conn.execute(text.format(n)).fetchone()) for n in names)


def assert_kept_nowhere(world: World, *more: str) -> None:
    for text in (kept_text(world), *more):
        assert SECRET not in text
        assert SECRET.encode().hex() not in text


def secret_event(transaction_id: str, label: str) -> bytes:
    event = envelope(HOST, transaction_id, 1, 0, label)
    event["data"]["secret"] = SECRET
    return json.dumps(event).encode()


def miss_a_field(cursor: Cursor[Any]) -> None:
    raise KeyError(f"amount, in {{'secret': '{SECRET}'}}")


def quote_in_python(cursor: Cursor[Any]) -> None:
    raise ValueError(f"invalid amount: {SECRET}")


def cast(cursor: Cursor[Any]) -> None:
    cursor.execute("select %s::int", (SECRET,))


def break_check(cursor: Cursor[Any]) -> None:
    cursor.execute("insert into app.checked values (%s)", (SECRET,))


@pytest.mark.parametrize(
    ("trouble", "code"),
    [
        (miss_a_field, "KeyError"),
        (quote_in_python, "ValueError"),
        (cast, "22P02"),
        (break_check, "23514"),
    ],
)
def test_D13_no_value_is_kept_of_a_failure(
    world: World, caplog: pytest.LogCaptureFixture, trouble: Any, code: str
) -> None:
    """Errors that quote a value leave their code, handler, line and constraint, never the value:
    in no table, view or log, live, redelivered or replayed."""
    caplog.set_level(logging.DEBUG, "pyreplay")
    world.conn.execute("create table app.checked (v text constraint short check (length(v) < 3))")
    world.append_events("T1", [secret_event("T1", "A@1")])
    world.append_events("T2", [secret_event("T2", "A@2")])
    world.trouble["A@1"] = trouble
    world.run()
    world.conn.execute("update replay.position set last_offset = 0")
    world.run()

    assert world.heal().status == "FAILED"

    (failure,) = world.failures()
    assert (failure.error_code, failure.error_text) == (code, None)
    assert failure.error_handler and failure.error_line
    assert world.conn.execute("select error_code from replay.attempt").fetchall() == [(code,)]
    assert world.count("observation") == 2
    assert_kept_nowhere(
        world, caplog.text, repr(world.replay.get_failure(HOST, failure.failure_id))
    )


def test_D13_tampered_bytes_never_run_and_are_quoted_nowhere(world: World) -> None:
    """The owner himself changes kept bytes: the plan is stale, nothing runs, no value is shown."""
    world.append_events("T1", [secret_event("T1", "A@1")])
    world.trouble["A@1"] = fail
    world.run()
    request = world.plan()
    world.trouble.clear()
    world.handled.clear()
    world.conn.execute("alter table replay.failure_member disable trigger user")
    world.conn.execute("update replay.failure_member set payload = payload || '\\x20'")

    with pytest.raises(StalePlan) as refusal:
        world.execute(request)

    diag = refusal.value.diag
    assert diag.message_detail and "fingerprint" in diag.message_detail
    assert_kept_nowhere(world, str(refusal.value), diag.message_detail, diag.context or "")
    assert (world.handled, world.seen(), world.count("run")) == ([], [], 0)
    assert [f.status for f in world.failures()] == ["OPEN"]


def test_D13_bytes_tampered_with_behind_the_intent_never_run(world: World) -> None:
    """The same between the intent and the run: the request fails as stale, with no effect."""
    world.append_each("A@1")
    world.trouble["A@1"] = fail
    world.run()
    request = world.plan()
    world.trouble.clear()
    world.handled.clear()
    world.replay.execute_request(HOST, request.request_id, request.plan_hash, reason="go")
    world.conn.execute("alter table replay.failure_member disable trigger user")
    world.conn.execute("update replay.failure_member set payload = payload || '\\x20'")

    request = world.execute(request)

    assert (request.status, request.failure_code) == ("FAILED", "STALE_PLAN")
    assert (world.handled, world.seen(), world.leftovers()) == ([], [], {})
    assert [f.status for f in world.failures()] == ["OPEN"]
