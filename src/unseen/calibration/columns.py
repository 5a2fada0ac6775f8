"""The columns of scores: classes by name or by number, and which of them are seen."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unseen._core.blocks import BoolArray, IndexArray
from unseen._core.labels import LabelArray, class_mask, label_positions
from unseen.errors import UnseenError

_TEXT, _INTEGERS, _NUMBERS = "USTO", "iu", "iufb"  # kinds of NumPy types
MASK_ADVICE = "Pass True for every class that had training samples."


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
    names are integers themselves. So the labels of a classifier are names here.

    Examples
    --------
    >>> find_columns(["owl", "jay"], np.array(["jay", "owl", "ant"]), 3)
    array([1, 0])
    >>> find_columns([2, 0], np.array(["jay", "owl", "ant"]), 3)
    array([2, 0])
    """
    given, names = _plain_labels(labels), _true_names(names)
    are_text, names_are_numbers = (
        given.dtype.kind in _TEXT,
        names is not None and names.dtype.kind in _NUMBERS,
    )
    if given.ndim != 1 or not (are_text or names_are_numbers or given.dtype.kind in _INTEGERS):
        raise UnseenError(
            f"{what} has shape {given.shape} and type {given.dtype}, expected a list of class "
            f"{'indices' if names is None else 'names or indices'}."
        )
    if names is not None and (are_text or names_are_numbers):
        lacks = f"is none of the {n_classes} classes {names[0]} .. {names[-1]}"
        return label_positions(_comparable(given), _comparable(names), what, lacks)
    if are_text:
        raise UnseenError(
            f"{what} holds names such as {str(given[0])!r}, but the columns of scores have no names. "
            "Pass scores as a DataFrame with class names as columns, or class indices."
        )
    outside = (given < 0) | (given >= n_classes)
    if outside.any():
        row = int(outside.argmax())
        raise UnseenError(
            f"{what}[{row}] is {given[row]}, but there are {n_classes} classes "
            f"(labels must be 0..{n_classes - 1})."
        )
    return given.astype(np.intp, copy=False)


def _true_names(names: LabelArray | None) -> LabelArray | None:
    """Return None for the names 0, 1, ...: they are column numbers."""
    if names is None:
        return None
    plain = _plain_labels(names)
    are_numbers = plain.dtype.kind in _INTEGERS and np.array_equal(plain, np.arange(len(plain)))
    return None if are_numbers else plain


def _plain_labels(labels: ArrayLike) -> LabelArray:
    """Return labels as an array; objects, as pandas gives them, become text or numbers."""
    given: LabelArray = np.asarray(labels)
    return np.asarray(given.tolist()) if given.dtype.kind == "O" else given


def _comparable(labels: LabelArray) -> LabelArray:
    """Return all text as one type; numbers stay numbers."""
    return labels.astype(str) if labels.dtype.kind in _TEXT else labels


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
    if given.dtype == bool or _is_mask(given, n_classes):
        return _by_name(check_mask(given, n_classes), getattr(seen, "index", None), names)
    columns = find_columns(given, names, n_classes, "seen")
    if len(np.unique(columns)) < len(columns):
        twice = given[np.bincount(columns)[columns] > 1][0]
        raise UnseenError(
            f"seen lists class {str(twice)!r} twice. Pass class names or indices once each, or one bool "
            "(True or False) per class."
        )
    return class_mask(columns, n_classes)


def check_mask(seen: ArrayLike, n_classes: int, advice: str = MASK_ADVICE) -> BoolArray:
    """Return one bool per class; 0 and 1 stand for False and True."""
    mask = np.asarray(seen)
    if not _is_mask(mask, n_classes):
        raise UnseenError(
            f"seen has shape {mask.shape} and type {mask.dtype}, expected one bool per class: "
            f"({n_classes},). {advice}"
        )
    return mask.astype(bool, copy=False)


def _is_mask(given: LabelArray, n_classes: int) -> bool:
    numbers = given.shape == (n_classes,) and given.dtype.kind in _NUMBERS
    return numbers and bool(np.isin(given, (0, 1)).all())


def _by_name(mask: BoolArray, index: Any, names: LabelArray | None) -> BoolArray:
    """Return the mask in the order of ``names`` if it is indexed by them (a list's ``index`` is a method)."""
    if names is None or index is None or callable(index):
        return mask
    labels = _true_names(np.asarray(index))
    return mask if labels is None else mask[find_columns(names, labels, len(labels), "scores")]
