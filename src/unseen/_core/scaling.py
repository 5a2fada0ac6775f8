"""Rows of unit length, without overflow, and products with them."""

from __future__ import annotations

import numpy as np

from unseen._core.blocks import BoolArray, FloatArray


def scale_rows(X: FloatArray, normalize: str | None, out: FloatArray | None = None) -> FloatArray:
    """Return X with rows of unit length (``"l2"``) or as it is (``None``); a zero row stays zero.

    >>> scale_rows(np.array([[3.0, 4.0], [0.0, 0.0]]), "l2")
    array([[0.6, 0.8],
           [0. , 0. ]])
    """
    if normalize is None:
        return X
    norm, safe = row_lengths(X)
    extreme = _scale_extreme_rows(X[~safe])
    scaled: FloatArray = np.divide(X, norm[:, None], out=out)
    scaled[~safe] = extreme
    return scaled


def row_lengths(X: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Return the length of every row, and whether its square neither over- nor underflowed; 1 if it did."""
    with np.errstate(over="ignore"):
        norm = np.sqrt(squared_lengths(X))
    safe = (norm > 1e-15) & (norm < 1e15)  # float32 included
    return np.where(safe, norm, 1), safe


def scaled_product(X: FloatArray, coef: FloatArray, normalize: str | None) -> FloatArray:
    """Return ``scale_rows(X, normalize) @ coef``; there are fewer scores than features to divide."""
    if normalize is None:
        return np.asarray(X @ coef)
    norm, safe = row_lengths(X)
    if not safe.all():
        return np.asarray(scale_rows(X, normalize) @ coef)
    scores = X @ coef
    scores /= norm[:, None]
    return np.asarray(scores)


def _scale_extreme_rows(X: FloatArray) -> FloatArray:
    """Divide by the largest value first: the squares of features of 1e30 or 1e-30 do not exist."""
    largest = np.abs(X).max(axis=1, keepdims=True)
    X = X / np.where(largest == 0, 1, largest)
    norm = np.sqrt(squared_lengths(X))[:, None]
    return X / np.where(norm == 0, 1, norm)


def squared_lengths(X: FloatArray) -> FloatArray:
    """Return ``||x||^2`` of every row.

    >>> squared_lengths(np.array([[3.0, 4.0], [0.0, 1.0]]))
    array([25.,  1.])
    """
    return np.asarray(np.einsum("ij,ij->i", X, X))
