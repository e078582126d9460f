"""Tracebacks quote values. They go to stderr when PYREPLAY_DEBUG asks for them, and only then."""

from collections.abc import Callable

import psycopg
import pytest
from click.testing import CliRunner, Result

from pyreplay.cli.main import main
from pyreplay.client import Replay
from tests.world import World, fail

SECRET = "secret value 4711"


@pytest.fixture
def debug(monkeypatch: pytest.MonkeyPatch) -> Callable[[bool], None]:
    """Set the variable, or take it away."""

    def switch(on: bool) -> None:
        monkeypatch.delenv("PYREPLAY_DEBUG", raising=False)
        if on:
            monkeypatch.setenv("PYREPLAY_DEBUG", "1")

    return switch


def quote(cursor: psycopg.Cursor) -> None:
    """Trouble in the database whose message quotes a value."""
    cursor.execute("select %s::int", [SECRET])


@pytest.mark.parametrize("trouble", [fail, quote])
def test_a_handlers_traceback_is_shown_when_asked_for_I16(
    world: World,
    debug: Callable[[bool], None],
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
    trouble: Callable[[psycopg.Cursor], None],
) -> None:
    world.trouble |= {"A@1": trouble, "B@1": trouble}
    for on, label in ((False, "A@1"), (True, "B@1")):
        debug(on)
        world.append_each(label)
        assert world.run().failed_count == 1
        told = "".join(capfd.readouterr())
        assert ("Traceback" in told, SECRET in told, f"in {trouble.__name__}" in told) == (on,) * 3
    assert SECRET not in caplog.text


def test_so_is_that_of_a_replay_I16(
    world: World, debug: Callable[[bool], None], capfd: pytest.CaptureFixture[str]
) -> None:
    debug(False)
    world.trouble["A@1"] = fail
    world.append_each("A@1")
    world.run()
    for on in (False, True):
        debug(on)
        assert world.heal().status == "FAILED"
        assert (SECRET in capfd.readouterr().err) == on


@pytest.mark.parametrize(
    ("error", "name"),
    [
        (psycopg.errors.DivisionByZero(SECRET), "DivisionByZero"),
        (RuntimeError(SECRET), "RuntimeError"),
    ],
)
@pytest.mark.parametrize("options", [(), ("--json",)])
def test_so_is_that_of_a_command_I16(
    dsn: str,
    debug: Callable[[bool], None],
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
    name: str,
    options: tuple[str, ...],
) -> None:
    def refuse(self: Replay) -> None:
        raise error

    monkeypatch.setattr(Replay, "get_registry", refuse)

    def run() -> Result:
        return CliRunner().invoke(main, ["--dsn", dsn, *options, "get", "registry"])

    for on in (False, True):
        debug(on)
        told = run()
        assert isinstance(told.exception, SystemExit)
        assert told.exit_code == 1
        assert name in told.stderr
        assert ("Traceback" in told.stderr, SECRET in told.stderr) == (on, on)
        assert SECRET not in told.stdout


def test_an_error_that_nobody_foresaw_names_the_next_step(
    dsn: str, debug: Callable[[bool], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    debug(False)
    monkeypatch.delattr(Replay, "get_registry")
    told = CliRunner().invoke(main, ["--dsn", dsn, "get", "registry"])
    assert told.stderr.startswith("error AttributeError: ")
    assert "next: " in told.stderr
    assert "PYREPLAY_DEBUG" in told.stderr
