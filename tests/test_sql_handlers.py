"""Handlers that are functions of the database: run there, and judged as those in Python are."""

import json
from collections.abc import Callable, Mapping
from contextlib import closing
from typing import Any

import psycopg
import pytest
from psycopg import Cursor, sql

from pyreplay.blame import is_fault_of_batch
from pyreplay.executor import BLOCK
from pyreplay.live import LiveProcessor
from pyreplay.projection import Event, Handler, Projection, sql_handler
from tests.world import HOST, World

SCHEMA = """
create table app.trouble (label text primary key, statement text not null);
create function app.step(p_host_id uuid, p_event jsonb) returns void language plpgsql as $$
declare
  v_statement text;
begin
  insert into app.seen (host_id, transaction_id, event_id, label, payload)
  values (p_host_id, p_event ->> 'transactionid', p_event ->> 'id', p_event #>> '{data,label}', '');
  select t.statement into v_statement
  from app.trouble t where t.label = p_event #>> '{data,label}';
  if found then
    execute v_statement;
  end if;
end;
$$;
"""
STATE = "do $$ begin raise exception 'secret value 4711' using errcode = '%s'; end $$"


def one_by_one(cursor: Cursor[Any], event: Event) -> None:
    sql_handler("app.step")(cursor, event)


HANDLERS: dict[str, Handler] = {"called by us": one_by_one, "run there": sql_handler("app.step")}


def projection(world: World, handler: Handler) -> Projection:
    made = Projection(world.projection.name)
    for event_type in ("Stepped", "Changed", "Noted"):
        made.declare(event_type, handler)
    return made


@pytest.fixture
def use(world: World) -> Callable[[Handler], None]:
    world.conn.execute(SCHEMA)

    def use(handler: Handler) -> None:
        world.projection = projection(world, handler)

    return use


@pytest.fixture(params=HANDLERS)
def stepped(request: pytest.FixtureRequest, world: World, use: Callable[[Handler], None]) -> World:
    """The world with such handlers."""
    use(HANDLERS[request.param])
    return world


def trouble(world: World, statements: Mapping[str, str]) -> None:
    for label, statement in statements.items():
        world.conn.execute("insert into app.trouble values (%s, %s)", (label, statement))


def codes(world: World) -> dict[str, str]:
    return {f.transaction_id: f.error_code for f in world.failures()}


def test_what_follows_a_failure_is_deferred_and_all_else_applied(stepped: World) -> None:
    trouble(stepped, {"B@1": "select 1/0", "D@2": STATE % "23514"})
    stepped.append_each("A@1", "B@1", "A@2", "B@2", "C@1", "B@3", "D@1", "D@2", "D@3", "A@3")
    stepped.run()
    assert stepped.seen() == ["A@1", "A@2", "C@1", "D@1", "A@3"]
    assert codes(stepped) == {"B@1": "22012", "D@2": "23514"}
    assert sorted(stepped.deferred()) == ["B@2", "B@3", "D@3"]


def test_C1_of_a_transaction_that_fails_nothing_stays(stepped: World) -> None:
    trouble(stepped, {"B@2": "select 1/0"})
    stepped.append("t1", "A@1", "B@1")
    stepped.append("t2", "A@2", "B@2")
    stepped.append("t3", "C@1")
    stepped.append("t4", "C@2", "B@3")
    stepped.run()
    assert stepped.seen() == ["A@1", "B@1", "C@1"]
    assert codes(stepped) == {"t2": "22012"}
    assert stepped.deferred() == ["t4"]


@pytest.mark.parametrize("failing", [[0], [99], range(0, 100, 3), range(100)])
def test_however_many_fail_each_stands_alone(stepped: World, failing: range) -> None:
    labels = [f"P{number}@1" for number in range(100)]
    trouble(stepped, {labels[number]: "select 1/0" for number in failing})
    stepped.append_each(*labels)
    stepped.run()
    assert set(codes(stepped)) == {labels[number] for number in failing}
    assert stepped.seen() == [label for label in labels if label not in codes(stepped)]


