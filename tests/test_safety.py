"""Stopping executions, and ending one that was abandoned."""

import json
import re
import shlex
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from click.testing import CliRunner
from psycopg import Cursor

from pyreplay.cli.main import main
from pyreplay.client import Replay
from pyreplay.errors import LeaseLost, ReplayExecutionPaused
from pyreplay.records import RequestStatus
from tests.conftest import Connect
from tests.world import HOST, World, fail


@pytest.fixture
def failed(world: World) -> World:
    """Three failures, and A@2 waiting behind one."""
    for label in ("A@1", "B@1", "C@1", "A@2"):
        world.trouble[label] = fail
        world.append(label, label)
    world.run()
    world.trouble.clear()
    return world


@pytest.fixture
def abandoned(failed: World, connect: Connect) -> Iterator[tuple[RequestStatus, Replay]]:
    """A request whose holder raised barriers and then stalled; and the holder's client."""
    request = failed.plan()
    failed.replay.execute_request(HOST, request.request_id, request.plan_hash, "go")
    holder = Replay(connect(autocommit=True))
    claimed = holder.claim_request(HOST, request.request_id, request.plan_hash)
    assert holder.begin_items(HOST, request.request_id, claimed.fence) == 3
    yield claimed, holder


def test_I14_a_pause_lets_the_chunk_in_hand_finish_and_nothing_resumes_by_itself(
    failed: World,
) -> None:
    def pause(_cursor: Cursor[Any]) -> None:
        failed.replay.pause_execution("storm")

    failed.trouble["A@1"] = pause
    request = failed.plan()
    with pytest.raises(ReplayExecutionPaused):
        failed.execute(request)
    assert failed.seen() == ["A@1"]
    stopped = failed.replay.get_request(HOST, request.request_id)
    assert (stopped.status, stopped.done_count, stopped.barrier_count) == ("RUNNING", 1, 0)
    assert stopped.retryable

    # Live work goes on, behind the healed failure too.
    failed.trouble.clear()
    failed.run()
    assert failed.seen() == ["A@1", "A@2"]

    failed.replay.resume_execution("over")
    assert failed.replay.get_request(HOST, request.request_id).done_count == 1
    assert failed.execute(request).status == "SUCCEEDED"
    assert failed.seen() == ["A@1", "A@2", "B@1", "C@1"]


@pytest.mark.both_servers
def test_I9_a_released_holder_that_wakes_writes_nothing(
    failed: World, abandoned: tuple[RequestStatus, Replay]
) -> None:
    claimed, holder = abandoned
    key = (HOST, claimed.request_id)
    # As if its machine had gone: the session ends, the barriers stay.
    holder.conn.execute("select pg_advisory_unlock_all()")
    alice, bob = failed.as_person("alice"), failed.as_person("bob")
    asked = alice.release_request(*key, "nobody retries")
    done = bob.release_request(*key, "agreed", asked.action_id, asked.impact)
    assert (done.status, done.decided_by) == ("DONE", "bob")

    with pytest.raises(LeaseLost):
        holder.load_items(*key, claimed.fence)
    with pytest.raises(LeaseLost):
        holder.settle_items(*key, claimed.fence)
    assert failed.leftovers().keys() <= {"deferred", "deferred_scope"}
    assert failed.seen() == []
    assert len(failed.failures()) == 3

    assert failed.heal().status == "SUCCEEDED"
    assert sorted(failed.seen()) == ["A@1", "A@2", "B@1", "C@1"]


def test_release_in_the_shell_prints_what_the_second_person_types(
    failed: World, abandoned: tuple[RequestStatus, Replay], dsn: str
) -> None:
    claimed, holder = abandoned
    holder.conn.close()

    def run(user: str, *arguments: str) -> str:
        target = psycopg.conninfo.make_conninfo(dsn, user=user)
        ran = CliRunner().invoke(main, ["--dsn", target, *arguments])
        assert ran.exit_code == 0, ran.output
        return ran.output

    failed.as_person("alice")
    failed.as_person("bob")
    asked = run("alice", "release", "request", str(claimed.request_id), "--reason", "abandoned")
    step = re.search(r"^next: somebody else: pyreplay (.*) --reason \.\.\.$", asked, re.MULTILINE)
    assert step
    told = run("bob", "--json", *shlex.split(step[1]), "--reason", "agreed")
    assert json.loads(told)["status"] == "DONE"
    assert failed.replay.get_request(HOST, claimed.request_id).failure_code == "RELEASED"
