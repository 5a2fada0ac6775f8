"""Class labels: the one place where a label is looked up, and prototypes in any form become rows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import column_or_1d

from unseen._core.blocks import BoolArray, FloatArray, IndexArray
from unseen.errors import UnseenError, did_you_mean, one_line

LabelArray = NDArray[Any]  # integers or strings
UNKNOWN = "unknown"  # the label of a sample that is rejected, and of the root of a taxonomy


def label_positions(
    labels: ArrayLike, classes: ArrayLike, what: str = "y", lacks: str = "has no prototype"
) -> IndexArray:
    """Return the position of every label in ``classes``; all labels that are not there are rejected by name.

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
        raise UnseenError(_unknown_labels(labels, distinct_labels(labels[unknown]), classes, what, lacks))
    return np.asarray(position)


def check_labels(y: ArrayLike) -> LabelArray:
    """Return the labels of samples as an array; a missing one (None, NaN, "") is rejected by its place.

    >>> check_labels(["owl", None])
    Traceback (most recent call last):
    unseen.errors.UnseenError: y[1] is None: every sample needs a label. Remove samples without one.
    """
    labels = column_or_1d(np.asarray(y), warn=True)
    missing = np.zeros(len(labels), dtype=bool)
    if labels.dtype.kind in "fO":
        missing[:] = [is_missing(label) for label in labels]
    elif labels.dtype.kind == "U":
        missing = labels == ""
    if missing.any():
        place = int(missing.argmax())
        what = str(labels[place]) or "empty"
        raise UnseenError(f"y[{place}] is {what}: every sample needs a label. Remove samples without one.")
    return np.asarray(labels)


def is_missing(label: Any) -> bool:
    """Return whether a label is empty: None, NaN, "" or pandas.NA, whose comparisons are neither."""
    return label is None or type(label).__name__ == "NAType" or bool(label != label) or label == ""


def _unknown_labels(
    labels: LabelArray, unknown: LabelArray, classes: LabelArray, what: str, lacks: str
) -> str:
    """Return the message about labels that are not among the classes."""
    n, names, strange = len(classes), list(map(str, classes.tolist())), list(map(str, unknown.tolist()))
    first = strange[0]
    if first in names:  # 6 and "6"
        text = isinstance(unknown[0], str)
        kind, other, needed = ("text", "numbers", "int") if text else ("a number", "text", "str")
        return f"{what} names class {first} as {kind}, but the classes are {other}. Use astype({needed})."
    is_number = classes.dtype.kind in "iu" or first.lstrip("-").isdigit()
    if is_number and names == list(map(str, range(n))):
        return (
            f"prototypes has {n} rows but {what} names class {first} (labels must be 0..{n - 1}). "
            f"{advise_on_range(labels, n)}"
        )
    alike = look_alikes(strange, names)
    if len(strange) == 1:
        near = f" Did you mean {alike[first]!r}?" if alike else did_you_mean(first, names)
        return f"{what} names class {first!r}, which {lacks}.{near}"
    several = re.sub(r"^is ", "are ", re.sub(r"^has ", "have ", lacks))
    others = shortened([name for name in strange if name not in alike], 8)
    message = f"{what} names {len(strange)} classes that {several}"
    if not alike:
        return f"{message}: {others}."
    pairs = shortened([f"{_visible(name)} ~ {_visible(other)}" for name, other in alike.items()], 12)
    message += f"; {len(alike)} look alike: {pairs}. Write both the same way."
    return f"{message} The others: {others}." if others else message


def _visible(name: str) -> str:
    """Return a name in quotes if its spaces would be missed."""
    return name if name == " ".join(name.split()) else repr(name)


def shortened(names: Sequence[str], most: int) -> str:
    """Return names for a message, at most this many.

    >>> shortened(["owl", "jay", "emu"], 2)
    'owl, jay, ... (3 in all)'
    """
    listed = ", ".join(names[:most])
    return listed if len(names) <= most else f"{listed}, ... ({len(names)} in all)"


def look_alikes(names: Iterable[str], known: Iterable[str]) -> dict[str, str]:
    """Return for each name the known one that differs only in case, spaces, zeros or a folder number.

    >>> look_alikes(["APRICOT", "007", "Red  apple", "kiwi"], ["Apricot", "7", "012.red_apple", "mango"])
    {'APRICOT': 'Apricot', '007': '7', 'Red  apple': '012.red_apple'}
    """
    forms = {_bare(name): name for name in known}
    return {name: forms[_bare(name)] for name in names if _bare(name) in forms}


def _bare(name: str) -> str:
    """Return a name without what people write differently.

    >>> _bare("002.Laysan_Albatross "), _bare("007"), _bare("7.0"), _bare("Boeing 747-400"), _bare("Row_04")
    ('laysan albatross', '7', '7', 'boeing 747 400', 'row 4')
    """
    words = re.sub(r"^\s*\d+[._ -]+(?=[^\d\s])", "", name)  # the number of a folder
    spaced = " ".join(re.split(r"[\s_+-]+", words)).strip().casefold()
    return re.sub(r"(?<=\d)\.0+$|\b0+(?=\d)", "", spaced)


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
    return np.isin(np.arange(n_classes), np.asarray(index, dtype=np.intp))


