"""Calibrate scores: find gamma, what it gains, and how certain both are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unseen.calibration.bootstrap import Bootstrap, bootstrap
from unseen.calibration.curve import Goal, OperatingPoint, ScoreMaxima, SeenUnseenCurve
from unseen.calibration.scores import Scores
from unseen.metrics import WEIGHTS, Accuracies, Weights


@dataclass(frozen=True, eq=False)
class Calibration:
    """The calibration for one way to average accuracies: over classes or over samples.

    Attributes
    ----------
    curve : SeenUnseenCurve
        The accuracies for every gamma.
    point : OperatingPoint
        The gamma that was chosen, with its accuracies.
    replicates : Bootstrap, optional
        H, AUSUC and gamma of resampled samples.
    """

    curve: SeenUnseenCurve
    point: OperatingPoint
    replicates: Bootstrap | None = None

    @property
    def gamma(self) -> float:
        """What to subtract from the scores of the seen classes."""
        return self.point.gamma

    @property
    def uncalibrated(self) -> Accuracies:
        """The accuracies without calibration."""
        return self.curve.at(0.0)


@dataclass(frozen=True, eq=False)
class CalibrationResult:
    """What ``calibrate`` finds in a set of scores."""

    scores: Scores
    maxima: ScoreMaxima
    by_weights: dict[Weights, Calibration]

    @property
    def n_samples(self) -> tuple[int, int]:
        """The number of samples of (seen, unseen) classes."""
        seen = int(self.scores.seen[self.scores.y].sum())
        return seen, len(self.scores.y) - seen

    @property
    def n_classes(self) -> tuple[int, int]:
        """The number of (seen, unseen) classes."""
        seen = int(self.scores.seen.sum())
        return seen, len(self.scores.seen) - seen

    @property
    def absent_classes(self) -> list[str]:
        """The classes without samples: they are ignored in the averages."""
        count = np.bincount(self.scores.y, minlength=len(self.scores.seen))
        return [self.scores.name(column) for column in np.flatnonzero(count == 0).tolist()]


def calibrate(
    scores: Scores, *, goal: Goal | None = None, n_replicates: int | None = None
) -> CalibrationResult:
    """Choose the gamma to subtract from the scores of the seen classes.

    Parameters
    ----------
    scores : Scores
        From ``read_scores``, or made of arrays.
    goal : Goal, optional
        What gamma maximizes; the harmonic mean by default.
    n_replicates : int, optional
        Resample the samples this many times for the uncertainty of H, AUSUC and gamma.

    Examples
    --------
    >>> table = np.array([[0.9, 0.4, 0.5], [0.8, 0.3, 0.1], [0.7, 0.2, 0.6], [0.2, 0.5, 0.1]])
    >>> scores = Scores(table, y=np.array([0, 0, 2, 1]), seen=np.array([True, True, False]))
    >>> result = calibrate(scores).by_weights["per-class"]
    >>> round(result.gamma, 2), result.uncalibrated.h, result.point.h
    (0.25, 0.0, 100.0)
    """
    goal = goal or Goal()
    maxima = ScoreMaxima.from_scores(scores.scores, scores.seen)
    found = {weights: _calibrate(scores, maxima, weights, goal, n_replicates) for weights in WEIGHTS}
    return CalibrationResult(scores, maxima, found)


def _calibrate(
    scores: Scores, maxima: ScoreMaxima, weights: Weights, goal: Goal, n_replicates: int | None
) -> Calibration:
    y, seen = scores.y, scores.seen
    curve = SeenUnseenCurve.from_maxima(maxima, y, seen, weights)
    point = curve.best_for(goal)
    if n_replicates is None:
        return Calibration(curve, point)
    replicates = bootstrap(maxima, y, seen, weights=weights, goal=goal, n_replicates=n_replicates)
    return Calibration(curve, point, replicates)
