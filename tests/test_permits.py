"""The main job on the real permit log: 105 cases fail, the rest flows, two people heal it."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from examples.permits import app
from examples.permits.stage import read_events
from pyreplay.append import Appender
from pyreplay.client import Replay
from pyreplay.errors import AggregateProjectionBlocked, ApproverMustDiffer
from pyreplay.execution import execute
from pyreplay.importer import import_file
from pyreplay.live import LiveProcessor
from pyreplay.projection import Projection
from pyreplay.records import FailureSummary, RequestStatus
from tests.conftest import Connect
from tests.servers import Server

EXAMPLE = Path(__file__).parents[1] / "examples/permits"
GENERAL = UUID("a2e7419a-89b6-5230-b684-13842849e0ab")

PERSON = ["replay_reader", "replay_operator", "replay_approver", "replay_processor"]


@pytest.fixture(scope="module")
def permit_log(real_data: Callable[[str], Path]) -> Path:
    return real_data("permit-events.jsonl.gz")


@pytest.fixture(scope="module")
def failed(server: Server, permit_log: Path) -> Iterator[str]:
    """The name of a database in which the naive handler met the whole log."""
    dsn = server.create_database()
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute((EXAMPLE / "schema.sql").read_text())
        Replay(conn).publish_registry(app.naive.entries())
        start(conn, app.naive)
        import_file(conn, permit_log)
    LiveProcessor(dsn, app.naive).run(once=True)
    yield psycopg.conninfo.conninfo_to_dict(dsn)["dbname"]
    server.drop_database(dsn)


@pytest.fixture
def dsn(server: Server, failed: str) -> Iterator[str]:
    """A copy of that database for each test."""
    dsn = server.create_database(template=failed)
    yield dsn
    server.drop_database(dsn)


@pytest.fixture
def conn(connect: Connect) -> psycopg.Connection[Any]:
    return connect(autocommit=True)


def start(conn: psycopg.Connection[Any], projection: Projection) -> None:
    replay = Replay(conn)
    replay.register_projection(projection.name)
    replay.start_projection(projection.name)


def one(conn: psycopg.Connection[Any], query: str) -> Any:
    """The only column of the only row."""
    ((value,),) = conn.execute(query).fetchall()
    return value


def positions(conn: psycopg.Connection[Any], projection: str = "permits") -> list[tuple[Any, ...]]:
    query = """select host_id, lane, last_offset, outbox_offset from replay.projection_lag
               where projection = %s order by host_id, lane"""
    return conn.execute(query, (projection,)).fetchall()


def open_failures(conn: psycopg.Connection[Any]) -> list[FailureSummary]:
    return Replay(conn).list_failures(projection="permits", limit=1000)


def case_of(conn: psycopg.Connection[Any], failure: FailureSummary) -> str:
    detail = Replay(conn).get_failure(failure.host_id, failure.failure_id)
    return str(detail.members[0]["aggregate_id"])


def next_step(permit_log: Path, case_id: str) -> dict[str, Any]:
    """One more step of a case, as the next version."""
    *_, last = (event for event in read_events(permit_log) if event["subject"] == case_id)
    return last | {
        "id": str(uuid4()),
        "aggregateversion": last["aggregateversion"] + 1,
        "transactionid": str(uuid4()),
        "transactioncount": 1,
        "transactionordinal": 0,
    }


def heal(connect_as: Connect, projection: Projection) -> RequestStatus:
    """Alice plans all open failures, Bob approves, Alice executes."""
    alice = Replay(connect_as("alice", PERSON, autocommit=True))
    bob = Replay(connect_as("bob", PERSON, autocommit=True))
    ids = [f.failure_id for f in open_failures(alice.conn)]
    request = alice.create_request(GENERAL, "permits", failure_ids=ids, reason="end dates")
    key = (request.host_id, request.request_id, request.plan_hash)
    bob.approve_request(*key, "looked at it")
    alice.execute_request(*key, "corrected")
    return execute(alice.conn, projection, *key)


def checksums(conn: psycopg.Connection[Any]) -> dict[str, tuple[Any, ...]]:
    rows = conn.execute((EXAMPLE / "checksum.sql").read_text()).fetchall()
    return {row[0]: row[1:] for row in rows}


def test_105_failures_hold_back_210_transactions_and_nothing_else(
    conn: psycopg.Connection[Any],
) -> None:
    """I1, I5, I12: captured or held back, never passed over; 1,329 cases are fully projected."""
    assert one(conn, "select count(*) from replay.open_failure") == 105
    assert one(conn, "select count(*) from replay.deferred") == 210
    assert one(conn, "select count(*) from replay.blocked_scope") == 105
    assert one(conn, "select count(*) from replay.gap") == 0
    assert {f.error_code for f in open_failures(conn)} == {"ValueError"}
    whole = """select count(*) from permits.permit_case c join replay.stream_head h
                 on (h.host_id, h.scope_key) = (c.host_id, 'PermitCase:' || c.case_id)
               where (c.version, c.steps) = (h.version, h.version)"""
    assert one(conn, whole) == one(conn, "select count(*) from permits.permit_case") == 1329
    assert [row[2] - row[3] for row in positions(conn)] == [0, 0, 0]
    assert sum(row[2] for row in positions(conn)) == 4289


def test_a_failed_case_is_blocked_and_others_are_not(
    conn: psycopg.Connection[Any], permit_log: Path
) -> None:
    """I12: AGGREGATE_PROJECTION_BLOCKED names the failure; unrelated cases keep flowing."""
    failure = open_failures(conn)[0]
    appender = Appender(conn)
    blocked = next_step(permit_log, case_of(conn, failure))
    with pytest.raises(AggregateProjectionBlocked) as refusal:
        appender.append(GENERAL, blocked["transactionid"], [blocked])
    assert refusal.value.details["failure_id"] == str(failure.failure_id)
    assert blocked["id"] not in {
        row[0] for row in conn.execute("select event_id from replay.event")
    }

    healthy = conn.execute("select host_id, min(case_id) from permits.permit_case group by host_id")
    for host_id, case_id in healthy.fetchall():
        event = next_step(permit_log, case_id)
        appended = appender.append(host_id, event["transactionid"], [event])
        assert appended.transaction_id == event["transactionid"]


def test_one_approved_plan_heals_all_and_what_waited_flows(
    conn: psycopg.Connection[Any], connect_as: Connect, dsn: str
) -> None:
    """I3, I6, I8, I13: 105 resolved, 210 flow, equal to a clean projection, position unmoved."""
    before = positions(conn)
    healed = heal(connect_as, app.corrected)
    assert (healed.status, healed.item_count, healed.done_count) == ("SUCCEEDED", 105, 105)
    LiveProcessor(dsn, app.corrected).run(once=True)

    assert one(conn, "select count(*) from replay.open_failure") == 0
    assert one(conn, "select count(*) from replay.deferred") == 0
    resolved = (
        "select count(*) from replay.failure where resolution_code = 'RESOLVED_BY_EXACT_REPLAY'"
    )
    assert one(conn, resolved) == 105
    counted = "select sum(drained) from replay.projection_counter where projection = 'permits'"
    assert one(conn, counted) == 210
    assert positions(conn) == before

    start(conn, app.clean)
    LiveProcessor(dsn, app.clean).run(once=True)
    found = checksums(conn)
    assert found["permit_case"] == found["permit_case_clean"]
    assert found["permit_case"][:2] == (1434, 8577)
    assert one(conn, "select count(*) from permits.permit_case where end_date is null") == 105


def test_the_naive_handler_fails_again_and_loses_nothing(
    conn: psycopg.Connection[Any], connect_as: Connect
) -> None:
    """I13: success means that every handler ran; a replay that fails leaves all as it was."""
    before = checksums(conn)
    request = heal(connect_as, app.naive)
    assert (request.status, request.done_count) == ("FAILED", 0)
    assert len(open_failures(conn)) == 105
    assert one(conn, "select count(*) from replay.deferred") == 210
    assert one(conn, "select count(*) from replay.barrier") == 0
    assert checksums(conn) == before


def test_nobody_approves_a_plan_of_their_own(
    conn: psycopg.Connection[Any], connect_as: Connect
) -> None:
    """I8: two people."""
    alice = Replay(connect_as("alice", PERSON, autocommit=True))
    ids = [open_failures(conn)[0].failure_id]
    request = alice.create_request(GENERAL, "permits", failure_ids=ids, reason="end dates")
    with pytest.raises(ApproverMustDiffer):
        alice.approve_request(GENERAL, request.request_id, request.plan_hash, "mine")
    assert alice.get_request(GENERAL, request.request_id).status == "AWAITING_APPROVAL"
