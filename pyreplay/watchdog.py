"""Ends a batch or a chunk whose handler stalls where the server's timeouts do not, see executor."""

import socket
import threading
from types import TracebackType
from typing import Any

import psycopg


class Watchdog:
    """Hangs up the connection when its block has not ended after so many seconds.

    The server then rolls back and lets go of every lock. What runs in the block finds its
    connection lost at its next statement.
    """

    def __init__(self, conn: psycopg.Connection[Any], seconds: float) -> None:
        self._conn = conn
        self._timer = threading.Timer(seconds, self._hang_up)
        self._timer.daemon = True

    def __enter__(self) -> None:
        self._timer.start()

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        self._timer.cancel()

    def _hang_up(self) -> None:
        # Closing would have to wait for the stalled thread; this does not.
        with socket.fromfd(self._conn.fileno(), socket.AF_UNIX, socket.SOCK_STREAM) as wire:
            wire.shutdown(socket.SHUT_RDWR)
