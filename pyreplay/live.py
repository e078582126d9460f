"""The live processor: one batch after another, whatever happens to one of them."""

import logging
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from functools import reduce
from typing import Any
from uuid import UUID

import psycopg

from .blame import trace
from .client import Replay
from .errors import ArchiveCapacityExceeded, ProgressMoved, ReplayError
from .executor import Mode, bound_statements, run_batch, runs_in_database
from .install import check_installed
from .projection import Projection
from .records import BatchResult, ClaimedTransaction
from .stuck import Stuck, Verdict
from .trial import Trial, crashed
from .watchdog import Watchdog

log = logging.getLogger(__name__)

Connection = psycopg.Connection[Any]

_IDLE_FIRST, _IDLE_MOST = 0.01, 1.0
_FAULT_FIRST, _FAULT_MOST = 0.1, 5.0
_TRIES_ONCE = 5
# Well within the minute after which `get_status` calls an instance stale.
_SEEN_EVERY = 10.0
_COUNTS = {Verdict.NO_TRANSACTIONS: 1, Verdict.NOTHING_PASSES: _TRIES_ONCE}

# A killed holder must let go of what it holds outside of bounded database transactions as well, at
# once and not when its next answer fails to send.
NOTICE_DEATH = "select set_config('client_connection_check_interval', '1s', false)"


def process_batch(
    conn: Connection,
    projection: Projection,
    *,
    host_id: UUID | None = None,
    lane: int | None = None,
    limit: int = 500,
    woken_only: bool = False,
    budget: float = 60.0,
    on_claim: Callable[[Sequence[ClaimedTransaction]], Mapping[int, str]] | None = None,
    on_complete: Callable[[BatchResult], None] | None = None,
) -> BatchResult | None:
    """Claim, run and complete one batch in one database transaction; None: nothing to do.

    budget: seconds that the handlers of the batch may take. on_claim gets the batch before anything
    of it runs, and returns the places of what is not to be run, with the code that each fails with.
    on_complete gets the result before the commit, and may raise.
    """
    replay = Replay(conn)
    with conn.transaction():
        bound_statements(conn, budget)
        batch = replay.claim_batch(
            projection.name,
            projection.consumer_group,
            host_id=host_id,
            lane=lane,
            limit=limit,
            woken_only=woken_only,
            with_events=not runs_in_database(conn, projection),
        )
        if not batch:
            return None
        given_up = crashed(batch)
        if on_claim is not None:
            given_up.update(on_claim(batch))
        with Watchdog(conn, budget):
            outcome = run_batch(
                conn,
                projection,
                batch,
                Mode.LIVE,
                deadline=time.monotonic() + budget,
                given_up=given_up,
            )
        result = replay.complete_batch(
            batch[0].xact_id,
            failures=outcome.failures,
            skipped=outcome.skipped,
            upto=outcome.upto,
        )
        if on_complete is not None:
            on_complete(result)
        return result


def add(one: BatchResult, other: BatchResult) -> BatchResult:
    """The sum of two batches' counters."""
    return BatchResult(
        *(getattr(one, f.name) + getattr(other, f.name) for f in fields(BatchResult))
    )


