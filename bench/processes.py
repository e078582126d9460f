"""Two live processes beside one, on the same server and cores; they share the hosts of the log.

The processes have started, imported all and wait for a line before the clock runs, from their first
batch until nothing is left. `python -m bench.processes DSN GROUP` is one of them.
"""

import subprocess
import sys
from contextlib import ExitStack
from functools import partial

from bench.live import Log
from bench.report import Row, compare
from bench.work import CHECKOUT, CLEAN, Lab, prepare, rate, require, run_live, start, take_turns


def run(log: Log, processes: int, number: int) -> float:
    """Events a second of so many processes."""
    group = f"processes-{processes}-{number}"
    start(log.conn, group)
    prepare(log.conn)
    command = [sys.executable, "-m", "bench.processes", log.dsn, group]
    with ExitStack() as stack:
        workers = [
            stack.enter_context(
                subprocess.Popen(
                    command,
                    cwd=CHECKOUT,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
            for _ in range(processes)
        ]
        for worker in workers:
            require(_line(worker), "ready", "a process")
        applied: list[int] = []
        found = rate(log.events, lambda: applied.extend(_go(workers)))
    require(sum(applied), log.transactions, "transactions applied")
    log.require_digest(log.clean)
    return found


def _go(workers: list[subprocess.Popen[str]]) -> list[int]:
    """Let them all begin, and wait until they have ended; return how many each applied."""
    for worker in workers:
        assert worker.stdin
        print("go", file=worker.stdin, flush=True)
    return [int(_line(worker)) for worker in workers]


def _line(worker: subprocess.Popen[str]) -> str:
    assert worker.stdout
    return worker.stdout.readline().strip()


def work(dsn: str, group: str) -> None:
    """Wait for a line, then process everything."""
    print("ready", flush=True)
    input()
    print(run_live(dsn, CLEAN["SQL"], group).applied_count, flush=True)


def measure(lab: Lab, rounds: int, _left_out: list[str]) -> list[Row]:
    log = Log(lab)
    runs = {f"{count} processes": partial(run, log, count) for count in (1, 2)}
    found = take_turns(rounds, runs)
    log.conn.close()
    pairs = list(zip(found["2 processes"], found["1 processes"], strict=True))
    return [compare("two live processes, SQL handlers: one", pairs, at_least=1.4)]


if __name__ == "__main__":
    work(*sys.argv[1:])
