"""Append from a service: events as dicts in, one transaction stored."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from uuid import UUID, uuid5

import psycopg
from psycopg.pq import TransactionStatus

from . import canonical
from .client import Replay
from .errors import InvalidData, MalformedEvent, RegistryStale, ReplayError, UnknownEventType
from .records import Transaction
from .validation import LoadedRegistry, load_registry, validate


class Appender:
    """Appends transactions on one connection, whose owner commits.

    It loads the registry once, and again when that turns out to be out of date. `source` is for
    events that name none.
    """

    def __init__(self, conn: psycopg.Connection[Any], source: str = "urn:pyreplay") -> None:
        self._conn = conn
        self._replay = Replay(conn)
        self._source = source
        self._registry: LoadedRegistry | None = None

    def append(
        self, host_id: UUID, transaction_id: str, events: Sequence[Mapping[str, Any]]
    ) -> Transaction:
        """Append one transaction of these CloudEvents, all or nothing; return what is stored.

        Attributes that follow from the call may be left out: specversion, id, source, host,
        transactionid, transactioncount, transactionordinal, and eventschema where it is "1". The
        same call makes the same bytes, so it may be repeated when its answer was lost.
        Raises MalformedEvent, UnknownEventType, InvalidData, RegistryEmpty, and what
        append_transaction raises.
        """
        defaults = {
            "specversion": "1.0",
            "source": self._source,
            "host": str(host_id),
            "transactionid": transaction_id,
            "transactioncount": len(events),
            "eventschema": "1",
        }
        complete = [
            # An id that is not random: a repeated call has to make the same bytes.
            {
                **defaults,
                "id": str(uuid5(host_id, f"{transaction_id}/{ordinal}")),
                "transactionordinal": ordinal,
                **event,
            }
            for ordinal, event in enumerate(events)
        ]
        payloads = [_encode(ordinal, event) for ordinal, event in enumerate(complete)]
        registry = self._validate(complete)
        try:
            with _undone_on_error(self._conn):
                return self._replay.append_transaction(
                    host_id, transaction_id, payloads, registry.digest
                )
        except RegistryStale:
            self._registry = None
        registry = self._validate(complete)
        return self._replay.append_transaction(host_id, transaction_id, payloads, registry.digest)

    def _validate(self, events: Sequence[Mapping[str, Any]]) -> LoadedRegistry:
        """The registry that the events are valid by: the one at hand, else the current one."""
        if self._registry:
            try:
                validate(self._registry, events)
                return self._registry
            except (UnknownEventType, InvalidData):
                self._registry = None
        self._registry = load_registry(self._replay)
        validate(self._registry, events)
        return self._registry


def _encode(ordinal: int, event: Mapping[str, Any]) -> bytes:
    try:
        return canonical.encode(dict(event))
    except ValueError as error:
        raise MalformedEvent(
            f"event {ordinal} cannot be written as JSON: {error}",
            details={"ordinal": ordinal, "attribute": "JSON"},
            hint="Use dicts with text keys, lists, texts, finite numbers, booleans and None.",
        ) from None


@contextmanager
def _undone_on_error(conn: psycopg.Connection[Any]) -> Iterator[None]:
    """Keep the caller's transaction usable when the engine refuses, without ending it."""
    if conn.autocommit and conn.info.transaction_status == TransactionStatus.IDLE:
        yield
        return
    # Not conn.transaction(): as the first statement it would commit, and that is the caller's.
    conn.execute("savepoint pyreplay_append")
    try:
        yield
    except ReplayError:
        conn.execute("rollback to savepoint pyreplay_append")
        conn.execute("release savepoint pyreplay_append")
        raise
    conn.execute("release savepoint pyreplay_append")
