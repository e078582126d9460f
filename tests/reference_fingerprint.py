"""The fingerprints of docs/contract.md, written from its text alone, sharing no code."""

import struct
from collections.abc import Iterable
from hashlib import sha256


def frame(text: str) -> bytes:
    """A text: its length in bytes, then its UTF-8."""
    encoded = text.encode("utf-8")
    return struct.pack(">i", len(encoded)) + encoded


def fingerprint(
    host_id: str,
    projection: str,
    consumer_group: str,
    transaction_id: str,
    members: Iterable[tuple[str, bytes]],
) -> bytes:
    """Version 1; members are event ids and digests."""
    members = list(members)
    content = frame("pyreplay.fingerprint.v1")
    for text in (host_id.lower(), projection, consumer_group, transaction_id):
        content += frame(text)
    content += struct.pack(">i", len(members))
    for event_id, digest in members:
        content += frame(event_id) + digest
    return sha256(content).digest()


def delivery_fingerprint(found: bytes, source: str, partition: int, offset: int) -> bytes:
    """One delivery of what has the fingerprint `found`."""
    return sha256(found + frame(source) + struct.pack(">iq", partition, offset)).digest()
