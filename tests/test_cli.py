"""The command line: what it prints, how it ends, and that it can be interrupted."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from click.testing import CliRunner, Result
from psycopg.conninfo import make_conninfo

from pyreplay.cli.main import main
from tests.servers import Server
from tests.shop import GATE
from tests.support import wait_until_blocked
from tests.world import HOST, World, fail, payloads

CHECKOUT = Path(__file__).parents[1]

# Who waits for the gate of tests.shop.
WAITER = "select pid from pg_locks where locktype = 'advisory' and objid = %s and not granted"

Cli = Callable[..., Result]


@pytest.fixture
def world(dsn: str) -> Iterator[World]:
    """An application with two failures, A@1 and B@1, and A@2 deferred behind the first."""
    world = World(dsn)
    world.start()
    world.trouble = {"A@1": fail, "B@1": fail}
    for number, label in enumerate(("A@1", "B@1", "A@2", "C@1")):
        world.append(f"t{number}", label)
    world.run()
    world.conn.execute("grant usage on schema app to replay_processor")
    world.conn.execute("grant insert on app.seen to replay_processor")
    world.as_person("alice").conn.close()
    world.as_person("bob").conn.close()
    yield world
    world.close()


@pytest.fixture
def cli(dsn: str) -> Cli:
    """Run the command on the test's database: `cli("list", "failures", user="alice")`."""

    def run(*arguments: object, user: str = "postgres", text: str | None = None) -> Result:
        target = make_conninfo(dsn, user=user)
        return CliRunner().invoke(main, ["--dsn", target, *map(str, arguments)], input=text)

    return run


