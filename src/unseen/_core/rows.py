"""Features that stay on disk: rows of memory-mapped files, read when they are needed."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from os import PathLike
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from unseen._core.blocks import IndexArray, row_blocks
from unseen._core.npz import map_npy
from unseen.errors import UnseenError

_FEW = 256  # rows that are read between two releases of pages
K = TypeVar("K")
T = TypeVar("T")


class Rows:
    """Rows of one or several arrays, one after another, read only when they are indexed.

    Indexing returns an array in memory, checked to be finite. ``choose`` reads nothing. The pages of a
    memory-mapped file are released after each read, so no more memory is used than for the rows returned.

    Parameters
    ----------
    parts : sequence of path or array of shape (n, features)
        ``.npy`` files, which are memory-mapped, or arrays.
    index : ndarray of intp, optional
        Which of their rows, in which order; by default all.

    Examples
    --------
    >>> rows = Rows([np.zeros((2, 3)), np.ones((2, 3))])
    >>> rows.shape
    (4, 3)
    >>> rows.choose(np.array([3, 0]))[:]
    array([[1., 1., 1.],
           [0., 0., 0.]])
    """

    ndim = 2

    def __init__(self, parts: Sequence[Any], index: IndexArray | None = None) -> None:
        self.parts = [map_npy(Path(part)) if isinstance(part, (str, PathLike)) else part for part in parts]
        widths = {part.shape[1:] for part in self.parts}
        if len(widths) != 1 or len(next(iter(widths))) != 1:
            shapes = ", ".join(str(part.shape) for part in self.parts) or "nothing"
            raise UnseenError(f"The features have shapes {shapes}, expected (samples, features), one width.")
        self.starts = np.cumsum([0, *map(len, self.parts)])
        self.index = index
        self.shape = (int(self.starts[-1]) if index is None else len(index), *next(iter(widths)))
        # float32 and float64 stay; half precision and integers become the type that represents them
        self.dtype = np.result_type(np.float32, *(part.dtype for part in self.parts))

    def __len__(self) -> int:
        return int(self.shape[0])

    def __getitem__(self, rows: slice | IndexArray) -> NDArray[np.floating]:
        if isinstance(rows, slice):
            rows = np.arange(*rows.indices(len(self)))
        index = rows if self.index is None else self.index[rows]
        part_of = np.searchsorted(self.starts, index, side="right") - 1
        X = np.empty((len(index), self.shape[1]), dtype=self.dtype)
        for number in np.unique(part_of):
            part, places = self.parts[number], np.flatnonzero(part_of == number)
            for block in row_blocks(len(places), _FEW):  # a single row may map a megabyte of its file
                few = places[block]
                X[few] = part[index[few] - self.starts[number]]
                release_pages(part)
        with np.errstate(over="ignore"):
            suspicious = not np.isfinite(X.sum())
        if suspicious:
            from sklearn.utils import assert_all_finite

            assert_all_finite(X, input_name="X")
        return X

    def choose(self, rows: IndexArray) -> Self:
        """Return these rows, still unread."""
        return type(self)(self.parts, np.asarray(rows) if self.index is None else self.index[rows])


def as_rows(X: Any) -> Any:
    """Return memory-mapped arrays and ``.npy`` files, one or several, as Rows; anything else unchanged."""
    if _is_file(X) and getattr(X, "ndim", 2) == 2:
        return Rows([X])
    if isinstance(X, (list, tuple)) and X and all(map(_is_file, X)):
        return Rows(X)
    return X


def _is_file(X: Any) -> bool:
    return isinstance(X, (str, PathLike, np.memmap))


def choose_rows(X: Any, rows: IndexArray) -> Any:
    """Return some rows of an array or a DataFrame: copied if X is in memory, left on disk if X is there."""
    X = as_rows(X)
    return X.choose(rows) if isinstance(X, Rows) else read_rows(X, rows)


def read_rows(X: Any, rows: slice | IndexArray) -> Any:
    """Return some rows of an array or a DataFrame, read from disk if X is there."""
    if isinstance(X, (Rows, np.ndarray)):
        return X[rows]
    from sklearn.utils import _safe_indexing

    return _safe_indexing(X, rows)


def n_rows(X: Any) -> int:
    """Return the number of samples."""
    if isinstance(X, (Rows, np.ndarray)) and X.ndim:
        return len(X)
    from sklearn.utils.validation import _num_samples

    return int(_num_samples(X))


def read_ahead(read: Callable[[K], T], keys: Iterable[K]) -> Iterator[T]:
    """Yield ``read(key)`` for each key, while a thread reads the next one beside the matrix products.

    >>> list(read_ahead(abs, [-1, -2]))
    [1, 2]
    """
    keys = list(keys)
    if len(keys) < 2:  # nothing to read ahead
        yield from map(read, keys)
        return
    with ThreadPoolExecutor(1) as thread:
        coming = thread.submit(read, keys[0])
        for key in keys[1:]:
            item, coming = coming.result(), thread.submit(read, key)
            yield item
        yield coming.result()


def release_pages(array: NDArray[Any]) -> None:
    """Release the pages that were read from a memory-mapped file.

    A copy-on-write map is left alone: its changes exist only in memory and would be lost.
    """
    if isinstance(array, np.memmap) and array.mode != "c" and hasattr(mmap, "MADV_DONTNEED"):
        base = array.base
        while isinstance(base, np.ndarray):
            base = base.base
        if isinstance(base, mmap.mmap):
            base.madvise(mmap.MADV_DONTNEED)
