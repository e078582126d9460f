"""Transactions that take their process or connection down: found, run alone, and given up."""

import logging
from collections.abc import Callable, Sequence
from typing import Any

import psycopg

from .client import Replay
from .projection import Projection
from .records import ClaimedTransaction
from .watchdog import Watchdog

log = logging.getLogger(__name__)

Connect = Callable[[], psycopg.Connection[Any]]

_CAREFUL_BATCHES = 10
_CRASHES_MOST = 4
# Longer than a short statement needs, shorter than what a pool without a free session keeps one
# waiting: meanwhile the batch is claimed.
_PATIENCE = 5.0


def crashed(batch: Sequence[ClaimedTransaction]) -> dict[int, str]:
    """Places in the batch of what has crashed too often to be run once more, with the code of its
    failure."""
    return {
        t.ord: "HANDLER_CRASHED"
        for t in batch
        if t.decision == "APPLY" and t.crash_count >= _CRASHES_MOST
    }


class Trial:
    """Marks in the database what is about to run, so that it is known when nothing comes back.

    That takes a session of its own, so it is done only when something may have crashed: in the
    first batches of a connection, and with a transaction that did. The batch's own commit takes
    its marks off.
    """

    def __init__(self, connect: Connect, projection: Projection) -> None:
        self._connect = connect
        self._projection = projection
        self._left = _CAREFUL_BATCHES
        self._marked: list[ClaimedTransaction] = []

    def reset(self) -> None:
        """Be careful: the connection is new, and who knows how the one before it ended."""
        self._left = _CAREFUL_BATCHES

    def forget(self) -> None:
        """Let the marks of the batch before be what they are: off, or those of a crash."""
        self._marked = []

    def begin(self, batch: Sequence[ClaimedTransaction]) -> None:
        """Mark what is going to run, unless there is no reason to."""
        if self._left <= 0 and not any(t.crash_count for t in batch):
            return
        self._left -= 1
        given_up = crashed(batch)
        running = [t for t in batch if t.decision == "APPLY" and t.ord not in given_up]
        if running:
            self._call(Replay.begin_trial, running)
            self._marked = running

    def take_back(self) -> None:
        """Take the marks of a batch off that was rolled back without anything going down."""
        marked, self._marked = self._marked, []
        try:
            if marked:
                self._call(Replay.end_trial, marked)
        except psycopg.Error as error:
            # It counts as a crash then: one that nobody has seen.
            log.warning("%s: mark not taken back: %s", self._projection.name, type(error).__name__)

    def _call(self, method: Callable[..., None], batch: Sequence[ClaimedTransaction]) -> None:
        with self._connect() as conn, Watchdog(conn, _PATIENCE):
            method(
                Replay(conn),
                self._projection.name,
                self._projection.consumer_group,
                [t.host_id for t in batch],
                [t.transaction_id for t in batch],
            )
