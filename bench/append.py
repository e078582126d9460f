"""Append, one transaction a commit, beside message-db's write_message on the same server.

Both get the same events of the same transactions, check the version that each follows, and commit
each transaction durably, in one round trip. Rates are transactions a second.
"""

from uuid import UUID, uuid5

from psycopg.conninfo import make_conninfo

from bench import peers
from bench.report import LeftOut, Row, compare
from bench.work import Lab, connect, count, prepare, rate, require, take_turns
from pyreplay.client import Replay

READ = """
select e.host_id, e.transaction_id, array_agg(e.payload order by e.ordinal)
from replay.event e
join replay.outbox o on (o.host_id, o.transaction_id) = (e.host_id, e.transaction_id)
group by e.host_id, e.transaction_id
order by min(o.source_offset), e.host_id"""


class Log:
    """The transactions of the log, and a database of each kind to append them to."""

    def __init__(self, lab: Lab) -> None:
        self.messages = peers.MessageDb(lab)
        with connect(make_conninfo(lab.dsn, dbname=lab.base())) as conn:
            self.transactions: list[tuple[UUID, str, list[bytes]]] = conn.execute(READ).fetchall()
        self.conn = connect(lab.create("bench_append", lab.empty()))
        self.replay = Replay(self.conn)
        registry = self.conn.execute(
            "select digest from replay.registry order by registry_version desc limit 1"
        ).fetchone()
        assert registry
        self.digest = bytes(registry[0])
        self.events = sum(len(payloads) for _, _, payloads in self.transactions)

    def append(self, number: int) -> float:
        """By append_transaction, for hosts of this round."""
        made = [
            (host, transaction_id, [_moved(p, host_id, host) for p in payloads])
            for host_id, transaction_id, payloads in self.transactions
            for host in [uuid5(host_id, str(number))]
        ]
        prepare(self.conn)
        before = count(self.conn, "select count(*) from replay.event")

        def work() -> None:
            for host, transaction_id, payloads in made:
                self.replay.append_transaction(host, transaction_id, payloads, self.digest)

        found = rate(len(made), work)
        after = count(self.conn, "select count(*) from replay.event")
        require(after - before, self.events, "events appended")
        return found

    def write(self, number: int) -> float:
        """By write_message, to streams of this round."""
        return self.messages.run([payloads for _, _, payloads in self.transactions], number)

    def close(self) -> None:
        self.conn.close()
        self.messages.conn.close()


def _moved(payload: bytes, old: UUID, new: UUID) -> bytes:
    return payload.replace(str(old).encode(), str(new).encode())


def measure(lab: Lab, rounds: int, left_out: list[str]) -> list[Row]:
    try:
        log = Log(lab)
    except LeftOut as reason:
        left_out.append(f"append: {reason}")
        return []
    found = take_turns(rounds, {"message-db": log.write, "append_transaction": log.append})
    log.close()
    pairs = list(zip(found["append_transaction"], found["message-db"], strict=True))
    name = "append, one transaction a commit: message-db 1.3.1, write_message"
    return [compare(name, pairs, at_least=1.0, unit="transactions/s")]
