"""The exact seen-unseen curve: both accuracies for every possible calibration, without a grid.

Calibration subtracts gamma from the scores of the seen classes. A sample's prediction then changes once,
at ``d = best seen score - best unseen score``: up to there it is the best seen class, beyond it the best
unseen class. So the accuracies are step functions of gamma whose steps are at the ``d`` of the samples.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unseen.calibration.display import SeenUnseenDisplay
from unseen.errors import UnseenError
from unseen.metrics import area_under_curve, class_weights, harmonic_mean

FloatArray = NDArray[np.floating]
IndexArray = NDArray[np.intp]
BoolArray = NDArray[np.bool_]

_EQUAL = 1e-11  # accuracies (percent) nearer than this are the same number, rounded differently
_CACHED = 2**15  # scores that are copied at a time: still in the cache when they are searched
_BLOCK = 2**14  # samples that go through some steps together, for the same reason
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
        if not blocks:
            raise UnseenError("There is no block of scores. Pass at least one.")
        return cls(
            np.concatenate([block.best_seen for block in blocks]),
            np.concatenate([block.best_unseen for block in blocks]),
            np.concatenate([block.argmax_seen for block in blocks]),
            np.concatenate([block.argmax_unseen for block in blocks]),
        )

    @cached_property
    def flips(self) -> FloatArray:
        """The gamma up to which each sample is predicted as seen: ``d`` (n_samples,), float64."""
        # d = max seen score - max unseen score
        with np.errstate(invalid="ignore", over="ignore"):
            d = np.subtract(self.best_seen, self.best_unseen, dtype=np.float64)
        if np.isnan(d.min(initial=0)):
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
    best = np.full(len(scores), -np.inf, dtype=scores.dtype)
    position = np.zeros(len(scores), dtype=np.intp)
    rows = max(1, _CACHED // max(1, len(columns)))
    for start in range(0, len(scores) if len(columns) else 0, rows):
        block = slice(start, start + rows)
        part = scores[block].take(columns, axis=1)  # (rows, columns)
        position[block] = part.argmax(axis=1)
        best[block] = part[np.arange(len(part)), position[block]]
    if np.isnan(best).any():  # arg-max stops at the first NaN of a row
        row = int(np.isnan(best).argmax())
        raise UnseenError(
            f"scores[{row}, {columns[position[row]]}] is NaN, expected a number (-inf excludes a class)."
        )
    return best, np.where(best > -np.inf, np.append(columns, -1)[position], -1)


@dataclass(frozen=True)
class Goal:
    """What an operating point is chosen for: the best harmonic mean, or the one thing that is given."""

    min_seen: float | None = None
    min_unseen: float | None = None
    unseen_share: float | None = None

    def __post_init__(self) -> None:
        given = [f"{name}={value}" for name, value in vars(self).items() if value is not None]
        if len(given) > 1:
            raise UnseenError(f"Got {' and '.join(given)}, but expected one goal. Pass one of them.")
        for name, top in (("min_seen", 100), ("min_unseen", 100), ("unseen_share", 1)):
            value = getattr(self, name)
            if value is not None and not 0 <= value <= top:
                raise UnseenError(f"Got {name}={value}, but expected a number from 0 to {top}.")

    def value(self, unseen: FloatArray, seen: FloatArray, h: FloatArray) -> FloatArray:
        """Return what is to be as large as possible, for accuracies in percent."""
        if self.min_seen is not None:
            return _while_at_least(self.min_seen, seen, unseen)
        if self.min_unseen is not None:
            return _while_at_least(self.min_unseen, unseen, seen)
        if self.unseen_share is not None:
            # E = p U + (1 - p) S
            return self.unseen_share * unseen + (1 - self.unseen_share) * seen
        return h

    def check(self, point: OperatingPoint) -> OperatingPoint:
        """Return the point if it is good enough."""
        for kind in ("seen", "unseen"):
            bound, got = getattr(self, f"min_{kind}"), getattr(point, kind)
            if bound is not None and got < bound - _EQUAL:
                raise UnseenError(
                    f"No gamma gives min_{kind}={bound:g}: the highest accuracy on {kind} samples is "
                    f"{got:.1f} %. Ask for less."
                )
        return point


def _while_at_least(bound: float, kept: FloatArray, gained: FloatArray) -> FloatArray:
    """Return what is gained where enough is kept; all else ranks below, by what is kept."""
    return np.where(kept >= bound - _EQUAL, gained, kept - 200)


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
        y, count = check_labels(y, len(maxima), seen)
        right, order, d = sorted_flips(maxima, y)
        y = y.astype(np.min_scalar_type(len(seen)))[right][order]  # a small type is gathered faster
        unseen, kept, h = _accumulate(y, seen, count, weights)
        last = last_of_equals(d)
        if not last.all():
            ends = np.append(True, last)
            d, unseen, kept, h = d[last], unseen[ends], kept[ends], h[ends]
        return cls(d, unseen, kept, h, area_under_curve(unseen, kept))

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
        low, high = self._bounds(np.arange(len(self.h_curve)))
        return middle(low, high, self.breakpoints)

    def at(self, gamma: float) -> tuple[float, float, float]:
        """Return (A_U->C, A_S->C, harmonic mean) at one gamma, -inf and inf included."""
        # A prediction is unseen when gamma > d; at gamma = inf always.
        k = len(self.breakpoints) if gamma == np.inf else np.searchsorted(self.breakpoints, gamma)
        return float(self.unseen_curve[k]), float(self.seen_curve[k]), float(self.h_curve[k])

    def best(
        self,
        *,
        min_seen: float | None = None,
        min_unseen: float | None = None,
        unseen_share: float | None = None,
    ) -> OperatingPoint:
        """Return the best operating point: of the highest harmonic mean, or as a deployment needs it.

        Parameters
        ----------
        min_seen : float, optional
            The highest accuracy on unseen samples that keeps at least this accuracy (percent) on seen ones.
        min_unseen : float, optional
            The reverse.
        unseen_share : float, optional
            The highest expected accuracy when this share (0 to 1) of the samples to come is unseen.

        Examples
        --------
        >>> scores = [[0.9, 0.5], [0.6, 0.5], [0.5, 0.4], [0.8, 0.6]]
        >>> curve = SeenUnseenCurve.from_scores(scores, y=[0, 0, 1, 1], seen=[True, False])
        >>> point = curve.best(min_unseen=90)
        >>> round(point.gamma, 2), point.unseen, point.seen
        (0.3, 100.0, 50.0)
        """
        goal = Goal(min_seen, min_unseen, unseen_share)
        value = goal.value(self.unseen_curve, self.seen_curve, self.h_curve)
        return goal.check(self._choose(value))

    def plot(self, ax: Any = None) -> SeenUnseenDisplay:
        """Draw the curve with matplotlib; returns the display, which has ``ax_`` and ``figure_``."""
        return SeenUnseenDisplay(self).plot(ax)

    def frame(self) -> Any:
        """Return the curve as a pandas DataFrame: one row per segment of gamma."""
        return SeenUnseenDisplay(self).frame()

    def near_best(self, tolerance: float = 0.01) -> FloatArray:
        """Return the intervals of gamma, (n, 2), where H is at least ``(1 - tolerance)`` times the best."""
        near = self.h_curve >= (1 - tolerance) * self.h_curve.max() - _EQUAL
        edges = np.diff(near, prepend=False, append=False).nonzero()[0].reshape(-1, 2)
        low, high = self._bounds(edges[:, 0])[0], self._bounds(edges[:, 1] - 1)[1]
        return np.column_stack([low, high])

    def _bounds(self, k: IndexArray) -> tuple[FloatArray, FloatArray]:
        """Return the ends (low, high) of segments k."""
        K = len(self.breakpoints)
        low, high = np.full(len(k), -np.inf), np.full(len(k), np.inf)
        low[k > 0] = self.breakpoints[k[k > 0] - 1]
        high[k < K] = self.breakpoints[k[k < K]]
        return low, high

    @cached_property
    def _best(self) -> OperatingPoint:
        return self.best()

    def _choose(self, value: FloatArray) -> OperatingPoint:
        """Return the point of the segment with the largest value.

        Equally good segments: the larger sum of both accuracies, then the wider one, which withstands
        more change of the scores, then the one nearest to no calibration.
        """
        k = _largest(value, usable(self.breakpoints))
        k = k[_largest(self.unseen_curve[k] + self.seen_curve[k])]
        low, high = self._bounds(k)
        with np.errstate(over="ignore"):
            widest = high - low == (high - low).max()
        k, low, high = k[widest], low[widest], high[widest]
        gamma = middle(low, high, self.breakpoints)
        i = np.abs(gamma).argmin()
        unseen, seen, h = (float(curve[k[i]]) for curve in (self.unseen_curve, self.seen_curve, self.h_curve))
        return OperatingPoint(float(gamma[i]), (float(low[i]), float(high[i])), unseen, seen, h)


def usable(breakpoints: FloatArray) -> slice:
    """Return the segments with a finite gamma: all but an end that is -inf or inf alone."""
    first, last = (breakpoints[:1] == -np.inf).sum(), (breakpoints[-1:] == np.inf).sum()
    return slice(int(first), len(breakpoints) + 1 - int(last))


def middle(low: FloatArray, high: FloatArray, breakpoints: FloatArray) -> FloatArray:
    """Return a gamma inside each segment (low, high]; one that is open at an end gets a finite gamma too."""
    finite = breakpoints[np.searchsorted(breakpoints, -_LARGEST) : np.searchsorted(breakpoints, np.inf)]
    with np.errstate(invalid="ignore", over="ignore"):
        # An open end reaches as far as all finite breakpoints together.
        reach = (finite[-1] - finite[0] or abs(finite[0]) or 1.0) if len(finite) else 1.0
        gamma = low / 2 + high / 2
    # Between two neighbouring floats there is no middle; the upper end belongs to the segment.
    gamma = np.where(gamma > low, gamma, high)
    gamma = np.where(np.isinf(low), high - reach, gamma)
    gamma = np.where(np.isinf(high), low + reach, gamma)
    gamma = np.where(np.isinf(low) & np.isinf(high), 0.0, gamma.clip(-_LARGEST, _LARGEST))
    return np.where(low == high, low, gamma)  # the segments that are -inf or inf alone


def _largest(value: FloatArray, among: slice = slice(None)) -> IndexArray:
    """Return the indices of all entries that equal the largest one, but for rounding."""
    value = value[among]
    return np.flatnonzero(value >= value.max() - _EQUAL) + (among.start or 0)


def check_labels(y: ArrayLike, n_samples: int, seen: BoolArray) -> tuple[IndexArray, IndexArray]:
    """Return y as columns and the number of samples of each class, once both kinds of class have some."""
    y = np.asarray(y)
    if y.shape != (n_samples,) or y.dtype.kind not in "iu" or not len(y):
        raise UnseenError(
            f"y has shape {y.shape} and type {y.dtype}, expected the class index of every sample: "
            f"{n_samples} integers."
        )
    if y.min() < 0 or y.max() >= len(seen):
        row = int(((y < 0) | (y >= len(seen))).argmax())
        raise UnseenError(
            f"y[{row}] is {y[row]}, but there are {len(seen)} classes (labels must be 0..{len(seen) - 1})."
        )
    count = np.bincount(y, minlength=len(seen))
    for kind, samples in (("seen", count[seen].sum()), ("unseen", count[~seen].sum())):
        if not samples:
            raise UnseenError(
                f"No sample belongs to {kind} classes. Calibration weighs seen against unseen samples: "
                "pass some of both."
            )
    return y.astype(np.intp, copy=False), count


def sorted_flips(maxima: ScoreMaxima, y: IndexArray) -> tuple[IndexArray, IndexArray, FloatArray]:
    """Return the samples that calibration can win or lose, their order by d, and d in that order.

    These are the samples whose own side predicts them right. The others are wrong at every gamma.
    """
    right = np.flatnonzero((maxima.argmax_seen == y) | (maxima.argmax_unseen == y))
    d = maxima.flips[right]
    order = _argsort(d)
    return right, order, d[order]


def last_of_equals(d: FloatArray) -> BoolArray:
    """Mark the last of each run of equal numbers: equal d move together."""
    return np.append(d[1:] > d[:-1], True)[: len(d)]


def _accumulate(y: IndexArray, seen: BoolArray, count: IndexArray, weights: str) -> FloatArray:
    """Return A_U->C, A_S->C and H (percent), (3, len(y) + 1), after the first 0, 1, ... samples flipped.

    ``y`` are the classes of the samples that can be right, in order; ``count`` counts all samples of each
    class. Block by block, so that nothing but the result leaves the cache.
    """
    weight_unseen = class_weights(np.where(seen, 0, count), weights)  # (classes,)
    weight_seen = class_weights(np.where(seen, count, 0), weights)
    all_unseen, all_seen = weight_unseen @ count, weight_seen @ count
    won, kept = np.int64(0), weight_seen.take(y).sum()
    curves = np.empty((3, len(y) + 1))
    curves[:, 0] = 0, 100 * (kept / all_seen), 0
    for start in range(0, len(y), _BLOCK):
        U, S, H = curves[:, 1 + start : 1 + start + _BLOCK]
        flipped = y[start : start + _BLOCK].astype(np.intp)
        gained = won + weight_unseen[flipped].cumsum()
        left = kept - weight_seen[flipped].cumsum()
        U[:] = 100 * (gained / all_unseen)
        S[:] = 100 * (left / all_seen)
        H[:] = harmonic_mean(U, S)
        won, kept = gained[-1], left[-1]
    return curves


def _argsort(d: FloatArray) -> IndexArray:
    """Return the order of d, several times faster than ``d.argsort()`` when there are a million.

    NumPy sorts integers far faster than it sorts indices. So sort integers whose upper bits are those of d
    and whose lower bits are the index, and put right the few neighbours that differ in lower bits of d.
    """
    index_mask = (1 << len(d).bit_length()) - 1
    key = np.empty(len(d), dtype=np.int64)
    for start in range(0, len(d), _BLOCK):
        bits = d[start : start + _BLOCK].view(np.int64)
        ordered = bits ^ ((bits >> 63) & np.int64(2**63 - 1))  # integers in the same order as the floats
        key[start : start + _BLOCK] = (ordered & ~index_mask) | np.arange(start, start + len(bits))
    key.sort()
    same = np.append(key[1:] ^ key[:-1] <= index_mask, False)[: len(d)]  # as the next in the upper bits
    same[1:] |= same[:-1]
    doubtful = np.flatnonzero(same)
    key &= index_mask
    key[doubtful] = key[doubtful][d[key[doubtful]].argsort(kind="stable")]
    return key


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
