"""The main job as a story: a handler fails on real-looking input, and two people heal it.

`pyreplay demo [FILE]` runs it in a database of its own, which it makes anew each time. It only
calls what any application calls, so it can be read as an example too.
"""

from pathlib import Path
from time import monotonic
from typing import Any, LiteralString
from uuid import UUID, uuid4

from examples.permits import app
from examples.permits.stage import (
    DATABASE,
    Stage,
    events_file,
    new_stage,
    read_events,
    say,
    tell,
)
from pyreplay.append import Appender
from pyreplay.client import Replay
from pyreplay.errors import AggregateProjectionBlocked, ApproverMustDiffer
from pyreplay.execution import execute
from pyreplay.importer import import_file
from pyreplay.live import LiveProcessor
from pyreplay.projection import Projection
from pyreplay.records import FailureSummary, RequestStatus

HERE = Path(__file__).parent
APP = "examples.permits.app"
REASON = "cases without an end date"
RELEASED = "corrected handler released"


def run(dsn: str, file: Path | None = None) -> None:
    """Tell the story on the server of `dsn`, with the events of `file` or generated ones."""
    started = monotonic()
    with new_stage(dsn) as stage, events_file(file) as events:
        declare(stage)
        append(stage, events)
        fail(stage)
        failures = list_failures(stage)
        if failures:
            hold_back(stage, events, failures[0])
        for host_id in dict.fromkeys(failure.host_id for failure in failures):
            heal(stage, host_id, [f.failure_id for f in failures if f.host_id == host_id])
        flow(stage)
        compare(stage)
    tell(
        f"Done in {monotonic() - started:.0f} s. The database is yours to look into until the "
        f"next demo; in psql: \\connect {DATABASE}",
        "pyreplay psql",
    )


def declare(stage: Stage) -> None:
    """Say what the event types are and that there is a projection of them."""
    tell(
        "A projection declares its event types, and is started at the beginning.",
        "pyreplay psql -f examples/permits/schema.sql",
        f"pyreplay publish registry --app {APP}:naive",
        "pyreplay register projection permits",
        "pyreplay start projection permits",
    )
    stage.conn.execute((HERE / "schema.sql").read_text())
    replay = Replay(stage.conn)
    registry = replay.publish_registry(app.naive.entries())
    start(replay, app.naive)
    say(f"Registry version {registry.registry_version}, {len(app.EVENT_TYPES)} event types.")


def start(replay: Replay, projection: Projection) -> None:
    """Register a projection and start it at the beginning."""
    replay.register_projection(projection.name, projection.consumer_group)
    replay.start_projection(projection.name, projection.consumer_group)


def append(stage: Stage, events: Path) -> None:
    """Append whole transactions of events, exact bytes."""
    tell(
        "Events are appended, each transaction whole or not at all.",
        f"pyreplay import {events.name}",
    )
    since = monotonic()
    result = import_file(stage.conn, events)
    if result.refused_count:
        first = result.refusals[0]
        raise SystemExit(f"{events.name}:{first.line}: {first.error}: {first.reason}")
    say(f"{result}.")
    say(f"That took {monotonic() - since:.1f} s.")


def fail(stage: Stage) -> None:
    """Run the naive handler, which believes that every case has an end date."""
    tell(
        "The naive handler runs. It believes that every case has an end date.",
        f"pyreplay run --app {APP}:naive --once",
    )
    result = LiveProcessor(stage.dsn, app.naive).run(once=True)
    say(f"{result.applied_count} transactions applied, {result.failed_count} failed and are kept.")
    say(f"{result.deferred_count} are held back: each failure holds its own case, and no other.")
    say_positions(stage)


def list_failures(stage: Stage) -> list[FailureSummary]:
    """Read the open failures, page after page."""
    tell(
        "What failed is kept, byte for byte, with what can be told about why.",
        "pyreplay --as alice list failures --all",
    )
    failures: list[FailureSummary] = []
    while page := stage.alice.list_failures(
        projection="permits", after=failures[-1].failure_id if failures else None
    ):
        failures += page
    for failure in failures[:3]:
        say(f"{failure.failure_id}  {failure.error_code}  {failure.error_handler}")
    say(f"... {len(failures)} in all.")
    return failures


def hold_back(stage: Stage, events: Path, failure: FailureSummary) -> None:
    """Append to a failed case, then to another one."""
    tell(
        "New events of a failed case are refused; those of all other cases are welcome.",
        "pyreplay import next-step.jsonl",
    )
    detail = stage.alice.get_failure(failure.host_id, failure.failure_id)
    failed = detail.members[0]["aggregate_id"]
    (healthy,) = one_row(
        stage, "select min(case_id) from permits.permit_case where host_id = %s", failure.host_id
    )
    appender = Appender(stage.conn)
    for case_id in filter(None, (failed, healthy)):
        event = next_step(events, case_id)
        try:
            appender.append(failure.host_id, event["transactionid"], [event])
            say(f"{case_id}: appended.")
        except AggregateProjectionBlocked as refusal:
            say(f"{case_id}: refused, {refusal.name}, failure {refusal.details['failure_id']}.")


