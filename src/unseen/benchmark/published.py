"""The numbers that the paper and Xian et al. printed, so that ours can stand beside them.

Transcribed from the tables of the supplement, which extend those of the main text: ZSL accuracy, H with the
three kinds of calibration, the ten-crop scores, and the sizes of all splits. (One cell differs
between the two: Linear V->S on AwA2, ten crops, H per sample is 45.6 in the main text and 45.5 in the
supplement, as here.) All are measured with ResNet-101 features.
"""

from __future__ import annotations

import csv
import hashlib
import re
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from unseen.benchmark.results import PublishedPlace

SOURCES = ("paper", "xian")
ScoreKey = tuple[str, str, str]  # (method, score, averaging)


class PublishedScore(NamedTuple):
    """A printed mean and, if it was printed too, its standard deviation over 5 runs."""

    mean: float
    std: float | None


def scores(dataset: str, split: str, crops: int = 1, source: str = "paper") -> dict[ScoreKey, PublishedScore]:
    """Return what a source printed: (method, score, averaging) -> Score, with ``average`` as a method too.

    ``score`` is ``zsl``, ``none``, ``calibrated``, ``calibrated+lambda`` (H) or ``ausuc``; ``split`` is
    ``standard`` or ``proposed``; ``crops`` is 1 or 10.

    >>> scores("CUB", "proposed")["sync", "calibrated+lambda", "per-class"]
    PublishedScore(mean=47.6, std=0.2)
    """
    wanted = (dataset, split, str(crops), source)
    return {
        (line["method"], line["score"], line["averaging"]): PublishedScore(
            float(line["mean"]), float(line["std"]) if line["std"] else None
        )
        for line in _read_rows("published_scores.csv")
        if (line["dataset"], line["split"], line["crops"], line["source"]) == wanted
    }


def recognize(
    class_names: Iterable[str], *, total: int, test: int, val_classes: int, crops: int = 1
) -> PublishedPlace | None:
    """Return the paper's experiment with these classes and these sizes of the split, or None.

    A data set is recognized by its content: the names of its classes, the number of samples, the number of
    test samples of unseen classes, and the number of classes that a fold validates on.

    >>> recognize(["cat", "dog"], total=11788, test=2933, val_classes=50) is None
    True
    """
    digest = digest_classes(class_names)
    datasets = [line["dataset"] for line in _read_rows("published_classes.csv") if line["digest"] == digest]
    sizes = {"total": total, "test": test, "val_classes": val_classes}
    for line in _read_rows("published_splits.csv"):
        if line["dataset"] in datasets and all(int(line[name]) == size for name, size in sizes.items()):
            return {"dataset": line["dataset"], "split": line["split"], "crops": crops}
    return None


def digest_classes(class_names: Iterable[str]) -> str:
    """Return a short hash of class names that depends on their letters alone, not on case, order or numbers.

    >>> digest_classes(["001.Snowy_Owl", "002.Jay"]) == digest_classes(["jay", "snowy owl"])
    True
    """
    letters = sorted(re.sub("[^a-z]", "", name.lower()) for name in class_names)
    return hashlib.sha256("\n".join(letters).encode()).hexdigest()[:16]


@cache
def _read_rows(name: str) -> list[dict[str, str]]:
    text = (files("unseen.benchmark") / "data" / name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))
