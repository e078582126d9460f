"""Install or upgrade in one transaction: drop functions and views, apply new schema files, load."""

import hashlib
import re
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import psycopg
from psycopg import errors
from psycopg.pq import TransactionStatus

from .binaries import OLDEST_VERSION
from .errors import DriverOutdated, EngineOutdated, InstallFailed, NotInstalled, UnsupportedServer

HERE = Path(__file__).parent

# Inside the package once installed, beside it in a checkout.
DB = HERE / "db" if (HERE / "db").is_dir() else HERE.parent / "db"

# Runs at every install, as the installing role; the rest belongs to replay_owner.
BOOTSTRAP = "000_install.sql"

# What is loaded must name every schema, compile, and leave nothing that plpgsql would warn of.
PREPARE = """
set transaction isolation level read committed;
set local search_path = '';
set local check_function_bodies = on;
set local client_min_messages = warning;
set local plpgsql.extra_errors = 'all';
select pg_advisory_xact_lock(hashtextextended('pyreplay.install', 0))
"""

DROP = """
do $$
declare
  v_drop text;
  v_dropped int;
  v_kept text;
begin
  loop
    v_dropped := 0;
    v_kept := null;
    for v_drop in
      select c.command
      from (
        select t.oid, format('drop trigger %I on %s', t.tgname, t.tgrelid::regclass) as command
        from pg_trigger t join pg_proc p on p.oid = t.tgfoid
        where p.pronamespace = 'replay'::regnamespace and not t.tgisinternal
        union all
        select p.oid, format('drop routine %s', p.oid::regprocedure)
        from pg_proc p where p.pronamespace = 'replay'::regnamespace
        union all
        select v.oid, format('drop view %s', v.oid::regclass)
        from pg_class v where v.relnamespace = 'replay'::regnamespace and v.relkind = 'v'
      ) c
      -- The newest first: it may need what was created before it.
      order by c.oid desc
    loop
      begin
        execute v_drop;
        v_dropped := v_dropped + 1;
      exception when dependent_objects_still_exist then
        get stacked diagnostics v_kept = pg_exception_detail;
      end;
    end loop;
    exit when v_kept is null;
    if v_dropped = 0 then
      raise exception 'something outside of schema replay needs a function or view of it: %', v_kept
        using errcode = 'dependent_objects_still_exist';
    end if;
  end loop;
end;
$$
"""

DENIED_HINT = (
    "Install as a superuser, or as a role with CREATEROLE that may create schemas in this database."
)

# How often an upgrade beside live work is begun anew.
DEADLOCKS = 10

# What a file lacks that another brings.
MISSING = (errors.UndefinedFunction, errors.UndefinedTable, errors.UndefinedObject)


def install(conn: psycopg.Connection[Any]) -> list[str]:
    """Bring the database up to this driver, and commit; return the schema files applied.

    All or nothing, and safe when two run at once: the second waits, then finds no new files.
    Raises UnsupportedServer, DriverOutdated, InstallFailed.
    """
    if conn.info.transaction_status != TransactionStatus.IDLE:
        raise psycopg.ProgrammingError("install commits: give it a connection between transactions")
    for _ in range(DEADLOCKS):
        # Live work locks tables and functions in an order of its own.
        with suppress(errors.DeadlockDetected):
            return _install(conn)
    return _install(conn)


def _install(conn: psycopg.Connection[Any]) -> list[str]:
    with conn.transaction():
        _check_server(conn)
        conn.execute(PREPARE)
        _run(conn, DB / "schema" / BOOTSTRAP)
        new = _new_schema_files(conn)
        _execute(conn, DROP, "dropping functions and views")
        for file in new:
            _run(conn, file)
            conn.execute(
                "insert into replay.schema_file values (%s, clock_timestamp())", [file.name]
            )
        _load(conn, [*_files("functions"), *_files("views")])
        conn.execute("delete from replay.install")
        conn.execute("insert into replay.install values (%s, %s, now())", [_digest(), _version()])
    return [file.name for file in new]


