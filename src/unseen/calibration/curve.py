"""The exact seen-unseen curve: both accuracies for every possible calibration, without a grid.

Calibration subtracts gamma from the scores of the seen classes. The prediction of a sample then changes
exactly once, at ``d = best seen score - best unseen score``: for gamma up to ``d`` it is the best seen class,
for larger gamma the best unseen class. So the accuracies are step functions of gamma with steps at the ``d``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from unseen._core.blocks import BoolArray, FloatArray, IndexArray
from unseen.calibration.columns import column_names, find_columns, seen_columns
from unseen.calibration.display import SeenUnseenDisplay
from unseen.calibration.goals import SAME_ACCURACY, Goal, OperatingPoint
from unseen.calibration.maxima import ScoreMaxima, check_scores
from unseen.calibration.segments import middle, segment_bounds, usable_segments
from unseen.errors import UnseenError, expect
from unseen.metrics import Accuracies, area_under_curve, class_weights, expect_both_kinds, harmonic_mean

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Goal", "OperatingPoint", "ScoreMaxima", "SeenUnseenCurve", "mean_curve"]


@dataclass(frozen=True, eq=False, repr=False)
class SeenUnseenCurve:
    """Accuracy on unseen against accuracy on seen samples, for every gamma, exactly.

    Made by ``from_scores``, ``from_maxima`` or ``mean_curve``. Between two neighboring breakpoints nothing
    changes, so K breakpoints cut the line of gammas into K + 1 segments. Segment k holds the gammas above
    ``breakpoints[k - 1]`` up to and including ``breakpoints[k]``, because the seen class wins ties. Both ends
    belong to the curve: at gamma = -inf only seen classes are predicted, at +inf only unseen ones.

    Attributes
    ----------
    breakpoints : ndarray of shape (K,)
        The gammas at which an accuracy changes, in rising order.
    unseen_curve, seen_curve, h_curve : ndarray of shape (K + 1,)
        A_U->C, A_S->C and their harmonic mean in percent, on each segment.
    ausuc : float
        Area under the curve, 0 to 1, by the trapezoidal rule over its points.
    resolution : float
        Segments narrower than this exist by rounding only: ``gamma`` and ``best`` never choose them.

    Examples
    --------
    >>> scores = [[0.9, 0.4, 0.5], [0.8, 0.3, 0.1], [0.7, 0.2, 0.6], [0.2, 0.5, 0.1]]
    >>> curve = SeenUnseenCurve.from_scores(scores, y=[0, 0, 2, 1], seen=[True, True, False])
    >>> curve.at(0.0)  # without calibration the unseen sample is lost
    Accuracies(unseen=0.0, seen=100.0, h=0.0)
    >>> curve
    SeenUnseenCurve(H=100.0 at gamma=0.25, unseen=100.0, seen=100.0, AUSUC=1.000)
    """

    breakpoints: FloatArray
    unseen_curve: FloatArray
    seen_curve: FloatArray
    h_curve: FloatArray
    ausuc: float
    resolution: float = 0.0

    @classmethod
    def from_scores(
        cls, scores: ArrayLike, y: ArrayLike, seen: ArrayLike, weights: str = "per-class"
    ) -> Self:
        """Make the curve of a score matrix.

        Parameters
        ----------
        scores : array-like or DataFrame of shape (n_samples, n_classes)
            Higher is better; ``-inf`` excludes a class. The columns of a DataFrame name the classes.
        y : array-like of shape (n_samples,)
            The true class of every sample: its column number, or its name if the columns have names.
        seen : array-like
            The classes that had training samples: one bool (or 0 and 1) per class, or a list of class names
            or column numbers.
        weights : {"per-class", "per-sample"}
            Whether every class or every sample has the same weight. Classes without samples are ignored.
        """
        table = check_scores(scores)
        names = column_names(scores, table.shape[1])
        mask = seen_columns(seen, names)
        maxima = ScoreMaxima.from_scores(table, mask)
        return cls.from_maxima(maxima, find_columns(y, names), mask, weights)

    @classmethod
    def from_maxima(
        cls, maxima: ScoreMaxima, y: ArrayLike, seen: ArrayLike, weights: str = "per-class"
    ) -> Self:
        """Make the curve from the maxima of the scores, which may have been computed block by block.

        Here ``y`` holds column numbers and ``seen`` one bool per class.
        """
        mask = np.asarray(seen)
        columns = find_columns(y, np.arange(len(mask)))
        if len(columns) != len(maxima):
            expected = f"the class of each of {len(maxima)} samples"
            raise UnseenError(f"y has shape {columns.shape}, expected {expected}.")
        expect_both_kinds(mask[columns])
        # Calibration can win or lose the samples that are right among the classes of their own side.
        right = np.flatnonzero((maxima.argmax_seen == columns) | (maxima.argmax_unseen == columns))
        samples = right[maxima.flips[right].argsort()]
        d, resolution = maxima.flips[samples], _resolution_of(maxima, samples)
        count = np.bincount(columns, minlength=len(mask))
        unseen, kept, h = _accumulate(columns[samples], mask, count, weights)
        last = np.append(d[1:] > d[:-1], True)[: len(d)]  # samples with equal d flip together
        if not last.all():
            ends = np.append(True, last)
            d, unseen, kept, h = d[last], unseen[ends], kept[ends], h[ends]
        return cls(d, unseen, kept, h, area_under_curve(unseen, kept), resolution)

    def __repr__(self) -> str:
        """Return the best point, not thousands of breakpoints."""
        return (
            f"{type(self).__name__}(H={self.h:.1f} at gamma={self.gamma:.4g}, unseen={self.unseen:.1f}, "
            f"seen={self.seen:.1f}, AUSUC={self.ausuc:.3f})"
        )

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
        """One gamma inside each segment, (K + 1,): its middle, or one beyond the outermost breakpoint."""
        low, high = segment_bounds(self.breakpoints, np.arange(len(self.h_curve)))
        return middle(low, high, self.breakpoints)

    def at(self, gamma: float) -> Accuracies:
        """Return (A_U->C, A_S->C, harmonic mean) at one gamma, -inf and inf included."""
        expect("gamma", gamma, isinstance(gamma, Real) and not np.isnan(gamma), "a number")
        # A prediction is unseen when gamma > d; at gamma = inf always.
        k = len(self.breakpoints) if gamma == np.inf else np.searchsorted(self.breakpoints, gamma)
        return Accuracies(float(self.unseen_curve[k]), float(self.seen_curve[k]), float(self.h_curve[k]))

    def best(
        self,
        *,
        min_seen: float | None = None,
        min_unseen: float | None = None,
        unseen_share: float | None = None,
    ) -> OperatingPoint:
        """Return the operating point with the highest harmonic mean, or the best one for another goal.

        Parameters
        ----------
        min_seen : float, optional
            Maximize the accuracy on unseen samples, with at least this accuracy (percent) on seen samples.
        min_unseen : float, optional
            The reverse.
        unseen_share : float, optional
            Maximize the expected accuracy when this percentage of future samples is unseen.

        Examples
        --------
        >>> scores = [[0.9, 0.5], [0.6, 0.5], [0.5, 0.4], [0.8, 0.6]]
        >>> curve = SeenUnseenCurve.from_scores(scores, y=[0, 0, 1, 1], seen=[True, False])
        >>> point = curve.best(min_unseen=90)
        >>> round(point.gamma, 2), point.unseen, point.seen
        (0.3, 100.0, 50.0)
        """
        return self.best_for(Goal(min_seen, min_unseen, unseen_share))

    def best_for(self, goal: Goal) -> OperatingPoint:
        """Return the best operating point for a goal; an error if no gamma reaches it."""
        return goal.check(self.closest_to(goal))

    def closest_to(self, goal: Goal) -> OperatingPoint:
        """Return the operating point that is best for a goal, whether it reaches the goal or not.

        Ties are broken by the larger sum of both accuracies, then by the wider segment, which tolerates
        larger changes of the scores, then by the gamma nearest to 0.
        """
        value = goal.value(self.unseen_curve, self.seen_curve, self.h_curve)
        k = np.flatnonzero(usable_segments(self.breakpoints, self.resolution))
        k = k[_largest(value[k])]
        k = k[_largest(self.unseen_curve[k] + self.seen_curve[k])]
        low, high = segment_bounds(self.breakpoints, k)
        with np.errstate(over="ignore"):
            widest = high - low == (high - low).max()
        k, low, high = k[widest], low[widest], high[widest]
        gamma = middle(low, high, self.breakpoints)
        i = np.abs(gamma).argmin()
        unseen, seen, h = (float(curve[k[i]]) for curve in (self.unseen_curve, self.seen_curve, self.h_curve))
        return OperatingPoint(float(gamma[i]), (float(low[i]), float(high[i])), unseen, seen, h)

    def plot(self, ax: Axes | None = None) -> SeenUnseenDisplay:
        """Draw the curve with matplotlib; return the display, which has ``ax_`` and ``figure_``."""
        return SeenUnseenDisplay(self).plot(ax)

    def frame(self) -> Any:
        """Return the curve as a pandas DataFrame: one row per segment of gamma."""
        return SeenUnseenDisplay(self).frame()

    @cached_property
    def _best(self) -> OperatingPoint:
        return self.best()


def _largest(value: FloatArray) -> IndexArray:
    """Return the indices of all entries that equal the largest one up to rounding."""
    return np.flatnonzero(value >= value.max() - SAME_ACCURACY)


def _resolution_of(maxima: ScoreMaxima, samples: IndexArray) -> float:
    """Return the width of gammas that rounding blurs when gamma is subtracted from the scores.

    With |scores| <= M and unit roundoff eps / 2, computing d, rounding gamma to the type of the scores and
    subtracting it err by at most 1.5 eps M together. So a gamma in the middle of 4 eps M is safe.
    """
    best = np.abs([maxima.best_seen[samples], maxima.best_unseen[samples]])
    largest = best.max(initial=0.0, where=np.isfinite(best))
    return float(4 * max(np.finfo(best.dtype).eps, np.finfo(np.float64).eps) * np.float64(largest))


def _accumulate(
    y: IndexArray, seen: BoolArray, count: IndexArray, weights: str
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return A_U->C, A_S->C and H (percent), (len(y) + 1,) each, after the first 0, 1, ... samples flipped.

    ``y`` holds the classes of the samples that calibration can win or lose, sorted by their d; ``count``
    holds the number of all samples of each class.
    """
    weight_unseen = class_weights(np.where(seen, 0, count), weights)  # (classes,)
    weight_seen = class_weights(np.where(seen, count, 0), weights)
    won = np.append(0, weight_unseen[y].cumsum())
    lost = np.append(0, weight_seen[y].cumsum())
    U = 100 * (won / (weight_unseen @ count))
    S = 100 * ((lost[-1] - lost) / (weight_seen @ count))
    return U, S, harmonic_mean(U, S)


