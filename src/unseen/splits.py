"""Splits for generalized zero-shot learning: seen and unseen test sets, folds with seen validation sets.

Test classes are unseen. A share of every other class's samples is the *seen test set*. A fold divides the
seen classes once more into train and validation classes, and keeps a share of the train classes' samples
as the *seen validation set*. Leakage is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen.datasets.dataset import ClassFolds, Indices, ZeroShotDataset
from unseen.errors import UnseenError


@dataclass(frozen=True, eq=False)
class Fold:
    """One validation fold, as sample indices."""

    train: Indices
    seen_val: Indices  # samples of the train classes
    val: Indices  # samples of the validation classes


@dataclass(frozen=True, eq=False)
class GZSLSplit:
    """Samples for training, for the two test sets and for every validation fold.

    Parameters
    ----------
    train, test_seen, test_unseen : ndarray of intp
        Sample indices. Folds are made of ``train`` alone.
    folds : tuple of Fold
    y : ndarray of intp
        Class of every sample of the data set, to refuse a test class in training.
    class_names : tuple of str
        To name that class.

    Examples
    --------
    >>> from unseen.datasets import load
    >>> split = make_split(load("digits"))
    >>> len(split.train), len(split.test_seen), len(split.test_unseen), len(split.folds)
    (1002, 250, 545, 3)
    """

    train: Indices
    test_seen: Indices
    test_unseen: Indices
    folds: tuple[Fold, ...]
    y: Indices
    class_names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        parts = {"train": self.train, "test_seen": self.test_seen, "test_unseen": self.test_unseen}
        _refuse_shared_samples(parts)
        self._refuse_shared_class("train", self.train, "test_unseen", self.test_unseen)
        self._refuse_shared_class("test_seen", self.test_seen, "test_unseen", self.test_unseen)
        for number, fold in enumerate(self.folds, start=1):
            self._check_fold(number, fold)

    def cv(self) -> list[tuple[Indices, Indices]]:
        """Return (train, validation) per fold as positions in ``train``: ready for ``cv=``.

        The validation part holds ``seen_val`` and ``val``; a sample is of a seen class when its class
        occurs in the fold's train part.
        """
        position = np.empty(len(self.y), dtype=np.intp)
        position[self.train] = np.arange(len(self.train))
        return [
            (position[fold.train], position[np.concatenate([fold.seen_val, fold.val])]) for fold in self.folds
        ]

    def _check_fold(self, number: int, fold: Fold) -> None:
        parts = {"train": fold.train, "seen_val": fold.seen_val, "val": fold.val}
        for part, index in parts.items():
            if not len(index):
                raise UnseenError(f"Fold {number} has no {part} sample. Use fewer folds or more samples.")
        _refuse_shared_samples({f"{part} of fold {number}": index for part, index in parts.items()})
        outside = np.setdiff1d(np.concatenate(list(parts.values())), self.train)
        if len(outside):
            raise UnseenError(
                f"Fold {number} uses sample {outside[0]}, which is not for training. "
                "Selection must not see a test sample."
            )
        self._refuse_shared_class(f"train of fold {number}", fold.train, "its val", fold.val)
        self._refuse_shared_class(f"seen_val of fold {number}", fold.seen_val, "its val", fold.val)

    def _refuse_shared_class(self, part: str, index: Indices, other: str, other_index: Indices) -> None:
        shared = np.intersect1d(self.y[index], self.y[other_index])
        if len(shared):
            name = self.class_names[shared[0]] if self.class_names else str(shared[0])
            raise UnseenError(f"Class {name!r} is in {part} and in {other}, expected disjoint classes.")


def _refuse_shared_samples(parts: dict[str, Indices]) -> None:
    names = list(parts)
    index = np.concatenate([parts[name] for name in names])
    values, counts = np.unique(index, return_counts=True)
    if np.any(counts > 1):
        sample = values[counts > 1][0]
        places = [name for name in names for _ in range(np.count_nonzero(parts[name] == sample))]
        raise UnseenError(f"Sample {sample} is in {' and '.join(places)}. A sample belongs to one part.")


class GZSLFolds:
    """Scikit-learn style splitter for generalized zero-shot validation: (train, seen_val + val) per fold.

    Parameters
    ----------
    n_splits : int
        Number of folds, when ``class_folds`` is not given.
    seen_val : float
        Share of the train classes' samples that validates the seen classes.
    class_folds : sequence of (train classes, validation classes), optional
        Labels as in y. By default the classes are dealt to the folds at random.
    random_state : int

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
        class_folds: Sequence[tuple[Any, Any]] | None = None,
        random_state: int = 0,
    ) -> None:
        self.n_splits = n_splits
        self.seen_val = seen_val
        self.class_folds = class_folds
        self.random_state = random_state

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of folds."""
        return self.n_splits if self.class_folds is None else len(self.class_folds)

    def split(self, X: Any, y: Any, groups: Any = None) -> Iterator[tuple[Indices, Indices]]:
        """Yield (train, validation) sample positions; X is not looked at."""
        for fold in self.folds(y):
            yield fold.train, np.concatenate([fold.seen_val, fold.val])

    def folds(self, y: Any) -> Iterator[Fold]:
        """Yield the folds with their seen and unseen validation parts apart."""
        y = np.asarray(y)
        rng = np.random.default_rng(self.random_state)
        folds = self.class_folds or deal_classes(np.unique(y), self.n_splits, rng)
        for train_classes, val_classes in folds:
            group = np.flatnonzero(np.isin(y, train_classes))
            seen_val = draw_share(group, y, int(self.seen_val * len(group) + 1e-9), rng)
            val = np.flatnonzero(np.isin(y, val_classes))
            yield Fold(np.setdiff1d(group, seen_val), seen_val, val)


def deal_classes(classes: NDArray[Any], n_folds: int, rng: np.random.Generator) -> list[tuple[Any, Any]]:
    """Return (train, validation) classes per fold: equal windows of the shuffled classes, two at least.

    The windows are disjoint unless there are fewer than two classes per fold.
    """
    size = max(2, len(classes) // n_folds)
    if len(classes) - size < 2:
        raise UnseenError(
            f"There are {len(classes)} seen classes, expected at least 4: a fold trains on two and "
            "validates on two others."
        )
    shuffled = rng.permutation(classes)
    starts = [round(fold * len(classes) / n_folds) for fold in range(n_folds)]
    windows = [np.take(shuffled, np.arange(start, start + size), mode="wrap") for start in starts]
    return [(np.setdiff1d(classes, window), np.sort(window)) for window in windows]


def draw_share(group: Indices, y: NDArray[Any], size: int, rng: np.random.Generator) -> Indices:
    """Return ``size`` samples of the group at random, but never the last one of a class."""
    shuffled = rng.permutation(group)
    _, first = np.unique(y[shuffled], return_index=True)
    return np.sort(np.delete(shuffled, first)[:size])


def make_split(
    dataset: ZeroShotDataset,
    *,
    rule: str | PathLike[str] = "official",
    n_folds: int = 3,
    seen_share: float = 0.2,
    random_state: int = 0,
    require_test: bool = True,
) -> GZSLSplit:
    """Return the split of a data set.

    Parameters
    ----------
    dataset : ZeroShotDataset
    rule : {"official", "paper"} or path
        ``official`` takes the data set's own seen test set where it has one; ``paper`` draws
        ``floor(seen_share * n)`` samples of the seen classes.
    n_folds : int
        Number of folds to draw, where the data set has none of its own.
    seen_share : float
        Share of samples for the seen test set and for each seen validation set.
    random_state : int
    require_test : bool
        False to allow a data set without test samples of unseen classes.
    """
    rng = np.random.default_rng(random_state)
    pool = _seen_samples(dataset)
    folds = dataset.class_folds or tuple(deal_classes(np.unique(dataset.y[pool]), n_folds, rng))
    if rule == "official" and dataset.test_seen is not None:
        test_seen = dataset.test_seen
    else:
        test_seen = draw_share(pool, dataset.y, int(seen_share * len(pool) + 1e-9), rng)
    test_unseen = dataset.test_unseen if dataset.test_unseen is not None else _unseen_samples(dataset)
    train = np.setdiff1d(pool, test_seen)
    return GZSLSplit(
        train=train,
        test_seen=test_seen,
        test_unseen=test_unseen,
        folds=_make_folds(dataset, train, folds, seen_share, random_state),
        y=dataset.y,
        class_names=dataset.class_names,
    )


def _make_folds(
    dataset: ZeroShotDataset, train: Indices, folds: ClassFolds, seen_share: float, random_state: int
) -> tuple[Fold, ...]:
    """Return the folds of the training samples, in indices of the whole data set."""
    splitter = GZSLFolds(seen_val=seen_share, class_folds=folds, random_state=random_state)
    drawn = splitter.folds(dataset.y[train])
    return tuple(Fold(train[fold.train], train[fold.seen_val], train[fold.val]) for fold in drawn)


def _seen_samples(dataset: ZeroShotDataset) -> Indices:
    """Return all samples that may be used for training or as the seen test set."""
    if dataset.trainval is None:
        return np.flatnonzero(dataset.seen[dataset.y])
    test_seen = np.empty(0, dtype=np.intp) if dataset.test_seen is None else dataset.test_seen
    return np.sort(np.concatenate([dataset.trainval, test_seen]))


def _unseen_samples(dataset: ZeroShotDataset) -> Indices:
    return np.flatnonzero(dataset.unseen[dataset.y])