def test_no_more_subtransactions_than_a_snapshot_holds() -> None:
    assert -(-500 // BLOCK) < 64


def test_of_an_error_only_what_quotes_no_payload_is_kept(stepped: World) -> None:
    stepped.conn.execute("create table app.narrow (word text constraint short check (word = ''))")
    trouble(stepped, {"A@1": "insert into app.narrow values ('secret value 4711')"})
    stepped.append("A@1", "A@1")
    stepped.run()
    (failure,) = stepped.failures()
    assert (failure.error_table, failure.error_constraint) == ("narrow", "short")
    assert "4711" not in repr(failure)
    assert failure.error_text is None


@pytest.mark.parametrize("statement", ["select 1/0", "do $$ begin assert false; end $$"])
def test_a_function_of_the_database_is_named_whoever_calls_it(
    world: World, use: Callable[[Handler], None], statement: str
) -> None:
    use(sql_handler("app.step"))
    trouble(world, {"A@1": statement})
    world.append("A@1", "A@1")
    world.run()
    assert [f.error_handler for f in world.failures()] == ["app.step"]


@pytest.mark.parametrize("code", ["40001", "53100", "XX000"])
def test_C6_what_says_nothing_about_the_transaction_rolls_the_batch_back(
    stepped: World, code: str
) -> None:
    trouble(stepped, {"B@1": STATE % code})
    stepped.append_each("A@1", "B@1")
    with closing(stepped.processor()) as processor, pytest.raises(psycopg.Error) as raised:
        processor.step()
    assert raised.value.sqlstate == code
    assert is_fault_of_batch(raised.value)
    assert stepped.conn.execute("select replay._is_fault_of_batch(%s)", (code,)).fetchone() == (
        True,
    )
    assert stepped.seen() == []
    assert stepped.failures() == []


def test_what_the_database_cannot_catch_is_called_by_us(
    world: World, use: Callable[[Handler], None]
) -> None:
    use(sql_handler("app.step"))
    trouble(world, {"B@1": "do $$ begin assert false; end $$"})
    world.append_each("A@1", "B@1", "C@1")
    world.run()
    assert world.seen() == ["A@1", "C@1"]
    assert codes(world) == {"B@1": "P0004"}


@pytest.mark.parametrize("name", ["app.nothing", "app.step(null, null); drop table app.seen; --"])
def test_a_function_that_is_not_there_fails_what_it_is_for(
    world: World, use: Callable[[Handler], None], name: str
) -> None:
    use(sql_handler(name))
    world.append_each("A@1")
    world.run()
    assert list(codes(world).values()) in (["42883"], ["3F000"], ["0A000"])
    assert world.seen() == []


def test_names_are_quoted_as_they_are(world: World, use: Callable[[Handler], None]) -> None:
    world.conn.execute('alter function app.step rename to "Step ""it"')
    use(sql_handler('app.Step "it'))
    world.append_each("A@1")
    world.run()
    assert world.seen() == ["A@1"]


def test_an_undeclared_type_fails_and_an_ignored_one_does_not(
    world: World, use: Callable[[Handler], None]
) -> None:
    use(sql_handler("app.step"))
    world.projection = Projection(world.projection.name)
    world.projection.declare("Stepped", sql_handler("app.step"))
    world.projection.ignore("Noted")
    world.append_each("A@1", "u1", "G#1", "B@1")
    world.run()
    assert world.seen() == ["A@1", "B@1"]
    (failure,) = world.failures()
    assert failure.error_code == "HANDLER_MISSING"
    assert failure.error_text == "no handler for Changed (schema 1)"


def test_constraints_that_are_deferred_are_checked_for_each_transaction(stepped: World) -> None:
    stepped.conn.execute(
        "create table app.once (word text constraint one_word unique deferrable initially deferred)"
    )
    stepped.conn.execute("insert into app.once values ('there')")
    trouble(stepped, {"B@1": "insert into app.once values ('there')"})
    stepped.append_each("A@1", "B@1", "C@1")
    stepped.run()
    assert stepped.seen() == ["A@1", "C@1"]
    assert codes(stepped) == {"B@1": "23505"}


def test_a_handler_that_appends_breaks_the_contract(stepped: World) -> None:
    trouble(stepped, {"A@1": "select replay.append_transaction(null, null, null, null)"})
    stepped.append_each("A@1")
    stepped.run()
    assert codes(stepped) == {"A@1": "HANDLER_CONTRACT"}


def test_what_has_crashed_too_often_is_not_run(stepped: World) -> None:
    stepped.append_each("A@1", "B@1", "B@2")
    stepped.conn.execute(
        "insert into replay.trial select %s, projection_id, 'B@1', 4 from replay.projection",
        (HOST,),
    )
    stepped.run()
    assert codes(stepped) == {"B@1": "HANDLER_CRASHED"}
    assert stepped.deferred() == ["B@2"]
    assert stepped.seen() == ["A@1"]


def test_a_replay_runs_what_was_kept_and_stops_at_the_first_failure(stepped: World) -> None:
    labels = [f"P{number}@1" for number in range(12)]
    trouble(stepped, dict.fromkeys(labels, "select 1/0"))
    stepped.append_each(*labels, "P0@2")
    stepped.run()
    stepped.conn.execute("delete from app.trouble where label <> 'P8@1'")
    failures = stepped.failures()
    status = stepped.heal(*failures)
    assert status.status == "FAILED"
    assert [f.transaction_id for f in stepped.failures()] == [
        f.transaction_id for f in failures[8:]
    ]
    stepped.conn.execute("truncate app.trouble")
    assert stepped.heal(*failures[8:]).status == "SUCCEEDED"
    stepped.run()
    assert sorted(stepped.seen()) == sorted([*labels, "P0@2"])


def test_handlers_run_as_the_caller_where_it_finds_things(world: World) -> None:
    world.conn.execute(
        "create table app.told (who text, path text);"
        "create function app.tell(uuid, jsonb) returns text language plpgsql as $$ begin"
        " insert into told values (current_user, current_setting('search_path')); return 'x';"
        " end $$"
    )
    world.conn.execute(
        sql.SQL(
            "create role teller login; grant replay_processor to teller;"
            "select replay.add_member('teller');"
            "grant usage on schema app to teller; grant insert on app.told to teller"
        )
    )
    world.projection = projection(world, sql_handler("app.tell"))
    world.append_each("A@1", "A@2")
    dsn = psycopg.conninfo.make_conninfo(world.dsn, user="teller", options="-csearch_path=app")
    assert LiveProcessor(dsn, world.projection).run(once=True).applied_count == 2
    told = world.conn.execute("select distinct who, path from app.told").fetchall()
    assert told == [("teller", "app")]


def test_batch_event_shows_the_batch_in_hand_and_nothing_else(world: World) -> None:
    world.append_each("A@1", "B@1")
    query = "select transaction_id, ordinal, is_last from replay.batch_event order by ord"
    with psycopg.connect(world.dsn) as other, world.conn.transaction():
        world.replay.claim_batch(world.projection.name, limit=1, with_events=False)
        assert world.conn.execute(query).fetchall() == [("A@1", 0, True)]
        assert other.execute(query).fetchall() == []
    assert world.conn.execute(query).fetchall() == []


def test_handlers_in_python_are_never_run_there(world: World) -> None:
    assert world.projection.functions() is None
    mixed = Projection("mixed")
    mixed.declare("Stepped", sql_handler("app.step"))
    assert mixed.functions() == json.loads(
        '[{"event_type": "Stepped", "event_schema": "1", "function": "app.step"}]'
    )
    mixed.declare("Changed", one_by_one)
    assert mixed.functions() is None
