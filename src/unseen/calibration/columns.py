"""The columns of scores: classes by name or by number, and which of them are seen."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unseen._core.blocks import BoolArray, IndexArray
from unseen._core.labels import LabelArray, class_mask, label_positions
from unseen.errors import UnseenError


def column_names(scores: Any) -> LabelArray | None:
    """Return the column labels of a DataFrame (pandas or polars); None for anything else."""
    columns = getattr(scores, "columns", None)
    if columns is None:
        return None
    names = np.asarray(list(columns))
    if len(set(names.tolist())) < len(names):
        raise UnseenError("scores has two columns with the same name. Give every class its own name.")
    return names


def find_columns(labels: ArrayLike, names: LabelArray | None, n_classes: int, what: str = "y") -> IndexArray:
    """Return the column of every label.

    A label is the name of its column if columns have names. Integers are column numbers, unless the
    names are numbers themselves. So the labels of a classifier are names here.

    Examples
    --------
    >>> find_columns(["owl", "jay"], np.array(["jay", "owl", "ant"]), 3)
    array([1, 0])
    >>> find_columns([2, 0], np.array(["jay", "owl", "ant"]), 3)
    array([2, 0])
    """
    given, names = _plain_labels(labels), _true_names(names)
    by_name = names is not None and (given.dtype.kind == "U" or names.dtype.kind != "U")
    if given.ndim != 1 or not (by_name or given.dtype.kind in "iu"):
        expected = "names or indices" if names is not None else "indices (scores has no column names)"
        raise UnseenError(
            f"{what} has shape {given.shape} and type {given.dtype}, expected a list of class {expected}."
        )
    if names is not None and by_name:
        lacks = f"is none of the {n_classes} classes {names[0]} .. {names[-1]}"
        return label_positions(given, names, what, lacks)
    outside = (given < 0) | (given >= n_classes)
    if outside.any():
        row = int(outside.argmax())
        raise UnseenError(
            f"{what}[{row}] is {given[row]}, but there are {n_classes} classes "
            f"(labels must be 0..{n_classes - 1})."
        )
    return given.astype(np.intp, copy=False)


def _plain_labels(labels: ArrayLike) -> LabelArray:
    """Return labels as numbers or as text of one type, also if they are objects (pandas) or StringDType."""
    given: LabelArray = np.asarray(labels)
    if given.dtype.kind in "OT":
        given = np.asarray(given.tolist())
    return given.astype(str) if given.dtype.kind in "SO" else given


def _true_names(names: LabelArray | None) -> LabelArray | None:
    """Return names as plain labels; None for the names 0, 1, ..., which are column numbers."""
    if names is None:
        return None
    plain = _plain_labels(names)
    are_numbers = plain.dtype.kind in "iu" and np.array_equal(plain, np.arange(len(plain)))
    return None if are_numbers else plain


def seen_columns(seen: Any, names: LabelArray | None, n_classes: int) -> BoolArray:
    """Return the mask of seen classes from a mask, class names or class indices.

    A mask has one entry per class: True or False, or 1 or 0. One with class names as index (a Series) is
    matched by name.

    Examples
    --------
    >>> seen_columns(["jay", "owl"], np.array(["owl", "ant", "jay"]), 3)
    array([ True, False,  True])
    >>> seen_columns([1, 0, 1], None, 3)
    array([ True, False,  True])
    """
    given = _plain_labels(seen)
    if given.shape == (n_classes,) and given.dtype.kind in "biuf" and np.isin(given, (0, 1)).all():
        return _by_name(given.astype(bool, copy=False), getattr(seen, "index", None), names)
    if given.dtype == bool:
        raise UnseenError(f"seen has shape {given.shape}, expected one bool per class: ({n_classes},).")
    columns = find_columns(given, names, n_classes, "seen")
    if len(np.unique(columns)) < len(columns):
        twice = given[np.bincount(columns)[columns] > 1][0]
        raise UnseenError(
            f"seen lists class {str(twice)!r} twice. Pass class names or indices once each, or one bool "
            "(True or False) per class."
        )
    return class_mask(columns, n_classes)


def _by_name(mask: BoolArray, index: Any, names: LabelArray | None) -> BoolArray:
    """Return the mask in the order of ``names`` if it is indexed by them (a list's ``index`` is a method)."""
    if names is None or index is None or callable(index):
        return mask
    labels = _true_names(np.asarray(index))
    return mask if labels is None else mask[find_columns(names, labels, len(labels), "scores")]
