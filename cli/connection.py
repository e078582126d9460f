"""Which server a command talks to, as whom, and in what state its engine has to be."""

import os
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import click
import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from pyreplay import embedded
from pyreplay.client import Replay
from pyreplay.errors import EngineOutdated, NotInstalled
from pyreplay.install import check_installed, install

from .output import Output

Connection = psycopg.Connection[Any]

# Any of them names a server; others, such as PGPASSFILE or PGTZ, do not.
NAMES_A_SERVER = ("PGSERVICE", "PGHOST", "PGHOSTADDR", "PGPORT", "PGDATABASE", "PGUSER")

ROLES = ("reader", "operator", "approver", "processor", "appender")


@dataclass
class Session:
    """The options that every command shares, and the connections made by them."""

    dsn: str | None
    actor: str | None
    out: Output

    @property
    def is_embedded(self) -> bool:
        """Whether no server is named, so that it is the caller's own."""
        return self.dsn is None and not any(name in os.environ for name in NAMES_A_SERVER)

    @cached_property
    def target(self) -> str:
        """The server's DSN; the embedded one is started, and given an engine, when needed."""
        if not self.is_embedded:
            if self.actor:
                raise click.UsageError(
                    "--as is for the embedded server. Elsewhere the login role is the actor: "
                    "connect as that role, with PGUSER or in --dsn."
                )
            return self.dsn or ""
        dsn = embedded.start()
        with psycopg.connect(dsn) as conn:
            _bring_up(conn)
            if self.actor:
                _make_role(conn, self.actor)
                dsn = make_conninfo(dsn, user=self.actor)
        return dsn

    def connect_unchecked(self) -> Connection:
        """A connection in autocommit, until the command ends; the engine may be missing."""
        conn = psycopg.connect(self.target, autocommit=True, application_name="pyreplay")
        click.get_current_context().call_on_close(conn.close)
        return conn

    def connect(self) -> Connection:
        """A connection in autocommit, until the command ends; the engine is this driver's."""
        conn = self.connect_unchecked()
        check_installed(conn)
        return conn

    def open(self) -> Replay:
        """The client on a connection of its own."""
        return Replay(self.connect())


pass_session = click.make_pass_decorator(Session)


def _bring_up(conn: Connection) -> None:
    with conn.transaction(), suppress(NotInstalled, EngineOutdated):
        check_installed(conn)
        return
    install(conn)


def _make_role(conn: Connection, name: str) -> None:
    role = sql.Identifier(name)
    with conn.transaction():
        # Two commands of the same newcomer may start at once.
        conn.execute("select pg_advisory_xact_lock(hashtextextended('pyreplay.role', 0))")
        if not conn.execute("select from pg_roles where rolname = %s", [name]).rowcount:
            conn.execute(sql.SQL("create role {} login").format(role))
            for granted in ROLES:
                group = sql.Identifier(f"replay_{granted}")
                conn.execute(sql.SQL("grant {} to {}").format(group, role))
        conn.execute("select replay.add_member(%s)", [name])
