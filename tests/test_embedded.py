"""The embedded server: joined, left, killed, as root and as an ordinary user, in awkward places."""

import atexit
import os
import pwd
import select
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from pyreplay.binaries import Account, find_account, find_programs
from pyreplay.cluster import socket_folder
from pyreplay.embedded import EmbeddedError, find_binaries, start

# Uses a server until its standard input ends; the DSN it prints says that it has joined.
USER = """
import sys
from pathlib import Path
from pyreplay.embedded import start
print(start(Path(sys.argv[1])), flush=True)
sys.stdin.read()
"""


class User:
    """Another process that uses the server in `home`."""

    def __init__(self, home: Path) -> None:
        command = [sys.executable, "-c", USER, str(home)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def dsn(self) -> str:
        """The DSN it was given, once it was."""
        assert self.process.stdout
        return self.process.stdout.readline().strip()

    def leave(self) -> None:
        """End the way programs end."""
        self.process.communicate(timeout=30)

    def kill(self, how: signal.Signals) -> None:
        """End without a chance to stop the server."""
        self.process.send_signal(how)
        self.process.communicate(timeout=30)


@pytest.fixture
def folder() -> Iterator[Path]:
    """An empty folder that the account of root's servers can enter, unlike pytest's own."""
    folder = Path(tempfile.mkdtemp(prefix="pyreplay test "))
    folder.chmod(0o755)
    yield folder
    for data in folder.rglob("pg"):
        programs = find_programs(find_binaries(), find_account(data))
        programs.run("pg_ctl", "stop", "-m", "immediate", "-D", data, check=False)
        shutil.rmtree(socket_folder(data, find_account(data)), ignore_errors=True)
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def made() -> Iterator[Path]:
    """The home of a server that was made, used and left."""
    folder = Path(tempfile.mkdtemp(prefix="pyreplay-test-"))
    folder.chmod(0o755)
    User(folder / "home").leave()
    yield folder / "home"
    shutil.rmtree(folder)


@pytest.fixture
def home(folder: Path, made: Path) -> Path:
    """The home of a stopped server."""
    return copy(made, folder / "home")


def copy(home: Path, to: Path) -> Path:
    """A copy of a home, owners included."""
    to.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["cp", "-a", home, to], check=True)
    return to


def server_pid(home: Path) -> int:
    return int((home / "pg/postmaster.pid").read_text().split("\n")[0])


def wait_for_end(pid: int) -> None:
    """Return once the process has ended."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    ended, _, _ = select.select([handle], [], [], 30)
    os.close(handle)
    assert ended


def is_running(home: Path) -> bool:
    return (home / "pg/postmaster.pid").exists()


def answer(dsn: str) -> object:
    with psycopg.connect(dsn) as conn:
        return conn.execute("select current_database()").fetchone()


def test_five_at_once_make_one_server_and_the_last_stops_it(folder: Path) -> None:
    home = folder / "home"
    users = [User(home) for _ in range(5)]
    assert len({user.dsn() for user in users}) == 1
    pid = server_pid(home)
    for user in users[1:]:
        user.leave()
    assert server_pid(home) == pid
    users[0].leave()
    assert not is_running(home)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_the_next_user_joins_and_stops_what_a_killed_one_left(
    home: Path, how: signal.Signals
) -> None:
    killed = User(home)
    dsn = killed.dsn()
    killed.kill(how)
    pid = server_pid(home)
    successor = User(home)
    assert successor.dsn() == dsn
    assert server_pid(home) == pid
    successor.leave()
    assert not is_running(home)


def test_a_killed_server_is_started_again_with_its_data(home: Path) -> None:
    with psycopg.connect(start(home)) as conn:
        conn.execute("create table kept ()")
    pid = server_pid(home)
    os.kill(pid, signal.SIGKILL)
    wait_for_end(pid)
    with psycopg.connect(start(home)) as conn:
        assert conn.execute("select count(*) from kept").fetchone() == (0,)


@pytest.fixture
def user_of_dead_server(home: Path) -> Iterator[User]:
    """A user whose server was killed, and whose server's pid a stranger has got since."""
    user = User(home)
    user.dsn()
    pid = server_pid(home)
    os.kill(pid, signal.SIGKILL)
    wait_for_end(pid)
    data, account = home / "pg", find_account(home)
    # Of the same account, or PostgreSQL would see the difference by itself.
    stranger = subprocess.Popen(["cat"], stdin=subprocess.PIPE, **account.credentials())
    for record in (data / "postmaster.pid", socket_folder(data, account) / ".s.PGSQL.5432.lock"):
        record.write_text(record.read_text().replace(str(pid), str(stranger.pid), 1))
    yield user
    # It still reads its input: nobody has signalled it.
    stranger.communicate(timeout=30)
    assert stranger.returncode == 0


