"""What a poll costs with many transactions waiting, none of them next, beside none.

A poll is one database transaction that claims, finds nothing and ends: what a live processor does
while it is idle. Both databases hold the same transactions, appended and dealt with: in one a
failure holds up all of them but itself, in the other all are applied. Neither poll may find any.
"""

from bench.report import Row, compare
from bench.work import (
    CLEAN,
    HOST,
    Lab,
    connect,
    count,
    keep_none,
    projection,
    rate,
    require,
    run_live,
    start,
    take_turns,
)
from pyreplay.live import process_batch

GROUP = "polled"


class Polled:
    """A database in which the live processor has nothing to do."""

    def __init__(self, lab: Lab, name: str, *, waiting: int) -> None:
        dsn = lab.build(name, f"queue('{HOST}', {lab.size.waiting})")
        self.polls, self.waiting = lab.size.polls, waiting
        self.conn = connect(dsn)
        start(self.conn, GROUP)
        run_live(dsn, keep_none if waiting else CLEAN["SQL"], GROUP)
        self.conn.execute("vacuum (analyze)")

    def run(self, _round: int) -> float:
        self.conn.execute("checkpoint")
        made = projection(keep_none, GROUP)

        def poll() -> None:
            for _ in range(self.polls):
                require(process_batch(self.conn, made), None, "a batch")

        found = rate(self.polls, poll)
        query = "select count(*) from replay.deferred"
        require(count(self.conn, query), self.waiting, "deferred")
        return found


def measure(lab: Lab, rounds: int, _left_out: list[str]) -> list[Row]:
    waiting = Polled(lab, "bench_waiting", waiting=lab.size.waiting)
    none = Polled(lab, "bench_idle", waiting=0)
    # Plans are made and caches filled once a connection.
    for polled in (none, waiting):
        polled.run(-1)
    # Twice as often as others: what is measured takes half a second.
    runs = {"none waiting": none.run, "many waiting": waiting.run}
    found = take_turns(2 * rounds, runs)
    for polled in (waiting, none):
        polled.conn.close()
    pairs = list(zip(found["many waiting"], found["none waiting"], strict=True))
    name = f"live poll (claims, finds nothing, ends) with {lab.size.waiting:,} waiting: with none"
    return [compare(name, pairs, at_least=0.8, unit="polls/s")]
