"""How similar two class descriptions are, and what their similarities predict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.spatial.distance import cdist, pdist

from unseen._core.blocks import FloatArray, row_blocks
from unseen._core.scaling import squared_lengths
from unseen.methods._moments import Spectrum

LANDMARKS = 2048  # seen classes whose kernel matrix is used in full; of more classes, this many are landmarks
CLASS_BLOCK = 1024  # classes whose similarities to the landmarks exist at any moment
_PAIRS = 2**20  # distances that are computed one by one, which is slower and more exact


def kernel_matrix(
    A: FloatArray, S: FloatArray, kernel: str, bandwidth: float, median: float | None = None
) -> FloatArray:
    """Return the similarities of prototypes A to seen prototypes S, (len(A), len(S)).

    ``median`` is the median distance between two rows of S, if it is known already.

    >>> kernel_matrix(np.eye(2), np.eye(2), "linear", 1.0)
    array([[1., 0.],
           [0., 1.]])
    """
    if kernel == "linear":
        return np.asarray(A @ S.T)
    # exp(-||a - s||^2 / (bandwidth median^2))
    width = bandwidth * (median_distance(S) if median is None else median) ** 2 or 1.0
    exponents = squared_distances(A, S)
    exponents /= -width
    return np.exp(exponents, out=exponents)


def squared_distances(A: FloatArray, S: FloatArray) -> FloatArray:
    """Return the squared distances of the rows of A to those of S; very many of them by a matrix product."""
    if len(A) * len(S) <= _PAIRS:
        return np.asarray(cdist(A, S, "sqeuclidean"))
    # ||a - s||^2 = ||a||^2 + ||s||^2 - 2 a.s
    squares = squared_lengths(A)[:, None] + squared_lengths(S)
    products = A @ S.T
    squares -= np.multiply(products, 2, out=products)
    return np.maximum(squares, 0, out=squares)


def median_distance(S: FloatArray) -> float:
    """Return the median distance between two rows, 0 for a single row."""
    return float(np.median(pdist(S))) if len(S) > 1 else 0.0


# ---- kernel ridge regression -------------------------------------------------------------------------------


def choose_landmarks(S: FloatArray, n: int) -> FloatArray:
    """Return n rows at random, always the same ones of equally many; all rows if there are no more."""
    if len(S) <= n:
        return S
    chosen: FloatArray = S[np.sort(np.random.default_rng(0).permutation(len(S))[:n])]
    return chosen


@dataclass(frozen=True, eq=False)
class KernelRidge:
    """Kernel ridge regression of targets M on prototypes S, for every alpha: ``mu(s) = k(s, L) A``.

    The landmarks L are all of S, up to ``LANDMARKS`` of them. Of more prototypes a random part is L, and the
    kernel is the Nyström approximation ``k(s, L) K_L^-1 k(L, s')``: nothing has seen x seen entries. In both
    cases this is ridge regression on features ``phi(s) = k(s, L) C`` with ``Phi'Phi = diag(w)``.
    """

    landmarks: FloatArray  # L, (landmarks, attributes)
    C: FloatArray  # (landmarks, rank)
    values: FloatArray  # w, (rank,)
    targets: FloatArray  # Phi' M, (rank, columns of M)

    @classmethod
    def of(cls, S: FloatArray, M: FloatArray, kernel: str, bandwidth: float = 1.0) -> Self:
        """Factorize for seen prototypes S and what to predict for them, M."""
        L = choose_landmarks(S, LANDMARKS)
        median = None if kernel == "linear" else median_distance(L)
        K = Spectrum.of_gram(kernel_matrix(L, L, kernel, bandwidth, median))
        C = K.vectors / np.sqrt(K.values)  # (landmarks, rank)
        if len(L) == len(S):
            return cls(L, C, K.values, (C * K.values).T @ M)
        gram, targets = np.zeros((C.shape[1], C.shape[1])), np.zeros((C.shape[1], M.shape[1]))
        for block in row_blocks(len(S), CLASS_BLOCK):
            Phi = kernel_matrix(S[block], L, kernel, bandwidth, median) @ C  # (block, rank)
            gram += Phi.T @ Phi
            targets += Phi.T @ M[block]
        eig = Spectrum.of_gram(gram)  # rotated, Phi'Phi is diagonal
        return cls(L, C @ eig.vectors, eig.values, eig.vectors.T @ targets)

    def project(self, rows: FloatArray) -> FloatArray:
        """Return ``Phi' rows`` for a row per prototype, all of which are landmarks."""
        # K = U diag(w) U', Phi = U diag(sqrt(w)), C = U diag(1 / sqrt(w))
        return np.asarray((self.C * self.values).T @ rows)

    def weights(self, alpha: float, targets: FloatArray | None = None) -> FloatArray:
        """Return A with ``mu(s) = k(s, L) A``, (landmarks, columns); A P for the targets ``Phi' M P``."""
        # A = C (Phi'Phi + alpha I)^-1 Phi' M
        return np.asarray((self.C / (self.values + alpha)) @ (self.targets if targets is None else targets))
