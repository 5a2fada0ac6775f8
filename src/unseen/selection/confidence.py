"""How sure a prediction is: probabilities by one temperature, sets and none of these by thresholds.

The scores of a sample say which class is best, not how likely it is. With a temperature T,

    p(c | x) = exp(f(x, c) / T) / sum over c' of exp(f(x, c') / T)

are probabilities. T is right when mean confidence equals accuracy on held-out samples:

    mean of  max_c p(c | x)  =  share of right predictions

The left side falls as T rises, so there is one such T. It is a number in the units of a model's scores, so it
is carried to the final model as gamma is. In rehearsals, at the retention of the final model, the temperature
of all held-out samples (seen and held-out classes count the same) is ``ratio`` times that of the samples of
seen classes. In the final model the latter is known from cross-fitted samples.

A sample that fits no described class has a low probability of its best class. The threshold at which it is
labeled unknown rejects the share ``reject`` of samples of known classes. What carries over is the share of
held-out samples *of seen classes* that the threshold of a rehearsal rejects.

A set of candidates holds every class that is probable enough, by a threshold for seen and one for unseen
classes. It is the largest t with

    1 / (n + 1) + n / (n + 1) W(p < t)  <=  1 - coverage,   and 0 if there is none

where W is the share of held-out samples whose own class has a probability p below t (conformal prediction).
A further sample of a seen class is one more of n samples, here those of the cross-fit. A sample of an unseen
class belongs to one more *class*: n is the number of classes that rehearsals hold out, each with the same
share of W. If the further one is exchangeable with the n others, it is covered at least so often.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.optimize import brentq

from unseen._core.blocks import BoolArray, FloatArray
from unseen._core.scoring import ROUNDING
from unseen.calibration.prediction import RATES, probabilities
from unseen.metrics import Reliability, auroc, reliability
from unseen.selection.gamma import gamma_at_retention
from unseen.selection.rehearsal import Kept, Trial

WIDEST = 12.0  # natural logarithms between the spread of the scores and the temperature, at most


# ---- temperature -------------------------------------------------------------------------------------


def temperature_ratio(rehearsed: Sequence[Kept], units: Sequence[float]) -> float:
    """Return the temperature of all samples relative to that of the seen classes alone.

    ``rehearsed`` holds calibrated scores, rehearsal by rehearsal, ``units`` the temperature of the seen
    classes in each. A rehearsal without samples of seen classes has no units, and does not count.
    """
    pairs = [(kept, unit) for kept, unit in zip(rehearsed, units) if kept.of_seen.any()]
    return fit_temperature([Kept(kept.scores / unit, kept.y, kept.seen) for kept, unit in pairs])


def fit_temperature(held_out: Sequence[Kept]) -> float:
    """Return the temperature at which the mean confidence of held-out samples equals their accuracy.

    Seen and unseen classes count the same. n predictions that are all right count as right with probability
    1 - 1 / (2 n): more than that they do not show. Predictions that are right less often than a guess have no
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
    right = float(np.mean([kind_weights(kept.of_seen) @ kept.right for kept in held_out]))
    right = min(right, 1 - 0.5 / sum(len(kept.y) for kept in held_out))
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


def held_out_reliability(held_out: Sequence[Kept], temperatures: Sequence[float]) -> Reliability:
    """Return how sure and how right predictions of held-out samples are, with a temperature for each part."""
    sure = [confidence(below_best(kept.scores), T) for kept, T in zip(held_out, temperatures)]
    return reliability(np.concatenate(sure), np.concatenate([kept.right for kept in held_out]))


# ---- none of these ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Rejection:
    """A threshold on the probability of the best class, for every share of known samples in ``RATES``."""

    auroc: float  # of detecting classes that were left out of the candidates, in rehearsals
    shares: FloatArray  # (101,), held-out samples of seen classes that are rejected at each rate, 0 to 1
    thresholds: FloatArray  # (101,)

    def carried_to(self, cross_fitted: Sequence[Kept], temperature: float) -> Rejection:
        """Return the thresholds for the present candidates, with the shares that rehearsals have shown."""
        of_seen = [below_best(kept.of_kind(True).scores) for kept in cross_fitted]
        sure = np.concatenate([confidence(below, temperature) for below in of_seen])
        return Rejection(self.auroc, self.shares, np.quantile(sure, self.shares))

    def __repr__(self) -> str:
        return f"Rejection(auroc={self.auroc:.3f}, threshold(0.05)={self.thresholds[5]:.3g})"


