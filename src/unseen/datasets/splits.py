"""Splits for generalized zero-shot learning: seen and unseen test sets, folds with seen validation sets.

Test classes are unseen. A share of every other class's samples is the *seen test set*. A fold divides the
seen classes once more into train and validation classes, and keeps a share of the train classes' samples
as the *seen validation set*. Leakage is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen._core.blocks import FloatArray
from unseen._core.csv_files import read_csv
from unseen.datasets.dataset import Indices, ZeroShotDataset
from unseen.errors import UnseenError, did_you_mean

RULES = ("official", "paper")
# the columns of the paper's table of statistics, and the words of an assignment file
PARTS = ("train", "seen_val", "seen_test_train", "val", "seen_test_val", "test")
Assignment = NDArray[np.str_]  # (samples,), one of PARTS or nothing


@dataclass(frozen=True, eq=False)
class Fold:
    """One validation fold, as sample indices."""

    train: Indices
    seen_val: Indices  # samples of the train classes
    val: Indices  # samples of the validation classes


@dataclass(frozen=True, eq=False)
class GZSLSplit:
    """Samples for training, for the two test sets and for every validation fold; leakage is refused.

    Parameters
    ----------
    train, test_seen, test_unseen : ndarray of intp
        Sample indices. Folds are made of ``train`` alone.
    folds : tuple of Fold
    y : ndarray of intp
        Class of every sample of the data set, to refuse a test class in training.
    class_names : tuple of str
        To name that class.
    given : tuple of ndarray of str
        What an assignment file says of every sample, fold by fold, where the split comes from one.

    Examples
    --------
    >>> from unseen.datasets import load
    >>> split = make_split(load("digits"))
    >>> len(split.train), len(split.test_seen), len(split.test_unseen), len(split.folds)
    (1002, 250, 545, 7)
    """

    train: Indices
    test_seen: Indices
    test_unseen: Indices
    folds: tuple[Fold, ...]
    y: Indices
    class_names: tuple[str, ...] = ()
    given: tuple[Assignment, ...] = ()

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
        self._refuse_stranger(number, fold)

    def _refuse_shared_class(self, part: str, index: Indices, other: str, other_index: Indices) -> None:
        shared = np.intersect1d(self.y[index], self.y[other_index])
        if len(shared):
            raise UnseenError(
                f"Class {self._name(shared[0])!r} is in {part} and in {other}, expected disjoint classes."
            )

    def _refuse_stranger(self, number: int, fold: Fold) -> None:
        """A class in seen_val without a training sample would count as unseen."""
        strange = np.setdiff1d(self.y[fold.seen_val], self.y[fold.train])
        if len(strange):
            raise UnseenError(
                f"Class {self._name(strange[0])!r} is in seen_val of fold {number} but not in its train part."
            )

    def _name(self, index: int) -> str:
        return self.class_names[index] if self.class_names else str(index)


def _refuse_shared_samples(parts: dict[str, Indices]) -> None:
    values, counts = np.unique(np.concatenate(list(parts.values())), return_counts=True)
    if np.any(counts > 1):
        sample = values[counts > 1][0]
        places = [name for name, index in parts.items() for _ in range(np.count_nonzero(index == sample))]
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
            seen_val = draw(group, y, share_of(len(group), self.seen_val), rng)
            yield Fold(np.setdiff1d(group, seen_val), seen_val, np.flatnonzero(np.isin(y, val_classes)))


def deal_classes(classes: NDArray[Any], n_folds: int, rng: np.random.Generator) -> list[tuple[Any, Any]]:
    """Return (train, validation) classes per fold: equal windows of the shuffled classes, two at least.

    The windows are disjoint unless there are fewer than two classes per fold.
    """
    if n_folds < 2:
        raise UnseenError(f"Got {n_folds} fold(s), but expected at least 2.")
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


def share_of(n: Any, share: float) -> Any:
    """Return floor(share * n), safe from rounding: 0.29 of 100 is 29.

    >>> int(share_of(100, 0.29))
    29
    """
    if not 0 < share < 1:
        raise UnseenError(f"Got a share of {share!r}, but expected a number between 0 and 1.")
    return np.floor(np.asarray(n) * share + 1e-9).astype(np.intp)


def draw(group: Indices, y: NDArray[Any], size: int, rng: np.random.Generator) -> Indices:
    """Return ``size`` samples of the group at random, but never the last one of a class."""
    shuffled = rng.permutation(group)
    _, first = np.unique(y[shuffled], return_index=True)
    return np.sort(np.delete(shuffled, first)[:size])


# ---- the split of a data set -------------------------------------------------------------------------


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
        ``official`` takes the data set's own seen test set where it has one, ``paper`` draws
        ``floor(seen_share * n)`` samples. A CSV file assigns every sample by hand: its first column names
        the sample, every further column with words of ``PARTS`` is a fold.
    n_folds : int
        Number of folds to draw, where the data set has none of its own.
    seen_share : float
        Share of samples for the seen test set and for each seen validation set.
    random_state : int
    require_test : bool
        False to allow a data set without test samples of unseen classes: enough to fit, not to compare.
    """
    if dataset.y is None or dataset.X is None:
        raise UnseenError(dataset.missing[0])
    if require_test:
        _check_testable(dataset)
    if rule not in RULES:
        return _given_split(dataset, Path(rule))
    rng = np.random.default_rng(random_state)
    pool = _seen_samples(dataset)
    y = dataset.y
    class_folds = dataset.class_folds or deal_classes(np.unique(y[pool]), n_folds, rng)
    test_seen = dataset.test_seen
    if rule == "paper" or test_seen is None:
        test_seen = draw_test_seen(pool, y, class_folds, seen_share, rng)
    train = np.setdiff1d(pool, test_seen)
    folds = GZSLFolds(seen_val=seen_share, class_folds=class_folds, random_state=random_state).folds(y[train])
    return GZSLSplit(
        train=train,
        test_seen=np.sort(test_seen),
        test_unseen=_unseen_samples(dataset),
        folds=tuple(Fold(train[fold.train], train[fold.seen_val], train[fold.val]) for fold in folds),
        y=y,
        class_names=dataset.class_names,
    )


