"""Class labels: the one place where a label is looked up."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unseen._core.blocks import BoolArray, IndexArray
from unseen.errors import UnseenError, did_you_mean, expect

LabelArray = NDArray[Any]  # integers or strings
Kind = Literal["seen", "unseen"]  # of a class, or of a sample by its class
KINDS: tuple[Kind, Kind] = ("seen", "unseen")
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
    except (TypeError, IndexError):  # strings against integers, or no class at all
        unknown = np.ones(len(labels), dtype=bool)
    if unknown.any():
        raise UnseenError(_not_found(labels, distinct_labels(labels[unknown]), classes, what, lacks))
    return np.asarray(position)


def check_labels(y: ArrayLike) -> LabelArray:
    """Return the labels of samples as an array; a missing one (None, NaN, "") is rejected by its place.

    >>> check_labels(["owl", None])
    Traceback (most recent call last):
    unseen.errors.UnseenError: y[1] is None: every sample needs a label. Remove samples without one.
    """
    from sklearn.utils import column_or_1d

    labels = column_or_1d(np.asarray(y), warn=True)
    mixed = labels.dtype.kind in "fO"
    missing = np.array([is_missing(label) for label in labels]) if mixed else np.asarray(labels == "")
    if missing.any():
        place = int(missing.argmax())
        what = str(labels[place]) or "empty"
        raise UnseenError(f"y[{place}] is {what}: every sample needs a label. Remove samples without one.")
    return np.asarray(labels)


def is_missing(label: Any) -> bool:
    """Return whether a label is empty: None, NaN, "" or pandas.NA, whose comparisons are neither."""
    return label is None or type(label).__name__ == "NAType" or bool(label != label) or label == ""


def _not_found(labels: LabelArray, unknown: LabelArray, classes: LabelArray, what: str, lacks: str) -> str:
    """Return the message about labels that are not among the classes."""
    n, names, strange = len(classes), list(map(str, classes.tolist())), list(map(str, unknown.tolist()))
    first = strange[0]
    if first in names:  # 6 and "6"
        text = isinstance(unknown[0], str)
        kind, other, needed = ("text", "numbers", "int") if text else ("a number", "text", "str")
        return f"{what} names class {first} as {kind}, but the classes are {other}. Use astype({needed})."
    is_row = re.match("has no (prototype|description)", lacks)
    is_number = classes.dtype.kind in "iu" or first.lstrip("-").isdigit()
    if is_row and is_number and names == list(map(str, range(n))):
        message = f"prototypes has {n} rows but {what} names class {first} (labels must be 0..{n - 1})."
        return f"{message} {advise_on_range(labels, n)}"
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
    """Return the positions of the candidates in ``classes``; those of all classes for None.

    Candidates are labels, or a mask with one entry per class.

    >>> candidate_columns(np.array([4, 5, 6]), [False, True, True])
    array([1, 2])
    """
    if candidates is None:
        return np.arange(len(classes))
    given = np.asarray(candidates)
    if given.dtype == bool and given.shape == classes.shape and classes.dtype != bool:
        given = classes[given]
    expect("candidates", candidates, given.ndim == 1 and given.size, "a list of at least one class")
    return label_positions(given, classes, "candidates")


def class_mask(index: Iterable[int] | IndexArray, n_classes: int) -> BoolArray:
    """Return the mask over all classes that is True at ``index``.

    >>> class_mask([0, 2], 4)
    array([ True, False,  True, False])
    """
    return np.isin(np.arange(n_classes), np.asarray(index, dtype=np.intp))
