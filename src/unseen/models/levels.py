"""How good a model is at every level of a taxonomy: how often it predicts there, and how often rightly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from unseen._core.blocks import BoolArray, FloatArray, IndexArray
from unseen._core.labels import UNKNOWN
from unseen._core.scoring import iter_scores
from unseen._core.taxonomy import Level, Taxonomy, best_nodes
from unseen.metrics import accuracy, harmonic_mean, reliability

if TYPE_CHECKING:
    from unseen.models.prediction import AnyModel


@dataclass(frozen=True)
class LevelResult:
    """One level of a taxonomy: the predictions that end there, and what predicting only there would give."""

    level: str  # "unknown" for samples without a group
    answered: Mapping[str, float]  # percent of the samples of each kind, "seen" or "unseen", as far as any
    right: Mapping[str, float | None]  # percent of these predictions; None if there are none
    H: float | None = None  # percent, per class, of the most probable node; None without both kinds
    ece: float | None = None  # 0 to 1, calibration error of its probability


def evaluate_levels(
    model: AnyModel, X: Any, y: IndexArray, taxonomy: Taxonomy, confidence: float
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
    seen = np.asarray(model.seen_)[y]
    kinds = {name: kind for name, kind in (("seen", seen), ("unseen", ~seen)) if kind.any()}
    found = [
        _level_result(level, y, best[number], sure[number], ends == number, kinds)
        for number, level in enumerate(taxonomy.levels)
    ]
    shares = {name: 100 * float(np.mean(ends[kind] == len(found))) for name, kind in kinds.items()}
    return (*found, LevelResult(UNKNOWN, shares, dict.fromkeys(kinds)))


def _level_result(
    level: Level,
    y: IndexArray,
    best: IndexArray,
    sure: FloatArray,
    ends: BoolArray,
    kinds: Mapping[str, BoolArray],
) -> LevelResult:
    right = best == level.of_class[y]
    grouped = level.of_class[y] >= 0
    both = [grouped & kind for kind in kinds.values() if (grouped & kind).any()]
    by_kind = [accuracy(y[kind], np.where(right, y, -1)[kind]) for kind in both]
    here = {name: right[ends & kind] for name, kind in kinds.items()}  # of the predictions that end here
    return LevelResult(
        level.name,
        {name: 100 * (len(here[name]) / int(kind.sum())) for name, kind in kinds.items()},
        {name: 100 * float(found.mean()) if len(found) else None for name, found in here.items()},
        harmonic_mean(*by_kind) if len(by_kind) == 2 else None,
        reliability(sure[grouped], right[grouped]).ece,
    )


def format_levels(results: Sequence[LevelResult], confidence: float) -> list[str]:
    """Return the results as lines of text for a terminal."""
    lines = ["", f"{f'confidence {confidence:g}':<18}{'answered':>22}{'right':>22}{'H':>9}{'ECE':>9}"]
    lines.append(f"{'':<18}" + f"{'seen':>11}{'unseen':>11}" * 2)
    for result in results:
        cells = [part.get(kind) for part in (result.answered, result.right) for kind in ("seen", "unseen")]
        percents = "".join(_percent(value, 11) for value in cells) + _percent(result.H, 9)
        error = "" if result.ece is None else f"{result.ece:9.3f}"
        lines.append(f"{result.level:<18}{percents}{error}".rstrip())
    return lines


def _percent(value: float | None, width: int) -> str:
    return " " * width if value is None else f"{value:>{width - 2}.1f} %"
