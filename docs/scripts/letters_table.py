"""Write the table of the demo into two pages: ``python docs/scripts/letters_table.py RUN``."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from statistics import fmean

from unseen._core.files import atomic_path
from unseen.benchmark.results import MethodSummary, Summary
from unseen.benchmark.store import Store
from unseen.benchmark.summary import summarize_store
from unseen.methods import describe_method

DOCS = Path(__file__).parents[1]
FULL = DOCS / "methods" / "index.md"
README = DOCS.parent / "README.md"
SHOWN = ("linear-vs", "eszsl", "lda")  # in the README
HEADER = """\
| method | new letters alone | all letters, as trained | all letters, calibrated | gain |
|---|---:|---:|---:|---:|"""
_PLACE = re.compile(r"(<!-- letters: begin -->\n).*?(<!-- letters: end -->)", re.DOTALL)


def demo_table(summary: Summary) -> str:
    """Return the table in Markdown: accuracy on unseen letters, then H without and with calibration.

    As in the tables of ``unseen bench``, the average is that of the paper's methods; others follow.
    """
    found = _found(summary)
    paper = {name: numbers for name, numbers in found.items() if describe_method(name).in_paper}
    average = tuple(fmean(column) for column in zip(*paper.values()))
    rows = [*paper.items(), ("average", average), *(item for item in found.items() if item[0] not in paper)]
    return _table(rows)


def short_table(summary: Summary) -> str:
    """Return the rows that the README shows."""
    found = _found(summary)
    return _table([(name, found[name]) for name in SHOWN])


def _found(summary: Summary) -> dict[str, tuple[float, ...]]:
    return {name: _numbers(method) for name, method in summary["methods"].items()}


def _table(rows: list[tuple[str, tuple[float, ...]]]) -> str:
    return "\n".join([HEADER, *(_line(describe_method(name).title, *numbers) for name, numbers in rows)])


def _numbers(method: MethodSummary) -> tuple[float, ...]:
    none, calibrated = (method["gzsl"][step]["H"] for step in ("none", "calibrated+lambda"))
    return tuple(spread["per-class"]["mean"] for spread in (method["zsl"], none, calibrated))


def _line(name: str, zsl: float, none: float, calibrated: float) -> str:
    gain = round(calibrated, 1) - round(none, 1)
    return f"| {name} | {zsl:.1f} | {none:.1f} | {calibrated:.1f} | {gain:+.1f} |"


def fill(page: str, table: str) -> str:
    """Return the page with the table between its two marks."""
    return _PLACE.sub(lambda found: f"{found[1]}\n{table}\n\n{found[2]}", page)


def main(run: str) -> None:
    """Fill in the pages from a run folder."""
    with Store(run) as store:
        (summary,) = summarize_store(store)
    for path, table in ((FULL, demo_table(summary)), (README, short_table(summary))):
        text = fill(path.read_text("utf-8"), table)
        with atomic_path(path) as temporary:
            temporary.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