def _check_testable(dataset: ZeroShotDataset) -> None:
    if not dataset.unseen.any():
        raise UnseenError(
            f"{dataset.name} has no unseen classes, so there is nothing to test. Name some with "
            "unseen_classes, or describe classes that have no samples."
        )
    if not len(_unseen_samples(dataset)):
        raise UnseenError(
            f"{dataset.name} has no test samples of its {dataset.unseen.sum()} unseen classes. It is enough "
            "for unseen fit; to compare methods add labelled samples of these classes."
        )


def _seen_samples(dataset: ZeroShotDataset) -> Indices:
    """Return all samples that may be used for training or as the seen test set."""
    if dataset.trainval is None:
        return np.flatnonzero(dataset.seen[dataset.y])
    test_seen = np.empty(0, dtype=np.intp) if dataset.test_seen is None else dataset.test_seen
    return np.sort(np.concatenate([dataset.trainval, test_seen]))


def _unseen_samples(dataset: ZeroShotDataset) -> Indices:
    if dataset.test_unseen is not None:
        return np.sort(dataset.test_unseen)
    return np.flatnonzero(dataset.unseen[dataset.y])


# ---- the paper's rule --------------------------------------------------------------------------------


def draw_test_seen(
    pool: Indices, y: Indices, class_folds: Sequence[tuple[Any, Any]], share: float, rng: np.random.Generator
) -> Indices:
    """Return a seen test set with floor(share * n) samples of the n in each fold's train and val classes.

    The paper draws it anew for each fold, which would let selection see samples of the final test. One set
    has the same counts when each *cell*, the classes that are together in every fold, gives the right
    number.
    """
    groups = np.array([np.isin(y[pool], classes) for fold in class_folds for classes in fold])
    kinds, cell = np.unique(groups, axis=1, return_inverse=True)  # (groups, cells), (samples,)
    cell = cell.ravel()
    most = [len(index) - len(np.unique(y[index])) for index in _members(pool, cell)]
    sizes = np.bincount(cell)
    counts = _cell_counts(kinds.astype(float), sizes, share_of(kinds @ sizes, share), share, np.array(most))
    drawn = [draw(index, y, size, rng) for index, size in zip(_members(pool, cell), counts)]
    return np.sort(np.concatenate(drawn))


def _members(pool: Indices, cell: Indices) -> list[Indices]:
    return [pool[cell == number] for number in range(cell.max() + 1)]


