"""Direct execution: the caller's own thread processes exactly the request it names."""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

import psycopg

from .client import Replay
from .errors import (
    InvalidArgument,
    LeaseLost,
    PauseTimeout,
    ReplayExecutionUnavailable,
    ScopeBusy,
    StalePlan,
)
from .executor import Mode, OutOfBudget, bound_statements, run_batch, runs_in_database
from .live import NOTICE_DEATH, note_fault, process_batch
from .projection import Projection
from .records import BatchOutcome, RequestStatus
from .watchdog import Watchdog

log = logging.getLogger(__name__)

Connection = psycopg.Connection[Any]
Progress = Callable[[RequestStatus], None]

_CHUNK_MOST = 500
_SCOPES_WAIT = 60.0
_SCOPES_PAUSE = 0.05
ENDED = ("SUCCEEDED", "FAILED")


# Of the budget, kept for settling and giving the claim back before its lease ends.
_MARGIN = 5.0


class _DryRun(Exception):
    """Carries a dry run's outcome out of the database transaction that it rolls back."""

    def __init__(self, outcome: BatchOutcome) -> None:
        self.outcome = outcome


def execute(
    conn: Connection,
    projection: Projection,
    host_id: UUID,
    request_id: UUID,
    plan_hash: bytes,
    *,
    items: int | None = None,
    budget: float = 1800.0,
    pooled: bool = False,
    on_progress: Progress | None = None,
) -> RequestStatus:
    """Claim and execute a request whose intent is committed; return how it stands.

    conn must be in autocommit. items: stop, resumable, after so many. budget: seconds, after which
    it stops, resumable; also the lease. What waited behind the items is drained while there is
    budget.
    KeyboardInterrupt and PauseTimeout leave the request resumable and settled. Raises
    ReplayExecutionUnavailable when the connection is lost (look at the request, then retry),
    LeaseLost when somebody else has claimed it since, InvalidArgument for a budget of less than
    1 second or more than 1 day, and what require_projection and claim_request raise.
    """
    if not 1 <= budget <= 86400:
        # What no interval can hold never comes to claim_request, which would say the same.
        raise InvalidArgument(
            "a budget must be 1 second to 1 day",
            details={"budget": str(budget)},
            hint="Give between 1 second and 1 day.",
        )
    replay = Replay(conn)
    try:
        require_projection(replay.get_request(host_id, request_id), projection)
        if not pooled:
            # Behind a pooler it would stay with a session that is somebody else's next.
            conn.execute(NOTICE_DEATH)
        status = replay.claim_request(
            host_id, request_id, plan_hash, budget=timedelta(seconds=budget), pooled=pooled
        )
        deadline = time.monotonic() + max(budget - _MARGIN, budget / 2)
        run = _Run(conn, replay, projection, status, deadline, on_progress)
        status = run.process(items)
        if status.status == "SUCCEEDED" and status.mode == "EXECUTE":
            run.drain()
        return status
    except psycopg.OperationalError as error:
        if not conn.closed:
            raise
        raise ReplayExecutionUnavailable(
            "the connection was lost; look at the request, then retry"
        ) from error


def require_projection(request: RequestStatus, projection: Projection) -> None:
    """Raise InvalidArgument unless these are the handlers of the projection that was planned."""
    planned = (request.projection, request.consumer_group)
    if planned != (projection.name, projection.consumer_group):
        raise InvalidArgument(
            f"the plan is of projection {planned[0]!r} ({planned[1]}), the application is of "
            f"{projection.name!r} ({projection.consumer_group})",
            details={"projection": request.projection, "consumer_group": request.consumer_group},
            hint="Name the application whose handlers keep that projection.",
        )


