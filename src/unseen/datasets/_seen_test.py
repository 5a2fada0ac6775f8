"""The seen test set by the paper's rule: how many samples of which classes, and which ones.

It exists because the paper draws a seen test set per fold, which would let selection see samples of the final
test. One set for all folds with the same counts in each of them takes an integer program.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from unseen._core.blocks import FloatArray, IndexArray
from unseen._core.labels import LabelArray
from unseen.errors import UnseenError

ClassFold = tuple[ArrayLike, ArrayLike]  # train classes, validation classes


def draw_test_seen(
    pool: IndexArray, y: IndexArray, class_folds: Sequence[ClassFold], share: float, rng: np.random.Generator
) -> IndexArray:
    """Return a seen test set with floor(share * n) of the n samples in each fold's train and val classes.

    A *cell* is a group of classes that are on the same side in every fold. The integer program says how many
    samples each cell gives; which ones is random.
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
    return np.asarray(np.rint(solved.x[:n_cells]), dtype=np.intp)


def share_of(n: ArrayLike, share: float) -> IndexArray:
    """Return floor(share * n), safe from rounding errors: 0.29 of 100 is 29.

    >>> int(share_of(100, 0.29))
    29
    """
    if not 0 < share < 1:
        raise UnseenError(f"Got a share of {share!r}, but expected a number between 0 and 1.")
    return np.asarray(np.floor(np.asarray(n) * share + 1e-9), dtype=np.intp)


def draw(group: IndexArray, y: LabelArray, size: int, rng: np.random.Generator) -> IndexArray:
    """Return ``size`` samples of the group at random, but never the last one of a class."""
    shuffled = rng.permutation(group)
    _, first = np.unique(y[shuffled], return_index=True)
    return np.sort(np.delete(shuffled, first)[:size])


def draw_groups(
    members: IndexArray, y: LabelArray, groups: IndexArray, size: int, rng: np.random.Generator
) -> IndexArray:
    """Return at most ``size`` samples, whole groups at random, but never the last sample of a class.

    >>> y, groups = np.array([0, 1, 0, 1, 0, 1]), np.array([0, 0, 1, 1, 2, 2])
    >>> draw_groups(np.arange(6), y, groups, 3, np.random.default_rng(0))
    array([4, 5])
    """
    of_group = np.unique(groups[members], return_inverse=True)[1]
    of_class = np.unique(y[members], return_inverse=True)[1]
    parts = np.split(np.argsort(of_group, kind="stable"), np.cumsum(np.bincount(of_group))[:-1])
    left, drawn = np.bincount(of_class), members[:0]  # samples of each class that stay, positions that leave
    for part in (parts[group] for group in rng.permutation(len(parts))):
        taken = np.bincount(of_class[part], minlength=len(left))
        if len(drawn) + len(part) <= size and np.all(left > taken):
            left, drawn = left - taken, np.concatenate([drawn, part])
    return np.sort(members[drawn])
