"""What all benchmarks share: the server, databases with the work in them, handlers, and the proof.

The work is that of examples/permits: one row a case, by a guarded upsert. Its events are the real
log where that is at hand and invented ones of the same shape elsewhere, ten times over other hosts.
"""

import fcntl
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import UUID

import psycopg
from psycopg import Cursor, sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from examples.permits import app, generate
from pyreplay import embedded
from pyreplay.client import Replay
from pyreplay.importer import import_file
from pyreplay.install import install
from pyreplay.live import LiveProcessor, add, run_side_by_side
from pyreplay.projection import Event, Handler, Projection, sql_handler
from pyreplay.records import BatchResult
from tests.servers import cache_folder

CHECKOUT = Path(__file__).parents[1]
DATA = Path(os.environ.get("PYREPLAY_DATA", CHECKOUT.parent / "shared/data"))
REAL_LOG = DATA / "permit-events.jsonl.gz"
CACHE = cache_folder()

# Of the fixtures that need one host.
HOST = UUID("00000000-0000-4000-8000-000000000001")
BATCH = 500

Connection = psycopg.Connection[Any]
# Rows, steps, and a digest over all columns.
Digest = tuple[int, int, str]


@dataclass(frozen=True, slots=True)
class Size:
    """How much work. cases: invented ones; 0: the real log."""

    cases: int = 0
    copies: int = 10
    failures: int = 4_000
    deferred: int = 20_000
    waiting: int = 100_000
    polls: int = 500
    changes: int = 500
    planned: int = 10_000
    few: int = 10_000
    many: int = 1_000_000

    def describe(self) -> str:
        """What the live rows work on."""
        real = not self.cases and REAL_LOG.exists()
        return f"{'the real permit log' if real else 'invented permit cases'}, {self.copies} times"


SAMPLE = Size(
    cases=30,
    copies=2,
    failures=20,
    deferred=100,
    waiting=100,
    polls=5,
    changes=20,
    planned=100,
    few=20,
    many=200,
)


@dataclass(slots=True)
class Lab:
    """A server and the databases that are made on it, dropped at the end."""

    dsn: str
    size: Size
    databases: set[str] = field(default_factory=set)

    def create(self, name: str, template: str | None = None) -> str:
        """Make a database, in place of one of an earlier run; return its DSN."""
        self.drop(name)
        self._execute(
            "create database {} template {} strategy file_copy", name, template or "template0"
        )
        self.databases.add(name)
        return make_conninfo(self.dsn, dbname=name)

    def drop(self, name: str) -> None:
        self._execute("drop database if exists {} with (force)", name)

    def empty(self) -> str:
        """The name of a database with the engine and no events."""
        if "bench_empty" not in self.databases:
            dsn = self.create("bench_empty")
            with psycopg.connect(dsn) as conn:
                install(conn)
            with connect(dsn) as conn:
                conn.execute((CHECKOUT / "examples/permits/schema.sql").read_text())
                for file in ("work.sql", "failures.sql"):
                    conn.execute((CHECKOUT / "bench" / file).read_text())
                Replay(conn).publish_registry(app.clean.entries())
        return "bench_empty"

    def base(self) -> str:
        """The name of a database with one copy of the events, appended by the engine."""
        if "bench_base" not in self.databases:
            dsn = self.create("bench_base", self.empty())
            with connect(dsn) as conn, events_file(self.size.cases) as file:
                require(import_file(conn, file).refused_count, 0, "refused")
        return "bench_base"

    def build(self, name: str, copy: str, *, keep: bool = False) -> str:
        """Make a database whose events `copy`, a call of bench.copy_..., makes of the base's.

        keep: beside those of the base. Returns its DSN.
        """
        base = make_conninfo(self.dsn, dbname=self.base())
        dsn = self.create(name, self.base() if keep else self.empty())
        with connect(base) as source, connect(dsn) as conn:
            with conn.transaction():
                source.execute(f"select bench.copy_{copy}")
                with (
                    source.cursor().copy("copy bench.piece to stdout (format binary)") as pieces,
                    conn.cursor().copy("copy bench.piece from stdin (format binary)") as copied,
                ):
                    for piece in pieces:
                        copied.write(piece)
                source.execute("truncate bench.piece")
                conn.execute((CHECKOUT / "bench/store.sql").read_text())
            conn.execute("vacuum (analyze)")
        return dsn

    def failures(self, number: int) -> str:
        """The DSN of a database with so many open failures of the group "failed", made once."""
        name = f"bench_failures_{number}"
        if name in self.databases:
            return make_conninfo(self.dsn, dbname=name)
        dsn = self.create(name, self.empty())
        with connect(dsn) as conn:
            start(conn, "failed")
            took = seconds(lambda: conn.execute("select bench.make_failures(%s)", (number,)))
            conn.execute("vacuum (analyze)")
            size = count(conn, "select pg_database_size(current_database())")
        print(f"  {number:,} failures made in {took:,.1f} s, {size / 1024**2:,.0f} MiB", flush=True)
        return dsn

    def close(self) -> None:
        for name in self.databases:
            self.drop(name)

    def _execute(self, statement: str, *names: str) -> None:
        with connect(self.dsn) as conn:
            conn.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))


