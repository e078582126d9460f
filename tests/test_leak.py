"""I16: a marker planted in payloads is told nothing of, in no role, whatever goes wrong.

STORIES make it pass through the engine; PLACES are where it could come out again.
"""

import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from click.testing import CliRunner
from psycopg import Cursor, sql

from pyreplay.cli.main import main
from pyreplay.metrics import expose
from pyreplay.projection import SafeError
from tests.schedule import replace_in
from tests.world import HOST, World, payloads

MARKER = "marker-4711-zebra"

# What the server says of these quotes the value; none of it may be kept.
TROUBLE: dict[str, str] = {
    "A@1": "select %s::int",
    "B@1": "insert into app.narrow values (%s)",
    "C@1": "insert into app.pair values (%s), (%s)",
    "D@1": "do $$ begin raise exception 'it was %s' using detail = '%s', hint = '%s'; end $$",
}


@pytest.fixture
def told(world: World) -> Iterator[list[str]]:
    """A world in which the marker is planted, and every error that anybody was told."""
    world.conn.execute(
        "create table app.narrow (word text check (length(word) < 3));"
        "create table app.pair (word text primary key)"
    )
    for label, statement in TROUBLE.items():
        world.trouble[label] = lambda cursor, s=statement: _provoke(cursor, s)  # type: ignore[misc]
    world.trouble["E@1"] = _raise(ValueError(MARKER))
    world.trouble["F@1"] = _raise(KeyError(MARKER))
    world.trouble["G@1"] = _raise(SafeError("no end date"))
    world.trouble["u1"] = _raise(RuntimeError(MARKER))
    errors: list[str] = []
    for story in STORIES:
        story(world, errors)
    yield errors


def _provoke(cursor: Cursor[Any], statement: str) -> None:
    quoted = "'" + MARKER + "'" if "do $$" not in statement else MARKER
    cursor.execute(statement.replace("%s", quoted).encode())


def _raise(error: Exception) -> Callable[[Cursor[Any]], object]:
    def trouble(_cursor: Cursor[Any]) -> None:
        raise error

    return trouble


def marked(transaction_id: str, label: str) -> list[bytes]:
    """Events with the marker in their data."""
    made = [json.loads(event) for event in payloads(HOST, transaction_id, [label])]
    for event in made:
        event["data"]["secret"] = MARKER
    return [json.dumps(event).encode() for event in made]


def fail(world: World, errors: list[str]) -> None:
    for label in (*world.trouble, "A@2", "H@1"):
        world.append_events(label, marked(label, label))
    world.run()
    assert len(world.failures()) == len(world.trouble)


def append_what_is_refused(world: World, errors: list[str]) -> None:
    good = marked("X@1", "X@1")[0]
    for bad in (
        f'{{"data": "{MARKER}"'.encode(),
        f'{{"{MARKER}": 1}}'.encode(),
        MARKER.encode(),
        good.replace(b'"data": {', b'"data": "' + MARKER.encode() + b'", "more": {'),
        good.replace(b'"specversion": "1.0"', b'"specversion": "' + MARKER.encode() + b'"'),
        good.replace(b'"transactioncount": 1', b'"transactioncount": "' + MARKER.encode() + b'"'),
        good + b"\xff",
    ):
        assert bad != good
        with pytest.raises(psycopg.Error) as refused:
            world.append_events("X@1", [bad])
        errors.append(_all_of(refused.value))


def replay_in_vain(world: World, errors: list[str]) -> None:
    chosen = [f for f in world.failures() if f.transaction_id in ("A@1", "E@1")]
    for mode in ("VALIDATE_ONLY", "ROLLBACK_DRY_RUN", "EXECUTE"):
        request = world.plan(*chosen, mode=mode, approve=mode != "VALIDATE_ONLY")
        if mode != "VALIDATE_ONLY":
            assert world.execute(request).status == "FAILED"


def heal_and_waive(world: World, errors: list[str]) -> None:
    world.trouble.clear()
    assert world.heal(*[f for f in world.failures() if f.transaction_id == "A@1"])
    unordered = [f.failure_id for f in world.failures() if f.transaction_id == "u1"]
    alice, bob = world.as_person("alice"), world.as_person("bob")
    asked = alice.waive_failures(HOST, unordered, "known bad")
    bob.waive_failures(HOST, unordered, "seen", asked.action_id, asked.impact)
    world.replay.remove_payloads(HOST, timedelta(0))


STORIES = [fail, append_what_is_refused, replay_in_vain, heal_and_waive]


