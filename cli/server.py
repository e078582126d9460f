"""Commands on the server: install, upgrade, diagnose, open a shell, show the main job."""

import os
import shutil
import signal
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import click
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from pyreplay.doctor import examine
from pyreplay.embedded import find_binaries
from pyreplay.install import install
from pyreplay.metrics import expose

from .connection import Session, pass_session
from .errors import REFUSED
from .params import FILE


@click.command
@pass_session
def init(session: Session) -> None:
    """Put the engine into the database; harmless when it is there."""
    _install(session)


@click.command
@pass_session
def upgrade(session: Session) -> None:
    """Bring the engine to this driver's version, in one transaction."""
    _install(session)


def _install(session: Session) -> None:
    conn = session.connect_unchecked()
    files = install(conn)
    if session.out.as_json:
        session.out.record({"database": conn.info.dbname, "schema_files": files})
    else:
        done = ", ".join(files) or "no new schema files; functions and views reloaded"
        click.echo(f"database {conn.info.dbname} is ready ({done})")


@click.command
@pass_session
def metrics(session: Session) -> None:
    """Print numbers to watch, of the hosts of the caller, as Prometheus reads them."""
    click.echo(expose(session.connect()), nl=False)


@click.command
@pass_session
@click.pass_context
def doctor(ctx: click.Context, session: Session) -> None:
    """Check server, engine and work at hand; say what to do. Exit code 0: nothing is wrong."""
    findings = examine(session.connect_unchecked())
    if session.out.as_json:
        session.out.rows(findings, "", "")
    else:
        for found in findings:
            click.echo(f"{found.result:8} {found.check}: {found.finding}")
            if found.next:
                click.echo(f"{'next':>8} {found.next}")
    if any(finding.result == "TROUBLE" for finding in findings):
        ctx.exit(REFUSED)


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@pass_session
@click.pass_context
def psql(ctx: click.Context, session: Session, arguments: tuple[str, ...]) -> None:
    """Open psql on the server; ARGUMENTS are psql's own."""
    parts = conninfo_to_dict(session.target)
    # Arguments of a process are for everybody to read.
    secret = {"PGPASSWORD": str(parts.pop("password"))} if "password" in parts else {}
    # A pager would swallow what is pasted next; -P pager=on brings it back.
    command = [_find_psql(), f"--dbname={make_conninfo('', **parts)}", "--pset=pager=off"]
    command += arguments
    # Ctrl-C is psql's to handle. It is waited for, since the embedded server ends with us.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    ctx.exit(subprocess.run(command, env={**os.environ, **secret}, check=False).returncode)


def _find_psql() -> str:
    if found := shutil.which("psql"):
        return found
    return str(find_binaries() / "psql")


@click.command
@click.argument("file", type=FILE, required=False)
@pass_session
def demo(session: Session, file: Path | None) -> None:
    """Show the main job from failure to healthy again, on generated events or those in FILE."""
    checkout = str(Path(__file__).resolve().parents[1])
    if checkout not in sys.path:
        sys.path.append(checkout)
    if find_spec("examples") is None or find_spec("examples.permits.demo") is None:
        raise click.UsageError("the examples are not here. Run it in a checkout: make demo.")
    import_module("examples.permits.demo").run(session.target, file)


COMMANDS = {
    "init": init,
    "upgrade": upgrade,
    "doctor": doctor,
    "metrics": metrics,
    "psql": psql,
    "demo": demo,
}