def test_a_stranger_with_a_dead_servers_pid_is_no_server(
    home: Path, user_of_dead_server: User
) -> None:
    assert answer(start(home)) == ("pyreplay",)
    user_of_dead_server.leave()


def test_leaving_a_dead_server_signals_no_stranger(user_of_dead_server: User) -> None:
    user_of_dead_server.leave()
    assert user_of_dead_server.process.returncode == 0


def test_a_creation_that_was_cut_short_is_begun_anew(folder: Path, made: Path) -> None:
    home = copy(made, folder / "home")
    (home / "pg").rename(home / "pg.partial")
    assert answer(start(home)) == ("pyreplay",)


@pytest.mark.parametrize("name", ["it's", "a,b", "deep/" * 20])
def test_any_path_will_do(folder: Path, made: Path, name: str) -> None:
    assert answer(start(copy(made, folder / name))) == ("pyreplay",)


def test_a_path_that_a_shell_would_read_is_refused(folder: Path) -> None:
    with pytest.raises(EmbeddedError, match="its path holds"):
        start(folder / "$HOME")


def test_root_uses_an_ordinary_users_server_and_leaves_it_to_the_user(home: Path) -> None:
    nobody = Account(pwd.getpwnam("nobody").pw_uid, pwd.getpwnam("nobody").pw_gid)
    if os.geteuid() == 0:
        subprocess.run(["chown", "-R", f"{nobody.uid}:{nobody.gid}", home], check=True)
    User(home).leave()
    assert use_as(nobody, home) == 0
    assert {path.stat().st_uid for path in home.rglob("*")} == {find_account(home).uid}


def use_as(account: Account, home: Path) -> int:
    """Start, use and leave a server in a process of `account`, if we are root; its exit status."""
    binaries = find_programs(find_binaries(), account).folder
    # A fork, because the account may be unable to reach this Python.
    if child := os.fork():
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    status = 1
    try:
        if os.geteuid() == 0:
            os.setgroups([])
            os.setgid(account.gid)
            os.setuid(account.uid)
        if answer(start(home, binaries)) == ("pyreplay",):
            atexit._run_exitfuncs()
            status = int(is_running(home))
    finally:
        os._exit(status)


def test_data_of_another_release_is_refused_by_name(home: Path) -> None:
    (home / "pg/PG_VERSION").write_text("14\n")
    with pytest.raises(EmbeddedError, match="was made by PostgreSQL 14"):
        start(home)


def test_a_server_that_cannot_start_says_why(home: Path) -> None:
    with (home / "pg/postgresql.conf").open("a") as settings:
        settings.write("no_such_setting = on\n")
    with pytest.raises(EmbeddedError, match="no_such_setting"):
        start(home)


def test_a_place_where_no_server_can_be_made_is_refused(folder: Path) -> None:
    home = folder / "home"
    home.mkdir()
    (home / "pg.partial").write_text("in the way")
    with pytest.raises(EmbeddedError, match="PYREPLAY_HOME"):
        start(home)


def test_missing_programs_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PYREPLAY_PG_BIN", str(tmp_path))
    with pytest.raises(EmbeddedError, match="PYREPLAY_PG_BIN"):
        find_binaries()
