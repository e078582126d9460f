"""A test that cannot fail is a defect: each invariant's check passes on the engine as it is, and
fails on an engine that was broken on purpose. Where two defences guard one invariant, the sabotage
takes both away."""

from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from pyreplay.install import DB
from pyreplay.projection import Handler, Projection
from tests import invariants
from tests.world import World, fail

Sabotage = Callable[[World, pytest.MonkeyPatch], None]


def patch(function: str, old: str, new: str) -> Sabotage:
    """Load a SQL function again with `old` replaced by `new`."""

    def sabotage(world: World, _: pytest.MonkeyPatch) -> None:
        source = (DB / f"functions/{function}.sql").read_text()
        assert source.count(old) == 1, f"{function} has changed; sabotage it another way"
        world.conn.execute(source.replace(old, new).encode())

    return sabotage


def run(statement: str) -> Sabotage:
    """Run a statement: drop a trigger, a constraint."""
    return lambda world, _: world.conn.execute(statement) and None


def replace(owner: Any, name: str, value: Any) -> Sabotage:
    """Replace an attribute of the driver."""
    return lambda _, monkeypatch: monkeypatch.setattr(owner, name, value)


def ignore_what_is_missing(projection: Projection, event_type: str, schema: str) -> Handler | None:
    registration = projection._registrations.get((event_type, schema))
    return registration and registration.handler


TABLE: list[tuple[str, Callable[[World], None], list[Sabotage]]] = [
    (
        "I1",
        invariants.a_position_passes_nothing,
        [patch("_move_positions", "greatest(p.last_offset, c.last_offset)", "c.last_offset + 1")],
    ),
    (
        "I2",
        invariants.bytes_never_change,
        [patch("_drifted_facts", "where i.planned <> i.fingerprint\n    or", "where false and")],
    ),
    (
        "I3",
        invariants.a_failure_is_one_row,
        [
            patch(
                "_judge",
                "from replay.failure f\n        where",
                "from replay.failure f\n        where false and",
            ),
            run("alter table replay.failure drop constraint failure_transaction_unique"),
            run("drop index replay.failure_scope_open"),
        ],
    ),
    (
        "I4",
        invariants.a_transaction_is_whole,
        [
            patch(
                "_capture",
                "= (b.host_id, b.transaction_id)\n  -- The append",
                "= (b.host_id, b.transaction_id) and e.ordinal > 0\n  -- The append",
            )
        ],
    ),
    (
        "I5",
        invariants.versions_are_applied_one_by_one,
        [
            patch("_link_items", "coalesce(f.follows, '{}')", "'{}'::int[]"),
            patch("_move_progress", "if v_moved <> v_expected then", "if false then"),
        ],
    ),
    (
        "I6",
        invariants.replay_moves_no_position,
        [
            patch(
                "complete_items",
                "perform replay._resolve_failures(v_request, p_xact_id);",
                "perform replay._resolve_failures(v_request, p_xact_id);"
                " update replay.position set last_offset = 1;",
            )
        ],
    ),
    (
        "I7",
        invariants.what_was_approved_is_what_runs,
        [patch("_check_plan", "if v_drift is not null then", "if false then")],
    ),
    (
        "I8",
        invariants.it_takes_two_people,
        [
            patch("approve_request", "if v_request.requested_by = v_actor then", "if false then"),
            run("alter table replay.request drop constraint request_two_people"),
        ],
    ),
    (
        "I10",
        invariants.two_executions_have_one_effect,
        [
            patch("_check_items", "if found then", "if false then"),
            patch("_move_progress", "if v_moved <> v_expected then", "if false then"),
            run("drop trigger failure_guarded on replay.failure"),
        ],
    ),
    (
        "I13",
        invariants.success_means_every_handler_ran,
        [replace(Projection, "handler", ignore_what_is_missing)],
    ),
    (
        "I18",
        invariants.the_audit_only_grows,
        [run("drop trigger audit_immutable on replay.audit")],
    ),
]
NUMBERS = [number for number, _, _ in TABLE]


@pytest.fixture
def world(dsn: str) -> Iterator[World]:
    world = World(dsn)
    yield world
    world.close()


@pytest.mark.parametrize(("number", "check", "sabotages"), TABLE, ids=NUMBERS)
def test_invariant_holds(
    number: str, check: Callable[[World], None], sabotages: list[Sabotage], world: World
) -> None:
    check(world)


