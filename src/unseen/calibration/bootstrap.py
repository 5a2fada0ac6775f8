"""The uncertainty of a calibration: the curves of many resampled test sets, computed together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from unseen._core.blocks import BoolArray, FloatArray, IndexArray, row_blocks
from unseen.calibration.curve import Goal, ScoreMaxima, check_label_columns, resolution_of, sorted_flips
from unseen.calibration.segments import last_of_equals, middle, usable_segments
from unseen.errors import UnseenError
from unseen.metrics import AVERAGINGS, harmonic_mean, percentile_interval

_WEIGHTS_AT_ONCE = 2**19  # replicates x samples in memory at a time
_ROUNDING = 1e-9  # accuracies (percent) that differ by less are the same number, summed in another order


@dataclass(frozen=True, eq=False)
class Bootstrap:
    """The harmonic mean, AUSUC and gamma of every replicate, (n_replicates,) each."""

    h: FloatArray
    ausuc: FloatArray
    gamma: FloatArray

    def interval(self, name: Literal["h", "ausuc", "gamma"], confidence: float = 0.95) -> tuple[float, float]:
        """Return the percentile interval of ``"h"``, ``"ausuc"`` or ``"gamma"``."""
        return percentile_interval(getattr(self, name), confidence)


def bootstrap(
    maxima: ScoreMaxima,
    y: ArrayLike,
    seen: ArrayLike,
    *,
    weights: str = "per-class",
    goal: Goal | None = None,
    n_replicates: int = 1000,
    random_state: int = 0,
) -> Bootstrap:
    """Resample the samples with replacement and choose gamma for each replicate.

    Seen and unseen samples are drawn separately, as many of each as there are. A class that is not drawn is
    ignored in the per-class means of that replicate.

    Parameters
    ----------
    maxima, y, seen, weights
        As for ``SeenUnseenCurve.from_maxima``.
    goal : Goal, optional
        What gamma maximizes; the harmonic mean by default.
    n_replicates : int
    random_state : int

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> scores, y, seen = rng.normal(size=(90, 3)), np.arange(90) % 3, np.array([True, True, False])
    >>> scores[np.arange(90), y] += 2
    >>> low, high = bootstrap(ScoreMaxima.from_scores(scores, seen), y, seen).interval("h")
    >>> 60 < low < high < 95
    True
    """
    if n_replicates < 1:
        raise UnseenError(f"Got n_replicates={n_replicates}, but expected at least 1.")
    if weights not in AVERAGINGS:
        raise UnseenError(f"Got weights={weights!r}, but expected 'per-class' or 'per-sample'.")
    is_seen = np.asarray(seen)
    columns, _ = check_label_columns(y, len(maxima), is_seen)
    samples, d = sorted_flips(maxima, columns)
    last = last_of_equals(d)
    usable = usable_segments(d[last], resolution_of(maxima, samples))
    steps = _Steps(d, samples, is_seen[columns[samples]], last, usable, goal or Goal())
    blocks = _resampled_weights(columns, is_seen, weights, n_replicates, random_state)
    h, ausuc, gamma = (np.concatenate(parts) for parts in zip(*map(steps.replicates, blocks), strict=True))
    return Bootstrap(h, ausuc, gamma)


def _resampled_weights(
    y: IndexArray, seen: BoolArray, weights: str, n: int, random_state: int
) -> Iterator[FloatArray]:
    """Yield the sample weights of n replicates, in blocks (replicates, samples).

    In each replicate the weights of the seen samples sum to 1, and so do those of the unseen samples.
    """
    rng = np.random.default_rng(random_state)
    for block in row_blocks(n, max(1, _WEIGHTS_AT_ONCE // len(y))):
        rows = block.stop - block.start
        weight = np.empty((rows, len(y)))
        for side in (np.flatnonzero(seen[y]), np.flatnonzero(~seen[y])):
            drawn = rng.integers(len(side), size=(rows, len(side)))
            times = _count_rows(drawn, len(side))  # (replicates, samples of this side)
            if weights == "per-class":
                group = np.unique(y[side], return_inverse=True)[1]
                in_class = _count_rows(group[drawn], group.max() + 1)  # (replicates, classes)
                present = (in_class > 0).sum(axis=1, keepdims=True)
                weight[:, side] = times * (1 / (present * np.maximum(in_class, 1)))[:, group]
            else:
                weight[:, side] = times / len(side)
        yield weight


def _count_rows(values: IndexArray, n_values: int) -> IndexArray:
    """Return how often each row of values (rows, n) holds each of 0..n_values - 1: (rows, n_values)."""
    offset = n_values * np.arange(len(values))[:, None]
    return np.bincount((values + offset).ravel(), minlength=n_values * len(values)).reshape(-1, n_values)


@dataclass(frozen=True, eq=False)
class _Steps:
    """The steps of the curve. All replicates share their positions; only their heights differ."""

    d: FloatArray  # (steps,), sorted
    samples: IndexArray  # (steps,)
    is_seen: BoolArray  # (steps,)
    last: BoolArray  # (steps,)
    usable: BoolArray  # (segments,)
    goal: Goal

    def replicates(self, weight: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return H, AUSUC and gamma of each replicate with sample weights (replicates, samples)."""
        step = weight[:, self.samples]
        U = 100 * self._cumulate(np.where(self.is_seen, 0, step))  # (replicates, segments)
        lost = 100 * self._cumulate(np.where(self.is_seen, step, 0))
        S = lost[:, -1:] - lost
        H = harmonic_mean(U, S)
        # area = sum over neighbors of (U' - U) (S + S') / 2
        area = np.einsum("rk,rk->r", np.diff(U, axis=1), S[:, :-1] + S[:, 1:]) / 2 / 100**2
        first, end = self._best_run(self.goal.value(U, S, H), U + S)
        return H[np.arange(len(H)), first], area, self._gamma(first, end)

    def _cumulate(self, step: FloatArray) -> FloatArray:
        total = np.zeros((len(step), self.last.sum() + 1))
        total[:, 1:] = step.cumsum(axis=1)[:, self.last]
        return total

    def _best_run(self, value: FloatArray, total: FloatArray) -> tuple[IndexArray, IndexArray]:
        """Return the first run of best segments, [first, end).

        It may be longer than one segment, since a sample that is not drawn makes no step.
        """
        value = np.where(self.usable, value, -np.inf)
        best = value >= value.max(axis=1, keepdims=True) - _ROUNDING
        # ties are broken by the larger sum of both accuracies, as for the curve itself
        total = np.where(best, total, -np.inf)
        best = total >= total.max(axis=1, keepdims=True) - _ROUNDING
        first = best.argmax(axis=1)
        after = ~best & (np.arange(best.shape[1]) > first[:, None])
        end = np.where(after.any(axis=1), after.argmax(axis=1), best.shape[1])
        return first, end

    def _gamma(self, first: IndexArray, end: IndexArray) -> FloatArray:
        breakpoints = self.d[self.last]
        ends = np.concatenate([[-np.inf], breakpoints, [np.inf]])
        return middle(ends[first], ends[end], breakpoints)
