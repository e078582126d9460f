"""The commands of docs/runbook.md run as they are, and its metrics are there."""

import re
import shlex
from pathlib import Path

from click.testing import CliRunner

from pyreplay.cli.main import main
from tests.world import World, fail

PAGE = (Path(__file__).parents[1] / "docs/runbook.md").read_text()
BLOCKS = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_every_command_runs(world: World) -> None:
    world.trouble["A@1"] = fail
    world.append_each("A@1", "A@2", "B@1")
    world.run()
    commands = [shlex.split(line)[1:] for block in BLOCKS for line in block.splitlines()]
    assert len(commands) >= 9
    for command in commands:
        if command[:2] == ["psql", "-c"]:
            assert world.conn.execute(command[2].encode()).description, command
        else:
            ran = CliRunner().invoke(main, ["--dsn", world.dsn, *command])
            assert ran.exit_code == 0, (command, ran.output)


def test_every_metric_is_there(world: World) -> None:
    shown = CliRunner().invoke(main, ["--dsn", world.dsn, "metrics"]).output
    named = set(re.findall(r"\breplay_[a-z_]+", PAGE))
    assert len(named) >= 8
    assert not [name for name in named if f"# TYPE {name} " not in shown]


def test_every_command_that_is_named_is_one() -> None:
    text = " ".join(PAGE.split())
    for verb, noun in re.findall(r"`pyreplay (\w+) (\w+)", text):
        assert noun in getattr(main.commands[verb], "commands", {}), (verb, noun)
