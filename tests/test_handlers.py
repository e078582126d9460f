"""What handlers may do and get, the same on the clean path, in isolation and in a replay."""

import functools
import threading
from collections.abc import Callable
from contextlib import closing
from typing import Any

import psycopg
import pytest
from psycopg import Cursor, sql

from pyreplay.errors import InvalidArgument
from pyreplay.live import run_side_by_side
from pyreplay.projection import Event, Projection, SafeError
from tests.world import HOST, World, aside, fail

Handler = Callable[[Cursor[Any]], object]


def code_of(world: World, trouble: Handler) -> str | None:
    """What is kept of the failure of a handler, between two transactions that are applied."""
    world.trouble["B@1"] = trouble
    for label in ("A@1", "B@1", "C@1"):
        world.append(label, label)
    world.run()
    assert world.seen() == ["A@1", "C@1"]
    assert world.position() == 3
    (failure,) = world.failures()
    return failure.error_code


@pytest.mark.parametrize("others", [(), ("Z@1",)], ids=["clean path", "isolation"])
def test_C9_a_handler_sees_what_its_statement_did(world: World, others: tuple[str, ...]) -> None:
    """In a pipeline too, where psycopg would answer -1 and None."""
    told: list[Any] = []

    def look(cursor: Cursor[Any]) -> None:
        cursor.execute("update app.seen set label = label where label = 'nobody'")
        told.append((cursor.rowcount, cursor.statusmessage))
        cursor.execute("select 1 as one")
        told.append((cursor.rowcount, [column.name for column in cursor.description or ()]))

    world.trouble |= {"A@1": look, "Z@1": fail}
    for label in ("A@1", *others):
        world.append(label, label)
    world.run()
    assert world.seen() == ["A@1"]
    assert told[-2:] == [(0, "UPDATE 0"), (1, ["one"])]


def test_C9_an_answer_is_that_of_the_statement_before_it(world: World) -> None:
    """Answers come in a buffer at a time, so that of an earlier statement may come alone."""
    told: list[tuple[int]] = []
    asked = range(300, 340)

    def ask(cursor: Cursor[Any]) -> None:
        for number in asked:
            for _ in range(number):
                cursor.execute("update app.seen set label = label where label = 'nobody'")
            cursor.execute("select %s::int", [number])
            told.append(cursor.fetchone() or (0,))

    world.trouble["A@1"] = ask
    world.append("A@1", "A@1")
    world.run()
    assert [number for (number,) in told] == [*asked]


def test_C2_an_error_that_a_handler_swallows_is_its_failure(world: World) -> None:
    def swallow(cursor: Cursor[Any]) -> None:
        try:
            cursor.execute("select 1/0").fetchone()
        except psycopg.Error:
            return

    assert code_of(world, swallow) == "22012"


def test_X6_a_swallowed_error_is_an_attempt_of_a_replay_too(world: World) -> None:
    def swallow(cursor: Cursor[Any]) -> None:
        try:
            cursor.execute("select 1/0").fetchone()
        except psycopg.Error:
            return

    code_of(world, swallow)
    request = world.heal()
    assert (request.status, request.failure_code) == ("FAILED", "PROJECTION_FAILED")
    (item,) = world.replay.list_items(HOST, request.request_id)
    assert item.error_code == "22012"