def _cell_counts(
    kinds: FloatArray, sizes: Indices, targets: Indices, share: float, most: NDArray[np.intp]
) -> NDArray[np.intp]:
    """Return integers k near share * sizes whose sums over the groups, kinds @ k, are the targets.

    Where no integers do, the sums miss as little as possible: minimise the sum of the misses (heavily)
    plus the distances from share * sizes.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    n_groups, n_cells = kinds.shape
    one, none = np.eye(n_cells), np.zeros((n_cells, 2 * n_groups))
    miss = np.eye(n_groups)
    # columns: k, distance of k from its share, targets missed below, targets missed above
    rows = np.block(
        [[kinds, np.zeros((n_groups, n_cells)), miss, -miss], [one, -one, none], [one, one, none]]
    )
    wanted = share * sizes
    lower = np.concatenate([targets, np.full(n_cells, -np.inf), wanted])
    upper = np.concatenate([targets, wanted, np.full(n_cells, np.inf)])
    cost = np.concatenate([np.zeros(n_cells), np.ones(n_cells), np.full(2 * n_groups, 1e3)])
    ceiling = np.concatenate([most, np.full(n_cells + 2 * n_groups, np.inf)])
    integer = np.concatenate([np.ones(n_cells), np.zeros(n_cells + 2 * n_groups)])
    solved = milp(
        cost,
        constraints=LinearConstraint(rows, lower, upper),
        bounds=Bounds(0, ceiling),
        integrality=integer,
        options={"presolve": False},  # HiGHS's presolve ends some of these with "solve error"
    )
    return np.rint(solved.x[:n_cells]).astype(np.intp)


# ---- a given assignment ------------------------------------------------------------------------------


def _given_split(dataset: ZeroShotDataset, path: Path) -> GZSLSplit:
    """Return the split of an assignment file.

    Its first fold's seen test samples are the seen test set; they are kept out of the other folds too,
    where the file may have them in training.
    """
    given = read_assignments(path, dataset)
    test_seen = np.flatnonzero(np.char.startswith(given[0], "seen_test"))
    pool = np.flatnonzero((given[0] != "test") & (given[0] != ""))
    return GZSLSplit(
        train=np.setdiff1d(pool, test_seen),
        test_seen=test_seen,
        test_unseen=np.flatnonzero(given[0] == "test"),
        folds=tuple(_given_fold(parts, test_seen) for parts in given),
        y=dataset.y,
        class_names=dataset.class_names,
        given=given,
    )


def _given_fold(parts: Assignment, test_seen: Indices) -> Fold:
    train, seen_val, val = (
        np.setdiff1d(np.flatnonzero(parts == part), test_seen) for part in ("train", "seen_val", "val")
    )
    return Fold(train, seen_val, val)


def read_assignments(path: Path, dataset: ZeroShotDataset) -> tuple[Assignment, ...]:
    """Return the columns that test the unseen classes of this data set, in the order of its samples."""
    if not path.is_file():
        near = did_you_mean(str(path), RULES)
        raise UnseenError(f"{path} is no split rule: expected official, paper or a CSV file.{near}")
    header, rows = read_csv(path)
    table = np.array(rows, dtype=str)[_row_of_sample(path, [row[0] for row in rows], dataset)]
    columns = {name: table[:, number] for number, name in enumerate(header) if number}
    folds = {name: parts for name, parts in columns.items() if np.isin(parts, [*PARTS, ""]).all()}
    unseen = np.flatnonzero(dataset.unseen)
    fitting = [c for c in folds.values() if np.array_equal(np.unique(dataset.y[c == "test"]), unseen)]
    if not fitting:
        raise UnseenError(
            f"{path} has no column that tests the {len(unseen)} unseen classes of {dataset.name}; its "
            f"assignments are: {', '.join(folds) or 'none'}. Expected words among {', '.join(PARTS)}."
        )
    return tuple(fitting)


def _row_of_sample(path: Path, names: list[str], dataset: ZeroShotDataset) -> Indices:
    """Return the line of every sample: by name where the data set has names, else in order."""
    if dataset.sample_names is None:
        if len(names) != len(dataset.y):
            raise UnseenError(
                f"{path} has {len(names)} lines but {dataset.name} has {len(dataset.y)} samples, and no "
                "sample names to match them by."
            )
        return np.arange(len(names))
    row = {name: number for number, name in enumerate(names)}
    missing = [name for name in dataset.sample_names if name not in row]
    if missing:
        raise UnseenError(f"{path} does not assign sample {str(missing[0])!r} ({len(missing)} missing).")
    return np.array([row[name] for name in dataset.sample_names], dtype=np.intp)
