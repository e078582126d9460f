"""Transactions at which the server itself fails, again and again, while others pass."""

from collections import Counter
from collections.abc import Sequence
from enum import Enum
from uuid import UUID

import psycopg

from .records import BatchResult, ClaimedTransaction

# Serialization, deadlock, out of memory or locks, lock not available, and with XX bugs of the
# server: what the transaction itself may bring about. All others are never its fault.
_MAY_BE_ITS_OWN = {"40001", "40P01", "53200", "55P03"}
_TRIES = 5

Key = tuple[UUID, str]


class NothingPasses(psycopg.OperationalError):
    """A transaction is stuck and nothing else in its batch goes well, so it may not be its own."""

    def __init__(self, code: str) -> None:
        super().__init__(f"{code} again and again, and nothing else passes")
        self.sqlstate = code


class Verdict(Enum):
    """What the fault of a batch comes to."""

    NO_TRANSACTIONS = "no transaction brought it about"
    UNCLEAR = "a smaller batch, or one more try, may tell whose it is"
    GIVEN_UP = "the transaction that met it alone is given up"
    NOTHING_PASSES = "others fail as well as the one that is given up"


class Stuck:
    """What a processor remembers of faults that a transaction met alone.

    After 5 of them it is given up: it is not run in the next batch, and is captured in it when
    something else is applied there. When nothing is, it is run again, alone.
    """

    def __init__(self) -> None:
        self._tries: Counter[Key] = Counter()
        self._codes: dict[Key, str] = {}
        self._in_hand: list[Key] = []

    def begin(self, batch: Sequence[ClaimedTransaction]) -> dict[int, str]:
        """Take a batch in hand; return the places of what is given up, with its code."""
        places = {(t.host_id, t.transaction_id): t.ord for t in batch if t.decision == "APPLY"}
        self._in_hand = list(places)
        return {ord: self._codes[key] for key, ord in places.items() if key in self._codes}

    def check(self, result: BatchResult) -> None:
        """Before the batch is committed; raises NothingPasses when it must not be."""
        given_up = [key for key in self._in_hand if key in self._codes]
        if given_up and not result.applied_count + result.drained_count:
            raise NothingPasses(self._codes[given_up[0]])
        for key in self._in_hand:
            self._tries.pop(key, None)
            self._codes.pop(key, None)
        self._in_hand = []

    def note(self, error: psycopg.Error) -> Verdict:
        """Judge the fault of the batch in hand, and count it when a transaction met it alone."""
        in_hand, self._in_hand = self._in_hand, []
        code = error.sqlstate or ""
        if not in_hand or not (code in _MAY_BE_ITS_OWN or code.startswith("XX")):
            return Verdict.NO_TRANSACTIONS
        given_up = [key for key in in_hand if self._codes.pop(key, None)]
        if given_up:
            # One more try each, alone: whatever was wrong may be mended by then.
            self._tries.update(dict.fromkeys(given_up, -1))
            return Verdict.NOTHING_PASSES
        if len(in_hand) > 1:
            return Verdict.UNCLEAR
        (key,) = in_hand
        self._tries[key] += 1
        if self._tries[key] < _TRIES:
            return Verdict.UNCLEAR
        self._codes[key] = code
        return Verdict.GIVEN_UP
