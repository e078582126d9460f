"""Releases of one application, for `--app tests.shop:...`; its events are those of tests.world."""

from collections.abc import Callable
from typing import Any

from psycopg import Cursor

from pyreplay.projection import Event, Projection

# A test holds it while it wants the handler of `waiting` to stand still.
GATE = 4711


def release(trouble: Callable[[Cursor[Any]], object] | None = None) -> Projection:
    """The projection `orders`; `trouble` is what its handler does to A@1 and B@1."""
    projection = Projection("orders")

    def handle(cursor: Cursor[Any], event: Event) -> None:
        label = event.data["label"]
        if trouble and label in ("A@1", "B@1"):
            trouble(cursor)
        cursor.execute(
            "insert into app.seen (host_id, transaction_id, event_id, label, payload)"
            " values (%s, %s, %s, %s, %s)",
            (event.host_id, event.transaction_id, event.id, label, event.payload),
        )

    projection.handles("Stepped")(handle)
    projection.handles("Changed", policy="GRAPH_ROOT")(handle)
    projection.handles(
        "Noted", policy="TRANSACTION_ONLY", repair_disposition="NOT_REPAIRABLE_UNORDERED"
    )(handle)
    return projection


def _wait(cursor: Cursor[Any]) -> None:
    cursor.execute("select pg_advisory_xact_lock(%s)", (GATE,))


broken = release(lambda cursor: cursor.execute("select 1/0"))
mended = release()
waiting = release(_wait)
