"""Who may call what, for whose host: every public function, role and host, from the catalogue.

A function without a rule fails, and so does a rule without a function.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

import psycopg
import pytest
from psycopg import sql

from tests.schedule import replace_in
from tests.world import HOST, OTHER_HOST, World

ROLES = ("reader", "operator", "approver", "processor", "appender", "gateway")
OWNER = ""
RULES = {
    "add_member": OWNER,
    "append_transaction": "appender",
    "append_transactions": "appender",
    "approve_request": "approver",
    "assert_actor": "gateway",
    "begin_items": "processor",
    "begin_trial": "processor",
    "cancel_request": "operator approver",
    "capture_failure": "processor",
    "claim_batch": "processor",
    "claim_request": "processor",
    "complete_batch": "processor",
    "complete_items": "processor",
    "create_request": "operator",
    "end_trial": "processor",
    "exclude_types": "operator",
    "execute_request": "operator",
    "expect_instance": "operator",
    "get_failure": "reader",
    "get_registry": "reader appender processor",
    "get_request": "reader operator approver processor",
    "get_status": "reader",
    "get_timeline": "reader",
    "list_failures": "reader",
    "list_items": "reader",
    "list_requests": "reader",
    "load_batch": "processor",
    "load_items": "processor",
    "place_hold": "operator",
    "pause_execution": "operator",
    "pause_projection": "operator",
    "preview_request": "operator",
    "prune_ledger": "operator",
    "prune_outbox": "operator",
    "publish_registry": "operator",
    "register_projection": "operator processor",
    "release_request": "operator approver",
    "release_hold": "operator",
    "remove_member": OWNER,
    "remove_payloads": "operator",
    "report_drain": "processor",
    "report_fault": "processor",
    "report_instance": "processor",
    "resume_execution": "operator",
    "resume_projection": "operator",
    "retire_projection": "operator approver",
    "roll_back_items": "processor",
    "run_batch": "processor",
    "set_capacity": "operator",
    "set_lanes": "operator",
    "settle_items": "processor",
    "start_projection": "operator",
    "waive_failures": "operator approver",
    "yield_request": "processor",
}
# Whom it names is no host that one acts for.
HOSTLESS = {"assert_actor", "add_member", "remove_member"}
# What says who may act where, and what is of no host.
READABLE = {"host_member", "projection", "config"}

FUNCTIONS = """
select p.proname, array_agg(a.name order by a.place),
  array_agg(format_type(a.type, null) order by a.place), p.pronargs - p.pronargdefaults
