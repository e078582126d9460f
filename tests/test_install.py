"""The installer: repeatable, all or nothing, safe in company, and it says where it stands."""

import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

from pyreplay import errors
from pyreplay import install as installer
from pyreplay.install import check_installed, install
from tests.servers import Server
from tests.support import wait_until_blocked

OWNERS = """
select distinct owner::regrole::text from (
  select relowner from pg_class where relnamespace = 'replay'::regnamespace
  union all select proowner from pg_proc where pronamespace = 'replay'::regnamespace
  union all select typowner from pg_type where typnamespace = 'replay'::regnamespace
  union all select nspowner from pg_namespace where nspname = 'replay') o (owner)
"""


@pytest.fixture
def empty(server: Server) -> Iterator[str]:
    """A database without the engine."""
    dsn = server.create_database("template0")
    yield dsn
    server.drop_database(dsn)


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of db that a test may change; it is what gets installed."""
    shutil.copytree(installer.DB, tmp_path / "db")
    monkeypatch.setattr(installer, "DB", tmp_path / "db")
    return tmp_path / "db"


@pytest.mark.both_servers
def test_everything_belongs_to_replay_owner(conn: psycopg.Connection) -> None:
    assert conn.execute(OWNERS).fetchall() == [("replay_owner",)]


def test_a_second_install_applies_no_schema_file(empty: str) -> None:
    with psycopg.connect(empty) as conn:
        first = install(conn)
        assert first[0] == "001_schema.sql"
        assert install(conn) == []
        check_installed(conn)


def test_install_leaves_role_and_settings_alone(empty: str) -> None:
    query = "select current_user, current_setting('search_path')"
    with psycopg.connect(empty, autocommit=True) as conn:
        before = conn.execute(query).fetchone()
        install(conn)
        assert conn.execute(query).fetchone() == before


def test_install_refuses_a_transaction_of_the_caller(empty: str) -> None:
    with psycopg.connect(empty) as conn:
        conn.execute("select 1")
        with pytest.raises(psycopg.ProgrammingError, match="between transactions"):
            install(conn)


def test_two_installs_at_once_end_alike(empty: str) -> None:
    with psycopg.connect(empty) as holder, psycopg.connect(empty) as other:
        # The lock that installs take, so that both stand at the same place before they start.
        holder.execute(installer.PREPARE)
        with ThreadPoolExecutor() as pool:
            second = pool.submit(install, other)
            wait_until_blocked(holder, other.info.backend_pid)
            holder.rollback()
            done = [install(holder), second.result()]
    assert sorted(map(len, done))[0] == 0
    assert sorted(map(len, done))[1] > 0


def test_two_databases_of_one_server_install_at_once(server: Server) -> None:
    """Roles belong to both."""
    names = [server.create_database("template0") for _ in range(2)]

    def install_into(dsn: str) -> list[str]:
        with psycopg.connect(dsn) as conn:
            return install(conn)

    try:
        with ThreadPoolExecutor() as pool:
            first, second = pool.map(install_into, names)
        assert first == second != []
    finally:
        for name in names:
            server.drop_database(name)


def test_upgrade_applies_only_new_files_and_reloads_functions(empty: str, files: Path) -> None:
    with psycopg.connect(empty) as conn:
        install(conn)
        check_installed(conn)
        conn.rollback()
        (files / "schema/900_more.sql").write_text("create table replay.more (a int)")
        (files / "functions/_more.sql").write_text(
            _function("_more", "select count(*) from replay.more")
        )
        with pytest.raises(errors.EngineOutdated) as caught:
            check_installed(conn)
        conn.rollback()
        assert caught.value.hint == "Run `pyreplay upgrade`."
        assert install(conn) == ["900_more.sql"]
        check_installed(conn)
        conn.rollback()
        (files / "functions/_more.sql").unlink()
        install(conn)
        assert conn.execute("select to_regproc('replay._more')").fetchone() == (None,)


def test_a_broken_file_changes_nothing_and_is_named(empty: str, files: Path) -> None:
    with psycopg.connect(empty) as conn:
        install(conn)
        (files / "schema/900_more.sql").write_text("create table replay.more (a int)")
        (files / "functions/_bad.sql").write_text("create function replay._bad() returns\nint oops")
        with pytest.raises(errors.InstallFailed, match=r"^functions/_bad.sql:2: syntax error"):
            install(conn)
        assert conn.execute("select to_regclass('replay.more')").fetchone() == (None,)
        assert conn.execute("select to_regproc('replay.claim_batch')").fetchone() != (None,)


def test_files_load_whatever_the_order_of_their_names(empty: str, files: Path) -> None:
    (files / "functions/_a.sql").write_text(_function("_a", "select replay._z()"))
    (files / "functions/_z.sql").write_text(_function("_z", "select count(*) from replay.zz"))
    (files / "views/zz.sql").write_text("create view replay.zz as select replay._now() as now")
    with psycopg.connect(empty) as conn:
        install(conn)
        install(conn)
        assert conn.execute("select replay._a()").fetchone() == (1,)


def test_what_no_file_brings_is_named(empty: str, files: Path) -> None:
    (files / "functions/_a.sql").write_text(_function("_a", "select replay._nowhere()"))
    with psycopg.connect(empty) as conn:
        with pytest.raises(
            errors.InstallFailed, match=r"_a.sql.*replay._nowhere\(\) does not"
        ) as got:
            install(conn)
        assert got.value.details["files"] == ["_a.sql"]


def test_a_foreign_view_on_the_engine_stops_an_upgrade_by_name(empty: str) -> None:
    with psycopg.connect(empty) as conn:
        install(conn)
        conn.execute("create view public.mine as select * from replay.installed")
        conn.commit()
        with pytest.raises(errors.InstallFailed, match=r"view public\.mine depends on view"):
            install(conn)


def test_an_older_driver_refuses_a_newer_engine(empty: str, files: Path) -> None:
    (files / "schema/900_more.sql").write_text("create table replay.more (a int)")
    with psycopg.connect(empty) as conn:
        install(conn)
        (files / "schema/900_more.sql").unlink()
        for use in (check_installed, install):
            with pytest.raises(errors.DriverOutdated):
                use(conn)
            conn.rollback()


def test_no_engine_is_no_engine(empty: str) -> None:
    with psycopg.connect(empty) as conn, pytest.raises(errors.NotInstalled) as caught:
        check_installed(conn)
    assert "pyreplay init" in str(caught.value.hint)


def test_other_encodings_are_refused(server: Server) -> None:
    server.execute(
        "create database {} template template0 encoding 'LATIN1' locale 'C'", "test_latin"
    )
    try:
        with (
            psycopg.connect(server.dsn, dbname="test_latin") as conn,
            pytest.raises(errors.UnsupportedServer, match="LATIN1"),
        ):
            install(conn)
    finally:
        server.execute("drop database {}", "test_latin")


@pytest.mark.both_servers
def test_a_role_without_superuser_installs(server: Server) -> None:
    """CREATEROLE, and the right to create schemas in the database, is enough."""
    server.execute("create role {} login createrole", "test_installer")
    dsn = server.create_database("template0")
    try:
        with psycopg.connect(dsn, autocommit=True) as admin:
            admin.execute(f"grant create on database {admin.info.dbname} to test_installer")
            # On this server the roles exist already: somebody who may has to grant the owner's.
            admin.execute("grant replay_owner to test_installer")
        with psycopg.connect(dsn, user="test_installer") as conn:
            assert install(conn)
            assert conn.execute(OWNERS).fetchall() == [("replay_owner",)]
    finally:
        server.drop_database(dsn)
        server.execute("drop role {}", "test_installer")


@pytest.mark.both_servers
def test_a_role_that_may_not_install_is_told_so(server: Server) -> None:
    server.execute("create role {} login", "test_nobody")
    dsn = server.create_database("template0")
    try:
        with (
            psycopg.connect(dsn, user="test_nobody") as conn,
            pytest.raises(errors.InstallFailed) as caught,
        ):
            install(conn)
        assert "superuser" in str(caught.value.hint)
    finally:
        server.drop_database(dsn)
        server.execute("drop role {}", "test_nobody")


def _function(name: str, query: str) -> str:
    head = f"create function replay.{name}() returns bigint language sql volatile"
    return f"{head} begin atomic {query}; end"
