"""Append: one transaction a commit beside message-db's write_message, and 500 a call beside COPY.

The first two get the same events of the same transactions, check the version that each follows, and
commit each transaction durably, in one round trip. The others commit 500 transactions at a time:
COPY only the bytes of their events, into a table of one jsonb column and no index. Rates are
transactions a second.
"""

from collections.abc import Callable
from uuid import UUID, uuid5

from psycopg.conninfo import make_conninfo

from bench import peers
from bench.report import LeftOut, Row, compare
from bench.work import (
    BATCH,
    Lab,
    connect,
    count,
    current_digest,
    move,
    prepare,
    rate,
    require,
    take_turns,
)
from pyreplay.client import Replay

Transactions = list[tuple[UUID, str, list[bytes]]]

READ = """
select e.host_id, e.transaction_id, array_agg(e.payload order by e.ordinal)
from replay.event e
join replay.outbox o on (o.host_id, o.transaction_id) = (e.host_id, e.transaction_id)
group by e.host_id, e.transaction_id
order by min(o.source_offset), e.host_id"""


class Log:
    """The transactions of the log, and a database to append them to."""

    def __init__(self, lab: Lab) -> None:
        with connect(make_conninfo(lab.dsn, dbname=lab.base())) as conn:
            self.transactions: Transactions = conn.execute(READ).fetchall()
        self.conn = connect(lab.create("bench_append", lab.empty()))
        self.conn.execute("create table bench.copied (payload jsonb not null)")
        self.replay = Replay(self.conn)
        self.digest = current_digest(self.conn)
        self.events = sum(len(payloads) for _, _, payloads in self.transactions)

    def append(self, number: int) -> float:
        """By append_transaction."""

        def work(made: Transactions) -> None:
            for host_id, transaction_id, payloads in made:
                self.replay.append_transaction(host_id, transaction_id, payloads, self.digest)

        return self._measure(f"each-{number}", work)

    def append_batches(self, number: int) -> float:
        """By append_transactions."""

        def work(made: Transactions) -> None:
            for batch in _batches(made):
                append_batch(self.replay, batch, self.digest)

        return self._measure(f"batch-{number}", work)

    def copy(self, _number: int) -> float:
        """By COPY, of bytes that are ready to be sent."""
        batches = [
            b"".join(_copied(payload) for _, _, payloads in batch for payload in payloads)
            for batch in _batches(self.transactions)
        ]
        prepare(self.conn)
        self.conn.execute("truncate bench.copied")

        def work() -> None:
            for batch in batches:
                with self.conn.cursor().copy("copy bench.copied from stdin") as copying:
                    copying.write(batch)

        found = rate(len(self.transactions), work)
        copied = count(self.conn, "select count(*) from bench.copied")
        require(copied, self.events, "events copied")
        return found

    def _measure(self, turn: str, work: Callable[[Transactions], None]) -> float:
        """For hosts of this turn."""
        made = [
            (host_id, transaction_id, [move(payload, old, host_id) for payload in payloads])
            for old, transaction_id, payloads in self.transactions
            for host_id in [uuid5(old, turn)]
        ]
        prepare(self.conn)
        before = count(self.conn, "select count(*) from replay.event")
        found = rate(len(made), lambda: work(made))
        after = count(self.conn, "select count(*) from replay.event")
        require(after - before, self.events, "events appended")
        return found


def append_batch(replay: Replay, batch: Transactions, digest: bytes) -> None:
    """Append up to 500 transactions of one host in one call."""
    replay.append_transactions(
        batch[0][0],
        [transaction_id for _, transaction_id, _ in batch],
        [len(payloads) for _, _, payloads in batch],
        [payload for _, _, payloads in batch for payload in payloads],
        digest,
    )


def _batches(made: Transactions) -> list[Transactions]:
    """Of one host each, in its order."""
    of_hosts: dict[UUID, Transactions] = {}
    for transaction in made:
        of_hosts.setdefault(transaction[0], []).append(transaction)
    return [
        of_host[first : first + BATCH]
        for of_host in of_hosts.values()
        for first in range(0, len(of_host), BATCH)
    ]


def _copied(payload: bytes) -> bytes:
    """A line of COPY's text format; in JSON no blank but the space needs to be escaped again."""
    return payload.replace(b"\\", b"\\\\") + b"\n"


def measure(lab: Lab, rounds: int, left_out: list[str]) -> list[Row]:
    log = Log(lab)
    rows = _measure_each(lab, log, rounds, left_out) + _measure_batches(log, rounds, left_out)
    log.conn.close()
    return rows


def _measure_each(lab: Lab, log: Log, rounds: int, left_out: list[str]) -> list[Row]:
    try:
        messages = peers.MessageDb(lab)
    except LeftOut as reason:
        left_out.append(f"append: {reason}")
        return []

    def write(number: int) -> float:
        return messages.run([payloads for _, _, payloads in log.transactions], number)

    found = take_turns(rounds, {"message-db": write, "append_transaction": log.append})
    messages.conn.close()
    pairs = list(zip(found["append_transaction"], found["message-db"], strict=True))
    name = "append, one transaction a commit: message-db 1.3.1, write_message"
    return [compare(name, pairs, at_least=1.0, unit="transactions/s")]


def _measure_batches(log: Log, rounds: int, left_out: list[str]) -> list[Row]:
    found = take_turns(rounds, {"COPY": log.copy, "append_transactions": log.append_batches})
    pairs = list(zip(found["append_transactions"], found["COPY"], strict=True))
    name = f"append, {BATCH} transactions a call: COPY of the same bytes into a jsonb table"
    return [compare(name, pairs, at_least=0.5, unit="transactions/s")]