from pg_proc p
cross join lateral unnest(p.proargnames, p.proargtypes::oid[]) with ordinality a (name, type, place)
where p.pronamespace = 'replay'::regnamespace and p.proname !~ '^_' and a.place <= p.pronargs
group by p.oid
union all
select p.proname, '{}', '{}', 0 from pg_proc p
where p.pronamespace = 'replay'::regnamespace and p.proname !~ '^_' and p.pronargs = 0
order by 1"""

VALUES = {
    "uuid": "gen_random_uuid()",
    "text": "'orders'",
    "integer": "1",
    "bigint": "1",
    "boolean": "false",
    "bytea": r"'\x00'",
    "jsonb": "'[]'",
    "interval": "'1 minute'",
    "xid8": "'3'",
    "text[]": "'{x}'",
    "integer[]": "'{1}'",
    "bytea[]": r"'{\\x00}'",
    "uuid[]": "array[gen_random_uuid()]",
}

READ = """
select relname, seq_tup_read + coalesce(idx_tup_fetch, 0) + n_tup_ins + n_tup_upd + n_tup_del
from pg_stat_xact_user_tables where schemaname = 'replay'"""


@pytest.fixture
def people(world: World) -> World:
    """One login role for each of ours, a member of HOST alone; both hosts have a failure."""
    for role in ROLES:
        name = f"m_{role}"
        if not world.conn.execute("select from pg_roles where rolname = %s", (name,)).rowcount:
            world.conn.execute(f"create role {name} login; grant replay_{role} to {name}")
        world.replay.add_member(name, HOST)
    world.trouble |= {"A@1": lambda cursor: cursor.execute("select 1/0")}
    for host_id in (HOST, OTHER_HOST):
        world.append_each("A@1", "A@2", "B@1", "u1", host_id=host_id)
    world.run()
    for host_id in (HOST, OTHER_HOST):
        failures = [f.failure_id for f in world.failures(host_id=host_id)]
        world.replay.create_request(host_id, "orders", failure_ids=failures, reason="all")
    return world


@contextmanager
def acting(conn: psycopg.Connection, name: str) -> Iterator[None]:
    with conn.transaction(force_rollback=True):
        conn.execute(sql.SQL("set local session authorization {}").format(sql.Identifier(name)))
        yield


def outcome(conn: psycopg.Connection, call: str) -> tuple[str, set[str]]:
    """The SQLSTATE of a call, and which tables it has read from or written to."""
    code, before = "00000", dict(conn.execute(READ))
    try:
        with conn.transaction():
            conn.execute(call)
    except psycopg.Error as error:
        code = error.sqlstate or "?"
    conn.execute("reset session authorization")
    after = dict(conn.execute(READ))
    return code, {name for name, rows in after.items() if rows > before.get(name, 0)} - READABLE


def call_of(function: str, names: list[str], types: list[str], host_id: UUID, facts: dict) -> str:
    """A call with all arguments, about this host and what it has."""
    given = {"p_host_id": f"'{host_id}'", "p_host_ids": f"array['{host_id}'::uuid]", **facts}
    arguments = ", ".join(
        f"{name} => {given.get(name) or VALUES[kind]}"
        for name, kind in zip(names, types, strict=True)
        if name != "p_after"
    )
    return f"select replay.{function}({arguments})"


def facts_of(world: World, host_id: UUID) -> dict[str, str]:
    (failure,) = world.failures(host_id=host_id)
    (request,) = world.replay.list_requests(host_id)
    return {
        "p_failure_id": f"'{failure.failure_id}'",
        "p_failure_ids": f"array['{failure.failure_id}'::uuid]",
        "p_request_id": f"'{request.request_id}'",
        "p_plan_hash": f"'\\x{request.plan_hash.hex()}'",
        "p_transaction_ids": "array['A@1']",
        "p_status": "null",
        "p_scope_type": "null",
        "p_scope_key": "null",
        "p_error_code": "null",
        "p_consumer_group": "'default'",
        "p_lane": "0",
    }


@pytest.mark.both_servers
def test_I15_each_role_may_do_what_is_its_own_for_its_own_host(people: World) -> None:
    conn = people.conn
    functions = conn.execute(FUNCTIONS).fetchall()
    assert {name for name, *_ in functions} == set(RULES)
    facts = {host_id: facts_of(people, host_id) for host_id in (HOST, OTHER_HOST)}
    wrong, cells = [], 0
    for function, names, types, _ in functions:
        about = {"p_host_id", "p_host_ids"} & set(names) and function not in HOSTLESS
        for role in ROLES:
            for host_id in (HOST, OTHER_HOST) if about else (HOST,):
                call = call_of(function, names, types, host_id, facts[host_id])
                with acting(conn, f"m_{role}"):
                    code, touched = outcome(conn, call)
                cells += 1
                if role not in RULES[function].split():
                    right = code == "42501" and not touched
                elif host_id == HOST:
                    right = code not in ("42501", "RP401")
                else:
                    right = code == "RP401" and not touched
                if not right:
                    wrong.append((function, role, host_id, code, touched))
    assert not wrong
    assert cells >= 300


@pytest.mark.both_servers
def test_I15_views_and_lists_show_own_hosts_only(people: World) -> None:
    conn = people.conn
    views = conn.execute(
        """select c.relname from pg_class c
           where c.relnamespace = 'replay'::regnamespace and c.relkind = 'v'
             and has_table_privilege('replay_reader', c.oid, 'select')
             and exists (select from pg_attribute a
                         where a.attrelid = c.oid and a.attname = 'host_id')"""
    ).fetchall()
    shown = {}
    for (view,) in views:
        query = f"select host_id from replay.{view}"
        shown[view] = {host_id for (host_id,) in conn.execute(query)} - {None}
        with acting(conn, "m_reader"):
            seen = {host_id for (host_id,) in conn.execute(query)} - {None}
        assert seen <= {HOST}, view
    # Of these there is something of both hosts to see.
    both = {name for name, hosts in shown.items() if hosts == {HOST, OTHER_HOST}}
    assert both >= {"audit_log", "blocked_scope", "open_failure", "request_status", "request_plan"}
    assert both >= {"deferred_work", "projection_lag", "projection_counter", "transaction_status"}
    with acting(conn, "m_reader"):
        assert {f.host_id for f in people.failures()} == {HOST}
        assert {r.host_id for r in people.replay.list_requests()} == {HOST}


def test_I15_a_processor_claims_for_its_own_hosts_only(people: World) -> None:
    for host_id in (HOST, OTHER_HOST):
        people.append_each("C@1", host_id=host_id)
    with acting(people.conn, "m_processor"):
        assert {t.host_id for t in people.replay.claim_batch("orders")} == {HOST}


def test_who_is_a_member_of_no_host_sees_nothing(people: World) -> None:
    people.replay.remove_member("m_reader", HOST)
    with acting(people.conn, "m_reader"):
        assert people.failures() == []
        assert people.conn.execute("select * from replay.open_failure").fetchall() == []


def test_a_gateway_acts_for_who_is_a_member_and_for_one_host(people: World) -> None:
    conn, replay = people.conn, people.replay
    conn.execute("grant replay_reader to m_gateway")
    replay.add_member("m_gateway")
    replay.add_member("carol@example.org", OTHER_HOST)
    try:
        with acting(conn, "m_gateway"):
            replay.assert_actor("carol@example.org", OTHER_HOST)
            assert {f.host_id for f in people.failures()} == {OTHER_HOST}
            with pytest.raises(psycopg.Error) as refused:
                people.failures(host_id=HOST)
            assert refused.value.sqlstate == "RP401"
        with acting(conn, "m_gateway"):
            # Not a member there, whatever the gateway is.
            replay.assert_actor("carol@example.org", HOST)
            assert people.failures() == []
    finally:
        conn.execute("revoke replay_reader from m_gateway")


def test_membership_is_audited_and_given_once(world: World) -> None:
    for _ in range(2):
        world.replay.add_member("dora", HOST)
    world.replay.remove_member("dora")
    world.replay.remove_member("dora", HOST)
    query = "select action, detail from replay.audit where action ~ '^MEMBER' order by audit_id"
    assert world.conn.execute(query).fetchall() == [
        ("MEMBER_ADDED", {"member": "dora"}),
        ("MEMBER_REMOVED", {"member": "dora"}),
    ]


@pytest.mark.parametrize(
    ("function", "old", "new"),
    [
        ("get_failure", "perform replay._check_host(p_host_id);", ""),
        ("_own_hosts", "is false then", "is false and false then"),
    ],
)
def test_I15_sabotage_is_caught(people: World, function: str, old: str, new: str) -> None:
    replace_in(people.conn, function, (old, new))
    with pytest.raises(AssertionError):
        test_I15_each_role_may_do_what_is_its_own_for_its_own_host(people)
