"""A zero-shot data set: samples of some classes, descriptions of all, and which classes are unseen."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unseen._core.blocks import BoolArray, FloatArray, IndexArray, row_blocks
from unseen._core.checks import Check
from unseen._core.files import file_sha256
from unseen._core.labels import class_mask, label_positions
from unseen._core.npz import text_array
from unseen._core.prototypes import Prototypes
from unseen._core.rows import Rows, read_rows, release_pages
from unseen.errors import UnseenError

if TYPE_CHECKING:
    from unseen.datasets.checks import DataCheck

ClassFolds = tuple[tuple[IndexArray, IndexArray], ...]


@dataclass(frozen=True, eq=False)
class ZeroShotDataset:
    """Features, labels, class descriptions and the official split; checked once, on creation.

    Parameters
    ----------
    name : str
        Name for tables.
    X : array or memory map of shape (n_samples, n_features), or None
        Features; None if only the description was asked for and the feature file is missing.
    y : ndarray of intp, shape (n_samples,), or None
        Row of ``prototypes`` of every sample.
    prototypes : ndarray of shape (n_classes, n_attributes)
        One description per class, seen or unseen. No columns if they are missing.
    class_names : tuple of str
    unseen : ndarray of bool, shape (n_classes,)
        The classes without training samples.
    attribute_names, feature_names : tuple of str, optional
    trainval, test_seen, test_unseen : ndarray of intp, optional
        The official split, as sample indices.
    class_folds : tuple of (train classes, validation classes), optional
        Validation folds as class indices, if the data set comes with them.
    sample_names : ndarray of str, optional
        What identifies a sample in other files, for instance its image file.
    groups : ndarray of intp, shape (n_samples,), optional
        Samples of one group are alike beyond their class, such as the letters of one family of typefaces:
        a seen validation set holds whole groups.
    files : tuple of Path
        The files it was read from.
    missing : tuple of str
        What a complete data set needs, in words for the user.
    notes : tuple of str
        What a user should know about the files.
    encoder : mapping, optional
        Which encoder made the features, if the files say so (see ``unseen.datasets.features``).
    truth : object, optional
        The model that generated the data, if it is known.

    Examples
    --------
    >>> from unseen.datasets import load_dataset
    >>> letters = load_dataset("letters")
    >>> letters.X.shape, letters.prototypes.shape
    ((3276, 256), (26, 16))
    >>> [name for name, unseen in zip(letters.class_names, letters.unseen) if unseen]
    ['B', 'F', 'H', 'L', 'N', 'Z']
    """

    name: str
    X: Any
    y: Any
    prototypes: FloatArray
    class_names: tuple[str, ...]
    unseen: BoolArray
    attribute_names: tuple[str, ...] | None = None
    feature_names: tuple[str, ...] | None = None
    trainval: IndexArray | None = None
    test_seen: IndexArray | None = None
    test_unseen: IndexArray | None = None
    class_folds: ClassFolds | None = None
    sample_names: NDArray[np.str_] | None = None
    groups: IndexArray | None = None
    files: tuple[Path, ...] = ()
    missing: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    encoder: Mapping[str, object] | None = field(default=None, repr=False)
    truth: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        _check_classes(self)
        _check_labels(self)
        _check_split(self)
        _check_class_folds(self)
        if self.X is not None:
            check_finite(self.X)

    @property
    def seen(self) -> BoolArray:
        """The classes that have training samples."""
        return ~self.unseen

    @property
    def n_samples(self) -> int:
        """Number of samples; from the split if features and labels are missing."""
        listed = self.sample_names if self.y is None else self.y
        if listed is not None:
            return len(listed)
        parts = [part for part in (self.trainval, self.test_seen, self.test_unseen) if part is not None]
        return 1 + max((int(part.max()) for part in parts if len(part)), default=-1)

    def checks(self, *, ignore: Iterable[str] = (), more: Iterable[DataCheck] = ()) -> list[Check]:
        """Return what usually causes trouble later, each with a code, what it means and what to do.

        Parameters
        ----------
        ignore : iterable of str
            Codes to leave out, such as ``"U003"``.
        more : iterable of callables
            Checks of your own: each takes the data set and yields ``Check`` objects.

        Examples
        --------
        >>> from unseen.datasets import load_dataset
        >>> [check.code for check in load_dataset("digits").checks()]
        ['U007']
        """
        from unseen.datasets.checks import check_dataset

        return check_dataset(self, ignore=ignore, more=more)

    @cached_property
    def checksums(self) -> dict[str, str]:
        """The sha256 of every file it was read from."""
        return {str(path): file_sha256(path) for path in self.files}

    @cached_property
    def checksum(self) -> str:
        """Sixteen hex digits that change with everything that determines results."""
        digest = hashlib.sha256("".join(self.checksums.values()).encode())
        content = () if self.files else (*(rows for _, rows in feature_blocks(self.X)), self.y)
        split = (self.trainval, self.test_seen, self.test_unseen, self.groups)
        folds = (classes for fold in self.class_folds or () for classes in fold)
        for part in (*content, self.prototypes, self.unseen, *split, *folds):
            if part is not None:
                digest.update(np.ascontiguousarray(part).data)
        digest.update("\0".join(self.class_names).encode())
        if self.feature_names is not None:  # of one table, other columns may be taken
            digest.update("\0".join(self.feature_names).encode())
            digest.update(np.ascontiguousarray(self.y).data)
        return digest.hexdigest()[:16]


def hold_out(data: ZeroShotDataset, unseen_classes: Sequence[str]) -> ZeroShotDataset:
    """Return the data set with other unseen classes; its own split and folds no longer apply.

    Groups that were for the seen test stay there, with their samples of the classes that are seen now.

    >>> from unseen.datasets import load_dataset
    >>> digits = hold_out(load_dataset("digits"), ["1", "7"])
    >>> [name for name, unseen in zip(digits.class_names, digits.unseen) if unseen]
    ['1', '7']
    """
    lacks = f"is not a class of {data.name}"
    chosen = label_positions(list(unseen_classes), data.class_names, "unseen_classes", lacks)
    unseen = class_mask(chosen, len(data.class_names))
    test_seen = None
    if data.y is not None:
        unseen |= np.bincount(data.y, minlength=len(unseen)) == 0
        if data.groups is not None and data.test_seen is not None:
            of_test = np.isin(data.groups, data.groups[data.test_seen])
            test_seen = np.flatnonzero(of_test & ~unseen[data.y])
    return replace(
        data, unseen=unseen, trainval=None, test_seen=test_seen, test_unseen=None, class_folds=None
    )


def as_features(X: NDArray[Any]) -> FloatArray:
    """Return X itself if it is float32 or float64, else one float32 copy.

    >>> as_features(np.ones((1, 2), dtype=np.float16)).dtype
    dtype('float32')
    """
    if X.ndim != 2 or 0 in X.shape:
        raise UnseenError(f"The features have shape {X.shape}, expected (samples, features).")
    if X.dtype.kind not in "fiub":
        raise UnseenError(f"The features are of type {X.dtype}, expected numbers.")
    return X if X.dtype in (np.float32, np.float64) else X.astype(np.float32)


def feature_blocks(X: Any) -> Iterator[tuple[slice, FloatArray]]:
    """Yield features (an array, Rows or a DataFrame) in blocks of rows, with the place of each.

    What was read from disk is released.
    """
    for block in row_blocks(len(X)):
        yield block, np.asarray(read_rows(X, block))
        release_pages(X)


def check_finite(X: FloatArray | Rows) -> None:
    """Reject NaN, infinity and numbers that are too large; the message locates one."""
    start = 0
    for part in X.parts if isinstance(X, Rows) else [X]:
        for _, rows in feature_blocks(part):
            if found := find_unusable(rows):
                row, column, problem = found
                got = f"The features hold {rows[row, column]:.3g} at sample {start + row}, feature {column}"
                raise UnseenError(f"{got}: {problem}. Remove such samples or replace the values.")
            start += len(rows)


def find_unusable(X: FloatArray) -> tuple[int, int, str] | None:
    """Return (row, column, problem) of the first number that is not finite.

    Or of the largest number, if the sum of all squares is not finite.

    >>> find_unusable(np.array([[1.0, 2.0], [-1e200, 3.0]]))
    (1, 0, 'too large to compute with')
    """
    with np.errstate(over="ignore"):
        total = np.square(X, dtype=np.float64).sum()
    if np.isfinite(total):
        return None
    finite = np.isfinite(X)
    worst, problem = np.abs(X).argmax(), "too large to compute with"
    if not finite.all():
        worst, problem = finite.argmin(), "expected a finite number"
    row, column = np.unravel_index(worst, X.shape)
    return int(row), int(column), problem


# ---- the checks ----------------------------------------------------------------------------------


def _check_classes(data: ZeroShotDataset) -> None:
    S, names = data.prototypes, data.class_names
    check_class_names(names)
    Prototypes(np.array(names), data.attribute_names or (), S)  # checks their shape
    if found := find_unusable(S):
        row, column, problem = found
        raise UnseenError(
            f"The prototype of class {names[row]!r} is {S[row, column]:.3g} at attribute {column}, "
            f"{problem}. Correct the value, or scale the attribute."
        )


def check_class_names(names: Sequence[str]) -> None:
    """Reject names that are overlong or not unique."""
    text_array(names, "class_names")
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice is not None:
        raise UnseenError(f"Class {twice!r} is listed twice. Give every class a name of its own.")


def _check_labels(data: ZeroShotDataset) -> None:
    if data.y is None:
        return
    if data.X is not None and len(data.X) != len(data.y):
        raise UnseenError(
            f"There are {len(data.X)} rows of features but {len(data.y)} labels. Pass one label per row."
        )
    for part, what in ((data.groups, "groups"), (data.sample_names, "files")):
        if part is not None and part.shape != data.y.shape:
            got = f"There are {len(data.y)} labels but {what} has shape {part.shape}"
            raise UnseenError(f"{got}, expected one for each sample.")
    label_positions(data.y, np.arange(len(data.class_names)))


def _check_split(data: ZeroShotDataset) -> None:
    owner = np.full(data.n_samples, "", dtype="U11")
    for part, of_unseen in {"trainval": False, "test_seen": False, "test_unseen": True}.items():
        index = getattr(data, part)
        if index is None:
            continue
        wrong = index[(index < 0) | (index >= data.n_samples)]
        if len(wrong):
            raise UnseenError(f"{part} names sample {wrong[0]}, but there are {data.n_samples} samples.")
        values, counts = np.unique(index, return_counts=True)
        again = values[(counts > 1) | (owner[values] != "")]
        if len(again):
            both = f"{owner[again[0]] or part} and again in {part}"
            raise UnseenError(f"Sample {again[0]} is in {both}. A sample belongs to one part.")
        owner[index] = part
        misplaced = [] if data.y is None else index[data.unseen[data.y[index]] != of_unseen]
        if len(misplaced):
            name, kind = data.class_names[data.y[misplaced[0]]], "seen" if of_unseen else "unseen"
            raise UnseenError(
                f"{part} holds sample {misplaced[0]} of class {name!r}, which is {kind}. "
                "Unseen classes may appear in test_unseen only, seen classes everywhere else."
            )


def _check_class_folds(data: ZeroShotDataset) -> None:
    for number, (train, val) in enumerate(data.class_folds or (), start=1):
        shared = np.intersect1d(train, val)
        unseen = np.intersect1d(np.concatenate([train, val]), np.flatnonzero(data.unseen))
        for wrong, what in ((shared, "is both a train and a validation class"), (unseen, "is unseen")):
            if len(wrong):
                raise UnseenError(
                    f"Validation fold {number} uses class {data.class_names[wrong[0]]!r}, which {what}."
                )
