"""Direct execution: the caller's own thread processes exactly the request it names."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

import psycopg

from .client import Replay
from .errors import (
    LeaseLost,
    PauseTimeout,
    ReplayExecutionUnavailable,
    ScopeBusy,
    StalePlan,
)
from .executor import Mode, Outcome, run_batch
from .live import bound_statements, note_fault, process_batch
from .projection import Projection
from .records import RequestStatus

Connection = psycopg.Connection[Any]
Progress = Callable[[RequestStatus], None]

_CHUNK_MOST = 500
_SCOPES_WAIT = 60.0
_SCOPES_PAUSE = 0.05
ENDED = ("SUCCEEDED", "FAILED")


class _DryRun(Exception):
    """Carries a dry run's outcome out of the database transaction that it rolls back."""

    def __init__(self, outcome: Outcome) -> None:
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

    conn must be in autocommit. items: stop, resumable, after so many. budget: seconds; also the
    lease. What waited behind the items is drained while there is budget.
    KeyboardInterrupt and PauseTimeout leave the request resumable and settled. Raises
    ReplayExecutionUnavailable when the connection is lost (look at the request, then retry),
    LeaseLost when somebody else has claimed it since, and what claim_request raises.
    """
    try:
        status = Replay(conn).claim_request(
            host_id, request_id, plan_hash, budget=timedelta(seconds=budget), pooled=pooled
        )
        run = _Run(conn, projection, status, time.monotonic() + budget, on_progress)
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


@dataclass(slots=True)
class _Run:
    """One claim's work."""

    conn: Connection
    projection: Projection
    status: RequestStatus
    deadline: float
    on_progress: Progress | None

    @property
    def key(self) -> tuple[UUID, UUID, int]:
        return self.status.host_id, self.status.request_id, self.status.fence

    def process(self, items: int | None) -> RequestStatus:
        """Chunk after chunk until the request ends or `items` are done."""
        replay = Replay(self.conn)
        left = self.status.item_count if items is None else items
        size = 1
        try:
            self._settled(replay.settle_items(*self.key))
            while self.status.status not in ENDED and left > 0:
                left -= self._chunk(min(size, left, _CHUNK_MOST))
                size *= 2
        except LeaseLost:
            raise
        except BaseException:
            # Whatever stopped us, no barrier may stand through the pause.
            if not self.conn.closed:
                replay.yield_request(*self.key)
            raise
        if self.status.status not in ENDED:
            self._settled(replay.yield_request(*self.key))
        return self.status

    def drain(self) -> None:
        """Apply what waited behind the items, as live work, while there is budget.

        A fault there is live work's: the replay has succeeded, and live processors go on.
        """
        host_id = self.status.host_id
        try:
            while (left := self.deadline - time.monotonic()) > 0:
                if not process_batch(
                    self.conn, self.projection, host_id=host_id, woken_only=True, budget=left
                ):
                    break
        except psycopg.Error as error:
            note_fault(lambda: self.conn, self.projection, error, host_id=host_id)

    def _chunk(self, size: int) -> int:
        count = self._begin(size)
        failure_code = None
        try:
            self._run_chunk()
        except StalePlan:
            failure_code = "STALE_PLAN"
        self._settled(Replay(self.conn).settle_items(*self.key, failure_code=failure_code))
        return count

    def _begin(self, size: int) -> int:
        patience = min(time.monotonic() + _SCOPES_WAIT, self.deadline)
        while True:
            try:
                return Replay(self.conn).begin_items(*self.key, limit=size)
            except ScopeBusy as busy:
                if time.monotonic() > patience:
                    raise PauseTimeout(
                        "live work kept a scope busy for 60 s; execute the request again"
                    ) from busy
                time.sleep(_SCOPES_PAUSE)

    def _run_chunk(self) -> None:
        replay = Replay(self.conn)
        try:
            with self.conn.transaction():
                bound_statements(self.conn, self.deadline - time.monotonic())
                batch = replay.load_items(*self.key)
                outcome = run_batch(
                    self.conn, self.projection, batch, Mode.REPLAY, stop_at_failure=True
                )
                if self.status.mode == "ROLLBACK_DRY_RUN":
                    raise _DryRun(outcome)
                replay.complete_items(
                    *self.key,
                    batch[0].xact_id,
                    failures=outcome.failures,
                    upto=outcome.upto,
                )
        except _DryRun as dry:
            replay.roll_back_items(*self.key, failures=dry.outcome.failures, upto=dry.outcome.upto)

    def _settled(self, status: RequestStatus) -> None:
        self.status = status
        if self.on_progress is not None:
            self.on_progress(status)
