"""The published plans: what SQL makes, what the reference makes, and the file, are one."""

import copy
import json
from datetime import datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tests.reference_plan import plan_document, plan_hash

VECTORS = json.loads((Path(__file__).parent / "vectors/plan.json").read_text("utf-8"))

TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1)
COUNTS = st.integers(1, 1_000_000)


@st.composite
def facts(draw: st.DrawFn) -> dict[str, Any]:
    """Facts of some plan."""
    keys = draw(st.lists(TEXTS, min_size=1, max_size=6, unique=True))
    failures = [
        {
            "failure_id": str(draw(st.uuids())),
            "fingerprint": draw(st.binary(min_size=32, max_size=32)).hex(),
            "registry_version": draw(st.integers(1, 5)),
            "member_count": draw(COUNTS),
            "byte_count": draw(COUNTS),
            "scopes": [_scope(draw, key)],
        }
        for key in keys
    ]
    assume(len({failure["failure_id"] for failure in failures}) == len(failures))
    return {
        "host_id": str(draw(st.uuids())),
        "projection": draw(TEXTS),
        "consumer_group": draw(TEXTS),
        "strategy": draw(st.sampled_from(["EXACT", "DEPENDENCY_CLOSURE"])),
        "mode": draw(st.sampled_from(["EXECUTE", "VALIDATE_ONLY", "ROLLBACK_DRY_RUN"])),
        "failures": failures,
        "expires_at": draw(
            st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1)).map(
                lambda at: at.isoformat() + "+00:00"
            )
        ),
    }


def _scope(draw: st.DrawFn, key: str) -> dict[str, Any]:
    kind = draw(st.sampled_from(["AGGREGATE", "GRAPH_ROOT", "TRANSACTION"]))
    progress = -1 if kind == "TRANSACTION" else draw(st.integers(0, 2**62))
    return {"scope_type": kind, "scope_key": key, "progress": progress}


@pytest.mark.both_servers
@pytest.mark.parametrize("vector", VECTORS["vectors"], ids=lambda vector: vector["name"])
def test_published_plan(conn: psycopg.Connection[Any], vector: dict[str, Any]) -> None:
    document = bytes.fromhex(vector["plan"])
    assert plan_document(vector["facts"]) == document
    assert _sql_document(conn, vector["facts"]) == document
    assert plan_hash(vector["facts"]) == sha256(document).digest()
    assert plan_hash(vector["facts"]).hex() == vector["plan_hash"]


def test_there_are_enough_published_plans() -> None:
    assert len(VECTORS["vectors"]) >= 6
    found = [vector["plan_hash"] for vector in VECTORS["vectors"]]
    assert len(set(found)) == len(found)


@given(facts())
@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_sql_and_reference_agree_on_any_plan(
    conn: psycopg.Connection[Any], some: dict[str, Any]
) -> None:
    document = _sql_document(conn, some)
    assert document == plan_document(some)
    row = conn.execute("select replay._read_plan(%s)", [document]).fetchone()
    assert row
    assert row[0]["failure_ids"] == [failure["failure_id"] for failure in some["failures"]]
    assert row[0]["fingerprints"] == [failure["fingerprint"] for failure in some["failures"]]
    assert datetime.fromisoformat(row[0]["expires_at"]) == datetime.fromisoformat(
        some["expires_at"]
    )


@given(facts(), st.data())
@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_i7_any_changed_fact_changes_the_hash(
    conn: psycopg.Connection[Any], some: dict[str, Any], data: st.DataObject
) -> None:
    changed = copy.deepcopy(some)
    change = data.draw(st.sampled_from(sorted(CHANGES)))
    CHANGES[change](changed, data.draw(st.integers(0, len(some["failures"]) - 1)))
    assume(changed != some)
    assert sha256(_sql_document(conn, changed)).digest() != plan_hash(some), change


def _change(*path: str, to: Any) -> Any:
    """A change of one fact; a path that goes through `failures` means the n-th of them."""

    def apply(some: dict[str, Any], n: int) -> None:
        place: Any = some
        for step in path[:-1]:
            place = place[step]
            place = place[n if step == "failures" else 0] if isinstance(place, list) else place
        place[path[-1]] = to(place[path[-1]])

    return apply


