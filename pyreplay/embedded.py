"""A PostgreSQL of one's own: started or joined on first use, stopped when its last user leaves.

The server lives in a folder, listens on a unix socket that only the folder's owner can reach, and
trusts whoever reaches it, so `--as NAME` needs no password. POSIX only.
"""

import atexit
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from psycopg.conninfo import make_conninfo

from .binaries import EmbeddedError, find_binaries
from .cluster import DATABASE, PORT, Cluster, find_cluster

__all__ = ["EmbeddedError", "data_home", "find_binaries", "start"]

# The shared lock on the data folder of each server this process uses, held until it ends.
_joined: dict[Path, int] = {}


def start(home: Path | None = None, binaries: Path | None = None) -> str:
    """Start or join the server kept in `home`; return the DSN of its superuser, `postgres`.

    `home` defaults to `data_home()`, `binaries` (the folder of initdb and postgres) to
    `find_binaries()`. The server stops when the last process that started or joined it exits; if
    that one was killed, the next joins what is left running. Calling it again is harmless.
    Raises EmbeddedError.
    """
    home = (home or data_home()).absolute()
    try:
        cluster = find_cluster(home, binaries or find_binaries())
        with _locked(home):
            if not cluster.data.exists():
                cluster.create()
            cluster.check_version()
            cluster.launch()
            _join(cluster)
    except OSError as error:
        raise EmbeddedError(
            f"cannot keep a server in {home}: {error}. Name a folder of yours in PYREPLAY_HOME, "
            "or use a running server with --dsn."
        ) from error
    return make_conninfo(host=str(cluster.socket), port=PORT, user="postgres", dbname=DATABASE)


def data_home() -> Path:
    """The folder of the caller's server: PYREPLAY_HOME, or the system's place for such data."""
    if named := os.environ.get("PYREPLAY_HOME"):
        return Path(named)
    if os.geteuid() == 0:
        # The account that runs the server for root cannot enter root's home.
        return Path("/var/lib/pyreplay")
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local/share") / "pyreplay"


@contextmanager
def _locked(home: Path) -> Iterator[None]:
    """One process at a time starts or stops the server."""
    gate = os.open(home, os.O_RDONLY)
    try:
        # A lock on an open file dies with its holder, however that ends.
        fcntl.flock(gate, fcntl.LOCK_EX)
        yield
    finally:
        os.close(gate)


def _join(cluster: Cluster) -> None:
    if cluster.data not in _joined:
        _joined[cluster.data] = os.open(cluster.data, os.O_RDONLY)
        fcntl.flock(_joined[cluster.data], fcntl.LOCK_SH)
        atexit.register(_leave, cluster, os.getpid())


def _leave(cluster: Cluster, joiner: int) -> None:
    if os.getpid() != joiner:
        return  # A forked child shares its parent's lock and must not give it up.
    user = _joined.pop(cluster.data)
    # Nothing is left to stop where the folder was removed.
    with suppress(FileNotFoundError), _locked(cluster.data.parent):
        try:
            fcntl.flock(user, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(user)
        else:
            cluster.stop()
