"""What an installation brings, when nothing of the checkout is in reach."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[1]

PROBE = """
import importlib.util, pyreplay, pyreplay.cli.main, pyreplay.install
assert importlib.util.find_spec("cli") is None
print(pyreplay.__file__)
print(pyreplay.install.DB)
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel's files in it."""
    # A copy, because a build leaves its remains beside the sources.
    source = tmp_path_factory.mktemp("source")
    for name in ("pyreplay", "cli", "db"):
        shutil.copytree(CHECKOUT / name, source / name)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(CHECKOUT / name, source)
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation"]
    subprocess.run([*command, "-w", source, source], check=True, capture_output=True)
    (wheel,) = source.glob("*.whl")
    target = tmp_path_factory.mktemp("installed")
    zipfile.ZipFile(wheel).extractall(target)
    return target


def test_the_wheel_brings_the_command_but_no_module_called_cli(installed: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    done = subprocess.run(
        [sys.executable, "-c", PROBE],
        cwd=installed,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    for found in done.stdout.splitlines():
        assert Path(found).is_relative_to(installed)
    assert (installed / "pyreplay-0.1.0.dist-info/entry_points.txt").exists()


def test_the_wheel_brings_every_sql_file_but_the_tests(installed: Path) -> None:
    brought = {path.relative_to(installed / "pyreplay") for path in installed.rglob("*.sql")}
    kept = {path.relative_to(CHECKOUT) for path in (CHECKOUT / "db").rglob("*.sql")}
    assert brought == {path for path in kept if path.parts[1] != "tests"}
