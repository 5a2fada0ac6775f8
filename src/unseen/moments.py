"""Closed-form methods see a training set only through sums: they stream, merge and subtract."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import scipy.linalg
import scipy.sparse
from numpy.typing import NDArray

from unseen.base import FloatArray, Training, ZeroShotClassifier


@dataclass(frozen=True)
class Moments:
    """Count and sum of the samples of each class, and the Gram matrix X'X; all in float64.

    Moments of two sets of samples add up to the moments of their union, and subtract again: a training
    set can come in blocks, from several machines, or as "all samples but the held-out ones".

    Attributes
    ----------
    count : ndarray of shape (n_classes,)
    total : ndarray of shape (n_classes, n_features)
    gram : ndarray of shape (n_features, n_features), or None where a method needs only class sums

    Examples
    --------
    >>> X, y = np.eye(3), np.array([0, 1, 1])
    >>> both = Moments.of(X[:2], y[:2], 2) + Moments.of(X[2:], y[2:], 2)
    >>> both.count
    array([1., 2.])
    >>> bool((both.total == Moments.of(X, y, 2).total).all())
    True
    """

    count: FloatArray  # (classes,)
    total: FloatArray  # (classes, features)
    gram: FloatArray | None  # (features, features)

    @classmethod
    def of(cls, X: FloatArray, y: NDArray[np.intp], n_classes: int, *, gram: bool = True) -> Self:
        """Return the moments of one block of samples X (n, features) with class indices y (n,)."""
        X = X.astype(np.float64, copy=False)
        member = scipy.sparse.csr_array((np.ones(len(y)), (y, np.arange(len(y)))), shape=(n_classes, len(y)))
        count = np.bincount(y, minlength=n_classes).astype(np.float64)
        return cls(count, member @ X, X.T @ X if gram else None)

    @classmethod
    def from_blocks(
        cls, blocks: Iterable[tuple[FloatArray, NDArray[np.intp]]], n_classes: int, *, gram: bool = True
    ) -> Self:
        """Return the moments of samples that come in blocks of (X, y)."""
        blocks = iter(blocks)
        moments = cls.of(*next(blocks), n_classes, gram=gram)
        for X, y in blocks:
            moments._add_in_place(cls.of(X, y, n_classes, gram=gram))
        return moments

    def _add_in_place(self, other: Self) -> None:
        np.add(self.count, other.count, out=self.count)
        np.add(self.total, other.total, out=self.total)
        if self.gram is not None and other.gram is not None:
            np.add(self.gram, other.gram, out=self.gram)

    def __add__(self, other: Self) -> Self:
        gram = None if self.gram is None or other.gram is None else self.gram + other.gram
        return type(self)(self.count + other.count, self.total + other.total, gram)

    def __sub__(self, other: Self) -> Self:
        gram = None if self.gram is None or other.gram is None else self.gram - other.gram
        return type(self)(self.count - other.count, self.total - other.total, gram)

    @property
    def n(self) -> float:
        """The number of samples."""
        return float(self.count.sum())


@dataclass(frozen=True)
class Spectrum:
    """Positive eigenvalues and their eigenvectors of a Gram matrix A'A.

    Directions in which A is zero up to rounding are left out. Everything that a closed form divides by
    ``values + alpha`` is zero there too, so nothing is lost, and alpha may be as small as one likes.
    """

    values: FloatArray  # (rank,)
    vectors: FloatArray  # (features, rank)

    @classmethod
    def of_gram(cls, gram: FloatArray) -> Self:
        """Factorise a Gram matrix A'A (features, features)."""
        values, vectors = scipy.linalg.eigh(gram, driver="evd", check_finite=False)
        return cls(*_positive(values, vectors))

    @classmethod
    def of_rows(cls, A: FloatArray) -> Self:
        """Factorise A'A through the smaller of A'A and AA', for A of shape (n, features)."""
        A = A.astype(np.float64, copy=False)
        if len(A) >= A.shape[1]:
            return cls.of_gram(A.T @ A)
        # A A' u = e u  =>  A'A v = e v with v = A'u / sqrt(e)
        values, u = _positive(*scipy.linalg.eigh(A @ A.T, driver="evd", check_finite=False))
        return cls(values, (A.T @ u) / np.sqrt(values))


def _positive(values: FloatArray, vectors: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Leave out the eigenvalues that rounding cannot tell from zero."""
    noise = len(values) * np.finfo(values.dtype).eps * max(values.max(initial=0.0), 0.0)
    keep = values > noise
    return values[keep], vectors[:, keep]


class ClosedForm(ZeroShotClassifier):
    """Base of the methods that are solved from moments, all values of alpha from one factorisation."""

    # False for a method that needs only the class sums
    _uses_gram: ClassVar[bool] = True

    def _solve_path(self, training: Training, models: Sequence[Self]) -> Iterator[FloatArray]:
        thin = len(training.y) < training.X.shape[1]  # N < D: X'X is larger than the data
        gram = self._uses_gram and not thin
        moments = Moments.from_blocks(training.blocks(), len(training.S), gram=gram)
        spectrum = Spectrum.of_rows(training.rows(slice(None))) if self._uses_gram and thin else None
        yield from self._solve_moments(moments, spectrum, training.S, models)

    def _solve_moments(
        self, moments: Moments, spectrum: Spectrum | None, S: FloatArray, models: Sequence[Any]
    ) -> Iterator[FloatArray]:
        """Yield ``mapping_`` (attributes, features) for each model.

        ``spectrum`` is that of X'X where it is known already; otherwise it comes from ``moments.gram``.
        """
        raise NotImplementedError


def feature_spectrum(moments: Moments, spectrum: Spectrum | None) -> Spectrum:
    """Return the given spectrum of X'X, or factorise the Gram matrix of the moments."""
    if spectrum is not None:
        return spectrum
    assert moments.gram is not None
    return Spectrum.of_gram(moments.gram)


def target_spectrum(moments: Moments, S: FloatArray) -> Spectrum:
    """Return the spectrum of T'T = S' diag(n) S, where row n of T is the prototype of sample n."""
    return Spectrum.of_rows(np.sqrt(moments.count)[:, None] * S)