def mean_curve(curves: Sequence[SeenUnseenCurve]) -> SeenUnseenCurve:
    """Return the exact mean of several curves, such as those of validation folds.

    At every gamma each accuracy is the mean of the curves' accuracies, and the harmonic mean is the **mean
    of their harmonic means**. So ``gamma`` maximizes the mean harmonic mean. ``ausuc`` is the mean of their
    areas.

    Examples
    --------
    >>> a = SeenUnseenCurve.from_scores([[0.0, 1.0], [3.0, 1.0]], y=[1, 0], seen=[True, False])
    >>> b = SeenUnseenCurve.from_scores([[2.0, 1.0], [3.0, 0.0]], y=[1, 0], seen=[True, False])
    >>> both = mean_curve([a, b])
    >>> both.interval, both.gamma, both.h
    ((1.0, 2.0), 1.5, 100.0)
    """
    if not curves:
        raise UnseenError("mean_curve got no curve. Pass at least one.")
    breakpoints = np.unique(np.concatenate([curve.breakpoints for curve in curves]))
    unseen, seen, h = np.zeros((3, len(breakpoints) + 1))
    for curve in curves:
        segment = np.append(curve.breakpoints.searchsorted(breakpoints), len(curve.breakpoints))
        unseen += curve.unseen_curve[segment] / len(curves)
        seen += curve.seen_curve[segment] / len(curves)
        h += curve.h_curve[segment] / len(curves)
    ausuc = float(np.mean([curve.ausuc for curve in curves]))
    resolution = max(curve.resolution for curve in curves)
    return SeenUnseenCurve(breakpoints, unseen, seen, h, ausuc, resolution)
