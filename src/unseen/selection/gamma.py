"""The retention rule: it carries the best trade-off from rehearsals to the model of all samples.

gamma is a number in the units of one model's scores and does not carry over. What carries over is how much
seen accuracy the best trade-off gives up: its *retention*

    r(gamma) = S(gamma) / S(-inf)

the share of right predictions for seen samples that survives calibration. The held-out classes of rehearsal
f show how much unseen accuracy U_f(r) a retention buys. Cross-fitted samples of the seen classes, scored
among all classes by models of all seen classes, show what it costs: r A, where A is their accuracy without
unseen candidates. So

    r*    = argmax over r of the mean over rehearsals of H(U_f(r), r A)
    gamma = the one at which the cross-fitted samples retain r*
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from unseen._core.blocks import FloatArray
from unseen.calibration.goals import Goal, OperatingPoint
from unseen.metrics import class_weights, harmonic_mean
from unseen.selection.rehearsal import Trial

SHARES = np.linspace(1, 0, 1001)  # the retentions that are compared


def choose_retention(
    rehearsals: Sequence[Trial], accuracy: float, goal: Goal | None = None, weights: str = "per-class"
) -> float:
    """Return the retention of the best expected trade-off.

    Parameters
    ----------
    rehearsals : sequence of Trial
    accuracy : float
        A: expected accuracy on seen samples without unseen candidates, in percent.
    goal : Goal, optional
        What is best; the harmonic mean by default.
    weights : {"per-class", "per-sample"}

    Examples
    --------
    >>> seen = np.array([True, False])
    >>> trial = Trial(np.array([0, 0, 1, 1]), seen, np.full(4, True), np.array([0.4, 0.1, 0.05, 0.2]))
    >>> round(choose_retention([trial], 90.0), 2)  # half of the seen samples, all of the unseen ones
    0.58
    """
    goal = goal or Goal()
    shares = SHARES[finest_share(rehearsals) >= SHARES]
    unseen = np.array([unseen_at_retention(trial, shares, weights) for trial in rehearsals])
    seen = shares * accuracy
    # H is that of each rehearsal: the mean of H, not the H of means
    U, H = unseen.mean(axis=0), harmonic_mean(unseen, np.broadcast_to(seen, unseen.shape)).mean(axis=0)
    best = int(np.argmax(goal.value(U, seen, H)))
    goal.check(OperatingPoint(np.nan, (np.nan, np.nan), float(U[best]), float(seen[best]), float(H[best])))
    return float(shares[best])


def finest_share(rehearsals: Sequence[Trial]) -> float:
    """Return the largest retention that n right seen samples can show, 1 - 1 / (2 n), for the fewest."""
    fewest = min(int((trial.right & trial.of_seen).sum()) for trial in rehearsals)
    return 1 - 0.5 / max(fewest, 1)


def seen_alone(trial: Trial, weights: str = "per-class") -> float:
    """Return A_S->Cs in percent: the accuracy on seen samples without unseen candidates."""
    return float(100 * _right_flips(trial, weights, of_seen=True)[1].sum())


def unseen_at_retention(trial: Trial, shares: FloatArray, weights: str = "per-class") -> FloatArray:
    """Return the accuracy on unseen samples (percent) when each share of right seen samples is retained.

    >>> seen = np.array([True, False])
    >>> trial = Trial(np.array([0, 0, 1, 1]), seen, np.full(4, True), np.array([0.4, 0.1, 0.05, 0.2]))
    >>> unseen_at_retention(trial, np.array([1.0, 0.5, 0.0]))
    array([ 50., 100., 100.])
    """
    # U(gamma) = weight of the right unseen samples with d < gamma
    flips, weight = _right_flips(trial, weights, of_seen=False)
    won = np.append(0.0, np.cumsum(weight))
    return np.asarray(100 * won[np.searchsorted(flips, gamma_at_retention(trial, shares, weights))])


def gamma_at_retention(trial: Trial, share: float | FloatArray, weights: str = "per-class") -> FloatArray:
    """Return the gamma at which the seen samples of a trial keep a share of their right predictions.

    With the right samples in order of d, the share lost rises by the weight of sample i at d_i. Each d_i
    stands for the middle of its rise; in between gamma is interpolated.
    """
    flips, weight = _right_flips(trial, weights, of_seen=True)
    if not len(flips):
        return np.zeros(np.shape(share))  # nothing to lose, nothing to keep
    lost = (np.cumsum(weight) - weight / 2) / weight.sum()
    return np.asarray(np.interp(1 - np.asarray(share), lost, flips))


def retention_at(trial: Trial, gamma: float, weights: str = "per-class") -> float:
    """Return the share of right predictions for seen samples that survives one gamma."""
    flips, weight = _right_flips(trial, weights, of_seen=True)
    return float(weight[flips >= gamma].sum() / weight.sum()) if len(flips) else 0.0


def _right_flips(trial: Trial, weights: str, *, of_seen: bool) -> tuple[FloatArray, FloatArray]:
    """Return the rising flips of the samples of one kind that can be right, and the weight of each.

    The weights of all samples of the kind, right or wrong, sum to 1.
    """
    of_kind = trial.of_seen == of_seen
    count = np.bincount(trial.y[of_kind], minlength=len(trial.seen))
    weight = class_weights(count, weights).astype(np.float64)
    right = np.flatnonzero(of_kind & trial.right & np.isfinite(trial.flips))
    right = right[np.argsort(trial.flips[right])]
    return trial.flips[right], weight[trial.y[right]] / max(float(weight @ count), 1.0)