@contextmanager
def process(dsn: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    """The command as a process of its own, which does not outlive the test."""
    with subprocess.Popen(
        [sys.executable, "-m", "pyreplay.cli", *map(str, arguments)],
        env={**os.environ, "PYREPLAY_DSN": dsn},
        cwd=CHECKOUT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        try:
            yield running
        finally:
            running.kill()


# From alert to healthy


def test_four_commands_lead_from_alert_to_healthy(world: World, cli: Cli) -> None:
    ids = cli("list", "failures", "--ids", user="alice")
    assert ids.exit_code == 0
    made = cli(
        *("create", "request", "--failures", "-", "--reason", "handler mended"),
        user="alice",
        text=ids.output,
    )
    assert "2 items of orders" in made.output
    assert "1 deferred transactions wait" in made.output
    request = world.replay.list_requests()[0]
    step = f"pyreplay approve request {request.request_id} --plan-hash {request.plan_hash.hex()}"
    assert step in made.output

    approved = cli(
        *("approve", "request", request.request_id, "--reason", "seen"),
        *("--plan-hash", f"sha256:{request.plan_hash.hex()}"),
        user="bob",
    )
    assert approved.exit_code == 0
    done = cli(
        *("execute", "request", request.request_id, "--app", "tests.shop:mended"),
        *("--reason", "go"),
        user="alice",
    )
    assert done.exit_code == 0, done.output
    assert "SUCCEEDED" in done.stdout
    assert sorted(world.seen()) == ["A@1", "A@2", "B@1", "C@1"]
    assert cli("list", "failures").output == "No failures.\n"


def test_a_replay_that_fails_ends_with_5(world: World, cli: Cli) -> None:
    request = world.plan()
    done = cli(
        *("execute", "request", request.request_id, "--app", "tests.shop:broken"),
        *("--reason", "go"),
    )
    assert done.exit_code == 5
    assert f"next: pyreplay list items {request.request_id}" in done.stdout
    items = json.loads(cli("--json", "list", "items", request.request_id).output)
    assert [item["status"] for item in items] == ["FAILED", "PENDING"]
    assert items[0]["error_code"] == "22012"


def test_items_stop_a_replay_that_can_be_resumed(world: World, cli: Cli) -> None:
    request = world.plan()
    command = ("execute", "request", request.request_id, "--app", "tests.shop:mended")
    first = cli("--json", *command, "--reason", "one first", "--items", 1)
    assert first.exit_code == 0
    assert (json.loads(first.stdout)["status"], json.loads(first.stdout)["done_count"]) == (
        "RUNNING",
        1,
    )
    assert json.loads(cli("--json", *command, "--reason", "rest").stdout)["status"] == "SUCCEEDED"


def test_ctrl_c_leaves_a_replay_that_can_be_resumed(world: World, dsn: str, cli: Cli) -> None:
    request = world.plan()
    command = ("execute", "request", request.request_id, "--reason", "go", "--app")
    gate = world.as_person("bob").conn
    gate.execute("select pg_advisory_lock(%s)", (GATE,))
    with process(dsn, *command, "tests.shop:waiting") as running:
        while not (waiter := world.conn.execute(WAITER, (GATE,)).fetchone()):
            assert running.poll() is None
        wait_until_blocked(world.conn, *waiter)
        running.send_signal(signal.SIGINT)
        _, told = running.communicate(timeout=30)
    gate.close()
    assert running.returncode == 130, told
    assert f"next: pyreplay execute request {request.request_id}" in told
    left = world.replay.get_request(HOST, request.request_id)
    assert (left.status, left.retryable, left.barrier_count) == ("RUNNING", True, 0)
    assert cli(*command, "tests.shop:mended").exit_code == 0


# What is wrong is said, and what to do


def test_an_error_names_itself_and_the_next_step(world: World, cli: Cli) -> None:
    request = world.plan(approve=False)
    command = ("approve", "request", request.request_id, "--reason", "mine")
    refused = cli(*command, "--plan-hash", request.plan_hash.hex(), user="alice")
    assert refused.exit_code == 1
    error, step = refused.stderr.splitlines()
    assert error.startswith("error APPROVER_MUST_DIFFER: ")
    assert step.startswith("next: ")
    assert refused.stdout == ""


def test_an_error_is_an_object_with_json(world: World, cli: Cli) -> None:
    request = world.plan(approve=False)
    command = ("--json", "approve", "request", request.request_id, "--reason", "r")
    refused = cli(*command, "--plan-hash", "00" * 32, user="bob")
    assert refused.exit_code == 1
    error = json.loads(refused.stderr)
    assert (error["error"], error["code"]) == ("PLAN_HASH_MISMATCH", "RP211")
    assert set(error) == {"error", "code", "message", "details", "hint"}


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["get", "request", "7"], "not a valid UUID"),
        (["create", "request", "--reason", "r"], "nothing is selected"),
        (["create", "request", "--scope", "AGGREGATE", "Thing:A", "--reason", "r"], "--host"),
        (["approve", "request", uuid4(), "--reason", "r", "--plan-hash", "abc"], "no sha256"),
        (["run", "--app", "tests.nowhere:app"], "no module 'tests.nowhere'"),
        (["run", "--app", "tests.shop"], "write module:attribute"),
        (["run", "--app", "tests.shop:nothing"], "no pyreplay.projection.Projection"),
        (["list", "failures", "--limit", 0], "not in the range"),
        (["--as", "alice", "list", "failures"], "--as is for the embedded server"),
        (["list", "nonsense"], "No such command"),
    ],
)
def test_wrong_usage_ends_with_2(cli: Cli, arguments: list[object], reason: str) -> None:
    told = cli(*arguments)
    assert told.exit_code == 2
    assert reason in told.stderr
    told = cli("--json", *arguments)
    assert told.exit_code == 2
    assert reason in json.loads(told.stderr)["message"]


def test_a_line_that_is_no_id_is_named(cli: Cli) -> None:
    told = cli("create", "request", "--failures", "-", "--reason", "r", text=f"{uuid4()}\nx\n")
    assert told.exit_code == 2
    assert ":2: 'x' is no id" in told.stderr


@pytest.mark.parametrize("noun", ["failure", "request"])
def test_an_unknown_id_is_not_found(cli: Cli, noun: str) -> None:
    told = cli("get", noun, uuid4())
    assert told.exit_code == 1
    assert f"error {noun.upper()}_NOT_FOUND" in told.stderr
    assert f"next: See `pyreplay list {noun}s`" in told.stderr


def test_an_unreachable_server_ends_with_3() -> None:
    told = CliRunner().invoke(main, ["--dsn", "host=/nowhere", "list", "failures"])
    assert told.exit_code == 3
    assert told.stderr.startswith("error UNREACHABLE: ")


def test_a_missing_database_ends_with_3(server: Server) -> None:
    target = make_conninfo(server.dsn, dbname="nowhere")
    told = CliRunner().invoke(main, ["--dsn", target, "list", "failures"])
    assert told.exit_code == 3
    assert 'database "nowhere" does not exist' in told.stderr


