"""Pages that are made from the code say what the code says."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import psycopg

CHECKOUT = Path(__file__).parents[1]


def test_functions_page_is_up_to_date(conn: psycopg.Connection) -> None:
    """Otherwise run `make docs`."""
    spec = spec_from_file_location("functions", CHECKOUT / "docs/functions.py")
    assert spec and spec.loader
    functions = module_from_spec(spec)
    spec.loader.exec_module(functions)
    assert (CHECKOUT / "db/FUNCTIONS.md").read_text() == functions.render(conn)