def next_step(events: Path, case_id: str) -> dict[str, Any]:
    """One more step of a case: its last event again, as the next version."""
    last = [event for event in read_events(events) if event["subject"] == case_id][-1]
    return last | {
        "id": str(uuid4()),
        "aggregateversion": last["aggregateversion"] + 1,
        "transactionid": str(uuid4()),
        "transactioncount": 1,
        "transactionordinal": 0,
    }


def heal(stage: Stage, host_id: UUID, failure_ids: list[UUID]) -> None:
    """Plan, approve and execute the replay of one host's failures."""
    request = plan(stage, host_id, failure_ids)
    approve(stage, request)
    replay(stage, request)
    tell(
        "Everything that happened is on record.",
        f"pyreplay timeline {request.request_id}",
    )
    timeline = stage.alice.get_timeline(host_id, request.request_id)
    attempts = [entry for entry in timeline if entry.kind == "ATTEMPT"]
    for entry in timeline:
        if entry not in attempts[1:-1]:
            say(f"{entry.at:%H:%M:%S}  {entry.actor or '-':8}  {entry.kind:8}  {entry.summary}")
    say(f"Of {len(attempts)} attempts only the first and the last are shown.")


def plan(stage: Stage, host_id: UUID, failure_ids: list[UUID]) -> RequestStatus:
    """Look at what a plan would hold, then make it."""
    tell(
        "The handler is corrected. Alice plans to replay what failed, and only that.",
        f"pyreplay --as alice list failures --host {host_id} --all --ids > ids.txt",
        "pyreplay --as alice preview request --failures ids.txt",
        f"pyreplay --as alice create request --failures ids.txt --reason '{REASON}'",
    )
    preview = stage.alice.preview_request(host_id, "permits", failure_ids=failure_ids)
    say(f"{preview.item_count} failures with {preview.member_count} events,")
    say(f"behind them {preview.waiting_count} transactions that will flow by themselves.")
    request = stage.alice.create_request(host_id, "permits", failure_ids=failure_ids, reason=REASON)
    say(f"Request {request.request_id} is {request.status}.")
    say(f"Plan hash {request.plan_hash.hex()}.")
    return request


def approve(stage: Stage, request: RequestStatus) -> None:
    """Let a second person approve the plan, by its hash."""
    tell(
        "A plan needs a second person, who approves exactly this hash.",
        f"pyreplay --as bob approve request {request.request_id} "
        f"--plan-hash {request.plan_hash.hex()} --reason '{REASON}'",
    )
    key = (request.host_id, request.request_id, request.plan_hash)
    try:
        stage.alice.approve_request(*key, "my own plan")
    except ApproverMustDiffer as refusal:
        say(f"Alice: refused, {refusal.name}.")
    say(f"Bob: the request is {stage.bob.approve_request(*key, REASON).status}.")


def replay(stage: Stage, request: RequestStatus) -> None:
    """Execute the plan with the corrected handler, in this process."""
    tell(
        "Alice executes it: the same events, the corrected handler.",
        f"pyreplay --as alice execute request {request.request_id} --app {APP}:corrected "
        f"--reason '{RELEASED}'",
    )
    key = (request.host_id, request.request_id, request.plan_hash)
    stage.alice.execute_request(*key, RELEASED)
    done = execute(stage.alice.conn, app.corrected, *key)
    say(f"{done.status}: {done.done_count} of {done.item_count} failures resolved.")
    say_positions(stage)


def flow(stage: Stage) -> None:
    """Run the corrected handler live; nobody has to approve what only waited."""
    tell(
        "What waited behind the failures flows by itself.",
        f"pyreplay run --app {APP}:corrected --once",
    )
    LiveProcessor(stage.dsn, app.corrected).run(once=True)
    health = "open_failure_count, deferred_count from replay.health where projection = 'permits'"
    failures, deferred = one_row(stage, f"select {health}")
    say(f"{failures} failures are open, {deferred} transactions wait.")


def compare(stage: Stage) -> None:
    """Project the same events by the corrected handler from the start, and compare."""
    tell(
        "The same events, projected cleanly from the start into a table of their own, agree.",
        "pyreplay register projection permits_clean",
        "pyreplay start projection permits_clean",
        f"pyreplay run --app {APP}:clean --once",
        "pyreplay psql -f examples/permits/checksum.sql",
    )
    start(Replay(stage.conn), app.clean)
    LiveProcessor(stage.dsn, app.clean).run(once=True)
    rows = stage.conn.execute((HERE / "checksum.sql").read_text()).fetchall()
    for read_model, row_count, steps, digest in rows:
        say(f"{read_model:18} {row_count:6} rows {steps:6} steps  {digest}")
    if len({row[1:] for row in rows}) != 1:
        raise AssertionError("the healed projection differs from the clean one")
    say("Equal.")


def say_positions(stage: Stage) -> None:
    """Tell where the projection stands in the outbox of each host."""
    query = """select host_id, last_offset, outbox_offset from replay.projection_lag
               where projection = 'permits' order by outbox_offset desc"""
    for host_id, last_offset, outbox_offset in stage.conn.execute(query):
        say(f"host {host_id}: at {last_offset} of {outbox_offset}")


def one_row(stage: Stage, query: LiteralString, *parameters: object) -> tuple[Any, ...]:
    """The only row of a query."""
    rows: list[tuple[Any, ...]] = stage.conn.execute(query, parameters).fetchall()
    return rows[0]
