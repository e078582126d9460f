"""Handlers that take their process or connection down, and those at which the server itself fails:
they are captured alone, and what is innocent is not."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import Cursor

from pyreplay import live
from pyreplay.trial import Trial
from tests.invariants import check_invariants
from tests.shop import release
from tests.support import wait_until
from tests.world import World, fail, processing, raise_state

CHECKOUT = Path(__file__).parents[1]
CRASHES_MOST = 5

Down = Callable[[Cursor[Any]], object]

# Releases for `--app tests.test_crashing_handlers:...`, which crash on A@1.
exiting = release(lambda _: os._exit(3))
killed = release(lambda _: os.kill(os.getpid(), signal.SIGKILL))
leaving = release(lambda _: sys.exit(3))


@pytest.fixture(autouse=True)
def no_long_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "_FAULT_FIRST", 0.001)
    monkeypatch.setattr(live, "_FAULT_MOST", 0.01)


def supervise(world: World, app: str) -> int:
    """Start the processor again and again until it survives; return how often it did not."""
    command = [
        "-m",
        "pyreplay.cli",
        "run",
        "--once",
        "--app",
        f"tests.test_crashing_handlers:{app}",
    ]
    for crashes in range(CRASHES_MOST + 1):
        done = subprocess.run(
            [sys.executable, *command],
            env={**os.environ, "PYREPLAY_DSN": world.dsn},
            cwd=CHECKOUT,
            capture_output=True,
            check=False,
            timeout=60,
        )
        if done.returncode == 0:
            return crashes
    raise AssertionError(f"it still does not survive: {done.stderr.decode()}")


def captured(world: World) -> list[tuple[str, str]]:
    return sorted((f.transaction_id, f.error_code) for f in world.failures())


@pytest.mark.both_servers
@pytest.mark.parametrize("app", ["exiting", "killed", "leaving"])
def test_I1_I12_what_takes_its_process_down_is_captured_alone(world: World, app: str) -> None:
    """I12: its neighbours are applied, once; what follows it is deferred."""
    world.append_each("C@1", "A@1", "A@2", "D@1")

    assert 0 < supervise(world, app) <= CRASHES_MOST

    assert captured(world) == [("A@1", "HANDLER_CRASHED")]
    assert world.seen() == ["C@1", "D@1"]
    assert world.deferred() == ["A@2"]
    assert world.count("trial") == 0
    check_invariants(world.conn)
    assert world.heal().status == "SUCCEEDED"
    assert world.seen() == ["C@1", "D@1", "A@1", "A@2"]
    assert world.leftovers() == {}


def test_I1_I12_what_was_deferred_is_captured_as_well_when_it_crashes(world: World) -> None:
    """T waits for C@1; woken, it takes its process down."""
    world.append("C@1", "C@1")
    world.append("T", "A@1", "C@2")
    world.trouble = {"C@1": fail, "A@1": raise_state("53100")}
    world.run()
    del world.trouble["C@1"]
    assert world.heal().status == "SUCCEEDED"
    assert world.deferred() == ["T"]
    world.append_each("D@1")

    assert 0 < supervise(world, "exiting") <= CRASHES_MOST

    assert captured(world) == [("T", "HANDLER_CRASHED")]
    assert world.seen() == ["C@1", "D@1"]
    assert world.leftovers() == {}


def kill_own_session(cursor: Cursor[Any]) -> None:
    cursor.execute("select pg_terminate_backend(pg_backend_pid())")


def stall(_: Cursor[Any]) -> None:
    time.sleep(0.7)


@pytest.mark.both_servers
@pytest.mark.parametrize("down", [kill_own_session, stall])
def test_I1_I12_what_takes_its_connection_down_is_captured_in_one_life(
    world: World, down: Down
) -> None:
    """The processor itself lives on: its session is killed, or hung up when the budget is spent."""
    world.append_each("C@1", "A@1", "A@2", "D@1")
    world.trouble["A@1"] = down

    world.run(budget=0.3)

    assert captured(world) == [("A@1", "HANDLER_CRASHED")]
    assert world.seen() == ["C@1", "D@1"]
    assert world.deferred() == ["A@2"]
    assert world.count("trial") == 0
    check_invariants(world.conn)


def test_I1_I12_without_the_mark_it_would_never_end(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sabotage: nobody remembers what was begun."""
    monkeypatch.setattr(Trial, "begin", lambda *_: None)
    world.append_each("A@1", "D@1")
    world.trouble["A@1"] = kill_own_session

    for _ in range(3):
        with pytest.raises(psycopg.OperationalError):
            world.run()

    assert (captured(world), world.seen(), world.position()) == ([], [], 0)


def test_I1_I12_killed_from_outside_a_batch_is_not_captured_wholesale(world: World) -> None:
    """Four times its session is killed while A@1 runs: the other two are never blamed."""
    world.append_each("A@1", "B@1", "C@1")

    def kill(cursor: Cursor[Any]) -> None:
        pid = cursor.connection.info.backend_pid
        world.conn.execute("select pg_terminate_backend(%s, 5000)", (pid,))

    world.trouble["A@1"] = kill
    for _ in range(4):
        processor = world.processor()
        with pytest.raises(psycopg.OperationalError):
            processor.step()
        processor.close()
    world.trouble.clear()

    world.run()

    assert captured(world) == [("A@1", "HANDLER_CRASHED")]
    assert world.seen() == ["B@1", "C@1"]
    assert world.leftovers() == {}


