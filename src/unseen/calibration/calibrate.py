"""Calibrate scores: choose gamma, measure what it gains and how certain that is, apply it to other scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from unseen._core.blocks import IndexArray
from unseen._core.labels import shortened
from unseen.calibration.bootstrap import Bootstrap, bootstrap
from unseen.calibration.curve import Goal, OperatingPoint, ScoreMaxima, SeenUnseenCurve
from unseen.calibration.scores import Scores
from unseen.errors import UnseenError, expect
from unseen.metrics import AVERAGINGS, Accuracies, Averaging, auroc, gzsl_accuracies

_SIDE_SCALE = 100  # times the size of the other side
_SUM = 1e-3  # by which probabilities in half precision may miss their sum of 1


@dataclass(frozen=True, eq=False)
class Calibration:
    """The calibration for one way to average accuracies: over classes or over samples.

    Attributes
    ----------
    curve : SeenUnseenCurve
        The accuracies for every gamma.
    point : OperatingPoint
        The gamma that was chosen, with its accuracies on the samples that chose it.
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
    """What ``calibrate`` finds in a set of scores.

    Attributes
    ----------
    n_samples, n_classes : tuple of int
        How many belong to (seen, unseen) classes.
    absent_classes : list of str
        Classes without samples, which are ignored in the averages.
    warnings : list of str
        What looks wrong with the scores, one line each.
    by_weights : dict
        The calibration for ``"per-class"`` and for ``"per-sample"``.
    auroc : float
        How well ``d`` separates seen from unseen samples, 0 to 1.
    """

    n_samples: tuple[int, int]
    n_classes: tuple[int, int]
    absent_classes: list[str]
    warnings: list[str]
    by_weights: dict[Averaging, Calibration]
    auroc: float


@dataclass(frozen=True, eq=False)
class Application:
    """What a given gamma predicts for scores.

    Attributes
    ----------
    scores : Scores
    gamma : float
    predicted : ndarray of shape (n_samples,)
        Columns.
    changes : dict
        The accuracies (without, with) calibration for ``"per-class"`` and for ``"per-sample"``. It is empty
        unless there are true classes, some of them seen and some unseen.
    """

    scores: Scores
    gamma: float
    predicted: IndexArray
    changes: dict[Averaging, tuple[Accuracies, Accuracies]]


def calibrate(
    scores: Scores, *, goal: Goal | None = None, n_replicates: int | None = None, random_state: int = 0
) -> CalibrationResult:
    """Choose the gamma to subtract from the scores of the seen classes.

    Parameters
    ----------
    scores : Scores
        From ``read_scores``, or made of arrays; ``y`` is required.
    goal : Goal, optional
        What gamma maximizes; the harmonic mean by default.
    n_replicates : int, optional
        Resample the samples this many times for the uncertainty of H, AUSUC and gamma.
    random_state : int
        Seed of the resampling.

    Examples
    --------
    >>> table = np.array([[0.9, 0.4, 0.5], [0.8, 0.3, 0.1], [0.7, 0.2, 0.6], [0.2, 0.5, 0.1]])
    >>> scores = Scores(table, y=np.array([0, 0, 2, 1]), seen=np.array([True, True, False]))
    >>> result = calibrate(scores).by_weights["per-class"]
    >>> round(result.gamma, 2), result.uncalibrated.h, result.point.h
    (0.25, 0.0, 100.0)
    """
    y, seen = scores.y, scores.seen
    if y is None:
        raise UnseenError("The scores have no true classes. Save them as y, or name their column by --label.")
    maxima = ScoreMaxima.from_scores(scores.scores, seen)
    found = {}
    for weights in AVERAGINGS:
        curve = SeenUnseenCurve.from_maxima(maxima, y, seen, weights)
        point, replicates = curve.best_for(goal or Goal()), None
        if n_replicates is not None:
            drawn = {"n_replicates": n_replicates, "random_state": random_state}
            replicates = bootstrap(maxima, y, seen, weights=weights, goal=goal, **drawn)
        found[weights] = Calibration(curve, point, replicates)
    is_seen = seen[y]
    absent = [scores.name(column) for column in np.setdiff1d(np.arange(len(seen)), y)]
    return CalibrationResult(
        n_samples=(int(is_seen.sum()), int((~is_seen).sum())),
        n_classes=(int(seen.sum()), int((~seen).sum())),
        absent_classes=absent,
        warnings=list(_find_warnings(scores, absent)),
        by_weights=found,
        auroc=auroc(maxima.flips[is_seen], maxima.flips[~is_seen]),
    )


def apply_gamma(gamma: float, scores: Scores) -> Application:
    """Subtract gamma from the scores of the seen classes and predict.

    Examples
    --------
    >>> scores = Scores(np.array([[0.9, 0.4, 0.5], [0.6, 0.1, 0.5]]), None, np.array([True, True, False]))
    >>> apply_gamma(0.2, scores).predicted
    array([0, 2])
    """
    expect("gamma", gamma, np.isfinite(gamma), "a finite number")
    maxima = ScoreMaxima.from_scores(scores.scores, scores.seen)
    predicted = maxima.predict_all(gamma)
    changes = {}
    y, seen = scores.y, np.flatnonzero(scores.seen)
    if y is not None and 0 < scores.seen[y].sum() < len(y):
        for weights in AVERAGINGS:
            before = gzsl_accuracies(y, maxima.predict(), seen, weights)
            changes[weights] = before, gzsl_accuracies(y, predicted, seen, weights)
    return Application(scores, gamma, predicted, changes)


def _find_warnings(scores: Scores, absent: Sequence[str]) -> Iterator[str]:
    """Yield warnings about absent classes, sides on different scales, and probabilities."""
    table = scores.scores
    if absent:
        verb = "has no sample and is" if len(absent) == 1 else "have no sample and are"
        names = shortened(absent, 5)
        yield f"{len(absent)} of {len(scores.seen)} classes {verb} ignored in the averages: {names}"
    size = np.abs(table).max(axis=0, initial=0, where=np.isfinite(table))  # (classes,)
    seen, unseen = (float(size[side].max(initial=0.0)) for side in (scores.seen, ~scores.seen))
    if seen and unseen and max(seen / unseen, unseen / seen) >= _SIDE_SCALE:
        sizes = f"the scores of seen classes reach {seen:.3g}, those of unseen classes {unseen:.3g}"
        yield f"{sizes}. Calibration cannot correct another scale: standardize each side first."
    # near 1, probabilities leave no room for a difference
    if np.isfinite(table).all() and table.min() >= 0 and np.abs(table.sum(axis=1) - 1).max() <= _SUM:
        yield "the scores are probabilities. Their logarithms calibrate better: save numpy.log(scores)."