def choose_rejection(
    rehearsed: Sequence[Kept], temperatures: Sequence[float], cross_fitted: Sequence[Kept], temperature: float
) -> Rejection:
    """Return the thresholds for the final model.

    Parameters
    ----------
    rehearsed, cross_fitted : sequence of Kept
        Calibrated scores of held-out samples. Without cross-fitted ones the rehearsals give the thresholds.
    temperatures : sequence of float
        Of the rehearsals.
    temperature : float
        Of the final model.
    """
    sure = [confidence(below_best(kept.scores), T) for kept, T in zip(rehearsed, temperatures)]
    shares = np.mean([seen_shares(s, kept.of_seen) for s, kept in zip(sure, rehearsed)], axis=0)
    chosen = Rejection(detect_left_out(rehearsed, temperatures), shares, RATES)
    return chosen.carried_to(cross_fitted or rehearsed, temperature)


def detect_left_out(rehearsed: Sequence[Kept], temperatures: Sequence[float]) -> float:
    """Leave half of the held-out classes out of the candidates; return the AUROC of detecting their samples.

    Samples of seen and of unseen classes count the same. Without samples it is that of a guess.
    """
    parts = []
    for kept, temperature in zip(rehearsed, temperatures):
        held_out = np.random.default_rng(0).permutation(np.flatnonzero(~kept.seen))
        left_out = np.isin(np.arange(len(kept.seen)), held_out[::2])
        sure = confidence(below_best(kept.scores[:, ~left_out]), temperature)
        parts.append((sure, left_out[kept.y], kept.of_seen))
    sure, outside, of_seen = (np.concatenate(columns) for columns in zip(*parts))
    kinds = [sure[kind & ~outside] for kind in (of_seen, ~of_seen)]
    found = [auroc(known, sure[outside]) for known in kinds if len(known) and outside.any()]
    return float(np.mean(found)) if found else 0.5


def seen_shares(sure: FloatArray, of_seen: BoolArray) -> FloatArray:
    """Return the share of samples of seen classes below the threshold of each of ``RATES``.

    The threshold at a rate has this share of all samples below it, when both kinds count the same.

    >>> sure, of_seen = np.array([0.1, 0.2, 0.3, 0.4]), np.array([False, False, True, True])
    >>> seen_shares(sure, of_seen)[[0, 50, 100]]  # the lower half is of unseen classes
    array([0., 0., 1.])
    """
    order = np.argsort(sure)
    below_all = np.cumsum(kind_weights(of_seen)[order])
    below_seen = np.cumsum(of_seen[order]) / max(of_seen.sum(), 1)
    return np.asarray(np.interp(RATES, np.append(0.0, below_all), np.append(0.0, below_seen)))


# ---- sets of candidates ----------------------------------------------------------------------------------


def conformal_thresholds(p: FloatArray, weight: FloatArray, n: int) -> FloatArray:
    """Return how probable a class must be to be a candidate, for every coverage in ``RATES``, (101,).

    Parameters
    ----------
    p : array of shape (n_samples,)
        The probability of the own class of every held-out sample.
    weight : array of shape (n_samples,)
        Of the samples; the sum is 1.
    n : int
        How many samples, or classes, are exchangeable with a further one.

    Examples
    --------
    >>> thresholds = conformal_thresholds(np.array([0.8, 0.6, 0.1]), np.full(3, 1 / 3), 3)
    >>> thresholds[[25, 50, 75, 76]].tolist()
    [0.8, 0.6, 0.1, 0.0]
    """
    order = np.argsort(p)
    rising = np.append(0.0, p[order])
    # 1 / (n + 1) + n / (n + 1) W(p < t) for each t in rising; t = 0 is always allowed
    below = np.append(0.0, np.cumsum(weight[order]))[: len(p)]
    mass = np.append(0.0, 1 / (n + 1) + n / (n + 1) * below)
    allowed = np.searchsorted(mass, 1 - RATES + ROUNDING, side="right") - 1
    return np.asarray(rising[allowed])


def thresholds_of_seen(held_out: Sequence[Kept], temperatures: Sequence[float]) -> FloatArray:
    """Return the thresholds for seen classes, (101,), from held-out samples of theirs."""
    p = own_probabilities(held_out, temperatures)
    return conformal_thresholds(p, np.full(len(p), 1 / max(len(p), 1)), len(p))


def thresholds_of_unseen(held_out: Sequence[Kept], temperatures: Sequence[float]) -> FloatArray:
    """Return the thresholds for unseen classes, (101,), from the held-out classes of each rehearsal."""
    p, classes = own_probabilities(held_out, temperatures), [np.unique(kept.y) for kept in held_out]
    total = sum(map(len, classes))
    weight = [
        1 / (np.bincount(kept.y)[kept.y] * total) for kept in held_out if len(kept.y)
    ]  # the same for every class of every rehearsal
    # no class is held out twice before every class was held out once
    n = min(total, max((int(kept.seen.sum()) + len(c) for kept, c in zip(held_out, classes)), default=0))
    return conformal_thresholds(p, np.concatenate([np.empty(0), *weight]), n)


