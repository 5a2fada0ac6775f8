"""Checks of a data set: what usually causes trouble later, found before anything is trained."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.preprocessing import StandardScaler

from unseen._core.blocks import BoolArray, FloatArray, IndexArray, class_sums
from unseen._core.checks import Check, list_names, model_checks, select
from unseen._core.rows import choose_rows
from unseen.datasets.dataset import ZeroShotDataset, feature_blocks
from unseen.datasets.splits import training_samples

FEW_CLASSES = 10  # fewer seen classes than this are few
DIFFERENT_SCALES = 1000  # features whose sizes differ by more than this factor do not fit together
NEAR = 0.1  # descriptions closer than this share of the usual distance between two are nearly equal
MANY = 2000  # more classes are not compared with each other
__all__ = ["Check", "attribute_readability", "check_dataset", "check_training", "model_checks"]
ALPHAS = np.logspace(-4, 4, 17)  # strengths of the regularization to choose from
DataCheck = Callable[[ZeroShotDataset], Iterable[Check]]  # a check of your own


def check_dataset(
    data: ZeroShotDataset, *, ignore: Iterable[str] = (), more: Iterable[DataCheck] = ()
) -> list[Check]:
    """Return what is found in a data set, in the order of the codes; see ``ZeroShotDataset.checks``."""
    return select((check for find in (*_WARNINGS, *_NOTES, *more) for check in find(data)), ignore)


def check_training(data: Any) -> list[Check]:
    """Return the warnings about what a model is fitted on, in one pass over its samples.

    Parameters
    ----------
    data : object
        With ``X`` (None if the scales of the features do not matter), ``prototypes``, ``class_names``,
        ``seen``, ``attribute_names`` and ``feature_names``, as a ``ZeroShotDataset`` has them.
    """
    return select(check for find in _WARNINGS for check in find(data))


def _about(code: str, names: Sequence[object], message: str, advice: str) -> list[Check]:
    """Return one check about all of these classes, attributes or features; none if there are none."""
    return [Check.of(code, message, advice, names)] if names else []


# ---- descriptions --------------------------------------------------------------------------------------


def equal_descriptions(data: ZeroShotDataset) -> Iterator[Check]:
    """U001, one for each group of classes with the same description."""
    S, names = data.prototypes, data.class_names
    _, first, inverse = np.unique(S, axis=0, return_index=True, return_inverse=True)
    original = first[inverse.ravel()]  # (classes,), the first class with the same description
    for start in np.unique(original[original != np.arange(len(S))]) if S.shape[1] else ():
        group = [names[c] for c in np.flatnonzero(original == start)]
        message = f"{list_names(group)} have the same description: no method can tell them apart."
        yield Check.of("U001", message, "Add an attribute in which they differ, or merge them.", group)


def near_descriptions(data: ZeroShotDataset) -> Iterator[Check]:
    """U002, one for each pair of classes that are much closer than two classes usually are."""
    S, n = data.prototypes, len(data.prototypes)
    if not S.shape[1] or not 2 < n <= MANY or attribute_scales(data):  # distances mean little then
        return
    # the mean of ||s - t||^2 over pairs is 2 sum_k var_k, with the unbiased variance
    usual = np.sqrt(2 * S.var(axis=0, ddof=1).sum())
    distance = pdist(S)  # of all pairs, in the order of triu_indices
    near = np.flatnonzero((distance > 0) & (distance < NEAR * usual))
    rows, columns = np.triu_indices(n, 1)
    for at in near[np.argsort(distance[near], kind="stable")]:
        pair = [data.class_names[rows[at]], data.class_names[columns[at]]]
        share = f"{100 * distance[at] / usual:.2g} % of the usual distance between two descriptions"
        advice = "Expect one to be taken for the other, or describe better how they differ."
        yield Check.of("U002", f"{list_names(pair)} are at {share}.", advice, pair)


def constant_attributes(data: ZeroShotDataset) -> list[Check]:
    """U003, the attributes in which the seen classes do not differ."""
    S = data.prototypes[data.seen]
    names = _attribute_names(data, (S[:1] == S).all(axis=0) & (len(S) > 0))
    has, it = ("has", "it") if len(names) == 1 else ("have", "them")
    message = f"{list_names(names)} {has} one value for all seen classes: nothing can be learned from {it}."
    return _about("U003", names, message, f"Remove {it}, or add seen classes that differ in {it}.")


def zero_descriptions(data: ZeroShotDataset) -> list[Check]:
    """U005, the classes whose description is zero everywhere."""
    S = data.prototypes
    names = [data.class_names[c] for c in np.flatnonzero(~S.any(axis=1))] if S.shape[1] else []
    message = f"The description of {list_names(names)} is all zeros."
    return _about("U005", names, message, "Fill it in; a missing value is often written as 0.")


def attribute_scales(data: ZeroShotDataset) -> list[Check]:
    """U012, attributes that vary so much more than most that distances depend on them alone."""
    spread = data.prototypes.std(axis=0) if len(data.prototypes) else np.empty(0)
    used = np.sort(spread[spread > 0])
    if not len(used):
        return []
    usual = used[(len(used) - 1) // 2]  # the median, the smaller one of two
    names = _attribute_names(data, spread > DIFFERENT_SCALES * usual)
    message = (
        f"Between classes, {list_names(names)} varies by up to {spread.max():.3g}, a usual attribute by "
        f"{usual:.3g}, so that it alone decides how similar two classes are."
    )
    return _about("U012", names, message, "Scale every attribute to a similar range.")


# ---- samples -------------------------------------------------------------------------------------------


def unreadable_attributes(data: ZeroShotDataset) -> list[Check]:
    """U004, the attributes that cannot be predicted for a class that was held out."""
    explained = attribute_readability(data)
    if explained is None:
        return []
    names = _attribute_names(data, explained <= 0)
    message = (
        f"For a held-out class, regression from the features predicts {len(names)} of {len(explained)} "
        f"attributes ({list_names(names)}) no better than the mean of the other classes."
    )
    advice = "Use features that show them, or leave them out: what depends on them is a guess."
    return _about("U004", names, message, advice)


def different_scales(data: ZeroShotDataset) -> Iterator[Check]:
    """U006, features whose sizes, their root mean squares, do not fit together."""
    if data.X is None:
        return
    squares = sum(np.square(rows, dtype=np.float64).sum(axis=0) for _, rows in feature_blocks(data.X))
    size = np.sqrt(squares / len(data.X))  # (features,)
    small, large = int(np.where(size > 0, size, np.inf).argmin()), int(size.argmax())
    if size[large] > DIFFERENT_SCALES * size[small] > 0:
        names: Sequence[str | int] = data.feature_names or range(len(size))
        message = (
            f"Features differ in scale: feature {names[large]!r} is {size[large]:.3g} on average, "
            f"feature {names[small]!r} only {size[small]:.3g}, so the large ones dominate."
        )
        advice = 'Standardize them with --normalize standard, in Python normalize="standard".'
        yield Check.of("U006", message, advice, [names[small], names[large]])


def few_classes(data: ZeroShotDataset) -> Iterator[Check]:
    """U007, too few seen classes to learn how classes differ."""
    n_seen = int(data.seen.sum())
    if n_seen < FEW_CLASSES:
        message = (
            f"The number of seen classes is only {n_seen}. Methods learn from how classes differ, and "
            "parameters are chosen on held-out classes."
        )
        advice = f"Use {FEW_CLASSES} or more, and expect wide intervals with fewer."
        yield Check.of("U007", message, advice)


def single_samples(data: ZeroShotDataset) -> list[Check]:
    """U008, the seen classes of which no sample can be held out."""
    if data.X is None or data.y is None:
        return []
    count = np.bincount(data.y[training_samples(data)], minlength=len(data.class_names))
    names = [data.class_names[c] for c in np.flatnonzero((count == 1) & data.seen)]
    message = f"{list_names(names)} has one training sample, so none can be held out to measure the accuracy."
    return _about("U008", names, message, "Add samples, or name the class as unseen (--unseen).")


_OF_DESCRIPTIONS = (equal_descriptions, constant_attributes, zero_descriptions, attribute_scales)
_WARNINGS: tuple[DataCheck, ...] = (*_OF_DESCRIPTIONS, different_scales, few_classes)
_NOTES: tuple[DataCheck, ...] = (near_descriptions, unreadable_attributes, single_samples)


# ---- what can be read ------------------------------------------------------------------------------------


def attribute_readability(data: ZeroShotDataset) -> FloatArray | None:
    r"""Return how much of each attribute can be read from the features, for classes that are held out.

    Each seen class is held out in turn; ridge regression from the means of the standardized features of the
    other classes predicts its attributes. An attribute has

    .. math:: 1 - \frac{\sum_c (s_c - \hat s_c)^2}{\sum_c (s_c - \bar s_{-c})^2}

    with the mean of the others as what to beat: 1 if it is predicted exactly, 0 or less if it cannot be read.
    The strength of the regularization is the best for all attributes together.

    Returns
    -------
    ndarray of shape (n_attributes,), or None
        NaN for an attribute that is constant; None without features, and with too few seen classes (below
        10) or too many (above 2000).
    """
    if data.X is None or data.y is None or not data.prototypes.shape[1]:
        return None
    samples = training_samples(data)
    classes, y = np.unique(data.y[samples], return_inverse=True)
    if not FEW_CLASSES <= len(classes) <= MANY:
        return None
    means, S = class_means(choose_rows(data.X, samples), y), data.prototypes[classes]
    base = (S - S.mean(axis=0)) * len(S) / (len(S) - 1)  # s_c minus the mean of the others
    scale = np.sqrt((base**2).sum(axis=0))
    scale[scale == 0] = np.nan
    squares = [(error**2).sum(axis=0) for error in held_out_errors(means, S / scale, ALPHAS)]
    return np.asarray(1 - min(squares, key=np.nansum))  # (attributes,)


def held_out_errors(M: FloatArray, S: FloatArray, alphas: Iterable[float]) -> Iterator[FloatArray]:
    """Yield the errors of ridge regression from M to S for each row when it is held out, (rows, attributes).

    Each alpha is relative to the mean eigenvalue of the centered Gram matrix.
    """
    M = M - M.mean(axis=0)
    n, mean = len(M), S.mean(axis=0)
    e, U = np.linalg.eigh(M @ M.T)  # K = U diag(e) U'
    projected = U.T @ (S - mean)  # (rows, attributes)
    for alpha in alphas:
        kept = e / (e + alpha * (e.mean() or 1.0))
        # H = 1/n + K (K + alpha I)^-1; the error without row i is (s_i - H_i S) / (1 - H_ii)
        own = 1 / n + (U**2) @ kept  # H_ii
        yield (S - mean - U @ (kept[:, None] * projected)) / (1 - own)[:, None]


def class_means(X: Any, y: IndexArray) -> FloatArray:
    """Return the means of the standardized features of each class, (classes, features)."""
    count, scaler = np.bincount(y), StandardScaler()
    total = np.zeros((len(count), X.shape[1]))
    for block, rows in feature_blocks(X):
        scaler.partial_fit(rows)
        total += class_sums(rows, y[block], len(count))
    return np.asarray(scaler.transform(total / count[:, None]))


def _attribute_names(data: ZeroShotDataset, which: BoolArray) -> list[str]:
    names = data.attribute_names
    return [names[k] if names else f"attribute {k}" for k in np.flatnonzero(which)]
