"""Class descriptions from what people have: attributes in a table, words for a text encoder, or several."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from unseen._core.arrays import as_array
from unseen._core.blocks import FloatArray, IndexArray
from unseen._core.csv_files import read_csv
from unseen._core.labels import label_positions
from unseen._core.npz import read_npz
from unseen._core.scaling import scale_rows
from unseen.errors import UnseenError, did_you_mean

# from a list of texts to an array (n_texts, width)
Encoder = Callable[[list[str]], Any]


@dataclass(frozen=True, eq=False)
class Prototypes:
    """One description per class, under the name of the class; estimators take it as ``prototypes``.

    Parameters
    ----------
    index : ndarray of shape (n_classes,)
        Class labels.
    columns : tuple of str
        Attribute names.
    values : ndarray of shape (n_classes, n_attributes)

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

    def __post_init__(self) -> None:
        labels, count = np.unique(self.index, return_counts=True)
        if (count > 1).any():
            raise UnseenError(f"Class {str(labels[count > 1][0])!r} is described twice. Describe it once.")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        values = np.asarray(self.values, dtype=dtype)
        return values.copy() if copy else values

    def __len__(self) -> int:
        return len(self.values)

    @classmethod
    def from_text(cls, descriptions: Mapping[str, str | Sequence[str]], encoder: Encoder | Any) -> Self:
        """Describe classes by the embedding of words.

        Parameters
        ----------
        descriptions : mapping from class name to a text or several
            Several texts count the same: the prototype is the mean of their unit vectors, of unit length.
        encoder : callable from a list of texts to an array (n_texts, width)
            Or an object with such a method ``encode``, as sentence-transformers have.
        """
        texts = {name: [said] if isinstance(said, str) else list(said) for name, said in descriptions.items()}
        silent = next((name for name, several in texts.items() if not several), None)
        if silent is not None:
            raise UnseenError(f"Class {silent!r} has no text. Describe it in at least one sentence.")
        rows = _encode(encoder, [text for several in texts.values() for text in several])
        ends = np.cumsum([len(several) for several in texts.values()])
        means = np.array([part.mean(axis=0) for part in np.split(rows, ends[:-1])])
        columns = tuple(f"embedding {i}" for i in range(rows.shape[1]))
        return cls(np.array(list(texts)), columns, scale_rows(means, "l2"))


def _encode(encoder: Encoder | Any, texts: list[str]) -> FloatArray:
    rows = as_array(getattr(encoder, "encode", encoder)(texts)).astype(np.float64)
    if rows.ndim != 2 or len(rows) != len(texts):
        raise UnseenError(
            f"The text encoder gave an array of shape {rows.shape} for {len(texts)} texts, "
            "expected one row per text."
        )
    return scale_rows(rows, "l2")


def combine(sources: Sequence[Prototypes], weights: Sequence[float] | None = None) -> Prototypes:
    """Describe every class by several sources at once.

    Each source is scaled to unit length per class and to its weight, and the columns are put side by side,
    so that the similarity of two classes is the weighted sum of the similarities in each source.

    Parameters
    ----------
    sources : sequence of Prototypes
        With the same classes, in any order.
    weights : sequence of float, optional
        One per source; all 1 by default.

    Examples
    --------
    >>> seen = Prototypes(np.array(["jay", "owl"]), ("blue", "brown"), np.array([[3.0, 0.0], [0.0, 2.0]]))
    >>> heard = Prototypes(np.array(["owl", "jay"]), ("loud",), np.array([[0.0], [1.0]]))
    >>> combine([seen, heard]).values
    array([[1., 0., 1.],
           [0., 1., 0.]])
    """
    if len(sources) == 1 and weights is None:
        return sources[0]
    index = sources[0].index
    parts = []
    for source, weight in zip(sources, weights or [1.0] * len(sources), strict=True):
        # s.s' = sum of w_k (s_k.s'_k)
        parts.append(np.sqrt(weight) * scale_rows(source.values[_rows_of(source, index)], "l2"))
    columns = tuple(name for source in sources for name in source.columns)
    return Prototypes(index, columns, np.hstack(parts))


