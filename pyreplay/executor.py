"""The one executor: runs the handlers of whole transactions, live and in a replay alike.

The clean path runs a live batch at once, in one pipeline under one savepoint. Only when something
fails it is run again, one transaction at a time, so that the culprit is known and stands alone.
"""

import inspect
import logging
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import Any

import psycopg

from .blame import HandlerUnsteady, is_fault_of_batch, report
from .cursor import HandlerCursor
from .errors import HandlerContract
from .projection import Event, Handler, Projection
from .records import BatchTransaction

log = logging.getLogger(__name__)

Connection = psycopg.Connection[Any]

# Beyond 64 subtransactions PostgreSQL spills their list, and every other snapshot pays for it.
MAX_SAVEPOINTS = 60

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
            cursor.running = _name(handler)
            event = Event(transaction.host_id, transaction.transaction_id, payload)
            answer = handler(cursor, event)
            if inspect.isgenerator(answer) or inspect.isawaitable(answer):
                raise HandlerContract(f"{cursor.running} is no plain function: it has not run")
    log.debug("%s: %s ran in %s", projection.name, transaction.transaction_id, mode.value)


def run_batch(
    conn: Connection,
    projection: Projection,
    batch: Sequence[BatchTransaction],
    mode: Mode,
    *,
    deadline: float,
    given_up: Mapping[int, str] = _NOBODY,
) -> Outcome:
    """Run a claimed batch inside its open database transaction; the caller completes and commits.

    A replay leaves everything behind its first failure alone. deadline: of each statement and
    pause in a replay, by time.monotonic(). given_up: places in the batch that are not to be run,
    each with the code that it fails with.
    Raises what is no transaction's fault (lost connection, deadlock, full disk): roll all back.
    """
    batch = [t for t in batch if t.decision == "APPLY"]
    # Two statements a transaction, for nothing where no constraint can be deferred.
    checks = conn.execute(_HAS_DEFERRABLE).fetchone() is not None
    runner = _Runner(conn, projection, mode, deadline, checks, given_up)
    if given_up:
        return runner.run_one_by_one(batch)
    conn.execute("savepoint batch")
    try:
        runner.run_together(batch)
        # Refused when a handler has swallowed an error of the server.
        conn.execute("release savepoint batch")
    except Exception as error:
        if is_fault_of_batch(error):
            raise
        conn.execute("rollback to savepoint batch")
        return runner.run_one_by_one(batch)
    return Outcome()


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
    given_up: Mapping[int, str]

    def run_together(self, batch: Sequence[BatchTransaction]) -> None:
        """Run transactions that are expected to go well, live ones in one pipeline."""
        # One for all: to set a cursor up costs more than to run a statement on it.
        cursor = HandlerCursor(self.conn)
        with self._pipeline():
            for transaction in batch:
                cursor = cursor.as_new()
                self._run(cursor, transaction, checks=self.checks)

    def run_one_by_one(self, batch: Sequence[BatchTransaction]) -> Outcome:
        """Run each alone. Behind the last savepoint stand only transactions that went well; a
        failure goes back to it, and those are run again."""
        outcome = Outcome()
        good: list[BatchTransaction] = []
        out: set[int] = set()
        self.conn.execute("savepoint good")
        for transaction in batch:
            if out.intersection(transaction.follows):
                out.add(transaction.ord)
                outcome.skipped.append(transaction.ord)
                continue
            failure = self._try(transaction)
            if failure is None:
                good.append(transaction)
                continue
            out.add(transaction.ord)
            outcome.failures.append(failure)
            self._keep(good)
            good = []
            if self.mode is Mode.REPLAY or len(outcome.failures) == MAX_SAVEPOINTS:
                outcome.upto = transaction.ord
                break
        return outcome

    def _try(self, transaction: BatchTransaction) -> dict[str, Any] | None:
        if transaction.ord in self.given_up:
            return {"ord": transaction.ord, "error_code": self.given_up[transaction.ord]}
        cursor = HandlerCursor(self.conn)
        try:
            self._run(cursor, transaction, checks=True)
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
            self.run_together(good)
            self.conn.execute("savepoint good")
        except Exception as error:
            if is_fault_of_batch(error):
                raise
            raise HandlerUnsteady from error

    def _run(self, cursor: HandlerCursor, transaction: BatchTransaction, *, checks: bool) -> None:
        if self.mode is Mode.REPLAY:
            bound_statements(self.conn, self.deadline - time.monotonic())
        if checks:
            self.conn.execute("set constraints all deferred")
        execute(cursor, self.projection, transaction, self.mode)
        if checks:
            self.conn.execute("set constraints all immediate")

    def _pipeline(self) -> AbstractContextManager[Any]:
        # In a pipeline the server takes a stalled handler for busy and would never time it out.
        # Live work has the watchdog for that; a replay's holder must end even when it is frozen.
        return self.conn.pipeline() if self.mode is Mode.LIVE else nullcontext()


def _name(handler: Handler) -> str:
    name = getattr(handler, "__qualname__", type(handler).__name__)
    return f"{getattr(handler, '__module__', '?')}.{name}"
