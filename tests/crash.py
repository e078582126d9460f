"""The crash harness: stop a process at a named step, kill it or its database, retry, look.

A round plays one small story on a host of its own: transactions of which some fail, a plan that
heals those, a follower that fails while it is drained, a plan for that one. Or the first plan's
holder dies, two people release its request, and a plan more heals what that leaves. Wherever the
crash came, it must end as the same story without a crash does.
"""

import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any
from uuid import UUID, uuid4

import psycopg
from psycopg.conninfo import make_conninfo

from pyreplay import execution
from pyreplay.client import Replay
from pyreplay.cluster import Cluster, find_cluster
from pyreplay.errors import InvalidReplayState, ReplayExecutionInProgress
from pyreplay.live import LiveProcessor
from pyreplay.records import RequestStatus
from tests.crash_driver import CALLS, release
from tests.invariants import find_violations
from tests.schedule import hold, pause_at, stopping_at
from tests.servers import Server
from tests.support import wait_until
from tests.world import AT_REST_EMPTY, World

# Steps inside of the database: which point of tests.schedule, where it is, and when to stop there.
_RAISED = "exists (select from replay.barrier b where b.request_id = p_request.request_id)"
POINTS = {
    "decided": ("claim_batch", "from replay._decide(v_items) d;", "true"),
    "captured": ("_conclude_batch", "perform replay._capture(p_xact_id, p_failures);", "true"),
    "deferred": ("_conclude_batch", "perform replay._defer(p_xact_id);", "true"),
    "moved": ("_conclude_batch", "perform replay._move_progress(p_xact_id);", "true"),
    "woken": ("_conclude_batch", "perform replay._wake_next(p_xact_id);", "true"),
    "claiming": ("claim_request", "'RUNNING', v_actor, replay._now());", "true"),
    "beginning": ("begin_items", "any (v_items);", "true"),
    "resolved": (
        "complete_items",
        "perform replay._resolve_failures(v_request, p_xact_id);",
        "true",
    ),
    "settling": ("_lower_barriers", "on conflict do nothing;", _RAISED),
    "finishing": ("_end_run", "returning * into v_request;", "true"),
    "releasing": ("_release", "'REQUEST_RELEASED', p_request.status, p_reason);", "true"),
}
STEPS: dict[str, str | None] = dict.fromkeys(CALLS) | {
    "live: decided": "decided",
    "live: failures captured": "captured",
    "live: deferred": "deferred",
    "live: progress moved": "moved",
    "live: woken": "woken",
    "replay: claimed, before commit": "claiming",
    "replay: begun, before commit": "beginning",
    "replay: failures resolved": "resolved",
    "replay: settled, before commit": "settling",
    "replay: finished, before commit": "finishing",
    "replay: drain decided": "decided",
    "replay: drain captured": "captured",
    "replay: drain moved progress": "moved",
    "replay: drain woke the next": "woken",
    "release: barriers lowered, before commit": "settling",
    "release: released, before commit": "releasing",
}
RELEASING = [step for step in STEPS if step.startswith("release")]
# Steps that one execution of two chunks passes more than once.
_TWICE = {
    "replay: begun",
    "replay: loaded",
    "replay: handlers ran",
    "replay: completed, before commit",
    "replay: completed",
    "replay: settled",
}
STORY: dict[str, tuple[str, ...]] = {
    "a1": ("A@1",),
    "a2": ("A@2",),
    "c1": ("C@1", "D@1"),
    "ab": ("A@3", "B@1"),
    "b2": ("B@2",),
    "c2": ("C@2",),
    "d2": ("D@2",),
    "e1": ("E@1", "E@2"),
    "g1": ("G#1", "E@3"),
    "u1": ("u1",),
    "u2": ("u2",),
    "cd": ("C@3", "D@3"),
    "e4": ("E@4",),
}
BROKEN, HALF, WHOLE = {"A@1", "C@1", "u2", "C@2"}, {"C@2"}, set[str]()


@dataclass(frozen=True, slots=True)
class Kill:
    """Where and how a round's process, or its database, is stopped.

    nth: at which passing of the step. limit: transactions a batch. noticed: the server itself finds
    out that its client has died; else it is let go on, to find it out when it answers. holder: how
    the one died whose request is released.
    """

    step: str
    nth: int = 1
    limit: int = 500
    noticed: bool = False
    holder: "Kill | None" = None

    @property
    def role(self) -> str:
        return self.step.partition(":")[0]


