"""Commands that read failures."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import click

from pyreplay.client import Replay
from pyreplay.records import FailureSummary

from .connection import Session, pass_session
from .lookup import host_of_failure
from .params import host_option

COLUMNS = "failure_id projection transaction_id status error_code captured_at"

PAGE = 1000


@click.command
@click.option("--host", "host_id", type=click.UUID, help="Of this host only.")
@click.option("--projection", help="Of this projection only.")
@click.option("--group", "consumer_group", help="Of this consumer group only.")
@click.option(
    "--status",
    type=click.Choice(["OPEN", "RESOLVED", "WAIVED", "ANY"], case_sensitive=False),
    default="OPEN",
    show_default=True,
)
@click.option("--error-code", help="SQLSTATE, exception class or HANDLER_...")
@click.option("--scope", nargs=2, metavar="TYPE KEY", help="In this scope, as AGGREGATE permit:7.")
@click.option("--after", type=click.UUID, metavar="ID", help="Behind this failure.")
@click.option("--limit", type=click.IntRange(1, PAGE), default=100, show_default=True)
@click.option("--all", "everything", is_flag=True, help="Page through all of them.")
@click.option("--ids", is_flag=True, help="Print ids only, as `create request --failures` reads.")
@pass_session
def list_failures(
    session: Session,
    /,
    scope: tuple[str, str] | None,
    status: str,
    limit: int,
    everything: bool,
    ids: bool,
    **filters: Any,
) -> None:
    """List failures, the oldest first."""
    filters["status"] = None if status == "ANY" else status
    if scope:
        filters["scope_type"], filters["scope_key"] = scope
    replay = session.open()
    found = iter_failures(replay, **filters) if everything else None
    page = [] if found else replay.list_failures(**filters, limit=limit)
    if ids:
        for failure in found or page:
            click.echo(failure.failure_id)
        return
    session.out.rows(found or page, COLUMNS, "No failures.")
    if len(page) == limit:
        session.out.say(f"next page: --after {page[-1].failure_id}, or --all")


def iter_failures(replay: Replay, after: UUID | None, **filters: Any) -> Iterator[FailureSummary]:
    """Failures page by page."""
    while page := replay.list_failures(**filters, after=after, limit=PAGE):
        yield from page
        after = page[-1].failure_id


@click.command
@click.argument("failure_id", type=click.UUID, metavar="ID")
@host_option
@pass_session
def get_failure(session: Session, failure_id: UUID, host_id: UUID | None) -> None:
    """Show everything kept of one failure but its payloads."""
    replay = session.open()
    session.out.record(replay.get_failure(host_of_failure(replay, failure_id, host_id), failure_id))


COMMANDS = {"list failures": list_failures, "get failure": get_failure}
