"""Tables as the page's template needs them: texts to read, values to sort by, formats to copy."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Sequence

from unseen.benchmark.formats import WRITERS
from unseen.benchmark.intervals import Replicates
from unseen.benchmark.results import STEPS, PlainParams, Score
from unseen.benchmark.tables import AVERAGE, Column, PaperTable
from unseen.methods import describe_method
from unseen.report.page import Part

SOURCE_TITLES = {"here": "here", "paper": "the paper", "xian": "Xian et al."}
# the columns of tables whose scores are known by class
_SCORES: dict[str, Score] = {"accuracy": "zsl", **{step: step for step in STEPS}}


def method_title(name: str) -> str:
    """Return how people call a method.

    >>> method_title("linear-vs")
    'Linear V→S'
    """
    return describe_method(name).title.replace("->", "→")


def result_table(table: PaperTable, replicates: Replicates, tied: Collection[str] = ()) -> Part:
    """Return one of the paper's tables, with the published numbers beside ours and intervals below them."""
    columns = [column for column in table.columns if not column.signed]
    compared = len(columns) < len(table.columns)
    quantities = itertools.groupby(column.quantity for column in columns)
    groups = [[_row(table, name, replicates, name in tied) for name in group] for group in table.groups()]
    return {
        "title": table.title,
        "provenance": table.provenance,
        "quantities": [{"name": name, "span": len(list(group))} for name, group in quantities],
        "columns": [
            {
                "source": SOURCE_TITLES.get(column.source, "") if compared else "",
                "other": column.source != "here",
            }
            for column in columns
        ],
        "groups": groups,
        "notes": [*table.notes, *_explain_marks(groups)],
        "copy": {name: render([table]) for name, render in WRITERS.items()},
    }


def _explain_marks(groups: Sequence[Sequence[Part]]) -> Iterator[str]:
    rows = [row for group in groups for row in group]
    sources = {cell["source"] for row in rows for cell in row["cells"] if cell["below"]}
    if "here" in sources:
        yield "Small below our numbers: 95 % interval over classes (bootstrap over the test classes)"
    if sources - {"here"}:
        yield "Small below published numbers: ours minus theirs"
    if any(row["tied"] for row in rows):
        yield (
            "≈ not distinguishable from the best: with the test classes resampled in the same way for both "
            "methods, the 95 % interval of the difference in H (calibrated+lambda) includes 0"
        )


def _row(table: PaperTable, name: str, replicates: Replicates, tied: bool) -> Part:
    return {
        "name": method_title(name),
        "color": None if name == AVERAGE else describe_method(name).color,
        "tied": tied,
        "cells": [
            _page_cell(table, name, column, replicates) for column in table.columns if not column.signed
        ],
    }


def _page_cell(table: PaperTable, name: str, column: Column, replicates: Replicates) -> Part:
    cell = column.cell(name)
    return {
        "text": cell.text(column.decimals) if cell else "",
        "below": _below(table, name, column, replicates) if cell else "",
        "value": cell.mean if cell else None,
        "best": cell is not None and cell.best,
        "source": column.source,
    }


def _below(table: PaperTable, name: str, column: Column, replicates: Replicates) -> str:
    """Return the interval of our score, or our difference from a published one."""
    if column.source == "here":
        score = _SCORES.get(column.quantity)
        interval = replicates.interval(name, score) if score else None
        return f"{interval[0]:.1f}–{interval[1]:.1f}" if interval else ""
    wanted = (column.quantity, f"diff. {column.source}")
    gaps = [(c.decimals, c.cell(name)) for c in table.columns if (c.quantity, c.source) == wanted]
    return "".join(cell.text(decimals, signed=True) for decimals, cell in gaps if cell)


def format_params(params: PlainParams) -> str:
    """Return parameters as people write them.

    >>> format_params({"alpha": 0.001, "beta": 10.0})
    'alpha 0.001, beta 10'
    """
    return ", ".join(
        f"{name} {value:.3g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in params.items()
    )
