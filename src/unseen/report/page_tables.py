"""Tables as the page's template needs them: texts to read, values to sort by, formats to copy."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence

from unseen.benchmark import published
from unseen.benchmark.formats import WRITERS
from unseen.benchmark.intervals import Interval, Replicates
from unseen.benchmark.results import Description, MethodSummary, PlainParams, Score, SplitPart
from unseen.benchmark.tables import AVERAGE, Column, PaperTable
from unseen.methods import describe_method
from unseen.report.figures import SPLIT_PART_TITLES, Part

SOURCE_TITLES = {"here": "here", "paper": "the paper", "xian": "Xian et al."}
# the columns of tables whose scores are known by class
_SCORES: dict[str, Score] = {
    "accuracy": "zsl",
    "none": "none",
    "calibrated": "calibrated",
    "calibrated+lambda": "calibrated+lambda",
}


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
    if cell is None:
        return {"text": "", "below": "", "value": None, "best": False, "source": column.source}
    return {
        "text": cell.text(column.decimals),
        "below": _below(table, name, column, replicates),
        "value": cell.mean,
        "best": cell.best,
        "source": column.source,
    }


def _below(table: PaperTable, name: str, column: Column, replicates: Replicates) -> str:
    """Return the interval of our score, or our difference from a published one."""
    if column.source == "here":
        score = _SCORES.get(column.quantity)
        interval = replicates.interval(name, score) if score else None
        return format_interval(interval) if interval else ""
    wanted = (column.quantity, f"diff. {column.source}")
    gaps = [(c.decimals, c.cell(name)) for c in table.columns if (c.quantity, c.source) == wanted]
    return "".join(cell.text(decimals, signed=True) for decimals, cell in gaps if cell)


def format_interval(interval: Interval) -> str:
    """Return an interval as people read it.

    >>> format_interval((48.04, 70.2))
    '48.0–70.2'
    """
    low, high = interval
    return f"{low:.1f}–{high:.1f}"


def choice_table(methods: Mapping[str, MethodSummary]) -> list[Part]:
    """Return per method what selection chose, what its gamma lost against the best on test, and the time."""
    return [
        {
            "name": method_title(name),
            "color": describe_method(name).color,
            "params_zsl": format_params(method["params_zsl"]),
            "params_gzsl": format_params(method["params_gzsl"]),
            "gamma_zsl": f"{method['runs'][0]['gamma_zsl']:.4g}",
            "gamma": f"{method['runs'][0]['gamma']:.4g}",
            "regret": method["regret"]["calibrated+lambda"]["mean"],
            "runs": len(method["runs"]),
            "seconds": method["seconds"] / len(method["runs"]),
        }
        for name, method in methods.items()
    ]


def format_params(params: PlainParams) -> str:
    """Return parameters as people write them.

    >>> format_params({"alpha": 0.001, "beta": 10.0})
    'alpha 0.001, beta 10'
    """
    return ", ".join(
        f"{name} {value:.3g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in params.items()
    )


def fold_table(experiment: Description) -> list[Part]:
    """Return the sizes of every fold, and below them what the paper printed."""
    rows: list[Part] = [
        {"name": f"fold {i}", "printed": False, "sizes": [fold[part] for part in SPLIT_PART_TITLES]}
        for i, fold in enumerate(experiment["folds"], start=1)
    ]
    place = experiment["published"]
    if place:
        rows += [
            {"name": f"paper, fold {fold['fold']}", "printed": True, "sizes": _printed_sizes(fold)}
            for fold in published.splits(place["dataset"], place["split"])
        ]
    return rows


def _printed_sizes(fold: Mapping[str, int]) -> list[list[int]]:
    """Return [samples, classes] of each part; the paper counts the seen test set by kind of class."""
    printed_as: dict[SplitPart, list[str]] = {part: [part] for part in SPLIT_PART_TITLES}
    printed_as["test_seen"] = ["seen_test_train", "seen_test_val"]
    return [
        [sum(fold[name] for name in names), sum(fold[f"{name}_classes"] for name in names)]
        for names in printed_as.values()
    ]
