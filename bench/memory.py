"""The most memory that `pyreplay run` takes for many events beside few: resident, of its process.

The events are those of failures.sql, each a transaction of its own, for a group that applies them.
"""

import os
import subprocess
import sys
from functools import partial

from bench.report import Row, compare_costs
from bench.work import CHECKOUT, Lab, connect, count, prepare, require, start, take_turns

RUN = [sys.executable, "-m", "pyreplay.cli"]


def run(dsn: str, number: int) -> float:
    """MiB that a run over all events of the database took at most."""
    group = f"memory-{number}"
    with connect(dsn) as conn:
        start(conn, group)
        prepare(conn)
        found = _peak(dsn, group)
        events = count(conn, "select count(*) from replay.event")
        require(count(conn, "select sum(steps) from permits.permit_case_clean"), events, "steps")
    return found


def _peak(dsn: str, group: str) -> float:
    command = [*RUN, "--dsn", dsn, "run", "--app", "bench.apps:applied", "--once"]
    environment = os.environ | {"BENCH_GROUP": group}
    with subprocess.Popen(
        command, cwd=CHECKOUT, env=environment, stdout=subprocess.DEVNULL
    ) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    require(process.returncode, 0, "exit code")
    # In KiB on Linux, in bytes on macOS.
    return usage.ru_maxrss / (1024**2 if sys.platform == "darwin" else 1024)


def measure(lab: Lab, rounds: int, _left_out: list[str]) -> list[Row]:
    size = lab.size
    runs = {f"{n:,} events": partial(run, lab.failures(n)) for n in (size.few, size.many)}
    few, many = take_turns(rounds, runs, unit="MiB").values()
    name = f"memory of `run` over {size.many:,} events: over {size.few:,}"
    pairs = list(zip(many, few, strict=True))
    return [compare_costs(name, pairs, at_least=1 / 1.2, unit="MiB")]
