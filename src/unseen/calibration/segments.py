"""Segments of gamma: between two neighboring breakpoints no prediction changes.

K rising breakpoints cut the line of gammas into K + 1 segments. Segment k holds the gammas above
``breakpoints[k - 1]`` up to and including ``breakpoints[k]``, because the seen class wins ties.
"""

from __future__ import annotations

import numpy as np

from unseen._core.blocks import BoolArray, FloatArray, IndexArray

_LARGEST = np.finfo(np.float64).max


def last_of_equals(d: FloatArray) -> BoolArray:
    """Mark the last of each run of equal numbers, since samples with equal d flip together."""
    return np.append(d[1:] > d[:-1], True)[: len(d)]


def segment_bounds(breakpoints: FloatArray, k: IndexArray) -> tuple[FloatArray, FloatArray]:
    """Return the ends (low, high) of segments k."""
    K = len(breakpoints)
    low, high = np.full(len(k), -np.inf), np.full(len(k), np.inf)
    low[k > 0] = breakpoints[k[k > 0] - 1]
    high[k < K] = breakpoints[k[k < K]]
    return low, high


def finite_segments(breakpoints: FloatArray) -> slice:
    """Return the segments that hold a finite gamma: all but an end that is only -inf or only inf."""
    first, last = (breakpoints[:1] == -np.inf).sum(), (breakpoints[-1:] == np.inf).sum()
    return slice(int(first), len(breakpoints) + 1 - int(last))


def middle(low: FloatArray, high: FloatArray, breakpoints: FloatArray) -> FloatArray:
    """Return a gamma inside each segment (low, high], finite for segments without an end too."""
    finite = breakpoints[np.searchsorted(breakpoints, -_LARGEST) : np.searchsorted(breakpoints, np.inf)]
    with np.errstate(invalid="ignore", over="ignore"):
        # Go beyond the last breakpoint by the distance between the first and the last one.
        reach = (finite[-1] - finite[0] or abs(finite[0]) or 1.0) if len(finite) else 1.0
        gamma = low / 2 + high / 2
    # There is no middle between two neighboring floats, but the upper end belongs to the segment.
    gamma = np.where(gamma > low, gamma, high)
    gamma = np.where(np.isinf(low), high - reach, gamma)
    gamma = np.where(np.isinf(high), low + reach, gamma)
    gamma = np.where(np.isinf(low) & np.isinf(high), 0.0, gamma.clip(-_LARGEST, _LARGEST))
    return np.where(low == high, low, gamma)  # segments that are only -inf or only inf
