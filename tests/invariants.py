"""The invariants that README.md promises, as code.

`check_invariants` asks what must hold in any database between transactions. The functions behind it
each bring one invariant into play in a fresh world and assert it; test_sabotage breaks the engine
under them one by one.
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any

import psycopg

from pyreplay import execution
from pyreplay.errors import ApproverMustDiffer, RowImmutable, StalePlan
from tests.world import HOST, World, divide, fail

# Each query finds what breaks its rule.
RULES = {
    "I1: a position passed what was not dealt with": """
        select p.projection_id, o.host_id, o.lane, o.source_offset, o.transaction_id
        from replay.position p
        join replay.projection j on j.projection_id = p.projection_id
        join replay.outbox o on (o.host_id, o.lane) = (p.host_id, p.lane)
          and o.source_offset <= p.last_offset
        join replay.transaction t on (t.host_id, t.transaction_id) = (o.host_id, o.transaction_id)
        where (j.start_at = 'BEGINNING' or t.appended_at > j.started_at)
          and not exists (select from replay.deferred d
            where (d.host_id, d.projection_id, d.transaction_id)
              = (o.host_id, p.projection_id, o.transaction_id))
          and not exists (select from replay.failure f
            where (f.host_id, f.projection_id, f.transaction_id)
              = (o.host_id, p.projection_id, o.transaction_id))
          and not exists (select from replay.evidence e
            where (e.host_id, e.projection_id, e.transaction_id)
              = (o.host_id, p.projection_id, o.transaction_id))
          and not exists (select from replay.ledger l
            where (l.host_id, l.projection_id, l.transaction_id)
              = (o.host_id, p.projection_id, o.transaction_id))
          and exists (select from unnest(t.scopes) s
            left join replay.progress g
              on (g.host_id, g.projection_id, g.scope_type, g.scope_key)
                = (o.host_id, p.projection_id, s.scope_type, s.scope_key)
            where coalesce(g.version, 0) < coalesce(s.last_version, 1))""",
    "I2: bytes differ from their digest, or a failure's from what was appended": """
        select e.host_id, e.transaction_id, e.ordinal
        from replay.event e where e.digest <> sha256(e.payload)
        union all
        select m.host_id, f.transaction_id, m.ordinal
        from replay.failure_member m
        join replay.failure f on (f.host_id, f.failure_id) = (m.host_id, m.failure_id)
        left join replay.event e
          on (e.host_id, e.transaction_id, e.ordinal) = (f.host_id, f.transaction_id, m.ordinal)
        where m.digest <> sha256(m.payload) or e.payload is distinct from m.payload""",
    "I2: a fingerprint is not that of the bytes": """
        select f.host_id, f.transaction_id
        from replay.failure f
        where f.fingerprint <> replay._transaction_fingerprint(
          f.host_id, f.projection_id, f.transaction_id)""",
    "I3: a failed transaction has two rows, or is deferred or applied as well": """
        select f.host_id, f.projection_id, f.transaction_id
        from replay.failure f
        group by f.host_id, f.projection_id, f.transaction_id having count(*) > 1
        union all
        select f.host_id, f.projection_id, f.transaction_id
        from replay.failure f
        join replay.deferred d on (d.host_id, d.projection_id, d.transaction_id)
          = (f.host_id, f.projection_id, f.transaction_id)
        union all
        select f.host_id, f.projection_id, f.transaction_id
        from replay.failure f
        join replay.ledger l on (l.host_id, l.projection_id, l.transaction_id)
          = (f.host_id, f.projection_id, f.transaction_id)
        where f.status = 'OPEN'""",
    "I4: a failure is not the whole transaction": """
        select f.host_id, f.transaction_id
        from replay.failure f
        join replay.transaction t on (t.host_id, t.transaction_id) = (f.host_id, f.transaction_id)
        where f.member_count <> t.member_count
          or t.member_count <> (select count(*) from replay.failure_member m
            where (m.host_id, m.failure_id) = (f.host_id, f.failure_id))
          or t.scopes is distinct from array(
            select row(s.scope_type, s.scope_key, s.first_version, s.last_version)
              ::replay.scope_range
            from replay.failure_scope s
            where (s.host_id, s.failure_id) = (f.host_id, f.failure_id)
            order by s.scope_type collate "C", s.scope_key collate "C")""",
    "I4: what is deferred is not the whole transaction": """
        select d.host_id, d.transaction_id
        from replay.deferred d
        join replay.transaction t on (t.host_id, t.transaction_id) = (d.host_id, d.transaction_id)
        where t.scopes is distinct from array(
          select row(s.scope_type, s.scope_key, s.first_version, s.last_version)
            ::replay.scope_range
          from replay.deferred_scope s
          where (s.host_id, s.projection_id, s.transaction_id)
            = (d.host_id, d.projection_id, d.transaction_id)
          order by s.scope_type collate "C", s.scope_key collate "C")""",
    "I5: two failures are OPEN in one scope": """
        select s.host_id, s.projection_id, s.scope_type, s.scope_key
        from replay.failure_scope s
        where s.is_open and s.scope_type <> 'TRANSACTION'
        group by s.host_id, s.projection_id, s.scope_type, s.scope_key having count(*) > 1""",
    "I5: a scope does not stand as its failure does": """
        select s.host_id, f.transaction_id, s.scope_key
        from replay.failure_scope s
        join replay.failure f on (f.host_id, f.failure_id) = (s.host_id, s.failure_id)
        where s.is_open <> (f.status = 'OPEN')""",
    "I5: progress is past an OPEN failure, or past the stream": """
        select s.host_id, s.projection_id, s.scope_type, s.scope_key
        from replay.failure_scope s
        join replay.progress p on (p.host_id, p.projection_id, p.scope_type, p.scope_key)
          = (s.host_id, s.projection_id, s.scope_type, s.scope_key)
        where s.is_open and p.version >= s.first_version
        union all
        select p.host_id, p.projection_id, p.scope_type, p.scope_key
        from replay.progress p
        left join replay.stream_head h
          on (h.host_id, h.scope_type, h.scope_key) = (p.host_id, p.scope_type, p.scope_key)
        where p.version > coalesce(h.version, 0)""",
    "I6: a position is outside of its lane": """
        select p.host_id, p.projection_id, p.lane
        from replay.position p
        left join replay.outbox_lane l on (l.host_id, l.lane) = (p.host_id, p.lane)
        where p.last_offset not between 0 and coalesce(l.last_offset, 0)""",
    "I7: what ran was not what two people agreed on": """
        select r.host_id, r.request_id
        from replay.request r
        join replay.request_item i on (i.host_id, i.request_id) = (r.host_id, r.request_id)
        join replay.failure f on (f.host_id, f.failure_id) = (i.host_id, i.failure_id)
        where r.status in ('INSTALLING_BARRIER', 'RUNNING', 'SUCCEEDED', 'FAILED')
          and (r.approved_by is null or r.approved_by = r.requested_by or r.executed_by is null
            or i.fingerprint <> f.fingerprint)
        union all
        select f.host_id, f.resolved_by_request_id
        from replay.failure f
        left join replay.request_item i on (i.host_id, i.request_id, i.failure_id)
          = (f.host_id, f.resolved_by_request_id, f.failure_id)
        where f.status = 'RESOLVED' and i.status is distinct from 'SUCCEEDED'
        union all
        select r.host_id, r.request_id
        from replay.request r
        where r.item_count <> (select count(*) from replay.request_item i
          where (i.host_id, i.request_id) = (r.host_id, r.request_id))""",
    "I10: a failure was resolved twice": """
        select i.host_id, i.failure_id
        from replay.request_item i
        where i.status = 'SUCCEEDED'
        group by i.host_id, i.failure_id having count(*) > 1""",
    "I11: a barrier stands without a running request": """
        select b.host_id, b.request_id, b.scope_key
        from replay.barrier b
        join replay.request r on (r.host_id, r.request_id) = (b.host_id, b.request_id)
        where r.status <> 'RUNNING'""",
    "I11: a deferred transaction is next, and nothing wakes it": """
        select d.host_id, d.projection_id, d.transaction_id
        from replay.deferred d
        where not exists (select from replay.wake w
            where (w.host_id, w.projection_id, w.transaction_id)
              = (d.host_id, d.projection_id, d.transaction_id))
          and not exists (select from replay.deferred_scope s
            left join replay.progress p
              on (p.host_id, p.projection_id, p.scope_type, p.scope_key)
                = (s.host_id, s.projection_id, s.scope_type, s.scope_key)
            left join replay.barrier b
              on (b.host_id, b.projection_id, b.scope_type, b.scope_key)
                = (s.host_id, s.projection_id, s.scope_type, s.scope_key)
            where (s.host_id, s.projection_id, s.transaction_id)
                = (d.host_id, d.projection_id, d.transaction_id)
              and (s.first_version > coalesce(p.version, 0) + 1 or b.scope_key is not null))""",
    "I13: a request SUCCEEDED without every item": """
        select r.host_id, r.request_id
        from replay.request r
        join replay.request_item i on (i.host_id, i.request_id) = (r.host_id, r.request_id)
        where r.status = 'SUCCEEDED' and i.status not in ('SUCCEEDED', 'ROLLED_BACK')""",
    "a batch outlived its database transaction": """
        select b.xact_id, b.ord from replay.batch_item b
        union all
        select o.xact_id, o.append_order from replay.outbox_pending o""",
}

# The same of tests.world's read model, where one projection writes it from the beginning on.
EFFECTS = {
    "I5: versions were not applied one by one, up to progress": """
        with applied as (
          select a.host_id, l[1] as name, l[2] as kind, l[3]::bigint as version, a.place,
            lag(l[3]::bigint, 1, 0) over (
              partition by a.host_id, l[1], l[2] order by a.place) as before
          from app.seen a cross join regexp_match(a.label, '^(\\w+)([@#])(\\d+)$') l
          where l is not null)
        select a.host_id, a.name, a.version
        from applied a
        where a.version - a.before <> 1 and not (a.kind = '#' and a.version = a.before)
        union all
        select a.host_id, a.name, max(a.version)
        from applied a
        group by a.host_id, a.name, a.kind
        having max(a.version) is distinct from (select max(p.version) from replay.progress p
          where p.host_id = a.host_id
            and p.scope_key = case a.kind when '@' then 'Thing:' else '' end || a.name)
        union all
        select p.host_id, p.scope_key, p.version
        from replay.progress p
        where not exists (select from applied a
          where a.host_id = p.host_id
            and p.scope_key = case a.kind when '@' then 'Thing:' else '' end || a.name)""",
    "I10, I11: an event was applied twice": """
        select a.host_id, a.event_id from app.seen a
        group by a.host_id, a.event_id having count(*) > 1""",
    "I2: a handler got other bytes than were appended": """
        select a.host_id, a.event_id
        from app.seen a
        left join replay.event e on (e.host_id, e.event_id) = (a.host_id, a.event_id)
        where e.payload is distinct from a.payload""",
    "I4: a transaction was applied in part": """
        select t.host_id, t.transaction_id
        from replay.transaction t
        join app.seen a on (a.host_id, a.transaction_id) = (t.host_id, t.transaction_id)
        group by t.host_id, t.transaction_id having count(*) <> t.member_count""",
}


def find_violations(conn: psycopg.Connection[Any]) -> dict[str, list[Any]]:
    """The rules that are broken, each with the rows that break it."""
    rules = dict(RULES)
    if conn.execute("select where to_regclass('app.seen') is not null").rowcount:
        rules |= EFFECTS
    found = {rule: conn.execute(query).fetchall() for rule, query in rules.items()}
    return {rule: rows for rule, rows in found.items() if rows}


def check_invariants(conn: psycopg.Connection[Any]) -> None:
    """Assert what must hold in any database while no transaction runs in it."""
    assert find_violations(conn) == {}


def a_position_passes_nothing(world: World) -> None:
    world.start()
    world.trouble["B@1"] = fail
    world.append("t1", "A@1")
    world.append("t2", "B@1")
    world.append("t3", "B@2")
    world.append("t4", "u1")
    with closing(world.processor(limit=1)) as processor:
        while processor.step():
            check_invariants(world.conn)
    assert world.seen() == ["A@1", "u1"]
    assert world.position() == 4


def bytes_never_change(world: World) -> None:
    world.start()
    world.append("t1", "A@1")
    world.append("t2", "B@1")
    world.trouble["B@1"] = fail
    world.run()
    world.trouble.clear()
    world.execute(world.plan())
    check_invariants(world.conn)
    world.append("t3", "B@2")
    world.trouble["B@2"] = fail
    world.run()
    world.trouble.clear()
    request = world.plan()
    world.replay.execute_request(HOST, request.request_id, request.plan_hash, reason="go")
    tamper = "update replay.{} set payload = payload || ' ' where event_type = 'Stepped'"
    for table in ("event", "failure_member"):
        with suppress(RowImmutable):
            world.conn.execute(tamper.format(table))
    check_invariants(world.conn)
    with damaging(world.conn):
        world.conn.execute(tamper.format("failure_member"))
    request = _run_intended(world, request)
    assert (request.status, request.failure_code) == ("FAILED", "STALE_PLAN")
    assert world.seen() == ["A@1", "B@1"]


def a_failure_is_one_row(world: World) -> None:
    world.start()
    world.trouble |= {"A@1": fail, "u1": divide}
    world.append("t1", "A@1")
    world.append("t2", "u1")
    world.append("t3", "A@2")
    for _ in range(3):
        world.run()
        assert sorted(f.transaction_id for f in world.failures()) == ["t1", "t2"]
        check_invariants(world.conn)
        # Deliver all of it again. No function does that: a position never goes back.
        world.conn.execute("update replay.position set last_offset = 0")
    assert world.count("deferred") == 1
    assert world.count("observation") == 3


def a_transaction_is_whole(world: World) -> None:
    world.start()
    world.trouble["B@1"] = divide
    world.append("t1", "A@1", "B@1", "C@1")
    world.append("t2", "C@2", "D@1")
    world.append("t3", "E@1", "E@2")
    world.run()
    assert world.seen() == ["E@1", "E@2"]
    check_invariants(world.conn)
    world.trouble.clear()
    world.heal()
    assert world.seen() == ["E@1", "E@2", "A@1", "B@1", "C@1", "C@2", "D@1"]
    check_invariants(world.conn)


def versions_are_applied_one_by_one(world: World) -> None:
    world.start()
    world.trouble["A@2"] = fail
    for version in range(1, 6):
        world.append(f"t{version}", f"A@{version}")
    world.run()
    assert world.seen() == ["A@1"]
    check_invariants(world.conn)
    world.trouble.clear()
    world.heal()
    assert world.seen() == [f"A@{version}" for version in range(1, 6)]
    check_invariants(world.conn)


def replay_moves_no_position(world: World) -> None:
    world.start()
    world.trouble["A@1"] = fail
    world.append("t1", "A@1")
    for version in range(1, 9):
        world.append(f"b{version}", f"B@{version}")
    world.run()
    assert world.position() == 9
    world.trouble.clear()
    assert world.heal().status == "SUCCEEDED"
    assert world.position() == 9
    world.run()
    assert world.position() == 9
    check_invariants(world.conn)


def what_was_approved_is_what_runs(world: World) -> None:
    world.start()
    world.trouble |= {"A@1": fail, "B@1": fail}
    world.append("t1", "A@1")
    world.append("t2", "B@1")
    world.run()
    world.trouble.clear()
    approved, other = world.failures()
    request = world.plan(approved)
    world.conn.execute(
        "insert into replay.request_item (host_id, request_id, item_no, failure_id, fingerprint)"
        " select host_id, %s, 2, failure_id, fingerprint from replay.failure where failure_id = %s",
        (request.request_id, other.failure_id),
    )
    with suppress(StalePlan):
        world.execute(request)
    assert world.seen() == []
    assert len(world.failures()) == 2


def it_takes_two_people(world: World) -> None:
    world.start()
    world.trouble["A@1"] = fail
    world.append("t1", "A@1")
    world.run()
    request = world.plan(approve=False)
    alice = world.as_person("alice")
    with suppress(ApproverMustDiffer):
        alice.approve_request(HOST, request.request_id, request.plan_hash, reason="my own")
    alice.conn.close()
    request = world.replay.get_request(HOST, request.request_id)
    assert (request.requested_by, request.approved_by) == ("alice", None)
    assert request.status == "AWAITING_APPROVAL"


def two_executions_have_one_effect(world: World) -> None:
    world.start()
    world.trouble["A@1"] = fail
    world.append("t1", "A@1")
    world.run()
    world.trouble.clear()
    requests = [world.plan(), world.plan()]
    for request in requests:
        world.replay.execute_request(HOST, request.request_id, request.plan_hash, reason="go")
    ended = [_run_intended(world, request) for request in requests]
    assert world.seen() == ["A@1"]
    assert [request.status for request in ended] == ["SUCCEEDED", "FAILED"]
    check_invariants(world.conn)


def success_means_every_handler_ran(world: World) -> None:
    world.start()
    del world.projection._registrations["Stepped", "1"]
    world.append("t1", "u1", "A@1")
    world.run()
    assert [failure.error_code for failure in world.failures()] == ["HANDLER_MISSING"]
    assert world.heal().status == "FAILED"
    assert [failure.error_code for failure in world.failures()] == ["HANDLER_MISSING"]
    assert world.seen() == []
    check_invariants(world.conn)


def the_audit_only_grows(world: World) -> None:
    world.start()
    world.trouble["A@1"] = fail
    world.append("t1", "A@1")
    world.run()
    world.trouble.clear()
    world.heal()
    query = "select * from replay.audit order by audit_id"
    before = world.conn.execute(query).fetchall()
    actions = {row[2] for row in before}
    assert actions >= {"PROJECTION_STARTED", "FAILURE_CAPTURED", "REQUEST_APPROVED"}
    for statement in (
        "update replay.audit set actor = 'nobody'",
        "delete from replay.audit where action = 'REQUEST_APPROVED'",
        "truncate replay.audit",
    ):
        with suppress(RowImmutable):
            world.conn.execute(statement)
    assert world.conn.execute(query).fetchall() == before


def _run_intended(world: World, request: Any) -> Any:
    return execution.execute(
        world.conn, world.projection, HOST, request.request_id, request.plan_hash
    )


@contextmanager
def damaging(conn: psycopg.Connection[Any]) -> Iterator[psycopg.Transaction]:
    """A transaction in which triggers forbid nothing, as for a bug or a broken disk."""
    with conn.transaction() as transaction:
        conn.execute("set local session_replication_role = replica")
        yield transaction
