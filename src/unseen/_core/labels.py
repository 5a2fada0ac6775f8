"""Class labels: the one place where a label is looked up, and prototypes in any form become rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import column_or_1d

from unseen._core.blocks import BoolArray, FloatArray, IndexArray
from unseen.errors import UnseenError, did_you_mean, one_line

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
        raise UnseenError(_unknown_label(labels, labels[unknown.argmax()], classes, what, lacks))
    return np.asarray(position)


def check_labels(y: ArrayLike) -> LabelArray:
    """Return the labels of samples as an array; a missing one (None, NaN) is refused by its place.

    >>> check_labels(["owl", None])
    Traceback (most recent call last):
    unseen.errors.UnseenError: y[1] is None: every sample needs a label. Remove samples without one.
    """
    labels = column_or_1d(np.asarray(y), warn=True)
    missing = np.zeros(len(labels), dtype=bool)
    if labels.dtype.kind in "fO":
        missing[:] = [_is_missing(label) for label in labels]
    if missing.any():
        place = int(missing.argmax())
        raise UnseenError(
            f"y[{place}] is {labels[place]}: every sample needs a label. Remove samples without one."
        )
    return np.asarray(labels)


def _is_missing(label: Any) -> bool:
    """Return whether a label is None, NaN or pandas.NA, whose comparisons are neither true nor false."""
    return label is None or type(label).__name__ == "NAType" or bool(label != label)


def _unknown_label(labels: LabelArray, label: Any, classes: LabelArray, what: str, lacks: str) -> str:
    n, names = len(classes), list(map(str, classes.tolist()))
    if str(label) in names:  # 6 and "6"
        text = isinstance(label, str)
        kind, other, needed = ("text", "numbers", "int") if text else ("a number", "text", "str")
        return f"{what} names class {label} as {kind}, but the classes are {other}. Use astype({needed})."
    if classes.dtype.kind in "iu" and np.array_equal(classes, np.arange(n)):
        return (
            f"prototypes has {n} rows but {what} names class {label} (labels must be 0..{n - 1}). "
            f"{advise_on_range(labels, n)}"
        )
    if str(label).lstrip("-").isdigit() and all(name.lstrip("-").isdigit() for name in names):
        # a number is not a typo of another one
        hint = f" {advise_on_range(labels, n)}" if names == list(map(str, range(n))) else ""
    else:
        hint = did_you_mean(str(label), names)
    return f"{what} names class {str(label)!r}, which {lacks}.{hint}"


def advise_on_range(labels: LabelArray, n: int) -> str:
    """Return what to do about numbers that are not all between 0 and n - 1.

    >>> advise_on_range(np.array([1, 2, 3]), 3)
    'The labels count from 1: subtract 1.'
    >>> advise_on_range(np.array([0, 7]), 3)
    'Pass one prototype row per class.'
    >>> advise_on_range(np.array(["owl"]), 3)
    'For names, pass a DataFrame indexed by class, or a mapping from class to row.'
    """
    try:
        numbers = labels.astype(np.int64)
    except ValueError:
        return "For names, pass a DataFrame indexed by class, or a mapping from class to row."
    if numbers.min() == 1 and numbers.max() == n:
        return "The labels count from 1: subtract 1."
    return "Pass one prototype row per class."


def distinct_labels(y: LabelArray) -> LabelArray:
    """Return the labels in the order of their first appearance, so that random draws do not depend on names.

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
    """Return (class labels, rows) from an array, a DataFrame, a mapping, or None for one-hot rows."""
    if prototypes is None:
        classes = np.unique(y)
        return classes, np.eye(len(classes))
    S = prototype_rows(prototypes)
    if S.ndim != 2 or 0 in S.shape:
        raise UnseenError(
            f"prototypes has shape {S.shape}, expected (classes, attributes). Pass one row per class."
        )
    if not np.isfinite(S).all():
        row, column = np.argwhere(~np.isfinite(S))[0]
        raise UnseenError(f"prototypes[{row}, {column}] is {S[row, column]}, expected a finite number.")
    classes = np.asarray(class_labels(prototypes)) if is_labeled(prototypes) else np.arange(len(S))
    labels, count = np.unique(classes, return_counts=True)
    if (count > 1).any():
        twice = str(labels[count > 1][0])
        raise UnseenError(f"prototypes names a class twice ({twice!r}). Pass one prototype row per class.")
    return classes, S


def prototype_rows(prototypes: Any) -> FloatArray:
    """Return prototypes as numbers, (classes, attributes); each class of a mapping gives one row."""
    rows = prototypes
    if isinstance(prototypes, Mapping):
        names = attribute_names(prototypes)
        rows = [row if names is None else [row[name] for name in names] for row in prototypes.values()]
    try:
        return np.asarray(rows, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise UnseenError(
            f"prototypes must be numbers, one row of equal length per class ({one_line(error)})."
            f"{_advise_on_text(prototypes)}"
        ) from error


def attribute_names(prototypes: Any) -> list[str] | None:
    """Return the names of the attributes: of the columns of a table, or of the rows of a mapping.

    Column numbers and duplicate names do not count as names.

    >>> attribute_names({"owl": {"blue": 0.1, "big": 0.8}, "jay": {"big": 0.2, "blue": 0.9}})
    ['blue', 'big']
    """
    if isinstance(prototypes, Mapping):
        names = _names_of_rows(prototypes)
    else:
        names = list(getattr(prototypes, "columns", ()))
    named = bool(names) and all(isinstance(name, str) for name in names) and len(set(names)) == len(names)
    return names if named and names != list(map(str, range(len(names)))) else None


def _names_of_rows(prototypes: Mapping[Any, Any]) -> list[Any]:
    """Return the names in the first row, which all rows must have; none where rows are only numbers."""
    keys = {label: list(row.keys()) for label, row in prototypes.items() if hasattr(row, "keys")}
    if len(keys) < len(prototypes) or not keys:
        return []
    first, names = next(iter(keys.items()))
    for label, other in keys.items():
        differing = sorted(map(str, set(names) ^ set(other)))
        if differing:
            raise UnseenError(
                f"Only one of the classes {str(first)!r} and {str(label)!r} has the attribute "
                f"{differing[0]!r}. Describe every class by the same attributes."
            )
    return names


def _advise_on_text(prototypes: Any) -> str:
    """Return what to do about a DataFrame whose first column may name the classes."""
    names = list(getattr(prototypes, "columns", ()))
    if not names:
        return ""
    if is_labeled(prototypes):
        return f" If the column {names[0]!r} names the classes, pass prototypes.set_index({names[0]!r})."
    return " This DataFrame has no index: pass a mapping from class name to row."


def is_labeled(prototypes: Any) -> bool:
    """Return whether prototypes name their classes: a mapping, or a DataFrame (pandas is not imported)."""
    # a list has an ``index`` too
    return isinstance(prototypes, Mapping) or (
        hasattr(prototypes, "index") and hasattr(prototypes, "columns")
    )


def class_labels(prototypes: Any) -> list[Any]:
    """Return the class labels of prototypes that name their classes."""
    return list(prototypes if isinstance(prototypes, Mapping) else prototypes.index)
