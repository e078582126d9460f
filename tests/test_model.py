"""The protocol as a model: spin looks at every interleaving of it, and finds each planted bug."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.debian import Unavailable, unpack_spin
from tests.servers import cache_folder
from tests.support import leave_out

MODEL = Path(__file__).parents[1] / "models/replay.pml"


@pytest.fixture(scope="session")
def spin() -> Path:
    """The model checker."""
    if not shutil.which("gcc"):
        leave_out("spin needs gcc")
    try:
        return unpack_spin(cache_folder())
    except Unavailable as missing:
        leave_out(str(missing))


def check(spin: Path, folder: Path, *switches: str) -> str:
    """Build the checker of the model and run it in `folder`; return its report."""
    _run(folder, str(spin), *switches, "-a", str(MODEL))
    # 2 GiB at most; beyond, the report says that the search was not completed.
    _run(folder, "gcc", "-O2", "-w", "-DSAFETY", "-DMEMLIM=2048", "-o", "pan", "pan.c")
    return _run(folder, "./pan", "-m20000")


def _run(folder: Path, *command: str) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    report = done.stdout + done.stderr
    assert done.returncode == 0, report
    return report


@pytest.mark.parametrize(
    "switches",
    [
        pytest.param((), id="one request"),
        pytest.param(("-DWIDE",), id="a failure in both scopes", marks=pytest.mark.soak),
        pytest.param(("-DTWO_REQUESTS",), id="two requests", marks=pytest.mark.soak),
    ],
)
def test_I5_I9_I10_I11_hold_in_every_interleaving(
    spin: Path, tmp_path: Path, switches: tuple[str, ...]
) -> None:
    report = check(spin, tmp_path, *switches)
    assert "errors: 0" in report, report
    assert "Search not completed" not in report, report
    assert "max search depth too small" not in report, report


@pytest.mark.parametrize(
    ("switch", "broken"),
    [
        ("-DBUG_SETTLE_WITHOUT_LOCKS", r"!\(forgotten\)"),
        ("-DBUG_LOCK_AFTER_HANDLER", r"!\(forgotten\)"),
        ("-DBUG_UNFENCED_FINISH", r"fence\[r\]==mine"),
    ],
)
def test_a_planted_bug_is_found(spin: Path, tmp_path: Path, switch: str, broken: str) -> None:
    report = check(spin, tmp_path, switch)
    assert re.search(rf"assertion violated.*{broken}", report), report
    assert (tmp_path / "replay.pml.trail").exists()
