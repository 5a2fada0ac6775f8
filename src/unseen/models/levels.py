"""How good a model is at every level of a taxonomy: how often it predicts there, and how often rightly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from unseen._core.blocks import BoolArray, FloatArray, IndexArray
from unseen._core.labels import UNKNOWN
from unseen._core.scoring import iter_scores
from unseen._core.taxonomy import Level, Taxonomy, best_nodes
from unseen.metrics import accuracy, harmonic_mean, reliability
from unseen.models.io import Model

KINDS = ("seen", "unseen")


@dataclass(frozen=True)
class Answered:
    """The predictions that end at one level, of the samples of one kind of class."""

    share: float  # percent of the samples
    right: float | None  # percent of these predictions; None if there are none


@dataclass(frozen=True)
class LevelResult:
    """One level of a taxonomy: the predictions that end there, and what predicting only there would give."""

    name: str  # "unknown" for samples without a group
    answered: Mapping[str, Answered]  # by kind, "seen" or "unseen"
    harmonic: float | None = None  # percent, per class, of the most probable node; None without both kinds
    calibration_error: float | None = None  # 0 to 1, of its probability

    def as_json(self) -> dict[str, Any]:
        """Return JSON values."""
        return {
            "level": self.name,
            "answered": {kind: found.share for kind, found in self.answered.items()},
            "right": {kind: found.right for kind, found in self.answered.items()},
            "H": self.harmonic,
            "ece": self.calibration_error,
        }


def evaluate_levels(
    model: Model, X: Any, y: IndexArray, taxonomy: Taxonomy, confidence: float
) -> tuple[LevelResult, ...]:
    """Return the results of every level, fine to coarse, and of the samples without a group.

    Parameters
    ----------
    model : fitted method or fitted GZSLClassifierCV
    X : array of shape (n_samples, n_features)
    y : array of shape (n_samples,)
        The place of each sample's class in the model.
    taxonomy : Taxonomy
        Of the model's classes.
    confidence : float
        As in ``GZSLClassifierCV.predict``.
    """
    ends = np.empty(len(y), dtype=np.intp)  # the level of the prediction
    best = np.empty((len(taxonomy.levels), len(y)), dtype=np.intp)  # the most probable node of each level
    sure = np.empty(best.shape)
    for rows, (p,) in iter_scores(model.predict_proba, X):
        ends[rows] = taxonomy.answer(p, confidence).level
        for number, level in enumerate(taxonomy.levels):
            best[number, rows], sure[number, rows] = best_nodes(level, p)
    found = [
        _level_result(level, y, best[number], sure[number], ends == number, np.asarray(model.seen_))
        for number, level in enumerate(taxonomy.levels)
    ]
    none = _answered(np.zeros(len(y), dtype=bool), ends == len(found), np.asarray(model.seen_)[y])
    lost = {kind: Answered(answered.share, None) for kind, answered in none.items()}
    return (*found, LevelResult(UNKNOWN, lost))


def _level_result(
    level: Level, y: IndexArray, best: IndexArray, sure: FloatArray, ends: BoolArray, seen: BoolArray
) -> LevelResult:
    right = best == level.of_class[y]
    grouped = level.of_class[y] >= 0
    kinds = [grouped & kind for kind in (seen[y], ~seen[y])]
    harmonic = None
    if all(kind.any() for kind in kinds):
        harmonic = harmonic_mean(*(accuracy(y[kind], np.where(right, y, -1)[kind]) for kind in kinds))
    error = reliability(sure[grouped], right[grouped]).ece
    return LevelResult(level.name, _answered(right, ends, seen[y]), harmonic, error)


def _answered(right: BoolArray, ends: BoolArray, of_seen: BoolArray) -> dict[str, Answered]:
    """Return the predictions of each kind of samples that are present."""
    found = {}
    for name, kind in zip(KINDS, (of_seen, ~of_seen)):
        here = ends & kind
        if kind.any():
            share = 100 * float(here.sum() / kind.sum())
            found[name] = Answered(share, 100 * float(right[here].mean()) if here.any() else None)
    return found


def format_levels(results: tuple[LevelResult, ...], confidence: float) -> list[str]:
    """Return the results as lines of text for a terminal."""
    lines = ["", f"{f'confidence {confidence:g}':<18}{'answered':>22}{'right':>22}{'H':>9}{'ECE':>9}"]
    lines.append(f"{'':<18}" + f"{'seen':>11}{'unseen':>11}" * 2)
    for result in results:
        cells = [_percent(part.share, 11) for part in _of_kinds(result)]
        cells += [_percent(part.right, 11) for part in _of_kinds(result)]
        error = "" if result.calibration_error is None else f"{result.calibration_error:.3f}"
        line = f"{result.name:<18}{''.join(cells)}{_percent(result.harmonic, 9)}{error:>9}"
        lines.append(line.rstrip())
    return lines


def _of_kinds(result: LevelResult) -> list[Answered]:
    return [result.answered.get(kind, Answered(np.nan, None)) for kind in KINDS]


def _percent(value: float | None, width: int) -> str:
    return " " * width if value is None or np.isnan(value) else f"{value:>{width - 2}.1f} %"