def _rows_of(source: Prototypes, labels: NDArray[Any]) -> IndexArray:
    """Return the row of every class in a source; both must describe the same classes."""
    lacks = "is not described by every source"
    label_positions(source.index, labels, "one source", lacks)
    return label_positions(labels, source.index, "one source", lacks)


def align(new: Prototypes, columns: Sequence[str]) -> Prototypes:
    """Return new descriptions with their attributes in the order of ``columns``, which they must match."""
    if not columns or new.columns == tuple(columns):
        return new
    for name, others in [(name, new.columns) for name in columns] + [(name, columns) for name in new.columns]:
        if name not in others:
            known = (
                "is not an attribute of the model"
                if others is columns
                else "is missing in the new descriptions"
            )
            raise UnseenError(f"The attribute {name!r} {known}.{did_you_mean(name, others)}")
    order = [new.columns.index(name) for name in columns]
    return Prototypes(new.index, tuple(columns), new.values[:, order])


# ---- from files ------------------------------------------------------------------------------------


def read_sources(files: Sequence[str | PathLike[str]], encoder: Encoder | None = None) -> Prototypes:
    """Return the class descriptions in files, several side by side (see ``combine``).

    A CSV has a header, the class name in the first column, and then one column per attribute; or one
    column of words for the encoder, where a class may have several lines. An ``.npz`` has ``prototypes``
    and ``class_names``.
    """
    return combine([_read_source(Path(file), encoder) for file in files])


def _read_source(file: Path, encoder: Encoder | None) -> Prototypes:
    if file.suffix == ".npz":
        labels, attributes, S = _read_npz_prototypes(file)
        return Prototypes(np.array(labels), attributes, S)
    header, rows = read_csv(file)
    if len(header) != 2 or all(_is_number(text) for _, text in rows):
        names, columns, values = read_prototypes(file)
        return Prototypes(np.array(names), columns, values)
    if encoder is None:
        raise UnseenError(
            f"{file} describes classes in words. Give a text encoder with --encoder: an ONNX file, a folder "
            "in Hugging Face layout, or hf:owner/name."
        )
    texts: dict[str, list[str]] = {}
    for name, text in rows:
        texts.setdefault(name.strip(), []).append(text.strip())
    return Prototypes.from_text(texts, encoder)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def read_prototypes(path: Path) -> tuple[tuple[str, ...], tuple[str, ...], FloatArray]:
    """Return (class names, attribute names, prototypes) of a CSV with the class name in the first column.

    Or of an ``.npz``, as ``unseen describe`` writes it.
    """
    if not path.exists():
        raise UnseenError(f"{path} is missing, expected one line per class: its name, then its attributes.")
    if path.suffix == ".npz":
        return _read_npz_prototypes(path)
    header, rows = read_csv(path)
    S = np.empty((len(rows), len(header) - 1))
    for number, row in enumerate(rows):
        for column, text in enumerate(row[1:]):
            try:
                S[number, column] = float(text)
            except ValueError:
                place = f"{path}, line {number + 2}, column {header[column + 1]!r}"
                raise UnseenError(f"{place} is {text!r}, expected a number.") from None
    return tuple(row[0].strip() for row in rows), tuple(header[1:]), S


def _read_npz_prototypes(path: Path) -> tuple[tuple[str, ...], tuple[str, ...], FloatArray]:
    """Return (class names, attribute names, prototypes) of an ``.npz``."""
    content = read_npz(path, ["prototypes", "class_names", "attribute_names"])
    S, names = content.get("prototypes"), content.get("class_names")
    if S is None or names is None:
        raise UnseenError(f"{path} describes no classes, expected the arrays prototypes and class_names.")
    if S.ndim != 2 or S.dtype.kind not in "fiub" or names.shape != (len(S),):
        raise UnseenError(
            f"{path} has prototypes of shape {S.shape} and {names.size} class names, expected one row of "
            "numbers per class."
        )
    columns = content.get("attribute_names", np.arange(S.shape[1]))
    return tuple(map(str, names)), tuple(map(str, columns.ravel())), S.astype(np.float64)