class LiveProcessor:
    """Runs one projection on the outbox. Run as many as you like, side by side.

    pooled: conninfo names a transaction-pooling proxy, which must have more sessions than there are
    processors: each takes a second one at times. instance: the name under which `get_status` shows
    this process; the machine's when left out.
    """

    def __init__(
        self,
        conninfo: str,
        projection: Projection,
        *,
        host_id: UUID | None = None,
        lane: int | None = None,
        limit: int = 500,
        budget: float = 60.0,
        pooled: bool = False,
        instance: str | None = None,
    ) -> None:
        self.conninfo = conninfo
        self.projection = projection
        self.host_id = host_id
        self.lane = lane
        self._most = self._limit = self._claimed = limit
        self.budget = budget
        self.pooled = pooled
        self.instance = instance or socket.gethostname()
        self._seen_until = 0.0
        self.totals = BatchResult(*(0 for _ in fields(BatchResult)))
        self._conn: Connection | None = None
        self._trial = Trial(self._connect, projection)
        self._stuck = Stuck()

    def run(self, *, once: bool = False, stop: threading.Event | None = None) -> BatchResult:
        """Process until `stop` is set, or with `once` until nothing is left; return the counters.

        A fault of a batch (lost connection, deadlock, full disk, an engine being upgraded) rolls
        it back, halves the next one, waits and tries again; with `once` at most 5 times in a row,
        not counting those that lead to one transaction which fails while others pass.
        Raises NotInstalled, EngineOutdated or DriverOutdated unless the engine is this driver's,
        and ReplayError when the engine refuses the processor itself, see claim_batch.
        """
        stop = stop or threading.Event()
        idle, faults, pause = _IDLE_FIRST, 0, _FAULT_FIRST
        try:
            check_installed(self._connection())
            while not stop.is_set():
                try:
                    result = self.step()
                except psycopg.Error as error:
                    if _is_refusal(error):
                        raise
                    faults += self._note_fault(error)
                    if once and faults >= _TRIES_ONCE:
                        raise
                    stop.wait(pause)
                    pause = min(pause * 2, _FAULT_MOST)
                    continue
                faults, pause = 0, _FAULT_FIRST
                if result is not None:
                    self.totals = add(self.totals, result)
                    self._limit = min(self._limit * 2, self._most)
                    idle = _IDLE_FIRST
                elif once:
                    break
                else:
                    stop.wait(idle)
                    idle = min(idle * 2, _IDLE_MOST)
        finally:
            self.close()
        return self.totals

    def step(self) -> BatchResult | None:
        """Process one batch; None when there was nothing to do."""
        conn = self._connection()
        if time.monotonic() >= self._seen_until:
            Replay(conn).report_instance(self.instance)
            self._seen_until = time.monotonic() + _SEEN_EVERY
        self._trial.forget()
        try:
            return process_batch(
                conn,
                self.projection,
                host_id=self.host_id,
                lane=self.lane,
                limit=self._limit,
                budget=self.budget,
                on_claim=self._begin,
                on_complete=self._stuck.check,
            )
        except (Exception, KeyboardInterrupt):
            # SystemExit, and a connection that is gone, are what a trial is about.
            if not conn.closed:
                self._trial.take_back()
            raise

    def close(self) -> None:
        """Close the connection; the next step opens another."""
        if self._conn is not None:
            self._conn.close()
            self._conn = None

    def _connection(self) -> Connection:
        if self._conn is None or self._conn.closed:
            self._conn = self._connect()
            self._trial.reset()
        return self._conn

    def _connect(self) -> Connection:
        # What a pooler's session has prepared is not in the next one.
        return psycopg.connect(
            self.conninfo, autocommit=True, prepare_threshold=None if self.pooled else 5
        )

    def _begin(self, batch: Sequence[ClaimedTransaction]) -> Mapping[int, str]:
        self._claimed = len(batch)
        given_up = self._stuck.begin(batch)
        self._trial.begin(batch)
        return given_up

    def _note_fault(self, error: psycopg.Error) -> int:
        """Be ready for the next try; return how many of those of `once` this one counts for."""
        # Whatever the fault has left the connection in, the next try begins afresh.
        self.close()
        verdict = self._stuck.note(error)
        halved = max(min(self._limit, self._claimed) // 2, 1)
        self._limit = self._most if verdict is Verdict.GIVEN_UP else halved
        note_fault(self._connection, self.projection, error, host_id=self.host_id, lane=self.lane)
        return _COUNTS.get(verdict, 0)


def run_side_by_side(
    processors: Sequence[LiveProcessor],
    *,
    once: bool = False,
    stop: threading.Event | None = None,
) -> BatchResult:
    """Run each in a thread, so that one's handlers run while the server works for another.

    Returns the sum of their counters. When one raises, the others end after the batch in hand.
    """
    stop = stop or threading.Event()

    def run(processor: LiveProcessor) -> BatchResult:
        try:
            return processor.run(once=once, stop=stop)
        except BaseException:
            stop.set()
            raise

    with ThreadPoolExecutor(len(processors) - 1 or 1) as pool:
        others = [pool.submit(run, processor) for processor in processors[1:]]
        # In the caller's own thread, to which signals come.
        total = run(processors[0])
    return reduce(add, (other.result() for other in others), total)


def note_fault(
    connect: Callable[[], Connection],
    projection: Projection,
    error: psycopg.Error,
    *,
    host_id: UUID | None,
    lane: int | None = None,
) -> None:
    """Log that a batch was rolled back whole, and show it in health if the database can."""
    trace(error)
    code = error.sqlstate or type(error).__name__
    log.warning("%s: batch rolled back: %s", projection.name, code)
    try:
        Replay(connect()).report_fault(
            projection.name,
            projection.consumer_group,
            host_id=host_id,
            lane=lane,
            fault_code=code,
        )
    except psycopg.Error as unreported:
        # The database may be what is at fault; the next try will show.
        log.warning("%s: fault not reported: %s", projection.name, type(unreported).__name__)


def _is_refusal(error: psycopg.Error) -> bool:
    """Whether trying again cannot help: the engine said no to the processor, not to a batch, or a
    handler has ended the database transaction of its batch (25P01, BATCH_LOST)."""
    if isinstance(error, psycopg.errors.NoActiveSqlTransaction):
        return True
    waits = ProgressMoved | ArchiveCapacityExceeded
    return isinstance(error, ReplayError) and not isinstance(error, waits)
