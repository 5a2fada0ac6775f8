"""Segments of gamma: between two neighboring breakpoints no prediction changes.

K rising breakpoints cut the line of gammas into K + 1 segments. Segment k holds the gammas above
``breakpoints[k - 1]`` up to and including ``breakpoints[k]``, because the seen class wins ties.
"""

from __future__ import annotations

import numpy as np

from unseen._core.blocks import BoolArray, FloatArray, IndexArray

_LARGEST = np.finfo(np.float64).max
_DENSE = 16  # a run of narrow segments wider than this many resolutions is more than rounding


def segment_bounds(breakpoints: FloatArray, k: IndexArray) -> tuple[FloatArray, FloatArray]:
    """Return the ends (low, high) of segments k."""
    ends = np.concatenate([[-np.inf], breakpoints, [np.inf]])
    return ends[k], ends[k + 1]


def usable_segments(breakpoints: FloatArray, resolution: float = 0.0) -> BoolArray:
    """Mark the segments (K + 1,) that gamma may be chosen from.

    Left out are ends that hold no finite gamma, and segments narrower than ``resolution``: once gamma is
    subtracted from the scores, rounding decides what happens there. But if so many samples lie close
    together that narrow segments fill a wide interval, some gamma in it must be usable, and all of them are.
    """
    usable = np.ones(len(breakpoints) + 1, dtype=bool)
    if len(breakpoints):
        usable[0], usable[-1] = breakpoints[0] != -np.inf, breakpoints[-1] != np.inf
        usable[1:-1] = ~_is_rounding(breakpoints, resolution)
    return usable


def _is_rounding(breakpoints: FloatArray, resolution: float) -> BoolArray:
    """Mark the segments (K - 1,) between two breakpoints that are narrow, and whose neighborhood is too."""
    with np.errstate(over="ignore"):
        width = np.diff(breakpoints)
    narrow = width <= resolution
    run = np.cumsum(~narrow)  # a run of narrow segments belongs to the wide segment before it
    run_width = np.bincount(run, weights=np.where(narrow, width, 0))
    return narrow & (run_width[run] <= _DENSE * resolution)


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
