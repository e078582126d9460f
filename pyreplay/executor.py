"""The one executor: runs the handlers of whole transactions, live and in a replay alike.

The clean path runs a live batch at once, in one pipeline under one savepoint, or where the handlers
are functions of the database in one call. Only when something fails it is run again, in blocks, so
that the culprit is known and stands alone.
"""

import inspect
import logging
import math
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import Any

import psycopg

from .blame import is_fault_of_batch, report
from .client import Replay
from .cursor import HandlerCursor
from .errors import HandlerContract
from .projection import Event, Handler, Projection, sql_handler
from .records import BatchOutcome, BatchTransaction

log = logging.getLogger(__name__)

Connection = psycopg.Connection[Any]

# Transactions. 500 are 56 blocks then: beyond 64 subtransactions PostgreSQL spills their list, and
# every other snapshot pays for it.
BLOCK = 9
# Seconds: how much longer than the budget that is left a statement's bound may be. To set it costs
# as much as a handler.
_BOUND_FOR = 0.2

_HAS_DEFERRABLE = """
select from pg_constraint
where condeferrable and connamespace <> 'replay'::regnamespace limit 1
"""


_NOBODY: Mapping[int, str] = MappingProxyType({})


class OutOfBudget(psycopg.OperationalError):
    """The deadline of a replay has passed; it is resumed with a budget of its own."""


class Mode(Enum):
    """Telemetry only; a handler never learns it."""

    LIVE = "LIVE"
    REPLAY = "REPLAY"


