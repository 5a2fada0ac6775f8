"""Class descriptions from attributes in a table, from words for a text encoder, or from several of these."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unseen._core.blocks import FloatArray
from unseen._core.labels import label_positions
from unseen._core.scaling import scale_rows
from unseen._core.tables import is_number
from unseen.errors import UnseenError, did_you_mean, one_line

# from a list of texts to an array (n_texts, width)
Encoder = Callable[[list[str]], Any]


class Frame(Protocol):
    """A DataFrame, as far as it matters here."""

    index: Any
    columns: Any


@dataclass(frozen=True, eq=False)
class Prototypes:
    """One description per class, by class name; estimators take it as ``prototypes``.

    Parameters
    ----------
    index : ndarray of shape (n_classes,)
        Class labels.
    columns : tuple of str
        Attribute names.
    values : ndarray of shape (n_classes, n_attributes)
    files : tuple of Path
        Where the descriptions were read from.

    Examples
    --------
    >>> words = {"jay": ["a blue bird", "a loud bird"], "owl": "a brown bird"}
    >>> count = lambda texts: [[len(text), text.count("b")] for text in texts]
    >>> Prototypes.from_text(words, count).values.round(2)
    array([[0.99, 0.13],
           [0.99, 0.16]])
    """

    index: NDArray[Any]
    columns: tuple[str, ...]
    values: FloatArray
    files: tuple[Path, ...] = ()

    def __post_init__(self) -> None:
        shape, n_names = np.shape(self.values), len(self.columns)
        if len(shape) != 2 or len(self.index) != shape[0] or n_names not in (0, shape[1]):
            got = f"{len(self.index)} class names and {n_names} names of attributes"
            raise UnseenError(f"prototypes has shape {shape} but there are {got}. Pass one row per class.")
        labels, count = np.unique(self.index, return_counts=True)
        if (count > 1).any():
            raise UnseenError(f"Class {str(labels[count > 1][0])!r} is described twice. Describe it once.")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        values = np.asarray(self.values, dtype=dtype)  # NumPy 1 does not know copy=None
        return values.copy() if copy else values

    def __len__(self) -> int:
        return len(self.values)

    @classmethod
    def from_text(cls, descriptions: Mapping[str, str | Sequence[str]], encoder: Encoder | Any) -> Self:
        """Describe classes by the embeddings of texts.

        Parameters
        ----------
        descriptions : mapping from class name to one text or several
            Several texts have equal weight: the prototype is the mean of their unit vectors, scaled to unit
            length.
        encoder : callable from a list of texts to an array (n_texts, width)
            Or an object with such a method ``encode``, as sentence-transformers have.
        """
        texts = {name: [said] if isinstance(said, str) else list(said) for name, said in descriptions.items()}
        empty = next((name for name, several in texts.items() if not several), None)
        if empty is not None:
            raise UnseenError(f"Class {empty!r} has no text. Describe it in at least one sentence.")
        flat = [text for several in texts.values() for text in several]
        encoded = getattr(encoder, "encode", encoder)(flat)
        rows = encoded_rows(encoded, len(flat), "The text encoder", "text").astype(np.float64)
        ends = np.cumsum([len(several) for several in texts.values()])
        means = np.array([part.mean(axis=0) for part in np.split(scale_rows(rows, "l2"), ends[:-1])])
        return cls(np.array(list(texts)), embedding_names(rows.shape[1]), scale_rows(means, "l2"))


# a CSV file, a table indexed by class name, or one row per class name
Descriptions = str | PathLike[str] | Prototypes | Frame | Mapping[Any, ArrayLike]


def encoded_rows(found: object, n: int, encoder: str, what: str) -> FloatArray:
    """Return what an encoder gives for n texts or images, an array or tensor with one row for each.

    A torch tensor may need gradients or be on a GPU.
    """
    detach = getattr(found, "detach", None)
    if detach is not None:
        tensor = detach().cpu()
        found = tensor.float() if str(tensor.dtype) == "torch.bfloat16" else tensor
    rows = np.asarray(found)
    if rows.ndim != 2 or len(rows) != n:
        got = f"an array of shape {rows.shape} for {n} {what}s"
        raise UnseenError(f"{encoder} gave {got}, expected one row per {what}.")
    return rows


def embedding_names(width: int) -> tuple[str, ...]:
    """Return the names of the columns of text embeddings, which say nothing about a class.

    >>> embedding_names(2)
    ('embedding 0', 'embedding 1')
    """
    return tuple(f"embedding {i}" for i in range(width))


def combine(sources: Sequence[Prototypes]) -> Prototypes:
    """Describe every class by several sources at once.

    Each source is scaled to unit length per class, and the columns are concatenated. The similarity of two
    classes is then the sum of their similarities in each source.

    Parameters
    ----------
    sources : sequence of Prototypes
        With the same classes, in any order.

    Examples
    --------
    >>> seen = Prototypes(np.array(["jay", "owl"]), ("blue", "brown"), np.array([[3.0, 0.0], [0.0, 2.0]]))
    >>> heard = Prototypes(np.array(["owl", "jay"]), ("loud",), np.array([[0.0], [1.0]]))
    >>> combine([seen, heard]).values
    array([[1., 0., 1.],
           [0., 1., 0.]])
    """
    if len(sources) == 1:
        return sources[0]
    index, lacks = sources[0].index, "is not described by every source"
    parts = []
    for source in sources:
        label_positions(source.index, index, "one source", lacks)
        rows = label_positions(index, source.index, "one source", lacks)
        parts.append(scale_rows(source.values[rows], "l2"))
    columns = tuple(name for source in sources for name in source.columns)
    files = tuple(file for source in sources for file in source.files)
    return Prototypes(index, columns, np.hstack(parts), files)


def align(new: Prototypes, columns: Sequence[str]) -> Prototypes:
    """Return new descriptions with their attributes in the order of ``columns``, which they must match."""
    if not columns or new.columns == tuple(columns):
        return new
    absent = [name for name in columns if name not in new.columns]
    strange = [name for name in new.columns if name not in columns]
    if absent:
        near = did_you_mean(absent[0], strange)
        raise UnseenError(f"The attribute {absent[0]!r} is missing in the new descriptions.{near}")
    if strange:
        raise UnseenError(f"The attribute {strange[0]!r} is not an attribute of the model.")
    order = [new.columns.index(name) for name in columns]
    return Prototypes(new.index, tuple(columns), new.values[:, order], new.files)


# ---- prototypes in any form ------------------------------------------------------------------------------


class PrototypeParts(NamedTuple):
    """What prototypes consist of."""

    labels: list[Any] | None  # of the classes; None if they are only counted
    names: list[Any]  # of the attributes, if they have any
    rows: Any  # one per class


def prototype_parts(prototypes: Any) -> PrototypeParts:
    """Return the parts of an array, a mapping, or a DataFrame, without importing its library.

    A DataFrame names its classes in its index, or in a first column of text if the index only counts rows.
    """
    if isinstance(prototypes, Mapping):
        names = _names_of_rows(prototypes)
        rows = [[row[name] for name in names] if names else row for row in prototypes.values()]
        return PrototypeParts(list(prototypes), names, rows)
    if not hasattr(prototypes, "columns"):
        return PrototypeParts(None, [], prototypes)
    names, index = list(prototypes.columns), getattr(prototypes, "index", None)
    labels = None if index is None else list(index)  # polars has no index, pandas counts rows by default
    if names and labels in (None, list(range(len(prototypes)))) and hasattr(prototypes, "__getitem__"):
        first = list(prototypes[names[0]])
        if first and all(isinstance(cell, str) for cell in first):
            return PrototypeParts(first, names[1:], np.asarray(prototypes, dtype=object)[:, 1:])
    return PrototypeParts(labels, names, prototypes)


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


def as_prototypes(prototypes: Any, y: ArrayLike = ()) -> Prototypes:
    """Return prototypes from an array, a DataFrame or a mapping; one-hot rows for the labels y from None.

    >>> as_prototypes({"owl": {"blue": 0.1, "big": 0.8}, "jay": {"big": 0.2, "blue": 0.9}}).columns
    ('blue', 'big')
    """
    if prototypes is None:
        classes = np.unique(y)
        return Prototypes(classes, (), np.eye(len(classes)))
    parts = prototype_parts(prototypes)
    S = number_rows(parts)
    if S.ndim != 2 or 0 in S.shape:
        raise UnseenError(
            f"prototypes has shape {S.shape}, expected (classes, attributes). Pass one row per class."
        )
    if not np.isfinite(S).all():
        row, column = np.argwhere(~np.isfinite(S))[0]
        raise UnseenError(f"{_cell(parts, row, column)} is {S[row, column]}, expected a finite number.")
    classes = np.arange(len(S)) if parts.labels is None else np.asarray(parts.labels)
    return Prototypes(classes, attribute_names(parts), S)


def attribute_names(parts: PrototypeParts) -> tuple[str, ...]:
    """Return the names of the attributes; column numbers and duplicate names do not count as names."""
    names = parts.names
    named = all(isinstance(name, str) for name in names) and len(set(names)) == len(names)
    return tuple(names) if named and names != list(map(str, range(len(names)))) else ()


def number_rows(parts: PrototypeParts) -> FloatArray:
    """Return prototypes as numbers, (classes, attributes); the first word among them is an error."""
    try:
        return np.asarray(parts.rows, dtype=np.float64)
    except (TypeError, ValueError) as error:
        reason = one_line(error)
    table = np.asarray(parts.rows, dtype=object)
    for row, column in np.ndindex(table.shape) if table.ndim == 2 else ():
        cell = table[row, column]
        if not is_number(cell):
            raise UnseenError(f"{_cell(parts, row, column)} is {cell!r}, expected a number.")
    raise UnseenError(f"prototypes must be numbers, one row of equal length per class ({reason}).")


def _cell(parts: PrototypeParts, row: int, column: int) -> str:
    """Return where a number is: by the names of class and attribute, if there are any."""
    if parts.labels is None:
        return f"prototypes[{row}, {column}]"
    attribute = repr(str(parts.names[column])) if parts.names else f"number {column}"
    return f"prototypes: attribute {attribute} of class {str(parts.labels[row])!r}"
