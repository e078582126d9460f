"""The process that tests.crash kills: it processes live, executes or releases, and stops at a step.

It reads its order, one line of JSON. At a step of its own it says so in one line and goes on when
it is sent one more; at a step inside of the database it waits there (tests.schedule).
"""

import json
import sys
from collections.abc import Callable, Collection
from typing import Any
from uuid import UUID

import psycopg
from psycopg import Cursor

from pyreplay import execution, live
from pyreplay.client import Replay
from pyreplay.projection import Event, Projection

# A step in Python: the call behind which it stops.
CALLS: dict[str, tuple[Any, str]] = {
    "live: claimed": (Replay, "claim_batch"),
    "live: handlers ran": (live, "run_batch"),
    "live: completed, before commit": (Replay, "complete_batch"),
    "live: committed": (live.LiveProcessor, "step"),
    "replay: intent committed": (Replay, "execute_request"),
    "replay: claimed": (Replay, "claim_request"),
    "replay: begun": (Replay, "begin_items"),
    "replay: loaded": (Replay, "load_items"),
    "replay: handlers ran": (execution, "run_batch"),
    "replay: completed, before commit": (Replay, "complete_items"),
    "replay: completed": (execution._Run, "_run_chunk"),
    "replay: settled": (Replay, "settle_items"),
    "replay: drained, before commit": (Replay, "complete_batch"),
    "replay: drained": (execution, "process_batch"),
    "replay: finished": (execution, "execute"),
    "release: committed": (Replay, "release_request"),
}


def release(bad: Collection[str]) -> Projection:
    """The projection of tests.world; the handlers of the labels in `bad` fail."""
    projection = Projection("orders")

    def handle(cursor: Cursor[Any], event: Event) -> None:
        label = event.data["label"]
        cursor.execute(
            "insert into app.seen (host_id, transaction_id, event_id, label, payload)"
            " values (%s, %s, %s, %s, %s)",
            (event.host_id, event.transaction_id, event.id, label, event.payload),
        )
        if label in bad:
            raise ValueError(label)

    projection.handles("Stepped")(handle)
    projection.handles("Changed", policy="GRAPH_ROOT")(handle)
    projection.handles(
        "Noted", policy="TRANSACTION_ONLY", repair_disposition="NOT_REPAIRABLE_UNORDERED"
    )(handle)
    return projection


def stop_behind(owner: Any, name: str, nth: int) -> None:
    """Stop behind the nth of the calls of that name."""
    call: Callable[..., Any] = getattr(owner, name)
    left = nth

    def stopping(*arguments: Any, **options: Any) -> Any:
        nonlocal left
        result = call(*arguments, **options)
        left -= 1
        if left == 0:
            print("reached", flush=True)
            sys.stdin.readline()
        return result

    setattr(owner, name, stopping)


def process_live(order: dict[str, Any]) -> None:
    processor = live.LiveProcessor(
        order["dsn"], release(order["bad"]), host_id=UUID(order["host"]), limit=order["limit"]
    )
    processor.run(once=True)


def replay(order: dict[str, Any]) -> None:
    key = UUID(order["host"]), UUID(order["request"]), bytes.fromhex(order["plan_hash"])
    with psycopg.connect(order["dsn"], autocommit=True) as conn:
        Replay(conn).execute_request(*key, reason="go")
        execution.execute(conn, release(order["bad"]), *key)


def release_request(order: dict[str, Any]) -> None:
    key = UUID(order["host"]), UUID(order["request"])
    with psycopg.connect(order["dsn"], autocommit=True) as conn:
        conn.execute(live.NOTICE_DEATH)
        Replay(conn).release_request(*key, "agreed", UUID(order["action"]), order["impact"])


ROLES = {"live": process_live, "replay": replay, "release": release_request}


def main() -> None:
    order = json.loads(sys.stdin.readline() or sys.exit())
    if order["step"] in CALLS:
        stop_behind(*CALLS[order["step"]], order["nth"])
    ROLES[order["role"]](order)


if __name__ == "__main__":
    main()