# ---- prototypes in any form ------------------------------------------------------------------------------


class Parts(NamedTuple):
    """What prototypes consist of."""

    labels: list[Any] | None  # of the classes; None if they are only counted
    names: list[Any]  # of the attributes, if they have any
    rows: Any  # one per class


def prototype_parts(prototypes: Any) -> Parts:
    """Return the parts of an array, a mapping, or a DataFrame, without importing its library.

    A DataFrame names its classes in its index; or in its first column, if that is text and no index is.
    """
    if isinstance(prototypes, Mapping):
        names = _names_of_rows(prototypes)
        rows = [[row[name] for name in names] if names else row for row in prototypes.values()]
        return Parts(list(prototypes), names, rows)
    if not hasattr(prototypes, "columns"):
        return Parts(None, [], prototypes)
    names, index = list(prototypes.columns), getattr(prototypes, "index", None)
    labels = None if index is None else list(index)  # polars has no index, pandas counts rows by default
    if names and labels in (None, list(range(len(prototypes)))) and hasattr(prototypes, "__getitem__"):
        first = list(prototypes[names[0]])
        if first and all(isinstance(cell, str) for cell in first):
            return Parts(first, names[1:], np.asarray(prototypes, dtype=object)[:, 1:])
    return Parts(labels, names, prototypes)


def _names_of_rows(prototypes: Mapping[Any, Any]) -> list[Any]:
    """Return the names in the first row, which all rows must have; none if rows are only numbers."""
    names = [list(row.keys()) if hasattr(row, "keys") else [] for row in prototypes.values()]
    if not names or not all(names):
        return []
    for label, other in zip(prototypes, names):
        differing = sorted(map(str, set(names[0]) ^ set(other)))
        if differing:
            raise UnseenError(
                f"Only one of the classes {str(next(iter(prototypes)))!r} and {str(label)!r} has the "
                f"attribute {differing[0]!r}. Describe every class by the same attributes."
            )
    return names[0]


def is_labeled(prototypes: Any) -> bool:
    """Return whether prototypes name their classes."""
    return prototype_parts(prototypes).labels is not None


def attribute_names(prototypes: Any) -> list[str] | None:
    """Return the names of the attributes: of the columns of a table, or of the rows of a mapping.

    Column numbers and duplicate names do not count as names.

    >>> attribute_names({"owl": {"blue": 0.1, "big": 0.8}, "jay": {"big": 0.2, "blue": 0.9}})
    ['blue', 'big']
    """
    names = prototype_parts(prototypes).names
    named = bool(names) and all(isinstance(name, str) for name in names) and len(set(names)) == len(names)
    return names if named and names != list(map(str, range(len(names)))) else None


def split_prototypes(prototypes: Any, y: ArrayLike) -> tuple[LabelArray, FloatArray]:
    """Return (class labels, rows) from an array, a DataFrame, a mapping, or None for one-hot rows."""
    if prototypes is None:
        classes = np.unique(y)
        return classes, np.eye(len(classes))
    S, parts = prototype_rows(prototypes), prototype_parts(prototypes)
    if S.ndim != 2 or 0 in S.shape:
        raise UnseenError(
            f"prototypes has shape {S.shape}, expected (classes, attributes). Pass one row per class."
        )
    if not np.isfinite(S).all():
        row, column = np.argwhere(~np.isfinite(S))[0]
        raise UnseenError(f"{_cell(parts, row, column)} is {S[row, column]}, expected a finite number.")
    classes = np.arange(len(S)) if parts.labels is None else np.asarray(parts.labels)
    labels, count = np.unique(classes, return_counts=True)
    if (count > 1).any():
        twice = str(labels[count > 1][0])
        raise UnseenError(f"prototypes names a class twice ({twice!r}). Pass one prototype row per class.")
    return classes, S


def prototype_rows(prototypes: Any) -> FloatArray:
    """Return prototypes as numbers, (classes, attributes); the first word among them is an error."""
    parts = prototype_parts(prototypes)
    try:
        return np.asarray(parts.rows, dtype=np.float64)
    except (TypeError, ValueError) as error:
        reason = one_line(error)
    table = np.asarray(parts.rows, dtype=object)
    for row, column in np.ndindex(table.shape) if table.ndim == 2 else ():
        cell = table[row, column]
        try:
            float(cell)
        except (TypeError, ValueError):
            raise UnseenError(f"{_cell(parts, row, column)} is {cell!r}, expected a number.") from None
    raise UnseenError(f"prototypes must be numbers, one row of equal length per class ({reason}).")


def _cell(parts: Parts, row: int, column: int) -> str:
    """Return where a number is: by the names of class and attribute, if there are any."""
    if parts.labels is None:
        return f"prototypes[{row}, {column}]"
    attribute = repr(str(parts.names[column])) if parts.names else f"number {column}"
    return f"prototypes: attribute {attribute} of class {str(parts.labels[row])!r}"
