"""Named pause points, in test databases only: a race becomes a schedule that is always the same.

A point is a line put into a SQL function. A session stops there if it named the point when it
connected (`stopping_at`) and a test holds the point; all others pass. Whoever stops waits for an
advisory lock, so that pg_locks shows it and nobody sleeps.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg.conninfo import make_conninfo

from pyreplay.install import DB
from tests.support import wait_until

Connection = psycopg.Connection[Any]

# Two-part keys, which never meet the engine's, which have one.
_CLASS = 4711
_PAUSE = f"""
create or replace function replay._pause(p_point text)
  returns void
  language plpgsql
  volatile
  set search_path = ''
as $$
begin
  if p_point = current_setting('replay.pause_at', true) then
    perform pg_advisory_lock_shared({_CLASS}, hashtext(p_point));
    perform pg_advisory_unlock_shared({_CLASS}, hashtext(p_point));
  end if;
end;
$$;
grant execute on function replay._pause to public;
"""
_WAITERS = f"""
select count(*) >= %s from pg_locks l
where l.locktype = 'advisory' and l.objsubid = 2 and not l.granted and l.classid = {_CLASS}
  and l.objid::bigint = hashtext(%s)::bigint & 4294967295
  and l.database = (select d.oid from pg_database d where d.datname = current_database())
"""


def replace_in(conn: Connection, function: str, *changes: tuple[str, str]) -> None:
    """Load a function again with each old text, which is there once, replaced by the new."""
    row = conn.execute(
        "select pg_get_functiondef(p.oid), p.prosqlbody is not null from pg_proc p"
        " where p.pronamespace = 'replay'::regnamespace and p.proname = %s",
        (function,),
    ).fetchone()
    assert row, f"there is no {function}"
    # A parsed body has lost its text; the others keep what was changed in them before.
    source = (DB / f"functions/{function}.sql").read_text() if row[1] else row[0]
    for old, new in changes:
        assert source.count(old) == 1, f"{function} has changed: {old!r} is not there once"
        source = source.replace(old, new)
    conn.execute(source.encode())


def pause_at(conn: Connection, function: str, *, after: str, name: str, when: str = "true") -> None:
    """Put the point `name` into a plpgsql function, behind a text that ends a statement.

    when: a condition in the function's own terms, without which nobody stops.
    """
    conn.execute(_PAUSE)
    pause = f"{after}\n  if {when} then perform replay._pause('{name}'); end if;"
    replace_in(conn, function, (after, pause))


def stopping_at(dsn: str, name: str) -> str:
    """A DSN whose sessions stop at the point of that name while a test holds it."""
    return make_conninfo(dsn, options=f"-c replay.pause_at={name}")


class Point:
    """A point that is held: whoever comes there waits until it is let pass."""

    def __init__(self, conn: Connection, name: str) -> None:
        self.conn, self.name = conn, name

    def wait_until_reached(self, count: int = 1) -> None:
        wait_until(self.conn, _WAITERS, (count, self.name))

    def let_pass(self) -> None:
        """From now on everybody passes. Harmless when called again."""
        self.conn.execute(
            f"select pg_advisory_unlock({_CLASS}, hashtext(%(name)s)) from pg_locks"
            f" where pid = pg_backend_pid() and classid = {_CLASS} and granted"
            "  and objid::bigint = hashtext(%(name)s)::bigint & 4294967295",
            {"name": self.name},
        )


@contextmanager
def hold(dsn: str, name: str) -> Iterator[Point]:
    """Hold a point, in a session of its own, until the block is left."""
    conn = psycopg.connect(dsn, autocommit=True)
    try:
        conn.execute(f"select pg_advisory_lock({_CLASS}, hashtext(%s))", (name,))
        yield Point(conn, name)
    finally:
        # Whatever became of the server; the lock ends with its session.
        conn.close()
