"""SIGTERM and Ctrl-C, handled alike."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def on_stop(handle: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Let `handle` answer both in the block, also where a shell has us ignore them."""
    numbers = (signal.SIGTERM, signal.SIGINT)
    before = [signal.signal(number, handle) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
