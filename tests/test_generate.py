"""Generated permit events have the shape of the real log, and are the same for the same seed."""

from collections import Counter
from itertools import groupby
from typing import Any

import pytest

from examples.permits.app import EVENT_TYPES
from examples.permits.generate import HOSTS, events


@pytest.fixture(scope="module")
def generated() -> list[dict[str, Any]]:
    return list(events(1434, 1))


def test_the_same_seed_gives_the_same_events(generated: list[dict[str, Any]]) -> None:
    assert list(events(1434, 1)) == generated
    assert {e["id"] for e in events(20, 2)}.isdisjoint(e["id"] for e in generated)


def test_transactions_are_whole_and_their_events_follow_each_other(
    generated: list[dict[str, Any]],
) -> None:
    runs = [(key, list(run)) for key, run in groupby(generated, lambda e: e["transactionid"])]
    assert len({key for key, _ in runs}) == len(runs)
    for _, run in runs:
        assert [e["transactionordinal"] for e in run] == list(range(len(run)))
        assert {e["transactioncount"] for e in run} == {len(run)}
    assert max(len(run) for _, run in runs) == 10


def test_versions_of_a_case_are_contiguous(generated: list[dict[str, Any]]) -> None:
    seen = Counter[str]()
    times: dict[str, str] = {}
    for event in generated:
        case = event["subject"]
        seen[case] += 1
        assert event["aggregateversion"] == seen[case]
        assert event["time"][:19] >= times.get(case, "")[:19]
        times[case] = event["time"]
    assert len(seen) == 1434


def test_it_holds_what_naive_code_trips_over(generated: list[dict[str, Any]]) -> None:
    ends = {(e["subject"], e["data"]["endDate"] == "") for e in generated}
    empty = sum(is_empty for _, is_empty in ends)
    assert len(ends) == 1434
    assert 90 <= empty <= 120
    assert {"." in e["data"]["deadline"] for e in generated} == {True, False}
    assert {e["time"][-6:] for e in generated} == {"+01:00", "+02:00"}
    assert any(e["data"]["resourceGroup"] == "EMPTY" for e in generated)


def test_all_types_and_hosts_occur(generated: list[dict[str, Any]]) -> None:
    assert {e["type"] for e in generated} == set(EVENT_TYPES)
    shares = Counter(e["host"] for e in generated)
    assert set(shares) == set(HOSTS)
    assert shares[HOSTS[0]] > 0.9 * shares.total()
