"""Appending from Python: what the driver adds, validates, tries again, and leaves alone."""

import json
from typing import Any

import psycopg
import pytest
from psycopg import errors as pg

from pyreplay.append import Appender
from pyreplay.canonical import encode
from pyreplay.client import Replay
from pyreplay.errors import (
    AggregateProjectionBlocked,
    InvalidData,
    InvalidRegistry,
    MalformedEvent,
    OrderingInvalid,
    ReadCommittedRequired,
    RegistryEmpty,
    RegistryStale,
    ReplayError,
    TransactionConflict,
    UnknownEventType,
    VersionConflict,
)
from pyreplay.validation import (
    _validator,
    check_schema,
    load_registry,
    registry_digest,
)
from tests.conftest import Connect
from tests.world import HOST, World, divide, envelope, payloads

SCHEMA = json.dumps(
    {
        "type": "object",
        "required": ["name"],
        "properties": {"name": {"type": "string"}, "tags": {"items": {"enum": ["a/b", "c"]}}},
    }
)


def entry(event_type: str = "Opened", **changes: Any) -> dict[str, Any]:
    return {
        "event_type": event_type,
        "event_schema": "1",
        "policy": "AGGREGATE_VERSION",
        "data_schema": None,
        "repair_disposition": "FIX_AND_EXACT_REPLAY_ONLY",
        "repair_schema_version": None,
        "side_effects": "NONE",
        **changes,
    }


def opened(version: int = 1, **changes: Any) -> dict[str, Any]:
    return {
        "type": "Opened",
        "aggregatetype": "Case",
        "subject": "A",
        "aggregateversion": version,
        "data": {"name": "secret 4711"},
        **changes,
    }


@pytest.fixture
def appender(conn: psycopg.Connection[Any], replay: Replay) -> Appender:
    """An appender where Opened is published and the publishing is committed."""
    replay.publish_registry([entry()])
    conn.commit()
    return Appender(conn)


def stored(conn: psycopg.Connection[Any]) -> list[bytes]:
    rows = conn.execute("select payload from replay.event order by transaction_id, ordinal")
    return [payload for (payload,) in rows]


def test_envelope_is_completed_and_encoded_canonically(
    conn: psycopg.Connection[Any], appender: Appender
) -> None:
    transaction = appender.append(HOST, "t1", [opened(1), opened(2)])
    assert transaction.member_count == 2
    assert transaction.scopes == [
        {"scope_type": "AGGREGATE", "scope_key": "Case:A", "first_version": 1, "last_version": 2}
    ]
    events = [json.loads(payload) for payload in stored(conn)]
    assert [encode(event) for event in events] == stored(conn)
    assert [event["transactionordinal"] for event in events] == [0, 1]
    assert {event["transactioncount"] for event in events} == {2}
    assert {event["host"] for event in events} == {str(HOST)}
    assert {event["source"] for event in events} == {"urn:pyreplay"}
    assert events[0]["id"] != events[1]["id"]


def test_d9_the_same_call_again_is_answered_with_what_is_stored(
    conn: psycopg.Connection[Any], appender: Appender
) -> None:
    first = appender.append(HOST, "t1", [opened()])
    conn.commit()
    assert Appender(conn).append(HOST, "t1", [opened()]) == first
    with pytest.raises(TransactionConflict):
        appender.append(HOST, "t1", [opened(data={})])


def test_h1_key_order_in_a_dict_is_no_difference_but_key_order_in_bytes_is(
    conn: psycopg.Connection[Any], replay: Replay, appender: Appender
) -> None:
    first = appender.append(HOST, "t1", [opened(data={"name": "n", "b": 1})])
    assert appender.append(HOST, "t1", [opened(data={"b": 1, "name": "n"})]) == first
    (payload,) = stored(conn)
    event = json.loads(payload)
    digest = load_registry(replay).digest
    backwards = json.dumps(dict(reversed(event.items()))).encode()
    for other in (backwards, json.dumps(event, indent=1).encode(), payload + b" "):
        with pytest.raises(TransactionConflict), conn.transaction():
            replay.append_transaction(HOST, "t1", [other], digest)
    assert replay.append_transaction(HOST, "t1", [payload], digest) == first


