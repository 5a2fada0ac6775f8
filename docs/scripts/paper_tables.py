"""Write the tables of a run folder into docs/reproduce.md: ``python docs/scripts/paper_tables.py RUN``."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from unseen._core.files import atomic_path
from unseen.benchmark.formats import to_markdown
from unseen.benchmark.store import Store
from unseen.benchmark.summary import summarize_store
from unseen.benchmark.tables import paper_tables

PAGE = Path(__file__).parents[1] / "reproduce.md"
_PLACE = re.compile(r"(<!-- tables: begin -->\n).*?(<!-- tables: end -->)", re.DOTALL)


def fill(page: str, tables: str) -> str:
    """Return the page with the tables between its two marks."""
    return _PLACE.sub(lambda found: f"{found[1]}\n{tables}\n{found[2]}", page)


def main(run: str) -> None:
    """Fill in the page from a run folder."""
    with Store(run) as store:
        tables = to_markdown(table for summary in summarize_store(store) for table in paper_tables(summary))
    text = fill(PAGE.read_text("utf-8"), tables)
    with atomic_path(PAGE) as temporary:
        temporary.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
