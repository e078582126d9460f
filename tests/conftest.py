"""Fixtures: a server, a fresh database on it, sessions in that database, and the real data."""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from pyreplay.client import Replay
from pyreplay.embedded import find_binaries
from tests.debian import Debian, Unavailable, unpack
from tests.servers import Server, cache_folder, open_server
from tests.support import leave_out
from tests.world import World

pytest_plugins = ["tests.leftout"]

Connect = Callable[..., psycopg.Connection]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run what is marked both_servers on the oldest supported PostgreSQL too."""
    if "server" in metafunc.fixturenames and metafunc.definition.get_closest_marker("both_servers"):
        metafunc.parametrize("server", ["embedded", "debian"], indirect=True, scope="session")


@pytest.fixture(scope="session")
def debian() -> Debian:
    """Debian's PostgreSQL 15 and pgTAP, for this process and the programs it starts."""
    try:
        packages = unpack(cache_folder())
    except Unavailable as missing:
        leave_out(str(missing))
    os.environ.update(packages.environment)
    return packages


@pytest.fixture(scope="session")
def server(request: pytest.FixtureRequest) -> Server:
    """The server the test runs on: the embedded one unless it is marked both_servers."""
    if getattr(request, "param", "embedded") == "debian":
        return open_server("debian", request.getfixturevalue("debian").binaries)
    return open_server("embedded", find_binaries())


@pytest.fixture
def dsn(server: Server) -> Iterator[str]:
    """A fresh database with the engine in it; the user is its owner and superuser."""
    dsn = server.create_database()
    yield dsn
    server.drop_database(dsn)


@pytest.fixture
def connect(dsn: str) -> Iterator[Connect]:
    """A function that opens one more session: `connect(user=..., autocommit=...)`."""
    with ExitStack() as sessions:

        def open_session(**parameters: object) -> psycopg.Connection:
            conn = psycopg.connect(dsn, **parameters)
            sessions.callback(conn.close)
            return conn

        yield open_session


@pytest.fixture
def conn(connect: Connect) -> psycopg.Connection:
    """A session of the superuser, in a transaction."""
    return connect()


@pytest.fixture
def replay(conn: psycopg.Connection) -> Replay:
    """The client on `conn`."""
    return Replay(conn)


@pytest.fixture
def world(dsn: str) -> Iterator[World]:
    """An application on a fresh database, its projection started."""
    world = World(dsn)
    world.start()
    yield world
    world.close()


@pytest.fixture
def connect_as(connect: Connect) -> Connect:
    """A function that opens a session of a login role: `connect_as("alice", ["replay_reader"])`."""

    def open_session_as(user: str, roles: list[str], **parameters: object) -> psycopg.Connection:
        _set_roles(connect(autocommit=True), user, set(roles))
        return connect(user=user, **parameters)

    return open_session_as


def _set_roles(admin: psycopg.Connection, user: str, roles: set[str]) -> None:
    """Make `user` a login role in exactly these roles; it outlives the database it is made for."""
    if not admin.execute("select from pg_roles where rolname = %s", (user,)).rowcount:
        admin.execute(sql.SQL("create role {} login").format(sql.Identifier(user)))
    query = "select roleid::regrole::text from pg_auth_members where member = %s::regrole"
    held = {name for (name,) in admin.execute(query, (user,))}
    if admin.execute("select to_regclass('replay.host_member')").fetchone() != (None,):
        admin.execute("select replay.add_member(%s)", (user,))
    for verb, names in (("revoke {} from {}", held - roles), ("grant {} to {}", roles - held)):
        for name in names:
            admin.execute(sql.SQL(verb).format(sql.Identifier(name), sql.Identifier(user)))


@pytest.fixture(scope="session")
def real_data() -> Callable[[str], Path]:
    """A function from the name of a real data set to its file; PYREPLAY_DATA is their folder."""
    folder = Path(os.environ.get("PYREPLAY_DATA", Path(__file__).parents[2] / "shared/data"))

    def find(name: str) -> Path:
        if not (folder / name).exists():
            leave_out(f"{name} is not in {folder}; name its folder in PYREPLAY_DATA")
        return folder / name

    return find
