"""Samples in blocks: as many rows at a time as fit the cache, or the memory allowed for scores."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

BLOCK = 4096  # rows that exist in a second form (scaled, scored) at any moment
SCORES = 2**23  # scores that exist at any moment if only their largest are needed
MANY_CLASSES = 1000  # beyond this many, the scores are larger than the features that they are made from
FloatArray = NDArray[np.floating]
IndexArray = NDArray[np.intp]
BoolArray = NDArray[np.bool_]


def row_blocks(n: int, size: int = BLOCK) -> Iterator[slice]:
    """Yield slices that cover ``range(n)`` in order."""
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))


def score_blocks(n: int, n_classes: int) -> Iterator[slice]:
    """Yield slices that cover ``range(n)``, the shorter the more classes there are to score."""
    yield from row_blocks(n, min(BLOCK, max(SCORES // n_classes, 64)))


def top_columns(scores: FloatArray, k: int) -> NDArray[np.intp]:
    """Return the columns of the k highest scores of each row, the highest first, (rows, k).

    Among equal scores the first column wins. Only rows with a tie for the last place are sorted completely.

    >>> top_columns(np.array([[3.0, 5.0, 1.0, 5.0]]), 3)
    array([[1, 3, 0]])
    """
    top = np.sort(np.argpartition(scores, -k, axis=1)[:, -k:], axis=1)
    values = np.take_along_axis(scores, top, axis=1)
    last = values.min(axis=1, keepdims=True)
    tied = np.flatnonzero((scores >= last).sum(axis=1) > k)
    top = np.take_along_axis(top, np.argsort(-values, axis=1, kind="stable"), axis=1)
    top[tied] = np.argsort(-scores[tied], axis=1, kind="stable")[:, :k]
    return top


def class_sums(X: FloatArray, y: IndexArray, n_classes: int, weight: FloatArray | None = None) -> FloatArray:
    """Return the sum of the samples of each class, each times its weight, (classes, features).

    >>> class_sums(np.array([[1.0], [2.0], [4.0]]), np.array([1, 0, 1]), 3)
    array([[2.],
           [5.],
           [0.]])
    """
    from scipy.sparse import csr_array

    weight = np.ones(len(y)) if weight is None else weight
    members = csr_array((weight, (y, np.arange(len(y)))), shape=(n_classes, len(y)))
    return np.asarray(members @ X)
