"""The numbers behind the charts of a bench, small enough to travel inside the page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from unseen._core.colors import PART_COLORS
from unseen.benchmark.protocol import restore_curve
from unseen.benchmark.results import ClassTable, Description, ModelCurve, RunResult
from unseen.calibration.curve import SeenUnseenCurve
from unseen.calibration.display import visible_segments
from unseen.plotting import SPLIT_PART_TITLES, order_classes
from unseen.report.page import Document

_HARDEST = 12  # classes


def make_explorer(run: RunResult, limit: int) -> Document:
    """Return both models of a run and its three operating points, at most ``limit`` segments per curve.

    "none" means the same as in the tables: the model with lambda_ZSL, without calibration.
    """
    stored: dict[str, ModelCurve] = {
        "gzsl": {"curve": run["curve"], "flips": run["flips"], "ausuc": run["ausuc"]["per-class"]}
    }
    if run["zsl_model"]:
        stored["zsl"] = run["zsl_model"]
    zsl = "zsl" if "zsl" in stored else "gzsl"
    points: dict[str, Document] = {
        "none": {"model": zsl, "gamma": 0.0},
        "calibrated": {"model": zsl, "gamma": run["gamma_zsl"]},
        "calibrated+lambda": {"model": "gzsl", "gamma": run["gamma"]},
    }
    models, limit = {}, limit // len(stored)
    for name, model in stored.items():
        needed = [point["gamma"] for point in points.values() if point["model"] == name]
        models[name] = slider_curve(restore_curve(model["curve"], model["ausuc"]), needed, limit)
        models[name]["flips"] = {
            kind: thin_flips(flips, limit // 2) for kind, flips in model["flips"].items()
        }
    return {"models": models, "points": points}


def slider_curve(curve: SeenUnseenCurve, needed: Iterable[float], limit: int) -> Document:
    """Return at most about ``limit`` segments of a curve for the slider; a shorter curve stays whole.

    A segment that is left out takes the accuracies of the one before it. The first segment and those of the
    ``needed`` gammas, of gamma = 0 and of the best gamma always stay, so what is shown there is exact.
    """
    best = curve.best().gamma
    exact = np.searchsorted(curve.breakpoints, [*needed, 0.0, best])
    kept = np.union1d(visible_segments(curve, limit), [*exact, len(curve.breakpoints)])
    kept = kept[np.isfinite(curve.gammas[kept])]
    return {
        "breakpoints": curve.breakpoints[kept[1:] - 1].tolist(),
        "gammas": curve.gammas[kept].tolist(),
        "unseen": curve.unseen_curve[kept].tolist(),
        "seen": curve.seen_curve[kept].tolist(),
        "ausuc": curve.ausuc,
        "best": best,
    }


def thin_flips(flips: Sequence[float], limit: int) -> Document:
    """Return every ``step``-th flip; each then stands for ``step`` samples (1 for a small test set)."""
    step = -(-len(flips) // limit)
    return {"total": len(flips), "step": step, "gamma": list(flips[step - 1 :: step])}


def split_figure(experiment: Description) -> Document:
    """Return the samples of each class by part, per fold, classes of a kind together (the paper's Fig. 2)."""
    folds: list[Document] = []
    for counts, sizes in zip(experiment["class_counts"], experiment["folds"]):
        order = order_classes(counts)
        parts = {part: [counts[part][c] for c in order] for part in SPLIT_PART_TITLES}
        folds.append({"order": order, "parts": parts, "sizes": [sizes[part] for part in SPLIT_PART_TITLES]})
    return {"names": SPLIT_PART_TITLES, "colors": PART_COLORS, "folds": folds}


def hardest_classes(table: ClassTable) -> list[Document]:
    """Return the classes with the lowest accuracy and their most frequent mistakes, the hardest first."""
    mistakes = table["mistakes"]
    accuracy = {c: value for c, value in enumerate(table["accuracy"]) if value is not None and mistakes[c]}
    return [
        {
            "index": c,
            "accuracy": round(accuracy[c], 1),
            "taken_for": [(other, round(100 * n / table["samples"][c], 1)) for other, n in mistakes[c]],
        }
        for c in sorted(accuracy, key=lambda c: accuracy[c])[:_HARDEST]
    ]
