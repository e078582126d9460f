"""L7: behind a pooler that gives each transaction another session everything stays correct; only a
crash is seen later, when the lease ends."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from pyreplay import execution
from pyreplay.binaries import find_account
from pyreplay.client import Replay
from pyreplay.errors import ReplayExecutionInProgress
from pyreplay.live import LiveProcessor, process_batch
from pyreplay.records import RequestStatus
from tests.debian import Unavailable, unpack_pgbouncer
from tests.invariants import check_invariants
from tests.servers import Server, cache_folder
from tests.shop import release
from tests.support import freeze, leave_out, wait_until
from tests.world import HOST, World, aside, fail

CHECKOUT = Path(__file__).parents[1]
# For `--app tests.test_pooler:sleeping`: it sleeps in a statement on A@1.
sleeping = release(lambda cursor: cursor.execute("select pg_sleep(50)"))
SLEEPS = "select count(*) = 1 from pg_stat_activity where query = 'select pg_sleep(50)'"
LIVENESS = "select count(*) from pg_locks where locktype = 'advisory' and objsubid = 1"
CONFIG = """
[databases]
* = host={socket} port={port} user={user}
[pgbouncer]
listen_addr =
listen_port = 6432
unix_socket_dir = {folder}
auth_type = any
pool_mode = transaction
default_pool_size = 3
ignore_startup_parameters = extra_float_digits,options
"""


@pytest.fixture(scope="module")
def pooler(server: Server) -> Iterator[Path]:
    """The folder of the socket of a pgbouncer before the server, with three sessions a database."""
    try:
        packages = unpack_pgbouncer(cache_folder())
    except Unavailable as missing:
        leave_out(str(missing))
    account = find_account()
    parts = conninfo_to_dict(server.dsn)
    with tempfile.TemporaryDirectory(prefix="pooler-", dir="/tmp") as name, ExitStack() as stack:
        folder = Path(name)
        config = folder / "pgbouncer.ini"
        values = {"socket": parts["host"], "port": parts["port"], "user": parts["user"]}
        config.write_text(CONFIG.format(folder=folder, **values))
        if os.geteuid() == 0:
            os.chown(folder, account.uid, account.gid)
            config.chmod(0o644)
        process = subprocess.Popen(
            [packages.root / "usr/sbin/pgbouncer", "--quiet", config],
            env=os.environ | packages.environment,
            cwd="/",
            **account.credentials(),
        )
        stack.callback(process.wait)
        stack.callback(process.terminate)
        wait_until_it_answers(folder, server.dsn)
        yield folder


def wait_until_it_answers(folder: Path, dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as clock:
        for _ in range(500):
            try:
                psycopg.connect(make_conninfo(dsn, host=str(folder), port="6432")).close()
            except psycopg.OperationalError:
                clock.execute("select pg_sleep(0.01)")
            else:
                return
    raise AssertionError("pgbouncer does not answer")


@pytest.fixture
def pooled(world: World, pooler: Path) -> Iterator[str]:
    """A DSN of the world's database that goes through the pooler."""
    yield make_conninfo(world.dsn, host=str(pooler), port="6432")
    # Its sessions would keep the database from being dropped quietly.
    world.conn.execute(
        "select pg_terminate_backend(pid) from pg_stat_activity"
        " where datname = current_database() and pid <> pg_backend_pid()"
    )


def connect(dsn: str) -> psycopg.Connection[Any]:
    """As a caller connects through a pooler: without prepared statements."""
    return psycopg.connect(dsn, autocommit=True, prepare_threshold=None)


def execute(world: World, dsn: str, request: RequestStatus) -> RequestStatus:
    key = HOST, request.request_id, request.plan_hash
    with closing(connect(dsn)) as conn:
        Replay(conn).execute_request(*key, reason="go")
        return execution.execute(conn, world.projection, *key, pooled=True)


def process(world: World, dsn: str) -> None:
    with closing(connect(dsn)) as conn:
        while process_batch(conn, world.projection, limit=7):
            pass


