"""The numbers behind the page's pictures, small enough to travel inside it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen._core.colors import PART_COLORS

# the parts of a fold, in the order they are drawn and explained
PARTS = {
    "train": "training",
    "seen_val": "validation, seen classes",
    "val": "validation, unseen classes",
    "test_seen": "test, seen classes",
    "test": "test, unseen classes",
}


def explorer(run: Mapping[str, Any], limit: int) -> dict[str, Any]:
    """Return what the slider needs: the exact curve, the flips of all samples, the gammas to jump to."""
    gammas = {"chosen": run["gamma"], "none": 0.0, "best": run["regret"]["calibrated+lambda"]["gamma"]}
    return {
        **thin_curve(run["curve"], gammas.values(), limit),
        "flips": {kind: thin_flips(flips, limit // 2) for kind, flips in run["flips"].items()},
        "jumps": gammas,
        "ausuc": run["ausuc"]["per_class"],
    }


def thin_curve(curve: Mapping[str, Any], needed: Iterable[float], limit: int) -> dict[str, list[float]]:
    """Return at most about ``limit`` segments of a curve, evenly chosen; a shorter curve stays whole.

    A segment that is left out takes the accuracies of the one before it. The ends and the segments of the
    ``needed`` gammas always stay, so what is shown there is exact. ``gammas`` holds one gamma per segment.
    """
    ends = np.asarray(curve["gamma"])
    k = np.linspace(0, len(ends), min(limit, len(ends) + 1)).round().astype(int)
    k = np.union1d(k, np.searchsorted(ends, list(needed)))
    return {
        "breakpoints": ends[k[1:] - 1].tolist(),
        "gammas": [float(f"{gamma:.7g}") for gamma in _inside(ends)[k]],
        "unseen": np.asarray(curve["unseen"])[k].tolist(),
        "seen": np.asarray(curve["seen"])[k].tolist(),
    }


def _inside(ends: NDArray[np.floating]) -> NDArray[np.floating]:
    """Return a gamma inside each segment (a, b]: the middle, or a little beyond the outermost end."""
    if not len(ends):
        return np.zeros(1)
    margin = 0.02 * (ends[-1] - ends[0]) or 1.0
    outside = np.concatenate([[ends[0] - margin], ends, [ends[-1] + margin]])
    middle = (outside[:-1] + outside[1:]) / 2
    middle[0], middle[-1] = outside[0], outside[-1]
    return middle


def thin_flips(flips: Sequence[float], limit: int) -> dict[str, Any]:
    """Return every ``step``-th flip; each then stands for ``step`` samples (1 for a small test set)."""
    step = -(-len(flips) // limit)
    return {"total": len(flips), "step": step, "gamma": list(flips[step - 1 :: step])}


def selection_figure(run: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return validation accuracy against the main parameter with both optima (the paper's Fig. 1).

    Where a method has further parameters, each value is the best over them, so both optima lie on the
    lines: the ZSL optimum on that of A_U->Cu, the GZSL optimum on that of H.
    """
    grid, table = run["grid"], run["validation"]
    if not grid:
        return None
    name = "alpha" if "alpha" in grid else next(iter(grid))
    x = [params[name] for params in table["params"]]
    values = sorted(set(x)) if _numeric(x) else list(dict.fromkeys(x))
    return {
        "parameter": name,
        "others": [other for other in grid if other != name],
        "x": values,
        "scale": _scale(values),
        **{
            line: [max(y for y, at in zip(table[line], x) if at == value) for value in values]
            for line in ("zsl", "seen", "h")
        },
        "best": x[table["best"]],
        "best_zsl": x[table["best_zsl"]],
    }


def _numeric(values: Sequence[Any]) -> bool:
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def _scale(values: Sequence[Any]) -> str:
    """Return the kind of axis: grids of positive numbers over more than a decade are logarithmic."""
    if not _numeric(values):
        return "category"
    return "log" if min(values) > 0 and max(values) > 10 * min(values) else "linear"


def split_figure(setting: Mapping[str, Any]) -> dict[str, Any]:
    """Return the samples of each class by part, per fold, classes of a kind together (the paper's Fig. 2)."""
    folds = []
    for counts in setting["class_counts"]:
        order = _by_kind(counts)
        folds.append({"order": order, "parts": {part: [counts[part][c] for c in order] for part in PARTS}})
    return {"names": PARTS, "colors": PART_COLORS, "folds": folds}


def _by_kind(counts: Mapping[str, Sequence[int]]) -> list[int]:
    """Return the classes: those for training first, then for validation, then for test, large ones first."""

    def place(c: int) -> tuple[int, int]:
        kind = 2 if counts["test"][c] else 1 if counts["val"][c] else 0
        return kind, -sum(counts[part][c] for part in PARTS)

    return sorted(range(len(counts["train"])), key=place)
