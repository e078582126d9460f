"""The README is true: its blocks run in order, as they are, on a fresh embedded server."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from examples.permits import generate

CHECKOUT = Path(__file__).parents[1]
README = (CHECKOUT / "README.md").read_text()

# A test of its own runs the first, and is a part of the second.
TWO_COMMANDS = ("sh", "make demo\nmake test\n")

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MARK = "---- block"

Environment = dict[str, str]


@pytest.fixture
def environment() -> Iterator[Environment]:
    """What a newcomer has: no server named, an empty home, and the installed command."""
    # Not pytest's folder: root's server runs as an account that cannot enter it.
    folder = Path(tempfile.mkdtemp(prefix="pyreplay-readme-"))
    folder.chmod(0o755)
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PG", "PYREPLAY_"))}
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    yield {**kept, "PYREPLAY_HOME": str(folder / "home"), "PATH": path}
    shutil.rmtree(folder)


@contextmanager
def kept_up(environment: Environment) -> Iterator[str]:
    """Keep the server up as the README says; yield the DSN of another database on it."""
    with subprocess.Popen(
        ["pyreplay", "psql", "--quiet", "--no-align", "--tuples-only"],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as psql:
        assert psql.stdin and psql.stdout
        psql.stdin.write("create database elsewhere;\nshow unix_socket_directories;\n")
        psql.stdin.flush()
        yield f"host={psql.stdout.readline().strip()} user=postgres dbname=elsewhere"
        psql.stdin.close()


def as_shell(number: int, language: str, text: str) -> str:
    """What a reader does with a block."""
    match language:
        case "sh":
            action = text
        case "python":
            name = text.splitlines()[0].removeprefix("# ")
            action = f"cat > {name} <<'END'\n{text}END\n"
        case "sql":
            action = f"pyreplay --as alice psql -v ON_ERROR_STOP=1 <<'END'\n{text}END\n"
        case "text":
            # What the block before has printed, in part.
            action = ""
        case _:
            raise AssertionError(f"the README has a block of {language}")
    return f"echo '{MARK} {number}'\n{action}"


def test_every_block_runs_and_prints_what_it_says(environment: Environment, tmp_path: Path) -> None:
    blocks = [block for block in BLOCK.findall(README) if block[0] != "mermaid"]
    assert blocks.pop(0) == TWO_COMMANDS
    (tmp_path / "examples").symlink_to(CHECKOUT / "examples")
    script = "".join(as_shell(number, *block) for number, block in enumerate(blocks))
    with kept_up(environment) as dsn:
        ran = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script],
            cwd=tmp_path,
            env={**environment, "DSN": dsn},
            capture_output=True,
            text=True,
            check=False,
        )
    assert ran.returncode == 0, ran.stdout[-3000:] + ran.stderr[-3000:]

    printed = re.split(rf"^{MARK} \d+\n", ran.stdout, flags=re.MULTILINE)[1:]
    for number, (language, text) in enumerate(blocks):
        if language == "text":
            assert set(text.splitlines()) <= set(printed[number - 1].splitlines())


def test_make_demo_tells_the_story_and_again_of_a_file(
    environment: Environment, tmp_path: Path
) -> None:
    # The commands are the installed ones, wherever this test runs.
    folder = Path(sys.executable).parent
    made = ["make", "--assume-old", ".venv/installed", "demo", f"BIN={folder}"]
    file = tmp_path / "permits.jsonl"
    file.write_text("".join(f"{json.dumps(event)}\n" for event in generate.events(50, 2)))
    for command in (made, ["pyreplay", "demo", str(file)]):
        ran = subprocess.run(
            command, cwd=CHECKOUT, env=environment, capture_output=True, text=True, check=False
        )
        assert ran.returncode == 0, ran.stdout[-3000:] + ran.stderr[-3000:]
        assert "refused, AGGREGATE_PROJECTION_BLOCKED" in ran.stdout
        assert "refused, APPROVER_MUST_DIFFER" in ran.stdout
        assert "0 failures are open, 0 transactions wait." in ran.stdout
        assert "Equal." in ran.stdout


def test_every_promise_is_held_to_by_a_test() -> None:
    promises = re.findall(r"^\| (I\d+) \|", README, re.MULTILINE)
    files = [*CHECKOUT.glob("tests/test_*.py"), *CHECKOUT.glob("db/tests/*.sql")]
    tested = {number for file in files for number in re.findall(r"\bI\d+\b", file.read_text())}
    assert len(promises) >= 12
    assert set(promises) <= tested


def test_every_dependency_is_listed_with_its_pin() -> None:
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"].values()
    declared = {pin for pins in (project["dependencies"], *extras) for pin in pins}
    assert set(re.findall(r"^\| \S+ \| `(\S+)` \|", README, re.MULTILINE)) == declared
