"""The plan of docs/contract.md, written from its text alone; shares no code with the engine."""

import struct
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

from tests.reference_fingerprint import frame

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def plan_document(facts: dict[str, Any]) -> bytes:
    """The document over the facts of a vector."""
    failures = facts["failures"]
    names = ("host_id", "projection", "consumer_group", "strategy", "mode")
    content = b"".join(map(frame, ("pyreplay.plan.v1", *(facts[name] for name in names))))
    content += _list(frame(failure["failure_id"]) for failure in failures)
    content += _list(_frame_bytes(bytes.fromhex(failure["fingerprint"])) for failure in failures)
    content += _list([]) + _list([])
    content += _list(map(_integer, sorted({failure["registry_version"] for failure in failures})))
    content += _list(
        frame(scope["scope_type"]) + frame(scope["scope_key"]) + _integer(scope["progress"])
        for scope in sorted((s for f in failures for s in f["scopes"]), key=_scope_key)
    )
    content += _integer(len(failures))
    content += _integer(sum(failure["member_count"] for failure in failures))
    content += _integer(sum(failure["byte_count"] for failure in failures))
    expiry = datetime.fromisoformat(facts["expires_at"]) - EPOCH
    return content + _integer(expiry // timedelta(microseconds=1))


def plan_hash(facts: dict[str, Any]) -> bytes:
    """What an approval names."""
    return sha256(plan_document(facts)).digest()


def _scope_key(scope: dict[str, Any]) -> tuple[bytes, bytes]:
    return scope["scope_type"].encode(), scope["scope_key"].encode()


def _list(elements: Iterable[bytes]) -> bytes:
    found = list(elements)
    return _integer(len(found)) + b"".join(found)


def _frame_bytes(value: bytes) -> bytes:
    return struct.pack(">i", len(value)) + value


def _integer(value: int) -> bytes:
    return struct.pack(">q", value)
