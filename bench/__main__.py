"""`python -m bench [FAMILY ...]`: measure, print the table, fail below a floor."""

import argparse
import logging
import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from bench import (
    append,
    failures,
    heal,
    idle,
    isolation,
    live,
    memory,
    plan,
    poll,
    processes,
)
from bench.report import Row, keep, show
from bench.work import SAMPLE, Lab, Size, open_lab

# A family gets the lab, how many rounds, and a list for what it has to leave out.
FAMILIES: dict[str, Callable[[Lab, int, list[str]], list[Row]]] = {
    "live": live.measure,
    "processes": processes.measure,
    "append": append.measure,
    "peer": live.measure_peer,
    "heal": heal.measure,
    "plan": plan.measure,
    "poll": poll.measure,
    "failures": failures.measure,
    "isolation": isolation.measure,
    "idle": idle.measure,
    # The one that takes half an hour, and needs no quiet machine.
    "memory": memory.measure,
}
QUICK = ("live", "append")


def main(arguments: Sequence[str]) -> int:
    """Return 1 when a row misses its floor."""
    given = _parser().parse_args(arguments)
    names = given.families or (FAMILIES if given.full else QUICK)
    rounds = given.rounds or (5 if given.full else 3)
    given.out.mkdir(parents=True, exist_ok=True)
    rows: list[Row] = []
    left_out: list[str] = []
    command = shlex.join(["python", "-m", "bench", *arguments])
    size = SAMPLE if given.sample else Size(copies=given.copies)
    with open_lab(given.dsn, size) as lab:
        for name in names:
            print(name, flush=True)
            rows += [replace(row, group=name) for row in FAMILIES[name](lab, rounds, left_out)]
            keep(given.out, rows, left_out, lab.dsn, command=command, work=size.describe())
        show(rows)
    for reason in left_out:
        print(f"left out: {reason}")
    return int(any(row.is_missed for row in rows))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("bench", description=main.__doc__)
    parser.add_argument("families", nargs="*", metavar="FAMILY", help=f"of {', '.join(FAMILIES)}")
    parser.add_argument("--full", action="store_true", help="all families, 5 rounds")
    parser.add_argument("--rounds", type=int, help="how many (default 3, with --full 5)")
    parser.add_argument("--copies", type=int, default=10, help="of the log (default 10)")
    parser.add_argument("--sample", action="store_true", help="tiny: whether it runs")
    parser.add_argument("--dsn", help="a superuser's, of another server than the embedded one")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent, help="for the results")
    return parser


if __name__ == "__main__":
    # Of each handler that fails, as it is meant to here, psycopg says that a pipeline was aborted.
    logging.getLogger("psycopg").setLevel(logging.ERROR)
    sys.exit(main(sys.argv[1:]))
