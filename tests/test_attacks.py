"""Attempts to be somebody else, to be elsewhere, or to do more than a role may.

Each is refused by name, and nothing has changed.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest
from psycopg import sql

from tests.schedule import DB
from tests.test_matrix import FUNCTIONS, VALUES
from tests.world import HOST, OTHER_HOST, World, payloads

ROLES = ("reader", "operator", "approver", "processor", "appender", "gateway")
INJECTION = "x'); drop table app.seen; select ('"

TABLES = """
select oid::regclass::text from pg_class
where relnamespace = 'replay'::regnamespace and relkind = 'r'"""


def state(world: World) -> dict[str, object]:
    """What is in every table of the engine."""
    tables = [name for (name,) in world.conn.execute(TABLES).fetchall()]
    query = "select md5(string_agg(t::text, '' order by t::text)) from {} t"
    return {name: world.conn.execute(query.format(name).encode()).fetchone() for name in tables}


@pytest.fixture
def mallory(world: World) -> Iterator[psycopg.Connection]:
    """A login role in every role but the gateway, a member of HOST alone."""
    world.trouble["A@1"] = lambda cursor: cursor.execute("select 1/0")
    for host_id in (HOST, OTHER_HOST):
        world.append_each("A@1", "B@1", host_id=host_id)
    world.run()
    if not world.conn.execute("select from pg_roles where rolname = 'mallory'").rowcount:
        world.conn.execute("create role mallory login")
    for role in ROLES[:-1]:
        world.conn.execute(f"grant replay_{role} to mallory")
    world.replay.add_member("mallory", HOST)
    with psycopg.connect(world.dsn, user="mallory", autocommit=True) as conn:
        yield conn


@contextmanager
def refused(world: World, conn: psycopg.Connection, *codes: str) -> Iterator[None]:
    """What stands here is refused with one of these codes, and changes nothing."""
    before = state(world)
    with pytest.raises(psycopg.Error) as error:
        yield
    assert error.value.sqlstate in codes, error.value
    assert state(world) == before


@pytest.mark.parametrize("setting", ["replay.actor", "replay.host"])
def test_I15_forged_settings_are_refused(
    world: World, mallory: psycopg.Connection, setting: str
) -> None:
    value = "alice" if setting == "replay.actor" else str(OTHER_HOST)
    mallory.execute("select set_config(%s, %s, false)", (setting, value))
    for call in (
        f"select replay.list_failures('{HOST}')",
        f"select replay.list_failures('{OTHER_HOST}')",
        "select replay.pause_execution('me')",
        "select * from replay.open_failure",
        "select replay.claim_batch('orders')",
    ):
        with refused(world, mallory, "RP402"):
            mallory.execute(call)
    with refused(world, mallory, "42501"):
        mallory.execute("select replay.assert_actor('alice', %s)", (OTHER_HOST,))


def test_a_forged_clock_moves_no_lease_and_no_expiry() -> None:
    """Test databases have a clock of their own; the one that is shipped reads no setting."""
    assert "current_setting" not in (DB / "functions/_now.sql").read_text()


def test_the_actor_is_who_logged_in(world: World, mallory: psycopg.Connection) -> None:
    mallory.execute("set role replay_operator")
    mallory.execute("select replay.pause_execution('a role taken on')")
    assert world.replay.get_status().changed_by == "mallory"
    for attack in ("set role replay_owner", "set session authorization postgres"):
        with refused(world, mallory, "42501"):
            mallory.execute(attack)


def test_a_planted_schema_is_not_found(world: World, mallory: psycopg.Connection) -> None:
    world.conn.execute("create schema authorization mallory")
    mallory.execute("set search_path = mallory, replay, pg_catalog")
    mallory.execute(
        "create table own_host (host_id uuid); insert into own_host values (null);"
        "create table host_member (member_id bigint, host_id uuid, member text);"
        "create function pg_has_role(name, text, text) returns boolean language sql"
        "  return true;"
        "create function _check_host(uuid) returns void language sql begin atomic select; end;"
        "create function _actor() returns text language sql return 'alice';"
        "create function sha256(bytea) returns bytea language sql return '\\x00'::bytea;"
        "create function liar(uuid, uuid) returns boolean language sql return true;"
        "create operator = (leftarg = uuid, rightarg = uuid, function = liar)"
    )
    with refused(world, mallory, "RP401"):
        mallory.execute("select replay.list_failures(%s)", (OTHER_HOST,))
    shown = mallory.execute("select distinct host_id from replay.open_failure").fetchall()
    assert shown == [(HOST,)]
    mallory.execute("select replay.pause_execution('planted')")
    assert world.replay.get_status().changed_by == "mallory"


def test_sql_in_every_text_argument_is_only_text(world: World, mallory: psycopg.Connection) -> None:
    calls = 0
    texts = {"text": f"$x${INJECTION}$x$", "text[]": f"array[$x${INJECTION}$x$]"}
    for function, names, types, _ in world.conn.execute(FUNCTIONS).fetchall():
        for attacked, kind in zip(names, types, strict=True):
            if kind not in texts:
                continue
            arguments = ", ".join(
                f"{name} => "
                + (
                    texts[kind]
                    if name == attacked
                    else f"'{HOST}'"
                    if name == "p_host_id"
                    else VALUES[other]
                )
                for name, other in zip(names, types, strict=True)
            )
            calls += 1
            for conn in (mallory, world.conn):
                with pytest.raises(psycopg.Error), conn.transaction():
                    conn.execute(f"select replay.{function}({arguments})")
                    # What is no error is rolled back.
                    conn.execute("select 1/0")
    assert calls > 40
    assert world.conn.execute("select to_regclass('app.seen')").fetchone() != (None,)


def test_nobody_touches_the_tables(world: World) -> None:
    tables = world.conn.execute(
        """select oid::regclass::text from pg_class
           where relnamespace = 'replay'::regnamespace and relkind in ('r', 'S')"""
    ).fetchall()
    for role in ROLES:
        name = f"t_{role}"
        if not world.conn.execute("select from pg_roles where rolname = %s", (name,)).rowcount:
            world.conn.execute(f"create role {name} login; grant replay_{role} to {name}")
        world.replay.add_member(name)
        with psycopg.connect(world.dsn, user=name, autocommit=True) as conn:
            for (table,) in tables:
                for attack in (
                    f"select * from {table}",
                    f"insert into {table} default values",
                    f"delete from {table}",
                    f"truncate {table}",
                    f"drop table {table}",
                ):
                    with pytest.raises(psycopg.Error) as error:
                        conn.execute(sql.SQL(attack))  # type: ignore[arg-type]
                    assert error.value.sqlstate in ("42501", "42809"), (role, attack)


def test_what_is_too_long_is_refused(world: World, mallory: psycopg.Connection) -> None:
    (failure,) = world.failures(host_id=HOST)
    reason = "x" * 10_000_000
    with refused(world, mallory, "RP001"):
        mallory.execute("select replay.pause_execution(%s)", (reason,))
    with refused(world, mallory, "RP001"):
        mallory.execute(
            "select replay.create_request(%s, 'orders', p_failure_ids => array[%s::uuid],"
            " p_reason => %s)",
            (HOST, failure.failure_id, reason),
        )
    event = payloads(HOST, "big", ["C@1"])[0]
    padded = event[:-1] + b', "pad": "' + b"x" * 64_000_000 + b'"}'
    with refused(world, mallory, "RP004"):
        mallory.execute(
            "select replay.append_transaction(%s, 'big', array[%b::bytea], %s)",
            (HOST, padded, world.registry.digest),
        )


def test_two_people_are_two_logins(world: World, mallory: psycopg.Connection) -> None:
    """I8: not one person, whatever roles they have."""
    (failure,) = world.failures(host_id=HOST)
    row = mallory.execute(
        "select request_id, plan_hash from replay.create_request(%s, 'orders',"
        " p_failure_ids => array[%s::uuid], p_reason => 'mine')",
        (HOST, failure.failure_id),
    ).fetchone()
    assert row
    mallory.execute("set role replay_approver")
    with refused(world, mallory, "RP210"):
        mallory.execute("select replay.approve_request(%s, %s, %s, 'mine')", (HOST, *row))
