"""Python and SQL are two spellings of one API. These tests keep them identical."""

import inspect
import re
import subprocess
import typing
from dataclasses import fields, is_dataclass
from typing import Any

import click
import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from pyreplay import errors, records
from pyreplay.cli.main import main
from pyreplay.client import Replay
from pyreplay.install import install
from tests.servers import Server

pytestmark = pytest.mark.both_servers

SCALARS = {"int4": int, "int8": int, "text": str, "void": type(None)}

METHODS = {name: method for name, method in vars(Replay).items() if not name.startswith("_")}


def test_methods_match_functions(conn: psycopg.Connection) -> None:
    functions = {
        name: [(arg, i >= len(args) - defaults) for i, arg in enumerate(args or [])]
        for name, args, defaults in conn.execute(
            """select proname, (proargnames)[1:pronargs], pronargdefaults from pg_proc
               where pronamespace = 'replay'::regnamespace and proname !~ '^_'"""
        )
    }
    assert functions == {
        name: [(f"p_{p.name}", p.default is not p.empty) for p in _parameters(method)]
        for name, method in METHODS.items()
    }


def test_defaults_match_functions(conn: psycopg.Connection) -> None:
    """Leaving an argument out means the same in both."""
    wrong = []
    for name, method in METHODS.items():
        row = conn.execute(
            """select pg_get_expr(proargdefaults, 0), pronargdefaults from pg_proc
               where pronamespace = 'replay'::regnamespace and proname = %s""",
            [name],
        ).fetchone()
        given = [p.default for p in _parameters(method) if p.default is not p.empty]
        if row and row[1]:
            (held,) = conn.cursor(row_factory=psycopg.rows.tuple_row).execute(
                f"select row_to_json(d)::jsonb from (select {row[0]}) d ({_columns(row[1])})"
            ).fetchone() or ({},)
            wrong += [
                (name, ours, theirs)
                for ours, theirs in zip(given, held.values(), strict=True)
                if not _same(ours, theirs)
            ]
    assert not wrong


def test_methods_return_what_functions_return(conn: psycopg.Connection) -> None:
    """A record class for each composite, under its name, with its attributes in its order."""
    functions = {
        name: (is_set, attributes and _camel(type_name), attributes or SCALARS[type_name])
        for name, is_set, type_name, attributes in conn.execute(
            """select p.proname, p.proretset, t.typname, array(
                 select a.attname::text from pg_attribute a
                 where a.attrelid = t.typrelid and a.attnum > 0 and not a.attisdropped
                 order by a.attnum)
               from pg_proc p join pg_type t on t.oid = p.prorettype
               where p.pronamespace = 'replay'::regnamespace and p.proname !~ '^_'"""
        )
    }
    assert functions == {name: _returned(method) for name, method in METHODS.items()}


def test_a_command_for_every_operation(conn: psycopg.Connection) -> None:
    """Verb and noun of the function; those that only drivers call have none."""
    operations = {
        name
        for (name,) in conn.execute(
            """select distinct p.proname from pg_proc p, aclexplode(p.proacl) a
               where p.pronamespace = 'replay'::regnamespace and p.proname !~ '^_'
                 and a.grantee not in (0, p.proowner, 'replay_processor'::regrole)"""
        )
    }
    commands = {
        f"{verb}_{noun}"
        for verb, group in main.commands.items()
        if isinstance(group, click.Group)
        for noun in group.commands
    }
    # Appending takes a file of events, `import`; a gateway is a service.
    operations -= {"append_transaction", "append_transactions", "assert_actor"}
    assert commands == operations | {"grant_role", "add_member", "remove_member"}
    assert "import" in main.commands


def test_every_record_is_returned() -> None:
    returned = {typing.get_type_hints(method)["return"] for method in METHODS.values()}
    used = {arg for kind in returned for arg in (kind, *typing.get_args(kind))}
    held = {kind for kind in vars(records).values() if is_dataclass(kind)}
    assert held - used == set()


def test_exceptions_match_catalogue(conn: psycopg.Connection) -> None:
    assert set(conn.execute("select code, name, meaning from replay.error")) == {
        (e.sqlstate, e.name, " ".join((e.__doc__ or "").split()))
        for e in errors.ReplayError.__subclasses__()
    }


def test_psycopg_raises_our_classes_by_sqlstate(conn: psycopg.Connection) -> None:
    """Guards the `code=` keyword of psycopg's errors, which is not documented."""
    with pytest.raises(errors.StalePlan) as caught:
        conn.execute(
            """do $$ begin raise exception 'moved on' using errcode = 'RP208',
               detail = '{"expected": 1}', hint = 'Plan again.'; end $$"""
        )
    assert caught.value.details == {"expected": 1}
    assert caught.value.hint == "Plan again."


def test_fresh_equals_upgraded(server: Server) -> None:
    """Installed twice, a database holds what it held after the first time."""
    dsn = server.create_database("template0")
    try:
        with psycopg.connect(dsn) as conn:
            install(conn)
            conn.commit()
            fresh = _dump(server, dsn)
            assert install(conn) == []
        assert _dump(server, dsn) == fresh
    finally:
        server.drop_database(dsn)


def _parameters(method: Any) -> list[inspect.Parameter]:
    return list(inspect.signature(method).parameters.values())[1:]


def _returned(method: Any) -> tuple[bool, Any, Any]:
    returned = typing.get_type_hints(method)["return"]
    is_set = typing.get_origin(returned) is list
    if is_set:
        (returned,) = typing.get_args(returned)
    if is_dataclass(returned):
        return is_set, returned.__name__, [field.name for field in fields(returned)]
    return is_set, [], returned


def _columns(count: int) -> str:
    return ", ".join(f"c{i}" for i in range(count))


def _same(ours: Any, theirs: Any) -> bool:
    if ours == ():
        return theirs == []
    if hasattr(ours, "total_seconds"):
        return str(theirs) == str(ours).rjust(8, "0")
    return bool(ours == theirs)


def _camel(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_"))


def _dump(server: Server, dsn: str) -> str:
    target = conninfo_to_dict(dsn)
    where = make_conninfo(host=target["host"], port=target["port"], user=target["user"])
    done = subprocess.run(
        [
            server.binaries / "pg_dump",
            "--schema-only",
            f"--dbname={where} dbname={target['dbname']}",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "CREATE FUNCTION replay._now" in done.stdout
    # Newer releases of pg_dump draw a key for each dump.
    return re.sub(r"^\\(un)?restrict .*$", "", done.stdout, flags=re.MULTILINE)
