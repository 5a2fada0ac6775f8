"""Class descriptions in files: attributes in a table, or words for a text encoder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path

import numpy as np

from unseen._core.csv_files import iterate_csv
from unseen._core.npz import read_npz
from unseen._core.prototypes import Encoder, Prototypes, align, combine
from unseen._core.tables import INDEX_NAMES, Table, counts_up, is_number, read_table
from unseen.errors import UnseenError

__all__ = ["Prototypes", "align", "combine", "read_prototypes", "read_sources"]


def read_sources(files: Sequence[str | PathLike[str]], encoder: Encoder | None = None) -> Prototypes:
    """Return the class descriptions in files; several are combined (see ``combine``).

    A CSV has a header, the class name in the first column, and then one column per attribute; or one column
    of texts for the encoder, in which a class may have several lines. An ``.npz`` has ``prototypes`` and
    ``class_names``.
    """
    return combine([read_prototypes(Path(file), encoder) for file in files])


def read_prototypes(path: Path, encoder: Encoder | None = None) -> Prototypes:
    """Return the descriptions in a CSV or Parquet table: the class name first, then its attributes or words.

    Or in an ``.npz``, as ``unseen describe`` writes it. Words need a text encoder.
    """
    if path.suffix == ".npz":
        return _read_npz_prototypes(path)
    table, label = _open_table(path)
    attributes = _attributes(table, label)
    if len(attributes) != 1 or not table.is_text(attributes[0]):
        return _from_table(table, label)
    if encoder is None:
        raise UnseenError(
            f"{path} describes classes in words. Give a text encoder with --encoder: an ONNX file, a folder "
            "in Hugging Face layout, or hf:owner/name."
        )
    texts: dict[str, list[str]] = {}
    for name, text in zip(_class_names(table, label), table.columns[attributes[0]]):
        texts.setdefault(name, []).append(text)
    return replace(Prototypes.from_text(texts, encoder), files=(path,))


def _open_table(path: Path) -> tuple[Table, str]:
    """Return a table of classes, and the column that names them."""
    if not path.is_file():
        raise UnseenError(
            f"There is no file {path}, expected a table with one line per class: name, then attributes."
        )
    header: list[str] = []
    if path.suffix.lower() != ".parquet":
        _, header = next(iterate_csv(path))
        _check_header(path, header)
    table = read_table(path, text=header[:1])
    return table, _naming_column(table)


def _naming_column(table: Table) -> str:
    """Return the column that names the classes: the first, or the one after the row index of pandas."""
    first, *others = table.columns
    text = [name for name in others if table.is_text(name)]
    if not text or not all(map(is_number, table.text(first).tolist())):
        return first
    if first in INDEX_NAMES or table.lines is None:  # Parquet has the row index at the end
        return text[0]
    raise UnseenError(
        f"{table.path}: the first column {first!r} holds numbers, expected the names of the classes. "
        f"Move the column {text[0]!r} to the front."
    )


def _attributes(table: Table, label: str) -> list[str]:
    """Return the columns that describe: all but the class, the row index, and those without content."""
    return [
        name
        for name in table.columns
        if name != label and name not in INDEX_NAMES and not table.is_empty(name)
    ]


def _class_names(table: Table, label: str) -> list[str]:
    names: list[str] = table.text(label).tolist()
    if "" in names:
        raise UnseenError(f"{table.place(names.index(''), label)} is empty, expected the name of a class.")
    return names


def _from_table(table: Table, label: str) -> Prototypes:
    """Return the descriptions in a table of attributes."""
    attributes, names = _attributes(table, label), _class_names(table, label)
    S = table.numbers(attributes, "An attribute is a number for every class.").astype(np.float64)
    if not np.isfinite(S).all():
        row, column = np.argwhere(~np.isfinite(S))[0]
        what = "empty" if np.isnan(S[row, column]) else S[row, column]
        raise UnseenError(f"{table.place(row, attributes[column])} is {what}, expected a finite number.")
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice is not None:
        rows = [row for row, name in enumerate(names) if name == twice]
        raise UnseenError(f"{table.place(rows[1], label)} describes class {twice!r} twice. Describe it once.")
    return Prototypes(np.array(names), tuple(attributes), S, (table.path,))


def _check_header(path: Path, header: Sequence[str]) -> None:
    """Reject a first line of numbers, unless they count the attributes as columns of a DataFrame do."""
    if len(header) < 2 or not all(map(is_number, header[1:])):
        return
    if not counts_up(header[1:]) and header[0].lower() not in ("", "class", "name"):
        raise UnseenError(
            f"{path} has no header: its first line {','.join(header)[:60]!r} describes a class. Write a line "
            "above it with the word class and the names of the attributes."
        )


def _read_npz_prototypes(path: Path) -> Prototypes:
    """Return the descriptions in an ``.npz``."""
    content = read_npz(path, ["prototypes", "class_names", "attribute_names"])
    S, names = content.get("prototypes"), content.get("class_names")
    if S is None or names is None:
        raise UnseenError(f"{path} describes no classes, expected the arrays prototypes and class_names.")
    if S.ndim != 2 or S.dtype.kind not in "fiub" or names.shape != (len(S),):
        raise UnseenError(
            f"{path} has prototypes of shape {S.shape} and {names.size} class names, expected one row of "
            "numbers per class."
        )
    columns = content.get("attribute_names", np.arange(S.shape[1])).ravel()
    return Prototypes(names.astype(str), tuple(map(str, columns)), S.astype(np.float64), (path,))
