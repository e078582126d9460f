"""What the demo stands on: a fresh database, two people, a file of events, and a voice."""

import gzip
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import fill
from typing import Any

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from examples.permits import generate
from pyreplay.client import Replay
from pyreplay.install import install

DATABASE = "demo_permits"
CASES, SEED = 1434, 1

# Both may do everything; that one of them may not do it alone is the engine's rule.
PEOPLE = ("alice", "bob")
ROLES = ("reader", "operator", "approver", "processor", "appender")

Connection = psycopg.Connection[Any]


@dataclass(frozen=True, slots=True)
class Stage:
    """The demo's database, and connections to it: of whoever runs the demo, and of two people."""

    dsn: str
    conn: Connection
    alice: Replay
    bob: Replay


@contextmanager
def new_stage(dsn: str) -> Iterator[Stage]:
    """A fresh database with the engine in it, in place of the one of an earlier run."""
    name = sql.Identifier(DATABASE)
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute(sql.SQL("drop database if exists {} with (force)").format(name))
        conn.execute(sql.SQL("create database {}").format(name))
    dsn = make_conninfo(dsn, dbname=DATABASE)
    with psycopg.connect(dsn) as conn:
        install(conn)
    with psycopg.connect(dsn, autocommit=True) as conn:
        for person in PEOPLE:
            make_person(conn, person)
        alice, bob = (psycopg.connect(dsn, user=p, autocommit=True) for p in PEOPLE)
        with alice, bob:
            yield Stage(dsn, conn, Replay(alice), Replay(bob))


def make_person(conn: Connection, name: str) -> None:
    """Make a login role with all roles of the engine."""
    person = sql.Identifier(name)
    if not conn.execute("select from pg_roles where rolname = %s", [name]).rowcount:
        conn.execute(sql.SQL("create role {} login").format(person))
    for role in ROLES:
        group = sql.Identifier(f"replay_{role}")
        conn.execute(sql.SQL("grant {} to {}").format(group, person))
    Replay(conn).add_member(name)


@contextmanager
def events_file(named: Path | None) -> Iterator[Path]:
    """The file that was named, or one with generated events."""
    if named:
        yield named
        return
    with TemporaryDirectory() as folder:
        path = Path(folder, "permits.jsonl")
        with path.open("w") as file:
            for event in generate.events(CASES, SEED):
                file.write(json.dumps(event, separators=(",", ":")) + "\n")
        yield path


def read_events(path: Path) -> Iterator[dict[str, Any]]:
    """The events of a file of JSON lines, compressed or not."""
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
        yield from map(json.loads, file)


def tell(what: str, *commands: str) -> None:
    """Open a chapter: what happens now, and the commands that do the same."""
    print(f"\n{fill(what, 100)}")
    for command in commands:
        print(f"  $ {command}")


def say(line: str) -> None:
    """Print what came of it."""
    print(f"    {line}")
