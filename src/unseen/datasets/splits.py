"""Splits for generalized zero-shot learning: seen and unseen test sets, folds with seen validation sets.

Test classes are unseen. A share of the samples of the other classes is the *seen test set*. A fold divides
the seen classes once more into train and validation classes, and holds out a share of the samples of the
train classes as the *seen validation set*.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from sklearn.model_selection import BaseCrossValidator

from unseen._core.blocks import FloatArray, IndexArray
from unseen._core.labels import LabelArray, distinct_labels
from unseen.datasets.dataset import ZeroShotDataset
from unseen.errors import UnseenError, expect

SPLIT_RULES = ("official", "paper")
ClassFold = tuple[ArrayLike, ArrayLike]  # train classes, validation classes
FEWEST_CLASSES = 4  # seen classes that folds need: two to train on, two to validate


@dataclass(frozen=True, eq=False)
class Fold:
    """One validation fold, as sample indices."""

    train: IndexArray
    seen_val: IndexArray  # samples of the train classes
    val: IndexArray  # samples of the validation classes


@dataclass(frozen=True, eq=False)
class GZSLSplit:
    """Samples for training, for the two test sets and for every validation fold.

    Parameters
    ----------
    train, test_seen, test_unseen : ndarray of intp
        Sample indices. Folds are made of ``train`` alone.
    folds : tuple of Fold

    Examples
    --------
    >>> from unseen.datasets import load_dataset
    >>> split = make_split(load_dataset("digits"))
    >>> len(split.train), len(split.test_seen), len(split.test_unseen), len(split.folds)
    (1002, 250, 545, 7)
    """

    train: IndexArray
    test_seen: IndexArray
    test_unseen: IndexArray
    folds: tuple[Fold, ...]

    def cv(self) -> list[tuple[IndexArray, IndexArray]]:
        """Return (train, validation) per fold as positions in ``train``, for the parameter ``cv``.

        The validation part holds ``seen_val`` and ``val``: a class is seen in a fold if it occurs in the
        fold's train part.
        """
        pairs = [(fold.train, np.concatenate([fold.seen_val, fold.val])) for fold in self.folds]
        # train is sorted
        return [(np.searchsorted(self.train, a), np.searchsorted(self.train, b)) for a, b in pairs]


class GZSLFolds(BaseCrossValidator):  # type: ignore[misc]
    """Scikit-learn splitter for generalized zero-shot validation: (train, seen_val + val) per fold.

    Parameters
    ----------
    n_splits : int
        Number of folds, if ``class_folds`` is not given.
    seen_val : float
        Share of the samples of the train classes that is held out for validation.
    class_folds : sequence of (train classes, validation classes), optional
        Labels as in y. By default the classes are distributed over the folds at random.
    random_state : int
        Seed for the folds and for the held-out samples.

    Examples
    --------
    >>> y = np.repeat(np.arange(6), 10)
    >>> for train, validation in GZSLFolds(3).split(None, y):
    ...     print(len(train), len(validation))
    32 28
    32 28
    32 28
    """

    def __init__(
        self,
        n_splits: int = 3,
        *,
        seen_val: float = 0.2,
        class_folds: Sequence[ClassFold] | None = None,
        random_state: int = 0,
    ) -> None:
        self.n_splits = n_splits
        self.seen_val = seen_val
        self.class_folds = class_folds
        self.random_state = random_state

    def get_n_splits(self, X: object = None, y: object = None, groups: object = None) -> int:
        """Return the number of folds."""
        return self.n_splits if self.class_folds is None else len(self.class_folds)

    def split(
        self, X: object, y: ArrayLike, groups: ArrayLike | None = None
    ) -> Iterator[tuple[IndexArray, IndexArray]]:
        """Yield (train, validation) sample positions; X is ignored, the rest is as in ``folds``."""
        for fold in self.folds(y, groups):
            yield fold.train, np.concatenate([fold.seen_val, fold.val])

    def folds(self, y: ArrayLike, groups: ArrayLike | None = None) -> Iterator[Fold]:
        """Yield the folds, with seen and unseen validation samples separate.

        Samples of one group are either all in ``train`` or all in ``seen_val``; those of validation classes
        are in ``val`` whatever their group.
        """
        labels = np.asarray(y)
        rng = np.random.default_rng(self.random_state)
        folds = self.class_folds or deal_classes(distinct_labels(labels), self.n_splits, rng)
        for train_classes, val_classes in folds:
            members = np.flatnonzero(np.isin(labels, train_classes))
            size = int(share_of(len(members), self.seen_val))
            seen_val = draw(members, labels, size, rng, groups)
            val = np.flatnonzero(np.isin(labels, val_classes))
            yield Fold(np.setdiff1d(members, seen_val), seen_val, val)


def deal_classes(
    classes: LabelArray, n_folds: int, rng: np.random.Generator
) -> list[tuple[LabelArray, LabelArray]]:
    """Return (train, validation) classes per fold: equal windows of the shuffled classes, at least two each.

    The windows are disjoint unless there are fewer than two classes per fold.
    """
    expect("folds", n_folds, n_folds >= 2, "at least 2")
    size = max(2, len(classes) // n_folds)
    if len(classes) - size < 2:
        hint = " Without calibration two are enough: unseen fit --gamma 0, or LDA(prototypes).fit(X, y)."
        raise UnseenError(
            f"The number of seen classes is {len(classes)}, expected at least {FEWEST_CLASSES}: a fold "
            f"trains on two and validates on two others.{hint if len(classes) > 1 else ''}"
        )
    shuffled = rng.permutation(classes)
    starts = [round(fold * len(classes) / n_folds) for fold in range(n_folds)]
    windows = [np.take(shuffled, np.arange(start, start + size), mode="wrap") for start in starts]
    return [(np.setdiff1d(classes, window), np.sort(window)) for window in windows]


# ---- drawing samples -----------------------------------------------------------------------------------


def share_of(n: ArrayLike, share: float) -> IndexArray:
    """Return floor(share * n), safe from rounding errors: 0.29 of 100 is 29.

    >>> int(share_of(100, 0.29))
    29
    """
    expect("share", share, 0 < share < 1, "a number between 0 and 1")
    return np.asarray(np.floor(np.asarray(n) * share + 1e-9), dtype=np.intp)


def draw(
    members: IndexArray, y: LabelArray, size: int, rng: np.random.Generator, groups: ArrayLike | None = None
) -> IndexArray:
    """Return ``size`` of the samples at random, but never the last one of a class; fewer in whole groups.

    >>> y, groups = np.array([0, 1, 0, 1, 0, 1]), np.array([0, 0, 1, 1, 2, 2])
    >>> draw(np.arange(6), y, 3, np.random.default_rng(0), groups)
    array([4, 5])
    """
    if groups is None:
        shuffled = rng.permutation(members)
        _, first = np.unique(y[shuffled], return_index=True)
        return np.sort(np.delete(shuffled, first)[:size])
    of_group = np.unique(np.asarray(groups)[members], return_inverse=True)[1]
    of_class = np.unique(y[members], return_inverse=True)[1]
    parts = np.split(np.argsort(of_group, kind="stable"), np.cumsum(np.bincount(of_group))[:-1])
    left, drawn = np.bincount(of_class), members[:0]  # samples of each class that stay, positions that leave
    for part in (parts[group] for group in rng.permutation(len(parts))):
        taken = np.bincount(of_class[part], minlength=len(left))
        if len(drawn) + len(part) <= size and np.all(left > taken):
            left, drawn = left - taken, np.concatenate([drawn, part])
    return np.sort(members[drawn])


# ---- the seen test set by the paper's rule ---------------------------------------------------------------


def draw_test_seen(
    pool: IndexArray, y: IndexArray, class_folds: Sequence[ClassFold], share: float, rng: np.random.Generator
) -> IndexArray:
    """Return a seen test set with floor(share * n) of the n samples in each fold's train and val classes.

    The paper draws a seen test set per fold, which would let selection see samples of the final test. One set
    for all folds with the same counts in each of them takes an integer program. A *cell* is a group of
    classes that are on the same side in every fold. The program says how many samples each cell gives; which
    ones is random.
    """
    groups = np.array([np.isin(y[pool], classes) for fold in class_folds for classes in fold])
    kinds, cell = np.unique(groups, axis=1, return_inverse=True)  # (groups, cells), (samples,)
    members = [pool[cell.ravel() == number] for number in range(kinds.shape[1])]
    most = np.array([len(index) - len(np.unique(y[index])) for index in members])
    sizes = np.array(list(map(len, members)))
    counts = _cell_counts(kinds.astype(float), sizes, share_of(kinds @ sizes, share), share, most)
    return np.sort(np.concatenate([draw(index, y, n, rng) for index, n in zip(members, counts)]))


def _cell_counts(
    kinds: FloatArray, sizes: IndexArray, targets: IndexArray, share: float, most: IndexArray
) -> IndexArray:
    """Return integers k near share * sizes whose sums over the groups, kinds @ k, are the targets.

    If there are no such integers, the sums miss the targets by as little as possible: minimize
    1000 * (sum of the misses) + sum of |k - share * sizes|, with 0 <= k <= most.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    n_groups, n_cells = kinds.shape
    one, none, miss = np.eye(n_cells), np.zeros((n_cells, 2 * n_groups)), np.eye(n_groups)
    wanted = share * sizes
    # columns: k, distance of k from its share, targets missed below, targets missed above
    sizes_of_columns = (n_cells, n_cells, 2 * n_groups)
    solved = milp(
        np.repeat([0, 1, 1e3], sizes_of_columns),
        constraints=[
            LinearConstraint(np.hstack([kinds, 0 * kinds, miss, -miss]), targets, targets),
            LinearConstraint(np.hstack([one, -one, none]), ub=wanted),
            LinearConstraint(np.hstack([one, one, none]), lb=wanted),
        ],
        bounds=Bounds(0, np.append(most, np.full(n_cells + 2 * n_groups, np.inf))),
        integrality=np.repeat([1, 0, 0], sizes_of_columns),
        options={"presolve": False},  # HiGHS's presolve ends some of these with "solve error"
    )
    return np.asarray(np.rint(solved.x[:n_cells]), dtype=np.intp)


