"""The numbers that the paper and Xian et al. printed, so that ours can stand beside them.

Transcribed from the tables of the supplement, which extend those of the main text: ZSL accuracy, the
three GZSL settings, the ten-crop scores, the sizes of all splits, and the variances. (One cell differs
between the two: Linear V->S on AwA2, ten crops, H per sample is 45.6 in the main text and 45.5 in the
supplement, as here.) All with ResNet-101 features.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

SOURCES = ("paper", "xian")


class Score(NamedTuple):
    """A printed mean and, where it was printed too, its standard deviation over 5 runs."""

    mean: float
    std: float | None


@dataclass(frozen=True)
class Experiment:
    """What identifies one column of the paper: data set, split (standard or proposed), crops (1 or 10)."""

    dataset: str
    split: str
    crops: int = 1


def scores(experiment: Experiment, source: str = "paper") -> dict[tuple[str, str, str], Score]:
    """Return what a source printed: (method, score, weights) -> Score, with ``average`` as a method too.

    ``score`` is ``zsl``, ``none``, ``calibrated``, ``calibrated+lambda`` (H) or ``ausuc``.

    >>> scores(Experiment("CUB", "proposed"))["sync", "calibrated+lambda", "per_class"]
    Score(mean=47.6, std=0.2)
    """
    return {
        (row["method"], row["score"], row["weights"]): Score(
            float(row["mean"]), float(row["std"]) if row["std"] else None
        )
        for row in _rows("published_scores.csv")
        if (row["dataset"], row["split"], row["source"]) == (experiment.dataset, experiment.split, source)
        and int(row["crops"]) == experiment.crops
    }


def splits(dataset: str, split: str) -> list[dict[str, int]]:
    """Return the printed statistics of the three folds: samples by part, and classes as ``<part>_classes``.

    >>> splits("CUB", "proposed")[0]["seen_val"]
    940
    """
    return [
        {name: int(value) for name, value in row.items() if name not in ("dataset", "split")}
        for row in _rows("published_splits.csv")
        if (row["dataset"], row["split"]) == (dataset, split)
    ]


def variances(dataset: str) -> tuple[float, float]:
    """Return the printed (intra-class, inter-class) variance of a data set.

    >>> variances("CUB")
    (138.0, 231.9)
    """
    row = next(row for row in _rows("published_variances.csv") if row["dataset"] == dataset)
    return float(row["intra_class"]), float(row["inter_class"])


def recognise(name: str, features: str, *, total: int, test: int, val_classes: int) -> Experiment | None:
    """Return the paper's experiment that a data set is, by its name and the sizes of its split, or None.

    >>> recognise("CUB", "res50", total=11788, test=2933, val_classes=50)
    Experiment(dataset='CUB', split='standard', crops=1)
    >>> recognise("digits", "pixels", total=1797, test=360, val_classes=3) is None
    True
    """
    sizes = {"total": total, "test": test, "val_classes": val_classes}
    for row in _rows("published_splits.csv"):
        if row["dataset"].lower() == name.lower() and all(int(row[k]) == v for k, v in sizes.items()):
            return Experiment(row["dataset"], row["split"], 10 if "10crop" in features.lower() else 1)
    return None


@cache
def _rows(name: str) -> list[dict[str, Any]]:
    text = (files("unseen.benchmark") / "data" / name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))
