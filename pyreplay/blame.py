"""Whose fault an error is, and what of it may be kept."""

import os
import traceback
from pathlib import Path
from typing import Any

import psycopg

from .errors import HandlerContract
from .projection import HandlerMissing, SafeError

# Lost connections, rollbacks by concurrency, resources, locks, operators, system, bugs of the
# server, a read-only server: running the same transaction again may well succeed. The database has
# the same rule for its handlers (_is_fault_of_batch).
_BATCH_CLASSES = {"08", "40", "53", "55", "57", "58", "XX"}
_READ_ONLY = "25006"
_OWN_TIMEOUT = "57014"


def is_fault_of_batch(error: BaseException) -> bool:
    """Whether an error says nothing about the transaction that met it."""
    if not isinstance(error, psycopg.Error):
        return False
    if error.sqlstate is None:
        # psycopg itself: a lost connection, or a handler's misuse of its cursor. PipelineAborted
        # only follows an error that the handler swallowed.
        return isinstance(error, psycopg.OperationalError) and not isinstance(
            error, psycopg.errors.PipelineAborted
        )
    code = error.sqlstate
    return code != _OWN_TIMEOUT and (code[:2] in _BATCH_CLASSES or code == _READ_ONLY)


def report(error: BaseException, handler: str | None) -> dict[str, Any]:
    """What is kept of a failure: nothing that could quote a payload (docs/contract.md).

    Server messages, DETAIL and CONTEXT quote values; a Python exception's text may.
    """
    trace(error)
    kept: dict[str, Any] = {
        "error_code": _code(error),
        "error_handler": handler,
        "error_line": _line(error, handler),
    }
    if isinstance(error, SafeError | HandlerMissing):
        kept["error_text"] = _text(error)
    if isinstance(error, psycopg.Error):
        kept["error_constraint"] = error.diag.constraint_name
        kept["error_table"] = error.diag.table_name
        kept["error_column"] = error.diag.column_name
    return {name: value for name, value in kept.items() if value is not None}


def trace(error: BaseException) -> None:
    """Print the whole traceback, values that it quotes too, on stderr if PYREPLAY_DEBUG is set."""
    if os.environ.get("PYREPLAY_DEBUG"):
        traceback.print_exception(error)


def _text(error: BaseException) -> str | None:
    """The text, as far as the database can hold it."""
    try:
        text = str(error)[:1000]
    except Exception:
        return None
    return text.encode(errors="replace").decode().replace("\0", "")


def _code(error: BaseException) -> str:
    if isinstance(error, HandlerMissing):
        return "HANDLER_MISSING"
    if isinstance(error, HandlerContract):
        return "HANDLER_CONTRACT"
    if isinstance(error, psycopg.Error) and error.sqlstate is not None:
        return "HANDLER_TIMEOUT" if error.sqlstate == _OWN_TIMEOUT else error.sqlstate
    return type(error).__name__


def _line(error: BaseException, handler: str | None) -> str | None:
    """The deepest line of the traceback that stands in the handler's own file."""
    frames = traceback.extract_tb(error.__traceback__)
    name = (handler or "").rsplit(".", 1)[-1]
    files = [f.filename for f in frames if f.name == name]
    own = [f for f in frames if files and f.filename == files[0]]
    return f"{Path(own[-1].filename).name}:{own[-1].lineno}" if own else None
