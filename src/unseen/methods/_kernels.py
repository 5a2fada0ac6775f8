"""How similar two class descriptions are."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist, pdist

from unseen._core.blocks import FloatArray


def kernel_matrix(A: FloatArray, S: FloatArray, kernel: str, bandwidth: float) -> FloatArray:
    """Return the similarities of prototypes A to seen prototypes S, (len(A), len(S)).

    >>> kernel_matrix(np.eye(2), np.eye(2), "linear", 1.0)
    array([[1., 0.],
           [0., 1.]])
    """
    if kernel == "linear":
        return np.asarray(A @ S.T)
    # exp(-||a - s||^2 / (bandwidth median^2))
    width = bandwidth * median_distance(S) ** 2 or 1.0
    return np.asarray(np.exp(-cdist(A, S, "sqeuclidean") / width))


def median_distance(S: FloatArray) -> float:
    """Return the median distance between two rows, 0 for a single row."""
    return float(np.median(pdist(S))) if len(S) > 1 else 0.0
