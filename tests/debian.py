"""Debian's PostgreSQL 15, pgTAP, pg_prove, plpgsql_check, spin and pgbouncer, each in a folder.

Nothing is installed, so it works without root and leaves the machine as it was.
"""

import fcntl
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

PACKAGES = {
    "libtap-parser-sourcehandler-pgtap-perl",
    "postgresql-15",
    "postgresql-15-pgtap",
    "postgresql-15-plpgsql-check",
    "postgresql-client-15",
}


class Unavailable(Exception):
    """The packages cannot be had here; the message says why."""


@dataclass(frozen=True)
class Debian:
    """The unpacked packages: `root` stands for the root of the file system."""

    root: Path

    @property
    def binaries(self) -> Path:
        """The folder of initdb and postgres."""
        return self.root / "usr/lib/postgresql/15/bin"

    @property
    def pgtap(self) -> str:
        """pgTAP as a script."""
        (script,) = self.root.glob("usr/share/postgresql/15/extension/pgtap--?.?.?.sql")
        return script.read_text()

    @property
    def environment(self) -> dict[str, str]:
        """Where the programs find those libraries and modules that the machine lacks."""
        perl = [self.root / "usr/share/perl5", *self.root.glob("usr/share/perl/5*")]
        perl += self.root.glob("usr/lib/*-linux-gnu/perl/5*")
        libraries = [*self.root.glob("usr/lib/*-linux-gnu"), *self.root.glob("lib/*-linux-gnu")]
        paths = {"PERL5LIB": perl, "LD_LIBRARY_PATH": libraries}
        return {name: os.pathsep.join(map(str, found)) for name, found in paths.items() if found}


def unpack(cache: Path) -> Debian:
    """Download and unpack the packages below `cache`, once. Raises Unavailable."""
    return Debian(_unpack_once(cache / "debian-15", PACKAGES))


def unpack_spin(cache: Path) -> Path:
    """Download and unpack spin below `cache`, once; return the program. Raises Unavailable."""
    return _unpack_once(cache / "debian-spin", {"spin"}) / "usr/bin/spin"


def unpack_pgbouncer(cache: Path) -> Debian:
    """Download and unpack pgbouncer below `cache`, once. Raises Unavailable."""
    return Debian(_unpack_once(cache / "debian-pgbouncer", {"pgbouncer"}))


def _unpack_once(root: Path, packages: set[str]) -> Path:
    with root.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not root.exists():
            partial = root.with_suffix(".partial")
            shutil.rmtree(partial, ignore_errors=True)
            _unpack_into(partial, packages)
            partial.rename(root)
    return root


def _unpack_into(root: Path, packages: set[str]) -> None:
    if not shutil.which("apt-get"):
        raise Unavailable("Debian's packages, which need apt-get")
    downloads = root / "downloads"
    for folder in (downloads, root / "lists/partial", root / "cache/archives/partial"):
        folder.mkdir(parents=True)
    _apt(root, "update")
    plan = _apt(root, "install", "--simulate", "--no-install-recommends", *packages)
    missing = {line.split()[1] for line in plan.splitlines() if line.startswith("Inst ")}
    # An upgrade shows the installed version in brackets; only what is not there at all is needed.
    missing -= {line.split()[1] for line in plan.splitlines() if " [" in line.split("(")[0]}
    _apt(root, "download", *packages, *(name for name in missing if "llvm" not in name))
    for package in downloads.glob("*.deb"):
        _run(root, "dpkg-deb", "--extract", str(package), str(root))
    # Compiling queries would need LLVM, a hundred megabytes, to no use here.
    (root / "usr/lib/postgresql/15/lib/llvmjit.so").unlink(missing_ok=True)
    for folder in ("downloads", "lists", "cache"):
        shutil.rmtree(root / folder)


def _apt(root: Path, *arguments: str) -> str:
    options = {
        "Dir::State::lists": root / "lists",
        "Dir::Cache": root / "cache",
        "APT::Sandbox::User": "root",
        "Debug::NoLocking": "1",
    }
    chosen = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
    return _run(root, "apt-get", "--quiet", *chosen, *arguments)


def _run(root: Path, *command: str) -> str:
    done = subprocess.run(
        command, cwd=root / "downloads", capture_output=True, text=True, check=False
    )
    if done.returncode:
        why = done.stderr.strip().splitlines() or ["no reason given"]
        raise Unavailable(f"Debian's packages: {command[0]} says {why[-1]}")
    return done.stdout