@pytest.mark.parametrize(
    "trouble", [raise_state("53100"), raise_state("57P01")], ids=["disk full", "said to shut down"]
)
def test_I1_I12_a_fault_that_the_connection_survives_is_no_crash(
    world: World, trouble: Down
) -> None:
    world.append_each("A@1", "B@1")
    world.trouble["A@1"] = trouble
    processor = world.processor()
    for _ in range(6):
        with pytest.raises(psycopg.OperationalError):
            processor.step()
        assert world.count("trial") == 0
    processor.close()
    world.trouble.clear()
    assert world.run().applied_count == 2


def test_I1_I12_a_crash_is_not_taken_back_by_a_later_fault(world: World) -> None:
    """After the crash the next claim fails, on a connection that survives that."""
    world.append_each("A@1")
    world.trouble["A@1"] = kill_own_session
    processor = world.processor()
    with pytest.raises(psycopg.OperationalError):
        processor.step()
    world.conn.execute("alter function replay.claim_batch rename to claim_batch_later")
    with pytest.raises(psycopg.errors.UndefinedFunction):
        processor.step()
    processor.close()
    assert world.count("trial") == 1


def test_I1_I12_an_interrupted_batch_is_no_crash(world: World) -> None:
    def interrupt(_: Cursor[Any]) -> None:
        raise KeyboardInterrupt

    world.append_each("A@1")
    world.trouble["A@1"] = interrupt
    processor = world.processor()
    with pytest.raises(KeyboardInterrupt):
        processor.step()
    processor.close()
    assert world.count("trial") == 0


def test_I1_I12_a_processor_that_does_well_stops_marking(world: World) -> None:
    """After ten batches on its connection nothing is written beside them, until something is held
    against a transaction."""
    marked: list[int] = []
    world.append_each(*(f"A@{version}" for version in range(1, 15)))
    for version in range(1, 15):
        world.trouble[f"A@{version}"] = lambda _: marked.append(world.count("trial"))

    processor = world.processor(limit=1)
    for _ in range(12):
        processor.step()
    world.conn.execute(
        "insert into replay.trial select host_id, projection_id, 'A@13', 1 from replay.position"
    )
    processor.step()
    processor.step()
    processor.close()

    assert marked == [1] * 10 + [0] * 2 + [1, 0]
    assert world.leftovers() == {}


# What the server itself fails at


@pytest.mark.both_servers
@pytest.mark.parametrize("code", ["40001", "40P01", "53200", "55P03", "XX000"])
def test_I1_I12_what_the_server_fails_at_is_captured_when_others_pass(
    world: World, code: str
) -> None:
    """I12: after five tries alone it is its transaction's fault."""
    tries: list[str] = []
    raising = raise_state(code)

    def trouble(cursor: Cursor[Any]) -> None:
        tries.append(code)
        raising(cursor)

    world.append_each("A@1", "B@1", "B@2", "C@1")
    world.trouble["B@1"] = trouble

    world.run()

    assert captured(world) == [("B@1", code)]
    assert world.seen() == ["A@1", "C@1"]
    assert world.deferred() == ["B@2"]
    assert world.count("trial") == 0
    assert 5 <= len(tries) <= 9
    check_invariants(world.conn)


@pytest.mark.parametrize("others", [("B@1", "C@1"), ()], ids=["others fail too", "no others"])
def test_I1_I12_while_nothing_passes_nothing_is_captured(
    world: World, others: tuple[str, ...]
) -> None:
    """The position stays, health shows why, and once mended all is applied."""
    world.append_each("A@1", *others)
    world.trouble = dict.fromkeys(("A@1", *others), raise_state("40P01"))

    for _ in range(2):
        with pytest.raises(psycopg.OperationalError) as fault:
            world.run()
        assert fault.value.sqlstate == "40P01"

    assert (captured(world), world.seen(), world.position()) == ([], [], 0)
    faults = world.conn.execute("select fault_code from replay.projection_lag")
    assert faults.fetchone() == ("40P01",)
    assert world.count("trial") == 0
    world.trouble.clear()
    assert world.run().applied_count == 1 + len(others)


def test_I1_I12_what_is_mended_while_it_waits_alone_is_applied(world: World) -> None:
    """Given up and nothing else there to pass, it is tried again."""
    left = 8

    def trouble(cursor: Cursor[Any]) -> None:
        nonlocal left
        left -= 1
        if left:
            raise_state("53200")(cursor)

    world.append_each("A@1")
    world.trouble["A@1"] = trouble
    with processing(world.processor()):
        wait_until(world.conn, "select count(*) = 1 from app.seen")
    assert captured(world) == []


@pytest.mark.parametrize("code", ["08006", "57P01", "53100", "58030"])
def test_I1_I12_what_is_never_a_transactions_fault_does_not_count(world: World, code: str) -> None:
    world.append_each("A@1", "B@1")
    world.trouble["A@1"] = raise_state(code)
    processor = world.processor()
    for _ in range(3):
        with pytest.raises(psycopg.OperationalError):
            processor.run(once=True)
    assert (captured(world), world.seen(), world.position()) == ([], [], 0)
