"""Closed-form methods see a training set only through sums: they stream, merge and subtract."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from scipy.linalg.blas import dsyrk
from sklearn.base import clone

from unseen.base import FloatArray, Training, ZeroShotClassifier, encode_labels, scale_rows, split_prototypes
from unseen.errors import UnseenError

_SOLUTION = ("mapping_", "coef_", "intercept_")
_NO_SUMS = (
    "This model lacks the sums that further samples add to: it comes from a file, or was fitted on fewer "
    "samples than features. Call partial_fit from the first block on, on a new model."
)
_BRANCHES = 8  # moments that are added in one step of a tree of them


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
        """Return the moments of samples X (n, features) with class indices y (n,)."""
        return cls.from_blocks([(X, y)], n_classes, gram=gram)

    @classmethod
    def from_blocks(
        cls, blocks: Iterable[tuple[FloatArray, NDArray[np.intp]]], n_classes: int, *, gram: bool = True
    ) -> Self:
        """Return the moments of samples that come in blocks of (X, y)."""
        count = np.zeros(n_classes)
        total = triangle = None
        buffer = np.empty((0, 0))
        for X, y in blocks:
            if X.dtype != np.float64 or not X.flags.c_contiguous:
                if len(buffer) < len(X) or buffer.shape[1:] != X.shape[1:]:
                    buffer = np.empty(X.shape)
                # into the same memory again: to get it anew takes longer than to copy
                buffer[: len(X)] = X
                X = buffer[: len(X)]
            count += np.bincount(y, minlength=n_classes)
            sums = _membership(y, n_classes) @ X  # (classes, features)
            total = sums if total is None else np.add(total, sums, out=total)
            if gram:
                # upper triangle += that of X'X, in place: no second matrix of that size
                triangle = dsyrk(1.0, X.T, beta=1.0, c=triangle, overwrite_c=True)
        if total is None:
            raise UnseenError("There is no block of samples. Pass at least one.")
        return cls(count, total, None if triangle is None else triangle + np.triu(triangle, 1).T)

    @classmethod
    def from_dask(cls, X: Any, y: Any, n_classes: int, *, gram: bool = True) -> Self:
        """Return the moments of a Dask array X (n, features) with class indices y, a Dask or NumPy array.

        Each chunk is summed up where it lies, and the sums are added as a tree: only moments travel.
        """
        from dask import delayed

        parts = [
            delayed(cls.of)(X_chunk, y_chunk, n_classes, gram=gram) for X_chunk, y_chunk in dask_chunks(X, y)
        ]
        while len(parts) > 1:
            parts = [delayed(_sum)(parts[i : i + _BRANCHES]) for i in range(0, len(parts), _BRANCHES)]
        return parts[0].compute()

    def for_classes(self, index: NDArray[np.intp]) -> Self:
        """Return the moments with these rows of ``count`` and ``total``; -1 stands for a new, empty class.

        >>> Moments.of(np.eye(2), np.array([0, 1]), 2).for_classes(np.array([1, -1])).count
        array([1., 0.])
        """
        known = index >= 0
        count, total = np.where(known, self.count[index], 0), self.total[index]
        total[~known] = 0
        return type(self)(count, total, self.gram)

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


def _membership(y: NDArray[np.intp], n_classes: int) -> scipy.sparse.csr_array:
    """Return the sparse matrix (classes, samples) that sums the samples of each class."""
    return scipy.sparse.csr_array((np.ones(len(y)), (y, np.arange(len(y)))), shape=(n_classes, len(y)))


def _sum(parts: Sequence[Moments]) -> Moments:
    return reduce(operator.add, parts)


def dask_chunks(X: Any, y: Any) -> Iterator[tuple[Any, Any]]:
    """Yield pairs of delayed chunks (rows of X, their labels); no chunk is computed."""
    import dask.array

    X = X.rechunk({1: -1})
    y = y if is_dask(y) else dask.array.from_array(np.asarray(y), chunks=X.chunks[0])
    if y.chunks[0] != X.chunks[0] and not np.isnan([*X.chunks[0], *y.chunks[0]]).any():
        y = y.rechunk({0: X.chunks[0]})
    yield from zip(X.to_delayed().ravel(), y.to_delayed().ravel(), strict=True)


def is_dask(array: Any) -> bool:
    """Tell a Dask array without importing Dask."""
    return type(array).__module__.startswith("dask.") and hasattr(array, "to_delayed")


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
        # NumPy's, for SciPy's stops all other threads meanwhile, and with them the answer to Ctrl-C
        values, vectors = np.linalg.eigh(gram)
        return cls(*_positive(values, vectors))

    @classmethod
    def of_rows(cls, A: FloatArray) -> Self:
        """Factorise A'A through the smaller of A'A and AA', for A of shape (n, features)."""
        A = A.astype(np.float64, copy=False)
        if len(A) >= A.shape[1]:
            return cls.of_gram(A.T @ A)
        # A A' u = e u  =>  A'A v = e v with v = A'u / sqrt(e)
        values, u = _positive(*np.linalg.eigh(A @ A.T))
        return cls(values, (A.T @ u) / np.sqrt(values))