@contextmanager
def open_lab(dsn: str | None, size: Size) -> Iterator[Lab]:
    """A lab on that server, or on an embedded one that keeps its settings: all is durable."""
    with (CACHE / "bench.lock").open("w") as lock:
        if dsn is None:
            # Two at a time would measure each other.
            fcntl.flock(lock, fcntl.LOCK_EX)
            dsn = embedded.start(CACHE / "bench")
        lab = Lab(make_conninfo(dsn, dbname="postgres"), size)
        try:
            yield lab
        finally:
            lab.close()


def connect(dsn: str) -> Connection:
    return psycopg.connect(dsn, autocommit=True)


def name_of(dsn: str) -> str:
    return str(conninfo_to_dict(dsn)["dbname"])


@contextmanager
def events_file(cases: int) -> Iterator[Path]:
    """The real log, or as many invented cases; as many as the real ones where it is missing."""
    if not cases and REAL_LOG.exists():
        yield REAL_LOG
        return
    with TemporaryDirectory() as folder:
        path = Path(folder, "permits.jsonl")
        lines = (json.dumps(event) + "\n" for event in generate.events(cases or 1434, seed=1))
        path.write_text("".join(lines))
        yield path


# Handlers


def keep_most(cursor: Cursor[Any], event: Event) -> None:
    """Keep a case, but fail on one in ten."""
    if (event.subject or "").endswith("4"):
        raise ValueError
    app.keep_clean(cursor, event)


def keep_none(_cursor: Cursor[Any], _event: Event) -> None:
    raise ValueError


CLEAN: dict[str, Handler] = {"Python": app.keep_clean, "SQL": sql_handler("bench.keep")}
FAILING: dict[str, Handler] = {"Python": keep_most, "SQL": sql_handler("bench.keep_most")}


def projection(handler: Handler, group: str) -> Projection:
    """A projection of all permit events by one handler, under a consumer group of its own."""
    made = Projection("bench", group)
    for event_type in app.EVENT_TYPES:
        made.declare(event_type, handler)
    return made


def start(conn: Connection, group: str) -> None:
    replay = Replay(conn)
    replay.register_projection("bench", group)
    replay.start_projection("bench", group)


def run_live(dsn: str, handler: Handler, group: str, threads: int = 1) -> BatchResult:
    """What so many live processors, in a thread each, make of everything in the outbox."""
    made = projection(handler, group)
    total = BatchResult(*(0 for _ in fields(BatchResult)))
    with connect(dsn) as conn:
        goes_on = True
        while goes_on:
            processors = [LiveProcessor(dsn, made) for _ in range(threads)]
            total = add(total, run_side_by_side(processors, once=True))
            goes_on = resume(conn, group)
    return total


def resume(conn: Connection, group: str) -> bool:
    """Let a group go on that paused itself because most of its transactions fail, as they are meant
    to here; return whether it had."""
    query = (
        "select status from replay.projection where (projection, consumer_group) = ('bench', %s)"
    )
    if conn.execute(query, [group]).fetchone() != ("PAUSED",):
        return False
    Replay(conn).resume_projection("bench", group, "it is meant to fail")
    return True


# Measuring


def prepare(conn: Connection) -> None:
    """Empty the read model, and leave no writing of earlier runs to the next one."""
    conn.execute("truncate permits.permit_case_clean")
    conn.execute("checkpoint")


def seconds(work: Callable[[], object]) -> float:
    """How long the work takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def rate(count: int, work: Callable[[], object]) -> float:
    """How many of `count` a second the work does."""
    return count / seconds(work)


def take_turns(
    rounds: int, runs: Mapping[str, Callable[[int], float]], unit: str = "/s"
) -> dict[str, list[float]]:
    """The figures of each run, round by round: all of them in turn, then all of them again."""
    found: dict[str, list[float]] = {name: [] for name in runs}
    for number in range(rounds):
        for name, run in runs.items():
            found[name].append(run(number))
            print(f"  round {number + 1}, {name}: {found[name][-1]:,.5g} {unit}", flush=True)
    return found


def count(conn: Connection, query: str) -> int:
    found = conn.execute(query).fetchone()
    assert found
    return int(found[0])


def current_digest(conn: Connection) -> bytes:
    """What append asks for."""
    query = "select digest from replay.registry order by registry_version desc limit 1"
    found = conn.execute(query).fetchone()
    assert found
    return bytes(found[0])


def move(payload: bytes, old: UUID, new: UUID) -> bytes:
    """The same event of another host."""
    return payload.replace(str(old).encode(), str(new).encode())


def digest(conn: Connection, where: str = "true") -> Digest:
    """What the read model holds, in short."""
    found = conn.execute(
        "select count(*), coalesce(sum(steps), 0),"
        " md5(string_agg(md5(c::text), '' order by c.host_id, c.case_id))"
        f" from permits.permit_case_clean c where {where}"
    ).fetchone()
    assert found
    return int(found[0]), int(found[1]), str(found[2])


def require(found: object, wanted: object, what: str) -> None:
    """Raise unless a run came to what it should: what is fast and wrong does not count."""
    if found != wanted:
        raise AssertionError(f"{what}: {found} instead of {wanted}")
