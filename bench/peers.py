"""What a user would pick instead, where it is installed: `make bench-peers`."""

import json
import subprocess
import tarfile
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from uuid import UUID, uuid5

from psycopg.conninfo import conninfo_to_dict, make_conninfo

from bench.report import LeftOut
from bench.work import (
    CACHE,
    CHECKOUT,
    Connection,
    Digest,
    Lab,
    connect,
    count,
    digest,
    prepare,
    rate,
    require,
)

MESSAGE_DB = "@eventide/message-db@1.3.1"
ARCHIVE = "eventide-message-db-1.3.1.tgz"

# In the order of its own install.sh. Without pgcrypto: what it took from there is in the server.
SCRIPTS = (
    "schema/message-store",
    "tables/messages",
    "types/message",
    "functions/message-store-version",
    "functions/hash-64",
    "functions/acquire-lock",
    "functions/category",
    "functions/is-category",
    "functions/id",
    "functions/cardinal-id",
    "functions/stream-version",
    "functions/write-message",
    "functions/get-stream-messages",
    "functions/get-category-messages",
    "functions/get-last-stream-message",
    "indexes/messages-id",
    "indexes/messages-stream",
    "indexes/messages-category",
)

WRITE = """
select write_message(u.id, u.stream, u.type, u.data::jsonb, null, u.version)
from unnest(%s::text[], %s::text[], %s::text[], %s::text[], %s::bigint[])
  u (id, stream, type, data, version)"""


class MessageDb:
    """message-db in a database of its own, which takes a transaction in one statement."""

    def __init__(self, lab: Lab) -> None:
        archive = CACHE / ARCHIVE
        if not archive.exists():
            raise LeftOut("message-db is not there: make bench-peers")
        dsn = lab.create("bench_message_db")
        self.conn = connect(make_conninfo(dsn, options="-c search_path=message_store,public"))
        with tarfile.open(archive) as files:
            for script in SCRIPTS:
                file = files.extractfile(f"package/database/{script}.sql")
                assert file
                self.conn.execute(file.read())

    def run(self, transactions: Sequence[Sequence[bytes]], number: int) -> float:
        """Transactions a second, each a commit with as many messages as it has events."""
        prepared = [_messages(payloads, number) for payloads in transactions]
        self.conn.execute("checkpoint")
        before = count(self.conn, "select count(*) from messages")

        def work() -> None:
            for messages in prepared:
                self.conn.execute(WRITE, messages)

        found = rate(len(prepared), work)
        written = count(self.conn, "select count(*) from messages") - before
        require(written, sum(map(len, transactions)), "messages written")
        return found


def _messages(payloads: Sequence[bytes], number: int) -> tuple[list[Any], ...]:
    """The arguments of WRITE, for streams of this round. Positions count from 0."""
    events = [json.loads(payload) for payload in payloads]
    return (
        [str(uuid5(UUID(event["id"]), str(number))) for event in events],
        [f"permit{number}-{event['host']}+{event['subject']}" for event in events],
        [event["type"] for event in events],
        [payload.decode() for payload in payloads],
        [event["aggregateversion"] - 2 for event in events],
    )


class Runner:
    """eventsourcing's ProjectionRunner on one copy of the events, in a database of its own.

    One copy, because it takes a while and its cost an event is the same with more.
    """

    def __init__(self, lab: Lab, log: Connection) -> None:
        if not (find_spec("eventsourcing") and find_spec("psycopg_pool")):
            raise LeftOut("eventsourcing is not installed: make bench-peers")
        self.dsn = lab.create("bench_eventsourcing")
        self.conn = connect(self.dsn)
        self.conn.execute((CHECKOUT / "examples/permits/schema.sql").read_text())
        self.clean, self.events = self._read(lab, log)
        # Not above: it imports what may be missing.
        from bench import projection_runner

        self.peer = projection_runner.Peer(environment(self.dsn))
        self.last_id = self.peer.store(self.events)

    def run(self, _round: int) -> float:
        prepare(self.conn)
        self.peer.forget()
        found = rate(len(self.events), lambda: self.peer.run(self.last_id))
        require(digest(self.conn), self.clean, "the read model of eventsourcing")
        return found

    def _read(self, lab: Lab, log: Connection) -> tuple[Digest, list[dict[str, Any]]]:
        """One copy's events in order, and the read model they make."""
        with connect(make_conninfo(lab.dsn, dbname=lab.base())) as conn:
            hosts = [host for (host,) in conn.execute("select host_id from replay.outbox_lane")]
        rows = log.execute(
            "select payload from bench.plain where host_id = any (%s)"
            " order by transaction_no, ordinal",
            (hosts,),
        )
        events = [json.loads(payload) for (payload,) in rows]
        quoted = ", ".join(f"'{host}'" for host in hosts)
        return digest(log, f"host_id in ({quoted})"), events


def environment(dsn: str) -> dict[str, str]:
    """What eventsourcing is told of a database."""
    named = conninfo_to_dict(dsn)
    return {
        "PERSISTENCE_MODULE": "eventsourcing.postgres",
        "POSTGRES_DBNAME": str(named["dbname"]),
        "POSTGRES_HOST": str(named.get("host", "")),
        "POSTGRES_PORT": str(named.get("port", 5432)),
        "POSTGRES_USER": str(named.get("user", "")),
        "POSTGRES_PASSWORD": str(named.get("password", "")),
    }


def fetch() -> None:
    """Download message-db into the cache folder."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["npm", "pack", "--silent", MESSAGE_DB], cwd=folder, check=True)
        (CACHE / ARCHIVE).write_bytes(Path(folder, ARCHIVE).read_bytes())


if __name__ == "__main__":
    fetch()
