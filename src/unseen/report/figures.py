"""The numbers behind the page's charts, small enough to travel inside it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from unseen._core.colors import PART_COLORS
from unseen.benchmark.figures import only_numbers, order_classes, parameter_curves
from unseen.benchmark.protocol import restore_curve
from unseen.benchmark.results import JSON, Description, ModelCurve, RunResult, SplitPart
from unseen.calibration.curve import SeenUnseenCurve
from unseen.calibration.display import visible_segments

Part = dict[str, Any]  # of the document: plain data that the templates and scripts read

# the parts of a split, in the order they are drawn and explained
SPLIT_PART_TITLES: dict[SplitPart, str] = {
    "train": "training",
    "seen_val": "validation, seen classes",
    "val": "validation, unseen classes",
    "test_seen": "test, seen classes",
    "test": "test, unseen classes",
}


def make_explorer(run: RunResult, limit: int) -> Part:
    """Return both models of a run and its three operating points, at most ``limit`` segments per curve.

    "none" means the same as in the tables: the model with lambda_ZSL, without calibration.
    """
    zsl_model = run["zsl_model"]
    zsl = "zsl" if zsl_model else "gzsl"
    points: dict[str, Part] = {
        "none": {"model": zsl, "gamma": 0.0},
        "calibrated": {"model": zsl, "gamma": run["gamma_zsl"]},
        "calibrated+lambda": {"model": "gzsl", "gamma": run["gamma"]},
    }
    own: ModelCurve = {"curve": run["curve"], "flips": run["flips"], "ausuc": run["ausuc"]["per-class"]}
    stored = {"gzsl": own} | ({"zsl": zsl_model} if zsl_model else {})
    best = {"zsl": run["regret"]["calibrated"]["gamma"], "gzsl": run["regret"]["calibrated+lambda"]["gamma"]}
    return {
        "models": {
            name: _thin_model(
                model,
                best[name],
                [0.0, *(point["gamma"] for point in points.values() if point["model"] == name)],
                limit // len(stored),
            )
            for name, model in stored.items()
        },
        "points": points,
    }


def _thin_model(model: ModelCurve, best: float, needed: Sequence[float], limit: int) -> Part:
    curve = thin_curve(restore_curve(model["curve"], model["ausuc"]), [*needed, best], limit)
    return {
        **curve,
        "gammas": [float(f"{gamma:.9g}") for gamma in curve["gammas"]],
        "flips": {kind: thin_flips(flips, limit // 2) for kind, flips in model["flips"].items()},
        "ausuc": model["ausuc"],
        "best": best,
    }


def thin_curve(curve: SeenUnseenCurve, needed: Iterable[float], limit: int) -> Part:
    """Return at most about ``limit`` segments of a curve; a shorter curve stays whole.

    A segment that is left out takes the accuracies of the one before it. The first segment and those of the
    ``needed`` gammas always stay, so what is shown there is exact.
    """
    kept = visible_segments(curve, limit)
    kept = np.union1d(kept, np.searchsorted(curve.breakpoints, list(needed)))
    kept = np.union1d(kept, len(curve.breakpoints))
    kept = kept[np.isfinite(curve.gammas[kept])]
    return {
        "breakpoints": curve.breakpoints[kept[1:] - 1].tolist(),
        "gammas": curve.gammas[kept].tolist(),
        "unseen": curve.unseen_curve[kept].tolist(),
        "seen": curve.seen_curve[kept].tolist(),
    }


def thin_flips(flips: Sequence[float], limit: int) -> Part:
    """Return every ``step``-th flip; each then stands for ``step`` samples (1 for a small test set)."""
    step = -(-len(flips) // limit)
    return {"total": len(flips), "step": step, "gamma": list(flips[step - 1 :: step])}


def selection_figure(run: RunResult) -> Part | None:
    """Return the paper's Fig. 1, or None for a method without parameters to choose."""
    curves = parameter_curves(run)
    return None if curves is None else {**vars(curves), "scale": _scale(curves.x)}


def _scale(values: Sequence[JSON]) -> str:
    """Return the kind of axis: grids of positive numbers over more than a decade are logarithmic."""
    numbers = only_numbers(values)
    if numbers is None:
        return "category"
    return "log" if min(numbers) > 0 and max(numbers) > 10 * min(numbers) else "linear"


def split_figure(experiment: Description) -> Part:
    """Return the samples of each class by part, per fold, classes of a kind together (the paper's Fig. 2)."""
    folds: list[Part] = []
    for counts in experiment["class_counts"]:
        order = order_classes(counts)
        parts = {part: [counts[part][c] for c in order] for part in SPLIT_PART_TITLES}
        folds.append({"order": order, "parts": parts})
    return {"names": SPLIT_PART_TITLES, "colors": PART_COLORS, "folds": folds}


def hardest_classes(run: RunResult, most: int = 12) -> list[Part]:
    """Return the classes with the lowest accuracy and their most frequent mistakes, the hardest first."""
    table = run["classes"]
    mistakes = table["mistakes"]
    accuracy = {c: value for c, value in enumerate(table["accuracy"]) if value is not None and mistakes[c]}
    return [
        {
            "index": c,
            "accuracy": round(accuracy[c], 1),
            "taken_for": [(other, round(100 * n / table["samples"][c], 1)) for other, n in mistakes[c]],
        }
        for c in sorted(accuracy, key=lambda c: accuracy[c])[:most]
    ]
