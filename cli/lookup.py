"""Which host an id belongs to, for people who have only the id."""

from typing import LiteralString
from uuid import UUID

import click

from pyreplay.client import Replay
from pyreplay.errors import FailureNotFound, ReplayError, RequestNotFound

# A failure that is not open any more was an item of some plan.
FAILURES: LiteralString = """
select host_id from replay.open_failure where failure_id = %(id)s
union
select host_id from replay.item where failure_id = %(id)s
"""
REQUESTS: LiteralString = "select host_id from replay.request_status where request_id = %(id)s"


def host_of_failure(replay: Replay, failure_id: UUID, given: UUID | None) -> UUID:
    """The host of a failure. Raises FailureNotFound."""
    return given or _find(replay, FAILURES, failure_id, FailureNotFound, "failure")


def host_of_request(replay: Replay, request_id: UUID, given: UUID | None) -> UUID:
    """The host of a request. Raises RequestNotFound."""
    return given or _find(replay, REQUESTS, request_id, RequestNotFound, "request")


def _find(
    replay: Replay, query: LiteralString, key: UUID, missing: type[ReplayError], noun: str
) -> UUID:
    hosts: list[UUID] = [host for (host,) in replay.conn.execute(query, {"id": key})]
    if len(hosts) > 1:
        raise click.UsageError(f"several hosts have a {key}. Name one with --host.")
    if not hosts:
        raise missing(
            f"there is no {noun} {key}",
            details={"id": str(key)},
            hint=f"See `pyreplay list {noun}s`.",
        )
    return hosts[0]
