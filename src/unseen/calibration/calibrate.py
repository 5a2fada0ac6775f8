"""Calibrate scores: choose gamma, measure what it gains and how certain that is, apply it to other scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from unseen._core.blocks import BoolArray, IndexArray
from unseen.calibration.bootstrap import Bootstrap, bootstrap
from unseen.calibration.checks import absent_classes, find_warnings
from unseen.calibration.curve import Goal, OperatingPoint, ScoreMaxima, SeenUnseenCurve
from unseen.calibration.scores import Scores
from unseen.errors import UnseenError
from unseen.metrics import AVERAGINGS, Accuracies, Averaging, auroc, gzsl_accuracies


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
    held_out : Accuracies, optional
        The accuracies when every sample is predicted with a gamma that other samples chose.
    """

    curve: SeenUnseenCurve
    point: OperatingPoint
    replicates: Bootstrap | None = None
    held_out: Accuracies | None = None

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
    folds : int, optional
        The number of folds behind ``held_out``.
    """

    n_samples: tuple[int, int]
    n_classes: tuple[int, int]
    absent_classes: list[str]
    warnings: list[str]
    by_weights: dict[Averaging, Calibration]
    auroc: float
    folds: int | None = None


@dataclass(frozen=True, eq=False)
class Application:
    """What a given gamma predicts for scores, and the accuracies if true classes are known."""

    scores: Scores
    gamma: float
    predicted: IndexArray  # (samples,), columns
    calibrated: dict[Averaging, Accuracies] | None
    uncalibrated: dict[Averaging, Accuracies] | None


def calibrate(
    scores: Scores,
    *,
    goal: Goal | None = None,
    n_replicates: int | None = None,
    folds: int | None = None,
    random_state: int = 0,
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
    folds : int, optional
        Split the samples into this many parts, and measure each with the gamma that the others choose.
    random_state : int
        Seed of the folds and of the resampling.

    Examples
    --------
    >>> table = np.array([[0.9, 0.4, 0.5], [0.8, 0.3, 0.1], [0.7, 0.2, 0.6], [0.2, 0.5, 0.1]])
    >>> scores = Scores(table, y=np.array([0, 0, 2, 1]), seen=np.array([True, True, False]))
    >>> result = calibrate(scores).by_weights["per-class"]
    >>> round(result.gamma, 2), result.uncalibrated.h, result.point.h
    (0.25, 0.0, 100.0)
    """
    if scores.y is None:
        raise UnseenError("These scores have no true classes (y), and calibrate needs them.")
    y, seen = scores.y, scores.seen
    maxima = ScoreMaxima.from_scores(scores.scores, seen)

    def choose(weights: Averaging) -> Calibration:
        curve = SeenUnseenCurve.from_maxima(maxima, y, seen, weights)
        point = curve.best_for(goal or Goal())
        given: dict[str, Any] = {"weights": weights, "goal": goal, "random_state": random_state}
        replicates = held_out = None
        if n_replicates is not None:
            replicates = bootstrap(maxima, y, seen, n_replicates=n_replicates, **given)
        if folds is not None:
            held_out = measure_held_out(maxima, y, seen, folds=folds, **given)
        return Calibration(curve, point, replicates, held_out)

    return CalibrationResult(
        n_samples=(int(seen[y].sum()), int((~seen[y]).sum())),
        n_classes=(int(seen.sum()), int((~seen).sum())),
        absent_classes=absent_classes(scores),
        warnings=find_warnings(scores, maxima),
        by_weights={weights: choose(weights) for weights in AVERAGINGS},
        auroc=auroc(maxima.flips[seen[y]], maxima.flips[~seen[y]]),
        folds=folds,
    )


def measure_held_out(
    maxima: ScoreMaxima,
    y: IndexArray,
    seen: BoolArray,
    *,
    weights: str = "per-class",
    goal: Goal | None = None,
    folds: int = 5,
    random_state: int = 0,
) -> Accuracies:
    """Return the accuracies when every sample is predicted with the gamma that the other folds choose.

    Parameters
    ----------
    maxima, y, seen, weights
        As for ``SeenUnseenCurve.from_maxima``.
    goal : Goal, optional
        What gamma maximizes; the harmonic mean by default.
    folds : int
        The number of parts; the samples of every class are spread over them.
    random_state : int
    """
    fold = _assign_folds(y, seen, folds, random_state)
    predicted = np.empty_like(y)
    for number in range(folds):
        held_out, others = np.flatnonzero(fold == number), np.flatnonzero(fold != number)
        curve = SeenUnseenCurve.from_maxima(maxima.take(others), y[others], seen, weights)
        predicted[held_out] = maxima.take(held_out).predict(curve.best_for(goal or Goal()).gamma)
    return gzsl_accuracies(y, predicted, np.flatnonzero(seen), weights)


def _assign_folds(y: IndexArray, seen: BoolArray, folds: int, random_state: int) -> IndexArray:
    """Return the fold of every sample; the samples of a class are distributed in random order."""
    smaller = int(min(seen[y].sum(), (~seen[y]).sum()))
    if not 2 <= folds <= smaller:
        raise UnseenError(
            f"Got folds={folds}, but expected 2 to {smaller}: every fold needs a seen and an unseen sample."
            if smaller >= 2
            else "Folds need at least two samples of seen classes and two of unseen classes."
        )
    shuffled = np.random.default_rng(random_state).permutation(len(y))
    by_class = shuffled[y[shuffled].argsort(kind="stable")]
    fold = np.empty(len(y), dtype=np.intp)
    for side in (seen, ~seen):
        members = by_class[side[y[by_class]]]
        fold[members] = np.arange(len(members)) % folds
    return fold


def apply_gamma(gamma: float, scores: Scores) -> Application:
    """Subtract gamma from the scores of the seen classes and predict.

    Accuracies are known if there are true classes, some of them seen and some unseen.

    Examples
    --------
    >>> scores = Scores(np.array([[0.9, 0.4, 0.5], [0.6, 0.1, 0.5]]), None, np.array([True, True, False]))
    >>> apply_gamma(0.2, scores).predicted
    array([0, 2])
    """
    maxima = ScoreMaxima.from_scores(scores.scores, scores.seen)
    predicted = maxima.predict_all(gamma)
    return Application(
        scores, gamma, predicted, _accuracies(scores, predicted), _accuracies(scores, maxima.predict())
    )


def _accuracies(scores: Scores, predicted: IndexArray) -> dict[Averaging, Accuracies] | None:
    y, seen = scores.y, scores.seen
    if y is None or seen[y].all() or not seen[y].any():
        return None
    return {weights: gzsl_accuracies(y, predicted, np.flatnonzero(seen), weights) for weights in AVERAGINGS}
