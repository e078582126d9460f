"""What a plan is to hold: options that name failures, and what they need around them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TextIO, TypeVar
from uuid import UUID

import click

from pyreplay.client import Replay

from .lookup import host_of_failure

Command = TypeVar("Command", bound=Callable[..., Any])

OPTIONS = (
    click.option("--failure", "ids", type=click.UUID, multiple=True, metavar="ID", help="Repeat."),
    click.option("--failures", "file", type=click.File(), help="Ids, one a line; - reads stdin."),
    click.option(
        "--transaction", "transactions", multiple=True, metavar="ID",
        help="A deferred transaction, to plan what it waits for. Repeat.",
    ),
    click.option(
        "--scope", "scopes", nargs=2, multiple=True, metavar="TYPE KEY",
        help="A scope, to plan what is open in it. Repeat.",
    ),
    click.option(
        "--strategy", type=click.Choice(["EXACT", "DEPENDENCY_CLOSURE"], case_sensitive=False),
        help="These failures, or also what they wait for. By default EXACT for failures alone.",
    ),
    click.option("--host", "host_id", type=click.UUID, help="Found by a failure when left out."),
    click.option("--projection", help="Found by a failure when left out."),
    click.option("--group", "consumer_group", help="Found by a failure when left out."),
)  # fmt: skip


def selection_options(command: Command) -> Command:
    """The options that `select` takes."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


@dataclass(frozen=True, slots=True)
class Selection:
    """Arguments that preview_request and create_request share."""

    host_id: UUID
    projection: str
    consumer_group: str
    strategy: str
    failure_ids: list[UUID]
    transaction_ids: list[str]
    scopes: list[dict[str, str]]

    def arguments(self) -> dict[str, Any]:
        """As keyword arguments."""
        return {name: getattr(self, name) for name in self.__slots__}


def select(
    replay: Replay,
    ids: tuple[UUID, ...],
    file: TextIO | None,
    transactions: tuple[str, ...],
    scopes: tuple[tuple[str, str], ...],
    strategy: str | None,
    host_id: UUID | None,
    projection: str | None,
    consumer_group: str | None,
) -> Selection:
    """Put the options together; host and projection come from the first failure if left out."""
    failure_ids = [*ids, *(read_ids(file) if file else ())]
    if not (failure_ids or transactions or scopes):
        raise click.UsageError("nothing is selected: name a --failure, --transaction or --scope.")
    if failure_ids and not (host_id and projection):
        host_id = host_of_failure(replay, failure_ids[0], host_id)
        first = replay.get_failure(host_id, failure_ids[0])
        projection = projection or first.projection
        consumer_group = consumer_group or first.consumer_group
    if not (host_id and projection):
        raise click.UsageError("--transaction and --scope need --host and --projection.")
    return Selection(
        host_id,
        projection,
        consumer_group or "default",
        strategy or ("DEPENDENCY_CLOSURE" if transactions or scopes else "EXACT"),
        failure_ids,
        list(transactions),
        [{"scope_type": kind, "scope_key": key} for kind, key in scopes],
    )


def read_ids(file: TextIO) -> list[UUID]:
    """The ids in a file, one a line. Raises UsageError with the number of a line that is none."""
    found = []
    for number, line in enumerate(file, start=1):
        if text := line.strip():
            try:
                found.append(UUID(text))
            except ValueError:
                raise click.UsageError(f"{file.name}:{number}: {text[:50]!r} is no id.") from None
    return found
