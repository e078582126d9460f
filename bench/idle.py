"""What an idle driver keeps: nothing. After its import, a live run and an execution, a process of
its own is watched while it waits for a line: its threads beyond the main one, its connections, and
the queries that anybody sends to the database it worked in.

`python -m bench.idle DSN` is that process.
"""

import subprocess
import sys
import threading
import time
from pathlib import Path

from psycopg.conninfo import make_conninfo

from bench.heal import approve
from bench.report import Row, compare_costs
from bench.work import (
    CHECKOUT,
    CLEAN,
    HOST,
    Connection,
    Lab,
    connect,
    keep_none,
    name_of,
    projection,
    require,
    run_live,
    start,
)
from pyreplay import execution

GROUP = "idle"
DRIVER = "bench idle driver"
STAGES = ("import", "live run", "execution")
WATCHED, SAMPLED = 1.5, 0.05

CONNECTED = "select count(*) from pg_stat_activity where application_name = %s"
SESSIONS = "select sessions from pg_stat_database where datname = %s"
# A server process of the server's own has no part in it.
ASKED = """
select count(*) from pg_stat_activity
where datname = %s and backend_type = 'client backend' and query_start > %s"""


def work(dsn: str) -> None:
    """Come to rest after each stage."""
    _rest()
    with connect(dsn) as conn:
        start(conn, GROUP)
    run_live(dsn, keep_none, GROUP)
    _rest()
    with connect(dsn) as conn:
        key = approve(conn, GROUP)
        status = execution.execute(conn, projection(CLEAN["Python"], GROUP), *key)
        require(status.status, "SUCCEEDED", "the request")
    _rest()


def _rest() -> None:
    """Wait for a line, then say how many threads there are beside this one."""
    print("resting", flush=True)
    input()
    tasks = Path("/proc/self/task")
    # Where the system does not tell, threads of libraries are not known.
    threads = len(list(tasks.iterdir())) if tasks.exists() else threading.active_count()
    print(threads - 1, flush=True)


def run(lab: Lab) -> dict[str, float]:
    """What the process keeps, over all its stages."""
    dsn = lab.build("bench_idle_driver", f"queue('{HOST}', {lab.size.polls})")
    command = [sys.executable, "-m", "bench.idle", make_conninfo(dsn, application_name=DRIVER)]
    kept = dict.fromkeys(("threads", "connections", "queries"), 0.0)
    with (
        connect(lab.dsn) as conn,
        subprocess.Popen(
            command, cwd=CHECKOUT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as driver,
    ):
        assert driver.stdin and driver.stdout
        for stage in STAGES:
            require(driver.stdout.readline().strip(), "resting", stage)
            connections, queries = watch(conn, name_of(dsn))
            print("go", file=driver.stdin, flush=True)
            kept["threads"] += int(driver.stdout.readline())
            kept["connections"] += connections
            kept["queries"] += queries
    require(driver.returncode, 0, "exit code")
    return kept


def watch(conn: Connection, database: str) -> tuple[int, int]:
    """Connections that were there or were made, and queries, from now on for a while."""
    # A session that was closed takes a moment to end.
    time.sleep(0.5)
    (began,) = conn.execute("select clock_timestamp()").fetchall()[0]
    before, seen = _ask(conn, SESSIONS, database), 0
    until = time.monotonic() + WATCHED
    while time.monotonic() < until:
        seen = max(seen, _ask(conn, CONNECTED, DRIVER))
        time.sleep(SAMPLED)
    made = _ask(conn, SESSIONS, database) - before
    return seen + made, _ask(conn, ASKED, database, began)


def _ask(conn: Connection, query: str, *values: object) -> int:
    found = conn.execute(query, values).fetchone()
    return int(found[0]) if found else 0


def measure(lab: Lab, rounds: int, _left_out: list[str]) -> list[Row]:
    found = [run(lab) for _ in range(rounds)]
    names = {
        "threads": "threads beyond the main one",
        "connections": "connections",
        "queries": "queries",
    }
    return [
        compare_costs(
            f"idle driver after import, live run and execution: {name}: none",
            [(kept[kind], 0.0) for kept in found],
            at_least=1.0,
            unit=kind,
        )
        for kind, name in names.items()
    ]


if __name__ == "__main__":
    work(*sys.argv[1:])
