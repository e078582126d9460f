"""The servers that tests run on, and a fresh database with the engine in it for each test."""

import fcntl
import itertools
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from pyreplay import embedded
from pyreplay.binaries import REACHABLE
from pyreplay.install import install

TEMPLATE = "template_replay"

CLOCK = """
create or replace function replay._now()
  returns timestamptz
  language sql
  volatile
  return coalesce(nullif(current_setting('replay.now', true), '')::timestamptz, clock_timestamp())
"""


@dataclass(frozen=True, slots=True)
class Server:
    """A running PostgreSQL that this test session has to itself."""

    name: str
    dsn: str
    binaries: Path
    numbers: Iterator[int] = field(default_factory=itertools.count)

    def create_database(self, template: str = TEMPLATE) -> str:
        """Make a database like `template` and return its DSN."""
        name = f"test_{next(self.numbers)}"
        self.execute("create database {} template {}", name, template)
        return make_conninfo(self.dsn, dbname=name)

    def drop_database(self, dsn: str) -> None:
        """Drop a test's database, whoever is still connected to it."""
        name = str(conninfo_to_dict(dsn)["dbname"])
        self.execute("drop database {} with (force)", name)

    def execute(self, statement: str, *names: str) -> None:
        """Run one statement in no database in particular, `names` quoted in place of its braces."""
        with psycopg.connect(self.dsn, autocommit=True) as conn:
            conn.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))


@cache
def open_server(name: str, binaries: Path) -> Server:
    """The server of that name, emptied, with the engine in its template database."""
    dsn = embedded.start(_claim_home(name), binaries)
    server = Server(name, make_conninfo(dsn, dbname="postgres"), binaries)
    # Its data outlives crashes of processes, which tests make; those of the machine need not.
    server.execute("alter system set fsync = off")
    server.execute("select pg_reload_conf()")
    _empty(server)
    server.execute("create database {}", TEMPLATE)
    with psycopg.connect(dsn, dbname=TEMPLATE) as conn:
        install(conn)
        conn.execute(CLOCK)
    return server


def cache_folder() -> Path:
    """Where downloads and clusters stay between sessions."""
    # The account that runs the servers for root may be unable to enter root's checkout.
    folder = REACHABLE / "tests" if os.geteuid() == 0 else Path(__file__).parents[1] / ".cache"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _claim_home(name: str) -> Path:
    """A folder for a cluster that no other session uses as long as this process lives."""
    for number in itertools.count():
        home = cache_folder() / f"{name}-{number}"
        lock = os.open(f"{home}.lock", os.O_CREAT | os.O_RDWR, 0o644)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
        else:
            return home
    raise AssertionError("unreachable")


def _empty(server: Server) -> None:
    """Drop what a session that was killed has left, databases first: they hold on to roles."""
    with psycopg.connect(server.dsn, autocommit=True) as conn:
        databases = conn.execute(
            "select datname from pg_database where datname ~ '^(test_|template_replay)'"
        ).fetchall()
        roles = conn.execute(
            "select rolname from pg_roles where rolname !~ '^pg_' and rolname <> current_user"
        ).fetchall()
    for (name,) in databases:
        server.execute("drop database {} with (force)", name)
    for (name,) in roles:
        server.execute("drop role {}", name)