def test_h3_absent_and_null_are_two_stable_digests(
    conn: psycopg.Connection[Any], appender: Appender
) -> None:
    appender.append(HOST, "t1", [opened(1, data={"name": "n"})])
    appender.append(HOST, "t2", [opened(2, data={"name": "n", "end": None})])
    absent, null = stored(conn)
    assert b'"data":{"name":"n"}' in absent
    assert b'"data":{"end":null,"name":"n"}' in null
    appender.append(HOST, "t2", [opened(2, data={"name": "n", "end": None})])
    with pytest.raises(TransactionConflict):
        appender.append(HOST, "t2", [opened(2, data={"name": "n"})])


def test_integers_beyond_doubles_stay_exact(
    conn: psycopg.Connection[Any], appender: Appender
) -> None:
    appender.append(HOST, "t1", [opened(data={"n": 2**53 + 1, "m": 10**400})])
    (payload,) = stored(conn)
    assert json.loads(payload)["data"] == {"n": 2**53 + 1, "m": 10**400}


def test_invalid_data_names_pointers_and_rules_and_no_value(
    conn: psycopg.Connection[Any], replay: Replay
) -> None:
    replay.publish_registry([entry(data_schema=SCHEMA)])
    appender = Appender(conn)
    with pytest.raises(InvalidData) as refusal:
        appender.append(
            HOST, "t1", [opened(1), opened(2, data={"tags": ["c", "4711"], "name": 4711})]
        )
    assert refusal.value.details == {
        "ordinal": 1,
        "event_type": "Opened",
        "event_schema": "1",
        "broken": [
            {"pointer": "/data/name", "rule": "type"},
            {"pointer": "/data/tags/1", "rule": "enum"},
        ],
    }
    assert "4711" not in str(refusal.value)
    with pytest.raises(InvalidData) as refusal:
        appender.append(HOST, "t1", [opened(data={})])
    assert refusal.value.details["broken"] == [{"pointer": "/data", "rule": "required"}]
    assert refusal.value.hint
    assert stored(conn) == []


def test_data_may_be_anything_that_its_schema_allows(
    conn: psycopg.Connection[Any], replay: Replay
) -> None:
    replay.publish_registry([entry(data_schema='{"type": "array"}')])
    assert Appender(conn).append(HOST, "t1", [opened(data=[1])]).member_count == 1


def test_structural_data_has_to_be_an_object(appender: Appender) -> None:
    for data in ([], None, "4711"):
        with pytest.raises(InvalidData):
            appender.append(HOST, "t1", [opened(data=data)])


def test_schemas_are_compiled_once() -> None:
    assert _validator(SCHEMA) is _validator(str(SCHEMA.encode(), "utf-8"))
    assert _validator(SCHEMA) is not _validator(SCHEMA + " ")


def test_a_schema_to_be_published_is_checked() -> None:
    check_schema(SCHEMA)
    for wrong in ("{", '{"type": "objekt"}', '{"properties": []}'):
        with pytest.raises(InvalidRegistry):
            check_schema(wrong)


def test_a_schema_that_refers_elsewhere_fetches_nothing(
    conn: psycopg.Connection[Any], replay: Replay
) -> None:
    replay.publish_registry([entry(data_schema='{"$ref": "http://127.0.0.1:9/x.json"}')])
    with pytest.raises(InvalidRegistry):
        Appender(conn).append(HOST, "t1", [opened()])


def test_unknown_types_are_refused(appender: Appender) -> None:
    for event in (opened(type="Else"), opened(eventschema="2"), opened(type=None)):
        with pytest.raises(UnknownEventType):
            appender.append(HOST, "t1", [event])


def test_without_a_registry_nothing_is_appended(conn: psycopg.Connection[Any]) -> None:
    with pytest.raises(RegistryEmpty) as refusal:
        Appender(conn).append(HOST, "t1", [opened()])
    assert refusal.value.hint