def _all_of(error: psycopg.Error) -> str:
    said = error.diag
    parts = (said.message_primary, said.message_detail, said.message_hint, said.context)
    return " ".join((str(error), *(part or "" for part in parts)))


def views(world: World) -> Iterator[tuple[str, str]]:
    """Every row of every view that anybody may read, as each role and as the superuser."""
    names = world.conn.execute(
        """select c.relname from pg_class c
           where c.relnamespace = 'replay'::regnamespace and c.relkind = 'v'"""
    ).fetchall()
    for role in ("reader", "operator", "approver", "processor", "appender", "gateway"):
        name = sql.Identifier(f"l_{role}")
        with world.conn.transaction(force_rollback=True):
            world.conn.execute(
                sql.SQL("create role {} login; grant {} to {}").format(
                    name, sql.Identifier(f"replay_{role}"), name
                )
            )
            world.replay.add_member(f"l_{role}")
            world.conn.execute(sql.SQL("set local session authorization {}").format(name))
            for (view,) in names:
                query = sql.SQL("select v::text from replay.{} v").format(sql.Identifier(view))
                try:
                    with world.conn.transaction():
                        rows = world.conn.execute(query).fetchall()
                except psycopg.errors.InsufficientPrivilege:
                    continue
                yield f"{view} as {role}", str(rows)


def functions(world: World) -> Iterator[tuple[str, str]]:
    for status in ("OPEN", "RESOLVED", "WAIVED"):
        for failure in world.failures(status=status):
            yield "list_failures", repr(failure)
            yield "get_failure", repr(world.replay.get_failure(HOST, failure.failure_id))
    for request in world.replay.list_requests():
        key = HOST, request.request_id
        yield "list_requests", repr(request)
        yield "list_items", repr(world.replay.list_items(*key))
        yield "get_timeline", repr(world.replay.get_timeline(*key))


def metrics(world: World) -> Iterator[tuple[str, str]]:
    yield "metrics", expose(world.conn)


def commands(world: World) -> Iterator[tuple[str, str]]:
    failure = world.failures()[0].failure_id
    request = world.replay.list_requests()[0].request_id
    for command in (
        ("list", "failures"),
        ("get", "failure", str(failure)),
        ("list", "requests"),
        ("get", "request", str(request)),
        ("timeline", str(request)),
        ("doctor",),
        ("metrics",),
        ("get", "status"),
    ):
        for options in ((), ("--json",)):
            result = CliRunner().invoke(main, ["--dsn", world.dsn, *options, *command])
            assert result.output
            yield " ".join(command), result.output + result.stderr


PLACES = [views, functions, metrics, commands]


def leaks(world: World, errors: list[str]) -> list[str]:
    found = [where for place in PLACES for where, text in place(world) if MARKER in text]
    return found + [error for error in errors if MARKER in error]


def test_I16_no_payload_leaves(world: World, told: list[str]) -> None:
    (kept,) = world.conn.execute(
        "select count(*) from replay.event where position(%s::bytea in payload) > 0", (MARKER,)
    ).fetchone() or (0,)
    assert kept > len(TROUBLE)
    assert leaks(world, told) == []


def test_I16_what_a_process_tells_of_failures_quotes_none(
    world: World, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    world.trouble["E@1"] = _raise(ValueError(MARKER))
    world.trouble["F@1"] = lambda cursor: cursor.execute(f"select '{MARKER}'::int".encode())
    for label in ("E@1", "F@1"):
        world.append_events(label, marked(label, label))
    with caplog.at_level("DEBUG", logger="pyreplay"):
        world.run()
    assert len(world.failures()) == 2
    assert MARKER not in caplog.text
    assert MARKER not in "".join(capfd.readouterr())


@pytest.mark.parametrize(
    ("function", "old", "new"),
    [
        (
            "_capture",
            "left(r.error_text, 1000)",
            "(select convert_from(e.payload, 'UTF8') from replay.event e limit 1)",
        ),
        (
            "_audit",
            "p_transaction_id, p_detail, replay._now()",
            "p_transaction_id, p_detail || coalesce((select jsonb_build_object('x', "
            "convert_from(m.payload, 'UTF8')) from replay.failure_member m limit 1), '{}'), "
            "replay._now()",
        ),
    ],
)
def test_I16_sabotage_is_caught(world: World, function: str, old: str, new: str) -> None:
    replace_in(world.conn, function, (old, new))
    errors: list[str] = []
    world.trouble["E@1"] = _raise(ValueError(MARKER))
    world.append_events("E@1", marked("E@1", "E@1"))
    world.run()
    world.plan()
    assert leaks(world, errors)