def test_a_database_without_the_engine_ends_with_4(server: Server) -> None:
    dsn = server.create_database("template0")
    try:
        told = CliRunner().invoke(main, ["--dsn", dsn, "list", "failures"])
        assert told.exit_code == 4
        assert "error NOT_INSTALLED" in told.stderr
        assert CliRunner().invoke(main, ["--dsn", dsn, "init"]).exit_code == 0
        assert CliRunner().invoke(main, ["--dsn", dsn, "list", "failures"]).exit_code == 0
    finally:
        server.drop_database(dsn)


def test_an_outdated_engine_ends_with_4_until_it_is_upgraded(
    conn: psycopg.Connection, cli: Cli
) -> None:
    conn.execute("update replay.install set digest = '\\x00'")
    conn.commit()
    assert cli("list", "failures").exit_code == 4
    assert cli("upgrade").exit_code == 0
    assert cli("list", "failures").exit_code == 0


def test_a_login_without_a_role_is_told_so(world: World, cli: Cli) -> None:
    world.conn.execute("do $$ begin create role nobody login; exception when others then end $$")
    told = cli("list", "failures", user="nobody")
    assert told.exit_code == 1
    assert "error NOT_ALLOWED" in told.stderr


# Lists


def test_lists_are_tables_for_people_and_records_for_programs(world: World, cli: Cli) -> None:
    head, first, second = cli("list", "failures").output.splitlines()
    assert head.split()[:2] == ["FAILURE", "ID"]
    assert first.index("orders") == second.index("orders") == head.index("PROJECTION")
    records = json.loads(cli("--json", "list", "failures").output)
    held = world.failures()
    assert [record["failure_id"] for record in records] == [str(f.failure_id) for f in held]
    assert list(records[0]) == list(held[0].__slots__)


