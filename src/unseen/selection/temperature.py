"""How sure a prediction is: a temperature turns calibrated scores into probabilities.

The scores of a sample say which class is best, not how likely it is. With a temperature T,

    p(c | x) = exp(f(x, c) / T) / sum over c' of exp(f(x, c') / T)

are probabilities, and the best class stays the best. T is right when answers are as sure as they are right:

    mean over held-out samples of  max_c p(c | x)  =  share of right answers

The left side falls as T rises, so there is one such T. (The T of the highest likelihood is larger: it
insures against the few held-out classes that are hopeless, and makes all other answers less sure.)

T is a number in the units of a model's scores, so it is carried to the final model as gamma is. In
rehearsals, at the retention of the final model, the temperature of all held-out samples (seen and held-out
classes count the same) is ``ratio`` times that of the held-out samples of seen classes. In the final model,
the latter is known from cross-fitted samples among the real candidates.

With many classes three things are refined. Folds that hold out a third of the classes make the held-out ones
look harder than the unseen ones will be: their models have learned from fewer classes. So the rehearsals are
*dress rehearsals*: a tenth of the classes is held out and takes the places of as many unseen ones, so that as
many unseen candidates compete as in the final model. And answers that are unseen classes have a temperature
of their own, ``factor`` times the other. The factor is the square root of the one with the lowest calibration
error on held-out samples, added up over those of seen and of held-out classes: all of it would cost
likelihood. Last, the temperature of a sample grows with its *height*, how far its best class is above the
mean class:

    T(x) = T (h(x) / h)^a,   h(x) = max_c f(x, c) - mean_c f(x, c)

where h is the mean height. A sample with large scores is not as sure as they say, and some methods, LDA above
all, have samples of very different heights. The power a has the highest likelihood on held-out samples.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import log_softmax

from unseen._core.blocks import BoolArray, FloatArray
from unseen._core.labels import LabelArray, distinct_labels
from unseen.datasets.splits import GZSLFolds
from unseen.metrics import Reliability, reliability
from unseen.selection.evaluation import FoldIndices, Kept

WIDEST = 12.0  # natural logarithms between the spread of the scores and the temperature, at most

N_DRESS = 3  # dress rehearsals
DRESS_FROM = 100  # classes; with fewer there are none
FACTORS = np.exp(sorted(np.linspace(-0.6, 0.6, 13), key=abs))  # for unseen answers, before the root
POWERS = (0.0, 0.25, 0.5, 0.75, 1.0)  # of the height, to choose from
LOWEST = 1e-3  # relative height; equal scores have none


@dataclass(frozen=True)
class Temperature:
    """The temperature of a model, and what it is made of."""

    value: float  # for answers that are seen classes
    ratio: float = 1.0  # of all held-out samples to those of seen classes
    factor: float = 1.0  # for answers that are unseen classes, relative to the value
    power: float = 0.0  # of a sample's height
    height: float = 1.0  # the mean height of held-out samples of the seen classes

    def of(self, scores: FloatArray, seen: BoolArray) -> FloatArray:
        """Return the temperature of every sample, (samples, 1)."""
        # T(x) = T (h(x) / h)^a, times the factor where the best class is unseen
        of_answer = self.value * answer_factors(scores, seen, self.factor)
        if self.power == 0:
            return of_answer
        return np.asarray(of_answer * relative_heights(scores, self.height) ** self.power)


def choose_temperature(
    rehearsed: Sequence[Kept], cross_fitted: Sequence[Kept], *, dressed: bool = False
) -> Temperature:
    """Return the temperature of the final model.

    Parameters
    ----------
    rehearsed : sequence of Kept
        Calibrated scores of held-out samples of seen and of held-out classes, rehearsal by rehearsal.
    cross_fitted : sequence of Kept
        Calibrated scores of held-out samples of the seen classes among all present classes; without any,
        the temperature of the rehearsals is taken.
    dressed : bool
        Whether these are dress rehearsals. If not, there is one temperature for all samples.
    """
    if not cross_fitted:
        return Temperature(fit_temperature(rehearsed))
    power = choose_power(rehearsed) if dressed else 0.0
    held_out = [in_units(divide_heights(kept, power, mean_height([kept]))) for kept in rehearsed]
    both_kinds = [kept for kept in held_out if 0 < kept.of_seen.sum() < len(kept.y)]
    factor = choose_factor(both_kinds) if dressed and both_kinds else 1.0
    ratio = fit_temperature([divide_unseen(kept, factor) for kept in held_out])
    return carry_temperature(Temperature(1.0, ratio, factor, power), cross_fitted)


def in_units(kept: Kept) -> Kept:
    """Return samples of a rehearsal in its own units: the temperature of those of its seen classes is 1."""
    unit = fit_temperature([of_kind(kept, True)])
    return Kept(kept.scores / unit, kept.y, kept.seen)


def carry_temperature(chosen: Temperature, cross_fitted: Sequence[Kept]) -> Temperature:
    """Return the temperature for the present candidates, with what rehearsals have shown."""
    height = mean_height(cross_fitted)
    alone = fit_temperature([divide_heights(kept, chosen.power, height) for kept in cross_fitted])
    return replace(chosen, value=chosen.ratio * alone, height=height)


def heights(scores: FloatArray) -> FloatArray:
    """Return how far the best class of each sample is above the mean class, (samples, 1).

    >>> heights(np.array([[3.0, 1.0, 2.0], [0.0, 0.0, 0.0]]))
    array([[1.],
           [0.]])
    """
    mean = scores.mean(axis=1, keepdims=True, where=np.isfinite(scores))  # excluded classes have -inf
    return np.asarray(scores.max(axis=1, keepdims=True) - mean)


def mean_height(held_out: Sequence[Kept]) -> float:
    """Return the mean height of held-out samples, 1 where there are none or all scores are equal."""
    found = np.concatenate([heights(kept.scores) for kept in held_out])  # (samples, 1)
    return float(found.sum() / max(len(found), 1)) or 1.0


def relative_heights(scores: FloatArray, height: float) -> FloatArray:
    """Return the height of each sample relative to a usual one, at least a thousandth of it."""
    return np.asarray(np.maximum(heights(scores) / height, LOWEST))


def divide_heights(kept: Kept, power: float, height: float) -> Kept:
    """Return samples with scores divided by a power of their relative heights.

    With one temperature for all, these scores give what T(x) gives.
    """
    return Kept(kept.scores / relative_heights(kept.scores, height) ** power, kept.y, kept.seen)


def choose_power(held_out: Sequence[Kept]) -> float:
    """Return the power of the height with the highest likelihood on held-out samples, among ``POWERS``."""

    def loss(power: float) -> float:
        divided = [in_units(divide_heights(kept, power, mean_height([kept]))) for kept in held_out]
        temperature = fit_temperature(divided)
        return float(np.mean([negative_log_likelihood(kept, temperature) for kept in divided]))

    return min(POWERS, key=loss)


def negative_log_likelihood(kept: Kept, temperature: float) -> float:
    """Return the mean of - log p(y | x), where seen and unseen classes count the same."""
    log_p = log_softmax(kept.scores / temperature, axis=1)[np.arange(len(kept.y)), kept.y]
    return -float(kind_weights(kept.of_seen) @ log_p)


def answer_factors(scores: FloatArray, seen: BoolArray, factor: float) -> FloatArray:
    """Return 1 for each sample whose best class is seen, and the factor for the others, (samples, 1).

    >>> answer_factors(np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([True, False]), 0.8)
    array([[1. ],
           [0.8]])
    """
    factors = np.where(seen, 1.0, factor).astype(scores.dtype)  # (classes,)
    return factors[scores.argmax(axis=1), None]


def divide_unseen(kept: Kept, factor: float) -> Kept:
    """Return samples with scores divided by the factor where the answer is an unseen class.

    With one temperature for all, these scores give what the two temperatures give.
    """
    return Kept(kept.scores / answer_factors(kept.scores, kept.seen, factor), kept.y, kept.seen)


def choose_factor(held_out: Sequence[Kept]) -> float:
    """Return the square root of the factor with the lowest calibration error, among ``FACTORS``."""

    def error(factor: float) -> float:
        value = fit_temperature([divide_unseen(kept, factor) for kept in held_out])
        temperatures = [Temperature(value, factor=factor)] * len(held_out)
        kinds = ([of_kind(kept, seen) for kept in held_out] for seen in (True, False))
        return sum(held_out_reliability(of_one_kind, temperatures).ece for of_one_kind in kinds)

    return float(np.sqrt(min(FACTORS, key=error)))


def held_out_reliability(held_out: Sequence[Kept], temperatures: Sequence[Temperature]) -> Reliability:
    """Return how sure and how right answers for held-out samples are, with a temperature for each part."""
    sure, right = [], []
    for kept, temperature in zip(held_out, temperatures):
        below = below_best(kept.scores) / temperature.of(kept.scores, kept.seen)
        sure.append(confidence(below, 1.0))
        right.append(kept.scores.argmax(axis=1) == kept.y)
    return reliability(np.concatenate(sure), np.concatenate(right))


def of_kind(kept: Kept, seen: bool) -> Kept:
    """Return the samples of the seen classes alone, or of the others."""
    rows = kept.of_seen == seen
    return Kept(kept.scores[rows], kept.y[rows], kept.seen)


def fit_temperature(held_out: Sequence[Kept]) -> float:
    """Return the temperature at which held-out samples are as sure as they are right.

    Seen and unseen classes count the same. n answers that are all right count as right with probability
    1 - 1 / (2 n): more than that they do not show. Answers that are right less often than a guess have no
    such temperature: the end of a wide range is returned. Without samples it is 1.

    >>> scores = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> kept = Kept(scores, np.array([0, 0, 0, 0]), np.array([True, False]))  # right 3 times of 4
    >>> round(1 / fit_temperature([kept]), 3)  # log(3 / 1)
    1.099
    """
    held_out = [kept for kept in held_out if len(kept.y)]
    if not held_out:
        return 1.0
    parts = [(below_best(kept.scores), kind_weights(kept.of_seen)) for kept in held_out]
    right = np.mean(
        [kind_weights(kept.of_seen) @ (kept.scores.argmax(axis=1) == kept.y) for kept in held_out]
    )
    right = min(float(right), 1 - 0.5 / sum(len(kept.y) for kept in held_out))
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


def dress_rehearsals(y: LabelArray, groups: ArrayLike | None = None) -> list[FoldIndices]:
    """Return class folds that hold out another tenth of the classes each; none with fewer than 100 classes.

    >>> folds = dress_rehearsals(np.repeat(np.arange(120), 5))
    >>> [len(np.unique(np.repeat(np.arange(120), 5)[train])) for train, _ in folds]
    [108, 108, 108]
    """
    classes = distinct_labels(y)
    if len(classes) < DRESS_FROM:
        return []
    parts = np.array_split(np.random.default_rng(0).permutation(classes), 10)[:N_DRESS]
    drawn = [(np.setdiff1d(classes, part), np.sort(part)) for part in parts]
    return list(GZSLFolds(class_folds=drawn).split(None, y, groups))


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