def test_what_json_cannot_say_is_malformed(appender: Appender) -> None:
    for data in ({"a": float("nan")}, {"a": "\ud800"}, {1: 2}, {"a": object()}):
        with pytest.raises(MalformedEvent) as refusal:
            appender.append(HOST, "t1", [opened(data=data)])
        assert refusal.value.details["ordinal"] == 0


def test_a_stale_driver_reloads_and_tries_again(
    conn: psycopg.Connection[Any], appender: Appender, connect: Connect
) -> None:
    appender.append(HOST, "t1", [opened(1)])
    publisher = Replay(connect(autocommit=True))
    publisher.publish_registry([entry("Closed")])
    assert appender.append(HOST, "t2", [opened(2)]).registry_version == 2
    publisher.publish_registry([entry("Reopened")])
    assert appender.append(HOST, "t3", [opened(3, type="Reopened")]).registry_version == 3
    publisher.publish_registry([entry(data_schema=SCHEMA)])
    with pytest.raises(InvalidData):
        appender.append(HOST, "t4", [opened(4, data={"name": 1})])
    assert appender.append(HOST, "t4", [opened(4)]).registry_version == 4
    conn.commit()
    assert len(stored(conn)) == 4


def test_a_digest_of_another_version_is_refused_by_the_database(
    conn: psycopg.Connection[Any], replay: Replay, appender: Appender
) -> None:
    with pytest.raises(RegistryStale) as refusal:
        replay.append_transaction(HOST, "t1", payloads(HOST, "t1", ("A@1",)), b"\0" * 32)
    assert refusal.value.details == {"registry_version": 1}


def test_the_caller_commits(
    conn: psycopg.Connection[Any], appender: Appender, connect: Connect
) -> None:
    appender.append(HOST, "t1", [opened(1)])
    conn.rollback()
    # The registry is loaded by now: the append is the first statement of its transaction.
    appender.append(HOST, "t1", [opened(1)])
    conn.rollback()
    assert stored(conn) == []
    alone = Appender(connect(autocommit=True))
    alone.append(HOST, "t2", [opened(1)])
    assert len(stored(conn)) == 1


def test_a_refusal_leaves_the_callers_transaction_usable(
    conn: psycopg.Connection[Any], appender: Appender
) -> None:
    conn.execute("create table public.own (n int)")
    conn.execute("insert into public.own values (1)")
    with pytest.raises(VersionConflict) as refusal:
        appender.append(HOST, "t1", [opened(7)])
    assert refusal.value.details == {
        "transaction_id": "t1",
        "scope_type": "AGGREGATE",
        "scope_key": "Case:A",
        "expected": 1,
        "found": 7,
    }
    appender.append(HOST, "t1", [opened(1)])
    conn.commit()
    assert conn.execute("select n from public.own").fetchall() == [(1,)]
    assert len(stored(conn)) == 1


def test_only_read_committed_is_accepted(
    conn: psycopg.Connection[Any], appender: Appender, connect: Connect
) -> None:
    strict = connect()
    for level in (
        psycopg.IsolationLevel.REPEATABLE_READ,
        psycopg.IsolationLevel.SERIALIZABLE,
    ):
        strict.isolation_level = level
        for call in (
            lambda: Appender(strict).append(HOST, "t1", [opened(1)]),
            lambda: Replay(strict).publish_registry([entry()]),
            lambda: Replay(strict).set_lanes(HOST, 2),
        ):
            with pytest.raises(ReadCommittedRequired):
                call()
            strict.rollback()


@pytest.mark.parametrize(
    "event",
    [
        b'{"secret": 4711',
        b'{"secret": "4711\\u0000"}',
        b'{"secret": "4711", "secret": 4711}',
        b"4711\xff",
        b'{"id": "4711"}',
        encode(envelope(HOST, "t1", 1, 0, "A@1") | {"aggregateversion": "4711"}),
        encode(envelope(HOST, "t1", 1, 0, "A@1") | {"host": "4711"}),
        encode(envelope(HOST, "t1", 1, 0, "A@4711")),
        encode(envelope(HOST, "t1", 1, 0, "u") | {"data": [4711]}),
    ],
)
def test_d13_no_message_of_the_server_quotes_a_payload(dsn: str, event: bytes) -> None:
    world = World(dsn)
    with pytest.raises(ReplayError) as refusal:
        world.replay.append_transaction(HOST, "t1", [event], world.registry.digest)
    diag = refusal.value.diag
    said = [diag.message_primary, diag.message_hint, diag.context, diag.internal_query]
    # The version that is no next one is ordering metadata, and named on purpose.
    if not isinstance(refusal.value, VersionConflict):
        said.append(diag.message_detail)
        assert "4711" not in "".join(map(str, said))
    assert "secret" not in "".join(map(str, said))
    assert world.count("transaction") == 0
    world.close()


