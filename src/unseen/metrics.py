"""Accuracies in percent, per class or per sample, and the metrics made of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unseen._core.blocks import BoolArray, FloatArray, IndexArray
from unseen.errors import UnseenError, expect

Averaging = Literal["per-class", "per-sample"]
AVERAGINGS: tuple[Averaging, Averaging] = ("per-class", "per-sample")
BINS = 15  # of confidence, as in the literature on calibration


class Accuracies(NamedTuple):
    """The accuracies on unseen and on seen samples, and their harmonic mean, in percent."""

    unseen: float
    seen: float
    h: float


_TOTAL = 2**62  # at most the sum of all sample weights, so that int64 never overflows


def class_weights(count: NDArray[np.integer], weights: str = "per-class") -> NDArray[np.int64]:
    """Return the weight of one sample of each class, given the number of samples of each class.

    With ``"per-class"`` all classes that have samples get the same total weight; classes without samples
    are ignored. With ``"per-sample"`` all samples get the same weight. The weights are integers, so that
    their sums are exact and do not depend on the order of the samples.

    >>> count = np.array([2, 0, 1])
    >>> weight = class_weights(count)
    >>> weight * count / (weight @ count)
    array([0.5, 0. , 0.5])
    """
    expect("weights", weights, weights in AVERAGINGS, "'per-class' or 'per-sample'")
    present = count > 0
    if weights == "per-sample":
        return present.astype(np.int64)
    return np.where(present, _TOTAL // (max(present.sum(), 1) * np.maximum(count, 1)), 0)


def accuracy(y: ArrayLike, predicted: ArrayLike, weights: str = "per-class") -> float:
    """Return the accuracy in percent.

    Parameters
    ----------
    y, predicted : array-like of shape (n_samples,)
        True and predicted labels.
    weights : {"per-class", "per-sample"}
        The mean accuracy over the classes in ``y``, or the mean over the samples. Classes without samples
        in ``y`` are ignored.

    Examples
    --------
    >>> accuracy([0, 0, 0, 1], [0, 0, 0, 2])
    50.0
    >>> accuracy([0, 0, 0, 1], [0, 0, 0, 2], weights="per-sample")
    75.0
    """
    true, guess = np.asarray(y), np.asarray(predicted)
    if true.ndim != 1 or true.shape != guess.shape:
        raise UnseenError(f"y has shape {true.shape}, predicted {guess.shape}, expected a label per sample.")
    if len(true) == 0:
        raise UnseenError("accuracy got no sample. Pass at least one.")
    index = np.unique(true, return_inverse=True)[1]
    count, right = np.bincount(index), np.bincount(index[true == guess], minlength=index.max() + 1)
    w = class_weights(count, weights)  # (classes,)
    return float(100 * (w @ right / (w @ count)))


@overload
def harmonic_mean(unseen: float, seen: float) -> float: ...
@overload
def harmonic_mean(unseen: FloatArray, seen: FloatArray) -> FloatArray: ...
def harmonic_mean(unseen: float | FloatArray, seen: float | FloatArray) -> float | FloatArray:
    """Return ``2 U S / (U + S)`` of numbers or arrays; 0 if both are 0.

    >>> harmonic_mean(30.0, 60.0)
    40.0
    """
    U, S = np.asarray(unseen, dtype=np.float64), np.asarray(seen, dtype=np.float64)
    # H = 2 U S / (U + S)
    H = 2 * U * S / np.maximum(U + S, np.finfo(np.float64).tiny)
    return H if H.ndim else float(H)


def area_under_curve(unseen: FloatArray, seen: FloatArray) -> float:
    """Return the AUSUC (0 to 1) of a curve in percent, by the trapezoidal rule over all of its points.

    The points run from gamma = -inf (only seen classes, ``unseen`` is 0) to gamma = +inf (``seen`` is 0). As
    in the definition of the metric, neighboring points are joined by straight lines. They differ in both
    accuracies only if samples of both kinds flip at the same gamma.

    Averaged per sample, this is the OpenworldAUC: the probability that a seen and an unseen sample are both
    right among the classes of their own side, and that ``d = best seen score - best unseen score`` ranks the
    seen one higher; ties count one half.

    References
    ----------
    Chao et al., An Empirical Study and Analysis of Generalized Zero-Shot Learning for Object Recognition
    in the Wild, ECCV 2016.
    Hua et al., OpenworldAUC: Towards Unified Evaluation and Optimization for Open-world Prompt Tuning,
    ICML 2025.
    """
    area = 0.0
    for start in range(0, len(unseen) - 1, 2**13):  # in blocks that stay in the cache
        U, S = (curve[start : start + 2**13 + 1] for curve in (unseen, seen))
        # area = sum over neighbors of (U' - U) (S + S') / 2
        area += np.einsum("k,k->", U[1:] - U[:-1], S[:-1] + S[1:]) / 2
    return float(area) / 100**2


def auroc(positive: ArrayLike, negative: ArrayLike) -> float:
    """Return the probability (0 to 1) that a positive is larger than a negative; ties count one half.

    Examples
    --------
    >>> auroc([3.0, 1.0], [1.0, 0.0])
    0.875
    """
    from sklearn.metrics import roc_auc_score

    # places in the order of the scores, which may be infinite
    ranks = np.unique(np.concatenate([positive, negative]), return_inverse=True)[1]
    return float(roc_auc_score(np.arange(len(ranks)) < len(np.asarray(positive)), ranks))


def false_positive_rate(positive: ArrayLike, negative: ArrayLike, share: float = 0.95) -> float:
    """Return the share of negatives (0 to 1) above the threshold that this share of positives reaches.

    Examples
    --------
    >>> false_positive_rate([3.0, 2.0, 1.0, 0.0], [2.5, 0.5], share=0.75)
    0.5
    """
    rising = np.sort(np.asarray(positive))
    threshold = rising[len(rising) - int(np.ceil(share * len(rising) - 1e-9))]
    return float(np.mean(np.asarray(negative) >= threshold))


def frequent_mistakes(
    y: IndexArray, predicted: IndexArray, n_classes: int, most: int = 5
) -> list[list[list[int]]]:
    """Return for each class the wrong classes predicted most, as [class, samples], the most frequent first.

    Only pairs that occur are counted: with many classes, most of the confusion matrix is empty.

    >>> frequent_mistakes(np.array([0, 0, 0, 1]), np.array([1, 2, 2, 1]), 3)
    [[[2, 2], [1, 1]], [], []]
    """
    wrong = y != predicted
    pairs, often = np.unique(y[wrong] * n_classes + predicted[wrong], return_counts=True)
    true, taken_for = np.divmod(pairs, n_classes)
    found: list[list[list[int]]] = [[] for _ in range(n_classes)]
    for i in np.lexsort((taken_for, -often)):
        if len(found[true[i]]) < most:
            found[true[i]].append([int(taken_for[i]), int(often[i])])
    return found


def percentile_interval(draws: FloatArray, confidence: float = 0.95) -> tuple[float, float]:
    """Return the interval that holds this share of the replicates of a bootstrap.

    >>> percentile_interval(np.arange(5.0), confidence=0.5)
    (1.0, 3.0)
    """
    tail = (1 - confidence) / 2
    low, high = np.quantile(draws, [tail, 1 - tail])
    return float(low), float(high)


def reliability(confidence: ArrayLike, right: ArrayLike, bins: int = BINS) -> Reliability:
    """Return the confidence and the accuracy of predictions, in bins of equal width.

    Parameters
    ----------
    confidence : array-like of shape (n_samples,)
        Probability of each prediction, 0 to 1.
    right : array-like of bool, shape (n_samples,)
    bins : int

    Examples
    --------
    >>> found = reliability([0.9, 0.9, 0.9, 0.9], [True, True, True, False])
    >>> round(found.ece, 2)  # 90 % sure, 75 % right
    0.15
    """
    p, r = np.asarray(confidence, dtype=np.float64), np.asarray(right)
    place = np.minimum((p * bins).astype(np.intp), bins - 1)
    count = np.bincount(place, minlength=bins)
    filled = np.maximum(count, 1)
    return Reliability(count, np.bincount(place, p, bins) / filled, np.bincount(place, r, bins) / filled)


@dataclass(frozen=True, eq=False)
class Reliability:
    """Predictions in bins of their confidence: number, mean confidence, accuracy (0 to 1; 0 if empty)."""

    samples: IndexArray  # (bins,)
    confidence: FloatArray  # (bins,)
    accuracy: FloatArray  # (bins,)

    @property
    def ece(self) -> float:
        """The expected calibration error, 0 to 1."""
        # ECE = sum_b n_b / n |accuracy_b - confidence_b|
        gap = np.abs(self.accuracy - self.confidence)
        return float(self.samples @ gap / max(self.samples.sum(), 1))


def gzsl_accuracies(
    y: ArrayLike, predicted: ArrayLike, seen: ArrayLike, weights: str = "per-class"
) -> Accuracies:
    """Return the accuracies on unseen and on seen samples, and their harmonic mean, in percent.

    Parameters
    ----------
    y, predicted : array-like of shape (n_samples,)
        True and predicted labels.
    seen : array-like
        The labels of the seen classes. Samples of any other class are unseen.
    weights : {"per-class", "per-sample"}

    Examples
    --------
    >>> gzsl_accuracies(["cat", "cat", "owl"], ["cat", "owl", "owl"], seen=["cat"])
    Accuracies(unseen=100.0, seen=50.0, h=66.66666666666667)
    """
    true, guess, known = np.asarray(y), np.asarray(predicted), np.asarray(seen)
    is_mask = known.dtype == bool and true.dtype != bool
    expect("seen", seen, known.ndim and not is_mask, "a list of class labels")
    is_seen = np.isin(true, known)
    expect_both_kinds(is_seen)
    U, S = (accuracy(true[part], guess[part], weights) for part in (~is_seen, is_seen))
    return Accuracies(U, S, harmonic_mean(U, S))


def expect_both_kinds(is_seen: BoolArray) -> None:
    """Reject samples that are all of seen, or all of unseen classes."""
    for kind, present in (("seen", is_seen.any()), ("unseen", not is_seen.all())):
        if not present:
            raise UnseenError(f"No sample belongs to {kind} classes. Pass samples of seen and unseen ones.")


def gzsl_scorer(estimator: Any, X: Any, y: ArrayLike) -> float:
    """Return the harmonic mean (percent) of a fitted classifier: a scorer for scikit-learn.

    Pass it as ``scoring=gzsl_scorer`` to ``GridSearchCV`` or ``cross_validate``, together with folds whose
    validation part holds seen and unseen classes, such as ``make_split(data).cv()``. It needs ``predict``
    only. Samples of the classes in the estimator's ``seen_`` are seen (without that attribute: in its
    ``classes_``), all others are unseen. In a pipeline the last step decides.

    Parameters
    ----------
    estimator : fitted classifier
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        True labels, some of them of seen and some of unseen classes.
    """
    labels = seen_labels(estimator)
    seen = np.asarray(estimator.classes_) if labels is None else labels
    return gzsl_accuracies(y, estimator.predict(X), seen).h


def seen_labels(estimator: Any) -> NDArray[Any] | None:
    """Return the labels of the classes that a fitted classifier has seen, or None if it does not say.

    ``seen_`` is a mask over ``classes_``. A pipeline has what its last step has.
    """
    if hasattr(estimator, "steps"):
        return seen_labels(estimator.steps[-1][1])
    mask = getattr(estimator, "seen_", None)
    return None if mask is None else np.asarray(estimator.classes_)[np.asarray(mask)]
