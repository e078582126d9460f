"""The cursor that handlers get: the same on the clean path, in isolation and in a replay."""

import re
from collections.abc import Callable
from typing import Any, NoReturn

import psycopg
from psycopg._queries import PostgresQuery
from psycopg.pq import Format, PipelineStatus
from psycopg.rows import tuple_row

from .errors import HandlerContract

_REFUSED = re.compile(
    r"(?:\s|--[^\n]*\n|/\*.*?\*/|;)*"
    r"(?:begin|start|commit|end|rollback|abort|savepoint|release|prepare\s+transaction"
    r"|set|reset|discard)\b",
    re.IGNORECASE | re.DOTALL,
)
_SETTING = re.compile(r"\bset_config\s*\(", re.IGNORECASE)

# What psycopg itself asks the connection of a cursor for; all else is its caller's.
_READABLE = frozenset({"adapters", "info", "pgconn", "_adapters", "_encoding"})

# Statements of a pipeline between two looks for answers.
_UNREAD_MOST = 16


class _ConnectionOfCaller:
    """Stands for the connection, which is the executor's: readable, and nothing else."""

    def __init__(self, conn: psycopg.Connection[Any]) -> None:
        object.__setattr__(self, "_conn", conn)

    def __getattr__(self, name: str) -> Any:
        if name not in _READABLE:
            _refuse()
        return getattr(object.__getattribute__(self, "_conn"), name)

    def __setattr__(self, name: str, value: Any) -> None:
        _refuse()


class HandlerCursor(psycopg.Cursor[Any]):
    """A psycopg cursor without transaction control, settings, COPY and the way to its connection.

    It remembers the handler that runs on it, and the first error that the server answered: that
    one aborted the transaction, whatever the handler made of it.
    """

    running: Callable[..., object] | None = None
    first_error: psycopg.Error | None = None
    _converted: PostgresQuery | None = None
    _unread = 0

    def as_new(self) -> "HandlerCursor":
        """This cursor for the next transaction, or another one where a handler closed it or
        changed how it sends and reads values."""
        adapters = self._adapters
        if (
            self._closed
            or self._row_factory is not tuple_row
            or self.format != Format.TEXT
            or any((*adapters._own_dumpers_by_oid, *adapters._own_loaders))
        ):
            return HandlerCursor(self._conn)
        self.running = self.first_error = None
        return self

    @property
    def connection(self) -> Any:
        return _ConnectionOfCaller(self._conn)

    def execute(
        self, query: Any, params: Any = None, *, prepare: bool | None = None, **kwargs: Any
    ) -> "HandlerCursor":
        try:
            if self._conn._pipeline is None and not params:
                self._check(query)
                # One call is one statement there, as it is with values: nothing hides behind a
                # semicolon.
                with self._conn.pipeline():
                    super().execute(query, params, prepare=prepare, **kwargs)
            elif (
                self._conn._pipeline is not None
                and query is self._last_query
                and self._converted is not None
                and isinstance(query, str | bytes)
                and not (params is None or prepare is False or kwargs)
            ):
                self._send_again(params)
            else:
                self._check(query)
                super().execute(query, params, prepare=prepare, **kwargs)
        except psycopg.Error as error:
            self._note(error)
            raise
        return self

    def _send_again(self, params: Any) -> None:
        """Send the statement before with other values. psycopg would make everything anew and look
        for answers behind each, which is half of what sending one costs."""
        pipeline, converted = self._conn._pipeline, self._converted
        assert pipeline is not None and converted is not None
        if self.closed:
            raise psycopg.InterfaceError("the cursor is closed")
        with self._conn.lock:
            self._reset()
            converted.dump(params)
            for _ in self._maybe_prepare_gen(converted):
                """In a pipeline it never waits."""
            self._unread += 1
            if self._unread % _UNREAD_MOST == 0:
                self._conn.wait(pipeline._communicate_gen())

    def executemany(self, query: Any, *args: Any, **kwargs: Any) -> None:
        self._check(query)
        try:
            super().executemany(query, *args, **kwargs)
        except psycopg.Error as error:
            self._note(error)
            raise

    def _convert_query(self, query: Any, params: Any = None) -> PostgresQuery:
        converted = super()._convert_query(query, params)
        # Made without values it can take none later.
        self._converted = None if params is None else converted
        return converted

    def copy(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        """Refused: it does not go through a pipeline. Use executemany."""
        _refuse()

    def stream(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        """Refused: it does not go through a pipeline. Use execute and iterate."""
        _refuse()

    # In a pipeline psycopg lets only the fetching methods wait for the answer.

    @property
    def rowcount(self) -> int:
        self.wait_for_answer()
        return super().rowcount

    @property
    def description(self) -> Any:
        self.wait_for_answer()
        return super().description

    @property
    def statusmessage(self) -> str | None:
        self.wait_for_answer()
        return super().statusmessage

    def wait_for_answer(self) -> None:
        if self._in_pipeline:
            self._fetch_pipeline()

    def _fetch_pipeline(self) -> None:
        # psycopg would be content with any answer, though it may be that of a statement before.
        pipeline = self._conn._pipeline
        if pipeline is None or not pipeline.result_queue:
            return
        try:
            with self._conn.lock:
                # What was sent again may not have left yet.
                self._conn.wait(pipeline._communicate_gen())
                self._conn.wait(pipeline._fetch_gen(flush=True))
        except psycopg.Error as error:
            self._note(error)
            raise

    @property
    def _in_pipeline(self) -> bool:
        return self._conn.pgconn.pipeline_status != PipelineStatus.OFF

    def _note(self, error: psycopg.Error) -> None:
        if error.sqlstate is not None:
            self.first_error = self.first_error or error

    def _check(self, query: Any) -> None:
        text = query.as_string(self) if hasattr(query, "as_string") else query
        text = text.decode() if isinstance(text, bytes) else text
        if _REFUSED.match(text) or _SETTING.search(text):
            _refuse()


def _refuse() -> NoReturn:
    raise HandlerContract(
        "a handler leaves transactions, settings, COPY and the connection to its caller"
    )
