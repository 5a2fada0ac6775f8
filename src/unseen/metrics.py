"""Accuracies in percent, per class or per sample, and what is made of two of them."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unseen.errors import UnseenError, did_you_mean

Weights = Literal["per-class", "per-sample"]
WEIGHTS: tuple[Weights, Weights] = ("per-class", "per-sample")

_ONE = 2**62  # all samples together weigh at most this, so int64 never overflows


def class_weights(count: NDArray[np.integer], weights: str = "per-class") -> NDArray[np.int64]:
    """Return what one sample of each class weighs, given the number of samples of each class.

    ``"per-class"`` lets every class that has a sample weigh the same; a class without one is left out.
    ``"per-sample"`` lets every sample weigh the same. The weights are integers: their sums are exact,
    whatever the order of the samples.

    >>> count = np.array([2, 0, 1])
    >>> weight = class_weights(count)
    >>> weight * count / (weight @ count)
    array([0.5, 0. , 0.5])
    """
    if weights not in WEIGHTS:
        near = did_you_mean(str(weights), WEIGHTS)
        raise UnseenError(f"Got weights={weights!r}, but expected 'per-class' or 'per-sample'.{near}")
    present = count > 0
    if weights == "per-sample":
        return present.astype(np.int64)
    return np.where(present, _ONE // (max(present.sum(), 1) * np.maximum(count, 1)), 0)


def accuracy(y: ArrayLike, predicted: ArrayLike, weights: str = "per-class") -> float:
    """Return the accuracy in percent.

    Parameters
    ----------
    y, predicted : array-like of shape (n_samples,)
        True and predicted labels.
    weights : {"per-class", "per-sample"}
        Mean over the classes in ``y`` of each class's accuracy, or mean over the samples. A class without
        a sample in ``y`` has no accuracy: it is left out of the mean.

    Examples
    --------
    >>> accuracy([0, 0, 0, 1], [0, 0, 0, 2])
    50.0
    >>> accuracy([0, 0, 0, 1], [0, 0, 0, 2], weights="per-sample")
    75.0
    """
    y, predicted = np.asarray(y), np.asarray(predicted)
    if y.ndim != 1 or y.shape != predicted.shape:
        raise UnseenError(
            f"y has shape {y.shape} and predicted {predicted.shape}, expected one label per sample in both."
        )
    if len(y) == 0:
        raise UnseenError("There is no sample, so there is no accuracy. Pass at least one.")
    y_index = np.unique(y, return_inverse=True)[1]
    count, right = np.bincount(y_index), np.bincount(y_index, weights=y == predicted)
    w = class_weights(count, weights)
    return float(100 * (w @ right.astype(np.int64) / (w @ count)))


def harmonic_mean(unseen: Any, seen: Any) -> Any:
    """Return ``2 U S / (U + S)``, and 0 where both are 0; numbers or arrays.

    >>> harmonic_mean(30.0, 60.0)
    40.0
    """
    U, S = np.asarray(unseen, dtype=np.float64), np.asarray(seen, dtype=np.float64)
    # H = 2 U S / (U + S)
    H = 2 * U * S / np.maximum(U + S, np.finfo(np.float64).tiny)
    return H if H.ndim else float(H)


def area_under_curve(unseen: NDArray[np.floating], seen: NDArray[np.floating]) -> float:
    """Return the AUSUC (0 to 1) of a curve in percent, by the trapezoidal rule over all of its points.

    The points run from gamma = -inf (seen classes alone, ``unseen`` 0) to gamma = +inf (``seen`` 0). As in
    the definition of the measure, two neighboring points are joined by a straight line; they differ in
    both accuracies only where samples of both kinds change at the very same gamma.

    References
    ----------
    Chao et al., An Empirical Study and Analysis of Generalized Zero-Shot Learning for Object Recognition
    in the Wild, ECCV 2016.
    """
    area = 0.0
    for start in range(0, len(unseen) - 1, 2**13):  # in blocks that stay in the cache
        U, S = (curve[start : start + 2**13 + 1] for curve in (unseen, seen))
        # area = sum over neighbors of (U' - U) (S + S') / 2
        area += np.einsum("k,k->", U[1:] - U[:-1], S[:-1] + S[1:]) / 2
    return float(area) / 100**2
