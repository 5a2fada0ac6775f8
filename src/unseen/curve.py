"""The exact seen-unseen curve: both accuracies for every possible calibration, without a grid.

Calibration subtracts gamma from the scores of the seen classes. A sample's prediction then changes once,
at ``d = best seen score - best unseen score``: up to there it is the best seen class, beyond it the best
unseen class. So the accuracies are step functions of gamma whose steps are at the ``d`` of the samples.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unseen.errors import UnseenError
from unseen.metrics import area_under_curve, harmonic_mean, sample_weights

FloatArray = NDArray[np.floating]
IndexArray = NDArray[np.intp]
BoolArray = NDArray[np.bool_]

_EQUAL = 1e-11  # accuracies (percent) nearer than this are the same number, rounded differently
_LARGEST = np.finfo(np.float64).max


@dataclass(frozen=True, eq=False)
class ScoreMaxima:
    """All that calibration needs of a sample's scores: the best seen and the best unseen class.

    Four numbers per sample, so the whole score matrix never has to exist: compute it block by block.
    A class with the score ``-inf`` is excluded: it is never predicted (its index here is -1).

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
    argmax_seen: IndexArray  # (samples,), column in all classes
    argmax_unseen: IndexArray  # (samples,), column in all classes

    @classmethod
    def from_scores(cls, scores: ArrayLike, seen: ArrayLike) -> Self:
        """Reduce scores (n_samples, n_classes) with the mask of seen classes (n_classes,)."""
        scores, seen = _check_scores(scores, seen)
        best_seen, argmax_seen = _best(scores, np.flatnonzero(seen))
        best_unseen, argmax_unseen = _best(scores, np.flatnonzero(~seen))
        return cls(best_seen, best_unseen, argmax_seen, argmax_unseen)

    @classmethod
    def concatenate(cls, blocks: Sequence[Self]) -> Self:
        """Join the maxima of consecutive blocks of samples."""
        return cls(
            np.concatenate([block.best_seen for block in blocks]),
            np.concatenate([block.best_unseen for block in blocks]),
            np.concatenate([block.argmax_seen for block in blocks]),
            np.concatenate([block.argmax_unseen for block in blocks]),
        )

    @cached_property
    def flips(self) -> FloatArray:
        """The gamma up to which each sample's prediction is a seen class: ``d`` (n_samples,), float64."""
        # d = max seen score - max unseen score
        with np.errstate(invalid="ignore", over="ignore"):
            d = np.subtract(self.best_seen, self.best_unseen, dtype=np.float64)
        # inf - inf: no finite gamma changes that tie, and in a tie the seen class wins
        d[np.isnan(d)] = np.inf
        return d

    def predict(self, gamma: float = 0.0) -> IndexArray:
        """Return the predicted column of every sample, with gamma taken off the seen classes.

        Where a seen and an unseen class tie, the seen one wins; among seen or among unseen classes the
        first column. -1 where every class is excluded.
        """
        return np.where(gamma > self.flips, self.argmax_unseen, self.argmax_seen)

    def __len__(self) -> int:
        return len(self.best_seen)


def _check_scores(scores: ArrayLike, seen: ArrayLike) -> tuple[FloatArray, BoolArray]:
    scores, seen = np.asarray(scores), np.asarray(seen)
    if scores.ndim != 2 or scores.dtype.kind not in "fiub":
        raise UnseenError(
            f"scores has shape {scores.shape} and type {scores.dtype}, "
            "expected numbers of shape (samples, classes)."
        )
    if scores.dtype.kind != "f":
        scores = scores.astype(np.float64)
    if seen.dtype != bool or seen.shape != scores.shape[1:]:
        raise UnseenError(
            f"seen has shape {seen.shape} and type {seen.dtype}, expected one bool per class: "
            f"({scores.shape[1]},). Pass True for every class that had training samples."
        )
    return scores, seen


