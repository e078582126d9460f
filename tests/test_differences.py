"""docs/differences.md says what the database enforces."""

import re
from pathlib import Path

import psycopg

PAGE = (Path(__file__).parents[1] / "docs/differences.md").read_text()


def moves(section: str) -> set[tuple[str, str]]:
    text = PAGE.split(f"## {section}\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| ([A-Z_]+) \| ([A-Z_]+) \| (.*) \|$", text, re.MULTILINE)
    assert rows
    return {(before, after) for before, after, ours in rows if not ours.startswith("never")}


def test_requests_move_as_the_page_says(conn: psycopg.Connection) -> None:
    assert moves("Requests") == set(conn.execute("select * from replay.request_transition"))


def test_failures_move_as_the_page_says(conn: psycopg.Connection) -> None:
    assert moves("Failures") == {("OPEN", "RESOLVED"), ("OPEN", "WAIVED")}
    assert allowed(conn, "failure_status") == {"OPEN", "RESOLVED", "WAIVED"}


def test_states_are_those_of_the_constraints(conn: psycopg.Connection) -> None:
    for thing, constraint in (
        ("item", "request_item_status"),
        ("attempt", "attempt_result"),
        ("run", "run_status"),
        ("step of two people", "pending_action_status"),
    ):
        row = re.search(rf"^\| {thing} \| .* \| (.*) \|$", PAGE, re.MULTILINE)
        assert row
        told = set(re.findall(r"[A-Z_]{4,}", row[1].split(": that")[0].split(": an ")[0]))
        assert told == allowed(conn, constraint), thing


def allowed(conn: psycopg.Connection, constraint: str) -> set[str]:
    row = conn.execute(
        "select pg_get_constraintdef(oid) from pg_constraint where conname = %s", (constraint,)
    ).fetchone()
    assert row, constraint
    return set(re.findall(r"'([A-Z_]+)'", row[0]))
