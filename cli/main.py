"""The root of the command: options that all share, and every command's place."""

import os
import sys
from typing import Any

import click

from . import (
    events,
    execution,
    failures,
    people,
    projections,
    requests,
    retention,
    safety,
    server,
)
from .connection import Session
from .errors import EXIT_CODES, INTERRUPTED, describe
from .logs import log_json
from .output import Output


class Root(click.Group):
    """A group that tells people and programs what went wrong, and what to do next."""

    def invoke(self, ctx: click.Context) -> Any:
        as_json = bool(ctx.params.get("as_json"))
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo("interrupted", err=True)
            ctx.exit(INTERRUPTED)
        except Exception as error:
            trouble = describe(error)
            # click words the usage errors of people better.
            if trouble is None or (isinstance(error, click.ClickException) and not as_json):
                raise
            trouble.report(as_json)
            ctx.exit(trouble.exit_code)


@click.group(cls=Root, epilog=EXIT_CODES, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--dsn",
    envvar="PYREPLAY_DSN",
    show_envvar=True,
    help="The server, as libpq takes it. Without it: what the PG* variables name, or an embedded "
    "server of your own.",
)
@click.option("--as", "actor", metavar="NAME", help="Who acts, on the embedded server.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, errors too.")
@click.version_option(package_name="pyreplay")
@click.pass_context
def main(ctx: click.Context, dsn: str | None, actor: str | None, as_json: bool) -> None:
    """Keep what a projection failed on, hold back what depends on it, and replay it safely."""
    if os.environ.get("PYREPLAY_LOG") == "json":
        log_json()
    # An application is named as if it were imported from here.
    if "" not in sys.path:
        sys.path.insert(0, "")
    ctx.obj = Session(dsn, actor, Output(as_json))


# Groups are verbs, the commands in them nouns.
for module in (
    server,
    events,
    projections,
    failures,
    requests,
    execution,
    safety,
    people,
    retention,
):
    for name, command in module.COMMANDS.items():
        verb, _, noun = name.partition(" ")
        if not noun:
            main.add_command(command, verb)
            continue
        group = main.commands.get(verb)
        if not isinstance(group, click.Group):
            group = click.Group(verb)
            main.add_command(group)
        group.add_command(command, noun)
        group.help = f"{verb.capitalize()} " + " | ".join(group.commands)
