"""The columns of scores: classes by name or by number, and which of them are seen."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unseen._core.blocks import BoolArray, IndexArray
from unseen._core.labels import LabelArray, class_mask, label_positions
from unseen.errors import UnseenError


def column_names(scores: Any, n_classes: int) -> LabelArray:
    """Return the column labels of a DataFrame (pandas or polars); column numbers for anything else."""
    columns = getattr(scores, "columns", None)
    if columns is None:
        return np.arange(n_classes)
    names = np.asarray(list(columns))
    if len(set(names.tolist())) < len(names):
        raise UnseenError("scores has two columns with the same name. Give every class its own name.")
    return names


def find_columns(labels: ArrayLike, names: LabelArray, what: str = "y") -> IndexArray:
    """Return the column of every label.

    A label is the name of its column. Integers are column numbers, unless the names are numbers themselves.
    So the labels of a classifier are names here.

    Examples
    --------
    >>> find_columns(["owl", "jay"], np.array(["jay", "owl", "ant"]))
    array([1, 0])
    >>> find_columns([2, 0], np.array(["jay", "owl", "ant"]))
    array([2, 0])
    """
    given, names, n_classes = _plain_labels(labels), _plain_labels(names), len(names)
    named = not _counts_up(names)
    by_name = named and (given.dtype.kind == "U" or names.dtype.kind != "U")
    if given.ndim != 1 or not (by_name or given.dtype.kind in "iu"):
        kind = "names or indices" if named else "indices (scores has no column names)"
        got = f"shape {given.shape} and type {given.dtype}"
        raise UnseenError(f"{what} has {got}, expected a list of class {kind}.")
    if by_name:
        lacks = f"is none of the {n_classes} classes {names[0]} .. {names[-1]}"
        return label_positions(given, names, what, lacks)
    outside = (given < 0) | (given >= n_classes)
    if outside.any():
        row = int(outside.argmax())
        known = f"{n_classes} classes (labels must be 0..{n_classes - 1})"
        raise UnseenError(f"{what}[{row}] is {given[row]}, but there are {known}.")
    return given.astype(np.intp, copy=False)


def _plain_labels(labels: ArrayLike) -> LabelArray:
    """Return labels as numbers or as text of one type, also if they are objects (pandas) or StringDType."""
    given: LabelArray = np.asarray(labels)
    if given.dtype.kind in "OT":
        given = np.asarray(given.tolist())
    return given.astype(str) if given.dtype.kind in "SO" else given


def _counts_up(names: ArrayLike) -> bool:
    """Return whether names are 0, 1, ...: the numbers of columns without names."""
    plain = _plain_labels(names)
    return plain.dtype.kind in "iu" and np.array_equal(plain, np.arange(len(plain)))


def seen_columns(seen: Any, names: LabelArray) -> BoolArray:
    """Return the mask of seen classes from a mask, class names or class indices.

    A mask has one entry per class: True or False, or 1 or 0. One with class names as index (a Series) is
    matched by name.

    Examples
    --------
    >>> seen_columns(["jay", "owl"], np.array(["owl", "ant", "jay"]))
    array([ True, False,  True])
    >>> seen_columns([1, 0, 1], np.arange(3))
    array([ True, False,  True])
    """
    given, n_classes = _plain_labels(seen), len(names)
    if given.shape == (n_classes,) and given.dtype.kind in "biuf" and np.isin(given, (0, 1)).all():
        mask, index = given.astype(bool, copy=False), getattr(seen, "index", None)
        by_name = index is not None and not callable(index) and not _counts_up(index)  # a list has a method
        if not by_name or (_counts_up(names) and set(np.asarray(index)) != set(names)):
            return mask
        return mask[find_columns(names, np.asarray(index), "scores")]
    if given.dtype == bool:
        raise UnseenError(f"seen has shape {given.shape}, expected one bool per class: ({n_classes},).")
    columns = find_columns(given, names, "seen")
    if len(np.unique(columns)) < len(columns):
        twice = given[np.bincount(columns)[columns] > 1][0]
        advice = "Pass class names or indices once each, or one bool (True or False) per class."
        raise UnseenError(f"seen lists class {str(twice)!r} twice. {advice}")
    return class_mask(columns, n_classes)
