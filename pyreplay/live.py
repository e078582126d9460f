"""The live processor: one batch after another, whatever happens to one of them."""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any
from uuid import UUID

import psycopg

from .client import Replay
from .errors import ProgressMoved, ReplayError
from .executor import Mode, bound_statements, run_batch
from .install import check_installed
from .projection import Projection
from .records import BatchResult, BatchTransaction
from .watchdog import Watchdog

log = logging.getLogger(__name__)

Connection = psycopg.Connection[Any]

_IDLE_FIRST, _IDLE_MOST = 0.01, 1.0
_FAULT_FIRST, _FAULT_MOST = 0.1, 5.0
_TRIES_ONCE = 5

# A killed process must let go of its locks at once, not when its next answer fails to send.
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
    on_claim: Callable[[int], None] | None = None,
) -> BatchResult | None:
    """Claim, run and complete one batch in one database transaction; None: nothing to do.

    budget: seconds that the handlers of the batch may take. on_claim gets the size of the batch.
    """
    replay = Replay(conn)
    with conn.transaction():
        bound_statements(conn, budget)
        batch: Sequence[BatchTransaction] = replay.claim_batch(
            projection.name,
            projection.consumer_group,
            host_id=host_id,
            lane=lane,
            limit=limit,
            woken_only=woken_only,
        )
        if not batch:
            return None
        if on_claim is not None:
            on_claim(len(batch))
        with Watchdog(conn, budget):
            outcome = run_batch(
                conn, projection, batch, Mode.LIVE, deadline=time.monotonic() + budget
            )
        return replay.complete_batch(
            batch[0].xact_id,
            failures=outcome.failures,
            skipped=outcome.skipped,
            upto=outcome.upto,
        )


def add(one: BatchResult, other: BatchResult) -> BatchResult:
    """The sum of two batches' counters."""
    return BatchResult(
        *(getattr(one, f.name) + getattr(other, f.name) for f in fields(BatchResult))
    )


class LiveProcessor:
    """Runs one projection on the outbox. Run as many as you like, side by side."""

    def __init__(
        self,
        conninfo: str,
        projection: Projection,
        *,
        host_id: UUID | None = None,
        lane: int | None = None,
        limit: int = 500,
        budget: float = 60.0,
    ) -> None:
        self.conninfo = conninfo
        self.projection = projection
        self.host_id = host_id
        self.lane = lane
        self._most = self._limit = self._claimed = limit
        self.budget = budget
        self.totals = BatchResult(*(0 for _ in fields(BatchResult)))
        self._conn: Connection | None = None

    def run(self, *, once: bool = False, stop: threading.Event | None = None) -> BatchResult:
        """Process until `stop` is set, or with `once` until nothing is left; return the counters.

        A fault of a batch (lost connection, deadlock, full disk, an engine being upgraded) rolls
        it back, halves the next one, waits and tries again; with `once` at most 5 times in a row.
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
                    faults += 1
                    if _is_refusal(error) or (once and faults == _TRIES_ONCE):
                        raise
                    self._note_fault(error)
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
        return process_batch(
            self._connection(),
            self.projection,
            host_id=self.host_id,
            lane=self.lane,
            limit=self._limit,
            budget=self.budget,
            on_claim=self._note_size,
        )

    def close(self) -> None:
        """Close the connection; the next step opens another."""
        if self._conn is not None:
            self._conn.close()
            self._conn = None

    def _connection(self) -> Connection:
        if self._conn is None or self._conn.closed:
            self._conn = psycopg.connect(self.conninfo, autocommit=True)
            self._conn.execute(NOTICE_DEATH)
        return self._conn

    def _note_size(self, size: int) -> None:
        self._claimed = size

    def _note_fault(self, error: psycopg.Error) -> None:
        # Whatever the fault has left the connection in, the next try begins afresh.
        self.close()
        self._limit = max(min(self._limit, self._claimed) // 2, 1)
        note_fault(self._connection, self.projection, error, host_id=self.host_id, lane=self.lane)


def note_fault(
    connect: Callable[[], Connection],
    projection: Projection,
    error: psycopg.Error,
    *,
    host_id: UUID | None,
    lane: int | None = None,
) -> None:
    """Log that a batch was rolled back whole, and show it in health if the database can."""
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
    return isinstance(error, ReplayError) and not isinstance(error, ProgressMoved)
