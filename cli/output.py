"""What commands print: tables and records for people, JSON for programs."""

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Any
from uuid import UUID

import click

# Rows that are aligned together; a longer list goes on with widths of its own.
BLOCK = 1000


class Output:
    """Prints records and lists in the form that was asked for."""

    def __init__(self, as_json: bool) -> None:
        self.as_json = as_json

    def record(self, record: Any) -> None:
        """Print one record, whole."""
        if self.as_json:
            click.echo(_dump(record))
        else:
            _print_fields(_as_dict(record))

    def rows(self, rows: Iterable[Any], columns: str, nothing: str) -> None:
        """Print a list: as JSON whole records, as a table these columns of them."""
        if self.as_json:
            _print_array(rows)
        elif not _print_table(rows, columns.split()):
            click.echo(nothing)

    def say(self, message: str) -> None:
        """Print a sentence for people; programs have no use for it."""
        if not self.as_json:
            click.echo(message)


@contextmanager
def progress(out: Output, label: str, length: int) -> Iterator[Callable[[int], None]]:
    """A progress bar on stderr; it yields a function that is told how much is done."""
    if out.as_json:
        yield lambda done: None
        return
    with click.progressbar(length=length, label=label, file=sys.stderr) as bar:
        yield lambda done: bar.update(done - bar.pos)


def show(value: Any) -> str:
    """One value as a table cell."""
    match value:
        case None:
            return "-"
        case bool():
            return "yes" if value else "no"
        case datetime():
            return value.astimezone().isoformat(" ", "seconds")
        case bytes():
            return value.hex()
        case list() | dict():
            return json.dumps(value, default=_plain)
    return str(value)


def _as_dict(record: Any) -> dict[str, Any]:
    if is_dataclass(record):
        return {field.name: getattr(record, field.name) for field in fields(record)}
    return dict(record)


def _plain(value: Any) -> Any:
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, bytes):
        return value.hex()
    return _as_dict(value)


def _dump(value: Any) -> str:
    return json.dumps(value, default=_plain, ensure_ascii=False)


def _print_array(rows: Iterable[Any]) -> None:
    before = "["
    for row in rows:
        click.echo(f"{before}\n{_dump(row)}", nl=False)
        before = ","
    click.echo("[]" if before == "[" else "\n]")


def _print_fields(record: dict[str, Any]) -> None:
    # What is not known, or not yet, would only hide what is.
    known = {name: value for name, value in record.items() if value is not None}
    lists = {k: v for k, v in known.items() if v and isinstance(v, list) and _is_table(v)}
    width = max(map(len, known))
    for name, value in known.items():
        if name not in lists:
            click.echo(f"{name:{width}}  {show(value)}")
    for name, rows in lists.items():
        click.echo(f"\n{name}")
        _print_table(rows, list(rows[0]), indent="  ")


def _is_table(rows: list[Any]) -> bool:
    return all(isinstance(row, dict) for row in rows)


def _print_table(rows: Iterable[Any], columns: Sequence[str], indent: str = "") -> bool:
    """Print rows in aligned columns; tell whether there were any."""
    left = iter(rows)
    heads = [column.replace("_", " ").upper() for column in columns]
    printed = False
    while block := [_as_dict(row) for row in islice(left, BLOCK)]:
        cells = [[show(row.get(column)) for column in columns] for row in block]
        numeric = [all(isinstance(row.get(c), int | None) for row in block) for c in columns]
        table = cells if printed else [heads, *cells]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        for line in table:
            aligned = (
                f"{cell:>{width}}" if right else f"{cell:{width}}"
                for cell, width, right in zip(line, widths, numeric, strict=True)
            )
            click.echo((indent + "  ".join(aligned)).rstrip())
        printed = True
    return printed
