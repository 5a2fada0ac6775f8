"""What a closed form needs of a training set: sums that stream and merge, and their spectra."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from itertools import repeat
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dsyrk

from unseen._core.blocks import FloatArray, class_sums
from unseen._core.scaling import Standardization, weigh_rows
from unseen.errors import UnseenError

_BRANCHES = 8  # moments that are added in one step of a tree of them


@dataclass(frozen=True)
class Moments:
    """Count and sum of the samples of each class, and the Gram matrix X'X; all in float64.

    A sample of weight w counts as w equal samples. Moments of two sets of samples add up to the moments of
    their union: a training set can come in blocks, or from several machines.

    Attributes
    ----------
    count : ndarray of shape (n_classes,)
    total : ndarray of shape (n_classes, n_features)
    triangle : ndarray of shape (n_features, n_features), or None if a method needs only class sums
        The lower triangle of X'X; what is above the diagonal has no meaning.
    gram : ndarray of shape (n_features, n_features), or None
        X'X, made from its triangle.

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
    triangle: FloatArray | None  # (features, features)

    @classmethod
    def of(
        cls,
        X: FloatArray,
        y: NDArray[np.intp],
        n_classes: int,
        *,
        gram: bool = True,
        weight: FloatArray | None = None,
    ) -> Self:
        """Return the moments of samples X (n, features) with class indices y (n,) and weights (n,)."""
        return cls.from_blocks([(X, y)], n_classes, gram=gram, weights=[weight])

    @classmethod
    def from_blocks(
        cls,
        blocks: Iterable[tuple[FloatArray, NDArray[np.intp]]],
        n_classes: int,
        *,
        gram: bool = True,
        weights: Iterable[FloatArray | None] = repeat(None),
    ) -> Self:
        """Return the moments of samples that come in blocks of (X, y), with the weights of each block."""
        count = np.zeros(n_classes)
        total = triangle = None
        buffer = np.empty((0, 0))
        for (X, y), weight in zip(blocks, weights):
            if X.dtype != np.float64 or not X.flags.c_contiguous:
                if len(buffer) < len(X) or buffer.shape[1:] != X.shape[1:]:
                    buffer = np.empty(X.shape)
                # into the same memory again: allocating it again is slower than copying
                buffer[: len(X)] = X
                X = buffer[: len(X)]
            count += np.bincount(y, weight, minlength=n_classes)
            sums = class_sums(X, y, n_classes, weight)  # (classes, features)
            total = sums if total is None else np.add(total, sums, out=total)
            if gram:
                R = weigh_rows(X, weight)
                # one triangle += that of R'R, in place: no second matrix of that size
                triangle = dsyrk(1.0, R.T, beta=1.0, c=triangle, overwrite_c=True)
        if total is None:
            raise UnseenError("There is no block of samples. Pass at least one.")
        return cls(count, total, None if triangle is None else triangle.T)  # BLAS has columns

    @classmethod
    def from_dask(cls, X: Any, y: Any, n_classes: int, *, gram: bool = True) -> Self:
        """Return the moments of a Dask array X (n, features) with class indices y, a Dask or NumPy array.

        Each chunk is summed where it is, and the sums are added as a tree: only moments travel.
        """
        import dask.array
        from dask.delayed import delayed

        X = X.rechunk({1: -1})
        y = y if is_dask(y) else dask.array.from_array(np.asarray(y), chunks=X.chunks[0])  # type: ignore[no-untyped-call]
        if y.chunks[0] != X.chunks[0] and not np.isnan([*X.chunks[0], *y.chunks[0]]).any():
            y = y.rechunk({0: X.chunks[0]})
        chunks = zip(X.to_delayed().ravel(), y.to_delayed().ravel(), strict=True)
        parts = [delayed(cls.of)(*chunk, n_classes, gram=gram) for chunk in chunks]
        while len(parts) > 1:
            branches = (parts[i : i + _BRANCHES] for i in range(0, len(parts), _BRANCHES))
            parts = [delayed(reduce)(operator.add, branch) for branch in branches]
        moments: Self = parts[0].compute()
        return moments

    def for_classes(self, index: NDArray[np.intp]) -> Self:
        """Return the moments with these rows of ``count`` and ``total``; -1 stands for a new, empty class.

        >>> Moments.of(np.eye(2), np.array([0, 1]), 2).for_classes(np.array([1, -1])).count
        array([1., 0.])
        """
        known = index >= 0
        count, total = np.where(known, self.count[index], 0), self.total[index]
        total[~known] = 0
        return type(self)(count, total, self.triangle)

    def standardized(self) -> tuple[Self, Standardization]:
        """Return the moments of ``(x - mean) / scale``, and mean and scale; needs the Gram matrix."""
        assert self.triangle is not None
        mean = self.total.sum(axis=0) / self.n
        variance = np.diagonal(self.triangle) / self.n - mean**2
        constant = variance <= 1e-14 * mean**2  # nothing but rounding
        scale = np.sqrt(np.where(constant, 1.0, variance))
        total = (self.total - np.outer(self.count, mean)) / scale
        triangle = (self.triangle - self.n * np.outer(mean, mean)) / np.outer(scale, scale)
        return type(self)(self.count, total, triangle), Standardization(mean, scale)

    def __add__(self, other: Self) -> Self:
        a, b = self.triangle, other.triangle
        triangle = None if a is None or b is None else a + b
        return type(self)(self.count + other.count, self.total + other.total, triangle)

    def without(self, part: Self) -> Self:
        """Return the moments of all samples but those of ``part``, in the memory of its Gram matrix.

        >>> X, y = np.eye(3), np.array([0, 1, 1])
        >>> Moments.of(X, y, 2).without(Moments.of(X[:1], y[:1], 2)).count
        array([0., 2.])
        """
        assert self.triangle is not None and part.triangle is not None
        triangle = np.subtract(self.triangle, part.triangle, out=part.triangle)
        return type(self)(self.count - part.count, self.total - part.total, triangle)

    @property
    def gram(self) -> FloatArray | None:
        """The whole Gram matrix X'X."""
        return None if self.triangle is None else np.tril(self.triangle) + np.tril(self.triangle, -1).T

    @property
    def n(self) -> float:
        """The number of samples."""
        return float(self.count.sum())


