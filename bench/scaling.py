"""`python -m bench.scaling`: how cost grows. Measures the curves of docs/scaling.md, writes them to
bench/scaling.json and draws them. Takes ten minutes; needs the extra bench-plots.

Each curve but the last is the rate of a live run over one copy of the log, 8,577 events where the
real one is at hand, beside more and more of something else. Medians of the rounds.
"""

import argparse
import json
import multiprocessing
import time
from collections.abc import Callable, Iterable
from functools import partial
from multiprocessing.synchronize import Barrier
from pathlib import Path
from statistics import median
from typing import Any
from uuid import uuid5

from psycopg.conninfo import make_conninfo

from bench.append import READ, _moved
from bench.work import (
    CHECKOUT,
    CLEAN,
    HOST,
    SAMPLE,
    Connection,
    Lab,
    Size,
    connect,
    count,
    keep_none,
    open_lab,
    prepare,
    projection,
    require,
    start,
)
from pyreplay.client import Replay
from pyreplay.live import LiveProcessor

GROUP = "scaling"
ROUNDS = 3
KIND = "SQL"

Points = dict[int, float]

# The hosts of the base are the work; every other one only lies beside it.
OTHERS = """
insert into replay.position (host_id, projection_id, lane, last_offset)
select l.host_id, p.projection_id, l.lane, l.last_offset
from replay.outbox_lane l cross join replay.projection p
where p.consumer_group = %s and l.host_id <> all (%s)
on conflict do nothing"""


class Work:
    """The base's events in a database with something beside them."""

    def __init__(self, lab: Lab, name: str, copy: str) -> None:
        self.dsn = lab.build(name, copy, keep=True)
        self.conn = connect(self.dsn)
        with connect(make_conninfo(lab.dsn, dbname=lab.base())) as base:
            lanes = base.execute("select host_id from replay.outbox_lane")
            self.hosts = [host_id for (host_id,) in lanes]
            self.events = count(base, "select count(*) from replay.event")
        start(self.conn, GROUP)
        self.runs = 0

    def measure(self, rounds: int, *, limit: int = 500) -> float:
        """The median rate of live runs over the base's events, behind one that is not counted."""
        found = [self._run(limit) for _ in range(rounds + 1)]
        return median(found[1:])

    def _run(self, limit: int) -> float:
        self.runs += 1
        group = f"{GROUP}-{self.runs}"
        start(self.conn, group)
        self.conn.execute(OTHERS, [group, self.hosts])
        self.conn.execute("vacuum (analyze)")
        prepare(self.conn)
        processor = LiveProcessor(self.dsn, projection(CLEAN[KIND], group), limit=limit)
        began = time.perf_counter()
        processor.run(once=True)
        seconds = time.perf_counter() - began
        steps = count(self.conn, "select sum(steps) from permits.permit_case_clean")
        require(steps, self.events, "steps that the run counted")
        return self.events / seconds


def beside_events(lab: Lab, rounds: int) -> Points:
    """Beside events of other hosts, all read."""
    points = {}
    for copies in (1, 4, 16) if lab.size.copies > 2 else (1, 2):
        work = Work(lab, "bench_beside", f"hosts({copies})")
        points[count(work.conn, "select count(*) from replay.event")] = work.measure(rounds)
        work.conn.close()
    return points


def beside_failures(lab: Lab, rounds: int) -> Points:
    """Beside open failures in other hosts."""
    points = {}
    for failures in (0, lab.size.failures, lab.size.failures * 5, lab.size.failures * 25):
        work = Work(lab, "bench_beside", "hosts(1)")
        work.conn.execute("select bench.make_failures(%s)", [failures])
        points[failures] = work.measure(rounds)
        work.conn.close()
    return points