def test_L7_live_work_and_a_replay_go_through_a_pooler(world: World, pooled: str) -> None:
    """Two processors and an execution share three sessions; versions are applied one by one."""
    labels = [f"{name}@{version}" for version in range(1, 9) for name in "ABCDEFGHIJ"]
    world.trouble = dict.fromkeys(("A@1", "B@1", "C@2"), fail)
    world.append_each(*labels)
    process(world, pooled)
    assert len(world.failures()) == 3
    world.trouble.clear()
    request = world.plan()
    world.append_each(*(f"{name}@{version}" for version in range(9, 30) for name in "DEFGHIJ"))

    with aside(process, world, pooled) as one, aside(process, world, pooled) as two:
        assert execute(world, pooled, request).status == "SUCCEEDED"
    assert one.result() is two.result() is None
    process(world, pooled)

    assert len(world.seen()) == 80 + 7 * 21
    assert world.leftovers() == {}
    check_invariants(world.conn)


def test_L7_live_processors_go_through_a_pooler(world: World, pooled: str) -> None:
    """Also when a batch runs in a session in which the processor has prepared nothing."""
    labels = [f"{name}@{version}" for version in range(1, 21) for name in "ABCD"]
    world.trouble = dict.fromkeys(("A@1", "B@7"), fail)
    world.append_each(*labels)
    one, two = (LiveProcessor(pooled, world.projection, limit=3, pooled=True) for _ in range(2))

    for _ in range(12):
        one.step()
    with closing(connect(pooled)) as other, other.transaction():
        # It gets the session that was used last, and keeps it.
        other.execute("select")
        one.step()
    with aside(one.run, once=True), aside(two.run, once=True):
        pass

    assert len(world.failures()) == 2
    assert len(world.seen()) == 80 - 20 - 14
    assert world.count("trial") == 0
    world.trouble.clear()
    world.heal()
    world.run()
    assert len(world.seen()) == 80
    assert world.leftovers() == {}
    check_invariants(world.conn)


@pytest.mark.parametrize("through", ["a pooler", "no pooler"])
def test_L7_a_killed_live_processor_lets_go_within_its_statement(
    world: World, pooled: str, through: str
) -> None:
    """The server notices in a second or two, and others go on; it does not sleep to the end."""
    world.append_each("A@1", "B@1", "C@1")
    command = ["-m", "pyreplay.cli", "run", "--app", "tests.test_pooler:sleeping"]
    environment = {"PYREPLAY_DSN": world.dsn}
    if through == "a pooler":
        environment = {"PYREPLAY_DSN": pooled, "PYREPLAY_POOLED": "1"}
    with subprocess.Popen(
        [sys.executable, *command], env=os.environ | environment, cwd=CHECKOUT
    ) as running:
        try:
            wait_until(world.conn, SLEEPS)
        finally:
            running.send_signal(signal.SIGKILL)

    wait_until(world.conn, f"not ({SLEEPS})", seconds=5)
    assert world.run().applied_count == 3
    assert world.leftovers() == {}


def test_L7_a_lost_pooled_holder_keeps_its_lease_and_no_lock(world: World, pooled: str) -> None:
    """The holder's connection goes between begin and run. No session has a liveness lock that would
    outlive it; a retry is refused until the lease has ended, and then finishes."""
    world.append_each("A@1", "A@2")
    world.trouble["A@1"] = fail
    process(world, pooled)
    world.trouble.clear()
    request = world.plan()
    key = HOST, request.request_id, request.plan_hash
    with closing(connect(pooled)) as conn:
        holder = Replay(conn)
        holder.execute_request(*key, reason="go")
        holder.claim_request(*key, pooled=True)
        holder.begin_items(*key[:2], 1)
    assert world.conn.execute(LIVENESS).fetchone() == (0,)

    with pytest.raises(ReplayExecutionInProgress):
        execute(world, pooled, request)
    # In a session of our own: the pooler would lend the frozen clock to somebody else.
    with psycopg.connect(world.dsn, autocommit=True) as conn:
        freeze(conn, "9998-01-01T00:00:00Z")
        status = execution.execute(conn, world.projection, *key, pooled=True)

    assert status.status == "SUCCEEDED"
    assert world.seen() == ["A@1", "A@2"]
    assert world.leftovers() == {}
    check_invariants(world.conn)