def _best(scores: FloatArray, columns: IndexArray) -> tuple[FloatArray, IndexArray]:
    """Return the largest score of every sample among some columns, and its column (-1 if excluded)."""
    if len(columns) == 0:
        return np.full(len(scores), -np.inf, dtype=scores.dtype), np.full(len(scores), -1)
    part = scores[:, columns]  # (samples, columns)
    position = part.argmax(axis=1)
    best = np.take_along_axis(part, position[:, None], axis=1)[:, 0]
    if np.isnan(best).any():  # arg-max stops at the first NaN of a row
        row = int(np.isnan(best).argmax())
        raise UnseenError(
            f"scores[{row}, {columns[position[row]]}] is NaN, expected a number (-inf excludes a class)."
        )
    return best, np.where(best > -np.inf, columns[position], -1)


@dataclass(frozen=True)
class OperatingPoint:
    """One choice of gamma and what it gives; every gamma inside ``interval`` gives the same."""

    gamma: float
    interval: tuple[float, float]
    unseen: float
    seen: float
    h: float


@dataclass(frozen=True, eq=False)
class SeenUnseenCurve:
    """Accuracy on unseen against accuracy on seen samples, for every gamma, exactly.

    Made by ``from_scores``, ``from_maxima`` or ``mean_curve``. Between two neighbouring breakpoints nothing
    changes, so K breakpoints cut the line of gammas into K + 1 segments. Segment k holds the gammas above
    ``breakpoints[k - 1]`` up to and including ``breakpoints[k]``: in a tie the seen class wins. The ends
    are included: at gamma = -inf only seen classes are predicted, at +inf only unseen ones.

    Attributes
    ----------
    breakpoints : ndarray of shape (K,)
        The gammas at which an accuracy changes, rising.
    unseen_curve, seen_curve, h_curve : ndarray of shape (K + 1,)
        A_U->C, A_S->C and their harmonic mean in percent, on each segment.
    ausuc : float
        Area under the curve, 0 to 1, by the trapezoidal rule over its points.

    Examples
    --------
    >>> scores = [[0.9, 0.4, 0.5], [0.8, 0.3, 0.1], [0.7, 0.2, 0.6], [0.2, 0.5, 0.1]]
    >>> curve = SeenUnseenCurve.from_scores(scores, y=[0, 0, 2, 1], seen=[True, True, False])
    >>> curve.at(0.0)  # unseen, seen, harmonic mean: the unseen sample is lost
    (0.0, 100.0, 0.0)
    >>> round(curve.gamma, 2), curve.unseen, curve.seen, curve.h
    (0.25, 100.0, 100.0, 100.0)
    """

    breakpoints: FloatArray
    unseen_curve: FloatArray
    seen_curve: FloatArray
    h_curve: FloatArray
    ausuc: float

    @classmethod
    def from_scores(
        cls, scores: ArrayLike, y: ArrayLike, seen: ArrayLike, weights: str = "per-class"
    ) -> Self:
        """Make the curve of a score matrix.

        Parameters
        ----------
        scores : array-like of shape (n_samples, n_classes)
            Higher is better; ``-inf`` excludes a class.
        y : array-like of shape (n_samples,)
            The true column of every sample.
        seen : array-like of bool, shape (n_classes,)
            Which classes had training samples.
        weights : {"per-class", "per-sample"}
            Whether every class or every sample weighs the same. Classes without a sample are left out.
        """
        return cls.from_maxima(ScoreMaxima.from_scores(scores, seen), y, seen, weights)

    @classmethod
    def from_maxima(
        cls, maxima: ScoreMaxima, y: ArrayLike, seen: ArrayLike, weights: str = "per-class"
    ) -> Self:
        """Make the curve of scores that were reduced to their maxima, perhaps block by block."""
        seen = np.asarray(seen)
        y = check_labels(y, len(maxima), seen)
        is_seen = seen[y]  # (samples,)
        # Only a right prediction can be won or lost; the other samples change nothing at any gamma.
        right = np.where(is_seen, maxima.argmax_seen, maxima.argmax_unseen) == y
        weight = np.where(is_seen, 0, 1), np.where(is_seen, 1, 0)
        weight[0][~is_seen] = sample_weights(y[~is_seen], weights)
        weight[1][is_seen] = sample_weights(y[is_seen], weights)
        breakpoints, won, lost = _cumulate(maxima.flips[right], weight[0][right], weight[1][right])
        unseen = 100 * (won / weight[0].sum())
        seen_accuracy = 100 * ((lost[-1] - lost) / weight[1].sum())
        h = harmonic_mean(unseen, seen_accuracy)
        return cls(breakpoints, unseen, seen_accuracy, h, area_under_curve(unseen, seen_accuracy))

    @property
    def gamma(self) -> float:
        """The gamma of the best harmonic mean: the middle of its interval."""
        return self._best.gamma

    @property
    def interval(self) -> tuple[float, float]:
        """The gammas (low, high) that give the same accuracies as ``gamma``."""
        return self._best.interval

    @property
    def h(self) -> float:
        """The best harmonic mean, in percent."""
        return self._best.h

    @property
    def unseen(self) -> float:
        """A_U->C at ``gamma``, in percent."""
        return self._best.unseen

    @property
    def seen(self) -> float:
        """A_S->C at ``gamma``, in percent."""
        return self._best.seen

    @property
    def unseen_alone(self) -> float:
        """A_U->Cu: unseen samples when only unseen classes are candidates, in percent."""
        return float(self.unseen_curve[-1])

    @property
    def seen_alone(self) -> float:
        """A_S->Cs: seen samples when only seen classes are candidates, in percent."""
        return float(self.seen_curve[0])

    @cached_property
    def gammas(self) -> FloatArray:
        """One gamma inside each segment, (K + 1,): its middle, or beyond the outermost breakpoint."""
        low, high = self._bounds
        # An open end is as wide as all finite breakpoints together.
        finite = self.breakpoints[np.isfinite(self.breakpoints)]
        with np.errstate(invalid="ignore", over="ignore"):
            reach = (np.ptp(finite) or abs(finite[0]) or 1.0) if len(finite) else 1.0
            middle = low / 2 + high / 2
        # Between two neighbouring floats there is no middle; the upper end belongs to the segment.
        middle = np.where(middle > low, middle, high)
        middle = np.where(np.isinf(low), high - reach, middle)
        middle = np.where(np.isinf(high), low + reach, middle)
        middle = np.where(np.isinf(low) & np.isinf(high), 0.0, middle.clip(-_LARGEST, _LARGEST))
        return np.where(low == high, low, middle)

    def at(self, gamma: float) -> tuple[float, float, float]:
        """Return (A_U->C, A_S->C, harmonic mean) at one gamma, -inf and inf included."""
        # A prediction is unseen when gamma > d; at gamma = inf always.
        k = len(self.breakpoints) if gamma == np.inf else np.searchsorted(self.breakpoints, gamma)
        return float(self.unseen_curve[k]), float(self.seen_curve[k]), float(self.h_curve[k])

    def near_best(self, tolerance: float = 0.01) -> FloatArray:
        """Return the intervals of gamma, (n, 2), where H is at least ``(1 - tolerance)`` times the best."""
        near = self.h_curve >= (1 - tolerance) * self.h_curve.max() - _EQUAL
        edges = np.diff(near, prepend=False, append=False).nonzero()[0].reshape(-1, 2)
        low, high = self._bounds
        return np.column_stack([low[edges[:, 0]], high[edges[:, 1] - 1]])

    @property
    def _bounds(self) -> tuple[FloatArray, FloatArray]:
        """The ends (low, high) of every segment."""
        return np.append(-np.inf, self.breakpoints), np.append(self.breakpoints, np.inf)

    @cached_property
    def _best(self) -> OperatingPoint:
        return self._choose(self.h_curve)

    def _choose(self, value: FloatArray) -> OperatingPoint:
        """Return the point of the segment with the largest value.

        Equally good segments: the larger sum of both accuracies, then the wider one, which withstands
        more change of the scores, then the one nearest to no calibration.
        """
        low, high = self._bounds
        total = self.unseen_curve + self.seen_curve
        chosen = np.flatnonzero(low < high)  # gamma = -inf or inf is no calibration to use
        for quality in (value, total):
            chosen = chosen[quality[chosen] >= quality[chosen].max() - _EQUAL]
        with np.errstate(over="ignore"):
            width = high[chosen] - low[chosen]
        chosen = chosen[width == width.max()]
        k = chosen[np.abs(self.gammas[chosen]).argmin()]
        return OperatingPoint(
            gamma=float(self.gammas[k]),
            interval=(float(low[k]), float(high[k])),
            unseen=float(self.unseen_curve[k]),
            seen=float(self.seen_curve[k]),
            h=float(self.h_curve[k]),
        )


