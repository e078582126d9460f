"""Commands for when execution must stop, or was abandoned."""

import json
import shlex
from typing import Any
from uuid import UUID

import click

from pyreplay.records import PendingAction

from .connection import Session, pass_session
from .lookup import host_of_request
from .output import Output
from .params import host_option, reason_option


class Impact(click.ParamType[dict[str, Any]]):
    """What an action would do, as the first call printed it."""

    name = "JSON"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> dict[str, Any]:
        if isinstance(value, dict):
            return value
        try:
            found = json.loads(value)
        except ValueError:
            found = None
        if not isinstance(found, dict):
            self.fail(f"{value!r} is no JSON object; copy what the first call printed", param, ctx)
        return found


@click.command
@click.argument("request_id", type=click.UUID, metavar="ID")
@host_option
@reason_option
@click.option("--action", "action_id", type=click.UUID, help="What another person asked for.")
@click.option("--impact", type=Impact(), help="What it showed, as JSON.")
@pass_session
def release_request(
    session: Session,
    request_id: UUID,
    host_id: UUID | None,
    reason: str,
    action_id: UUID | None,
    impact: dict[str, Any] | None,
) -> None:
    """End an execution that nobody will go on with; takes two people.

    The first call asks. Another person's call with --action and --impact does it.
    """
    if (action_id is None) != (impact is None):
        raise click.UsageError("--action and --impact go together: name what you were shown")
    replay = session.open()
    host_id = host_of_request(replay, request_id, host_id)
    action = replay.release_request(host_id, request_id, reason, action_id, impact)
    _show_action(session.out, action)


@click.command
@reason_option
@pass_session
def pause_execution(session: Session, reason: str) -> None:
    """Stop the execution of all replays; a chunk in hand finishes."""
    session.out.record(session.open().pause_execution(reason))


@click.command
@reason_option
@pass_session
def resume_execution(session: Session, reason: str) -> None:
    """Allow executions again; nothing resumes by itself."""
    session.out.record(session.open().resume_execution(reason))


def _show_action(out: Output, action: PendingAction) -> None:
    out.record(action)
    if action.status == "AWAITING_APPROVAL":
        impact = shlex.quote(json.dumps(action.impact))
        out.say(
            f"\nnext: somebody else: pyreplay release request {action.request_id} "
            f"--action {action.action_id} --impact {impact} --reason ..."
        )


COMMANDS = {
    "release request": release_request,
    "pause execution": pause_execution,
    "resume execution": resume_execution,
}