def is_dask(array: Any) -> bool:
    """Return whether this is a Dask array, without importing Dask."""
    return type(array).__module__.startswith("dask.") and hasattr(array, "to_delayed")


@dataclass(frozen=True)
class Spectrum:
    """Positive eigenvalues and their eigenvectors of a Gram matrix A'A, of which the lower triangle is read.

    Directions in which A is zero up to rounding are left out. Everything that a closed form divides by
    ``values + alpha`` is zero there too, so nothing is lost, and alpha may be as small as one likes.
    """

    values: FloatArray  # (rank,)
    vectors: FloatArray  # (features, rank)

    @classmethod
    def of_gram(cls, gram: FloatArray) -> Self:
        """Factorize a Gram matrix A'A (features, features)."""
        # not SciPy's: it holds the GIL here, which would block Ctrl-C
        values, vectors = np.linalg.eigh(gram)
        noise = len(values) * np.finfo(values.dtype).eps * max(values.max(initial=0.0), 0.0)
        keep = values > noise  # rounding cannot distinguish the others from zero
        return cls(values[keep], vectors[:, keep])

    @classmethod
    def of_rows(cls, A: FloatArray) -> Self:
        """Factorize A'A through the smaller of A'A and AA', for A of shape (n, features)."""
        A = A.astype(np.float64, copy=False)
        if len(A) >= A.shape[1]:
            return cls.of_gram(A.T @ A)
        # A A' u = e u  =>  A'A v = e v with v = A'u / sqrt(e)
        small = cls.of_gram(A @ A.T)
        return cls(small.values, (A.T @ small.vectors) / np.sqrt(small.values))


def target_spectrum(moments: Moments, S: FloatArray) -> Spectrum:
    """Return the spectrum of T'T = S' diag(n) S, where row n of T is the prototype of sample n."""
    return Spectrum.of_rows(np.sqrt(moments.count)[:, None] * S)
