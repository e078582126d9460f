"""Importing files: exact bytes, whole transactions, nothing twice, every refusal named."""

import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from pyreplay import importer
from pyreplay.client import Replay
from pyreplay.errors import InvalidArgument, RegistryEmpty
from pyreplay.importer import ImportResult, import_file
from tests.conftest import Connect
from tests.world import HOST, OTHER_HOST, World, envelope

Lines = list[bytes]


@pytest.fixture
def world(dsn: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    # Small batches, so that a few lines fill several.
    monkeypatch.setattr(importer, "BATCH_SIZE", 3)
    world = World(dsn)
    yield world
    world.close()


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """A function that writes lines to a file and returns its path."""

    def write(*lines: bytes, name: str = "events.jsonl", end: bytes = b"\n") -> Path:
        path = tmp_path / name
        content = b"".join(line + end for line in lines)
        path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        return path

    return write


def lines_of(transaction_id: str, *labels: str, **changes: Any) -> Lines:
    """The events of one transaction, as a careless program might write them."""
    return [
        json.dumps(
            envelope(HOST, transaction_id, len(labels), ordinal, label) | changes,
            indent=None if ordinal else 0,
        )
        .replace("\n", " ")
        .encode()
        for ordinal, label in enumerate(labels)
    ]


def chain(count: int, aggregate: str = "A", start: int = 1) -> Lines:
    """Transactions of one member each, the versions of one aggregate."""
    return [
        line
        for version in range(start, start + count)
        for line in lines_of(f"{aggregate}{version}", f"{aggregate}@{version}")
    ]


def counts(result: ImportResult) -> tuple[int, int, int]:
    return result.appended_count, result.skipped_count, result.refused_count


def stored(world: World) -> list[tuple[str, bytes]]:
    return world.conn.execute(
        "select e.transaction_id, e.payload from replay.event e"
        " join replay.outbox o using (host_id, transaction_id)"
        " order by o.source_offset, e.ordinal"
    ).fetchall()


def refusals(result: ImportResult) -> list[tuple[int, str | None, str]]:
    return [(found.line, found.transaction_id, found.error) for found in result.refusals]


@pytest.mark.parametrize("name", ["events.jsonl", "events.jsonl.gz"])
def test_i2_the_bytes_of_each_line_are_kept(
    world: World, write: Callable[..., Path], name: str
) -> None:
    lines = [*lines_of("t1", "A@1", "A@2"), *lines_of("t2", "B@1")]
    result = import_file(world.conn, write(*lines, name=name))
    assert counts(result) == (2, 0, 0)
    assert result.line_count == 3
    assert result.bytes_read == result.byte_count > 0
    assert [payload for _, payload in stored(world)] == lines


def test_line_ends_and_blank_lines_are_no_part_of_an_event(
    world: World, write: Callable[..., Path]
) -> None:
    lines = chain(2)
    result = import_file(world.conn, write(lines[0], b"", lines[1], b"", end=b"\r\n"))
    assert counts(result) == (2, 0, 0)
    assert [payload for _, payload in stored(world)] == lines


def test_the_last_line_needs_no_end(world: World, write: Callable[..., Path]) -> None:
    assert counts(import_file(world.conn, write(*chain(1), end=b""))) == (1, 0, 0)


def test_mixed_lines_become_whole_transactions_in_the_order_of_their_last_lines(
    world: World, write: Callable[..., Path]
) -> None:
    one, two = lines_of("one", "A@1", "B@2"), lines_of("two", "B@1", "C@1")
    result = import_file(world.conn, write(one[0], two[1], two[0], *chain(1, "D"), one[1]))
    assert counts(result) == (3, 0, 0)
    assert stored(world) == [
        ("two", two[0]),
        ("two", two[1]),
        ("D1", chain(1, "D")[0]),
        ("one", one[0]),
        ("one", one[1]),
    ]


def test_a_second_import_skips_everything(world: World, write: Callable[..., Path]) -> None:
    path = write(*chain(10))
    assert counts(import_file(world.conn, path)) == (10, 0, 0)
    before = stored(world)
    assert counts(import_file(world.conn, path)) == (0, 10, 0)
    assert stored(world) == before
    longer = write(*chain(12), name="longer.jsonl")
    assert counts(import_file(world.conn, longer)) == (2, 10, 0)


def test_an_import_that_was_cut_off_is_repeated(world: World, write: Callable[..., Path]) -> None:
    path = write(*chain(10))

    def cut_off(result: ImportResult) -> None:
        if result.appended_count >= 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        import_file(world.conn, path, cut_off)
    half = len(stored(world))
    assert 0 < half < 10
    assert counts(import_file(world.conn, path)) == (10 - half, half, 0)
    assert [name for name, _ in stored(world)] == [f"A{n}" for n in range(1, 11)]


def test_progress_is_told_after_each_batch(world: World, write: Callable[..., Path]) -> None:
    seen: list[tuple[int, int]] = []
    import_file(
        world.conn,
        write(*chain(7)),
        lambda result: seen.append((result.appended_count, result.bytes_read)),
    )
    assert [count for count, _ in seen] == [3, 6, 7, 7]
    assert seen[-1][1] == sum(map(len, chain(7))) + 7


def test_each_bad_line_is_named_and_its_transaction_refused_whole(
    world: World, write: Callable[..., Path]
) -> None:
    good, bad = chain(2), lines_of("bad", "B@1", "B@2", "B@3")
    no_count = json.loads(bad[1])
    del no_count["transactioncount"]
    result = import_file(
        world.conn,
        write(
            good[0],
            bad[0],
            json.dumps(no_count).encode(),
            b"{not json 4711",
            bad[2],
            b"[4711]",
            b'{"host": "4711"}',
            b"\xff4711",
            b'{"a": NaN}',
            b"[" * 100_000,
            good[1],
        ),
    )
    assert counts(result) == (2, 0, 7)
    assert refusals(result) == [
        (3, "bad", "MALFORMED_EVENT"),
        (4, None, "MALFORMED_EVENT"),
        (6, None, "MALFORMED_EVENT"),
        (7, None, "MALFORMED_EVENT"),
        (8, None, "MALFORMED_EVENT"),
        (9, None, "MALFORMED_EVENT"),
        (10, None, "MALFORMED_EVENT"),
    ]
    assert all(found.reason for found in result.refusals)
    assert "4711" not in str(result.refusals)
    assert [payload for _, payload in stored(world)] == good


def test_what_the_database_refuses_is_named_by_its_line(
    world: World, write: Callable[..., Path]
) -> None:
    pair = lines_of("pair", "C@1", "C@2")
    wrong_version = json.dumps(json.loads(pair[1]) | {"aggregateversion": "x4711"}).encode()
    result = import_file(
        world.conn,
        write(
            *chain(2),
            pair[0],
            wrong_version,
            *lines_of("ahead", "A@7"),
            *lines_of("unknown", "u1", type="Unheard"),
            *lines_of("nobody", "u1", host="4711"),
            *lines_of("list", "u1", data=[4711]),
            *chain(1, start=3),
        ),
    )
    assert counts(result) == (3, 0, 5)
    assert refusals(result) == [
        (4, "pair", "MALFORMED_EVENT"),
        (5, "ahead", "VERSION_CONFLICT"),
        (6, "unknown", "UNKNOWN_EVENT_TYPE"),
        (7, "nobody", "MALFORMED_EVENT"),
        (8, "list", "INVALID_DATA"),
    ]
    assert "4711" not in str(result.refusals)
    assert [name for name, _ in stored(world)] == ["A1", "A2", "A3"]


def test_i4_a_transaction_that_lacks_events_is_refused(
    world: World, write: Callable[..., Path]
) -> None:
    result = import_file(
        world.conn, write(*chain(1), *lines_of("half", "B@1", "B@2")[1:], *chain(1, "C"))
    )
    assert counts(result) == (2, 0, 1)
    assert refusals(result) == [(2, "half", "TRANSACTION_INCOMPLETE")]
    assert "half" not in dict(stored(world))


def test_an_event_that_stands_twice_is_no_second_event(
    world: World, write: Callable[..., Path]
) -> None:
    one, pair = chain(1), lines_of("pair", "B@1", "B@2")
    result = import_file(world.conn, write(*one, *one, pair[0], pair[0], pair[1]))
    # The pair seems complete at its second line, and is not; its third line is then alone.
    assert counts(result) == (1, 1, 2)
    assert {name for name, _ in stored(world)} == {"A1"}
    assert [found.error for found in result.refusals] == ["TRANSACTION_INCOMPLETE"] * 2


def test_other_bytes_under_a_known_id_are_a_conflict(
    world: World, write: Callable[..., Path]
) -> None:
    import_file(world.conn, write(*chain(1)))
    result = import_file(world.conn, write(*chain(1), *lines_of("A1", "B@1")))
    assert counts(result) == (0, 1, 1)
    assert refusals(result) == [(2, "A1", "TRANSACTION_CONFLICT")]


def test_one_id_in_two_hosts_is_two_transactions(world: World, write: Callable[..., Path]) -> None:
    other = lines_of("A1", "A@1", host=str(OTHER_HOST), id="other")
    assert counts(import_file(world.conn, write(*chain(1), *other))) == (2, 0, 0)


def test_an_endless_line_is_refused_and_the_next_one_read(
    world: World, write: Callable[..., Path]
) -> None:
    endless = lines_of("big", "B@1", data={"a": "x" * 9 * 1024 * 1024})
    result = import_file(world.conn, write(*chain(1), *endless, *chain(1, "C")))
    assert counts(result) == (2, 0, 1)
    assert refusals(result) == [(2, None, "TRANSACTION_TOO_LARGE")]


def test_more_members_than_allowed_are_refused_at_once(
    world: World, write: Callable[..., Path]
) -> None:
    result = import_file(world.conn, write(*lines_of("big", "B@1", transactioncount=1001)))
    assert refusals(result) == [(1, "big", "TRANSACTION_TOO_LARGE")]


def test_a_registry_that_moves_on_meanwhile_is_loaded_again(
    world: World, write: Callable[..., Path], connect: Connect
) -> None:
    publisher = Replay(connect(autocommit=True))

    def publish(result: ImportResult) -> None:
        number = result.appended_count
        publisher.publish_registry([{**world.projection.entries()[0], "event_type": f"T{number}"}])

    assert counts(import_file(world.conn, write(*chain(7)), publish)) == (7, 0, 0)


def test_it_commits_on_a_connection_in_either_mode(
    world: World, write: Callable[..., Path], connect: Connect
) -> None:
    conn = connect()
    assert counts(import_file(conn, write(*chain(4)))) == (4, 0, 0)
    assert conn.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
    assert len(stored(world)) == 4


def test_it_refuses_to_commit_what_is_not_its_own(
    write: Callable[..., Path], connect: Connect
) -> None:
    conn = connect()
    conn.execute("select 1")
    with pytest.raises(psycopg.ProgrammingError, match="between transactions"):
        import_file(conn, write(*chain(1)))


def test_a_damaged_file_says_how_far_it_could_be_read(
    world: World, write: Callable[..., Path]
) -> None:
    path = write(*chain(500), name="events.jsonl.gz")
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InvalidArgument) as refusal:
        import_file(world.conn, path)
    assert refusal.value.details["line"] > 0
    assert refusal.value.hint
    found = len(stored(world))
    path.write_bytes(whole)
    assert counts(import_file(world.conn, path)) == (500 - found, found, 0)


