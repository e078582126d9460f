"""Kill a process, or its database, at every named step: a retry comes to the same end (I1 to I13).

The sample in `make test` is seeded; `make soak` kills five times as often and writes
soak/results.json.
"""

from collections.abc import Callable
from pathlib import Path
from statistics import median

import pytest

from pyreplay.embedded import find_binaries
from tests.crash import DEATHS, RELEASING, STEPS, Kill, Results, holders, open_rig, sample
from tests.schedule import replace_in
from tests.servers import Server, open_server

SEED = 20260101
RESULTS = Path(__file__).parents[1] / "soak/results.json"
# Crash to accepted retry, in seconds.
RECOVERY_MOST = 5.0

Report = Callable[[str], None]


@pytest.fixture
def report(capsys: pytest.CaptureFixture[str]) -> Report:
    """Print a figure, past pytest's capture."""

    def say(text: str) -> None:
        with capsys.disabled():
            print(f"\n{text}")

    return say


@pytest.fixture(scope="session")
def crashing_server() -> Server:
    """A server that tests may stop under everybody."""
    return open_server("crashing", find_binaries())


def play(suite: str, server: Server, kills: list[Kill], results: Results) -> None:
    """Play a round for each kill; a fresh database whenever all steps have been through."""
    for start in range(0, len(kills), len(STEPS)):
        with open_rig(server, stopping=suite == "database") as rig:
            for kill in kills[start : start + len(STEPS)]:
                results.note(suite, kill, *rig.round(kill))


def test_a_killed_process_loses_and_doubles_nothing(server: Server) -> None:
    results = Results()
    play("process", server, sample(len(STEPS), SEED), results)
    assert results.violations == []


def test_a_stopped_database_loses_and_doubles_nothing_X12_L5(crashing_server: Server) -> None:
    results = Results()
    kills = sample(11, SEED) + sample(len(RELEASING), SEED, RELEASING)
    play("database", crashing_server, kills, results)
    assert results.violations == []


def test_a_retry_is_accepted_within_5_seconds_of_the_kill(server: Server, report: Report) -> None:
    results = Results()
    play("holder", server, holders(20), results)
    assert results.violations == []
    times = results.recovery_seconds["holder"]
    report(f"crash to accepted retry: median {median(times):.2f} s, most {max(times):.2f} s of 20")
    assert median(times) < RECOVERY_MOST


@pytest.mark.parametrize(
    "kill",
    [Kill("replay: completed"), Kill("release: released, before commit", holder=DEATHS[1])],
    ids=["retry", "release"],
)
def test_the_harness_finds_that_the_settle_is_forgotten(kill: Kill, server: Server) -> None:
    """Sabotage: what a dead holder left behind is swept away, and nobody woken."""
    forget = "delete from replay.barrier b where b.request_id = p_request.request_id;"
    with open_rig(server, stopping=False) as rig:
        replace_in(rig.world.conn, "_abandon_run", ("begin\n", f"begin\n  {forget}\n"))
        _, wrong = rig.round(kill)
    assert any("nothing wakes it" in violation for violation in wrong)


def test_the_harness_finds_a_release_that_moves_progress(server: Server) -> None:
    """Sabotage of I19: what the dead holder's barriers stand on counts as done."""
    lower = "perform replay._lower_barriers(p_request);"
    move = """
      update replay.progress p set version = p.version + 1
      from replay.barrier b
      where (b.host_id, b.request_id) = (p_request.host_id, p_request.request_id)
        and (p.host_id, p.projection_id, p.scope_type, p.scope_key)
          = (b.host_id, b.projection_id, b.scope_type, b.scope_key);"""
    kill = Kill("release: committed", holder=DEATHS[1])
    with open_rig(server, stopping=False) as rig:
        replace_in(rig.world.conn, "_release", (lower, f"{move}\n  {lower}"))
        with pytest.raises(AssertionError, match="I19"):
            rig.round(kill)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_300_kills_lose_and_double_nothing(
    server: Server, crashing_server: Server, report: Report
) -> None:
    results = Results()
    play("process", server, sample(7 * len(STEPS), SEED + 1), results)
    play("database", crashing_server, sample(3 * len(STEPS), SEED + 2), results)
    play("holder", server, holders(20), results)
    results.write(RESULTS)
    report(RESULTS.read_text())
    assert results.violations == []
    assert sum(sum(steps.values()) for steps in results.kills.values()) >= 300
    assert median(results.recovery_seconds["holder"]) < RECOVERY_MOST
