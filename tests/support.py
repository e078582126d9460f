"""What tests share: leaving a test out, the clock, and waiting for a lock without sleeping."""

import time
from collections.abc import Sequence
from typing import Any, NoReturn

import psycopg
import pytest


def leave_out(what: str) -> NoReturn:
    """Leave the test out; `what` says what is missing and how to get it."""
    pytest.skip(what)


def freeze(conn: psycopg.Connection, now: str | None) -> None:
    """Stop the engine's clock at `now` for this session; None lets it run again."""
    conn.execute("select set_config('replay.now', %s, false)", (now or "",))


def wait_until_blocked(conn: psycopg.Connection, pid: int, *, seconds: float = 10) -> None:
    """Return once the session `pid` waits for a lock that another session holds."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = conn.execute("select pg_blocking_pids(%s), pg_sleep(0.01)", (pid,)).fetchone()
        if found and found[0]:
            return
    raise AssertionError(f"session {pid} waits for nobody after {seconds} s")


def wait_until(
    conn: psycopg.Connection, query: str, values: Sequence[Any] = (), *, seconds: float = 20
) -> None:
    """Return once the query, asked again and again, answers true; conn must be in autocommit."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = conn.execute(f"select ({query}), pg_sleep(0.01)", values).fetchone()
        if found and found[0]:
            return
    raise AssertionError(f"it never came to be that {query}")
