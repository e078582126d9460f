"""Rows of results: how they are compared, printed and kept."""

import json
import os
import platform
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from itertools import groupby
from pathlib import Path
from statistics import median
from typing import Any

import psycopg

SETTINGS = ("fsync", "synchronous_commit", "shared_buffers", "max_wal_size")
PACKAGES = ("pyreplay", "psycopg", "eventsourcing")

HEAD = """# Results of the benchmarks

Written by `{command}`; run it again to repeat them. What each row does is said in the files of
[bench/](.). Value and reference were measured in turns, round by round, in one run. Both are
medians; the ratio is the median of the ratios of the rounds, beside the least and the most of them.

Where less is better, the ratio is reference / value.

- Work of the live rows: {work}
- Machine: {machine}
- Server: {server}
- Versions: {versions}
"""

GROUP = """
## {group}

| row | value | reference | unit | ratio | spread | at least | rounds | |
|---|---|---|---|---|---|---|---|---|
"""


class LeftOut(Exception):
    """A row cannot be measured here; the text says why, and what to do about it."""


@dataclass(frozen=True, slots=True)
class Row:
    """What was measured against what. ratio: more is better; spread: its least and its most.

    group: the family it belongs to."""

    row: str
    value: float
    reference: float
    ratio: float
    at_least: float
    unit: str
    rounds: int
    spread: list[float]
    pairs: list[list[float]]
    group: str = ""

    @property
    def is_missed(self) -> bool:
        return self.ratio < self.at_least

    def cells(self) -> list[str]:
        """The row as the table shows it."""
        return [
            self.row,
            f"{self.value:,.5g}",
            f"{self.reference:,.5g}",
            self.unit,
            f"{self.ratio:.3f}",
            " to ".join(f"{ratio:.3f}" for ratio in self.spread),
            f"{self.at_least:.3g}",
            str(self.rounds),
            "MISSED" if self.is_missed else "ok",
        ]


def compare(
    row: str,
    pairs: Sequence[tuple[float, float]],
    *,
    at_least: float,
    unit: str = "events/s",
) -> Row:
    """A row of pairs of rates, each the value and the reference of one round."""
    ratios = [value / reference for value, reference in pairs]
    return _row(row, pairs, ratios, at_least, unit)


def compare_costs(
    row: str, pairs: Sequence[tuple[float, float]], *, at_least: float, unit: str
) -> Row:
    """The same of costs, of which less is better: the reference is another one, or a limit."""
    # What costs nothing keeps to any limit, to that of nothing too.
    ratios = [reference / value if value else 1.0 for value, reference in pairs]
    return _row(row, pairs, ratios, at_least, unit)


def _row(
    row: str,
    pairs: Sequence[tuple[float, float]],
    ratios: Sequence[float],
    at_least: float,
    unit: str,
) -> Row:
    return Row(
        row=row,
        value=median(value for value, _ in pairs),
        reference=median(reference for _, reference in pairs),
        ratio=median(ratios),
        at_least=at_least,
        unit=unit,
        rounds=len(pairs),
        spread=[min(ratios), max(ratios)],
        pairs=[list(pair) for pair in pairs],
    )


def show(rows: Iterable[Row]) -> None:
    """Print the table."""
    heads = ["row", "value", "reference", "unit", "ratio", "spread", "at least", "rounds", ""]
    lines = [heads, *(row.cells() for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)))


def keep(
    folder: Path,
    rows: Sequence[Row],
    left_out: Sequence[str],
    dsn: str,
    *,
    command: str,
    work: str,
) -> None:
    """Write results.json, and RESULTS.md from it."""
    results = folder / "results.json"
    results.write_text(json.dumps([asdict(row) for row in rows], indent=2) + "\n")
    page = HEAD.format(
        command=command,
        work=work,
        machine=_machine(),
        server=_server(dsn),
        versions=_versions(),
    )
    kept = [Row(**row) for row in json.loads(results.read_text())]
    for group, members in groupby(kept, key=lambda row: row.group):
        page += GROUP.format(group=group.capitalize())
        page += "".join(f"| {' | '.join(row.cells())} |\n" for row in members)
    if left_out:
        page += "\n## Left out\n\n" + "".join(f"- {reason}\n" for reason in left_out)
    (folder / "RESULTS.md").write_text(page)


def _machine() -> str:
    model, memory = platform.processor() or platform.machine(), "unknown"
    # Linux alone has them.
    if (processors := Path("/proc/cpuinfo")).exists():
        named = (_after_colon(processors, "model name"), model)
        model = next(name for name in named if name)
        kilobytes = int(_after_colon(Path("/proc/meminfo"), "MemTotal").split()[0])
        memory = f"{kilobytes / 1024**2:.0f} GiB"
    return f"{model}, {os.cpu_count()} cores, {memory} of memory, {platform.platform()}"


def _after_colon(file: Path, key: str) -> str:
    found = (line for line in file.read_text().splitlines() if line.startswith(key))
    return next(found, ":").partition(":")[2].strip()


def _server(dsn: str) -> str:
    with psycopg.connect(dsn, autocommit=True) as conn:
        settings = [f"{name} {_ask(conn, name)}" for name in SETTINGS]
        isolation = _ask(conn, "default_transaction_isolation")
        return f"PostgreSQL {_ask(conn, 'server_version')}, {', '.join(settings)}, {isolation}"


def _ask(conn: psycopg.Connection[Any], setting: str) -> str:
    found = conn.execute("select current_setting(%s)", (setting,)).fetchone()
    assert found
    return str(found[0])


def _versions() -> str:
    found = [f"Python {platform.python_version()}"]
    for package in PACKAGES:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    return ", ".join(found)
