"""The best seen and the best unseen score of every sample: all that calibration needs of the scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from unseen._core.blocks import MANY_CLASSES, BoolArray, FloatArray, IndexArray, row_blocks
from unseen._core.labels import LabelArray, label_positions
from unseen._core.scoring import iter_scores
from unseen.calibration.columns import seen_columns
from unseen.errors import UnseenError

_CACHED = 2**15  # scores copied at a time: few enough to be in the cache when they are searched


@dataclass(frozen=True, eq=False)
class ScoreMaxima:
    """The best seen and the best unseen class of every sample, with their scores.

    These are four numbers per sample, so the whole score matrix never has to exist: compute it block by
    block. A class with the score ``-inf`` is excluded: it is never predicted (its column here is -1).

    Examples
    --------
    >>> seen = np.array([True, True, False])
    >>> blocks = [np.array([[0.9, 0.1, 0.5]]), np.array([[0.2, 0.4, 0.3]])]
    >>> maxima = ScoreMaxima.concatenate([ScoreMaxima.from_scores(block, seen) for block in blocks])
    >>> maxima.predict(gamma=0.2)
    array([0, 2])
    """

    best_seen: FloatArray  # (samples,)
    best_unseen: FloatArray  # (samples,)
    argmax_seen: IndexArray  # (samples,), column among all classes
    argmax_unseen: IndexArray  # (samples,), column among all classes

    @classmethod
    def from_scores(cls, scores: ArrayLike, seen: ArrayLike) -> Self:
        """Reduce scores (n_samples, n_classes) with the mask of seen classes (n_classes,)."""
        checked = check_scores(scores)
        mask = seen_columns(seen, np.arange(checked.shape[1]))
        return cls.from_parts(checked, checked, mask)

    @classmethod
    def from_parts(cls, seen_scores: FloatArray, unseen_scores: FloatArray, seen: BoolArray) -> Self:
        """Reduce the scores of the seen classes and those of the others, each in the order of ``seen``.

        Each may also hold the scores of all classes. Two arrays without gaps are searched in place, whereas
        columns of one array have to be copied.
        """
        best_seen, argmax_seen = _best_columns(seen_scores, np.flatnonzero(seen))
        best_unseen, argmax_unseen = _best_columns(unseen_scores, np.flatnonzero(~seen))
        return cls(best_seen, best_unseen, argmax_seen, argmax_unseen)

    @classmethod
    def concatenate(cls, blocks: Sequence[Self]) -> Self:
        """Join the maxima of consecutive blocks of samples."""
        if not blocks:
            raise UnseenError("There is no block of scores. Pass at least one.")
        names = [part.name for part in fields(cls)]
        return cls(*(np.concatenate([getattr(block, name) for block in blocks]) for name in names))

    def take(self, rows: IndexArray) -> Self:
        """Return the maxima of some samples."""
        return type(self)(*(getattr(self, part.name)[rows] for part in fields(self)))

    @cached_property
    def flips(self) -> FloatArray:
        """The gamma up to which each sample is predicted as seen: ``d`` (n_samples,), float64."""
        # d = max seen score - max unseen score
        with np.errstate(invalid="ignore", over="ignore"):
            d = np.subtract(self.best_seen, self.best_unseen, dtype=np.float64)
        # inf - inf is a tie that no finite gamma breaks, and the seen class wins ties
        return np.where(np.isnan(d), np.inf, d)

    def predict(self, gamma: float = 0.0) -> IndexArray:
        """Subtract gamma from the scores of the seen classes and return the best column of every sample.

        If a seen and an unseen class tie, the seen class wins; among seen or among unseen classes the
        first column wins. The result is -1 if every class is excluded.
        """
        return np.where(gamma > self.flips, self.argmax_unseen, self.argmax_seen)

    def predict_all(self, gamma: float) -> IndexArray:
        """Return what ``predict`` returns; a sample without any candidate is an error."""
        predicted = self.predict(gamma)
        if (predicted < 0).any():
            row = int((predicted < 0).argmax())
            raise UnseenError(f"Every class of sample {row} has the score -inf: there is nothing to predict.")
        return predicted

    def __len__(self) -> int:
        return len(self.best_seen)


def check_scores(scores: ArrayLike) -> FloatArray:
    """Return scores as floats of shape (samples, classes)."""
    table = np.asarray(scores)
    if table.ndim != 2 or table.dtype.kind not in "fiub":
        got = f"shape {table.shape} and type {table.dtype}"
        raise UnseenError(f"scores has {got}, expected numbers of shape (samples, classes).")
    return table if table.dtype.kind == "f" else table.astype(np.float64)


def _best_columns(scores: FloatArray, columns: IndexArray) -> tuple[FloatArray, IndexArray]:
    """Return the largest score of every sample among some columns, and its column (-1 if excluded).

    ``scores`` holds these columns alone, or all.
    """
    best = np.full(len(scores), -np.inf, dtype=scores.dtype)
    position = np.zeros(len(scores), dtype=np.intp)
    alone = scores.shape[1] == len(columns)
    rows = max(1, len(scores) if alone else _CACHED // max(1, len(columns)))
    for block in row_blocks(len(scores) if len(columns) else 0, rows):
        part = scores[block] if alone else scores[block].take(columns, axis=1)  # (rows, columns)
        position[block] = part.argmax(axis=1)
        best[block] = part[np.arange(len(part)), position[block]]
    if np.isnan(best).any():  # argmax stops at the first NaN of a row
        row = int(np.isnan(best).argmax())
        column = columns[position[row]]
        raise UnseenError(f"scores[{row}, {column}] is NaN, expected a number (-inf excludes a class).")
    return best, np.where(best > -np.inf, np.append(columns, -1)[position], -1)


# ---- of a model -------------------------------------------------------------------------------------


@runtime_checkable
class ScoresClasses(Protocol):
    """What a model needs for selection: learn from seen classes, score samples for all classes.

    ``classes_`` names the columns of ``similarity``; a model without ``similarity`` may have
    ``decision_function`` or ``predict_proba`` instead, as pipelines do. ``get_params`` and ``set_params``
    (from ``sklearn.base.BaseEstimator``) let selection try parameters; ``fit_path`` makes that fast.
    """

    classes_: Any

    def fit(self, X: Any, y: Any) -> Any:
        """Learn from samples of the seen classes."""

    def similarity(self, X: Any) -> Any:
        """Return scores (n_samples, n_classes), higher is better."""


def score_maxima(model: Any, X: Any, labels: LabelArray, seen: BoolArray) -> ScoreMaxima:
    """Score the rows of X for the classes ``labels``, block by block; four numbers per sample remain.

    The columns in the result count along ``labels``, and ``seen`` says which of these were trained on.
    """
    return maxima_and_scores(model, X, labels, seen, np.empty(0, dtype=np.intp))[0]


def maxima_and_scores(
    model: Any, X: Any, labels: LabelArray, seen: BoolArray, keep: IndexArray
) -> tuple[ScoreMaxima, FloatArray]:
    """Return what ``score_maxima`` returns, and all scores of the samples ``keep``, in rising order."""
    groups, places = [class_columns(model, labels)], [np.ones(len(labels), dtype=bool)]
    if len(labels) > MANY_CLASSES:  # two products, whose columns need no copy to be searched
        index, places = label_positions(labels, model.classes_), [seen, ~seen]
        groups = [index[place] for place in places]
    found, kept = [], []
    for block, parts in iter_scores(model, X, *groups):
        found.append(ScoreMaxima.from_parts(check_scores(parts[0]), check_scores(parts[-1]), seen))
        first, stop = np.searchsorted(keep, (block.start, block.stop))
        scores = np.empty((stop - first, len(labels)), dtype=parts[0].dtype)
        for place, part in zip(places, parts):
            scores[:, place] = part[keep[first:stop] - block.start]
        kept.append(scores)
    return ScoreMaxima.concatenate(found), np.concatenate(kept)


def class_columns(model: Any, labels: LabelArray) -> Any:
    """Return the columns of the labels in the scores of a model, all of them as a slice: no copy."""
    known = np.isin(labels, model.classes_)
    if not known.all():
        lacking = f"{type(model).__name__} has no score for class {str(labels[~known][0])!r}"
        advice = "Use a method that describes every class: pass prototypes=..., one row per class"
        raise UnseenError(f"{lacking}. {advice}, seen and unseen.")
    columns = label_positions(labels, model.classes_)
    return slice(None) if np.array_equal(columns, np.arange(len(model.classes_))) else columns
