"""Runs db/tests: what one session can see, asserted in SQL."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from tests.debian import Debian
from tests.servers import Server

FILES = sorted((Path(__file__).parents[1] / "db/tests").glob("*.sql"))


@pytest.fixture(scope="module")
def tap_dsn(server: Server, debian: Debian) -> Iterator[str]:
    """A database with the engine in schema replay, and pgTAP and plpgsql_check in schema tap."""
    dsn = server.create_database()
    with psycopg.connect(dsn) as conn:
        conn.execute("create schema tap")
        conn.execute("set local search_path = tap")
        conn.execute(debian.pgtap)
        if server.name == "debian":
            conn.execute("create extension plpgsql_check schema tap")
        name = sql.Identifier(conn.info.dbname)
        conn.execute(sql.SQL("alter database {} set search_path = public, tap").format(name))
    yield dsn
    server.drop_database(dsn)


@pytest.mark.both_servers
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_pgtap(file: Path, server: Server, debian: Debian, tap_dsn: str) -> None:
    target = conninfo_to_dict(tap_dsn)
    done = subprocess.run(
        [
            *("perl", debian.root / "usr/bin/pg_prove", "--failures", "--comments"),
            *("--psql-bin", server.binaries / "psql"),
            *("--host", target["host"], "--port", target["port"]),
            *("--username", target["user"], "--dbname", target["dbname"], file),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