@dataclass(slots=True)
class _Run:
    """One claim's work."""

    conn: Connection
    replay: Replay
    projection: Projection
    status: RequestStatus
    deadline: float
    on_progress: Progress | None

    @property
    def key(self) -> tuple[UUID, UUID, int]:
        return self.status.host_id, self.status.request_id, self.status.fence

    def process(self, items: int | None) -> RequestStatus:
        """Chunk after chunk until the request ends, `items` are done or the budget is."""
        left = self.status.item_count if items is None else items
        size = 1
        try:
            self._settled(self.replay.settle_items(*self.key))
            while self.status.status not in ENDED and left > 0 and self._time_left() > 0:
                left -= self._chunk(min(size, left, _CHUNK_MOST))
                size *= 2
        except LeaseLost:
            raise
        except BaseException:
            # Whatever stopped us, no barrier may stand through the pause.
            if not self.conn.closed:
                self.replay.yield_request(*self.key)
            raise
        if self.status.status not in ENDED:
            self._settled(self.replay.yield_request(*self.key))
        return self.status

    def drain(self) -> None:
        """Apply what waited behind the items, as live work, while there is budget.

        A fault there is live work's: the replay has succeeded, and live processors go on.
        """
        host_id = self.status.host_id
        applied = failed = 0
        try:
            while (left := self._time_left()) > 0:
                done = process_batch(
                    self.conn, self.projection, host_id=host_id, woken_only=True, budget=left
                )
                if not done:
                    break
                applied += done.applied_count + done.drained_count
                failed += done.failed_count
        except psycopg.Error as error:
            note_fault(lambda: self.conn, self.projection, error, host_id=host_id)
        finally:
            # Also of a drain that was interrupted: what it committed has happened.
            if applied or failed:
                self._report_drain(applied, failed)

    def _report_drain(self, applied: int, failed: int) -> None:
        try:
            self.replay.report_drain(*self.key, applied, failed)
        except psycopg.Error as unreported:
            log.warning(
                "%s: drain not reported: %s", self.projection.name, type(unreported).__name__
            )

    def _chunk(self, size: int) -> int:
        count = self._begin(size)
        failure_code = None
        try:
            self._run_chunk()
        except StalePlan:
            failure_code = "STALE_PLAN"
        except OutOfBudget:
            # What it cut short says nothing about its item.
            pass
        self._settled(self.replay.settle_items(*self.key, failure_code=failure_code))
        return count

    def _begin(self, size: int) -> int:
        patience = min(time.monotonic() + _SCOPES_WAIT, self.deadline)
        while True:
            try:
                return self.replay.begin_items(*self.key, limit=size)
            except ScopeBusy as busy:
                if time.monotonic() > patience:
                    raise PauseTimeout(
                        "live work kept a scope busy for 60 s; execute the request again"
                    ) from busy
                time.sleep(_SCOPES_PAUSE)

    def _run_chunk(self) -> None:
        try:
            with self.conn.transaction():
                bound_statements(self.conn, self._time_left())
                batch = self.replay.load_items(
                    *self.key, with_events=not runs_in_database(self.conn, self.projection)
                )
                # A little later than the timeouts, which leave the connection whole.
                with Watchdog(self.conn, self._time_left() + _MARGIN / 2):
                    outcome = run_batch(
                        self.conn, self.projection, batch, Mode.REPLAY, deadline=self.deadline
                    )
                if outcome.failures and self._time_left() <= 0:
                    raise OutOfBudget
                if self.status.mode == "ROLLBACK_DRY_RUN":
                    raise _DryRun(outcome)
                self.replay.complete_items(
                    *self.key,
                    batch[0].xact_id,
                    failures=outcome.failures,
                    upto=outcome.upto,
                )
        except _DryRun as dry:
            self.replay.roll_back_items(
                *self.key, failures=dry.outcome.failures, upto=dry.outcome.upto
            )

    def _time_left(self) -> float:
        return self.deadline - time.monotonic()

    def _settled(self, status: RequestStatus) -> None:
        self.status = status
        if self.on_progress is not None:
            self.on_progress(status)
