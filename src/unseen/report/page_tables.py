"""Tables as the page's template needs them: texts to read, values to sort by, formats to copy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypedDict

from unseen.benchmark import published
from unseen.benchmark.formats import FORMATS
from unseen.benchmark.results import Description, MethodSummary, Params, SplitPart
from unseen.benchmark.tables import AVERAGE, Cell, Column, Row, Table
from unseen.methods import describe_method
from unseen.report.figures import SPLIT_PART_TITLES

SOURCES = {
    "here": "here",
    "paper": "the paper",
    "diff. paper": "difference",
    "xian": "Xian et al.",
    "diff. xian": "difference",
}


class PageCell(TypedDict):
    """A number as text, its value to sort by, and how to mark it."""

    text: str
    value: float | None
    best: bool
    source: str


class PageRow(TypedDict):
    """A method, or the average, which has no color."""

    name: str
    color: str | None
    cells: list[PageCell]


class PageColumn(TypedDict):
    """A heading of two lines."""

    quantity: str
    source: str


class PageTable(TypedDict):
    """One of the paper's tables."""

    title: str
    provenance: str
    columns: list[PageColumn]
    groups: list[list[PageRow]]  # with a rule between them
    notes: list[str]
    copy: dict[str, str]  # by format


class ChoiceRow(TypedDict):
    """What selection chose for a method, and what it cost."""

    name: str
    color: str
    params_zsl: str
    params_gzsl: str
    gamma_zsl: str
    gamma: str
    regret: float
    runs: int
    seconds: float


class FoldRow(TypedDict):
    """The sizes of a fold, here or as printed in the paper."""

    name: str
    printed: bool
    sizes: list[list[int]]  # [samples, classes] of each part


def method_title(name: str) -> str:
    """Return how people call a method.

    >>> method_title("linear-vs")
    'Linear V→S'
    """
    return describe_method(name).title.replace("->", "→")


def result_table(table: Table) -> PageTable:
    """Return one of the paper's tables, with the published numbers beside ours."""
    compared = any(column.source != "here" for column in table.columns)
    return {
        "title": table.title,
        "provenance": table.provenance,
        "columns": [
            {"quantity": column.quantity, "source": SOURCES.get(column.source, "") if compared else ""}
            for column in table.columns
        ],
        "groups": [[_row(row) for row in group] for group in table.groups()],
        "notes": list(table.notes),
        "copy": {name: render([table]) for name, render in FORMATS.items()},
    }


def _row(row: Row) -> PageRow:
    return {
        "name": method_title(row.name),
        "color": None if row.name == AVERAGE else describe_method(row.name).color,
        "cells": [_cell(column, cell) for column, cell in row.cells],
    }


def _cell(column: Column, cell: Cell | None) -> PageCell:
    if cell is None:
        return {"text": "", "value": None, "best": False, "source": column.source}
    return {
        "text": cell.text(column.decimals, column.signed),
        "value": cell.mean,
        "best": cell.best,
        "source": column.source,
    }


def choice_table(methods: Mapping[str, MethodSummary]) -> list[ChoiceRow]:
    """Return per method what selection chose, what its gamma lost against the best on test, and the time."""
    return [
        {
            "name": method_title(name),
            "color": describe_method(name).color,
            "params_zsl": _format_params(method["params_zsl"]),
            "params_gzsl": _format_params(method["params_gzsl"]),
            "gamma_zsl": f"{method['runs'][0]['gamma_zsl']:.4g}",
            "gamma": f"{method['runs'][0]['gamma']:.4g}",
            "regret": method["regret"]["calibrated+lambda"]["mean"],
            "runs": len(method["runs"]),
            "seconds": method["seconds"] / len(method["runs"]),
        }
        for name, method in methods.items()
    ]


def _format_params(params: Params) -> str:
    """Return parameters as people write them.

    >>> _format_params({"alpha": 0.001, "beta": 10.0})
    'alpha 0.001, beta 10'
    """
    return ", ".join(
        f"{name} {value:.3g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in params.items()
    )


def fold_table(experiment: Description) -> list[FoldRow]:
    """Return the sizes of every fold, and below them what the paper printed."""
    rows: list[FoldRow] = [
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
