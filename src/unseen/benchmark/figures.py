"""What the paper's figures show of stored results, for every program that draws them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from unseen.benchmark.results import JSON, SPLIT_PARTS, RunResult, SplitPart

# the parts of a split, in the order they are drawn and explained
SPLIT_PART_TITLES: dict[SplitPart, str] = {
    "train": "training",
    "seen_val": "validation, seen classes",
    "val": "validation, unseen classes",
    "test_seen": "test, seen classes",
    "test": "test, unseen classes",
}


@dataclass(frozen=True)
class ParameterCurves:
    """Validation accuracies against one parameter, with both optima (the paper's Fig. 1).

    Every value is the best over the ``others``, the method's further parameters. So both optima lie on their
    lines: the ZSL optimum is the maximum of ``zsl``, the GZSL optimum that of ``h``.
    """

    parameter: str  # "alpha", the paper's lambda, if the method has it
    others: list[str]
    x: list[JSON]  # its values
    zsl: list[float]  # A_U->Cu
    seen: list[float]  # A_S->Cs
    h: list[float]  # the best mean H
    best_zsl: JSON  # lambda_ZSL
    best: JSON  # lambda_GZSL


def parameter_curves(result: RunResult) -> ParameterCurves | None:
    """Return the curves of a run, or None if the method has no parameter to choose."""
    grid, table = result["grid"], result["validation"]
    if not grid:
        return None
    name = "alpha" if "alpha" in grid else next(iter(grid))
    tried = [params[name] for params in table["params"]]
    values = list(dict.fromkeys(tried))
    if (numbers := only_numbers(values)) is not None:
        values = [*sorted(numbers)]

    def best_by_value(scores: Sequence[float]) -> list[float]:
        return [max(score for score, at in zip(scores, tried) if at == value) for value in values]

    return ParameterCurves(
        parameter=name,
        others=[other for other in grid if other != name],
        x=values,
        zsl=best_by_value(table["zsl"]),
        seen=best_by_value(table["seen"]),
        h=best_by_value(table["h"]),
        best_zsl=tried[table["best_zsl"]],
        best=tried[table["best"]],
    )


def only_numbers(values: Sequence[JSON]) -> list[float] | None:
    """Return the values if all of them are numbers, else None.

    >>> only_numbers([1, 0.5]), only_numbers(["l2", 1]), only_numbers([True])
    ([1, 0.5], None, None)
    """
    numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    return numbers if len(numbers) == len(values) else None


def order_classes(counts: Mapping[SplitPart, Sequence[int]]) -> list[int]:
    """Return the classes in the order of the paper's Fig. 2: for training, for validation, for test.

    ``counts`` has the samples of each class by part of the split; within a kind, large classes come first.
    """

    def place(c: int) -> tuple[int, int]:
        kind = 2 if counts["test"][c] else 1 if counts["val"][c] else 0
        return kind, -sum(counts[part][c] for part in SPLIT_PARTS)

    return sorted(range(len(counts["train"])), key=place)
