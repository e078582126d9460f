"""The benchmarks run, write what they found, and fail below a floor. How fast: make bench."""

import json
from pathlib import Path
from typing import Any

import psycopg
import pytest

from bench import __main__ as command
from bench import idle
from bench.report import Row, compare, compare_costs
from bench.work import CHECKOUT, keep_none, run_live, start
from examples.permits import app
from pyreplay.client import Replay
from tests.invariants import check_invariants
from tests.servers import Server
from tests.world import aside

FIELDS = {
    *("row", "value", "reference", "ratio", "at_least", "unit", "rounds", "spread", "pairs"),
    "group",
}
FAMILIES = ["live", "processes", "heal", "plan", "poll", "failures", "memory", "idle"]


# What must be the same in a database with made failures and in one with real ones.
FACTS = """
    select f.host_id, f.transaction_id, f.status, f.fingerprint, f.registry_version, f.replayable,
      f.member_count, f.byte_count, f.lane, f.source_offset, f.error_code, t.member_count,
      t.byte_count, t.runs_alone, t.scopes, to_jsonb(e) e, h.version, l.last_offset, p.last_offset,
      p.failed_count, to_jsonb(m) - 'failure_id' m, to_jsonb(s) - 'failure_id' s, a.action, a.actor
    from replay.failure f
    join replay.transaction t on (t.host_id, t.transaction_id) = (f.host_id, f.transaction_id)
    join replay.event e on (e.host_id, e.transaction_id) = (f.host_id, f.transaction_id)
    join replay.failure_member m on (m.host_id, m.failure_id) = (f.host_id, f.failure_id)
    join replay.failure_scope s on (s.host_id, s.failure_id) = (f.host_id, f.failure_id)
    join replay.outbox o on (o.host_id, o.lane, o.source_offset) = (f.host_id, 0, f.source_offset)
      and o.transaction_id = f.transaction_id
    join replay.outbox_lane l on (l.host_id, l.lane) = (f.host_id, 0)
    join replay.position p on (p.host_id, p.projection_id, p.lane)
      = (f.host_id, f.projection_id, 0)
    join replay.stream_head h on (h.host_id, h.scope_key) = (f.host_id, s.scope_key)
    join replay.audit a on (a.host_id, a.failure_id) = (f.host_id, f.failure_id)
    order by f.source_offset, f.host_id"""


def open_permits(dsn: str) -> psycopg.Connection[Any]:
    """A database with the registry of the permits, in which a projection has started."""
    conn = psycopg.connect(dsn, autocommit=True)
    Replay(conn).publish_registry(app.clean.entries())
    start(conn, "failed")
    return conn


def test_made_failures_are_what_the_engine_would_have_made(server: Server, dsn: str) -> None:
    with open_permits(dsn) as made:
        made.execute((CHECKOUT / "bench/failures.sql").read_text())
        made.execute("select bench.make_failures(95)")
        check_invariants(made)
        facts = made.execute(FACTS).fetchall()
        ids = {f.failure_id for f in Replay(made).list_failures(limit=1000)}
        assert len(ids) == len(facts) == 95
        assert len({host_id for host_id, *_ in facts}) >= 10
        queue = made.execute(
            "select e.host_id, e.transaction_id, array[e.payload] from replay.event e"
            " join replay.outbox o using (host_id, transaction_id) order by o.source_offset"
        ).fetchall()
    other = server.create_database()
    with open_permits(other) as real:
        digest = real.execute("select digest from replay.registry").fetchone()
        assert digest
        for host_id, transaction_id, events in queue:
            Replay(real).append_transaction(host_id, transaction_id, events, digest[0])
        run_live(other, keep_none, "failed")
        assert real.execute(FACTS).fetchall() == facts
    server.drop_database(other)


def measure(server: Server, out: Path, *families: str) -> tuple[int, list[dict[str, Any]]]:
    """What a sample of these families exits with, and the rows that it wrote."""
    sample = ["--sample", "--rounds", "1", "--dsn", server.dsn, "--out", str(out)]
    code = command.main([*sample, *families])
    return code, json.loads((out / "results.json").read_text())


