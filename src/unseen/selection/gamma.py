"""How gamma gets from the folds to the model that is trained on everything."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen.calibration.curve import SeenUnseenCurve, mean_curve
from unseen.selection.evaluation import Fold

Curves = Sequence[SeenUnseenCurve]  # one per fold


def fewer_classes(y: NDArray[Any], fold: Fold, share: float) -> Fold:
    """Return the fold with a share of its train classes; the classes that play unseen stay the same.

    Smaller shares are subsets of larger ones, and which classes they hold depends on the labels alone.
    """
    train, validation = fold
    classes = np.random.default_rng(0).permutation(np.unique(y[train]))
    dropped = classes[max(2, round(share * len(classes))) :]
    return train[~np.isin(y[train], dropped)], validation[~np.isin(y[validation], dropped)]


def extrapolate_gamma(sizes: Sequence[float], curves: Sequence[Curves], n_classes: int) -> float:
    """Return gamma for a model that has seen ``n_classes``, from the curves of models that saw fewer.

    ``curves[i]`` are those of the folds whose models saw ``sizes[i]`` classes. Of these, gamma is the middle
    of all gammas within 1 % of the best mean harmonic mean, which is less noisy than the best one. It
    changes about linearly with the logarithm of the number of seen classes. The first size is the nearest
    to ``n_classes``: gamma goes no further from there than the sizes have shown it to go.
    """
    gammas = [_middle_of_near_best(mean_curve(folds)) for folds in curves]
    if len(set(sizes)) == 1:
        return gammas[0]
    # gamma = a + b log(classes)
    b, a = np.polyfit(np.log(sizes), gammas, 1)
    reach = np.ptp(gammas)
    return float(np.clip(a + b * np.log(n_classes), gammas[0] - reach, gammas[0] + reach))


def _mean_classes(y: NDArray[Any], folds: Sequence[Fold]) -> float:
    return float(np.mean([len(np.unique(y[train])) for train, _ in folds]))


def _middle_of_near_best(curve: SeenUnseenCurve) -> float:
    """Return the mean of all gammas where H is within 1 % of its best; open ends end at gamma itself."""
    intervals = curve.near_best(0.01)  # (n, 2)
    intervals = np.where(np.isfinite(intervals), intervals, curve.gamma)
    width = np.diff(intervals, axis=1)[:, 0]
    return float(intervals.mean(axis=1) @ width / width.sum()) if width.sum() > 0 else curve.gamma
