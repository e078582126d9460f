"""Commands for when execution must stop, or was abandoned."""

import json
import shlex
from typing import Any
from uuid import UUID

import click

from pyreplay.records import PendingAction

from .connection import Session, pass_session
from .lookup import host_of_failure, host_of_request
from .output import Output
from .params import Command, group_option, host_option, reason_option


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


def second_person_options(command: Command) -> Command:
    """--action and --impact, with which another person does what somebody asked for."""
    for option in (
        click.option("--impact", type=Impact(), help="What it showed, as JSON."),
        click.option(
            "--action", "action_id", type=click.UUID, help="What another person asked for."
        ),
    ):
        command = option(command)
    return command


@click.command
@click.argument("request_id", type=click.UUID, metavar="ID")
@host_option
@reason_option
@second_person_options
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
    _check_named(action_id, impact)
    replay = session.open()
    host_id = host_of_request(replay, request_id, host_id)
    action = replay.release_request(host_id, request_id, reason, action_id, impact)
    _show_action(session.out, action, f"release request {request_id}")


@click.command
@click.argument("failure_ids", type=click.UUID, metavar="ID...", nargs=-1, required=True)
@host_option
@reason_option
@second_person_options
@pass_session
def waive_failures(
    session: Session,
    failure_ids: tuple[UUID, ...],
    host_id: UUID | None,
    reason: str,
    action_id: UUID | None,
    impact: dict[str, Any] | None,
) -> None:
    """Give failures without aggregate and graph up for good; takes two people.

    The first call asks. Another person's call with --action and --impact does it.
    """
    _check_named(action_id, impact)
    replay = session.open()
    host_id = host_of_failure(replay, failure_ids[0], host_id)
    action = replay.waive_failures(host_id, failure_ids, reason, action_id, impact)
    _show_action(session.out, action, f"waive failures {' '.join(map(str, failure_ids))}")


@click.command
@click.argument("projection")
@group_option
@reason_option
@second_person_options
@pass_session
def retire_projection(
    session: Session,
    projection: str,
    consumer_group: str,
    reason: str,
    action_id: UUID | None,
    impact: dict[str, Any] | None,
) -> None:
    """Give a paused projection up for good; takes two people.

    The first call asks. Another person's call with --action and --impact does it.
    """
    _check_named(action_id, impact)
    action = session.open().retire_projection(projection, consumer_group, reason, action_id, impact)
    command = f"retire projection {shlex.quote(projection)} --group {shlex.quote(consumer_group)}"
    _show_action(session.out, action, command)


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


@click.command
@click.argument("event_types", metavar="TYPE...", nargs=-1)
@reason_option
@pass_session
def exclude_types(session: Session, event_types: tuple[str, ...], reason: str) -> None:
    """Set which event types are excluded from replay; without TYPE, none is."""
    session.out.record(session.open().exclude_types(event_types, reason))


@click.command
@pass_session
def get_status(session: Session) -> None:
    """Show the settings that hold, and whether each process that is expected has them."""
    status = session.open().get_status()
    session.out.record(status)
    if not status.is_confirmed:
        session.out.say(
            "\nunconfirmed: not every expected instance is known to have these settings"
        )


@click.command
@click.argument("instance_id", metavar="NAME")
@click.option("--no-longer", is_flag=True, help="It is taken out of service.")
@pass_session
def expect_instance(session: Session, instance_id: str, no_longer: bool) -> None:
    """Say that a process of this name is expected to live, see run --instance."""
    session.open().expect_instance(instance_id, not no_longer)
    session.out.say(f"{instance_id} is {'no longer ' if no_longer else ''}expected")


def _check_named(action_id: UUID | None, impact: dict[str, Any] | None) -> None:
    if (action_id is None) != (impact is None):
        raise click.UsageError("--action and --impact go together: name what you were shown")


def _show_action(out: Output, action: PendingAction, command: str) -> None:
    out.record(action)
    if action.status == "AWAITING_APPROVAL":
        impact = shlex.quote(json.dumps(action.impact))
        out.say(
            f"\nnext: somebody else: pyreplay {command} "
            f"--action {action.action_id} --impact {impact} --reason ..."
        )


COMMANDS = {
    "release request": release_request,
    "waive failures": waive_failures,
    "retire projection": retire_projection,
    "pause execution": pause_execution,
    "resume execution": resume_execution,
    "exclude types": exclude_types,
    "get status": get_status,
    "expect instance": expect_instance,
}
