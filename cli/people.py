"""Commands for owners of the engine: who may do what, and for which hosts."""

from uuid import UUID

import click
import psycopg
from psycopg import sql

from pyreplay.client import Replay

from .connection import ROLES, Session, pass_session

host_option = click.option(
    "--host", "host_id", type=click.UUID, help="Only this host; left out: every host."
)


@click.command
@click.argument("role", type=click.Choice((*ROLES, "gateway")))
@click.argument("name")
@host_option
@pass_session
def grant_role(session: Session, role: str, name: str, host_id: UUID | None) -> None:
    """Grant a role of the engine to a login role, and make it a member of a host."""
    conn = session.connect()
    with conn.transaction():
        statement = sql.SQL("grant {} to {}")
        try:
            conn.execute(statement.format(sql.Identifier(f"replay_{role}"), sql.Identifier(name)))
        except psycopg.errors.UndefinedObject as error:
            raise click.ClickException(
                f"there is no role {name!r}; make it with: create role ... login"
            ) from error
        Replay(conn).add_member(name, host_id)
    _tell(session, name, host_id, f"has replay_{role} for")


@click.command
@click.argument("name")
@host_option
@pass_session
def add_member(session: Session, name: str, host_id: UUID | None) -> None:
    """Make a role, or a person that a gateway vouches for, a member of a host."""
    session.open().add_member(name, host_id)
    _tell(session, name, host_id, "is a member of")


@click.command
@click.argument("name")
@host_option
@pass_session
def remove_member(session: Session, name: str, host_id: UUID | None) -> None:
    """Take one membership back; its roles stay."""
    session.open().remove_member(name, host_id)
    _tell(session, name, host_id, "is no longer a member of")


def _tell(session: Session, name: str, host_id: UUID | None, what: str) -> None:
    if session.out.as_json:
        session.out.record({"member": name, "host_id": host_id})
    else:
        click.echo(f"{name} {what} {f'host {host_id}' if host_id else 'every host'}")


COMMANDS = {
    "grant role": grant_role,
    "add member": add_member,
    "remove member": remove_member,
}
