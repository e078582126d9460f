"""The benchmarks run, write what they found, and fail below a floor. How fast: make bench."""

import json
from pathlib import Path

import pytest

from bench import __main__ as command
from bench.report import Row, compare
from tests.servers import Server

FIELDS = {"row", "value", "reference", "ratio", "at_least", "unit", "rounds", "spread", "pairs"}


def test_a_sample_of_every_row_on_this_engine_is_measured_and_written(
    server: Server, tmp_path: Path
) -> None:
    sample = ["--sample", "--rounds", "1", "--dsn", server.dsn, "--out", str(tmp_path)]
    code = command.main([*sample, "live", "heal", "poll"])

    rows = json.loads((tmp_path / "results.json").read_text())
    assert [set(row) for row in rows] == [FIELDS] * len(rows)
    assert len({row["row"] for row in rows}) == len(rows) >= 8
    assert all(row["rounds"] == 1 and row["value"] > 0 for row in rows)
    assert code == any(row["ratio"] < row["at_least"] for row in rows)
    page = (tmp_path / "RESULTS.md").read_text()
    assert all(f"| {row['row']} |" in page for row in rows)
    assert "fsync off" in page


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
    assert command.main(arguments) == 0
    assert "left out: append: message-db is not there: make bench-peers" in capsys.readouterr().out
    assert "message-db is not there" in (tmp_path / "RESULTS.md").read_text()


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
