"""Commands on the registry, hosts and projections."""

from uuid import UUID

import click

from pyreplay.projection import Projection
from pyreplay.validation import check_schema

from .connection import Session, pass_session
from .params import app_option, group_option, reason_option

ENTRY_COLUMNS = "event_type event_schema policy repair_disposition side_effects"


@click.command
@app_option
@pass_session
def publish_registry(session: Session, app: Projection) -> None:
    """Publish the event types that an application declares.

    They are added to those published before, or replace them.
    """
    entries = app.entries()
    for entry in entries:
        if entry["data_schema"] is not None:
            check_schema(entry["data_schema"])
    session.out.record(session.open().publish_registry(entries))


@click.command
@pass_session
def get_registry(session: Session) -> None:
    """Show the event types of the current registry version."""
    entries = session.open().get_registry()
    session.out.rows(entries, ENTRY_COLUMNS, "No event types yet. See `publish registry`.")


@click.command
@click.argument("host_id", type=click.UUID)
@click.argument("lane_count", type=click.IntRange(1, 1024))
@pass_session
def set_lanes(session: Session, host_id: UUID, lane_count: int) -> None:
    """Give a host more outbox lanes, so that more processors share its work."""
    session.out.record(session.open().set_lanes(host_id, lane_count))


@click.command
@click.argument("projection")
@group_option
@pass_session
def register_projection(session: Session, projection: str, consumer_group: str) -> None:
    """Make a projection known."""
    session.out.record(session.open().register_projection(projection, consumer_group))


@click.command
@click.argument("projection")
@group_option
@click.option(
    "--at",
    type=click.Choice(["BEGINNING", "NOW"], case_sensitive=False),
    default="BEGINNING",
    show_default=True,
    help="Read everything ever appended, or what is appended from now on. Fixed once.",
)
@pass_session
def start_projection(session: Session, projection: str, consumer_group: str, at: str) -> None:
    """Start a registered projection."""
    session.out.record(session.open().start_projection(projection, consumer_group, at))


@click.command
@click.argument("projection")
@group_option
@reason_option
@pass_session
def pause_projection(session: Session, projection: str, consumer_group: str, reason: str) -> None:
    """Let live processors take no further batch of a projection."""
    session.out.record(session.open().pause_projection(projection, consumer_group, reason))


@click.command
@click.argument("projection")
@group_option
@reason_option
@pass_session
def resume_projection(session: Session, projection: str, consumer_group: str, reason: str) -> None:
    """Let a paused projection go on."""
    session.out.record(session.open().resume_projection(projection, consumer_group, reason))


COMMANDS = {
    "publish registry": publish_registry,
    "get registry": get_registry,
    "set lanes": set_lanes,
    "register projection": register_projection,
    "start projection": start_projection,
    "pause projection": pause_projection,
    "resume projection": resume_projection,
}
