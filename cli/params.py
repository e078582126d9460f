"""Options and arguments that several commands take."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from pyreplay.projection import Projection, load_app

Command = TypeVar("Command", bound=Callable[..., Any])

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


class App(click.ParamType[Projection]):
    """`module:attribute`, the projection of an application."""

    name = "MODULE:PROJECTION"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Projection:
        if isinstance(value, Projection):
            return value
        try:
            return load_app(value)
        except Exception as error:
            # The application's own code runs while it is imported, and may raise anything.
            kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
            self.fail(f"{value}: {kind}{error}", param, ctx)


class PlanHash(click.ParamType[bytes]):
    """A plan's sha256 in hexadecimal."""

    name = "HASH"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> bytes:
        if isinstance(value, bytes):
            return value
        try:
            found = bytes.fromhex(value.removeprefix("sha256:"))
        except ValueError:
            found = b""
        if len(found) != 32:
            self.fail(f"{value!r} is no sha256: 64 hexadecimal digits", param, ctx)
        return found


def app_option(command: Command) -> Command:
    """--app, the application whose handlers run."""
    return click.option(
        "--app",
        type=App(),
        required=True,
        help="The projection: a module that Python finds from here, a colon, its name there.",
    )(command)


def host_option(command: Command) -> Command:
    """--host, for commands that find it out when it is left out."""
    return click.option(
        "--host", "host_id", type=click.UUID, help="The host; found by the id when left out."
    )(command)


def group_option(command: Command) -> Command:
    """--group, the consumer group."""
    return click.option(
        "--group",
        "consumer_group",
        default="default",
        show_default=True,
        help="The projection's consumer group.",
    )(command)


def reason_option(command: Command) -> Command:
    """--reason, which the audit keeps."""
    return click.option("--reason", required=True, help="Why; kept in the audit.")(command)
