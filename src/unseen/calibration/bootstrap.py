"""The uncertainty of a calibration: the curves of many resampled test sets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from unseen._core.blocks import BoolArray, FloatArray
from unseen.calibration.columns import find_columns
from unseen.calibration.curve import Goal, ScoreMaxima, SeenUnseenCurve
from unseen.errors import expect
from unseen.metrics import percentile_interval


@dataclass(frozen=True, eq=False)
class Bootstrap:
    """The harmonic mean, AUSUC and gamma of every replicate, (n_replicates,) each."""

    h: FloatArray
    ausuc: FloatArray
    gamma: FloatArray

    def interval(self, name: Literal["h", "ausuc", "gamma"]) -> tuple[float, float]:
        """Return the 95 % percentile interval of ``"h"``, ``"ausuc"`` or ``"gamma"``."""
        return percentile_interval(getattr(self, name))


def bootstrap(
    maxima: ScoreMaxima,
    y: ArrayLike,
    seen: BoolArray,
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
    expect("n_replicates", n_replicates, n_replicates >= 1, "at least 1")
    rng, goal = np.random.default_rng(random_state), goal or Goal()
    columns = find_columns(y, np.arange(len(seen)))
    sides = [np.flatnonzero(seen[columns]), np.flatnonzero(~seen[columns])]
    found = np.empty((3, n_replicates))
    for replicate in range(n_replicates):
        rows = np.concatenate([rng.choice(side, len(side)) for side in sides])
        curve = SeenUnseenCurve.from_maxima(maxima.take(rows), columns[rows], seen, weights)
        point = curve.closest_to(goal)
        found[:, replicate] = point.h, curve.ausuc, point.gamma
    return Bootstrap(*found)