def test_d13_a_payload_that_does_not_parse_reaches_no_log_of_the_engine(dsn: str) -> None:
    world = World(dsn)
    with pytest.raises(MalformedEvent) as refusal:
        world.replay.append_transaction(HOST, "t1", [b'{"x": 4711'], world.registry.digest)
    assert refusal.value.details == {"transaction_id": "t1", "ordinal": 0, "attribute": "JSON"}
    assert refusal.value.__cause__ is None
    world.close()


def test_d2_an_ordered_member_beside_one_that_is_not_replayable_is_refused(
    conn: psycopg.Connection[Any], replay: Replay
) -> None:
    replay.publish_registry(
        [
            entry(),
            entry("Sent", policy="NOT_REPLAYABLE"),
            entry("Mailed", policy="TRANSACTION_ONLY", side_effects="REPLAY_EXCLUDED"),
        ]
    )
    appender = Appender(conn)
    for other in ("Sent", "Mailed"):
        with pytest.raises(OrderingInvalid):
            appender.append(HOST, "t1", [opened(1), {"type": other, "data": {}}])
        assert appender.append(HOST, other, [{"type": other, "data": {}}]).runs_alone
    assert not appender.append(HOST, "t1", [opened(1)]).runs_alone


def test_d9_an_open_failure_blocks_its_scope_and_nothing_else(dsn: str) -> None:
    world = World(dsn)
    world.trouble["A@1"] = divide
    first = world.append("t1", "A@1")
    world.start()
    world.run()
    (failure,) = world.failures()
    with pytest.raises(AggregateProjectionBlocked) as refusal:
        world.append("t2", "A@2")
    assert refusal.value.details == {
        "failure_id": str(failure.failure_id),
        "transaction_id": "t2",
        "scope_type": "AGGREGATE",
        "scope_key": "Thing:A",
        "projection": "orders",
        "consumer_group": "default",
    }
    assert world.append("t1", "A@1") == first
    with pytest.raises(TransactionConflict):
        world.append("t1", "A@2")
    assert world.append("t3", "B@1").member_count == 1
    world.close()


def test_the_registry_digest_is_the_same_in_python_and_sql(replay: Replay) -> None:
    first = replay.publish_registry([entry("Öffnung", data_schema='{"title": "漢"}'), entry("z")])
    assert registry_digest(replay.get_registry()) == first.digest
    second = replay.publish_registry(
        [
            entry(
                "\U0001f600",
                repair_disposition="SCHEMA_REPAIR",
                repair_schema_version="r1",
                data_schema="{}",
            ),
            entry("\ufb33", event_schema="2"),
        ]
    )
    assert load_registry(replay).digest == second.digest
    assert load_registry(replay).registry_version == 2


def test_only_an_appender_appends_and_it_touches_no_table(
    appender: Appender, connect_as: Connect
) -> None:
    allowed = Appender(connect_as("clerk", ["replay_appender"], autocommit=True))
    assert allowed.append(HOST, "t1", [opened(1)]).appended_by == "clerk"
    reader = connect_as("auditor", ["replay_reader"], autocommit=True)
    with pytest.raises(pg.InsufficientPrivilege):
        Appender(reader).append(HOST, "t2", [opened(2)])
    with pytest.raises(pg.InsufficientPrivilege):
        Replay(reader).publish_registry([entry()])
    clerk = connect_as("clerk", ["replay_appender"], autocommit=True)
    for table in ("event", "transaction", "outbox", "registry"):
        with pytest.raises(pg.InsufficientPrivilege):
            clerk.execute(f"select from replay.{table}")
