"""Samples on a common scale: rows of unit length without overflow, square roots, standardized features."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from unseen._core.blocks import BoolArray, FloatArray

SCALINGS = ("l2", "sqrt", "standard", None)  # of samples, what ``normalize`` may be
Matrices = Sequence[FloatArray]


def scale_rows(X: FloatArray, normalize: str | None, out: FloatArray | None = None) -> FloatArray:
    """Return X with rows of unit length (``"l2"``, or ``"sqrt"`` of signed square roots), else unchanged.

    A zero row stays zero. Standardized features (``"standard"``) are part of the classifier: see
    ``Standardization``.

    >>> scale_rows(np.array([[3.0, 4.0], [0.0, 0.0]]), "l2")
    array([[0.6, 0.8],
           [0. , 0. ]])
    >>> scale_rows(np.array([[9.0, -16.0]]), "sqrt")
    array([[ 0.6, -0.8]])
    """
    if not has_unit_rows(normalize):
        return X
    if normalize == "sqrt":
        X = signed_roots(X, out)
    norm, safe = row_lengths(X)
    extreme = _scale_extreme_rows(X[~safe])
    scaled: FloatArray = np.divide(X, norm[:, None], out=out)
    scaled[~safe] = extreme
    return scaled


def has_unit_rows(normalize: str | None) -> bool:
    """Return whether samples count with unit length."""
    return normalize in ("l2", "sqrt")


def signed_roots(X: FloatArray, out: FloatArray | None = None) -> FloatArray:
    """Return ``sign(x) sqrt(|x|)`` of every feature, in ``out`` if given, which may be X.

    >>> signed_roots(np.array([4.0, -9.0, 0.0]))
    array([ 2., -3.,  0.])
    """
    roots: FloatArray = np.sqrt(np.abs(X))
    return np.copysign(roots, X, out=roots if out is None else out)


def row_lengths(X: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Return the length of every row, and whether its square neither over- nor underflowed; 1 if it did."""
    with np.errstate(over="ignore"):
        norm = np.sqrt(squared_lengths(X))
    safe = (norm > 1e-15) & (norm < 1e15)  # float32 included
    return np.where(safe, norm, 1), safe


def scaled_products(X: FloatArray, coefs: Matrices, normalize: str | None, out: Matrices) -> list[FloatArray]:
    """Return ``scale_rows(X, normalize) @ coef`` for each coef (features, columns), in ``out``.

    The lengths of the rows divide the features or the scores, whichever are fewer.

    >>> scaled_products(np.array([[3.0, 4.0]]), [np.array([[1.0], [0.0]])], "l2", [np.empty((1, 1))])
    [array([[0.6]])]
    """
    if normalize == "sqrt":
        X = signed_roots(X)
    unit = has_unit_rows(normalize)
    norm, safe = row_lengths(X) if unit else (np.empty(0), np.ones(0, dtype=bool))
    rows_first = unit and (sum(coef.shape[1] for coef in coefs) > X.shape[1] or not safe.all())
    if rows_first:
        X = scale_rows(X, "l2")
    products = [np.matmul(X, coef, out=part) for coef, part in zip(coefs, out)]
    for scores in products if unit and not rows_first else ():  # (rows, columns)
        scores /= norm[:, None]
    return products


def project(coefs: Matrices, span: FloatArray | None) -> tuple[FloatArray | None, Matrices]:
    """Return an orthonormal basis Q of the span and each ``coef Q``; None and coefs if these leave it."""
    if span is None:
        return None, coefs
    Q = np.linalg.qr(span.T.astype(np.float64))[0]  # (features, directions)
    projected = [coef @ Q for coef in coefs]
    # ||c||^2 = ||Q'c||^2 + squared distance from the span
    lengths = [(squared_lengths(coef), squared_lengths(short)) for coef, short in zip(coefs, projected)]
    inside = all((within >= (1 - 1e-13) * whole).all() for whole, within in lengths)
    return (Q, projected) if inside else (None, coefs)


def _scale_extreme_rows(X: FloatArray) -> FloatArray:
    """Divide by the largest value first: the squares of features of 1e30 or 1e-30 over- or underflow."""
    largest = np.abs(X).max(axis=1, keepdims=True)
    X = X / np.where(largest == 0, 1, largest)
    norm = np.sqrt(squared_lengths(X))[:, None]
    return X / np.where(norm == 0, 1, norm)


def weigh_rows(X: FloatArray, weight: FloatArray | None) -> FloatArray:
    """Return R with R'R = X' diag(weight) X: the rows times the roots of their weights; X without weights."""
    return X if weight is None else X * np.sqrt(weight)[:, None]


def squared_lengths(X: FloatArray) -> FloatArray:
    """Return ``||x||^2`` of every row.

    >>> squared_lengths(np.array([[3.0, 4.0], [0.0, 1.0]]))
    array([25.,  1.])
    """
    return np.asarray(np.einsum("ij,ij->i", X, X))


@dataclass(frozen=True, eq=False)
class Standardization:
    """Features with mean 0 and variance 1: ``z = (x - mean) / scale``; a constant feature keeps scale 1.

    A linear classifier of z is one of x: ``coef / scale``, so standardizing costs nothing in prediction.

    Examples
    --------
    >>> standard = Standardization.of_blocks([np.array([[1.0, 5.0], [3.0, 5.0]])], [None])
    >>> standard.apply(np.array([[3.0, 5.0]]))
    array([[1., 0.]])
    """

    mean: FloatArray  # (features,)
    scale: FloatArray  # (features,)

    @classmethod
    def of_blocks(cls, blocks: Iterable[FloatArray], weights: Iterable[FloatArray | None]) -> Self:
        """Measure samples that come in blocks, with the weights of each block."""
        from sklearn.preprocessing import StandardScaler

        scaler = StandardScaler()
        for X, weight in zip(blocks, weights):
            scaler.partial_fit(X.astype(np.float64, copy=False), sample_weight=weight)
        return cls(scaler.mean_, scaler.scale_)

    def apply(self, X: FloatArray) -> FloatArray:
        """Return standardized samples."""
        return np.asarray(((X - self.mean) / self.scale).astype(X.dtype, copy=False))

    def fold(self, coef: FloatArray, intercept: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the classifier of raw features that scores as (coef, intercept) do standardized ones."""
        # z . c + b = x . (c / scale) + b - mean . (c / scale)
        raw = coef / self.scale
        return raw, intercept - raw @ self.mean
