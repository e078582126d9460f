"""Commands for what is kept: how much there may be, what must stay, what may go."""

from datetime import timedelta
from uuid import UUID

import click

from .connection import Session, pass_session
from .params import group_option, reason_option

required_host = click.option("--host", "host_id", type=click.UUID, required=True, help="The host.")
age_option = click.option(
    "--older-than",
    "days",
    type=click.FloatRange(min=0),
    required=True,
    metavar="DAYS",
    help="Only what has been so for so many days.",
)


@click.command
@required_host
@click.option("--soft", type=click.IntRange(min=0), required=True, help="Bytes; health warns.")
@click.option("--hard", type=click.IntRange(min=0), required=True, help="Bytes; sources stop.")
@pass_session
def set_capacity(session: Session, host_id: UUID, soft: int, hard: int) -> None:
    """Say how many bytes may be kept of the failures of a host."""
    session.out.record(session.open().set_capacity(host_id, soft, hard))


@click.command
@required_host
@click.option("--failure", "failure_id", type=click.UUID, help="Only this one; else all.")
@reason_option
@pass_session
def place_hold(session: Session, host_id: UUID, failure_id: UUID | None, reason: str) -> None:
    """Keep payloads of failures from retention."""
    session.out.record(session.open().place_hold(host_id, reason, failure_id))


@click.command
@click.argument("hold_id", type=click.UUID, metavar="ID")
@required_host
@reason_option
@pass_session
def release_hold(session: Session, hold_id: UUID, host_id: UUID, reason: str) -> None:
    """Release a legal hold."""
    session.out.record(session.open().release_hold(host_id, hold_id, reason))


@click.command
@required_host
@age_option
@pass_session
def remove_payloads(session: Session, host_id: UUID, days: float) -> None:
    """Remove payloads of failures that are not open any more; their digests stay."""
    replay, failures, size = session.open(), 0, 0
    while (removed := replay.remove_payloads(host_id, timedelta(days=days))).failure_count:
        failures += removed.failure_count
        size += removed.byte_count
    session.out.record({"failure_count": failures, "byte_count": size})


@click.command
@required_host
@age_option
@pass_session
def prune_outbox(session: Session, host_id: UUID, days: float) -> None:
    """Remove from the outbox what every projection has read; events stay."""
    replay, rows = session.open(), 0
    while count := replay.prune_outbox(host_id, timedelta(days=days)):
        rows += count
    session.out.record({"row_count": rows})


@click.command
@click.argument("projection")
@group_option
@required_host
@age_option
@pass_session
def prune_ledger(
    session: Session, projection: str, consumer_group: str, host_id: UUID, days: float
) -> None:
    """Forget which unordered transactions were applied; they are evidence if they come again."""
    replay, rows = session.open(), 0
    age = timedelta(days=days)
    while count := replay.prune_ledger(projection, consumer_group, host_id, age):
        rows += count
    session.out.record({"row_count": rows})


COMMANDS = {
    "set capacity": set_capacity,
    "place hold": place_hold,
    "release hold": release_hold,
    "remove payloads": remove_payloads,
    "prune outbox": prune_outbox,
    "prune ledger": prune_ledger,
}
