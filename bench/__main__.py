"""`python -m bench [NAME ...]`: run benchmarks, keep their rows, fail below a floor."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench import isolation

BENCHES: dict[str, Callable[[], list[dict[str, Any]]]] = {"isolation": isolation.measure}
RESULTS = Path(__file__).with_name("results.json")


def main(names: list[str]) -> int:
    missed = 0
    for name in names or BENCHES:
        rows = BENCHES[name]()
        keep(rows)
        for row in rows:
            missed += (is_missed := row["ratio"] < row["at_least"])
            print(
                f"{row['row']}: {row['value']:.4g} against {row['reference']:.4g} {row['unit']},"
                f" ratio {row['ratio']:.4f}, floor {row['at_least']}: "
                f"{'MISSED' if is_missed else 'ok'}"
            )
    return int(missed > 0)


def keep(rows: list[dict[str, Any]]) -> None:
    """Write the rows to results.json, in place of older ones of the same name."""
    old = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    new = {row["row"] for row in rows}
    kept = [row for row in old if row["row"] not in new]
    RESULTS.write_text(json.dumps(kept + rows, indent=2) + "\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