REFUSED: dict[str, Handler] = {
    "commit": lambda cursor: cursor.execute("commit"),
    "behind a comment": lambda cursor: cursor.execute("/* x */ -- y\n ; rollback"),
    "savepoint": lambda cursor: cursor.execute(sql.SQL("savepoint {}").format(sql.Identifier("s"))),
    "executemany": lambda cursor: cursor.executemany("release s", [()]),
    "setting": lambda cursor: cursor.execute("set search_path = app"),
    "set_config": lambda cursor: cursor.execute("select set_config('role', 'x', false)"),
    "copy": lambda cursor: cursor.copy("copy app.seen to stdout"),
    "stream": lambda cursor: list(cursor.stream("select 1")),
    "its connection's commit": lambda cursor: cursor.connection.commit(),
    "its connection's execute": lambda cursor: cursor.connection.execute("commit"),
    "another cursor": lambda cursor: cursor.connection.cursor(),
    "autocommit": lambda cursor: setattr(cursor.connection, "autocommit", True),
    "a nested transaction": lambda cursor: cursor.connection.transaction(),
    "an append": lambda cursor: cursor.execute(
        "select replay.append_transaction(null, null, null, null)"
    ),
    "a claim": lambda cursor: cursor.execute("select replay.claim_batch('orders')"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_D14_what_is_its_callers_is_refused(world: World, what: str) -> None:
    assert code_of(world, REFUSED[what]) == "HANDLER_CONTRACT"


def test_two_statements_in_one_call_are_refused(world: World) -> None:
    assert code_of(world, lambda cursor: cursor.execute("select 1; commit")) == "42601"


def test_an_error_of_the_engine_in_a_handler_is_the_handlers(world: World) -> None:
    def ask(cursor: Cursor[Any]) -> None:
        cursor.execute("select replay.get_request(%s, gen_random_uuid())", (HOST,))

    assert code_of(world, ask) == "RP103"


class Unspeakable(SafeError):
    """Has no text."""

    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (SafeError("a\0b\ud800c"), "ab?c"),
        (SafeError("x" * 2000), "x" * 1000),
        (Unspeakable(), None),
    ],
    ids=["what the database cannot hold", "too long", "none"],
)
def test_D13_any_text_of_a_safe_error_can_be_kept(
    world: World, error: SafeError, text: str | None
) -> None:
    def raise_it(_cursor: Cursor[Any]) -> None:
        raise error

    code_of(world, raise_it)
    assert world.failures()[0].error_text == text


def test_I13_a_handler_whose_call_runs_nothing_is_refused(world: World) -> None:
    projection = Projection("orders")

    def generator(_cursor: Cursor[Any], _event: Event) -> Any:
        yield

    async def coroutine(_cursor: Cursor[Any], _event: Event) -> None: ...

    for handler in (generator, coroutine):
        with pytest.raises(ValueError, match="plain function"):
            projection.handles("Stepped")(handler)
    projection.handles("Stepped")(lambda cursor, event: generator(cursor, event))
    world.projection = projection
    world.append("a1", "A@1")
    assert world.run().failed_count == 1
    assert world.failures()[0].error_code == "HANDLER_CONTRACT"


def test_anything_that_can_be_called_is_a_handler(world: World) -> None:
    projection = Projection("orders")
    projection.handles("Stepped")(functools.partial(world.projection.handler("Stepped", "1")))
    world.projection = projection
    world.append("a1", "A@1")
    assert world.run().applied_count == 1
    assert world.seen() == ["A@1"]


def test_I7_a_plan_runs_with_the_handlers_of_its_own_projection(world: World) -> None:
    code_of(world, fail)
    request = world.plan()
    world.trouble.clear()
    other = Projection("others")
    for name in ("Stepped", "Changed", "Noted"):
        other.ignore(name)
    world.projection, own = other, world.projection
    with pytest.raises(InvalidArgument, match="'others'"):
        world.execute(request)
    assert len(world.failures()) == 1
    world.projection = own
    assert world.execute(request).status == "SUCCEEDED"


def test_I10_a_batch_that_a_handler_committed_behind_our_back_ends_the_processor(
    world: World,
) -> None:
    """No guard stops who means it; it must not be done again and again."""

    def commit(cursor: Cursor[Any]) -> None:
        psycopg.Cursor.execute(cursor, "commit")

    world.trouble["A@1"] = commit
    world.append("a1", "A@1")
    with pytest.raises(psycopg.errors.NoActiveSqlTransaction):
        world.run()
    assert world.seen() == ["A@1"]
    assert world.position() == 0


@pytest.mark.both_servers
def test_a_stalled_live_handler_loses_its_connection_and_its_locks(world: World) -> None:
    """Its pipeline makes the server take it for busy, so the watchdog hangs up."""
    stalled, go_on = threading.Event(), threading.Event()

    def stall(_cursor: Cursor[Any]) -> None:
        if not stalled.is_set():
            stalled.set()
            go_on.wait(30)

    world.trouble["A@1"] = stall
    world.append("a1", "A@1")
    processor = world.processor(budget=0.5)
    thread = threading.Thread(target=processor.run, kwargs={"once": True})
    thread.start()
    try:
        assert stalled.wait(10)
        # The lock on the position is free again while the handler still stands there.
        with world.conn.transaction():
            world.conn.execute("set local lock_timeout = '20s'")
            world.conn.execute("select from replay.position for update")
            assert not go_on.is_set()
    finally:
        go_on.set()
        thread.join(30)
    assert world.seen() == ["A@1"]
    assert world.position() == 1


