"""The published fingerprints: what SQL makes, what the reference makes, and the file, are one."""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.reference_fingerprint import delivery_fingerprint, fingerprint

VECTORS = json.loads((Path(__file__).parent / "vectors/fingerprint.json").read_text("utf-8"))

TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1)
DIGESTS = st.binary(min_size=32, max_size=32)
MEMBERS = st.lists(st.tuples(TEXTS, DIGESTS), max_size=5)


@pytest.mark.both_servers
@pytest.mark.parametrize("vector", VECTORS["vectors"], ids=lambda vector: vector["name"])
def test_published_fingerprint(conn: psycopg.Connection[Any], vector: dict[str, Any]) -> None:
    parts = (
        vector["host_id"],
        vector["projection"],
        vector["consumer_group"],
        vector["transaction_id"],
    )
    members = _members(vector["members"])
    expected = bytes.fromhex(vector["fingerprint"])
    assert fingerprint(*parts, members) == expected
    assert _sql_fingerprint(conn, *parts, members) == expected
    for delivery in vector.get("deliveries", []):
        place = (delivery["source"], delivery["partition"], delivery["offset"])
        expected_delivery = bytes.fromhex(delivery["delivery_fingerprint"])
        assert delivery_fingerprint(expected, *place) == expected_delivery
        assert _sql_delivery(conn, expected, *place) == expected_delivery


def test_there_are_enough_published_fingerprints() -> None:
    assert len(VECTORS["vectors"]) >= 12
    found = [vector["fingerprint"] for vector in VECTORS["vectors"]]
    assert len(set(found)) == len(found)


@given(TEXTS, TEXTS, TEXTS, MEMBERS)
@settings(
    max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_sql_and_reference_agree_on_anything(
    conn: psycopg.Connection[Any],
    projection: str,
    group: str,
    transaction: str,
    members: list[tuple[str, bytes]],
) -> None:
    parts = ("01964B05-552A-7c4b-9184-6857e7f3dc5f", projection, group, transaction)
    assert _sql_fingerprint(conn, *parts, members) == fingerprint(*parts, members)


def _members(listed: Any) -> list[tuple[str, bytes]]:
    if isinstance(listed, dict):
        return [(f"e{n}", sha256(str(n).encode()).digest()) for n in range(listed["count"])]
    return [(member["event_id"], bytes.fromhex(member["digest"])) for member in listed]


def _sql_fingerprint(
    conn: psycopg.Connection[Any],
    host_id: str,
    projection: str,
    group: str,
    transaction: str,
    members: list[tuple[str, bytes]],
) -> Any:
    ids, digests = [name for name, _ in members], [digest for _, digest in members]
    row = conn.execute(
        "select replay._fingerprint(%s, %s, %s, %s, %s::text[], %s::bytea[])",
        (UUID(host_id), projection, group, transaction, ids, digests),
    ).fetchone()
    return row and row[0]


def _sql_delivery(
    conn: psycopg.Connection[Any], found: bytes, source: str, partition: int, offset: int
) -> Any:
    row = conn.execute(
        "select replay._delivery_fingerprint(%s, %s, %s::int, %s::bigint)",
        (found, source, partition, offset),
    ).fetchone()
    return row and row[0]