# ---- the split of a data set -------------------------------------------------------------------------


def make_split(
    dataset: ZeroShotDataset,
    *,
    rule: str = "official",
    n_folds: int = 3,
    seen_share: float = 0.2,
    random_state: int = 0,
    require_test: bool = True,
) -> GZSLSplit:
    """Return the split of a data set.

    Parameters
    ----------
    dataset : ZeroShotDataset
    rule : {"official", "paper"}
        ``official`` uses the data set's own seen test set if it has one; ``paper`` draws
        ``floor(seen_share * n)`` samples.
    n_folds : int
        Number of folds to draw if the data set has none of its own.
    seen_share : float
        Share of samples for the seen test set and for each seen validation set.
    random_state : int
        Seed for what is drawn.
    require_test : bool
        False to allow a data set without test samples of unseen classes: enough to fit, not to compare.

    Examples
    --------
    >>> from unseen.datasets import load_dataset
    >>> split = make_split(load_dataset("digits"), rule="paper")
    >>> len(split.train), len(split.test_seen), len(split.test_unseen)
    (1002, 250, 545)
    """
    pool, y = seen_samples(dataset), dataset.y
    expect("rule", rule, rule in SPLIT_RULES, "official or paper")
    if require_test:
        _check_testable(dataset)
    rng = np.random.default_rng(random_state)
    class_folds = dataset.class_folds or deal_classes(np.unique(y[pool]), n_folds, rng)
    test_seen = dataset.test_seen
    if rule == "official" and test_seen is None and dataset.groups is not None:
        test_seen = draw(pool, y, int(share_of(len(pool), seen_share)), rng, dataset.groups)
    elif rule == "paper" or test_seen is None:
        test_seen = draw_test_seen(pool, y, class_folds, seen_share, rng)
    train = np.setdiff1d(pool, test_seen)
    groups = None if dataset.groups is None else dataset.groups[train]
    splitter = GZSLFolds(seen_val=seen_share, class_folds=class_folds, random_state=random_state)
    folds = [Fold(train[f.train], train[f.seen_val], train[f.val]) for f in splitter.folds(y[train], groups)]
    for number, fold in enumerate(folds, start=1):
        for part, index in vars(fold).items():
            if not len(index):
                raise UnseenError(f"Fold {number} has no {part} samples. Use fewer folds or more samples.")
    return GZSLSplit(train, np.sort(test_seen), _unseen_samples(dataset), tuple(folds))


