"""What a million open failures cost those who append, list, claim and capture something else.

Two databases, one with the failures of failures.sql and one without, get the same transactions, for
a host of its own each round: they are appended one a commit; claimed and captured, a hundred a
commit, for all of them fail; and listed, a page of a hundred of all hosts and one of that host.
"""

import time
from dataclasses import dataclass
from functools import partial
from uuid import UUID, uuid5

from bench.report import Row, compare
from bench.work import (
    HOST,
    Connection,
    Lab,
    connect,
    current_digest,
    move,
    rate,
    require,
    resume,
    take_turns,
)
from pyreplay.client import Replay

GROUP = "failed"
BATCH = 100
PAGES = 20
FIRST = "select host_id, transaction_id, payload from bench.failing(%s * 10) order by 1, 2 limit %s"


@dataclass(slots=True)
class Crowd:
    """A database with so many open failures before the first round."""

    conn: Connection
    changes: int
    capture_seconds: float = 0.0

    def append(self, number: int) -> float:
        """Transactions a second."""
        rows = self.conn.execute(FIRST, (self.changes, self.changes)).fetchall()
        host_id = _host(number)
        made = [(name, [move(payload, old, host_id)]) for old, name, payload in rows]
        replay, digest = Replay(self.conn), current_digest(self.conn)

        def work() -> None:
            for name, events in made:
                replay.append_transaction(host_id, name, events, digest)

        return rate(len(made), work)

    def claim(self, number: int) -> float:
        """Transactions a second; how long their capture took, commit and all, is kept aside."""
        replay, captured, claiming = Replay(self.conn), 0, 0.0
        began = time.perf_counter()
        while captured < self.changes:
            resume(self.conn, GROUP)
            with self.conn.transaction():
                asked = time.perf_counter()
                batch = replay.claim_batch("bench", GROUP, host_id=_host(number), limit=BATCH)
                claiming += time.perf_counter() - asked
                reports = [{"ord": one.ord, "error_code": "ValueError"} for one in batch]
                result = replay.complete_batch(batch[0].xact_id, failures=reports)
            require(result.failed_count, len(batch), "captured")
            captured += len(batch)
        self.capture_seconds = time.perf_counter() - began - claiming
        return captured / claiming

    def capture(self, _number: int) -> float:
        """Transactions a second of the round that `claim` had."""
        return self.changes / self.capture_seconds

    def list(self, number: int) -> float:
        """Pages a second."""
        replay = Replay(self.conn)
        wanted = min(self.changes, BATCH)

        def work() -> None:
            for _ in range(PAGES):
                for host_id in (None, _host(number)):
                    page = replay.list_failures(host_id=host_id, limit=wanted)
                    require(len(page), wanted, "a page")

        return rate(PAGES * 2, work)


UNITS = {"append": "transactions/s", "claim": "transactions/s", "capture": "transactions/s"}
UNITS["list"] = "pages/s"


def _host(number: int) -> UUID:
    return uuid5(HOST, str(number))


def measure(lab: Lab, rounds: int, _left_out: list[str]) -> list[Row]:
    crowds = {
        kind: Crowd(connect(lab.failures(count)), lab.size.changes)
        for kind, count in (("none", 0), ("many", lab.size.many))
    }
    runs = {
        f"{verb}, {kind}": partial(getattr(Crowd, verb), crowd)
        for verb in UNITS
        for kind, crowd in crowds.items()
    }
    # Neither is to read its indexes for the first time, nor to keep plans made for empty tables.
    for run in runs.values():
        run(-1)
    for crowd in crowds.values():
        crowd.conn.execute("vacuum (analyze)")
    # Twice as often as others: what is measured takes half a second.
    found = take_turns(2 * rounds, runs)
    for crowd in crowds.values():
        crowd.conn.close()
    return [
        compare(
            f"{verb} with {lab.size.many:,} open failures: with none",
            list(zip(found[f"{verb}, many"], found[f"{verb}, none"], strict=True)),
            at_least=0.87,
            unit=unit,
        )
        for verb, unit in UNITS.items()
    ]
