"""Write the tables of docs/sure.md: ``python -m benchmarks.sure | python docs/scripts/sure.py``."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from unseen._core.files import atomic_path

PAGE = Path(__file__).parents[1] / "sure.md"
NAMES = ("sure", "unknown")  # of the tables, in the order in which they are printed


def fill_in(page: str, printed: str) -> str:
    """Return the page with the printed tables between their marks."""
    tables = printed.strip().split("\n\n")
    for name, table in zip(NAMES, tables, strict=True):
        place = re.compile(rf"(<!-- {name}: begin -->\n).*?(<!-- {name}: end -->)", re.DOTALL)
        page = place.sub(lambda found, table=table: f"{found[1]}\n{table}\n\n{found[2]}", page)
    return page


def main() -> None:
    """Fill in the page."""
    text = fill_in(PAGE.read_text("utf-8"), sys.stdin.read())
    with atomic_path(PAGE) as temporary:
        temporary.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