def _positive(values: FloatArray, vectors: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Leave out the eigenvalues that rounding cannot tell from zero."""
    noise = len(values) * np.finfo(values.dtype).eps * max(values.max(initial=0.0), 0.0)
    keep = values > noise
    return values[keep], vectors[:, keep]


class ClosedForm(ZeroShotClassifier):
    """Base of the methods that are solved from moments, all values of alpha from one factorisation.

    Attributes
    ----------
    moments_ : Moments
        The sums of the seen classes that the solution was made from; ``partial_fit`` adds to them.
    """

    # False for a method that needs only the class sums
    _uses_gram: ClassVar[bool] = True

    moments_: Moments

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from samples X with labels y; unseen classes have no sample.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), path or list of paths, Dask array, or iterable
            A memory-mapped array, a ``.npy`` file and a list of such files stay on disk and are read in
            blocks. A Dask array is summed up where its chunks lie. An iterable of blocks ``(X, y)``, each
            as in ``partial_fit``, is taken without ``y``.
        y : array-like of shape (n_samples,)
        """
        return super().fit(X, y)

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Learn from further samples; all blocks together give what one ``fit`` on all samples gives.

        The equations are solved when the result is asked for, not for every block.

        Parameters
        ----------
        X, y : array-like
            As in ``fit``.
        classes : array-like, optional
            All class labels, needed in the first call when there are no prototypes.
        """
        first = not hasattr(self, "moments_")
        X, y = self._validate(X, y, reset=first)
        if first:
            self._start(classes)
        training = Training(X, encode_labels(y, self.classes_), self.prototypes_, self.normalize)
        return self._add(Moments.from_blocks(training.blocks(), len(self.classes_), gram=self._uses_gram))

    def _start(self, classes: Any = None) -> None:
        """Prepare for moments of all classes: which of them have samples is not known yet."""
        self._check_parameters()
        if "mapping_" in vars(self):
            raise UnseenError(_NO_SUMS)
        if self.prototypes is None and classes is None:
            raise UnseenError("Without prototypes the first block must name all classes: pass classes=[...].")
        self.classes_, self.prototypes_ = split_prototypes(self.prototypes, classes)
        if classes is not None:
            encode_labels(np.asarray(classes), self.classes_)  # refuses a class without prototype

    def _add(self, new: Moments) -> Self:
        """Add moments of all classes, and forget the solution that they make old."""
        if hasattr(self, "moments_"):
            new = self._moments_of_all() + new
        self.seen_ = new.count > 0
        self.moments_ = new.for_classes(np.flatnonzero(self.seen_))
        self.training_prototypes_ = self.prototypes_[self.seen_]
        for name in _SOLUTION:
            self.__dict__.pop(name, None)
        return self

    def _moments_of_all(self) -> Moments:
        if self._uses_gram and self.moments_.gram is None:
            raise UnseenError(_NO_SUMS)
        return self.moments_.for_classes(np.where(self.seen_, np.cumsum(self.seen_) - 1, -1))

    def __getattr__(self, name: str) -> Any:
        # what partial_fit has added to is solved when somebody asks for the solution
        if name not in _SOLUTION or "moments_" not in vars(self):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        self._set_mapping(next(self._solve_moments(self.moments_, None, self.training_prototypes_, [self])))
        return vars(self)[name]

    def _fit_models(self, models: Sequence[Self], X: Any, y: Any) -> Iterator[Self]:
        if not is_dask(X) and (y is not None or hasattr(X, "shape")):
            yield from super()._fit_models(models, X, y)
            return
        for model in models:
            model._check_parameters()
        if len({model.normalize for model in models}) > 1:
            raise UnseenError("Settings with different normalize need different sums. Fit one path for each.")
        counter = clone(models[0])._count(X, y)

        def solve(group: Sequence[Self]) -> Iterator[FloatArray]:
            return self._solve_kept(counter.moments_, None, counter.training_prototypes_, group)

        yield from counter._solve_groups(models, counter.classes_, counter.prototypes_, counter.seen_, solve)

    def _count(self, X: Any, y: Any) -> Self:
        """Add up the moments of a Dask array, or of an iterable of blocks."""
        if is_dask(X):
            return self._add_dask(X, y)
        for block in X:
            self.partial_fit(*block)
        if not hasattr(self, "moments_"):
            raise UnseenError("There is no block of samples. Pass at least one.")
        return self

    def _add_dask(self, X: Any, y: Any) -> Self:
        self._start()
        self.n_features_in_ = X.shape[1]
        dtype = X.dtype if X.dtype in (np.float32, np.float64) else np.float64
        X = X.rechunk({1: -1}).astype(dtype).map_blocks(scale_rows, self.normalize, dtype=dtype)
        if is_dask(y):
            y = y.map_blocks(encode_labels, self.classes_, dtype=np.intp)
        else:
            y = encode_labels(np.asarray(y), self.classes_)
        moments = Moments.from_dask(X, y, len(self.classes_), gram=self._uses_gram)
        if not np.isfinite(moments.total).all():
            raise UnseenError("X holds NaN or infinity. Remove these samples or fill the values in.")
        return self._add(moments)

    def _solve_path(self, training: Training, models: Sequence[Self]) -> Iterator[FloatArray]:
        thin = len(training.y) < training.X.shape[1]  # N < D: X'X is larger than the data
        gram = self._uses_gram and not thin
        moments = Moments.from_blocks(training.blocks(), len(training.S), gram=gram)
        spectrum = Spectrum.of_rows(training.rows(slice(None))) if self._uses_gram and thin else None
        yield from self._solve_kept(moments, spectrum, training.S, models)

    def _solve_kept(
        self, moments: Moments, spectrum: Spectrum | None, S: FloatArray, models: Sequence[Self]
    ) -> Iterator[FloatArray]:
        """Solve, and let every model keep the moments."""
        for model in models:
            model.moments_ = moments
        yield from self._solve_moments(moments, spectrum, S, models)

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
