"""How sure a prediction is: one temperature turns calibrated scores into probabilities.

The scores of a sample say which class is best, not how likely it is. With a temperature T,

    p(c | x) = exp(f(x, c) / T) / sum over c' of exp(f(x, c') / T)

are probabilities, and the best class stays the best. T is right when answers are as sure as they are right:

    mean over held-out samples of  max_c p(c | x)  =  share of right answers

The left side falls as T rises, so there is one such T. (The T of the highest likelihood is larger: it
insures against the few held-out classes that are hopeless, and makes all other answers less sure.)

T is a number in the units of a model's scores, so it is carried to the final model as gamma is. In the folds,
at the retention of the final model, the temperature of all held-out samples (seen and held-out classes count
the same) is ``ratio`` times that of the held-out samples of seen classes. In the final model, the latter is
known from cross-fitted samples among the real candidates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from unseen._core.blocks import BoolArray, FloatArray
from unseen.selection.evaluation import Kept

WIDEST = 12.0  # natural logarithms between the spread of the scores and the temperature, at most


@dataclass(frozen=True)
class Temperature:
    """The temperature of a model, and what it is made of."""

    value: float
    ratio: float = 1.0  # of all held-out samples to those of seen classes


def choose_temperature(folds: Sequence[Kept], cross_fitted: Sequence[Kept]) -> Temperature:
    """Return the temperature of the final model.

    Parameters
    ----------
    folds : sequence of Kept
        Calibrated scores of held-out samples of seen and of held-out classes, fold by fold.
    cross_fitted : sequence of Kept
        Calibrated scores of held-out samples of the seen classes among all present classes; without any,
        the temperature of the folds is taken.
    """
    if not cross_fitted:
        return Temperature(fit_temperature(folds))
    return carry_temperature(fit_temperature([in_units(kept) for kept in folds]), cross_fitted)


def in_units(kept: Kept) -> Kept:
    """Return samples of a fold in its own units: the temperature of those of its seen classes is 1."""
    of_seen = kept.of_seen
    unit = fit_temperature([Kept(kept.scores[of_seen], kept.y[of_seen], kept.seen)])
    return Kept(kept.scores / unit, kept.y, kept.seen)


def carry_temperature(ratio: float, cross_fitted: Sequence[Kept]) -> Temperature:
    """Return the temperature for the present candidates, with the ratio that the folds have shown."""
    return Temperature(ratio * fit_temperature(cross_fitted), ratio)


def fit_temperature(held_out: Sequence[Kept]) -> float:
    """Return the temperature at which held-out samples are as sure as they are right.

    Seen and unseen classes count the same. Answers that are always or never right have no such temperature:
    the end of a wide range is returned.

    >>> scores = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> kept = Kept(scores, np.array([0, 0, 0, 0]), np.array([True, False]))  # right 3 times of 4
    >>> round(1 / fit_temperature([kept]), 3)  # log(3 / 1)
    1.099
    """
    parts = [(below_best(kept.scores), kind_weights(kept.of_seen)) for kept in held_out]
    right = np.mean(
        [kind_weights(kept.of_seen) @ (kept.scores.argmax(axis=1) == kept.y) for kept in held_out]
    )
    spread = float(np.mean([-below[np.isfinite(below)].mean() for below, _ in parts]))
    if not spread > 0:  # all scores are equal
        return 1.0

    def overconfidence(log_temperature: float) -> float:
        temperature = spread * np.exp(log_temperature)
        sure = [weight @ confidence(below, temperature) for below, weight in parts]
        return float(np.mean(sure) - right)

    if overconfidence(WIDEST) >= 0:
        return float(spread * np.exp(WIDEST))
    if overconfidence(-WIDEST) <= 0:
        return float(spread * np.exp(-WIDEST))
    return float(spread * np.exp(brentq(overconfidence, -WIDEST, WIDEST, xtol=1e-9)))


def below_best(scores: FloatArray) -> FloatArray:
    """Return the scores minus the best of each sample, in double precision."""
    scores = scores.astype(np.float64)
    return np.asarray(scores - scores.max(axis=1, keepdims=True))


def confidence(below: FloatArray, temperature: float) -> FloatArray:
    """Return the probability of the best class, from what ``below_best`` returns."""
    # max_c p(c) = 1 / sum_c exp((f(c) - max f) / T)
    return np.asarray(1 / np.exp(below / temperature).sum(axis=1))


def kind_weights(of_seen: BoolArray) -> FloatArray:
    """Return a weight per sample: samples of seen and of unseen classes have half of the sum each.

    >>> kind_weights(np.array([True, True, False]))
    array([0.25, 0.25, 0.5 ])
    """
    kinds = [kind for kind in (of_seen, ~of_seen) if kind.any()]
    return np.asarray(sum(kind / kind.sum() for kind in kinds) / len(kinds))
