"""Class labels: the one place where a label is looked up, and prototypes in any form become rows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

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
    n, names, label = len(classes), list(map(str, classes.tolist())), unknown[0]
    if str(label) in names:  # 6 and "6"
        text = isinstance(label, str)
        kind, other, needed = ("text", "numbers", "int") if text else ("a number", "text", "str")
        return f"{what} names class {label} as {kind}, but the classes are {other}. Use astype({needed})."
    counted = names == list(map(str, range(n)))
    if counted and (classes.dtype.kind in "iu" or _is_integer(str(label))):
        return (
            f"prototypes has {n} rows but {what} names class {label} (labels must be 0..{n - 1}). "
            f"{advise_on_range(labels, n)}"
        )
    strange = list(map(str, unknown.tolist()))
    if len(strange) > 1:
        return _several_unknown(strange, names, what, lacks)
    alike = look_alikes(strange, names)
    near = f" Did you mean {alike[strange[0]]!r}?" if alike else ""
    if not near and not (_is_integer(strange[0]) and all(map(_is_integer, names))):
        near = did_you_mean(strange[0], names)  # a number is not a typo of another one
    return f"{what} names class {strange[0]!r}, which {lacks}.{near}"


def _several_unknown(strange: Sequence[str], names: Sequence[str], what: str, lacks: str) -> str:
    """Return the message about several classes that are not there: those that look alike, then the others."""
    alike = look_alikes(strange, names)
    pairs = [f"{_visible(name)} ~ {_visible(other)}" for name, other in alike.items()]
    others = [name for name in strange if name not in alike]
    several = re.sub(r"^is ", "are ", re.sub(r"^has ", "have ", lacks))
    message = f"{what} names {len(strange)} classes that {several}"
    if not pairs:
        return f"{message}: {shortened(others, 8)}."
    message += f"; {len(pairs)} look alike: {shortened(pairs, 12)}. Write both the same way."
    return f"{message} The others: {shortened(others, 8)}." if others else message


def _visible(name: str) -> str:
    """Return a name in quotes if its spaces would be missed."""
    return name if name == " ".join(name.split()) else repr(name)


def _is_integer(text: str) -> bool:
    return text.lstrip("-").isdigit()


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
        raise UnseenError(f"{_cell(prototypes, row, column)} is {S[row, column]}, expected a finite number.")
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
    elif _class_column(prototypes) is not None:
        rows = np.asarray(prototypes, dtype=object)[:, 1:]
    try:
        return np.asarray(rows, dtype=np.float64)
    except (TypeError, ValueError) as error:
        wrong = _find_word(prototypes, rows)
        raise UnseenError(
            wrong or f"prototypes must be numbers, one row of equal length per class ({one_line(error)})."
        ) from error


def _find_word(prototypes: Any, rows: Any) -> str:
    """Return the message about the first cell that is not a number; nothing if rows are not a table."""
    try:
        table = np.asarray(rows, dtype=object)
    except ValueError:
        return ""
    for row, column in np.ndindex(table.shape) if table.ndim == 2 else ():
        try:
            float(table[row, column])
        except (TypeError, ValueError):
            return f"{_cell(prototypes, row, column)} is {table[row, column]!r}, expected a number."
    return ""


def _cell(prototypes: Any, row: int, column: int) -> str:
    """Return where a number is: by the names of class and attribute, if there are any."""
    if not is_labeled(prototypes):
        return f"prototypes[{row}, {column}]"
    names = _columns(prototypes) if not isinstance(prototypes, Mapping) else attribute_names(prototypes)
    attribute = repr(str(names[column])) if names else f"number {column}"
    return f"prototypes: attribute {attribute} of class {str(class_labels(prototypes)[row])!r}"


def attribute_names(prototypes: Any) -> list[str] | None:
    """Return the names of the attributes: of the columns of a table, or of the rows of a mapping.

    Column numbers and duplicate names do not count as names.

    >>> attribute_names({"owl": {"blue": 0.1, "big": 0.8}, "jay": {"big": 0.2, "blue": 0.9}})
    ['blue', 'big']
    """
    if isinstance(prototypes, Mapping):
        names = _names_of_rows(prototypes)
    else:
        names = _columns(prototypes)
    named = bool(names) and all(isinstance(name, str) for name in names) and len(set(names)) == len(names)
    return names if named and names != list(map(str, range(len(names)))) else None


def _names_of_rows(prototypes: Mapping[Any, Any]) -> list[Any]:
    """Return the names in the first row, which all rows must have; none if rows are only numbers."""
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


def is_labeled(prototypes: Any) -> bool:
    """Return whether prototypes name their classes: a mapping, or a DataFrame (pandas is not imported)."""
    # a list has an ``index`` too
    has_index = hasattr(prototypes, "index") and hasattr(prototypes, "columns")
    return isinstance(prototypes, Mapping) or has_index or _class_column(prototypes) is not None


def class_labels(prototypes: Any) -> list[Any]:
    """Return the class labels of prototypes that name their classes."""
    if isinstance(prototypes, Mapping):
        return list(prototypes)
    column = _class_column(prototypes)
    return list(prototypes.index if column is None else prototypes[column])


def _columns(prototypes: Any) -> list[Any]:
    """Return the names of the columns that describe."""
    return list(getattr(prototypes, "columns", ()))[_class_column(prototypes) is not None :]


def _class_column(prototypes: Any) -> Any:
    """Return the first column of a DataFrame if it names the classes: it holds text, and no index does."""
    columns = getattr(prototypes, "columns", None)
    if isinstance(prototypes, Mapping) or columns is None or not len(columns):
        return None
    index = getattr(prototypes, "index", None)  # polars has none, pandas counts rows by default
    if index is not None and list(index) != list(range(len(prototypes))):
        return None
    try:
        cells = list(prototypes[columns[0]])
    except (TypeError, KeyError, IndexError):  # not a DataFrame, such as Prototypes
        return None
    return columns[0] if cells and all(isinstance(cell, str) for cell in cells) else None
