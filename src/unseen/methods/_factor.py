"""A Gram matrix and its shifted inverses, by the factorization that fits.

Many inverses of one matrix are quickest by an eigendecomposition, which serves them all; few of them by a
Cholesky factorization each, which takes a twelfth of the time. Both are of the smaller side: if there are
fewer rows than features, of the products of the rows. One inverse per row of the right side is quickest by a
tridiagonal form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from scipy.linalg.lapack import dormqr, dpotrf, dpotrs, dptsv, dsytrd, dtpttr, dtrttp

from unseen._core.blocks import FloatArray
from unseen.methods._moments import Spectrum

FEW = 8  # Cholesky factorizations that take less time than one eigendecomposition
SAFE = 1e-6  # shift relative to the trace: with a smaller one, rounding shows in an inverse
Inverse = Callable[[FloatArray], FloatArray]  # from B (n, features) to B times the inverse


@dataclass(frozen=True, eq=False)
class Gram:
    """A'A of shape (features, features), or the rows of A if these are fewer.

    Only the lower triangle of A'A is read.

    Examples
    --------
    >>> A, B = np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([[4.0, 5.0]])
    >>> Gram(A.T @ A).inverse(1.0)(B)  # B (A'A + I)^-1
    array([[2., 1.]])
    """

    matrix: FloatArray  # (features, features), or A (n, features)
    of_rows: bool = False

    @cached_property
    def spectrum(self) -> Spectrum:
        """Its positive eigenvalues and their eigenvectors."""
        return Spectrum.of_rows(self.matrix) if self.of_rows else Spectrum.of_gram(self.matrix)

    @cached_property
    def trace(self) -> float:
        """The sum of its eigenvalues."""
        return float(np.vdot(self.matrix, self.matrix) if self.of_rows else np.trace(self.matrix))

    @cached_property
    def products(self) -> FloatArray:
        """A A' of the rows, (n, n)."""
        return np.asarray(self.matrix @ self.matrix.T)

    def inverse(self, shift: float, *, scale: float = 1.0, n: int = 1) -> Inverse:
        """Return ``(scale A'A + shift I)^-1``, one of n that are needed; without shift the pseudoinverse."""
        if scale == 0:
            return lambda B: np.asarray(1 / shift * B)
        A, factor = self.matrix, None
        if not self._is_spectral(shift / scale, n):
            shifted = (self.products.copy(), shift / scale) if self.of_rows else (scale * A, shift)
            factor = cholesky(*shifted)
        if factor is None:
            return spectral_inverse(self.spectrum, scale, shift)
        if not self.of_rows:
            return lambda B: np.asarray(dpotrs(factor, B.T)[0].T)
        # Woodbury: (scale A'A + shift I)^-1 = (I - A' (A A' + shift / scale I)^-1 A) / shift
        return lambda B: np.asarray((B - dpotrs(factor, (B @ A.T).T)[0].T @ A) / shift)

    def solve(self, B: FloatArray, shifts: Sequence[float]) -> Iterator[FloatArray]:
        """Yield ``B (A'A + shift I)^-1`` for each shift, where the rows of B are combined from those of A."""
        if not self._is_spectral(min(shifts), len(set(shifts))):
            yield from (self.inverse(shift)(B) for shift in shifts)
            return
        # A'A = V diag(e) V', and B is zero where A is: however small a shift, nothing overflows
        e, V = self.spectrum.values, self.spectrum.vectors
        BV = B @ V  # (rows of B, rank)
        for shift in shifts:
            yield (BV / (e + shift)) @ V.T

    def solve_rows(self, B: FloatArray, shifts: FloatArray, scales: Sequence[float]) -> Iterator[FloatArray]:
        """Yield row i of B times ``(scale A'A + shift_i I)^-1`` for each scale, with B as in ``solve``."""
        once = len(scales) == 1 and len(B) > 0 and B.shape[1] > 1 and not self.of_rows
        if once and shifts.min() > SAFE * scales[0] * self.trace:
            yield solve_tridiagonal(self.matrix, B, shifts, scales[0])
            return
        e, V = self.spectrum.values, self.spectrum.vectors
        BV = B @ V  # (rows of B, rank)
        for scale in scales:
            yield (BV / (shifts[:, None] + scale * e)) @ V.T

    def _is_spectral(self, least: float, n: int) -> bool:
        """Whether an eigendecomposition is needed for the least shift, or quickest for n shifts.

        It does not matter whether it is known already: results do not depend on what was computed before.
        """
        return n > FEW or least <= SAFE * self.trace

    @cached_property
    def compact(self) -> FloatArray:
        """The rows, or the triangle of the matrix as one row of (features + 1) features / 2; in float32.

        In float64 if they would overflow.
        """
        packed = self.matrix if self.of_rows else dtrttp(self.matrix.T)[0]
        fits = max(packed.max(initial=0.0), -packed.min(initial=0.0)) < np.finfo(np.float32).max
        return packed.astype(np.float32 if fits else np.float64)

    @classmethod
    def of_compact(cls, compact: FloatArray, n_features: int) -> Self:
        """Return the matrix that ``compact`` was made of.

        >>> np.tril(Gram.of_compact(Gram(np.array([[2.0, 1.0], [1.0, 3.0]])).compact, 2).matrix)
        array([[2., 0.],
               [1., 3.]])
        """
        compact = compact.astype(np.float64)
        of_rows = compact.ndim == 2
        return cls(compact if of_rows else dtpttr(n_features, compact)[0].T, of_rows)


