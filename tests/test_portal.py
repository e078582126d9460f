"""The configuration of a real API portal: all three ways of ordering, and a gap that heals."""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest

from examples.permits.stage import read_events
from examples.portal import app
from pyreplay.client import Replay
from pyreplay.importer import import_file
from pyreplay.live import LiveProcessor

EXAMPLE = Path(__file__).parents[1] / "examples/portal"
HOST = UUID("01964b05-552a-7c4b-9184-6857e7f3dc5f")

# Rows of the read model, and the policy that brought each about.
ROWS = {
    "config": 76,
    "config_property": 597,
    "ref_table": 37,
    "ref_relation_type": 6,
    "ref_relation": 155,
    "ref_value": 518,
    "ref_locale": 518,
}


@pytest.fixture
def portal(
    dsn: str, real_data: Callable[[str], Path]
) -> Iterator[Callable[[int], psycopg.Connection[Any]]]:
    """A function that imports the events into that many lanes, and returns its session."""
    with psycopg.connect(dsn, autocommit=True) as conn:

        def fill(lane_count: int) -> psycopg.Connection[Any]:
            conn.execute((EXAMPLE / "schema.sql").read_text())
            replay = Replay(conn)
            replay.publish_registry(app.projection.entries())
            replay.register_projection("portal")
            replay.start_projection("portal")
            replay.set_lanes(HOST, lane_count)
            result = import_file(conn, real_data("portal-config.jsonl.gz"))
            assert (result.line_count, result.appended_count) == (1910, 1392)
            return conn

        yield fill


def run(dsn: str, lane: int | None = None) -> None:
    LiveProcessor(dsn, app.projection, host_id=HOST, lane=lane).run(once=True)


def counts(conn: psycopg.Connection[Any]) -> dict[str, int]:
    return {
        table: conn.execute(f"select count(*) from portal.{table}").fetchall()[0][0]
        for table in ROWS
    }


def assert_whole(conn: psycopg.Connection[Any], events: Path) -> None:
    """Every row is there, and every configuration is at the last revision of its graph."""
    assert counts(conn) == ROWS
    deleted = "select count(*) from portal.config_property where deleted"
    assert conn.execute(deleted).fetchall() == [(2,)]
    last = Counter[str]()
    for event in read_events(events):
        if root := event.get("graphroot"):
            last[root] = max(last[root], event["graphrevision"])
    found = dict(conn.execute("select config_id, revision from portal.config").fetchall())
    assert found == last


def test_all_three_policies_project(
    portal: Callable[[int], psycopg.Connection[Any]],
    dsn: str,
    real_data: Callable[[str], Path],
) -> None:
    """I5, I13: graphs and aggregates in order, unordered transactions once each."""
    conn = portal(1)
    run(dsn)
    assert_whole(conn, real_data("portal-config.jsonl.gz"))
    policies = "select distinct policy from replay.registry_entry order by policy"
    assert [policy for (policy,) in conn.execute(policies)] == [
        "AGGREGATE_VERSION",
        "GRAPH_ROOT",
        "TRANSACTION_ONLY",
    ]
    counter = "select applied, failed, deferred from replay.projection_counter"
    assert conn.execute(counter).fetchall() == [(1392, 0, 0)]
    scopes = "select scope_type, count(*) from replay.progress group by scope_type"
    # 76 configurations, 597 properties, 37 tables, 6 kinds of relation, 155 relations.
    assert dict(conn.execute(scopes).fetchall()) == {"AGGREGATE": 871, "GRAPH_ROOT": 76}
    assert conn.execute("select count(*) from replay.ledger").fetchall() == [(518,)]


def test_a_gap_names_the_missing_revision_and_heals_by_itself(
    portal: Callable[[int], psycopg.Connection[Any]],
    dsn: str,
    real_data: Callable[[str], Path],
) -> None:
    """I1, I5, O12: what the lane nobody reads would bring is named, and nothing overtakes it."""
    conn = portal(2)
    run(dsn, lane=0)

    gaps = conn.execute("select scope_key, missing_first, appended from replay.gap").fetchall()
    found = Counter((key, first) for key, first, _ in gaps)
    assert found and all(appended for _, _, appended in gaps)
    assert found == expected_gaps(conn)
    assert conn.execute("select count(*) from replay.open_failure").fetchall() == [(0,)]

    run(dsn, lane=1)
    run(dsn)
    assert conn.execute("select count(*) from replay.gap").fetchall() == [(0,)]
    assert conn.execute("select count(*) from replay.deferred").fetchall() == [(0,)]
    assert_whole(conn, real_data("portal-config.jsonl.gz"))


def expected_gaps(conn: psycopg.Connection[Any]) -> Counter[tuple[str, int]]:
    """By the lane of each revision: where one of lane 0 follows one or more of lane 1."""
    lanes = conn.execute(
        """select s.scope_key, s.first_version, o.lane
           from replay.transaction t
           join replay.outbox o using (host_id, transaction_id)
           cross join unnest(t.scopes) s
           where s.scope_type = 'GRAPH_ROOT'
           order by s.scope_key, s.first_version"""
    ).fetchall()
    gaps = Counter[tuple[str, int]]()
    missing: dict[str, int] = {}
    for root, revision, lane in lanes:
        if lane == 1:
            missing.setdefault(root, revision)
        elif root in missing:
            gaps[root, missing.pop(root)] += 1
    return gaps
