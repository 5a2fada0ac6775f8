"""Class descriptions in files: attributes in a table, or words for a text encoder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path

import numpy as np

from unseen._core.blocks import FloatArray
from unseen._core.csv_files import iterate_csv
from unseen._core.npz import read_npz
from unseen._core.prototypes import Encoder, Prototypes, align, combine, number_rows, prototype_parts
from unseen._core.tables import INDEX_NAMES, Table, counts_up, is_number, read_table
from unseen.datasets.dataset import find_unusable
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
    parquet = path.suffix.lower() == ".parquet"
    header = list(read_table(path).columns) if parquet else next(iterate_csv(path))[1]
    table = read_table(path, text=header[:1])
    label = _naming_column(table)
    names = table.text(label).tolist()
    if "" in names:
        raise UnseenError(f"{table.place(names.index(''), label)} is empty, expected the name of a class.")
    others = [name for name in table.columns if name != label and name not in INDEX_NAMES]
    columns = [name for name in others if not table.is_empty(name)]
    if len(columns) == 1 and table.is_text(columns[0]):
        return _from_words(path, names, table.columns[columns[0]].tolist(), encoder)
    S = finite_numbers(table, columns, "An attribute is a number for every class.").astype(np.float64)
    again = np.setdiff1d(np.arange(len(names)), np.unique(names, return_index=True)[1])
    if len(again):
        where = table.place(again[0], label)
        raise UnseenError(f"{where} describes class {names[again[0]]!r} twice. Describe it once.")
    return Prototypes(np.array(names), tuple(columns), S, (path,))


def _naming_column(table: Table) -> str:
    """Return the column that names the classes: the first, or the one after the row index of pandas."""
    first, *others = table.columns
    text = [name for name in others if table.is_text(name)]
    if not text or not all(map(is_number, table.text(first).tolist())):
        return first
    if first in INDEX_NAMES or table.lines is None:  # Parquet has the row index at the end
        return text[0]
    problem = f"{table.path}: the first column {first!r} holds numbers, expected the names of the classes"
    raise UnseenError(f"{problem}. Move the column {text[0]!r} to the front.")


def _from_words(path: Path, names: list[str], words: list[str], encoder: Encoder | None) -> Prototypes:
    """Return the embeddings of what is said about each class."""
    if encoder is None:
        raise UnseenError(
            f"{path} describes classes in words. Give a text encoder with --encoder: an ONNX file, a folder "
            "in Hugging Face layout, or hf:owner/name."
        )
    texts: dict[str, list[str]] = {}
    for name, text in zip(names, words):
        texts.setdefault(name, []).append(text)
    return replace(Prototypes.from_text(texts, encoder), files=(path,))


def finite_numbers(table: Table, names: Sequence[str], advice: str) -> FloatArray:
    """Return columns as one matrix, (rows, columns); a cell that cannot be used is rejected by its place.

    The advice may have ``{}`` for the name of the column.
    """
    if names and all(map(is_number, names)) and not counts_up(names):
        raise UnseenError(
            f"{table.path} has no header: its first line holds {', '.join(names)[:60]}. Write a line above "
            "it with the names of the columns."
        )
    X = table.numbers(names, advice)
    if found := find_unusable(X):
        row, column, problem = found
        what = "empty" if np.isnan(X[row, column]) else f"{X[row, column]:.3g}"
        where, told = table.place(row, names[column]), advice.format(names[column])
        raise UnseenError(f"{where} is {what}, {problem}. {told}")
    return X


def _read_npz_prototypes(path: Path) -> Prototypes:
    """Return the descriptions in an ``.npz``."""
    content = read_npz(path, ["prototypes", "class_names", "attribute_names"])
    S, names = content.get("prototypes"), content.get("class_names")
    if S is None or names is None:
        raise UnseenError(f"{path} describes no classes, expected the arrays prototypes and class_names.")
    S = number_rows(prototype_parts(S))
    columns = content.get("attribute_names", np.arange(S.shape[-1])).ravel()
    return Prototypes(names.astype(str), tuple(map(str, columns)), S, (path,))
