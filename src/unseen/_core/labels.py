"""Class labels: the one place where a label is looked up, and prototypes in any form become rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unseen._core.blocks import BoolArray, FloatArray, IndexArray
from unseen.errors import UnseenError, did_you_mean

LabelArray = NDArray[Any]  # integers or strings


def label_positions(
    labels: ArrayLike, classes: ArrayLike, what: str = "y", lacks: str = "has no prototype"
) -> IndexArray:
    """Return the position of every label in ``classes``; a label that is not there is refused by name.

    Parameters
    ----------
    labels, classes : array-like of integers or strings
    what : str
        Where the labels come from, for the message.
    lacks : str
        What a class that is not in ``classes`` lacks, for the message.

    Examples
    --------
    >>> label_positions(["owl", "jay", "owl"], ["jay", "owl"])
    array([1, 0, 1])
    >>> label_positions(["ow"], ["jay", "owl"])
    Traceback (most recent call last):
    unseen.errors.UnseenError: y names class 'ow', which has no prototype. Did you mean 'owl'?
    """
    labels, classes = np.asarray(labels), np.asarray(classes)
    if not len(labels):
        return np.empty(0, dtype=np.intp)
    order = np.argsort(classes)
    try:
        position = order[np.searchsorted(classes, labels, sorter=order).clip(max=len(classes) - 1)]
        unknown = np.asarray(classes[position] != labels)
    except TypeError:  # strings against integers
        unknown = np.ones(len(labels), dtype=bool)
    if unknown.any():
        raise UnseenError(_unknown_label(labels[unknown.argmax()], classes, what, lacks))
    return np.asarray(position)


def _unknown_label(label: Any, classes: LabelArray, what: str, lacks: str) -> str:
    n = len(classes)
    if classes.dtype.kind in "iu" and np.array_equal(classes, np.arange(n)):
        return (
            f"prototypes has {n} rows but {what} names class {label} (labels must be 0..{n - 1}). "
            "Pass one prototype row per class."
        )
    near = did_you_mean(str(label), map(str, classes.tolist()))
    return f"{what} names class {str(label)!r}, which {lacks}.{near}"


def distinct_labels(y: LabelArray) -> LabelArray:
    """Return the labels in the order of their first appearance: what is dealt so does not depend on names.

    >>> distinct_labels(np.array(["owl", "jay", "owl"])).tolist()
    ['owl', 'jay']
    """
    return y[np.sort(np.unique(y, return_index=True)[1])]


def candidate_columns(classes: LabelArray, candidates: ArrayLike | None) -> IndexArray:
    """Return the positions of the candidates in ``classes``; those of all classes for None."""
    if candidates is None:
        return np.arange(len(classes))
    return label_positions(candidates, classes, "candidates")


def class_mask(index: Iterable[int] | IndexArray, n_classes: int) -> BoolArray:
    """Return the mask over all classes that is True at ``index``.

    >>> class_mask([0, 2], 4)
    array([ True, False,  True, False])
    """
    mask = np.zeros(n_classes, dtype=bool)
    mask[np.asarray(index, dtype=np.intp)] = True
    return mask


def split_prototypes(prototypes: Any, y: ArrayLike) -> tuple[LabelArray, FloatArray]:
    """Return (class labels, prototype rows) from an array, a DataFrame, or None for one-hot rows."""
    if prototypes is None:
        classes = np.unique(y)
        return classes, np.eye(len(classes))
    S = np.asarray(prototypes, dtype=np.float64)
    if S.ndim != 2 or 0 in S.shape:
        raise UnseenError(
            f"prototypes has shape {S.shape}, expected (classes, attributes). Pass one row per class."
        )
    if not np.isfinite(S).all():
        row, column = np.argwhere(~np.isfinite(S))[0]
        raise UnseenError(f"prototypes[{row}, {column}] is {S[row, column]}, expected a finite number.")
    classes = np.asarray(prototypes.index) if is_frame(prototypes) else np.arange(len(S))
    if len(np.unique(classes)) < len(classes):
        raise UnseenError("prototypes names a class twice. Pass one prototype row per class.")
    return classes, S


def is_frame(table: Any) -> bool:
    """Tell a DataFrame without importing pandas (a list has an ``index`` too)."""
    return hasattr(table, "index") and hasattr(table, "columns")
