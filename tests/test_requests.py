"""Two people at one request at once: what a command decides, it decides after its wait."""

from collections.abc import Iterator

import psycopg
import pytest

from pyreplay.client import Replay
from pyreplay.errors import InvalidReplayState, PlanExpired, ReplayExecutionInProgress
from pyreplay.records import RequestStatus
from tests.conftest import Connect
from tests.support import wait_until, wait_until_blocked
from tests.world import HOST, World, aside, fail

pytestmark = pytest.mark.both_servers


@pytest.fixture
def request_status(world: World) -> RequestStatus:
    """An unapproved plan over one failure; alice asked for it."""
    world.trouble = {"A@1": fail}
    world.append_each("A@1")
    world.run()
    return world.plan(approve=False)


@pytest.fixture
def bob(world: World, connect: Connect) -> Iterator[Replay]:
    """Bob, in a transaction that he has not ended yet."""
    world.as_person("bob").conn.close()
    yield Replay(connect(user="bob"))


@pytest.fixture
def carol(world: World) -> Iterator[Replay]:
    """Carol, each call a transaction of its own."""
    person = world.as_person("carol")
    yield person
    person.conn.close()


def test_of_two_approvals_at_once_one_counts(
    world: World, bob: Replay, carol: Replay, request_status: RequestStatus
) -> None:
    named = (HOST, request_status.request_id, request_status.plan_hash)
    bob.approve_request(*named, reason="first")
    with aside(carol.approve_request, *named, reason="second") as second:
        wait_until_blocked(world.conn, carol.conn.info.backend_pid)
        bob.conn.commit()
        with pytest.raises(InvalidReplayState):
            second.result(10)
    assert world.replay.get_request(*named[:2]).approved_by == "bob"


def test_an_execution_waits_for_an_approval_and_goes_on(
    world: World, bob: Replay, carol: Replay, request_status: RequestStatus
) -> None:
    named = (HOST, request_status.request_id, request_status.plan_hash)
    bob.approve_request(*named, reason="looks right")
    with aside(carol.execute_request, *named, reason="go") as execution:
        wait_until_blocked(world.conn, carol.conn.info.backend_pid)
        bob.conn.commit()
        assert execution.result(10).status == "INSTALLING_BARRIER"


def test_an_execution_that_waited_past_the_expiry_is_refused_D12(
    world: World, connect: Connect, carol: Replay, request_status: RequestStatus
) -> None:
    named = (HOST, request_status.request_id, request_status.plan_hash)
    approver = world.as_person("bob")
    approver.approve_request(*named, reason="looks right")
    approver.conn.close()
    holder: psycopg.Connection = connect()
    holder.execute("select from replay.request for no key update")
    with aside(carol.execute_request, *named, reason="go") as execution:
        wait_until_blocked(world.conn, carol.conn.info.backend_pid)
        # The clock of all sessions moves on in the instant in which the lock is let go.
        holder.execute(
            """create or replace function replay._now() returns timestamptz language sql volatile
               return '9999-01-01T00:00:00Z'::timestamptz"""
        )
        holder.commit()
        with pytest.raises(PlanExpired):
            execution.result(10)
    assert world.replay.get_request(*named[:2]).status == "EXPIRED"


def test_a_cancellation_waits_for_nobody(
    bob: Replay, carol: Replay, request_status: RequestStatus
) -> None:
    named = (HOST, request_status.request_id)
    bob.approve_request(*named, request_status.plan_hash, reason="looks right")
    with pytest.raises(ReplayExecutionInProgress) as caught:
        carol.cancel_request(*named, reason="no")
    assert caught.value.details == {
        "request_id": str(request_status.request_id),
        "lease_until": None,
    }
    bob.conn.rollback()
    assert carol.cancel_request(*named, reason="no").status == "CANCELLED"


def test_a_retry_of_an_execution_waits_for_nobody_X16(
    world: World, bob: Replay, carol: Replay, request_status: RequestStatus
) -> None:
    named = (HOST, request_status.request_id, request_status.plan_hash)
    bob.approve_request(*named, reason="looks right")
    bob.conn.commit()
    carol.execute_request(*named, reason="go")
    bob.claim_request(*named)
    bob.conn.commit()
    with pytest.raises(ReplayExecutionInProgress):
        carol.execute_request(*named, reason="go on")
    assert not world.replay.get_request(*named[:2]).retryable
    bob.conn.close()
    wait_until(world.conn, "replay._liveness_holder(%s, %s) is null", named[:2])
    assert carol.execute_request(*named, reason="go on").retryable
