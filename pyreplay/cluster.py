"""One PostgreSQL server in one folder: made, started and stopped, whatever a crash left there."""

import hashlib
import os
import shlex
import shutil
import stat
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from .binaries import Account, EmbeddedError, Programs, find_account, find_programs

DATABASE = "pyreplay"
PORT = "5432"

# A socket's address holds 108 bytes (104 on some systems), its name within the folder included.
LONGEST_SOCKET_FOLDER = 85

# Linux gives no process a number this high.
NOBODYS_PID = b"99999999"


@dataclass(frozen=True, slots=True)
class Cluster:
    """A server whose data lies in `data` and which listens in the folder `socket`."""

    data: Path
    socket: Path
    programs: Programs

    def create(self) -> None:
        """Make the data folder, whole or not at all."""
        partial = self.data.with_name("pg.partial")
        shutil.rmtree(partial, ignore_errors=True)
        self.programs.account.make_private(partial)
        options = ("-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8")
        made = self.programs.run("initdb", "-D", partial, *options, check=False)
        if made.returncode:
            raise EmbeddedError(
                f"{made.stderr.strip()}\nThe server runs as user id {self.programs.account.uid}: "
                "name a folder which that account can enter, with room for it, in PYREPLAY_HOME."
            )
        command = f"create database {DATABASE}\n"
        self.programs.run("postgres", "--single", "-D", partial, "postgres", script=command)
        partial.rename(self.data)

    def check_version(self) -> None:
        """Raise EmbeddedError unless the programs are of the release that made the data."""
        made_by, ours = (self.data / "PG_VERSION").read_text().strip(), self.programs.version()
        if made_by != str(ours):
            raise EmbeddedError(
                f"{self.data} was made by PostgreSQL {made_by}, and {self.programs.folder} holds "
                f"{ours}. Name the programs of {made_by} in PYREPLAY_PG_BIN, or another folder in "
                "PYREPLAY_HOME."
            )

    def launch(self) -> None:
        """Return once the server answers; start it unless it runs. Raises EmbeddedError."""
        options = shlex.join(["-h", "", "-p", PORT, "-k", str(self.socket)])
        log, where = self.data / "log", ("-w", "-D", self.data)
        deadline, failures = time.monotonic() + 60, 0
        while failures < 10 and time.monotonic() < deadline:
            ready = self._try("pg_isready", "-h", self.socket, "-p", PORT, "-U", "postgres")
            if ready == 0:
                return
            # 1 is a server that is starting or stopping; a start while it stops fails.
            if ready != 1:
                self._disown_reused_pid()
                if self._try("pg_ctl", "start", *where, "-l", log, "-o", options) == 0:
                    return
                failures += 1
            # What a killed server left behind takes a moment to notice and end.
            time.sleep(0.2)
        words = log.read_text(errors="replace")[-1000:] if log.exists() else ""
        raise EmbeddedError(f"the server in {self.data} does not start. End of its log:\n{words}")

    def stop(self) -> None:
        """Stop the server, ending the sessions that are left."""
        self._disown_reused_pid()
        self._try("pg_ctl", "stop", "-w", "-m", "fast", "-D", self.data)

    def _try(self, program: str, *arguments: str | Path) -> int:
        return self.programs.run(program, *arguments, check=False).returncode

    def _disown_reused_pid(self) -> None:
        """Keep PostgreSQL from taking, or signalling, a stranger that got a dead server's pid."""
        # Elsewhere there is no /proc to tell a stranger by.
        if sys.platform == "linux":
            for record in (self.data / "postmaster.pid", self.socket / f".s.PGSQL.{PORT}.lock"):
                if record.exists() and not self._is_live(record):
                    _, _, rest = record.read_bytes().partition(b"\n")
                    # The rest names the shared memory, which PostgreSQL must still find unused.
                    record.write_bytes(NOBODYS_PID + b"\n" + rest)

    def _is_live(self, record: Path) -> bool:
        """Whether the process that wrote the record may still be running."""
        pid = record.read_text().partition("\n")[0]
        try:
            # A server's working folder is its data folder.
            return Path("/proc", pid, "cwd").samefile(self.data)
        except FileNotFoundError:
            # Gone, or dead and waiting for a parent that may never ask.
            return False
        except PermissionError:
            # Another account's process: PostgreSQL knows that it is no server of its own.
            return True


def find_cluster(home: Path, binaries: Path) -> Cluster:
    """The cluster kept in `home`, which is made if need be. Raises EmbeddedError and OSError."""
    data = home / "pg"
    if unsafe := set(str(data)) & set('"$`\\\n'):
        # pg_ctl puts the path into a shell command, between double quotes.
        raise EmbeddedError(f"PostgreSQL cannot live in {data}: its path holds {unsafe}.")
    account = find_account(data, home)
    account.make_private(home)
    return Cluster(data, socket_folder(data, account), find_programs(binaries, account))


def socket_folder(data: Path, account: Account) -> Path:
    """Where a server of this data listens, in a folder that is made if need be."""
    # libpq takes a comma for the end of one host's name.
    if len(os.fsencode(data)) <= LONGEST_SOCKET_FOLDER and "," not in str(data):
        return data
    folder = Path("/tmp", f"pyreplay-{hashlib.sha256(os.fsencode(data)).hexdigest()[:12]}")
    account.make_private(folder)
    found = folder.lstat()
    # Anybody may have made a folder of this name in /tmp.
    if stat.S_IMODE(found.st_mode) != 0o700 or found.st_uid != account.uid:
        raise EmbeddedError(f"{folder} is not ours alone. Remove it, or shorten PYREPLAY_HOME.")
    return folder