@pytest.mark.parametrize(("number", "check", "sabotages"), TABLE, ids=NUMBERS)
def test_sabotage_is_caught(
    number: str,
    check: Callable[[World], None],
    sabotages: list[Sabotage],
    world: World,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for sabotage in sabotages:
        sabotage(world, monkeypatch)
    with pytest.raises(AssertionError):
        check(world)


# For each rule of check_invariants, damage that it finds.
DAMAGE = {
    "I1: a position passed what was not dealt with": "delete from replay.deferred",
    "I2: bytes differ from their digest, or a failure's from what was appended": """
        update replay.failure_member set payload = payload || ' '""",
    "I2: a fingerprint is not that of the bytes": """
        update replay.failure set fingerprint = sha256('')""",
    "I3: a failed transaction has two rows, or is deferred or applied as well": """
        insert into replay.deferred
        select host_id, projection_id, transaction_id, lane, source_offset, captured_at
        from replay.failure""",
    "I4: a failure is not the whole transaction": """
        delete from replay.failure_member where ordinal = 1""",
    "I4: what is deferred is not the whole transaction": """
        delete from replay.deferred_scope where scope_key = 'Thing:E'""",
    "I5: two failures are OPEN in one scope": """
        drop index replay.failure_scope_open;
        update replay.failure_scope set is_open = true, scope_key = 'Thing:C'
        where scope_key = 'Thing:B'""",
    "I5: a scope does not stand as its failure does": """
        update replay.failure_scope set is_open = false""",
    "I5: progress is past an OPEN failure, or past the stream": """
        update replay.progress set scope_key = 'Thing:C' where scope_key = 'Thing:A'""",
    "I6: a position is outside of its lane": """
        update replay.position set last_offset = last_offset + 1""",
    "I7: what ran was not what two people agreed on": """
        update replay.request set approved_by = null""",
    "I10: a failure was resolved twice": """
        insert into replay.request_item
        select host_id, gen_random_uuid(), item_no, failure_id, fingerprint, status
        from replay.request_item""",
    "I11: a barrier stands without a running request": """
        insert into replay.barrier
        select i.host_id, f.projection_id, 'AGGREGATE', 'Thing:B', i.request_id, i.item_no, 1, now()
        from replay.request_item i
        join replay.failure f on (f.host_id, f.failure_id) = (i.host_id, i.failure_id)""",
    "I11: a deferred transaction is next, and nothing wakes it": """
        update replay.progress set scope_key = 'Thing:C' where scope_key = 'Thing:A'""",
    "I13: a request SUCCEEDED without every item": """
        update replay.request_item set status = 'PENDING'""",
    "a batch outlived its database transaction": """
        insert into replay.outbox_pending
        select pg_current_xact_id(), 1, host_id, 0, 'lost' from replay.position""",
    "I5: versions were not applied one by one, up to progress": """
        delete from app.seen where label = 'A@1'""",
    "I10, I11: an event was applied twice": """
        insert into app.seen (host_id, transaction_id, event_id, label, payload)
        select host_id, transaction_id, event_id, label, payload from app.seen""",
    "I2: a handler got other bytes than were appended": "update app.seen set payload = ''",
    "I4: a transaction was applied in part": "delete from app.seen where label = 'F@1'",
}


def test_every_rule_finds_damage(world: World) -> None:
    world.start()
    world.trouble |= {"B@1": fail, "C@1": fail}
    world.append("t1", "A@1")
    world.append("t2", "B@1")
    world.append("t3", "C@1", "D@1")
    world.append("t4", "C@2", "E@1")
    world.append("t5", "F@1", "F@2", "G#1", "G#1")
    world.append("t6", "u1")
    world.run()
    del world.trouble["B@1"]
    world.heal(*(failure for failure in world.failures() if failure.transaction_id == "t2"))
    invariants.check_invariants(world.conn)
    assert DAMAGE.keys() == invariants.RULES.keys() | invariants.EFFECTS.keys()
    for rule, damage in DAMAGE.items():
        with invariants.damaging(world.conn) as transaction:
            world.conn.execute(damage)
            assert rule in invariants.find_violations(world.conn)
            raise psycopg.Rollback(transaction)
    invariants.check_invariants(world.conn)
