"""The most memory that `pyreplay run` takes for many events beside few: resident, of its process.

The events are those of failures.sql, each a transaction of its own, for a group that applies them.
"""

import os
import re
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

from bench.report import Row, compare_costs
from bench.work import CHECKOUT, Lab, connect, count, prepare, require, start, take_turns

PEAK = re.compile(r"VmHWM:\s+(\d+) kB")
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
    peak = 0
    with subprocess.Popen(
        command, cwd=CHECKOUT, env=environment, stdout=subprocess.DEVNULL
    ) as process:
        status = Path(f"/proc/{process.pid}/status")
        # What wait4 tells begins with what its parent had. It never falls, so the last look tells.
        while process.poll() is None:
            if found := PEAK.search(status.read_text()):
                peak = int(found[1])
            time.sleep(0.02)
    require(process.returncode, 0, "exit code")
    return peak / 1024


def measure(lab: Lab, rounds: int, left_out: list[str]) -> list[Row]:
    if not Path("/proc/self/status").exists():
        left_out.append("memory: it is read from /proc, which this system has not")
        return []
    size = lab.size
    runs = {f"{n:,} events": partial(run, lab.failures(n)) for n in (size.few, size.many)}
    few, many = take_turns(rounds, runs, unit="MiB").values()
    name = f"memory of `run` over {size.many:,} events: over {size.few:,}"
    pairs = list(zip(many, few, strict=True))
    return [compare_costs(name, pairs, at_least=1 / 1.2, unit="MiB")]
