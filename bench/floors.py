"""The floors: loops without an engine that do the same upserts on the same bytes."""

from collections.abc import Iterator
from datetime import datetime
from itertools import count
from json import loads
from typing import Any
from uuid import UUID

from bench.work import BATCH, Connection, connect
from examples.permits import app

READ = """
select host_id, payload from bench.plain
where transaction_no > %s and transaction_no <= %s
order by transaction_no, ordinal"""


def run_python_loop(dsn: str) -> None:
    """Read, upsert by one cursor in a pipeline, commit: 500 transactions at a time."""
    upsert = app.UPSERT["permit_case_clean"]
    with connect(dsn) as conn:
        cursor = conn.cursor()
        for rows in read(conn):
            with conn.transaction(), conn.pipeline():
                for host_id, payload in rows:
                    cursor.execute(upsert, values(host_id, loads(payload)))


def values(host_id: UUID, event: dict[str, Any]) -> tuple[Any, ...]:
    """The values that app.keep_clean gives to its upsert."""
    data = event["data"]
    deadline = datetime.fromisoformat(data["deadline"])
    days = (deadline - datetime.fromisoformat(event["time"])).days
    end_date = app.read_end_date(data["endDate"])
    return host_id, event["subject"], event["aggregateversion"], data["step"], days, end_date


def run_server_loop(dsn: str) -> None:
    """Read, and hand the same bytes to one call that upserts and commits: 500 transactions each."""
    with connect(dsn) as conn:
        for rows in read(conn):
            batch = b"[" + b",".join(payload for _, payload in rows) + b"]"
            conn.execute("select bench.keep_all(%s::jsonb)", (batch.decode(),))


def read(conn: Connection) -> Iterator[list[tuple[UUID, bytes]]]:
    """The events of 500 transactions after the other."""
    # As text, bytea would cost twice its size.
    cursor = conn.cursor(binary=True)
    for first in count(0, BATCH):
        rows = cursor.execute(READ, (first, first + BATCH)).fetchall()
        if not rows:
            return
        yield rows
