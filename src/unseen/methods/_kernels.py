"""How similar two class descriptions are."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist, pdist

from unseen._core.blocks import FloatArray
from unseen._core.scaling import squared_lengths

_PAIRS = 2**22  # distances that are computed one by one, which is slower and more exact


def kernel_matrix(
    A: FloatArray, S: FloatArray, kernel: str, bandwidth: float, median: float | None = None
) -> FloatArray:
    """Return the similarities of prototypes A to seen prototypes S, (len(A), len(S)).

    ``median`` is the median distance between two rows of S, where it is known already.

    >>> kernel_matrix(np.eye(2), np.eye(2), "linear", 1.0)
    array([[1., 0.],
           [0., 1.]])
    """
    if kernel == "linear":
        return np.asarray(A @ S.T)
    # exp(-||a - s||^2 / (bandwidth median^2))
    width = bandwidth * (median_distance(S) if median is None else median) ** 2 or 1.0
    return np.asarray(np.exp(-squared_distances(A, S) / width))


def squared_distances(A: FloatArray, S: FloatArray) -> FloatArray:
    """Return the squared distances of the rows of A to those of S; very many of them by a matrix product."""
    if len(A) * len(S) <= _PAIRS:
        return np.asarray(cdist(A, S, "sqeuclidean"))
    # ||a - s||^2 = ||a||^2 + ||s||^2 - 2 a.s
    squares = squared_lengths(A)[:, None] + squared_lengths(S)
    squares -= 2 * (A @ S.T)
    return np.maximum(squares, 0, out=squares)


def median_distance(S: FloatArray) -> float:
    """Return the median distance between two rows, 0 for a single row."""
    return float(np.median(pdist(S))) if len(S) > 1 else 0.0