# Deaths that leave barriers: over items that nobody has done; over one that is done, with nobody
# woken behind it.
DEATHS = [Kill("replay: loaded", nth=2), Kill("replay: completed")]


def sample(count: int, seed: int, among: Iterable[str] = STEPS) -> list[Kill]:
    """So many kills, over all steps in turn; the same for the same seed."""
    chance = random.Random(seed)
    steps = list(among)
    chance.shuffle(steps)
    kills = []
    for step in (steps * (count // len(steps) + 1))[:count]:
        in_batches = step in CALLS and step.startswith("live")
        most = 3 if in_batches else 2 if step in _TWICE else 1
        limits = (2, 3, 4) if in_batches else (3, 5, 500)
        noticed = STEPS[step] is not None and chance.random() < 0.2
        holder = chance.choice(DEATHS) if step in RELEASING else None
        kills.append(Kill(step, chance.randint(1, most), chance.choice(limits), noticed, holder))
    return kills


def holders(count: int) -> list[Kill]:
    """So many kills of a holder in the middle of its chunk, half of them inside of a statement."""
    idle, busy = Kill("replay: loaded"), Kill("replay: failures resolved", noticed=True)
    return [busy if number % 2 else idle for number in range(count)]


@dataclass(slots=True)
class Results:
    """What rounds came to, in the shape of soak/results.json."""

    kills: dict[str, dict[str, int]] = field(default_factory=dict)
    violations: list[str] = field(default_factory=list)
    recovery_seconds: dict[str, list[float]] = field(default_factory=dict)

    def note(self, suite: str, kill: Kill, seconds: float, violations: list[str]) -> None:
        steps = self.kills.setdefault(suite, {})
        steps[kill.step] = steps.get(kill.step, 0) + 1
        self.recovery_seconds.setdefault(suite, []).append(round(seconds, 3))
        self.violations += [f"{suite}: {kill}: {violation}" for violation in violations]

    def write(self, path: Path) -> None:
        path.parent.mkdir(exist_ok=True)
        total = sum(sum(steps.values()) for steps in self.kills.values())
        summary = {
            "kills": total,
            "kills_by_step": self.kills,
            "violations": self.violations,
            "recovery_seconds": {
                suite: {"median": median(times), "most": max(times), "all": times}
                for suite, times in self.recovery_seconds.items()
            },
        }
        path.write_text(json.dumps(summary, indent=2) + "\n")


def start_process() -> subprocess.Popen[str]:
    """Start tests.crash_driver, which waits for its order."""
    return subprocess.Popen(
        [sys.executable, "-m", "tests.crash_driver"],
        cwd=Path(__file__).parents[1],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


class Rig:
    """A database in which rounds are played, each on a host of its own."""

    def __init__(self, dsn: str, cluster: Cluster | None = None) -> None:
        """cluster: the server to stop, where it is that and not the process which crashes."""
        self.dsn, self.cluster = dsn, cluster
        self.world = World(dsn)
        self.world.start()
        for name, (function, after, when) in POINTS.items():
            pause_at(self.world.conn, function, after=after, name=name, when=when)
        # Started ahead of its turn: its imports take longer than all else.
        self.spare = start_process()
        self.clean: dict[Kill | None, dict[str, Any]] = {}

    def close(self) -> None:
        _end(self.spare)
        self.world.close()

    def round(self, kill: Kill) -> tuple[float, list[str]]:
        """Play the story with that crash: the seconds to its recovery, and what was wrong then."""
        if kill.holder not in self.clean:
            self.clean[kill.holder], _ = self.play(None, kill.holder)
        ended, seconds = self.play(kill, kill.holder)
        wrong = [
            f"{what}: {ended[what]} is not {clean}"
            for what, clean in self.clean[kill.holder].items()
            if ended[what] != clean
        ]
        found = find_violations(self.world.conn)
        return seconds, wrong + [f"{rule}: {rows}" for rule, rows in found.items()]

    def play(self, kill: Kill | None, holder: Kill | None) -> tuple[dict[str, Any], float]:
        """Play the story on a new host; return how it ended, and the seconds to the recovery."""
        host, role = uuid4(), kill.role if kill else ""
        seconds = 0.0
        with self.world.conn.transaction():
            for transaction_id, labels in STORY.items():
                self.world.append(transaction_id, *labels, host_id=host)
        if kill and role == "live":
            order = {"host": str(host), "bad": sorted(BROKEN), "limit": kill.limit}
            seconds = self._crash(kill, order, lambda: self._live_again(host, BROKEN, kill.limit))
        self._live(host, BROKEN)
        requests = [self._plan(host)]
        if holder:
            seconds = self._die_and_release(requests[0], holder, kill)
            requests.append(self._plan(host))
        first = requests[-1]
        if kill and role == "replay":
            seconds = self._crash_execution(
                kill, first, lambda: self._retry(first, lambda: self._execute(first, HALF))
            )
        else:
            self._execute(first, HALF)
        self._live(host, HALF)
        requests.append(self._plan(host))
        self._execute(requests[-1], WHOLE)
        self._live(host, WHOLE)
        return self._ended(host, requests), seconds

    def _die_and_release(self, request: RequestStatus, holder: Kill, kill: Kill | None) -> float:
        """Let the holder die, and two people release its request; the second one may die too."""
        key = request.host_id, request.request_id
        self._crash_execution(holder, request, time.monotonic)
        asked = self.world.as_person("alice").release_request(*key, "nobody retries")
        assert asked.impact["barrier_count"], "the holder left no barriers"
        before = self._standing(request)

        def decide() -> float:
            bob = self.world.as_person("bob")
            bob.release_request(*key, "agreed", asked.action_id, asked.impact)
            return time.monotonic()

        if kill:
            order = {
                "host": str(request.host_id),
                "request": str(request.request_id),
                "action": str(asked.action_id),
                "impact": asked.impact,
            }
            seconds = self._crash(kill, order, lambda: self._retry(request, decide, "RELEASED"))
        else:
            decide()
            seconds = 0.0
        after = self._standing(request)
        assert after == before, f"I19: released, {after} is not {before}"
        released = self.world.replay.get_request(*key)
        assert (released.status, released.failure_code) == ("FAILED", "RELEASED")
        assert released.fence == request.fence + 2, "I9: a release raises the fence"
        assert released.barrier_count == 0, "I11: a barrier outlived the release"
        return seconds

    def _standing(self, request: RequestStatus) -> tuple[dict[str, int], list[str]]:
        """What a release leaves as it is: progress, and what failed."""
        failures = self.world.failures(host_id=request.host_id)
        return self.world.progress(request.host_id), [f.transaction_id for f in failures]

    def _crash_execution(
        self, kill: Kill, request: RequestStatus, retry: Callable[[], float]
    ) -> float:
        order = {
            "host": str(request.host_id),
            "bad": sorted(HALF),
            "request": str(request.request_id),
            "plan_hash": request.plan_hash.hex(),
        }
        return self._crash(kill, order, retry)

    def _crash(self, kill: Kill, order: dict[str, Any], retry: Callable[[], float]) -> float:
        """Start the process, crash it at its step, retry; return the seconds between the two."""
        point = STEPS[kill.step]
        dsn = stopping_at(self.dsn, point) if point else self.dsn
        user = {"user": "bob"} if kill.role == "release" else {}
        order |= {
            "dsn": make_conninfo(dsn, application_name="doomed", **user),
            "role": kill.role,
            "step": kill.step,
            "nth": kill.nth,
        }
        with hold(self.dsn, point or "nowhere") as held, self._process(order) as process:
            if point:
                held.wait_until_reached()
            else:
                assert process.stdout
                assert process.stdout.readline() == "reached\n", "it never came there"
            began = time.monotonic()
            if self.cluster:
                self._stop_database(process, kill.role)
                return retry() - began
            process.send_signal(signal.SIGKILL)
            if not kill.noticed:
                held.let_pass()
            recovered = retry()
            held.let_pass()
            self._wait_until_gone()
            return recovered - began

    @contextmanager
    def _process(self, order: dict[str, Any]) -> Iterator[subprocess.Popen[str]]:
        """The process that was started ahead, at work; gone when the block is left."""
        process, self.spare = self.spare, start_process()
        assert process.stdin
        process.stdin.write(json.dumps(order) + "\n")
        process.stdin.flush()
        try:
            yield process
        finally:
            _end(process)

    def _stop_database(self, process: subprocess.Popen[str], role: str) -> None:
        """Stop the server at once and start it again; the process finds out and ends."""
        assert self.cluster
        stop = ("stop", "-w", "-m", "immediate", "-D", self.cluster.data)
        self.cluster.programs.run("pg_ctl", *stop)
        self.cluster.launch()
        _, errors = process.communicate("\n", timeout=60)
        # A live processor goes on by itself, and what has come to its end has nothing to lose.
        lost = "OperationalError" if role == "release" else "ReplayExecutionUnavailable"
        assert not process.returncode or lost in errors, errors
        self.world.close()
        self.world = World(self.dsn)

    def _wait_until_gone(self) -> None:
        gone = "not exists (select from pg_stat_activity where application_name = 'doomed')"
        wait_until(self.world.conn, gone)

    def _live(self, host: UUID, bad: set[str], limit: int = 500) -> None:
        LiveProcessor(self.dsn, release(bad), host_id=host, limit=limit).run(once=True)

    def _live_again(self, host: UUID, bad: set[str], limit: int) -> float:
        """Process what the dead one left, once its claim is gone with it."""
        self._wait_until_gone()
        self._live(host, bad, limit)
        return time.monotonic()

    def _plan(self, host: UUID) -> RequestStatus:
        """A plan over all that is open, approved."""
        alice, bob = self.world.as_person("alice"), self.world.as_person("bob")
        chosen = [f.failure_id for f in alice.list_failures(host)]
        request = alice.create_request(host, "orders", failure_ids=chosen, reason="fixed")
        return bob.approve_request(
            host, request.request_id, request.plan_hash, reason="looks right"
        )

    def _execute(self, request: RequestStatus, bad: set[str]) -> float:
        """Execute to the end; return when that was accepted."""
        key = request.host_id, request.request_id, request.plan_hash
        accepted: list[float] = []
        with psycopg.connect(self.dsn, autocommit=True) as conn:
            Replay(conn).execute_request(*key, reason="go on")
            execution.execute(
                conn, release(bad), *key, on_progress=lambda _: accepted.append(time.monotonic())
            )
        return accepted[0]

    def _retry(
        self, request: RequestStatus, call: Callable[[], float], failure_code: str | None = None
    ) -> float:
        """Call again until it is accepted, or finds its end reached; return when that was.

        failure_code: with which the request ends; null: it succeeds.
        """
        deadline = time.monotonic() + 30
        while True:
            try:
                return call()
            except ReplayExecutionInProgress:
                assert time.monotonic() < deadline, "the dead one never lets go"
                self.world.conn.execute("select pg_sleep(0.01)")
            except InvalidReplayState:
                # It had come to its end. Nothing is left to take up.
                found = self.world.replay.get_request(request.host_id, request.request_id)
                ends = "FAILED" if failure_code else "SUCCEEDED", failure_code
                assert (found.status, found.failure_code) == ends
                return time.monotonic()

    def _ended(self, host: UUID, requests: list[RequestStatus]) -> dict[str, Any]:
        """All by which two rounds can be compared."""

        def ask(query: str) -> list[Any]:
            return self.world.conn.execute(query, {"host": host}).fetchall()

        return {
            "applied": ask("select label from app.seen where host_id = %(host)s order by label"),
            "progress": ask(
                "select scope_key, version from replay.progress where host_id = %(host)s"
                " order by scope_key"
            ),
            "ledger": ask(
                "select transaction_id from replay.ledger where host_id = %(host)s"
                " order by transaction_id"
            ),
            "failures": ask(
                "select transaction_id, status, resolution_code, error_code from replay.failure"
                " where host_id = %(host)s order by transaction_id"
            ),
            "requests": [
                self.world.replay.get_request(host, r.request_id).status for r in requests
            ],
            "successes of an item": ask(
                "select count(*), count(distinct (request_id, item_no)) from replay.attempt"
                " where host_id = %(host)s and result = 'SUCCEEDED'"
            ),
            "failed attempts": ask(
                "select count(*) from replay.attempt where host_id = %(host)s and result = 'FAILED'"
            ),
            "position": ask(
                "select last_offset, applied_count + drained_count, failed_count, stale_count,"
                " observed_count, duplicate_count, conflict_count, fault_code"
                " from replay.position where host_id = %(host)s"
            ),
            "left over": [
                table
                for table in AT_REST_EMPTY
                if ask(f"select from replay.{table} where host_id = %(host)s")
            ],
        }


@contextmanager
def open_rig(server: Server, *, stopping: bool) -> Iterator[Rig]:
    """A rig on a fresh database; stopping: what crashes is the server, which nobody else uses."""
    dsn = server.create_database()
    with psycopg.connect(dsn) as conn:
        (data,) = conn.execute("show data_directory").fetchone() or ()
    cluster = find_cluster(Path(data).parent, server.binaries) if stopping else None
    rig = Rig(dsn, cluster)
    try:
        yield rig
    finally:
        rig.close()
        server.drop_database(dsn)
