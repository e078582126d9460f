"""create_request over many failures, of independent scopes and by closure through a long chain.

The closure starts at one deferred transaction, which waits, through as many deferred ones as there
are failures, each with a case of its own, for all of them. Plans are made in a tenth of the size
and in full size in turns, so that it shows how their cost grows.
"""

from collections.abc import Callable
from functools import partial
from typing import Any
from uuid import UUID

from bench.report import Row, compare_costs
from bench.work import (
    HOST,
    Connection,
    Lab,
    connect,
    count,
    keep_none,
    require,
    run_live,
    seconds,
    start,
    take_turns,
)
from pyreplay.client import Replay

GROUP = "failed"
SMALL = UUID("00000000-0000-4000-8000-000000000002")
LIMIT = 3.0
# n log n between a tenth and all of 10,000.
GROWTH = 10 * 4 / 3
# What grows with n log n outgrows the caches of the processor and the working memory on its way.
TOLERATED = 0.9


class Chains:
    """A database with a chain of each size, in a host of its own."""

    def __init__(self, lab: Lab) -> None:
        most = lab.size.planned
        self.sizes = {SMALL: most // 10, HOST: most}
        chains = (f"chain('{host_id}', {size})" for host_id, size in self.sizes.items())
        dsn = lab.build("bench_plan", ", bench.copy_".join(chains))
        self.conn: Connection = connect(dsn)
        start(self.conn, GROUP)
        result = run_live(dsn, keep_none, GROUP)
        every = sum(self.sizes.values())
        found = result.failed_count, result.deferred_count
        require(found, (every, every + len(self.sizes)), "failed and deferred")
        self.conn.execute("vacuum (analyze)")
        self.replay = Replay(self.conn)

    def plan_chosen(self, host_id: UUID, _round: int) -> float:
        """Seconds for a plan of all failures of the host."""
        failures = self.conn.execute(
            "select failure_id from replay.failure where host_id = %s", (host_id,)
        )
        ids = [failure_id for (failure_id,) in failures]
        return self._plan(host_id, failure_ids=ids)

    def plan_closure(self, host_id: UUID, _round: int) -> float:
        """Seconds for a plan of all that the end of the chain waits for."""
        last = f"waiting-{self.sizes[host_id] + 2}"
        options = {"strategy": "DEPENDENCY_CLOSURE", "transaction_ids": [last]}
        return self._plan(host_id, **options)

    def _plan(self, host_id: UUID, **selection: Any) -> float:
        # As many items each turn: what takes a moment is done often.
        plans = self.sizes[HOST] // self.sizes[host_id]
        before = count(self.conn, "select count(*) from replay.request_item")
        self.conn.execute("checkpoint")

        def work() -> None:
            for _ in range(plans):
                self.replay.create_request(host_id, "bench", GROUP, reason="bench", **selection)

        found = seconds(work) / plans
        after = count(self.conn, "select count(*) from replay.request_item")
        require(after - before, self.sizes[HOST], "items")
        return found


def measure(lab: Lab, rounds: int, _left_out: list[str]) -> list[Row]:
    chains = Chains(lab)
    kinds: dict[str, Callable[[UUID, int], float]] = {
        "independent scopes": chains.plan_chosen,
        "closure through a chain": chains.plan_closure,
    }
    runs = {
        f"{kind}, {size:,}": partial(plan, host_id)
        for kind, plan in kinds.items()
        for host_id, size in chains.sizes.items()
    }
    found = take_turns(rounds, runs, unit="s")
    chains.conn.close()
    small, most = chains.sizes.values()
    rows = []
    for kind in kinds:
        few, many = found[f"{kind}, {small:,}"], found[f"{kind}, {most:,}"]
        name = f"create_request over {most:,} failures, {kind}"
        limits = [(each, LIMIT) for each in many]
        rows.append(compare_costs(f"{name}: {LIMIT:g} s", limits, at_least=1.0, unit="s"))
        grown = [(each, GROWTH * other) for each, other in zip(many, few, strict=True)]
        name = f"{name}: n log n from {small:,}"
        rows.append(compare_costs(name, grown, at_least=TOLERATED, unit="s"))
    return rows