def execute(
    cursor: HandlerCursor, projection: Projection, transaction: BatchTransaction, mode: Mode
) -> None:
    """Run the handlers of one transaction, all members in order.

    Raises whatever a handler raises, HandlerMissing when one has none, and HandlerContract for one
    whose call only makes a generator or a coroutine.
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
            cursor.running = handler
            event = Event(transaction.host_id, transaction.transaction_id, payload)
            answer = handler(cursor, event)
            if answer is not None and (inspect.isgenerator(answer) or inspect.isawaitable(answer)):
                raise HandlerContract(f"{_name(handler)} is no plain function: it has not run")
    log.debug("%s: %s ran in %s", projection.name, transaction.transaction_id, mode.value)


def runs_in_database(conn: Connection, projection: Projection) -> bool:
    """Whether a batch needs no events here: its handlers are functions of the database, and no
    constraint has to be checked at the end of each transaction."""
    return projection.functions() is not None and not _has_deferrable(conn)


def run_batch(
    conn: Connection,
    projection: Projection,
    batch: Sequence[BatchTransaction],
    mode: Mode,
    *,
    deadline: float,
    given_up: Mapping[int, str] = _NOBODY,
) -> BatchOutcome:
    """Run a claimed batch inside its open database transaction; the caller completes and commits.

    A replay leaves everything behind its first failure alone. deadline: of each statement and
    pause in a replay, by time.monotonic(). given_up: places in the batch that are not to be run,
    each with the code that it fails with.
    Raises what is no transaction's fault (lost connection, deadlock, full disk): roll all back.
    """
    batch = [t for t in batch if t.decision == "APPLY"]
    failures = [{"ord": ord, "error_code": code} for ord, code in given_up.items()]
    if batch and batch[0].payloads is None:
        outcome = _run_in_database(conn, projection, mode, deadline, failures)
        if outcome is not None:
            return outcome
        events = Replay(conn).load_batch(batch[0].xact_id)
        batch = [t for t in events if t.decision == "APPLY"]
    return _Runner(conn, projection, mode, deadline, _has_deferrable(conn), failures).run(batch)


def _run_in_database(
    conn: Connection,
    projection: Projection,
    mode: Mode,
    deadline: float,
    failures: Sequence[dict[str, Any]],
) -> BatchOutcome | None:
    """Run all handlers in one call; None when one was stopped that the call could not catch."""
    if mode is Mode.REPLAY:
        bound_statements(conn, deadline - time.monotonic())
    conn.execute("savepoint batch")
    try:
        return Replay(conn).run_batch(
            projection.functions() or (), failures=failures, first_only=mode is Mode.REPLAY
        )
    except psycopg.Error as error:
        if is_fault_of_batch(error):
            raise
        conn.execute("rollback to savepoint batch")
        return None


def bound_statements(conn: Connection, seconds: float) -> None:
    """Bound every statement, and every pause between two, until the database transaction ends.

    A pause gets a second more: what is cut short must still be rolled back by its own session. A
    process that is killed within a statement lets go of its locks in a second too.
    Raises OutOfBudget when no time is left.
    """
    if seconds <= 0:
        raise OutOfBudget
    conn.execute(
        "select set_config('statement_timeout', %s, true),"
        " set_config('idle_in_transaction_session_timeout', %s, true),"
        " set_config('client_connection_check_interval', '1s', true)",
        (f"{int(seconds * 1000) + 1}ms", f"{int(seconds * 1000) + 1000}ms"),
    )


@dataclass(slots=True)
class _Runner:
    conn: Connection
    projection: Projection
    mode: Mode
    deadline: float
    checks: bool
    failures: list[dict[str, Any]]
    skipped: list[int] = field(default_factory=list)
    upto: int | None = None
    cursor: HandlerCursor = field(init=False)
    running: BatchTransaction = field(init=False)
    bound_at: float = -math.inf

    def run(self, batch: Sequence[BatchTransaction]) -> BatchOutcome:
        """Run all at once; when something fails, again in blocks, so that it stands alone."""
        replay = self.mode is Mode.REPLAY
        if replay or self.failures or not self._goes_well(batch):
            size = len(batch) if replay else BLOCK
            for start in range(0, len(batch), size):
                self._run_block(batch[start : start + size])
        return BatchOutcome(self.failures, self.skipped, self.upto)

    def _goes_well(self, batch: Sequence[BatchTransaction]) -> bool:
        try:
            self._run_together(batch)
        except Exception as error:
            self._undo(error)
            return False
        return True

    def _run_block(self, block: Sequence[BatchTransaction]) -> None:
        """Run transactions again and again, each time without the one that failed."""
        while block := self._left_of(block):
            failure = self._run_or_blame(block)
            if failure is None:
                return
            if self.mode is Mode.REPLAY:
                self.failures, self.upto = [], failure["ord"]
            self.failures.append(failure)

    def _left_of(self, block: Sequence[BatchTransaction]) -> list[BatchTransaction]:
        """What is to run of a block: neither what failed nor what may not run without it."""
        out = {*self.skipped, *(failure["ord"] for failure in self.failures)}
        left = []
        for transaction in block:
            if transaction.ord in out or transaction.ord > (self.upto or transaction.ord):
                continue
            if out.intersection(transaction.follows):
                out.add(transaction.ord)
                self.skipped.append(transaction.ord)
            else:
                left.append(transaction)
        return left

    def _run_or_blame(self, block: Sequence[BatchTransaction]) -> dict[str, Any] | None:
        """Run transactions and keep what they did, or nothing of it and say what failed."""
        try:
            self._run_together(block)
        except Exception as error:
            self._undo(error)
            if not isinstance(error, psycopg.Error):
                return self._report(error)
        else:
            return None
        # An error of the server may be that of any statement before.
        self.conn.execute("savepoint batch")
        for transaction in block:
            try:
                self.cursor = HandlerCursor(self.conn)
                self._run(transaction, checks=True)
            except Exception as error:
                # 25P02 only says that something failed before; a handler may have swallowed what.
                first = self.cursor.first_error or error
                self._undo(first)
                return self._report(first)
        self.conn.execute("release savepoint batch")
        return None

    def _run_together(self, batch: Sequence[BatchTransaction]) -> None:
        """Run transactions that are expected to go well, live ones in one pipeline."""
        # One for all: to set a cursor up costs more than to run a statement on it.
        self.cursor = HandlerCursor(self.conn)
        with self._pipeline():
            self.conn.execute("savepoint batch")
            for transaction in batch:
                self.cursor = self.cursor.as_new()
                try:
                    self._run(transaction, checks=self.checks)
                except Exception as error:
                    # What the server has yet to say of a statement before comes first.
                    if not isinstance(error, psycopg.Error):
                        self.cursor.wait_for_answer()
                    raise
            # Refused when a handler has swallowed an error of the server.
            self.conn.execute("release savepoint batch")

    def _run(self, transaction: BatchTransaction, *, checks: bool) -> None:
        self.running = transaction
        if self.mode is Mode.REPLAY and time.monotonic() - self.bound_at > _BOUND_FOR:
            self.bound_at = time.monotonic()
            bound_statements(self.conn, self.deadline - self.bound_at)
        if checks:
            self.conn.execute("set constraints all deferred")
        execute(self.cursor, self.projection, transaction, self.mode)
        if checks:
            self.conn.execute("set constraints all immediate")

    def _undo(self, error: Exception) -> None:
        """Go back to before; raises the error when it is no transaction's fault."""
        if is_fault_of_batch(error):
            raise error from None
        # With the rollback the bounds are what they were.
        self.bound_at = -math.inf
        self.conn.execute("rollback to savepoint batch; release savepoint batch")

    def _report(self, error: Exception) -> dict[str, Any]:
        handler = self.cursor.running
        name = None if handler is None else _name(handler)
        return {"ord": self.running.ord, **report(error, name)}

    def _pipeline(self) -> AbstractContextManager[Any]:
        # In a pipeline the server takes a stalled handler for busy and would never time it out.
        # Live work has the watchdog for that; a replay's holder must end even when it is frozen.
        return self.conn.pipeline() if self.mode is Mode.LIVE else nullcontext()


def _has_deferrable(conn: Connection) -> bool:
    # For them each transaction takes two statements more.
    return conn.execute(_HAS_DEFERRABLE).fetchone() is not None


def _name(handler: Handler) -> str:
    if isinstance(handler, sql_handler):
        return handler.function
    name = getattr(handler, "__qualname__", type(handler).__name__)
    return f"{getattr(handler, '__module__', '?')}.{name}"
