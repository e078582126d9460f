"""Many transactions a call: the check in sets decides as the one event by event does, and a call
does what as many single appends do."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pyreplay.client import Replay
from pyreplay.errors import ReplayError, VersionConflict
from tests.conftest import Connect
from tests.support import wait_until_blocked
from tests.world import HOST, World, envelope, payloads

READ = "select m.* from unnest(replay.{}(%s, %s, %s, %b::bytea[])) m"

# What an attribute may look like in a file, well or not.
VALUES = [
    *('"1.0"', '"\\u0031.0"', '"1"', '"a"', '"a b"', '"a:b"', '"a\\"b"', '"\\u00fc"', '"ü"', '""'),
    *('"[a]"', '"a\\u0000"', '"a\\n"', '"\\u0085"', '"\\ud800"', '"\\u007f"', "null", "true", "[]"),
    *('["a"]', "[null]", "[1]", "{}", '{"a": 1, "a": 2}', "0", "1", "2", "1.0", "1e0", "10e-1"),
    *("-0", "-1", "01", "9223372036854775807", "9223372036854775808", "1" * 20, "1e999999"),
    *('"2026-01-01T00:00:00Z"', '"2026-01-01"', '"\\u0032026-01-01T00:00:00.5+01:00"', '"t1"'),
    *(f'"{HOST}"', f'"{str(HOST).upper()}"', f'"{{{HOST}}}"', f'"{str(HOST).replace("-", "")}"'),
    *(f'"{"x" * 512}"', f'"{"x" * 513}"', f'"{"ü" * 257}"', "NaN", "", '"', "2 "),
]
NAMES = [
    *("specversion", "id", "source", "type", "host", "transactionid", "transactioncount"),
    *("transactionordinal", "eventschema", "data", "time", "aggregatetype", "subject"),
    *("aggregateversion", "graphroot", "graphrevision", "extension", "transaction\\u0063ount"),
]
CHANGES = st.lists(
    st.tuples(
        st.sampled_from(NAMES),
        st.one_of(st.none(), st.sampled_from(VALUES)),
        # Whether it stands beside what is there already.
        st.integers(0, 9).map(lambda number: number == 0),
    ),
    max_size=3,
)


def event(changes: list[tuple[str, str | None, bool]], ordinal: int = 0, count: int = 1) -> bytes:
    """The text of an event with attributes changed, left out (None) or repeated."""
    pairs = [
        (name, json.dumps(value))
        for name, value in envelope(HOST, "t1", count, ordinal, f"A@{ordinal + 1}").items()
    ]
    for name, value, is_repeated in changes:
        if not is_repeated:
            pairs = [pair for pair in pairs if pair[0] != name]
        if value is not None:
            pairs.append((name, value))
    return ("{" + ", ".join(f'"{name}": {value}' for name, value in pairs) + "}").encode()


@pytest.fixture
def world(dsn: str) -> Iterator[World]:
    world = World(dsn)
    yield world
    world.close()


def read(conn: psycopg.Connection[Any], function: str, events: list[bytes]) -> Any:
    """What a function makes of the events of one transaction: members, or an error."""
    try:
        with conn.transaction():
            query = READ.format(function)
            return conn.execute(query, (HOST, ["t1"], [len(events)], events)).fetchall()
    except ReplayError as error:
        return error.sqlstate, error.diag.message_primary, error.details, error.hint


@pytest.mark.parametrize("name", NAMES)
def test_in_sets_and_one_by_one_agree_on_each_value(world: World, name: str) -> None:
    for value in (None, *VALUES):
        for is_repeated in (False, True):
            events = [event([(name, value, is_repeated)])]
            found, wanted = (
                read(world.conn, function, events)
                for function in ("_read_members", "_read_one_by_one")
            )
            assert found == wanted, events


@settings(
    max_examples=200,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(changes=st.lists(CHANGES, min_size=1, max_size=3))
def test_in_sets_and_one_by_one_agree(world: World, changes: list[Any]) -> None:
    events = [event(change, place, len(changes)) for place, change in enumerate(changes)]
    assert read(world.conn, "_read_members", events) == read(world.conn, "_read_one_by_one", events)


def test_what_is_plainly_well_is_not_read_one_by_one(world: World) -> None:
    world.conn.execute("drop function replay._read_one_by_one")
    plain = [
        *([], [("time", '"2026-01-01T00:00:00.5+01:00"', False)], [("subject", '"ü"', False)]),
        *([("graphroot", "null", False)], [("extension", "1e0", False)]),
        [("data", '{"a": [1e0, "\\u00fc"], "id": 1}', False)],
    ]
    for change in plain:
        assert len(read(world.conn, "_read_members", [event(change)])) == 1


@pytest.mark.parametrize("payload", [b"", b"\xff", b"[]", b"1", b"null", b"[" * 20000, b"{}"])
def test_what_is_no_event_at_all_is_named_alike(world: World, payload: bytes) -> None:
    found = read(world.conn, "_read_members", [payload])
    assert found == read(world.conn, "_read_one_by_one", [payload])
    assert found[0] == "RP002"


def call(world: World, replay: Replay, *transactions: tuple[str, tuple[str, ...]]) -> list[str]:
    """Append in one call; return the ids that are answered."""
    found = replay.append_transactions(
        HOST,
        [name for name, _ in transactions],
        [len(labels) for _, labels in transactions],
        [one for name, labels in transactions for one in payloads(HOST, name, labels)],
        world.registry.digest,
    )
    return [one.transaction_id for one in found]


def test_calls_in_opposite_order_do_not_deadlock(world: World, connect: Connect) -> None:
    """Stream heads are locked by key over the whole call, not transaction by transaction."""
    call(world, world.replay, ("t0", ("A@1", "B@1", "C@1")))
    holder, first, second = (Replay(connect()) for _ in range(3))
    holder.conn.execute(
        "select from replay.stream_head where scope_key = 'Thing:B' for no key update"
    )
    with ThreadPoolExecutor() as pool:
        one = pool.submit(call, world, first, ("t1", ("C@2",)), ("t2", ("A@2", "B@2")))
        wait_until_blocked(world.conn, first.conn.info.backend_pid)
        two = pool.submit(call, world, second, ("t3", ("B@2",)), ("t4", ("A@2",)))
        wait_until_blocked(world.conn, second.conn.info.backend_pid)
        holder.conn.rollback()
        assert one.result() == ["t1", "t2"]
        first.conn.commit()
        with pytest.raises(VersionConflict):
            two.result()


def test_what_somebody_else_commits_meanwhile_is_answered_and_the_rest_appended(
    world: World, connect: Connect
) -> None:
    first, second = Replay(connect()), Replay(connect())
    call(world, first, ("t2", ("B@1",)))
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(
            call, world, second, ("t1", ("A@1",)), ("t2", ("B@1",)), ("t3", ("A@2", "C@1"))
        )
        wait_until_blocked(world.conn, second.conn.info.backend_pid)
        first.conn.commit()
        assert waiting.result() == ["t1", "t2", "t3"]
    second.conn.commit()
    world.start()
    world.run()
    assert sorted(world.seen()) == ["A@1", "A@2", "B@1", "C@1"]


def test_lanes_are_those_of_single_appends(world: World) -> None:
    world.replay.set_lanes(HOST, 4)
    names = [f"S{number}" for number in range(20)]
    for name in names:
        world.append(f"one-{name}", f"{name}@1")
    call(world, world.replay, *((f"many-{name}", (f"{name}@2",)) for name in names))
    rows = world.conn.execute("select transaction_id, lane from replay.outbox").fetchall()
    lanes = dict(rows)
    assert [lanes[f"one-{name}"] for name in names] == [lanes[f"many-{name}"] for name in names]
    assert len(set(lanes.values())) > 1
