"""None of these: which samples belong to no described class, by a threshold on how familiar they are.

Three scores of a sample are compared, all made of its calibrated scores f and the temperature T:

    max           max_c f(c)
    probability   max_c p(c)
    energy        T log sum_c exp(f(c) / T)

The rehearsals give unknown classes to compare them with: half of the held-out classes of one are left out of
the candidates, then the other half. The score with the best mean AUROC between samples of known and of
unknown classes is taken.

The threshold keeps the share 1 - reject of held-out samples of known classes, where seen and held-out classes
count the same. It is a number in the units of the scores again. What carries over is the share of held-out
samples *of seen classes* that the threshold of a rehearsal rejects. The threshold of the final model rejects
the same share of its cross-fitted samples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from unseen._core.blocks import BoolArray, FloatArray
from unseen.errors import UnseenError
from unseen.metrics import auroc
from unseen.selection.evaluation import Kept
from unseen.selection.temperature import fit_temperature, kind_weights

UNKNOWN = "unknown"  # the answer for a sample that is rejected
RATES = np.linspace(0, 1, 101)  # the shares of known samples for which thresholds are kept

Familiarity = Callable[[FloatArray, float], FloatArray]  # (calibrated scores, temperature) -> (samples,)


def max_score(scores: FloatArray, temperature: float) -> FloatArray:
    """Return the best calibrated score of every sample."""
    return np.asarray(scores.max(axis=1), dtype=np.float64)


def energy(scores: FloatArray, temperature: float) -> FloatArray:
    """Return the (negative) free energy of every sample, ``T log sum_c exp(f(c) / T)``."""
    return np.asarray(temperature * logsumexp(scores.astype(np.float64) / temperature, axis=1))


def max_probability(scores: FloatArray, temperature: float) -> FloatArray:
    """Return the probability of the best class of every sample."""
    # max p = exp((max f - energy) / T)
    best = max_score(scores, temperature)
    return np.asarray(np.exp((best - energy(scores, temperature)) / temperature))


FAMILIARITIES: Mapping[str, Familiarity] = {
    "max": max_score,
    "probability": max_probability,
    "energy": energy,
}


@dataclass(frozen=True, eq=False)
class Rejection:
    """What was chosen: the score, and a threshold for every share of known samples in ``RATES``."""

    score: str  # a name in FAMILIARITIES
    auroc: Mapping[str, float]  # of every score, the mean over rehearsals
    shares: FloatArray  # (101,), held-out samples of seen classes that are rejected at each rate, 0 to 1
    thresholds: FloatArray  # (101,)

    def familiarity(self, scores: FloatArray, temperature: float) -> FloatArray:
        """Return how well samples fit the described classes, (samples,)."""
        return FAMILIARITIES[self.score](scores, temperature)

    def threshold(self, reject: float) -> float:
        """Return the threshold that rejects this share of samples of known classes."""
        if not 0 <= reject < 1:
            raise UnseenError(
                f"Got reject={reject!r}, but expected a share of samples of known classes, at least 0 and "
                "below 1, such as 0.05."
            )
        return float(np.interp(reject, RATES, self.thresholds)) if reject else -np.inf


def choose_rejection(
    rehearsed: Sequence[Kept], cross_fitted: Sequence[Kept], temperature: float
) -> Rejection:
    """Return the score that detects unknown classes best, and its thresholds for the final model.

    Parameters
    ----------
    rehearsed, cross_fitted : sequence of Kept
        As for ``choose_temperature``. Without cross-fitted samples the rehearsals give the thresholds.
    temperature : float
        Of the final model.
    """
    temperatures = [fit_temperature([kept]) for kept in rehearsed]
    turns = [turn for kept, T in zip(rehearsed, temperatures) for turn in leave_out(kept, T)]
    found = {name: float(np.mean([turn[name] for turn in turns])) for name in FAMILIARITIES} if turns else {}
    score = max(found, key=lambda name: found[name], default="max")
    familiar = [FAMILIARITIES[score](kept.scores, T) for kept, T in zip(rehearsed, temperatures)]
    shares = np.mean([seen_shares(f, kept.of_seen) for f, kept in zip(familiar, rehearsed)], axis=0)
    return carry_thresholds(Rejection(score, found, shares, RATES), cross_fitted or rehearsed, temperature)


def carry_thresholds(chosen: Rejection, cross_fitted: Sequence[Kept], temperature: float) -> Rejection:
    """Return the thresholds for the present candidates, with the shares that rehearsals have shown."""
    familiar = np.concatenate(
        [chosen.familiarity(kept.scores[kept.of_seen], temperature) for kept in cross_fitted]
    )
    return Rejection(chosen.score, chosen.auroc, chosen.shares, np.quantile(familiar, chosen.shares))


def leave_out(kept: Kept, temperature: float) -> list[dict[str, float]]:
    """Leave half of the held-out classes out of the candidates, then the others; return the AUROCs.

    A half without samples is left out of the result.
    """
    held_out = np.random.default_rng(0).permutation(np.flatnonzero(~kept.seen))
    halves = (np.isin(np.arange(len(kept.seen)), held_out[start::2]) for start in (0, 1))
    return [dict(_aurocs(kept, half, temperature)) for half in halves if half[kept.y].any()]


def _aurocs(kept: Kept, unknown: BoolArray, temperature: float) -> Iterator[tuple[str, float]]:
    """Yield the AUROC of each score; ``unknown`` (classes,) are not among the candidates."""
    scores, outside = kept.scores[:, ~unknown], unknown[kept.y]
    for name, familiarity in FAMILIARITIES.items():
        found = familiarity(scores, temperature)
        kinds = [found[kind & ~outside] for kind in (kept.of_seen, ~kept.of_seen)]
        yield name, float(np.mean([auroc(known, found[outside]) for known in kinds if len(known)]))


def seen_shares(familiarity: FloatArray, of_seen: BoolArray) -> FloatArray:
    """Return the share of samples of seen classes below the threshold of each of ``RATES``.

    The threshold at a rate has this share of all samples below it, where both kinds count the same.

    >>> familiarity, of_seen = np.array([0.1, 0.2, 0.3, 0.4]), np.array([False, False, True, True])
    >>> seen_shares(familiarity, of_seen)[[0, 50, 100]]  # the lower half is of unseen classes
    array([0., 0., 1.])
    """
    order = np.argsort(familiarity)
    below_all = np.cumsum(kind_weights(of_seen)[order])
    below_seen = np.cumsum(of_seen[order]) / max(of_seen.sum(), 1)
    return np.asarray(np.interp(RATES, np.append(0.0, below_all), np.append(0.0, below_seen)))
