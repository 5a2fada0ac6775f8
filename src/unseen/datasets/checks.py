"""Checks of a data set: what usually causes trouble later, found before anything is trained."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial.distance import pdist

from unseen._core.blocks import FloatArray, IndexArray, class_sums, row_blocks
from unseen._core.checks import Check, list_names, model_checks, select
from unseen._core.rows import release_pages

if TYPE_CHECKING:
    from unseen.datasets.dataset import ZeroShotDataset

FEW_CLASSES = 10  # fewer seen classes than this are few
DIFFERENT_SCALES = 1000  # features whose sizes differ by more than this factor do not fit together
NEAR = 0.1  # descriptions closer than this share of the usual distance between two are nearly equal
MANY = 2000  # more classes are not compared with each other
__all__ = ["Check", "attribute_readability", "check_dataset", "model_checks"]
ALPHAS = np.logspace(-4, 4, 17)  # strengths of the regularization to choose from
DataCheck = Callable[["ZeroShotDataset"], Iterable[Check]]  # a check of your own


def check_dataset(
    data: ZeroShotDataset, *, ignore: Iterable[str] = (), more: Iterable[DataCheck] = ()
) -> list[Check]:
    """Return what is found in a data set, in the order of the codes; see ``ZeroShotDataset.checks``."""
    return select((check for find in (*_CHECKS, *more) for check in find(data)), ignore)


# ---- descriptions --------------------------------------------------------------------------------------


def equal_descriptions(data: ZeroShotDataset) -> Iterator[Check]:
    """U001, one for each group of classes with the same description."""
    S, names = data.prototypes, data.class_names
    if not S.shape[1]:
        return
    _, first, inverse = np.unique(S, axis=0, return_index=True, return_inverse=True)
    original = first[inverse.ravel()]  # (classes,), the first class with the same description
    for start in np.unique(original[original != np.arange(len(S))]):
        group = [names[c] for c in np.flatnonzero(original == start)]
        listed = " and ".join(map(repr, group)) if len(group) == 2 else list_names(group)
        yield Check.of(
            "U001",
            f"Classes {listed} have the same description: no method can tell them apart.",
            "Add an attribute in which they differ, or merge them.",
            group,
        )


def near_descriptions(data: ZeroShotDataset) -> Iterator[Check]:
    """U002, one for each pair of classes that are much closer than two classes usually are."""
    S, n = data.prototypes, len(data.prototypes)
    if not S.shape[1] or not 2 < n <= MANY or any(attribute_scales(data)):  # distances mean little then
        return
    # the mean of ||s - t||^2 over pairs is 2 sum_k var_k, with the unbiased variance
    usual = np.sqrt(2 * S.var(axis=0, ddof=1).sum())
    distance = pdist(S)  # of all pairs, in the order of triu_indices
    near = np.flatnonzero((distance > 0) & (distance < NEAR * usual))
    rows, columns = np.triu_indices(n, 1)
    for at in near[np.argsort(distance[near], kind="stable")]:
        pair = [data.class_names[rows[at]], data.class_names[columns[at]]]
        yield Check.of(
            "U002",
            f"Classes {pair[0]!r} and {pair[1]!r} are at {100 * distance[at] / usual:.2g} % of the usual "
            "distance between two descriptions.",
            "Expect one to be taken for the other, or describe better how they differ.",
            pair,
        )


def constant_attributes(data: ZeroShotDataset) -> Iterator[Check]:
    """U003, the attributes in which the seen classes do not differ."""
    S = data.prototypes[data.seen]
    names = _attribute_names(data, np.flatnonzero((S[:1] == S).all(axis=0)) if len(S) else ())
    if len(names) == 1:
        what, it = f"Attribute {names[0]!r} is", "it"
    else:
        what, it = f"{len(names)} attributes are", "them"
    listed = f" ({list_names(names)})" if len(names) > 1 else ""
    if names:
        yield Check.of(
            "U003",
            f"{what} constant over the seen classes{listed}: nothing can be learned from {it}.",
            f"Remove {it}, or add seen classes that differ in {it}.",
            names,
        )


def zero_descriptions(data: ZeroShotDataset) -> Iterator[Check]:
    """U005, the classes whose description is zero everywhere."""
    S = data.prototypes
    names = [data.class_names[c] for c in np.flatnonzero(~S.any(axis=1))] if S.shape[1] else []
    if names:
        what = f"Class {names[0]!r} has" if len(names) == 1 else f"Classes {list_names(names)} have"
        yield Check.of(
            "U005",
            f"{what} a description of zeros, which says nothing.",
            "Fill it in; a missing value is often written as 0.",
            names,
        )


def attribute_scales(data: ZeroShotDataset) -> Iterator[Check]:
    """U012, attributes that vary so much more than most that distances depend on them alone."""
    if not len(data.prototypes):
        return
    spread = data.prototypes.std(axis=0)
    used = np.sort(spread[spread > 0])
    usual = used[(len(used) - 1) // 2] if len(used) else 0.0  # the median, the smaller one of two
    names = _attribute_names(data, np.flatnonzero(spread > DIFFERENT_SCALES * usual))
    if names:
        yield Check.of(
            "U012",
            f"Between classes, {list_names(names)} varies by up to {spread.max():.3g}, a usual attribute by "
            f"{usual:.3g}, so that it alone decides how similar two classes are.",
            "Scale every attribute to a similar range.",
            names,
        )


# ---- samples -------------------------------------------------------------------------------------------


def unreadable_attributes(data: ZeroShotDataset) -> Iterator[Check]:
    """U004, the attributes that cannot be predicted for a class that was held out."""
    explained = attribute_readability(data)
    if explained is None:
        return
    names = _attribute_names(data, np.flatnonzero(explained <= 0))
    if names:
        yield Check.of(
            "U004",
            f"For a held-out class, regression from the features predicts {len(names)} of {len(explained)} "
            f"attributes ({list_names(names)}) no better than the mean of the other classes.",
            "What depends on them is a guess: use features that show them, or leave them out.",
            names,
        )


def different_scales(data: ZeroShotDataset) -> Iterator[Check]:
    """U006, features whose sizes do not fit together."""
    found = None if data.X is None else differ_in_scale(data.X)
    if found is not None:
        small, large, size = found
        names: Sequence[str | int] = data.feature_names or range(len(size))
        yield Check.of(
            "U006",
            f"Features differ in scale: feature {names[large]!r} is {size[large]:.3g} on average, "
            f"feature {names[small]!r} only {size[small]:.3g}, so the large ones dominate.",
            "Standardize them with --normalize standard.",
            [names[small], names[large]],
        )


def few_classes(data: ZeroShotDataset) -> Iterator[Check]:
    """U007, too few seen classes to learn how classes differ."""
    n_seen = int(data.seen.sum())
    if n_seen < FEW_CLASSES:
        yield Check.of(
            "U007",
            f"The number of seen classes is only {n_seen}. Methods learn from how classes differ, and "
            "parameters are chosen on held-out classes.",
            f"Use {FEW_CLASSES} or more, and expect wide intervals with fewer.",
        )


def single_samples(data: ZeroShotDataset) -> Iterator[Check]:
    """U008, the seen classes of which no sample can be held out."""
    if data.X is None or data.y is None:
        return
    count = np.bincount(data.y[_training(data)], minlength=len(data.class_names))
    names = [data.class_names[c] for c in np.flatnonzero((count == 1) & data.seen)]
    if names:
        what = f"Class {names[0]!r} has" if len(names) == 1 else f"Classes {list_names(names)} have"
        yield Check.of(
            "U008",
            f"{what} one training sample, so none can be held out to measure the accuracy.",
            "Add samples, or name the class as unseen (--unseen).",
            names,
        )


_CHECKS: tuple[DataCheck, ...] = (
    equal_descriptions,
    near_descriptions,
    constant_attributes,
    unreadable_attributes,
    zero_descriptions,
    different_scales,
    few_classes,
    single_samples,
    attribute_scales,
)


# ---- what they measure -----------------------------------------------------------------------------------


def differ_in_scale(X: FloatArray) -> tuple[int, int, FloatArray] | None:
    """Return (smallest feature, largest feature, size of every feature), if these do not fit together.

    The size of a feature is its root mean square.
    """
    squares = np.zeros(X.shape[1])
    for block in row_blocks(len(X)):
        squares += np.square(X[block], dtype=np.float64).sum(axis=0)
        release_pages(X)
    size = np.sqrt(squares / len(X))  # (features,)
    used = np.flatnonzero(size)
    if not len(used):
        return None
    small, large = (int(used[at]) for at in (size[used].argmin(), size[used].argmax()))
    return (small, large, size) if size[large] > DIFFERENT_SCALES * size[small] else None


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
    classes, means = _class_means(data)
    if not FEW_CLASSES <= len(classes) <= MANY:
        return None
    S = data.prototypes[classes]
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


def _class_means(data: ZeroShotDataset) -> tuple[IndexArray, FloatArray]:
    """Return the seen classes with training samples, and the means of their standardized features."""
    training = np.zeros(len(data.y), dtype=bool)
    training[_training(data)] = True
    n_classes = len(data.class_names)
    count, total = np.bincount(data.y[training], minlength=n_classes), np.zeros((n_classes, data.X.shape[1]))
    square = np.zeros(data.X.shape[1])
    for block in row_blocks(len(data.X)):
        rows, y = data.X[block][training[block]].astype(np.float64), data.y[block][training[block]]
        total += class_sums(rows, y, n_classes)
        square += (rows**2).sum(axis=0)
        release_pages(data.X)
    classes = np.flatnonzero(count)
    mean = total.sum(axis=0) / count.sum()
    spread = np.sqrt(np.maximum(square / count.sum() - mean**2, 0))
    means = (total[classes] / count[classes, None] - mean) / np.where(spread > 0, spread, 1.0)
    return classes, means  # (classes,), (classes, features)


def _training(data: ZeroShotDataset) -> IndexArray:
    """Return the samples that a model is fitted on."""
    from unseen.datasets.splits import training_samples

    return training_samples(data)


def _attribute_names(data: ZeroShotDataset, columns: Iterable[int] | IndexArray) -> list[str]:
    names = data.attribute_names
    return [names[k] if names else f"attribute {k}" for k in columns]
