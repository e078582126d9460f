"""Import files of CloudEvents: each transaction whole or not at all, and none of them twice."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
from psycopg.errors import DeadlockDetected
from psycopg.pq import TransactionStatus
from psycopg.rows import scalar_row

from .client import Replay
from .errors import (
    HandlerContract,
    InvalidArgument,
    InvalidData,
    MalformedEvent,
    ReadCommittedRequired,
    RegistryEmpty,
    RegistryStale,
    ReplayError,
    UnknownEventType,
)
from .eventfile import Grouping, Line, Refusal, read_lines
from .records import Transaction
from .validation import load_registry, validate

# A batch of transactions is one COMMIT, and what a crash makes the next import do again. No more
# than append_transactions takes.
BATCH_SIZE = 500
BATCH_BYTES = 8 * 1024 * 1024

# Refusals that are listed; all are counted.
LISTED = 1000

# No fault of a transaction: no other one would fare better.
FATAL = (HandlerContract, ReadCommittedRequired, RegistryEmpty)


@dataclass(slots=True)
class ImportResult:
    """What came of an import, or how far it is. Counts are of transactions but for the lines.

    A line that names no transaction counts as one refused. `byte_count` is the file's size and
    `bytes_read` how much of it is behind. `refusals` holds the first 1,000.
    """

    byte_count: int
    bytes_read: int = 0
    line_count: int = 0
    appended_count: int = 0
    skipped_count: int = 0
    refused_count: int = 0
    refusals: list[Refusal] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"{self.line_count} lines read: {self.appended_count} transactions appended, "
            f"{self.skipped_count} skipped (there already), {self.refused_count} refused"
        )


def import_file(
    conn: psycopg.Connection[Any],
    path: Path,
    progress: Callable[[ImportResult], object] = lambda _: None,
) -> ImportResult:
    """Append the transactions of a file of CloudEvents in JSON lines, plain or gzipped.

    Commits in batches, so `conn` must be between transactions. What was appended before, by these
    very bytes, is skipped: an import that was cut off is simply repeated. `progress` is called
    after each batch with the result so far. Raises InvalidArgument when the file cannot be read,
    RegistryEmpty when nothing is published.
    """
    if conn.info.transaction_status != TransactionStatus.IDLE:
        raise psycopg.ProgrammingError("import commits: give it a connection between transactions")
    return _Import(conn, path, progress).run()


class _Import:
    def __init__(
        self,
        conn: psycopg.Connection[Any],
        path: Path,
        progress: Callable[[ImportResult], object],
    ) -> None:
        self._conn = conn
        self._replay = Replay(conn)
        self._path = path
        self._progress = progress
        self._result = ImportResult(byte_count=_size(path))
        self._load_registry()

    def run(self) -> ImportResult:
        for batch in _batches(self._transactions()):
            self._append_batch(batch)
            self._progress(self._result)
        self._progress(self._result)
        return self._result

    def _load_registry(self) -> None:
        with self._conn.transaction():
            self._registry = load_registry(self._replay)

    def _transactions(self) -> Iterator[list[Line]]:
        grouping = Grouping(self._refuse)
        for number, payload in read_lines(self._path, self._count_bytes):
            self._result.line_count = number
            if lines := grouping.add(number, payload):
                yield lines
        grouping.end()

    def _append_batch(self, batch: list[list[Line]]) -> None:
        now = self._now()
        stored = self._append_all(batch)
        # What is older was there already, and so was what stands in the file twice.
        new = {(one.host_id, one.transaction_id) for one in stored if one.appended_at >= now}
        self._result.appended_count += len(new)
        self._result.skipped_count += len(stored) - len(new)

    def _append_all(self, batch: list[list[Line]]) -> list[Transaction]:
        """What is stored of a batch. Where something is refused it is halved, down to the bad one;
        the order of the file is kept, and each part has a COMMIT of its own."""
        if len(batch) == 1:
            one = self._append_alone(batch[0])
            return [one] if one else []
        try:
            with self._conn.transaction():
                return self._append(batch)
        except FATAL:
            raise
        except (ReplayError, DeadlockDetected):
            half = len(batch) // 2
        return self._append_all(batch[:half]) + self._append_all(batch[half:])

    def _append_alone(self, lines: list[Line]) -> Transaction | None:
        try:
            try:
                with self._conn.transaction():
                    return self._append([lines])[0]
            except (RegistryStale, UnknownEventType, InvalidData):
                self._load_registry()
            with self._conn.transaction():
                return self._append([lines])[0]
        except FATAL:
            raise
        except ReplayError as error:
            ordinal = error.details.get("ordinal", 0)
            self._refuse(lines[ordinal].number, lines[0].event["transactionid"], error)
        return None

    def _append(self, batch: list[list[Line]]) -> list[Transaction]:
        hosts: dict[UUID, list[list[Line]]] = {}
        for lines in batch:
            validate(self._registry, [line.event for line in lines])
            hosts.setdefault(_host_id(lines[0].event["host"]), []).append(lines)
        return [
            one
            for host_id, transactions in hosts.items()
            for one in self._replay.append_transactions(
                host_id,
                [lines[0].event["transactionid"] for lines in transactions],
                [len(lines) for lines in transactions],
                [line.payload for lines in transactions for line in lines],
                self._registry.digest,
            )
        ]

    def _refuse(self, line: int, transaction_id: str | None, error: ReplayError) -> None:
        self._result.refused_count += 1
        if len(self._result.refusals) < LISTED:
            reason = error.diag.message_primary or str(error)
            self._result.refusals.append(Refusal(line, transaction_id, error.name, reason))

    def _count_bytes(self, count: int) -> None:
        self._result.bytes_read = count

    def _now(self) -> datetime:
        """The database's clock: what is appended from now on is not older."""
        with self._conn.transaction(), self._conn.cursor(row_factory=scalar_row) as cursor:
            now = cursor.execute("select clock_timestamp()").fetchone()
        assert isinstance(now, datetime)
        return now


def _batches(transactions: Iterable[list[Line]]) -> Iterator[list[list[Line]]]:
    batch: list[list[Line]] = []
    size = 0
    for lines in transactions:
        batch.append(lines)
        size += sum(len(line.payload) for line in lines)
        if len(batch) >= BATCH_SIZE or size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _host_id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise MalformedEvent('attribute "host" is missing or malformed') from None


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError as error:
        raise InvalidArgument(
            f"{path} cannot be read: {error.strerror}",
            details={"file": str(path)},
            hint="Name a file of CloudEvents in JSON lines, plain or gzipped.",
        ) from error
