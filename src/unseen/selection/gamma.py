"""The rules that carry gamma from the folds to the model that is trained on everything.

gamma is a number in the units of a model's scores. The final model has seen more classes than the models of
the folds, and it meets other unseen classes, so their gamma is often far off. What carries over is how much
seen accuracy the best trade-off gives up: its *retention*

    r(gamma) = S(gamma) / S(-inf)

the share of right answers on seen samples that survive calibration. The held-out classes of fold f say how
much unseen accuracy U_f(r) a retention buys. Cross-fitted models, trained on all seen classes but not on all
samples, say what seen accuracy r A it leaves, where A is theirs without unseen candidates, and at which
gamma. The shift of a fold is how much more retention the real unseen classes call for than its held-out ones
(see ``simulation``):

    r_f = argmax over r of  2 U_f(r) r A / (U_f(r) + r A)
    r = trimmed mean over folds of  r_f + shift_f
    r* = r + caution (r(0) - r)
    gamma = where the held-out seen samples retain r*

The caution, a small step back to no calibration, is 0 with many classes. Where H is expected to be within 2 %
of that without calibration, scores stay as they are: r* = r(0).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import trim_mean

from unseen._core.blocks import FloatArray
from unseen._core.labels import LabelArray, distinct_labels
from unseen.calibration.goals import Goal, OperatingPoint
from unseen.datasets.splits import GZSLFolds
from unseen.metrics import class_weights, harmonic_mean
from unseen.selection.evaluation import FoldIndices, Trial

SHARES = np.linspace(1, 0, 1001)  # the retentions that are compared
TRIMMED = 0.2  # of the folds with the highest retentions do not count, nor those with the lowest
CAUTION = 0.05  # of the way back to no calibration, where few classes say how far to go
NEAR = 0.02  # a harmonic mean within this share of the best one counts as equally good


def unseen_at_retention(trial: Trial, shares: FloatArray = SHARES, weights: str = "per-class") -> FloatArray:
    """Return the accuracy on unseen samples (percent) where each share of right seen answers is retained.

    >>> seen = np.array([True, False])
    >>> trial = Trial(np.array([0, 0, 1, 1]), seen, np.full(4, True), np.array([0.4, 0.1, 0.05, 0.2]))
    >>> unseen_at_retention(trial, np.array([1.0, 0.5, 0.0]))
    array([ 50., 100., 100.])
    """
    # U(gamma) = weight of the right unseen samples with d < gamma
    flips, weight = _right_flips(trial, weights, of_seen=False)
    won = np.append(0.0, np.cumsum(weight))
    return np.asarray(100 * won[np.searchsorted(flips, gammas_at_retention(trial, shares, weights))])


def choose_retention(
    unseen: FloatArray,
    seen_alone: float,
    goal: Goal | None = None,
    *,
    shifts: ArrayLike = 0.0,
    uncalibrated: float | None = None,
    caution: float = 0.0,
) -> float:
    """Return the retention of the best expected trade-off.

    Parameters
    ----------
    unseen : ndarray of shape (folds, 1001)
        The accuracy on unseen samples at each of ``SHARES``, in percent, by fold.
    seen_alone : float
        Expected accuracy on seen samples without unseen candidates, in percent.
    goal : Goal, optional
        What is best; the harmonic mean by default.
    shifts : float or array-like of shape (folds,)
        How much more retention the real unseen classes call for than the held-out ones.
    uncalibrated : float, optional
        The retention without calibration. It is returned where it is expected to be as good.
    caution : float
        The share of the way back to the retention without calibration.

    Examples
    --------
    >>> unseen = 100 * np.stack([SHARES < 0.9, SHARES < 0.7])  # all unseen samples flip at once
    >>> round(choose_retention(unseen, 80.0), 2)
    0.79
    >>> round(choose_retention(unseen, 80.0, shifts=[0.1, 0.1]), 2)
    0.89
    """
    goal = goal or Goal()
    seen = SHARES * seen_alone
    moves = np.broadcast_to(np.asarray(shifts, dtype=np.float64), len(unseen))
    # what held-out classes reach at r - shift, the unseen ones reach at r
    moved = np.array([at_share(row, SHARES - move) for row, move in zip(unseen, moves)])
    h = harmonic_mean(moved, seen).mean(axis=0)
    if goal == Goal():
        chosen = float(np.clip(trim_mean(best_retentions(unseen, seen_alone) + moves, TRIMMED), 0, 1))
        if uncalibrated is None:
            return chosen
        chosen += caution * (uncalibrated - chosen)
        return uncalibrated if at_share(h, uncalibrated) >= (1 - NEAR) * at_share(h, chosen) else chosen
    expected = moved.mean(axis=0)
    best = int(np.argmax(goal.value(expected, seen, h)))
    goal.check(
        OperatingPoint(np.nan, (np.nan, np.nan), float(expected[best]), float(seen[best]), float(h[best]))
    )
    return float(SHARES[best])


def best_retentions(unseen: FloatArray, seen_alone: float) -> FloatArray:
    """Return the retention with the best harmonic mean, by fold, (folds,).

    The maximum is flat and noisy: the middle of all retentions within 2 % of it is taken.
    """
    h = harmonic_mean(unseen, SHARES * seen_alone)  # (folds, 1001)
    return np.array([SHARES[row >= (1 - NEAR) * row.max()].mean() for row in h])


def at_share(values: FloatArray, share: ArrayLike) -> FloatArray:
    """Return values that are known at ``SHARES`` at other shares; beyond 0 and 1 the ends."""
    return np.asarray(np.interp(-np.asarray(share), -SHARES, values))


def seen_alone(trial: Trial, weights: str = "per-class") -> float:
    """Return A_S->Cs in percent: the accuracy on seen samples without unseen candidates."""
    return float(100 * _right_flips(trial, weights, of_seen=True)[1].sum())


def gammas_at_retention(trial: Trial, shares: FloatArray, weights: str = "per-class") -> FloatArray:
    """Return the gammas at which the seen samples of a trial keep these shares of their right answers.

    With the right samples in order of d, the share lost rises by the weight of sample i at d_i. Each d_i
    stands for the middle of its rise; in between gamma is interpolated.
    """
    flips, weight = _right_flips(trial, weights, of_seen=True)
    if not len(flips):
        return np.zeros(len(shares))  # nothing to lose, nothing to keep
    lost = (np.cumsum(weight) - weight / 2) / weight.sum()
    return np.interp(1 - shares, lost, flips)


def gamma_at_retention(trial: Trial, share: float, weights: str = "per-class") -> float:
    """Return the gamma at which the seen samples of a trial keep this share of their right answers."""
    return float(gammas_at_retention(trial, np.array([share]), weights)[0])


def _right_flips(trial: Trial, weights: str, *, of_seen: bool) -> tuple[FloatArray, FloatArray]:
    """Return the rising flips of the samples of one kind that can be right, and the weight of each.

    The weights of all samples of the kind, right or wrong, sum to 1.
    """
    of_kind = trial.seen[trial.y] == of_seen
    count = np.bincount(trial.y[of_kind], minlength=len(trial.seen))
    weight = class_weights(count, weights).astype(np.float64)
    right = np.flatnonzero(of_kind & trial.right & np.isfinite(trial.flips))
    right = right[np.argsort(trial.flips[right])]
    return trial.flips[right], weight[trial.y[right]] / max(float(weight @ count), 1.0)


def retention_at(trial: Trial, gamma: float, weights: str = "per-class") -> float:
    """Return the share of right answers on seen samples that survives one gamma."""
    flips, weight = _right_flips(trial, weights, of_seen=True)
    return float(weight[flips >= gamma].sum() / weight.sum()) if len(flips) else 0.0


def rehearsal_folds(y: LabelArray, n_unseen: int, groups: ArrayLike | None = None) -> list[FoldIndices]:
    """Return other class folds to rehearse the trade-off on, the more the fewer classes there are.

    As large a share of the classes is held out as is really unseen; all classes are held out about equally
    often. None with 100 classes or more: the folds of the selection are enough. Only the number of unseen
    classes counts, never their prototypes.
    """
    classes = distinct_labels(y)
    n_folds = 24 if len(classes) < 40 else 10 if len(classes) < 100 else 0
    rng = np.random.default_rng(0)
    size, deck, drawn = n_held_out(len(classes), n_unseen), classes[:0], []
    for _ in range(n_folds):
        if len(deck) < size:  # what is left of the deck, then all other classes in a new order
            deck = np.concatenate([deck, rng.permutation(classes[~np.isin(classes, deck)])])
        drawn.append((np.setdiff1d(classes, deck[:size]), np.sort(deck[:size])))
        deck = deck[size:]
    return list(GZSLFolds(class_folds=drawn).split(None, y, groups)) if drawn else []


def n_held_out(n_seen: int, n_unseen: int) -> int:
    """Return how many seen classes a rehearsal holds out, two at least.

    >>> n_held_out(20, 6), n_held_out(7, 3), n_held_out(20, 0)
    (5, 2, 2)
    """
    # held out / seen = unseen / (seen + unseen)
    share = n_seen * n_unseen / (n_seen + n_unseen)
    return int(np.clip(round(share), 2, max(n_seen - 2, 2)))
