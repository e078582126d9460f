"""The command that executes a request, in its own process."""

from types import FrameType
from uuid import UUID

import click

from pyreplay.execution import execute, require_projection
from pyreplay.projection import Projection

from .connection import Session, pass_session
from .errors import INTERRUPTED, REPLAY_FAILED
from .lookup import host_of_request
from .output import progress
from .params import PlanHash, app_option, host_option, reason_option
from .requests import show_request
from .signals import on_stop


@click.command
@click.argument("request_id", type=click.UUID, metavar="ID")
@app_option
@host_option
@click.option("--plan-hash", type=PlanHash(), help="Refuse any other plan than this one.")
@reason_option
@click.option("--items", type=click.IntRange(min=1), help="Stop after so many; resumable.")
@click.option(
    "--budget",
    type=click.FloatRange(min=1, max=86400),
    default=1800,
    show_default=True,
    help="Seconds it may take; then it stops, resumable.",
)
@click.option(
    "--pooled",
    is_flag=True,
    envvar="PYREPLAY_POOLED",
    show_envvar=True,
    help="The connection goes through a transaction-pooling proxy.",
)
@pass_session
@click.pass_context
def execute_request(
    ctx: click.Context,
    session: Session,
    request_id: UUID,
    app: Projection,
    host_id: UUID | None,
    plan_hash: bytes | None,
    reason: str,
    items: int | None,
    budget: float,
    pooled: bool,
) -> None:
    """Execute an approved plan, or go on with one that was interrupted."""
    replay = session.open()
    if pooled:
        replay.conn.prepare_threshold = None
    host_id = host_of_request(replay, request_id, host_id)
    request = replay.get_request(host_id, request_id)
    require_projection(request, app)
    plan_hash = plan_hash or request.plan_hash
    request = replay.execute_request(host_id, request_id, plan_hash, reason)
    label = f"replaying {request.projection}"
    try:
        with progress(session.out, label, request.item_count) as show, on_stop(_interrupt):
            show(request.done_count)
            request = execute(
                replay.conn,
                app,
                host_id,
                request_id,
                plan_hash,
                items=items,
                budget=budget,
                pooled=pooled,
                on_progress=lambda status: show(status.done_count),
            )
    except KeyboardInterrupt:
        click.echo(
            f"interrupted. What is done stays done.\nnext: pyreplay execute request {request_id} "
            "--app MODULE:PROJECTION --reason ... goes on with the rest.",
            err=True,
        )
        ctx.exit(INTERRUPTED)
    show_request(session.out, request)
    if request.status == "FAILED":
        ctx.exit(REPLAY_FAILED)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


COMMANDS = {"execute request": execute_request}