def beside_deferred(lab: Lab, rounds: int) -> Points:
    """Beside transactions of another host that wait behind one failure."""
    points = {}
    for waiting in (1, lab.size.deferred // 10, lab.size.deferred):
        work = Work(lab, "bench_beside", f"queue('{HOST}', {waiting})")
        failing = projection(keep_none, GROUP)
        LiveProcessor(work.dsn, failing, host_id=HOST).run(once=True)
        require(count(work.conn, "select count(*) from replay.deferred"), waiting, "deferred")
        points[waiting] = work.measure(rounds)
        work.conn.close()
    return points


def by_batch(lab: Lab, rounds: int) -> Points:
    """By the most transactions of a batch."""
    work = Work(lab, "bench_beside", "hosts(1)")
    points = {limit: work.measure(rounds, limit=limit) for limit in (5, 20, 100, 500)}
    work.conn.close()
    return points


def by_processes(lab: Lab, rounds: int) -> Points:
    """By live processes on the same projection, over 12 hosts."""
    dsn = lab.build("bench_beside", f"hosts({min(lab.size.copies, 8)})", keep=True)
    points: dict[int, list[float]] = {1: [], 2: [], 4: []}
    with connect(dsn) as conn:
        events = count(conn, "select count(*) from replay.event")
        for number in range(rounds):
            for processes, found in points.items():
                group = f"{GROUP}-{number}-{processes}"
                start(conn, group)
                prepare(conn)
                seconds = _side_by_side(processes, partial(_run_live, dsn, group))
                found.append(events / seconds)
    return {processes: median(found) for processes, found in points.items()}


def _run_live(dsn: str, group: str, _number: int, gate: Barrier) -> None:
    processor = LiveProcessor(dsn, projection(CLEAN[KIND], group), limit=500)
    gate.wait()
    processor.run(once=True)
    gate.wait()


def by_clients(lab: Lab, rounds: int) -> Points:
    """Transactions appended a second, one a commit, by clients with a host each."""
    dsn = lab.build("bench_beside", "hosts(1)", keep=True)
    points: dict[int, list[float]] = {1: [], 2: [], 4: [], 8: []}
    total = 1000 if lab.size.copies > 2 else 10
    for number in range(rounds):
        for clients, found in points.items():
            work = partial(_append, dsn, total // clients, f"{number}-{clients}")
            found.append(total // clients * clients / _side_by_side(clients, work))
    return {clients: median(found) for clients, found in points.items()}


def _append(dsn: str, most: int, name: str, number: int, gate: Barrier) -> None:
    with connect(dsn) as conn:
        host = uuid5(HOST, f"{name}-{number}")
        log = conn.execute(f"{READ} limit %s", [most]).fetchall()
        made = [(t, [_moved(p, old, host) for p in payloads]) for old, t, payloads in log]
        replay, digest = Replay(conn), _digest(conn)
        gate.wait()
        for transaction_id, payloads in made:
            replay.append_transaction(host, transaction_id, payloads, digest)
        gate.wait()


def _digest(conn: Connection) -> bytes:
    query = "select digest from replay.registry order by registry_version desc limit 1"
    found = conn.execute(query).fetchone()
    assert found
    return bytes(found[0])


def _side_by_side(processes: int, work: Callable[[int, Barrier], None]) -> float:
    """Seconds from when all processes are ready until the last has done its work."""
    context = multiprocessing.get_context("spawn")
    # All of them pass it when they are ready, and once more when they are done.
    gate = context.Barrier(processes + 1, timeout=600)
    running = [context.Process(target=work, args=(n, gate)) for n in range(processes)]
    for process in running:
        process.start()
    gate.wait()
    began = time.perf_counter()
    gate.wait()
    seconds = time.perf_counter() - began
    for process in running:
        process.join()
    return seconds


CURVES: dict[str, tuple[Callable[[Lab, int], Points], str, str]] = {
    "events": (beside_events, "events in the store", "events/s"),
    "failures": (beside_failures, "open failures", "events/s"),
    "deferred": (beside_deferred, "deferred transactions", "events/s"),
    "batch": (by_batch, "transactions a batch", "events/s"),
    "processes": (by_processes, "live processes", "events/s"),
    "clients": (by_clients, "appending clients", "transactions/s"),
}


def draw(curves: dict[str, dict[str, float]], folder: Path) -> None:
    """All curves on one page, as PNG and as SVG."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    matplotlib.rcParams["svg.hashsalt"] = "pyreplay"
    figure, places = pyplot.subplots(2, 3, figsize=(12, 6.5), layout="constrained")
    for place, (name, points) in zip(places.flat, curves.items(), strict=False):
        _, along, up = CURVES[name]
        at = [int(x) for x in points]
        place.plot(at, list(points.values()), marker="o")
        if at[-1] > 8:
            place.set_xscale("symlog", linthresh=max(min(x for x in at if x), 1))
        place.set_ylim(bottom=0)
        place.set_xlabel(along)
        place.set_ylabel(up)
        place.grid(alpha=0.3)
    for kind in ("png", "svg"):
        figure.savefig(folder / f"scaling.{kind}", metadata={"Date": None} if kind == "svg" else {})


def main(arguments: Iterable[str] | None = None) -> None:
    parser = argparse.ArgumentParser("bench.scaling", description=__doc__)
    parser.add_argument("--sample", action="store_true", help="tiny: whether it runs")
    parser.add_argument("--draw", action="store_true", help="only draw what was measured")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"how many (default {ROUNDS})")
    parser.add_argument("--dsn", help="a superuser's, of another server than the embedded one")
    given = parser.parse_args(None if arguments is None else list(arguments))
    results = CHECKOUT / "bench/scaling.json"
    if not given.draw:
        curves: dict[str, Any] = {}
        with open_lab(given.dsn, SAMPLE if given.sample else Size()) as lab:
            for name, (measure, along, up) in CURVES.items():
                curves[name] = measure(lab, given.rounds)
                for at, rate in curves[name].items():
                    print(f"{at:>9,} {along}: {rate:,.0f} {up}", flush=True)
                results.write_text(json.dumps(curves, indent=2) + "\n")
    draw(json.loads(results.read_text()), CHECKOUT / "docs")


if __name__ == "__main__":
    main()
