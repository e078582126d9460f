"""Commands that bring events in and process them live."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from uuid import UUID

import click

from pyreplay.importer import import_file
from pyreplay.live import LiveProcessor, run_side_by_side
from pyreplay.projection import Projection

from .connection import Session, pass_session
from .errors import REFUSED
from .output import progress
from .params import FILE, app_option
from .signals import on_stop

# A file of another kind is refused line by line.
SHOWN = 20


@click.command("import")
@click.argument("file", type=FILE)
@pass_session
@click.pass_context
def import_events(ctx: click.Context, session: Session, file: Path) -> None:
    """Append the transactions of FILE, CloudEvents in JSON lines, plain or gzipped.

    What is there already is skipped, so an import that was cut off is simply repeated. What is
    refused is named by its line; the exit code is 1 then.
    """
    conn = session.connect()
    with progress(session.out, f"importing {file.name}", file.stat().st_size) as show:
        result = import_file(conn, file, lambda so_far: show(so_far.bytes_read))
    if session.out.as_json:
        session.out.record(result)
    else:
        click.echo(result)
        for refusal in result.refusals[:SHOWN]:
            click.echo(f"{file}:{refusal.line}: {refusal.error}: {refusal.reason}", err=True)
        if (more := len(result.refusals) - SHOWN) > 0:
            click.echo(f"... and {more} more; --json has them all", err=True)
    if result.refused_count:
        ctx.exit(REFUSED)


@click.command
@app_option
@click.option("--once", is_flag=True, help="End when nothing is left to do.")
@click.option("--host", "host_id", type=click.UUID, help="Events of this host only.")
@click.option("--lane", type=click.IntRange(0, 1023), help="Events of this outbox lane only.")
@click.option(
    "--limit",
    type=click.IntRange(1, 500),
    default=500,
    show_default=True,
    help="Transactions a batch.",
)
@click.option(
    "--threads",
    type=click.IntRange(1, 16),
    default=1,
    show_default=True,
    help="Batches in hand at a time, in a thread and a connection each.",
)
@click.option(
    "--pooled",
    is_flag=True,
    envvar="PYREPLAY_POOLED",
    show_envvar=True,
    help="The connection goes through a transaction-pooling proxy.",
)
@click.option(
    "--instance",
    envvar="PYREPLAY_INSTANCE",
    show_envvar=True,
    help="The name that `get status` shows; the machine's when left out.",
)
@pass_session
def run(
    session: Session,
    app: Projection,
    once: bool,
    host_id: UUID | None,
    lane: int | None,
    limit: int,
    threads: int,
    pooled: bool,
    instance: str | None,
) -> None:
    """Process events live; print what became of them at the end.

    Start as many as you like. Two --threads keep handlers and server busy at a time, where two
    lanes have work. SIGTERM or Ctrl-C ends after the batch in hand.
    """
    processors = [
        LiveProcessor(
            *(session.target, app),
            host_id=host_id,
            lane=lane,
            limit=limit,
            pooled=pooled,
            instance=instance,
        )
        for _ in range(threads)
    ]
    with _stopped_by_signals() as stop:
        session.out.record(run_side_by_side(processors, once=once, stop=stop))


@contextmanager
def _stopped_by_signals() -> Iterator[threading.Event]:
    """An event that the first SIGTERM or SIGINT sets; the second one ends the process."""
    stop = threading.Event()

    def handle(_number: int, _frame: FrameType | None) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    with on_stop(handle):
        yield stop


COMMANDS = {"import": import_events, "run": run}
