"""Parse every SQL file below the named folders with PostgreSQL's own parser, bodies included.

Prints `file:line: message` and exits with 1 when something does not parse or carries stray blanks.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pglast
from pglast import ast
from pglast.parser import ParseError


def complaints(text: str) -> Iterator[tuple[int, str]]:
    """Line number and message of each thing wrong with the text of one file."""
    for number, line in enumerate(text.split("\n"), 1):
        if "\t" in line or line != line.rstrip():
            yield number, "tab or trailing blank"
    text = _without_psql(text)
    try:
        statements = pglast.parse_sql(text)
    except ParseError as error:
        yield _line(text, error.args[1]), error.args[0]
        return
    for statement in statements:
        start = statement.stmt_location
        end = start + statement.stmt_len if statement.stmt_len else len(text)
        if _has_plpgsql(statement.stmt) and (message := _body_complaint(text[start:end])):
            yield _line(text, start + len(text[start:end]) - len(text[start:end].lstrip())), message


def _without_psql(text: str) -> str:
    """The text without psql's own commands and the colon of its variables."""
    return re.sub(r"(?<![:\w]):(?=['\w])", "", re.sub(r"^\\.*$", ";", text, flags=re.MULTILINE))


def _has_plpgsql(statement: ast.Node) -> bool:
    if isinstance(statement, ast.DoStmt):
        return True
    return isinstance(statement, ast.CreateFunctionStmt) and any(
        option.defname == "language" and option.arg.sval == "plpgsql"
        for option in statement.options
    )


def _body_complaint(statement: str) -> str | None:
    # The parser has no catalogue: of other schemas it knows nothing, of public it takes any type
    # for a record, and it refuses arrays of records.
    statement = re.sub(r"\breplay\.\w+\[\]", "text[]", statement)
    statement = re.sub(r"\breplay\.", "public.", statement)
    try:
        pglast.parse_plpgsql(statement)
    except ParseError as error:
        return str(error.args[0])
    return None


def _line(text: str, index: int | None) -> int:
    return text.count("\n", 0, index or 0) + 1


def main(folders: list[str]) -> int:
    found = [
        f"{file}:{line}: {message}"
        for folder in folders
        for file in sorted(Path(folder).rglob("*.sql"))
        for line, message in complaints(file.read_text())
    ]
    print("\n".join([*found, f"{len(found)} complaints about SQL files"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