def check_installed(conn: psycopg.Connection[Any]) -> None:
    """Raise NotInstalled, EngineOutdated or DriverOutdated unless the engine is this driver's."""
    held = conn.execute(
        "select relname from pg_class where relnamespace::regnamespace::text = 'replay'"
        " and relname in ('schema_file', 'installed')"
    ).fetchall()
    if not held:
        raise NotInstalled(
            f'database "{conn.info.dbname}" holds no pyreplay engine',
            details={"database": conn.info.dbname},
            hint="Run `pyreplay init` as a superuser or as the database's owner.",
        )
    row = None
    if len(held) == 2:
        row = conn.execute("select version, digest, schema_files from replay.installed").fetchone()
    if row and bytes(row[1]) == _digest():
        return
    if row and (_unknown(row[2]) or _order(row[0]) > _order(_version())):
        raise _driver_outdated(row[0])
    raise EngineOutdated(
        f"the engine was installed from other files (version {row[0] if row else 'unknown'}) "
        f"than this driver has (version {_version()})",
        details={"engine": row[0] if row else None, "driver": _version()},
        hint="Run `pyreplay upgrade`.",
    )


def _check_server(conn: psycopg.Connection[Any]) -> None:
    release, encoding = conn.info.server_version, conn.info.parameter_status("server_encoding")
    if release < OLDEST_VERSION * 10000:
        raise UnsupportedServer(
            f"the server is PostgreSQL {release // 10000}",
            details={"server_version": release},
            hint=f"Use PostgreSQL {OLDEST_VERSION} or newer.",
        )
    if encoding != "UTF8":
        raise UnsupportedServer(
            f'database "{conn.info.dbname}" is encoded in {encoding}',
            details={"server_encoding": encoding},
            hint="Create a database with `encoding 'UTF8' template template0`.",
        )


def _new_schema_files(conn: psycopg.Connection[Any]) -> list[Path]:
    done = [name for (name,) in conn.execute("select name from replay.schema_file")]
    if _unknown(done):
        raise _driver_outdated(None)
    return [file for file in _files("schema") if file.name not in (BOOTSTRAP, *done)]


def _load(conn: psycopg.Connection[Any], waiting: list[Path]) -> None:
    """Load files until none is left: a parsed body and a view need what they call first."""
    while waiting:
        failed: dict[Path, InstallFailed] = {}
        for file in waiting:
            try:
                with conn.transaction():
                    _run(conn, file)
            except InstallFailed as failure:
                if not isinstance(failure.__cause__, MISSING):
                    raise
                failed[file] = failure
        if len(failed) == len(waiting):
            raise InstallFailed(
                "\n".join(str(failure) for failure in failed.values()),
                details={"files": [file.name for file in failed]},
                hint="Add what these files call, or mend the call.",
            )
        waiting = list(failed)


def _run(conn: psycopg.Connection[Any], file: Path) -> None:
    _execute(conn, file.read_text(encoding="utf-8"), f"{file.parent.name}/{file.name}")


def _execute(conn: psycopg.Connection[Any], script: str, name: str) -> None:
    try:
        conn.execute(script.encode())
    except psycopg.OperationalError:
        raise  # The connection, a deadlock or a timeout: no fault of the script.
    except psycopg.Error as error:
        place = error.diag.statement_position
        line = f":{script.count(chr(10), 0, int(place)) + 1}" if place else ""
        denied = isinstance(error, errors.InsufficientPrivilege)
        raise InstallFailed(
            f"{name}{line}: {error.diag.message_primary or error}",
            details={"files": [name.rpartition("/")[2]], "sqlstate": error.sqlstate},
            hint=DENIED_HINT if denied else "Nothing was changed. Mend the cause and run it again.",
        ) from error


def _files(folder: str) -> list[Path]:
    return sorted((DB / folder).glob("*.sql"))


def _unknown(applied: list[str]) -> set[str]:
    return set(applied) - {file.name for file in _files("schema")}


def _driver_outdated(engine: str | None) -> DriverOutdated:
    return DriverOutdated(
        f"the engine is newer than this driver, {_version()}",
        details={"engine": engine, "driver": _version()},
        hint="Upgrade the Python package: `pip install --upgrade pyreplay`.",
    )


def _digest() -> bytes:
    found = hashlib.sha256()
    for file in (*_files("schema"), *_files("functions"), *_files("views")):
        found.update(f"{file.parent.name}/{file.name}\n".encode())
        found.update(hashlib.sha256(file.read_bytes()).digest())
    return found.digest()


def _version() -> str:
    try:
        return version("pyreplay")
    except PackageNotFoundError:
        return "0"


def _order(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", text)]
