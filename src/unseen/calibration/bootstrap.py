"""How sure a calibration is: the curve of many resampled test sets, computed together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unseen.calibration.curve import (
    Goal,
    ScoreMaxima,
    check_labels,
    last_of_equals,
    middle,
    sorted_flips,
    usable,
)
from unseen.errors import UnseenError
from unseen.metrics import WEIGHTS, harmonic_mean

FloatArray = NDArray[np.floating]
IndexArray = NDArray[np.intp]

_CELLS = 2**19  # replicates x samples that are in memory at a time
_EQUAL = 1e-9  # accuracies (percent) nearer than this are the same number, summed in another order


@dataclass(frozen=True, eq=False)
class Bootstrap:
    """The harmonic mean, the area under the curve and gamma of every replicate, (n_replicates,) each."""

    h: FloatArray
    ausuc: FloatArray
    gamma: FloatArray

    def interval(self, name: str, confidence: float = 0.95) -> tuple[float, float]:
        """Return the percentile interval of ``"h"``, ``"ausuc"`` or ``"gamma"``."""
        tail = (1 - confidence) / 2
        low, high = np.quantile(getattr(self, name), [tail, 1 - tail])
        return float(low), float(high)


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
    """Resample the samples with replacement and choose gamma anew each time.

    Seen and unseen samples are drawn apart, each as many as there are. A class that is not drawn is left
    out of that replicate's per-class means.

    Parameters
    ----------
    maxima, y, seen, weights
        As for ``SeenUnseenCurve.from_maxima``.
    goal : Goal, optional
        What gamma is chosen for; the harmonic mean unless told.

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
    if weights not in WEIGHTS:
        raise UnseenError(f"Got weights={weights!r}, but expected 'per-class' or 'per-sample'.")
    seen = np.asarray(seen)
    y, _ = check_labels(y, len(maxima), seen)
    right, order, d = sorted_flips(maxima, y)
    samples = right[order]
    steps = _Steps(d, samples, seen[y[samples]], last_of_equals(d), goal or Goal())
    parts = [steps.replicates(w) for w in _resampled_weights(y, seen, weights, n_replicates, random_state)]
    return Bootstrap(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def _resampled_weights(
    y: IndexArray, seen: NDArray[np.bool_], weights: str, n: int, random_state: int
) -> Iterator[FloatArray]:
    """Yield the weight of every sample in some replicates, (replicates, samples), until there are n.

    The seen samples of a replicate weigh 1 together, and so do the unseen ones.
    """
    rng = np.random.default_rng(random_state)
    at_once = max(1, _CELLS // len(y))
    for start in range(0, n, at_once):
        rows = min(at_once, n - start)
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
    """The steps of the curve, shared by all replicates: only their heights differ."""

    d: FloatArray  # (steps,), in order
    samples: IndexArray  # (steps,)
    is_seen: NDArray[np.bool_]  # (steps,)
    last: NDArray[np.bool_]  # (steps,)
    goal: Goal

    def replicates(self, weight: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return H, AUSUC and gamma of each replicate with sample weights (replicates, samples)."""
        step = weight[:, self.samples]
        U = 100 * self._cumulate(np.where(self.is_seen, 0, step))  # (replicates, segments)
        lost = 100 * self._cumulate(np.where(self.is_seen, step, 0))
        S = lost[:, -1:] - lost
        H = harmonic_mean(U, S)
        # area = sum over neighbours of (U' - U) (S + S') / 2
        area = np.einsum("rk,rk->r", np.diff(U, axis=1), S[:, :-1] + S[:, 1:]) / 2 / 100**2
        first, end = self._best_run(self.goal.value(U, S, H), U + S)
        return H[np.arange(len(H)), first], area, self._gamma(first, end)

    def _cumulate(self, step: FloatArray) -> FloatArray:
        total = np.zeros((len(step), self.last.sum() + 1))
        total[:, 1:] = step.cumsum(axis=1)[:, self.last]
        return total

    def _best_run(self, value: FloatArray, total: FloatArray) -> tuple[IndexArray, IndexArray]:
        """Return the first run of best segments, [first, end): a sample that is not drawn makes no step."""
        inside = usable(self.d[self.last])
        value, total = value[:, inside], total[:, inside]
        best = value >= value.max(axis=1, keepdims=True) - _EQUAL
        # among equally good ones the larger sum of both accuracies, as for the curve itself
        total = np.where(best, total, -np.inf)
        best = total >= total.max(axis=1, keepdims=True) - _EQUAL
        first = best.argmax(axis=1)
        after = ~best & (np.arange(best.shape[1]) > first[:, None])
        end = np.where(after.any(axis=1), after.argmax(axis=1), best.shape[1])
        return first + inside.start, end + inside.start

    def _gamma(self, first: IndexArray, end: IndexArray) -> FloatArray:
        breakpoints = self.d[self.last]
        ends = np.concatenate([[-np.inf], breakpoints, [np.inf]])
        return middle(ends[first], ends[end], breakpoints)