def test_a_sample_of_every_row_on_this_engine_is_measured_and_written(
    server: Server, tmp_path: Path
) -> None:
    code, rows = measure(server, tmp_path, *FAMILIES)

    assert [set(row) for row in rows] == [FIELDS] * len(rows)
    assert len({row["row"] for row in rows}) == len(rows) >= 21
    assert [*dict.fromkeys(row["group"] for row in rows)] == FAMILIES
    assert all(row["rounds"] and (row["value"] > 0 or row["group"] == "idle") for row in rows)
    assert code == any(row["ratio"] < row["at_least"] for row in rows)
    page = (tmp_path / "RESULTS.md").read_text()
    assert all(f"| {row['row']} |" in page for row in rows)
    assert all(f"\n## {family.capitalize()}\n" in page for family in FAMILIES)
    assert "fsync off" in page
    # How fast is another matter: an idle driver must keep nothing on any machine.
    assert {row["value"] for row in rows if row["group"] == "idle"} == {0}


def test_batches_are_appended_beside_copy(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench.peers.CACHE", tmp_path)
    _, rows = measure(server, tmp_path, "append")
    assert ["COPY" in row["row"] for row in rows] == [True]


@pytest.mark.parametrize(("value", "code"), [(7.9, 1), (8.0, 0)])
def test_a_row_below_its_floor_fails_the_command(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: float, code: int
) -> None:
    row = compare("half as fast", [(value, 10.0)], at_least=0.8)
    monkeypatch.setattr(command, "FAMILIES", {"live": lambda *_: [row]})
    arguments = ["--sample", "--dsn", server.dsn, "--out", str(tmp_path), "live"]
    assert command.main(arguments) == code


def test_what_is_not_installed_is_left_out_with_a_word(
    server: Server,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("bench.peers.CACHE", tmp_path)
    arguments = ["--sample", "--dsn", server.dsn, "--out", str(tmp_path), "append"]
    # Of so little work the other row is slow.
    command.main(arguments)
    assert "left out: append: message-db is not there: make bench-peers" in capsys.readouterr().out
    page = (tmp_path / "RESULTS.md").read_text()
    assert "- append: message-db is not there" in page


def test_the_ratio_is_the_median_of_what_was_measured_side_by_side() -> None:
    row = compare("a row", [(1.0, 2.0), (30.0, 30.0), (2.0, 8.0)], at_least=0.8)
    assert row == Row(
        row="a row",
        value=2.0,
        reference=8.0,
        ratio=0.5,
        at_least=0.8,
        unit="events/s",
        rounds=3,
        spread=[0.25, 1.0],
        pairs=[[1.0, 2.0], [30.0, 30.0], [2.0, 8.0]],
    )


def test_of_costs_less_is_better() -> None:
    row = compare_costs("a row", [(1.0, 3.0), (4.0, 3.0), (2.0, 3.0)], at_least=1.0, unit="s")
    assert (row.value, row.reference, row.ratio, row.spread) == (2.0, 3.0, 1.5, [0.75, 3.0])


@pytest.mark.parametrize(("value", "is_missed"), [(0.0, False), (1.0, True)])
def test_a_limit_of_nothing_is_kept_by_nothing_alone(value: float, is_missed: bool) -> None:
    row = compare_costs("a row", [(value, 0.0)], at_least=1.0, unit="threads")
    assert row.is_missed == is_missed


def test_a_driver_that_keeps_a_connection_and_asks_is_seen(server: Server, dsn: str) -> None:
    with (
        psycopg.connect(server.dsn, autocommit=True) as watching,
        psycopg.connect(dsn, autocommit=True, application_name=idle.DRIVER) as kept,
        aside(idle.watch, watching, kept.info.dbname) as watched,
    ):
        while not watched.done():
            kept.execute("select")
    assert watched.result() == (1, 1)
