"""Commands on replay requests, all but their execution."""

from typing import Any
from uuid import UUID

import click

from pyreplay.records import RequestPreview, RequestStatus

from .connection import Session, pass_session
from .lookup import host_of_request
from .output import Output
from .params import PlanHash, host_option, reason_option
from .selection import select, selection_options

ITEM_COLUMNS = "item_no failure_id transaction_id error_code"
WAITING_COLUMNS = "scope_type scope_key first_version last_version transaction_count"
STATUS_COLUMNS = "item_no failure_id transaction_id status attempt_count error_code"
REQUEST_COLUMNS = (
    "request_id projection mode status item_count done_count requested_by requested_at"
)
TIMELINE_COLUMNS = "at kind actor fence item_no summary"

# A preview of thousands of items is read as counts and a beginning.
SHOWN = 20

NEXT_STEPS = {
    "READY": "nothing; this plan was made to be looked at",
    "AWAITING_APPROVAL": "somebody else: pyreplay approve request {id} --plan-hash {hash} "
    "--reason ...",
    "APPROVED": "pyreplay execute request {id} --app MODULE:PROJECTION --reason ...",
    "INSTALLING_BARRIER": "pyreplay execute request {id} --app MODULE:PROJECTION --reason ...",
    "RUNNING": "pyreplay execute request {id} --app MODULE:PROJECTION --reason ... (resumes it)",
    "FAILED": "pyreplay list items {id} tells why; mend that, then make a new request",
}


@click.command
@selection_options
@pass_session
def preview_request(session: Session, /, **options: Any) -> None:
    """Show what a plan would hold and what waits behind it; change nothing."""
    replay = session.open()
    preview = replay.preview_request(**select(replay, **options).arguments())
    if session.out.as_json:
        session.out.record(preview)
    else:
        _show_preview(session.out, preview)


@click.command
@selection_options
@click.option(
    "--mode",
    type=click.Choice(["EXECUTE", "VALIDATE_ONLY", "ROLLBACK_DRY_RUN"], case_sensitive=False),
    default="EXECUTE",
    show_default=True,
    help="VALIDATE_ONLY ends as a plan; a dry run rolls back what its handlers did.",
)
@reason_option
@pass_session
def create_request(session: Session, /, mode: str, reason: str, **options: Any) -> None:
    """Make an immutable plan for one projection in one host; somebody else has to approve it.

    Without --json its preview comes first.
    """
    replay = session.open()
    chosen = select(replay, **options).arguments()
    if not session.out.as_json:
        _show_preview(session.out, replay.preview_request(**chosen))
        click.echo()
    show_request(session.out, replay.create_request(**chosen, mode=mode, reason=reason))


@click.command
@click.argument("request_id", type=click.UUID, metavar="ID")
@host_option
@pass_session
def get_request(session: Session, request_id: UUID, host_id: UUID | None) -> None:
    """Show a request: its plan hash, who decided what, and how it stands."""
    replay = session.open()
    host_id = host_of_request(replay, request_id, host_id)
    show_request(session.out, replay.get_request(host_id, request_id))


@click.command
@click.option("--host", "host_id", type=click.UUID, help="Of this host only.")
@click.option("--status", help="In this status only.")
@click.option("--limit", type=click.IntRange(1, 1000), default=100, show_default=True)
@pass_session
def list_requests(session: Session, host_id: UUID | None, status: str | None, limit: int) -> None:
    """List requests, the newest first."""
    status = status.upper() if status else None
    found = session.open().list_requests(host_id, status, limit)
    session.out.rows(found, REQUEST_COLUMNS, "No requests.")


@click.command
@click.argument("request_id", type=click.UUID, metavar="ID")
@host_option
@pass_session
def list_items(session: Session, request_id: UUID, host_id: UUID | None) -> None:
    """List the items of a request, in the order of its plan."""
    replay = session.open()
    host_id = host_of_request(replay, request_id, host_id)
    session.out.rows(replay.list_items(host_id, request_id), STATUS_COLUMNS, "No items.")


@click.command
@click.argument("request_id", type=click.UUID, metavar="ID")
@host_option
@click.option(
    "--plan-hash",
    type=PlanHash(),
    required=True,
    help="Of the plan that you looked at, as `get request` prints it.",
)
@reason_option
@pass_session
def approve_request(
    session: Session, request_id: UUID, host_id: UUID | None, plan_hash: bytes, reason: str
) -> None:
    """Approve a plan that somebody else made."""
    replay = session.open()
    host_id = host_of_request(replay, request_id, host_id)
    show_request(session.out, replay.approve_request(host_id, request_id, plan_hash, reason))


@click.command
@click.argument("request_id", type=click.UUID, metavar="ID")
@host_option
@reason_option
@pass_session
def cancel_request(session: Session, request_id: UUID, host_id: UUID | None, reason: str) -> None:
    """Withdraw a request that was not executed."""
    replay = session.open()
    host_id = host_of_request(replay, request_id, host_id)
    show_request(session.out, replay.cancel_request(host_id, request_id, reason))


@click.command
@click.argument("request_id", type=click.UUID, metavar="ID")
@host_option
@pass_session
def get_timeline(session: Session, request_id: UUID, host_id: UUID | None) -> None:
    """Show everything that happened to a request, the oldest first."""
    replay = session.open()
    host_id = host_of_request(replay, request_id, host_id)
    session.out.rows(replay.get_timeline(host_id, request_id), TIMELINE_COLUMNS, "Nothing yet.")


def show_request(out: Output, request: RequestStatus) -> None:
    """Print a request, and for people what comes next."""
    out.record(request)
    if step := NEXT_STEPS.get(request.status):
        out.say(f"\nnext: {step.format(id=request.request_id, hash=request.plan_hash.hex())}")


def _show_preview(out: Output, preview: RequestPreview) -> None:
    click.echo(
        f"{preview.item_count} items of {preview.projection} ({preview.consumer_group}), "
        f"{preview.member_count} events, {preview.byte_count} bytes"
    )
    out.rows(preview.items[:SHOWN], ITEM_COLUMNS, "No items.")
    if preview.item_count > SHOWN:
        click.echo(f"... and {preview.item_count - SHOWN} more")
    click.echo(f"\nbehind them {preview.waiting_count} deferred transactions wait, and will flow")
    if preview.waiting:
        out.rows(preview.waiting[:SHOWN], WAITING_COLUMNS, "")
    if len(preview.waiting) > SHOWN:
        click.echo(f"... and {len(preview.waiting) - SHOWN} more scopes")


COMMANDS = {
    "preview request": preview_request,
    "create request": create_request,
    "get request": get_request,
    "list requests": list_requests,
    "list items": list_items,
    "approve request": approve_request,
    "cancel request": cancel_request,
    "get timeline": get_timeline,
    "timeline": get_timeline,
}