def _swap(some: dict[str, Any], n: int) -> None:
    some["failures"].insert(0, some["failures"].pop(n))


def _drop(some: dict[str, Any], n: int) -> None:
    del some["failures"][n]


def _flip(digits: str) -> str:
    return ("0" if digits[0] != "0" else "1") + digits[1:]


CHANGES = {
    "host": _change("host_id", to=lambda value: str(UUID(int=UUID(value).int ^ 1))),
    "projection": _change("projection", to=lambda value: value + "x"),
    "consumer group": _change("consumer_group", to=lambda value: value + "x"),
    "strategy": _change("strategy", to=lambda value: "EXACT" if value != "EXACT" else "CLOSURE"),
    "mode": _change("mode", to=lambda value: "EXECUTE" if value != "EXECUTE" else "VALIDATE_ONLY"),
    "expiry": _change(
        "expires_at",
        to=lambda value: (datetime.fromisoformat(value) + timedelta(microseconds=1)).isoformat(),
    ),
    "failure id": _change(
        "failures", "failure_id", to=lambda value: str(UUID(int=UUID(value).int ^ 2**127))
    ),
    "fingerprint": _change("failures", "fingerprint", to=_flip),
    "registry version": _change("failures", "registry_version", to=lambda value: value + 100),
    "member count": _change("failures", "member_count", to=lambda value: value + 1),
    "byte count": _change("failures", "byte_count", to=lambda value: value + 1),
    "scope key": _change("failures", "scopes", "scope_key", to=lambda value: value + "\x01"),
    "progress": _change(
        "failures", "scopes", "progress", to=lambda value: value if value < 0 else value + 1
    ),
    "order": _swap,
    "one failure less": _drop,
}


def _sql_document(conn: psycopg.Connection[Any], some: dict[str, Any]) -> bytes:
    """What replay._plan_document writes where these facts hold."""
    with conn.transaction(force_rollback=True):
        # The rows alone: what they refer to is no fact of a plan.
        conn.execute("set local session_replication_role = replica")
        (projection_id,) = conn.execute(
            """insert into replay.projection
                 (projection, consumer_group, status, registered_at, registered_by)
               values (%(projection)s, %(consumer_group)s, 'RUNNING', now(), 'test')
               returning projection_id""",
            some,
        ).fetchone() or (None,)
        for number, failure in enumerate(some["failures"]):
            _insert_failure(conn, some["host_id"], projection_id, number, failure)
        row = conn.execute(
            "select replay._plan_document(%s, %s, %s, %s, %s::uuid[], %s)",
            (
                some["host_id"],
                projection_id,
                some["strategy"],
                some["mode"],
                [failure["failure_id"] for failure in some["failures"]],
                datetime.fromisoformat(some["expires_at"]),
            ),
        ).fetchone()
    assert row
    return bytes(row[0])


def _insert_failure(
    conn: psycopg.Connection[Any],
    host_id: str,
    projection_id: int | None,
    number: int,
    failure: dict[str, Any],
) -> None:
    facts = {**failure, "host_id": host_id, "projection_id": projection_id, "number": number}
    conn.execute(
        """insert into replay.failure (host_id, failure_id, projection_id, transaction_id, status,
             fingerprint, registry_version, replayable, member_count, byte_count, lane,
             source_offset, error_code, captured_at)
           values (%(host_id)s, %(failure_id)s, %(projection_id)s, %(number)s::text, 'OPEN',
             decode(%(fingerprint)s, 'hex'), %(registry_version)s, true, %(member_count)s,
             %(byte_count)s, 0, 1, 'X', now())""",
        facts,
    )
    for scope in failure["scopes"]:
        conn.execute(
            """insert into replay.failure_scope (host_id, failure_id, projection_id, scope_type,
                 scope_key, first_version, last_version, is_open)
               values (%(host_id)s, %(failure_id)s, %(projection_id)s, %(scope_type)s,
                 %(scope_key)s, %(progress)s::bigint + 1, %(progress)s::bigint + 1, true)""",
            facts | scope,
        )
        # No row means 0.
        if scope["progress"] > 0:
            conn.execute(
                """insert into replay.progress
                   values (%(host_id)s, %(projection_id)s, %(scope_type)s, %(scope_key)s,
                     %(progress)s)""",
                facts | scope,
            )