def test_a_budget_that_is_spent_stops_a_replay_resumable(world: World) -> None:
    for label in ("A@1", "B@1", "C@1"):
        world.trouble[label] = fail
        world.append(label, label)
    world.run()
    world.trouble = {"B@1": lambda cursor: cursor.execute("select pg_sleep(30)")}
    request = world.execute(world.plan(), budget=2)
    assert (request.status, request.done_count, request.barrier_count) == ("RUNNING", 1, 0)
    assert request.retryable
    world.trouble.clear()
    assert world.execute(request).status == "SUCCEEDED"
    assert world.seen() == ["A@1", "B@1", "C@1"]


def test_C9_a_statement_sent_again_is_as_good_as_the_first_time(world: World) -> None:
    """It is sent in a shorter way than psycopg would."""
    told: list[Any] = []
    ask = "select %s::text"

    def repeat(cursor: Cursor[Any]) -> None:
        for value in (1, "one", None, 2.5, [1, 2], "x" * 100_000, 10**12):
            told.append(cursor.execute(ask, [value]).fetchone())
        told.append(cursor.execute(ask, ["named"], prepare=False).fetchall())
        told.append(cursor.execute(ask, ["binary"], binary=True).fetchone())
        for number in range(100):
            cursor.execute(ask, [number])
        told.append((cursor.fetchone(), cursor.rowcount))
        with pytest.raises(psycopg.ProgrammingError):
            cursor.execute(ask, [])
        cursor.close()
        with pytest.raises(psycopg.InterfaceError):
            cursor.execute(ask, [1])

    world.trouble["A@1"] = repeat
    world.append_each("A@1", "B@1")
    world.run()
    assert world.seen() == ["A@1", "B@1"]
    values = ["1", "one", None, "2.5", "{1,2}", "x" * 100_000, "1000000000000"]
    assert told == [*((value,) for value in values), [("named",)], ("binary",), (("99",), 1)]


def test_C9_a_statement_may_take_values_the_second_time(world: World) -> None:
    told: list[Any] = []
    ask = "select 7"

    def repeat(cursor: Cursor[Any]) -> None:
        for values in (None, (), (), None, ()):
            told.append(cursor.execute(ask, values).fetchone())

    world.trouble["A@1"] = repeat
    world.append_each("A@1")
    world.run()
    assert told == [(7,)] * 5


def test_I3_what_follows_a_failure_that_the_server_has_yet_to_tell_of_is_no_failure(
    world: World,
) -> None:
    """The statement of A@1 is on its way when the handler of A@2 raises."""
    slow = "do $$ begin perform pg_sleep(0.1); raise division_by_zero; end $$"
    world.trouble["A@1"] = lambda cursor: cursor.execute(slow)
    world.trouble["A@2"] = fail
    world.trouble["B@1"] = fail
    world.append_each("A@1", "A@2", "B@1", "C@1")
    with closing(world.processor()) as processor:
        assert processor.step()
    assert {f.transaction_id: f.error_code for f in world.failures()} == {
        "A@1": "22012",
        "B@1": "ValueError",
    }
    assert world.seen() == ["C@1"]


@pytest.mark.parametrize("trouble", ["select 1/0", "select 'x'::int"])
def test_C9_a_failing_statement_amid_hundreds_is_blamed_on_its_transaction(
    world: World, trouble: str
) -> None:
    def repeat(cursor: Cursor[Any]) -> None:
        for number in range(100):
            cursor.execute("select %s::int", [number])

    labels = [f"P{number}@1" for number in range(40)]
    world.trouble |= dict.fromkeys(labels, repeat)
    world.trouble["P17@1"] = lambda cursor: cursor.execute(trouble)
    world.append_each(*labels)
    world.run()
    assert [f.transaction_id for f in world.failures()] == ["P17@1"]
    assert len(world.seen()) == 39


@pytest.mark.parametrize("refused", [0, 1])
def test_processors_side_by_side_end_together(world: World, refused: int) -> None:
    def refuse() -> None:
        raise InvalidArgument("no")

    world.append("A@1", "A@1")
    processors = [world.processor(), world.processor()]
    processors[refused].step = refuse  # type: ignore[method-assign]
    with aside(run_side_by_side, processors) as running, pytest.raises(InvalidArgument):
        running.result(timeout=30)