def _check_testable(dataset: ZeroShotDataset) -> None:
    if not dataset.unseen.any():
        raise UnseenError(
            f"{dataset.name} has no unseen classes, so there is nothing to test. Name some with "
            "unseen_classes, or describe classes that have no samples."
        )
    if not len(_unseen_samples(dataset)):
        raise UnseenError(
            f"{dataset.name} has no test samples of its {dataset.unseen.sum()} unseen classes. It is enough "
            "for unseen fit; to compare methods, add labeled samples of these classes, or hold out others "
            "with --unseen."
        )


def seen_samples(dataset: ZeroShotDataset) -> IndexArray:
    """Return all samples for training and for the seen test set."""
    if dataset.X is None or dataset.y is None:
        raise UnseenError(dataset.missing[0])
    if dataset.trainval is None:
        return np.flatnonzero(dataset.seen[dataset.y])
    parts = [part for part in (dataset.trainval, dataset.test_seen) if part is not None]
    return np.unique(np.concatenate(parts))


def training_samples(dataset: ZeroShotDataset) -> IndexArray:
    """Return the samples of the seen classes that are in no test set of the data set."""
    pool = seen_samples(dataset)
    return pool if dataset.test_seen is None else np.setdiff1d(pool, dataset.test_seen)


def _unseen_samples(dataset: ZeroShotDataset) -> IndexArray:
    if dataset.test_unseen is not None:
        return np.sort(dataset.test_unseen)
    return np.flatnonzero(dataset.unseen[dataset.y])