def check_labels(y: ArrayLike, n_samples: int, seen: BoolArray) -> IndexArray:
    """Return y as columns, once it is one known class per sample with both kinds of sample in it."""
    y = np.asarray(y)
    if y.shape != (n_samples,) or (y.dtype.kind not in "iu" and len(y)):
        raise UnseenError(
            f"y has shape {y.shape} and type {y.dtype}, expected the class index of every sample: "
            f"{n_samples} integers."
        )
    outside = (y < 0) | (y >= len(seen))
    if outside.any():
        row = int(outside.argmax())
        raise UnseenError(
            f"y[{row}] is {y[row]}, but there are {len(seen)} classes (labels must be 0..{len(seen) - 1})."
        )
    for kind, present in (("seen", seen[y].any()), ("unseen", not seen[y].all())):
        if not present:
            raise UnseenError(
                f"No sample belongs to {kind} classes. Calibration weighs seen against unseen samples: "
                "pass some of both."
            )
    return y.astype(np.intp, copy=False)


def _cumulate(
    d: FloatArray, won: NDArray[np.int64], lost: NDArray[np.int64]
) -> tuple[FloatArray, NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct d in order and what is won and lost on the segments around them."""
    order = d.argsort()
    d = d[order]
    last = np.append(d[1:] > d[:-1], True)[: len(d)]  # equal d move together
    cumulated = (np.append(0, weight[order].cumsum()[last]) for weight in (won, lost))
    return d[last], *cumulated


def mean_curve(curves: Sequence[SeenUnseenCurve]) -> SeenUnseenCurve:
    """Return the exact mean of several curves, such as those of validation folds.

    At every gamma each accuracy is the mean of the curves' accuracies there, and the harmonic mean is the
    **mean of their harmonic means**. So ``gamma`` maximises the mean harmonic mean. ``ausuc`` is the mean
    of their areas.

    Examples
    --------
    >>> a = SeenUnseenCurve.from_scores([[0.0, 1.0], [3.0, 1.0]], y=[1, 0], seen=[True, False])
    >>> b = SeenUnseenCurve.from_scores([[2.0, 1.0], [3.0, 0.0]], y=[1, 0], seen=[True, False])
    >>> both = mean_curve([a, b])
    >>> both.interval, both.gamma, both.h
    ((1.0, 2.0), 1.5, 100.0)
    """
    if not curves:
        raise UnseenError("There is no curve to take the mean of. Pass at least one.")
    breakpoints = np.unique(np.concatenate([curve.breakpoints for curve in curves]))
    unseen, seen, h = np.zeros((3, len(breakpoints) + 1))
    for curve in curves:
        segment = np.append(curve.breakpoints.searchsorted(breakpoints), len(curve.breakpoints))
        unseen += curve.unseen_curve[segment] / len(curves)
        seen += curve.seen_curve[segment] / len(curves)
        h += curve.h_curve[segment] / len(curves)
    return SeenUnseenCurve(breakpoints, unseen, seen, h, float(np.mean([curve.ausuc for curve in curves])))
