"""Faults of capture that systems of this kind had: what is kept of a failure, and nothing else."""

from typing import Any

import psycopg
import pytest
from psycopg import Cursor

from tests.world import HOST, World, divide, fail

UNIQUE = "alter table app.seen add constraint seen_once unique (transaction_id, label)"
RAISE_ONCE = """
create sequence app.tries;
create function app.raise_once() returns trigger language plpgsql security definer as $$
begin
  if nextval('app.tries') = 1 then
    raise exception 'progress cannot be written' using errcode = %s;
  end if;
  return new;
end $$;
create trigger raise_once before insert or update on replay.progress
for each row execute function app.raise_once();
"""


def insert_twice(cursor: Cursor[Any]) -> None:
    """Break the constraint that seen_once is."""
    cursor.execute(
        "insert into app.seen (host_id, transaction_id, event_id, label, payload)"
        " select host_id, transaction_id, event_id, label, payload from app.seen"
        " order by place desc limit 1"
    )


def swallow_and_go_on(cursor: Cursor[Any]) -> None:
    """Hide 22012 behind the 25P02 that the next statement meets."""
    try:
        divide(cursor)
    except psycopg.Error:
        cursor.execute("select 1")


def swallow(cursor: Cursor[Any]) -> None:
    """Hide 22012 altogether."""
    try:
        divide(cursor)
    except psycopg.Error:
        return


def test_C1_python_failure_and_constraint_failure_are_both_stored(world: World) -> None:
    """Two transactions of one batch fail, one in Python, one in the database: both are kept."""
    world.conn.execute(UNIQUE)
    world.append_each("A@1", "B@1", "C@1", "D@1")
    world.trouble = {"A@1": fail, "C@1": insert_twice}

    result = world.run()

    found = [(f.transaction_id, f.error_code, f.error_constraint) for f in world.failures()]
    assert found == [("A@1", "ValueError", None), ("C@1", "23505", "seen_once")]
    assert world.seen() == ["B@1", "D@1"]
    assert (result.applied_count, result.failed_count) == (2, 2)
    assert world.position() == 4
    assert world.leftovers() == {}


@pytest.mark.parametrize("trouble", [divide, swallow_and_go_on, swallow])
def test_C2_the_first_error_is_kept_not_the_one_that_follows_it(world: World, trouble: Any) -> None:
    """A handler divides by zero; 22012 is kept, never the 25P02 of the aborted transaction."""
    world.append_each("A@1", "B@1")
    world.trouble["A@1"] = trouble

    world.run()

    (failure,) = world.failures()
    assert (failure.transaction_id, failure.error_code) == ("A@1", "22012")
    assert world.seen() == ["B@1"]


def test_C3_rows_written_before_the_handler_raised_are_gone(world: World) -> None:
    """A handler that writes, then raises, leaves no row, nor do the members before it."""
    world.append("T1", "A@1", "B@1")
    world.append("T2", "C@1")
    world.trouble["B@1"] = fail

    world.run()

    assert world.seen() == ["C@1"]
    assert world.progress() == {"Thing:C": 1}
    (failure,) = world.failures()
    assert failure.member_count == 2


@pytest.mark.parametrize("state", ["P0001", "23514", "RP501"])
def test_C4_a_failing_progress_update_is_no_failure_of_the_transaction(
    world: World, state: str
) -> None:
    """The handlers went well and the engine's own write fails once: one effect, no failure."""
    world.conn.execute(RAISE_ONCE.replace("%s", f"'{state}'"))
    world.append_each("A@1", "B@1")

    result = world.run()

    assert [label for label, _ in world.handled] == ["A@1", "B@1", "A@1", "B@1"]
    assert world.seen() == ["A@1", "B@1"]
    assert result.applied_count == 2
    assert world.count("failure") == 0
    assert world.position() == 2


def test_C9_a_handler_sees_the_same_bytes_live_and_in_replay(world: World) -> None:
    """Odd spacing, key order and escapes reach the handler as appended, live and replayed."""
    event = b'{ "data" : {"label":"A@1", "z":1.50, "a":"\\u00e9\xc3\xa9"},'
    event += b'"specversion":"1.0","id":"e1","source":"urn:test","type":"Stepped","subject":"A",'
    event += b'"time":"2026-01-01T00:00:00Z","aggregatetype":"Thing","aggregateversion":1,'
    event += f'"host":"{HOST}","transactionid":"T1","transactioncount":1,'.encode()
    event += b'"transactionordinal":0,  "eventschema":"1"}\n'
    world.append_events("T1", [event])
    world.trouble["A@1"] = fail
    world.run()
    live = [payload for _, payload in world.handled]
    world.handled.clear()
    world.trouble.clear()

    world.heal()

    assert set(live) == {event}
    assert [payload for _, payload in world.handled] == [event]
    assert world.conn.execute("select payload from app.seen").fetchall() == [(event,)]


def test_C10_most_of_a_batch_fails_and_everything_agrees(world: World) -> None:
    """Of 120 aggregates 72 fail at 1, more than one commit isolates; captures, progress, position
    and what is deferred behind them agree."""
    names = [f"K{n}" for n in range(120)]
    bad = [name for n, name in enumerate(names) if n % 5 < 3]
    good = [name for name in names if name not in bad]
    world.append_each(*(f"{name}@{version}" for version in (1, 2) for name in names))
    world.trouble = dict.fromkeys((f"{name}@1" for name in bad), divide)

    result = world.run()

    assert [f.transaction_id for f in world.failures()] == [f"{name}@1" for name in bad]
    assert world.deferred() == [f"{name}@2" for name in bad]
    assert world.seen() == [f"{name}@{version}" for version in (1, 2) for name in good]
    assert world.progress() == {f"Thing:{name}": 2 for name in good}
    assert world.position() == 240
    assert (result.applied_count, result.failed_count, result.deferred_count) == (96, 72, 72)


def test_a_handler_that_is_not_steady_ends_no_processor(world: World) -> None:
    """A@1 fails; B@1 succeeds, then fails when it is run again: a smaller batch settles it."""
    runs: list[str] = []

    def every_other_time(cursor: Cursor[Any]) -> None:
        runs.append("B@1")
        if len(runs) % 3 != 2:
            fail(cursor)

    world.trouble |= {"A@1": fail, "B@1": every_other_time}
    world.append("b1", "B@1")
    world.append("a1", "A@1")

    result = world.run()

    assert result.failed_count == 2 - len(world.seen())
    assert world.position() == 2
    assert world.leftovers() == {}
