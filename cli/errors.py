"""What goes wrong becomes two lines, or a JSON object, and an exit code."""

import json
from dataclasses import asdict, dataclass, field
from typing import Any

import click
import psycopg

from pyreplay.blame import trace
from pyreplay.embedded import EmbeddedError
from pyreplay.errors import (
    DriverOutdated,
    EngineOutdated,
    NotInstalled,
    ReplayError,
    ReplayExecutionUnavailable,
    UnsupportedServer,
)

REFUSED, USAGE, UNREACHABLE, NOT_READY, REPLAY_FAILED, INTERRUPTED = 1, 2, 3, 4, 5, 130

EXIT_CODES = """\b
Exit codes:
    0  done
    1  refused or failed; the error has a name
    2  wrong usage
    3  the server cannot be reached
    4  the engine is not installed here, or not at this driver's version
    5  the replay ended FAILED
  130  interrupted; what was begun can be resumed
"""

# Connection lost, login refused, no such database, server starting or stopping.
NO_SERVER = ("08", "28", "3D", "57P")


@dataclass(frozen=True, slots=True)
class Trouble:
    """An error as it is printed."""

    error: str
    message: str
    exit_code: int = REFUSED
    code: str | None = None
    details: dict[str, Any] = field(default_factory=dict)
    hint: str | None = None

    def report(self, as_json: bool) -> None:
        """Print it on stderr."""
        if as_json:
            shown = {k: v for k, v in asdict(self).items() if k != "exit_code"}
            click.echo(json.dumps(shown, default=str, ensure_ascii=False), err=True)
            return
        click.echo(f"error {self.error}: {self.message}", err=True)
        if self.hint:
            click.echo(f"next: {self.hint}", err=True)


def describe(error: Exception) -> Trouble | None:
    """What to tell about an error; None for what is click's own to tell."""
    match error:
        case click.UsageError():
            usage = error.ctx.command_path + " --help" if error.ctx else "pyreplay --help"
            return Trouble("USAGE", error.format_message(), USAGE, hint=f"See `{usage}`.")
        case ReplayError():
            return Trouble(
                error.name, _message(error), _exit_code(error), error.sqlstate, error.details,
                error.hint,
            )  # fmt: skip
        case EmbeddedError():
            return Trouble("EMBEDDED_SERVER", str(error), UNREACHABLE)
        case psycopg.errors.InsufficientPrivilege():
            return Trouble(
                "NOT_ALLOWED", _message(error), code=error.sqlstate,
                hint="Ask for membership in the replay_ role that this needs; see db/FUNCTIONS.md.",
            )  # fmt: skip
        case psycopg.OperationalError() if (error.sqlstate or "08").startswith(NO_SERVER):
            return Trouble(
                "UNREACHABLE", _message(error), UNREACHABLE, error.sqlstate,
                hint="Look at --dsn, PYREPLAY_DSN or the PG* variables, and whether it runs.",
            )  # fmt: skip
        case psycopg.ProgrammingError() if error.sqlstate is None:
            return Trouble(
                "INVALID_DSN", str(error).strip(), USAGE,
                hint="Look at --dsn, PYREPLAY_DSN or the PG* variables: what libpq takes.",
            )  # fmt: skip
        case psycopg.Error():
            # Its own words may quote a payload: a handler's statement may have raised it.
            trace(error)
            name = type(error).__name__
            return Trouble(
                name, f"the database answered {error.sqlstate or name}", code=error.sqlstate,
                hint="Its log says more; `pyreplay doctor` tells what is wrong with the engine.",
            )  # fmt: skip
        case click.ClickException() | click.exceptions.Exit() | click.Abort():
            return None
        case EOFError() | BrokenPipeError():
            return None
    # Nobody foresaw it, so nobody knows what it quotes.
    trace(error)
    return Trouble(
        type(error).__name__, "nobody foresaw this error",
        hint="PYREPLAY_DEBUG=1 shows its traceback, which may quote payloads; report it.",
    )  # fmt: skip


def _message(error: psycopg.Error) -> str:
    return error.diag.message_primary or str(error).removeprefix("connection is bad: ")


def _exit_code(error: ReplayError) -> int:
    match error:
        case NotInstalled() | EngineOutdated() | DriverOutdated() | UnsupportedServer():
            return NOT_READY
        case ReplayExecutionUnavailable():
            return UNREACHABLE
    return REFUSED
