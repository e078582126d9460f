"""What the doctor says of deferred transactions that wait for each other."""

import time
from uuid import UUID

from pyreplay.doctor import Finding, examine
from tests.world import HOST, OTHER_HOST, World


def capture(world: World, transactions: dict[str, tuple[str, ...]], host_id: UUID = HOST) -> None:
    """Let a processor of other make capture transactions that its source has numbered as it likes.

    An append refuses versions out of turn, so stream heads give way to each.
    """
    for transaction_id, labels in transactions.items():
        world.conn.execute("delete from replay.stream_head where host_id = %s", (host_id,))
        world.conn.execute(
            "insert into replay.stream_head select %s, 'AGGREGATE', 'Thing:' || s.scope, s.version"
            " from unnest(%s::text[], %s::bigint[]) s (scope, version) where s.version > 0",
            (
                host_id,
                [label.split("@")[0] for label in labels],
                [int(label.split("@")[1]) - 1 for label in labels],
            ),
        )
        world.append(transaction_id, *labels, host_id=host_id)
        decision = world.replay.capture_failure(
            "orders", "default", host_id, transaction_id, {"error_code": "BadOrder"}
        )
        assert decision == "DEFER"


def cycles(world: World) -> list[Finding]:
    """What the doctor finds of them."""
    return [f for f in examine(world.conn) if "wait for" in f.finding]


def test_a_cycle_of_deferred_transactions_is_named(world: World) -> None:
    capture(world, {"T1": ("A@1", "B@2"), "T2": ("A@2", "B@1"), "T3": ("B@3",)})
    (found,) = cycles(world)
    assert (found.result, found.check) == ("TROUBLE", "projection orders (default)")
    assert found.finding in (
        f"deferred transactions of host {HOST} wait for each other for ever: {names}"
        for names in ("T1 -> T2 -> T1", "T2 -> T1 -> T2")
    )
    assert "no order applies them all" in found.next
    step = "`select * from replay.deferred_work where transaction_id = 'T1'`"
    assert step in found.next or step.replace("T1", "T2") in found.next


def test_so_is_one_behind_a_gap(world: World) -> None:
    """Filling the gap would not help."""
    capture(world, {"T1": ("A@1", "B@3"), "T2": ("A@2", "B@1")})
    assert "T1" in cycles(world)[0].finding


def test_so_is_each_of_several_and_hosts_are_apart_I15(world: World) -> None:
    capture(world, {"T1": ("A@1", "B@2"), "T2": ("A@2", "B@1")})
    capture(world, {"P1": ("F@2",), "P2": ("F@3",)})
    capture(world, {"P2": ("F@2",), "P1": ("F@3",)}, OTHER_HOST)
    capture(world, {"T8": ("D@1", "E@2"), "T9": ("D@2", "E@1")})
    named = sorted(found.finding for found in cycles(world))
    assert len(named) == 2
    assert all(str(HOST) in finding for finding in named)
    assert "T1" in named[0]
    assert "T8" in named[1]


def test_so_are_two_that_share_a_transaction(world: World) -> None:
    capture(world, {"T1": ("A@1", "B@2", "C@1", "D@2"), "T2": ("A@2", "B@1")})
    capture(world, {"T3": ("C@2", "D@1")})
    named = {frozenset(found.finding.split(": ")[1].split(" -> ")) for found in cycles(world)}
    assert named == {frozenset({"T1", "T2"}), frozenset({"T1", "T3"})}


def test_more_cycles_than_anybody_reads_are_not_left_out_silently(world: World) -> None:
    for n in range(12):
        capture(world, {f"T{n}": (f"A{n}@1", f"B{n}@2"), f"U{n}": (f"A{n}@2", f"B{n}@1")})
    found = cycles(world)
    assert len(found) == 11
    assert found[-1].finding == "further deferred transactions wait for each other"


def test_a_long_cycle_is_cut_visibly(world: World) -> None:
    capture(world, {f"T{n}": (f"A{n}@2", f"A{(n + 1) % 15}@1") for n in range(15)})
    (found,) = cycles(world)
    told = found.finding.split(": ")[1]
    assert told.endswith(" -> ... (15 in all)")
    numbers = [int(name[1:]) for name in told.split(" -> ")[:-1]]
    assert numbers == [(numbers[0] - step) % 15 for step in range(10)]


def test_a_long_chain_is_no_cycle_and_is_soon_read(world: World) -> None:
    """T2 waits for T1 in one scope, T3 for T2 in another, and so on."""
    # No rows that this reads refer to others; 20,000 appends would take a minute.
    world.conn.execute("set session_replication_role = replica")
    world.conn.execute(
        "insert into replay.deferred"
        " select %s, p.projection_id, 'T' || n, 0, n, now()"
        " from replay.projection p, generate_series(1, 20000) n",
        [HOST],
    )
    world.conn.execute(
        "insert into replay.deferred_scope"
        " select d.host_id, d.projection_id, 'AGGREGATE', 'Thing:' || d.source_offset + i,"
        "  2 - i, 2 - i, d.transaction_id"
        " from replay.deferred d, generate_series(0, 1) i"
    )
    began = time.monotonic()
    found = cycles(world)
    seconds = time.monotonic() - began
    assert found == []
    assert world.count("deferred_wait") == 19999
    assert seconds < 5