def own_probabilities(held_out: Sequence[Kept], temperatures: Sequence[float]) -> FloatArray:
    """Return the probability of the own class of every sample, with a temperature for each part."""
    parts = (
        probabilities(kept.scores, T)[np.arange(len(kept.y)), kept.y]
        for kept, T in zip(held_out, temperatures)
    )
    return np.concatenate([np.empty(0), *parts])


# ---- all of it -------------------------------------------------------------------------------------------


@dataclass
class HeldOut:
    """What held-out samples have shown: gamma, temperature, rejection and the card come from it."""

    rule: str  # that chose gamma: "retention", "paper" or "given"
    rehearsals: list[Trial]  # or the folds, if the rule needs no rehearsal
    cross_fitted: Trial | None = None  # held-out samples of the seen classes, among all present classes
    retention: float = 1.0  # share of right predictions for seen samples that the best trade-off keeps
    ratio: float = 1.0  # temperature of all held-out samples, relative to that of the seen classes alone
    rejection: Rejection = Rejection(0.5, RATES, RATES)  # thresholds for samples of no described class
    reliability: dict[str, Reliability] = field(default_factory=dict)  # of held-out samples, by kind
    sets: dict[str, FloatArray] = field(default_factory=dict)  # thresholds for sets of candidates, by kind
    facts: dict[str, Any] = field(default_factory=dict)  # what else the card says

    def choose_confidence(self, gamma: float, weights: str) -> float:
        """Choose temperature and thresholds, at a gamma and in rehearsals at its retention.

        Return the temperature.
        """
        rehearsed, crossed = self._rehearsed(gamma, weights), self._cross_fitted(gamma)
        if crossed:
            units = [fit_temperature([kept.of_kind(True)]) for kept in rehearsed]
            self.ratio = temperature_ratio(rehearsed, units)
            temperature = self.ratio * fit_temperature(crossed)
            temperatures = [self.ratio * unit for unit in units]
        else:
            temperature = fit_temperature(rehearsed)
            temperatures = [temperature] * len(rehearsed)
        self.rejection = choose_rejection(rehearsed, temperatures, crossed, temperature)
        unseen = [kept.of_kind(False) for kept in rehearsed]
        self.reliability["unseen"] = held_out_reliability(unseen, temperatures)
        self.sets["unseen"] = thresholds_of_unseen(unseen, temperatures)
        self._measure_seen(crossed or rehearsed, temperature)
        return temperature

    def carry_confidence(self, gamma: float) -> float:
        """Carry temperature and thresholds to other cross-fitted samples; return the temperature."""
        crossed = self._cross_fitted(gamma)
        temperature = self.ratio * fit_temperature(crossed)
        self.rejection = self.rejection.carried_to(crossed, temperature)
        self._measure_seen(crossed, temperature)
        return temperature

    def _measure_seen(self, held_out: Sequence[Kept], temperature: float) -> None:
        of_seen = [kept.of_kind(True) for kept in held_out]
        temperatures = [temperature] * len(of_seen)
        self.reliability["seen"] = held_out_reliability(of_seen, temperatures)
        self.sets["seen"] = thresholds_of_seen(of_seen, temperatures)

    def _rehearsed(self, gamma: float, weights: str) -> list[Kept]:
        """Return calibrated samples of the rehearsals, at the retention of the final model."""
        if self.cross_fitted is None:
            return [kept.calibrated(gamma) for trial in self.rehearsals for kept in trial.kept]
        gammas = [float(gamma_at_retention(trial, self.retention, weights)) for trial in self.rehearsals]
        return [k.calibrated(own) for own, trial in zip(gammas, self.rehearsals) for k in trial.kept]

    def _cross_fitted(self, gamma: float) -> list[Kept]:
        """Return calibrated samples of the seen classes, cross-fitted; [] with the paper's rule."""
        return [kept.calibrated(gamma) for kept in self.cross_fitted.kept] if self.cross_fitted else []

    def __repr__(self) -> str:
        kinds = (sum(int((t.of_seen == kind).sum()) for t in self.trials()) for kind in (True, False))
        return "HeldOut({} samples of seen classes, {} of held-out classes; retention {:.3f})".format(
            *kinds, self.retention
        )

    def trials(self) -> list[Trial]:
        """Return all trials."""
        return [*self.rehearsals, *([self.cross_fitted] if self.cross_fitted else [])]
