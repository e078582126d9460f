"""Live processing: clean beside the floors, and with one aggregate in ten failing beside clean.

Rates are events of the log a second, from the first batch until nothing is left. An aggregate that
fails does so with its first transaction, and all its later ones are deferred behind that.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from bench import floors, peers
from bench.report import LeftOut, Row, compare
from bench.work import (
    CLEAN,
    FAILING,
    Digest,
    Lab,
    connect,
    count,
    digest,
    prepare,
    rate,
    require,
    run_live,
    start,
    take_turns,
)

FAILS = "case_id like '%4'"
FLOORS: dict[str, Callable[[str], None]] = {
    "Python": floors.run_python_loop,
    "SQL": floors.run_server_loop,
}


class Log:
    """A database with the whole log in it, and what a run of it must come to."""

    def __init__(self, lab: Lab) -> None:
        self.dsn = lab.build("bench_log", f"hosts({lab.size.copies})", keep=True)
        self.conn = connect(self.dsn)
        self.events = count(self.conn, "select count(*) from replay.event")
        self.transactions = count(self.conn, "select count(*) from replay.transaction")
        self._check_copies()
        floors.run_python_loop(self.dsn)
        self.clean = digest(self.conn)
        self.most = digest(self.conn, f"not {FAILS}")
        self.failing = count(
            self.conn, f"select count(*) from permits.permit_case_clean where {FAILS}"
        )
        require(self.clean[1], self.events, "steps that the bare loop counted")

    def run_floor(self, floor: Callable[[str], None], _round: int) -> float:
        prepare(self.conn)
        found = rate(self.events, lambda: floor(self.dsn))
        self.require_digest(self.clean)
        return found

    def run_clean(self, kind: str, number: int, threads: int = 1) -> float:
        group = f"clean-{kind}-{threads}-{number}"
        found, result = self._run(CLEAN[kind], group, threads)
        require(result.applied_count, self.transactions, "transactions applied")
        self.require_digest(self.clean)
        return found

    def run_failing(self, kind: str, number: int) -> float:
        group = f"failing-{kind}-{number}"
        found, result = self._run(FAILING[kind], group)
        require(result.failed_count, self.failing, "failures")
        done = result.applied_count + result.failed_count + result.deferred_count
        require(done, self.transactions, "transactions applied, failed or deferred")
        self.require_digest(self.most)
        return found

    def _run(self, handler: Any, group: str, threads: int = 1) -> tuple[float, Any]:
        start(self.conn, group)
        prepare(self.conn)
        results: list[Any] = []
        found = rate(
            self.events, lambda: results.append(run_live(self.dsn, handler, group, threads))
        )
        return found, results[0]

    def require_digest(self, wanted: Digest) -> None:
        require(digest(self.conn), wanted, "the read model")

    def _check_copies(self) -> None:
        """Raise unless what was stored in sets looks like what was appended."""
        shapes = """
            select count(*) from (
              select transaction_id from replay.transaction
              group by transaction_id
              having count(distinct (member_count, byte_count, scopes, registry_version)) > 1) x"""
        require(count(self.conn, shapes), 0, "copies that differ from what was appended")


def measure(lab: Lab, rounds: int, _left_out: list[str]) -> list[Row]:
    """The rows beside the floors, and those of failures beside clean."""
    log = Log(lab)
    runs: dict[str, Callable[[int], float]] = {}
    # Each beside what it is compared with.
    for kind, floor in FLOORS.items():
        runs[f"{kind} floor"] = partial(log.run_floor, floor)
        runs[f"{kind} clean, 2 threads"] = partial(log.run_clean, kind, threads=2)
        runs[f"{kind} clean"] = partial(log.run_clean, kind)
        runs[f"{kind} failing"] = partial(log.run_failing, kind)
    found = take_turns(rounds, runs)
    log.conn.close()

    def row(name: str, value: str, reference: str, at_least: float) -> Row:
        pairs = list(zip(found[value], found[reference], strict=True))
        return compare(name, pairs, at_least=at_least)

    python, server = "live, Python handlers, clean", "live, SQL handlers, clean"
    return [
        row(f"{python}: bare loop", "Python clean", "Python floor", 0.8),
        row(f"{python}, --threads 2: bare loop", "Python clean, 2 threads", "Python floor", 0.8),
        row(f"{server}: bare server loop", "SQL clean", "SQL floor", 0.8),
        row(f"{server}, --threads 2: bare server loop", "SQL clean, 2 threads", "SQL floor", 0.8),
        row("10% failing, SQL handlers: own clean", "SQL failing", "SQL clean", 0.85),
        row("10% failing, Python handlers: own clean", "Python failing", "Python clean", 0.7),
    ]


def measure_peer(lab: Lab, rounds: int, left_out: list[str]) -> list[Row]:
    """The row beside eventsourcing."""
    log = Log(lab)
    try:
        runner = peers.Runner(lab, log.conn)
        runs: dict[str, Callable[[int], float]] = {"ProjectionRunner": runner.run}
        runs["Python clean"] = partial(log.run_clean, "Python")
        found = take_turns(rounds, runs)
        runner.conn.close()
    except LeftOut as reason:
        left_out.append(f"peer: {reason}")
        return []
    finally:
        log.conn.close()
    pairs = list(zip(found["Python clean"], found["ProjectionRunner"], strict=True))
    name = "live, Python handlers, clean: eventsourcing's ProjectionRunner"
    return [compare(name, pairs, at_least=12)]