def test_a_file_that_is_not_there_is_named(world: World, tmp_path: Path) -> None:
    for path in (tmp_path / "nothing.jsonl", tmp_path):
        with pytest.raises(InvalidArgument) as refusal:
            import_file(world.conn, path)
        assert refusal.value.details["file"] == str(path)


def test_without_a_registry_nothing_is_imported(
    conn: psycopg.Connection[Any], write: Callable[..., Path]
) -> None:
    with pytest.raises(RegistryEmpty):
        import_file(conn, write(*chain(1)))


def test_an_empty_file_is_well(world: World, write: Callable[..., Path]) -> None:
    assert counts(import_file(world.conn, write())) == (0, 0, 0)


@pytest.mark.parametrize(
    ("name", "lines", "transactions"),
    [("permit-events.jsonl.gz", 8577, 4289), ("portal-config.jsonl.gz", 1910, 1392)],
)
def test_real_events(
    connect: Connect,
    real_data: Callable[[str], Path],
    name: str,
    lines: int,
    transactions: int,
) -> None:
    path = real_data(name)
    conn = connect(autocommit=True)
    with gzip.open(path) as file:
        events = [json.loads(line) for line in file]
    Replay(conn).publish_registry(
        [_entry(event) for event in {e["type"]: e for e in events}.values()]
    )
    result = import_file(conn, path)
    assert (result.line_count, *counts(result)) == (lines, transactions, 0, 0)
    assert counts(import_file(conn, path)) == (0, transactions, 0)
    with gzip.open(path) as file:
        sent = {line.rstrip(b"\n") for line in file}
    kept = {payload for (payload,) in conn.execute("select payload from replay.event")}
    assert kept == sent


def _entry(event: dict[str, Any]) -> dict[str, Any]:
    policy = "TRANSACTION_ONLY"
    if "aggregateversion" in event:
        policy = "GRAPH_ROOT" if "graphroot" in event else "AGGREGATE_VERSION"
    return {
        "event_type": event["type"],
        "event_schema": event["eventschema"],
        "policy": policy,
        "repair_disposition": "FIX_AND_EXACT_REPLAY_ONLY",
        "side_effects": "NONE",
    }