def test_a_list_pages_itself(world: World, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    everything = [str(f.failure_id) for f in world.failures()]
    first = cli("list", "failures", "--limit", 1)
    assert everything[0] in first.output
    assert f"next page: --after {everything[0]}" in first.output
    second = cli("list", "failures", "--ids", "--limit", 1, "--after", everything[0])
    assert second.output.split() == everything[1:]
    monkeypatch.setattr("pyreplay.cli.failures.PAGE", 1)
    assert cli("list", "failures", "--ids", "--all").output.split() == everything


def test_filters_narrow_a_list(world: World, cli: Cli) -> None:
    def count(*filters: str) -> int:
        return len(json.loads(cli("--json", "list", "failures", *filters).output))

    assert count("--scope", "AGGREGATE", "Thing:A") == 1
    assert count("--error-code", "ValueError") == 2
    assert count("--status", "resolved") == 0
    assert count("--status", "any", "--projection", "orders") == 2


def test_a_failure_shows_no_payload(world: World, cli: Cli) -> None:
    shown = cli("get", "failure", world.failures()[0].failure_id).output
    assert "error_code" in shown
    assert "secret" not in shown


def test_the_timeline_has_a_name_of_its_own(world: World, cli: Cli) -> None:
    request = world.plan()
    long, short = (
        cli(*name, request.request_id).output for name in (("get", "timeline"), ("timeline",))
    )
    assert long == short
    assert "bob" in long


# Projections and live work


def test_a_projection_goes_from_registered_to_paused_and_on(dsn: str, cli: Cli) -> None:
    assert cli("publish", "registry", "--app", "tests.shop:mended").exit_code == 0
    assert "Stepped" in cli("get", "registry").output
    for command, status in (
        (("register", "projection", "orders"), "REGISTERED"),
        (("start", "projection", "orders", "--at", "now"), "RUNNING"),
        (("pause", "projection", "orders", "--reason", "r"), "PAUSED"),
        (("resume", "projection", "orders", "--reason", "r"), "RUNNING"),
    ):
        assert json.loads(cli("--json", *command).output)["status"] == status
    assert "lane_count  4" in cli("set", "lanes", HOST, 4).output


def test_import_appends_what_is_whole_and_names_what_is_not(
    world: World, cli: Cli, tmp_path: Path
) -> None:
    file = tmp_path / "events.jsonl"
    good = payloads(HOST, "t8", ("E@1", "E@2"))
    file.write_bytes(b"\n".join([*good, b"{no json", *payloads(HOST, "t9", ("F@2",))]))
    told = cli("import", file)
    assert told.exit_code == 1
    assert "1 transactions appended" in told.stdout
    assert f"{file}:3: MALFORMED_EVENT: " in told.stderr
    assert f"{file}:4: VERSION_CONFLICT: " in told.stderr
    again = cli("--json", "import", file)
    assert json.loads(again.stdout)["skipped_count"] == 1
    assert again.stderr == ""


def test_run_once_ends_when_nothing_is_left(world: World, cli: Cli) -> None:
    world.append("t9", "D@1")
    done = cli("--json", "run", "--once", "--app", "tests.shop:mended")
    assert done.exit_code == 0
    assert json.loads(done.output)["applied_count"] == 1


@pytest.mark.parametrize("threads", ["1", "2"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_run_ends_cleanly_on_a_signal(
    world: World, dsn: str, number: signal.Signals, threads: str
) -> None:
    world.append("t9", "D@1")
    command = ("run", "--app", "tests.shop:mended", "--threads", threads)
    with process(dsn, "--json", *command) as running:
        while "D@1" not in world.seen():
            assert running.poll() is None
        running.send_signal(number)
        told, wrong = running.communicate(timeout=30)
    assert running.returncode == 0, wrong
    assert json.loads(told)["applied_count"] == 1


# The server


def test_doctor_tells_what_is_wrong(world: World, cli: Cli) -> None:
    world.replay.register_projection("idle")
    told = cli("doctor")
    assert told.exit_code == 1
    assert "TROUBLE  projection idle (default): it is not started" in told.output
    assert "2 scopes are blocked" in told.output
    found = json.loads(cli("--json", "doctor").output)
    assert {"result", "check", "finding", "next"} == set(found[0])


def test_doctor_is_content_with_a_healthy_server(server: Server, dsn: str, cli: Cli) -> None:
    told = cli("doctor")
    assert told.exit_code == 1
    assert re.findall("^TROUBLE +([a-z]+)", told.output, re.MULTILINE) == ["fsync"]

    server.execute("alter system set fsync = on")
    server.execute("select pg_reload_conf()")
    try:
        told = cli("doctor")
    finally:
        server.execute("alter system set fsync = off")
        server.execute("select pg_reload_conf()")
    assert told.exit_code == 0, told.output
    assert "TROUBLE" not in told.output


def test_psql_passes_arguments_on(dsn: str) -> None:
    with process(dsn, "psql", "--", "-Atc", "select 6 * 7") as running:
        assert running.communicate(timeout=30)[0] == "42\n"


def test_without_a_server_there_is_an_embedded_one() -> None:
    """It is started, given the engine, and the person becomes a login role."""
    # Unlike pytest's own folders, the account of root's servers can enter this one.
    folder = Path(tempfile.mkdtemp(prefix="pyreplay-cli-"))
    folder.chmod(0o755)
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PG", "PYREPLAY_DSN"))}
    environment["PYREPLAY_HOME"] = str(folder / "home")
    try:
        for arguments, printed in (
            (["list", "failures"], "No failures.\n"),
            (["psql", "--", "-Atc", "select session_user"], "alice\n"),
        ):
            done = subprocess.run(
                [sys.executable, "-m", "pyreplay.cli", "--as", "alice", *arguments],
                env=environment,
                cwd=CHECKOUT,
                capture_output=True,
                text=True,
                check=False,
            )
            assert (done.returncode, done.stdout) == (0, printed), done.stderr
    finally:
        shutil.rmtree(folder)


def test_I7_another_applications_handlers_are_refused_before_the_intent(
    world: World, cli: Cli
) -> None:
    request = world.plan()
    told = cli(
        *("execute", "request", request.request_id, "--reason", "go"),
        *("--app", "examples.permits.app:corrected"),
        user="alice",
    )
    assert told.exit_code == 1
    assert "INVALID_ARGUMENT" in told.stderr
    assert world.replay.get_request(HOST, request.request_id).status == "APPROVED"


@pytest.mark.parametrize("dsn", ["nonsense", "postgresql://%zz"])
def test_a_dsn_that_is_none_is_named(dsn: str) -> None:
    told = CliRunner().invoke(main, ["--dsn", dsn, "doctor"])
    assert told.exit_code == 2
    assert "INVALID_DSN" in told.stderr
    assert "next: Look at --dsn" in told.stderr
