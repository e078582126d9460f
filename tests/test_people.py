"""What happens when things fill up, fail all alike, or two people decide at once."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import timedelta

import psycopg
import pytest
from click.testing import CliRunner

from pyreplay.cli.main import main
from pyreplay.client import Replay
from pyreplay.errors import ArchiveCapacityExceeded, InvalidReplayState, ReplayError
from tests.conftest import Connect
from tests.schedule import replace_in
from tests.support import wait_until, wait_until_blocked
from tests.world import HOST, OTHER_HOST, World, fail

POSITION = """
select p.last_offset from replay.position p join replay.projection x using (projection_id)
where x.projection = 'orders' and p.host_id = %s"""


def position(world: World, host_id: object = HOST) -> int:
    row = world.conn.execute(POSITION, (host_id,)).fetchone()
    return int(row[0]) if row else 0


def fill_until_it_stops(world: World) -> int:
    """Append failing transactions of HOST and healthy ones of the other under load, with room for
    a few; return how many of HOST were appended."""
    world.replay.set_capacity(HOST, 1, 2000)
    stop = threading.Event()
    with closing(world.processor(limit=10)) as processor:
        live = threading.Thread(target=processor.run, kwargs={"stop": stop})
        live.start()
        try:
            for number in range(40):
                world.trouble[f"H{number}@1"] = fail
                world.append_each(f"H{number}@1")
                world.append_each(f"O{number}@1", host_id=OTHER_HOST)
            query = "select count(*) = 40 from app.seen where host_id = %s"
            wait_until(world.conn, query, (OTHER_HOST,), seconds=30)
        finally:
            stop.set()
            live.join()
    return 40


@pytest.mark.both_servers
def test_I17_a_full_source_stops_and_loses_nothing(world: World) -> None:
    appended = fill_until_it_stops(world)
    kept, stood = len(world.failures(host_id=HOST, limit=1000)), position(world)
    # What has been read is kept, and what is not kept was not read.
    assert 0 < kept == stood < appended
    with pytest.raises(ArchiveCapacityExceeded):
        world.run()
    (fault,) = world.conn.execute(
        "select fault_code from replay.projection_lag where host_id = %s", (HOST,)
    ).fetchone() or (None,)
    assert fault == "RP502"
    assert position(world) == stood

    # Replay needs no room; then retention makes some, and the source goes on by itself.
    world.trouble.clear()
    assert world.heal(*world.failures(host_id=HOST)).status == "SUCCEEDED"
    world.replay.remove_payloads(HOST, timedelta(0))
    world.run()
    assert sorted(world.seen()) == sorted(f"H{number}@1" for number in range(appended))
    assert world.failures() == []


def test_I17_sabotage_is_caught(world: World) -> None:
    full = "where a.host_id = p.host_id and a.byte_count >= a.hard_limit"
    for function in ("_claim_positions", "_read_candidates"):
        replace_in(world.conn, function, (full, full + " and false"))
    with pytest.raises(AssertionError):
        test_I17_a_full_source_stops_and_loses_nothing(world)


def fail_alike(world: World, failing: int, healthy: int) -> None:
    for number in range(failing):
        world.trouble[f"M{number}@1"] = fail
    with world.conn.transaction():
        for number in range(max(failing, healthy)):
            if number < failing:
                world.append(f"M{number}@1", f"M{number}@1")
            if number < healthy:
                world.append(f"N{number}@1", f"N{number}@1")


def test_a_projection_on_which_all_fails_alike_pauses_itself(world: World) -> None:
    fail_alike(world, 300, 0)
    result = world.run(limit=50)
    assert result.failed_count == 250
    (status, why) = world.conn.execute(
        "select status, pause_reason from replay.health where projection = 'orders'"
    ).fetchone() or ("", "")
    assert (status, why) == ("PAUSED", "250 of 250 recent transactions failed with ValueError")
    ran = CliRunner().invoke(main, ["--dsn", world.dsn, "doctor"])
    assert "recent transactions failed" in ran.output

    world.trouble.clear()
    world.replay.resume_projection("orders", reason="mended")
    world.run()
    assert len(world.seen()) == 50


def test_a_projection_on_which_a_part_fails_goes_on(world: World) -> None:
    fail_alike(world, 140, 160)
    assert world.run(limit=50).failed_count == 140
    assert world.conn.execute("select status from replay.health").fetchone() == ("RUNNING",)


def test_I8_two_waivers_at_once_are_one(world: World) -> None:
    world.trouble |= {"u1": fail}
    world.append_each("u1")
    world.run()
    ids = [f.failure_id for f in world.failures()]
    alice, bob, carol = (world.as_person(name) for name in ("alice", "bob", "carol"))
    asked = alice.waive_failures(HOST, ids, "known bad")
    assert carol.waive_failures(HOST, ids, "me too").action_id == asked.action_id
    outcomes: list[str] = []

    def decide(person: object) -> None:
        try:
            person.waive_failures(HOST, ids, "yes", asked.action_id, asked.impact)  # type: ignore[attr-defined]
            outcomes.append("DONE")
        except ReplayError as error:
            outcomes.append(error.name)

    threads = [threading.Thread(target=decide, args=(person,)) for person in (bob, carol)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["DONE", "INVALID_REPLAY_STATE"]
    assert [f.status for f in world.failures(status="WAIVED")] == ["WAIVED"]


@pytest.mark.parametrize(
    ("invariant", "function", "old", "new"),
    [
        ("I8", "_decide_action", "v_action.requested_by = replay._actor()", "false"),
        (
            "I19",
            "_waive",
            "begin\n",
            "begin\n  update replay.progress set version = version + 1;\n",
        ),
    ],
)
def test_sabotage_of_a_waiver_is_caught(
    world: World, invariant: str, function: str, old: str, new: str
) -> None:
    world.append_each("A@1")
    replace_in(world.conn, function, (old, new))
    with pytest.raises(AssertionError):
        a_waiver_takes_two_and_moves_no_progress(world)


def a_waiver_takes_two_and_moves_no_progress(world: World) -> None:
    world.trouble |= {"u1": fail}
    world.append_each("u1")
    world.run()
    before = world.conn.execute("select * from replay.progress").fetchall()
    ids = [f.failure_id for f in world.failures()]
    alice, bob = world.as_person("alice"), world.as_person("bob")
    asked = alice.waive_failures(HOST, ids, "known bad")
    try:
        alice.waive_failures(HOST, ids, "mine", asked.action_id, asked.impact)
    except psycopg.Error as error:
        assert error.sqlstate == "RP210"
        bob.waive_failures(HOST, ids, "yes", asked.action_id, asked.impact)
    else:
        raise AssertionError("one person was enough")
    assert world.conn.execute("select * from replay.progress").fetchall() == before


def test_I8_I19_a_waiver_takes_two_people_and_moves_no_progress(world: World) -> None:
    world.append_each("A@1")
    a_waiver_takes_two_and_moves_no_progress(world)


def test_I14_sabotage_is_caught(world: World) -> None:
    """A pause that stops live work, or a resume that executes: both would be seen."""
    from tests.test_safety import (
        test_I14_a_pause_lets_the_chunk_in_hand_finish_and_nothing_resumes_by_itself as check,
    )

    for label in ("A@1", "B@1", "C@1", "A@2"):
        world.trouble[label] = fail
        world.append(label, label)
    world.run()
    world.trouble.clear()
    replace_in(world.conn, "_check_enabled", ("not v_config.enabled", "false"))
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        check(world)


def test_the_fleet_is_confirmed_when_each_expected_process_was_seen(world: World) -> None:
    world.replay.expect_instance("worker-1")

    def status() -> dict[str, object]:
        ran = CliRunner().invoke(main, ["--dsn", world.dsn, "--json", "get", "status"])
        return dict(json.loads(ran.output))

    assert status()["is_confirmed"] is False
    world.run(instance="worker-1")
    assert status()["is_confirmed"] is True
    world.replay.pause_execution("careful")
    assert status()["is_confirmed"] is False
    ran = CliRunner().invoke(main, ["--dsn", world.dsn, "get", "status"])
    assert "unconfirmed" in ran.output


def test_metrics_are_what_prometheus_reads(world: World) -> None:
    world.trouble["A@1"] = fail
    world.append_each("A@1", "A@2", "B@1")
    world.run()
    ran = CliRunner().invoke(main, ["--dsn", world.dsn, "metrics"])
    group = 'consumer_group="default",projection="orders"'
    assert f"replay_open_failures{{{group}}} 1.0\n" in ran.output
    assert '{consumer_group="default",outcome="applied",projection="orders"} 1.0' in ran.output
    assert "# TYPE replay_transactions_total counter\n" in ran.output
    assert "replay_execution_enabled 1.0\n" in ran.output


def test_roles_are_granted_in_the_shell(world: World) -> None:
    world.conn.execute("do $$ begin create role zoe login; exception when others then end $$")
    world.append_each("A@1")

    def run(user: str, *arguments: str) -> tuple[int, str]:
        target = psycopg.conninfo.make_conninfo(world.dsn, user=user)
        ran = CliRunner().invoke(main, ["--dsn", target, *arguments])
        return ran.exit_code, ran.output

    assert run("zoe", "list", "failures")[0] == 1
    assert run("postgres", "grant", "role", "reader", "zoe", "--host", str(HOST))[0] == 0
    assert run("zoe", "list", "failures") == (0, "No failures.\n")
    assert run("zoe", "list", "failures", "--host", str(OTHER_HOST))[0] == 1
    assert run("postgres", "remove", "member", "zoe", "--host", str(HOST))[0] == 0
    assert run("zoe", "list", "failures", "--host", str(HOST))[0] == 1
    code, said = run("postgres", "grant", "role", "reader", "nobody-at-all")
    assert code == 1
    assert "create role" in said


def test_a_projection_that_starts_while_the_outbox_is_pruned_misses_nothing(
    world: World, connect: Connect
) -> None:
    world.append_each("A@1", "A@2")
    world.run()
    world.replay.register_projection("late")
    with connect() as pruning:
        # It has not read anything yet, so nothing goes; once retired, it would.
        assert Replay(pruning).prune_outbox(HOST, timedelta(0)) == 0
        starting = connect(autocommit=True)
        with ThreadPoolExecutor() as pool:
            start = pool.submit(Replay(starting).start_projection, "late")
            wait_until_blocked(world.conn, starting.info.backend_pid)
            pruning.commit()
            assert start.result().status == "RUNNING"
    assert len(world.replay.claim_batch("late")) == 2


def test_a_projection_in_execution_is_not_retired(world: World) -> None:
    world.trouble["A@1"] = fail
    world.append_each("A@1")
    world.run()
    request = world.plan()
    world.replay.execute_request(HOST, request.request_id, request.plan_hash, "go")
    world.replay.pause_projection("orders", reason="to be retired")
    alice, bob = world.as_person("alice"), world.as_person("bob")
    asked = alice.retire_projection("orders", reason="replaced")
    with pytest.raises(InvalidReplayState):
        bob.retire_projection("orders", "default", "yes", asked.action_id, asked.impact)
    assert world.replay.get_request(HOST, request.request_id).status == "INSTALLING_BARRIER"