def spectral_inverse(spectrum: Spectrum, scale: float, shift: float) -> Inverse:
    """Return the inverse of ``scale V diag(e) V' + shift I``."""
    V, inside = spectrum.vectors, 1 / (scale * spectrum.values + shift)
    outside = 1 / shift if shift > 0 else float(not len(inside))

    def apply(B: FloatArray) -> FloatArray:
        # V diag(inside) V' + outside (I - V V')
        BV = B @ V  # (n, rank)
        found = (BV * inside) @ V.T
        return np.asarray(found if V.shape[1] == len(V) else found + outside * (B - BV @ V.T))

    return apply


def solve_tridiagonal(G: FloatArray, B: FloatArray, shifts: FloatArray, scale: float) -> FloatArray:
    """Return row i of B times ``(scale G + shift_i I)^-1``, of which the lower triangle of G is read.

    It takes a third of the time of an eigendecomposition.

    >>> G = np.array([[1.0, 0.0], [1.0, 2.0]])
    >>> solve_tridiagonal(G, np.array([[1.0, 1.0]]), np.array([1.0]), 1.0).round(6)  # by [[2, 1], [1, 3]]
    array([[0.4, 0.2]])
    """
    # G = Q T Q'  =>  b (scale G + shift I)^-1 = (Q (scale T + shift I)^-1 Q' b)'
    reflectors, diagonal, beside, tau, _ = dsytrd(G.copy(order="F"), lower=1, overwrite_a=True)
    Q = np.asfortranarray(reflectors[1:, :-1])  # of all rows but the first
    X = B.T.copy(order="F")  # (features, rows of B)
    work = 64 * X.shape[1]
    X[1:] = dormqr("L", "T", Q, tau, X[1:], work)[0]
    for row, shift in enumerate(shifts):
        X[:, row] = dptsv(scale * diagonal + shift, scale * beside, X[:, row])[2]
    X[1:] = dormqr("L", "N", Q, tau, X[1:], work)[0]
    return X.T


def cholesky(A: FloatArray, shift: float) -> FloatArray | None:
    """Return U with ``U'U = A + shift I``; None if A is nothing but rounding, and not positive.

    The lower triangle of A is read, and overwritten. What is below the diagonal of U is undefined.
    """
    np.einsum("ii->i", A)[...] += shift
    factor, failed = dpotrf(A.T, overwrite_a=True, clean=False)  # the upper triangle of A'
    return None if failed else np.asarray(factor)
