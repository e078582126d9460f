"""The story of a request as its timeline tells it, where that needs handlers and processes."""

from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from pyreplay import execution
from pyreplay.client import Replay
from pyreplay.execution import process_batch
from pyreplay.records import RequestStatus
from tests.world import HOST, World, divide, fail


def story(world: World, request: RequestStatus) -> list[str]:
    """What happened after the intent, in the words of the timeline."""
    entries = world.replay.get_timeline(HOST, request.request_id)
    return [entry.summary for entry in entries if entry.kind != "COMMAND"]


@pytest.fixture
def waiting(world: World) -> World:
    """A@1 and B@1 failed; behind the first wait three, of which the second will fail."""
    world.trouble |= {"A@1": fail, "B@1": fail}
    world.append_each("A@1", "B@1", "A@2", "A@3", "A@4")
    world.run()
    world.trouble = {"A@3": divide}
    return world


def test_it_goes_from_the_claim_to_what_was_drained(waiting: World) -> None:
    request = waiting.heal()
    assert story(waiting, request) == [
        "run 1 started",
        "chunk 1 of run 1 begun: 1 items, 1 scopes barred",
        "item 1 succeeded",
        "chunk 1 of run 1 settled: 1 barriers lowered, 1 deferred transactions woken",
        "chunk 2 of run 1 begun: 1 items, 1 scopes barred",
        "item 2 succeeded",
        "chunk 2 of run 1 settled: 1 barriers lowered, 0 deferred transactions woken",
        "run 1 succeeded after 2 chunks",
        "what waited was drained: 1 applied, 1 failed anew",
    ]
    assert waiting.seen() == ["A@1", "B@1", "A@2"]


def test_nothing_drained_is_nothing_to_tell(world: World) -> None:
    world.trouble["A@1"] = fail
    world.append_each("A@1")
    world.run()
    world.trouble.clear()
    assert story(world, world.heal())[-1] == "run 1 succeeded after 1 chunks"


def interrupted(waiting: World, monkeypatch: pytest.MonkeyPatch, error: BaseException) -> Any:
    """Let the drain stop with an error behind its first batch."""
    batches: list[Callable[..., Any]] = [process_batch]

    def stop_behind_the_first(*args: Any, **options: Any) -> Any:
        if batches:
            return batches.pop()(*args, limit=1, **options)
        raise error

    monkeypatch.setattr(execution, "process_batch", stop_behind_the_first)


def test_what_a_stopped_drain_has_done_is_told(
    waiting: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted(waiting, monkeypatch, psycopg.errors.DeadlockDetected())
    request = waiting.heal()
    assert story(waiting, request)[-1] == "what waited was drained: 1 applied, 0 failed anew"


def test_what_an_interrupted_drain_has_done_is_told(
    waiting: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted(waiting, monkeypatch, KeyboardInterrupt())
    request = waiting.plan()
    with pytest.raises(KeyboardInterrupt):
        waiting.execute(request)
    assert story(waiting, request)[-1] == "what waited was drained: 1 applied, 0 failed anew"


def test_a_drain_that_cannot_be_told_spoils_no_success(
    waiting: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(self: Replay, *args: Any) -> None:
        raise psycopg.OperationalError("secret value 4711")

    monkeypatch.setattr(Replay, "report_drain", refuse)
    assert waiting.heal().status == "SUCCEEDED"
    assert "drain not reported: OperationalError" in caplog.text
    assert "4711" not in caplog.text
