"""Tables as the page's template needs them: texts to read, values to sort by, formats to copy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unseen.benchmark import published
from unseen.benchmark.tables import AVERAGE, FORMATS, Cell, Column, Table
from unseen.methods import describe_method
from unseen.report.figures import PARTS

SOURCES = {
    "here": "here",
    "paper": "the paper",
    "diff. paper": "difference",
    "xian": "Xian et al.",
    "diff. xian": "difference",
}


def method_name(name: str) -> str:
    """Return how people call a method.

    >>> method_name("linear-vs")
    'Linear V→S'
    """
    return describe_method(name).title.replace("->", "→")


def result_table(table: Table) -> dict[str, Any]:
    """Return one of the paper's tables, with the published numbers beside ours."""
    compared = any(column.source != "here" for column in table.columns)
    rows = [_row(name, cells) for name, cells in table.rows()]
    return {
        "title": table.title,
        "provenance": table.provenance,
        "columns": [
            {"quantity": column.quantity, "source": SOURCES.get(column.source, "") if compared else ""}
            for column in table.columns
        ],
        "rows": [row for row in rows if row["name"] != AVERAGE],
        "average": next((row for row in rows if row["name"] == AVERAGE), None),
        "copy": {name: render([table]) for name, render in FORMATS.items()},
    }


def _row(name: str, cells: list[tuple[Column, Cell | None]]) -> dict[str, Any]:
    return {
        "name": method_name(name),
        "color": describe_method(name).color,
        "cells": [_cell(column, cell) for column, cell in cells],
    }


def _cell(column: Column, cell: Cell | None) -> dict[str, Any]:
    if cell is None:
        return {"text": "", "value": None, "best": False, "source": column.source}
    # a deterministic method has no spread: "± 0.0" beside every number hides the spreads that matter
    shown = cell if cell.std else Cell(cell.mean)
    return {
        "text": shown.text(column.decimals, column.signed),
        "value": cell.mean,
        "best": cell.best,
        "source": column.source,
    }


def choice_table(methods: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return per method what selection chose, what its gamma lost against the best on test, and the time."""
    return [
        {
            "name": method_name(name),
            "color": describe_method(name).color,
            "params_zsl": _params(method["params_zsl"]),
            "params_gzsl": _params(method["params_gzsl"]),
            "gamma_zsl": f"{method['runs'][0]['gamma_zsl']:.4g}",
            "gamma": f"{method['runs'][0]['gamma']:.4g}",
            "regret": method["regret"]["calibrated+lambda"]["mean"],
            "runs": len(method["runs"]),
            "seconds": method["seconds"] / len(method["runs"]),
        }
        for name, method in methods.items()
    ]


def _params(params: Mapping[str, Any]) -> str:
    """Return parameters as people write them.

    >>> _params({"alpha": 0.001, "beta": 10.0})
    'alpha 0.001, beta 10'
    """
    return ", ".join(
        f"{name} {value:.3g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in params.items()
    )


def fold_table(setting: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the sizes of every fold, and below each what the paper printed for it."""
    rows = [
        {"name": f"fold {i}", "printed": False, "sizes": [fold[part] for part in PARTS]}
        for i, fold in enumerate(setting["folds"], start=1)
    ]
    experiment = setting["published"]
    if experiment:
        rows += [
            {"name": f"paper, fold {fold['fold']}", "printed": True, "sizes": _printed_sizes(fold)}
            for fold in published.splits(experiment["dataset"], experiment["split"])
        ]
    return rows


def _printed_sizes(fold: Mapping[str, int]) -> list[list[int]]:
    """Return [samples, classes] of each part; the paper counts the seen test set by kind of class."""
    kinds = {part: [part] for part in PARTS} | {"test_seen": ["seen_test_train", "seen_test_val"]}
    return [
        [sum(fold[kind] for kind in kinds[part]), sum(fold[f"{kind}_classes"] for kind in kinds[part])]
        for part in PARTS
    ]
