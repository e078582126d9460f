"""Files of CloudEvents in JSON lines, plain or gzipped, and the transactions in them."""

import gzip
import json
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from .errors import (
    InvalidArgument,
    MalformedEvent,
    ReplayError,
    TransactionIncomplete,
    TransactionTooLarge,
)

MAX_EVENT_BYTES = 4 * 1024 * 1024
MAX_MEMBERS = 1000
GZIP_MAGIC = b"\x1f\x8b"


@dataclass(frozen=True, slots=True)
class Line:
    """One event of a file: its exact bytes, and what they say."""

    number: int
    payload: bytes
    event: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Refusal:
    """What is not imported, and why. `line` counts from 1; no value of an event is quoted."""

    line: int
    transaction_id: str | None
    error: str
    reason: str


class Key(NamedTuple):
    """Which transaction a line belongs to."""

    host: str
    transaction_id: str


class Grouping:
    """Collects lines into transactions; lines of several transactions may be mixed.

    A transaction with a bad line is refused whole. `refuse` is called for each bad line and each
    transaction that lacks some.
    """

    def __init__(self, refuse: Callable[[int, str | None, ReplayError], None]) -> None:
        self._refuse = refuse
        self._open: dict[Key, list[Line]] = {}
        self._refused: set[Key] = set()

    def add(self, number: int, payload: bytes) -> list[Line] | None:
        """Add one line; return its transaction, by ordinal, when that is complete now."""
        key = None
        try:
            event = _parse(payload)
            key = _key(event)
            if key in self._refused:
                return None
            _check_place(event)
        except ReplayError as error:
            self._refuse(number, key and key.transaction_id, error)
            if key:
                self._refused.add(key)
                self._open.pop(key, None)
            return None
        lines = self._open.setdefault(key, [])
        lines.append(Line(number, payload, event))
        if len(lines) < lines[0].event["transactioncount"]:
            return None
        return sorted(self._open.pop(key), key=lambda line: line.event["transactionordinal"])

    def end(self) -> None:
        """Refuse what is not complete."""
        for key, lines in self._open.items():
            error = TransactionIncomplete(
                f"{len(lines)} of its {lines[0].event['transactioncount']} events are there"
            )
            self._refuse(lines[0].number, key.transaction_id, error)
        self._open.clear()


def read_lines(path: Path, on_bytes: Callable[[int], None]) -> Iterator[tuple[int, bytes]]:
    """The numbers and bytes of lines that are not blank, without their ends.

    A line too long to be an event comes cut off, still too long. `on_bytes` gets how many bytes of
    the file are behind. Raises InvalidArgument when it cannot be read to its end.
    """
    number = 0
    try:
        with path.open("rb") as raw:
            zipped = raw.read(2) == GZIP_MAGIC
            raw.seek(0)
            with gzip.open(raw) if zipped else raw as file:
                while line := file.readline(MAX_EVENT_BYTES + 2):
                    number += 1
                    rest = line
                    while len(rest) > MAX_EVENT_BYTES and not rest.endswith(b"\n"):
                        rest = file.readline(MAX_EVENT_BYTES + 2)
                    on_bytes(raw.tell())
                    if payload := line.removesuffix(b"\n").removesuffix(b"\r"):
                        yield number, payload
    except (OSError, EOFError, zlib.error) as error:
        raise InvalidArgument(
            f"{path} cannot be read beyond line {number}: {error}",
            details={"file": str(path), "line": number},
            hint="Get the file whole and import it again: what is appended is skipped.",
        ) from error


def _parse(payload: bytes) -> dict[str, Any]:
    if len(payload) > MAX_EVENT_BYTES:
        raise TransactionTooLarge(f"the event has more than {MAX_EVENT_BYTES} bytes")
    try:
        event = json.loads(payload.decode(), parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise MalformedEvent(f"it is no JSON, at character {error.pos + 1}") from None
    except (ValueError, RecursionError):
        raise MalformedEvent("it is no JSON in UTF-8 that can be read") from None
    if not isinstance(event, dict):
        raise MalformedEvent("it is no JSON object")
    return event


def _refuse_constant(_name: str) -> None:
    raise ValueError


def _key(event: dict[str, Any]) -> Key:
    for name in Key("host", "transactionid"):
        if not _is_text(event.get(name)):
            raise MalformedEvent(f'attribute "{name}" is missing or malformed')
    return Key(event["host"], event["transactionid"])


def _is_text(value: Any) -> bool:
    """Whether it is a text that the database can hold."""
    if not isinstance(value, str) or "\0" in value:
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _check_place(event: dict[str, Any]) -> None:
    for name, least in (("transactioncount", 1), ("transactionordinal", 0)):
        # Not isinstance: True is an int.
        if type(event.get(name)) is not int or event[name] < least:
            raise MalformedEvent(f'attribute "{name}" is missing or malformed')
    if event["transactioncount"] > MAX_MEMBERS:
        raise TransactionTooLarge(f"its transaction has more than {MAX_MEMBERS} events")
