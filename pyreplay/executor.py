"""The one executor: runs the handlers of whole transactions, live and in a replay alike.

The clean path runs a batch at once, in one pipeline under one savepoint. Only when something fails
it is run again, one transaction at a time, so that the culprit is known and stands alone.
"""

import logging
import re
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import psycopg
from psycopg.pq import PipelineStatus

from .blame import HandlerUnsteady, is_fault_of_batch, report
from .errors import HandlerContract
from .projection import Event, Projection
from .records import BatchTransaction

log = logging.getLogger(__name__)

Connection = psycopg.Connection[Any]

# Beyond 64 subtransactions PostgreSQL spills their list, and every other snapshot pays for it.
MAX_SAVEPOINTS = 60

_TRANSACTION_CONTROL = re.compile(
    r"(?:\s|--[^\n]*\n|/\*.*?\*/|;)*"
    r"(?:begin|start|commit|end|rollback|abort|savepoint|release|prepare\s+transaction"
    r"|set\s+(?:local\s+|session\s+)?(?:transaction|characteristics|constraints))\b",
    re.IGNORECASE | re.DOTALL,
)


_HAS_DEFERRABLE = """
select from pg_constraint
where condeferrable and connamespace <> 'replay'::regnamespace limit 1
"""


class Mode(Enum):
    """Telemetry only; a handler never learns it."""

    LIVE = "LIVE"
    REPLAY = "REPLAY"


class HandlerCursor(psycopg.Cursor[Any]):
    """What a handler gets. It refuses transaction control, which is its caller's.

    It remembers the handler that runs on it, and the first error that one met.
    """

    running: str | None = None
    first_error: psycopg.Error | None = None

    def execute(self, query: Any, *args: Any, **kwargs: Any) -> "HandlerCursor":
        self._refuse_control(query)
        with self._first_error(), self._extended_protocol():
            super().execute(query, *args, **kwargs)
        return self

    def executemany(self, query: Any, *args: Any, **kwargs: Any) -> None:
        self._refuse_control(query)
        with self._first_error():
            super().executemany(query, *args, **kwargs)

    @contextmanager
    def _first_error(self) -> Iterator[None]:
        try:
            yield
        except psycopg.Error as error:
            # What the server refused aborts the transaction, whatever the handler makes of it.
            if error.sqlstate is not None:
                self.first_error = self.first_error or error
            raise

    def _extended_protocol(self) -> AbstractContextManager[Any]:
        """In it one call is one statement: nothing hides behind a semicolon. A pipeline speaks it;
        the clean path is in one already."""
        inside = self.connection.pgconn.pipeline_status != PipelineStatus.OFF
        return nullcontext() if inside else self.connection.pipeline()

    def _refuse_control(self, query: Any) -> None:
        text = query.as_string(self) if hasattr(query, "as_string") else query
        text = text.decode() if isinstance(text, bytes) else text
        if _TRANSACTION_CONTROL.match(text):
            raise HandlerContract("a handler must leave transaction control to its caller")


@dataclass(slots=True)
class Outcome:
    """What a batch came to, in the shape complete_batch and complete_items take it."""

    failures: list[dict[str, Any]] = field(default_factory=list)
    skipped: list[int] = field(default_factory=list)
    upto: int | None = None


def execute(
    cursor: HandlerCursor, projection: Projection, transaction: BatchTransaction, mode: Mode
) -> None:
    """Run the handlers of one transaction, all members in order.

    Raises whatever a handler raises, HandlerMissing when one has none.
    """
    members = zip(
        transaction.event_types or (),
        transaction.event_schemas or (),
        transaction.payloads or (),
        strict=True,
    )
    for event_type, event_schema, payload in members:
        handler = projection.handler(event_type, event_schema)
        if handler is not None:
            cursor.running = f"{handler.__module__}.{handler.__qualname__}"
            handler(cursor, Event(transaction.host_id, transaction.transaction_id, payload))
    log.debug("%s: %s ran in %s", projection.name, transaction.transaction_id, mode.value)


def run_batch(
    conn: Connection,
    projection: Projection,
    batch: Sequence[BatchTransaction],
    mode: Mode,
    *,
    stop_at_failure: bool = False,
) -> Outcome:
    """Run a claimed batch inside its open database transaction; the caller completes and commits.

    stop_at_failure: leave everything behind the first failure alone, as a replay does.
    Raises what is no transaction's fault (lost connection, deadlock, full disk): roll all back.
    """
    batch = [t for t in batch if t.decision == "APPLY"]
    try:
        with conn.transaction():
            _run_together(conn, projection, batch, mode)
    except Exception as error:
        if is_fault_of_batch(error):
            raise
        return _Isolation(conn, projection, mode, stop_at_failure).run(batch)
    return Outcome()


def _run_together(
    conn: Connection, projection: Projection, batch: Sequence[BatchTransaction], mode: Mode
) -> None:
    """Run transactions that are expected to go well, in one pipeline."""
    # Two statements a transaction, for nothing where no constraint can be deferred.
    deferrable = conn.execute(_HAS_DEFERRABLE).fetchone() is not None
    with conn.pipeline():
        cursor = HandlerCursor(conn)
        for transaction in batch:
            if deferrable:
                conn.execute("set constraints all deferred")
            execute(cursor, projection, transaction, mode)
            if deferrable:
                conn.execute("set constraints all immediate")


class _Isolation:
    """Runs a batch one by one. Since the last savepoint only transactions that went well are
    uncommitted; a failure goes back to it and runs those again, in one pipeline."""

    def __init__(
        self, conn: Connection, projection: Projection, mode: Mode, stop_at_failure: bool
    ) -> None:
        self.conn = conn
        self.projection = projection
        self.mode = mode
        self.stop_at_failure = stop_at_failure
        self.outcome = Outcome()

    def run(self, batch: Sequence[BatchTransaction]) -> Outcome:
        good: list[BatchTransaction] = []
        out: set[int] = set()
        self.conn.execute("savepoint good")
        for transaction in batch:
            if out.intersection(transaction.follows):
                out.add(transaction.ord)
                self.outcome.skipped.append(transaction.ord)
                continue
            failure = self._try(transaction)
            if failure is None:
                good.append(transaction)
                continue
            out.add(transaction.ord)
            self.outcome.failures.append(failure)
            self._keep(good)
            good = []
            if self.stop_at_failure or len(self.outcome.failures) == MAX_SAVEPOINTS:
                self.outcome.upto = transaction.ord
                break
        return self.outcome

    def _try(self, transaction: BatchTransaction) -> dict[str, Any] | None:
        cursor = HandlerCursor(self.conn)
        try:
            self.conn.execute("set constraints all deferred")
            execute(cursor, self.projection, transaction, self.mode)
            self.conn.execute("set constraints all immediate")
        except Exception as error:
            # 25P02 only says that something failed before; the handler may have swallowed what.
            first = cursor.first_error or error
            if is_fault_of_batch(first):
                raise first from None
            return {"ord": transaction.ord, **report(first, cursor.running)}
        return None

    def _keep(self, good: Sequence[BatchTransaction]) -> None:
        self.conn.execute("rollback to savepoint good")
        self.conn.execute("release savepoint good")
        try:
            _run_together(self.conn, self.projection, good, self.mode)
        except Exception as error:
            if is_fault_of_batch(error):
                raise
            raise HandlerUnsteady from error
        self.conn.execute("savepoint good")
