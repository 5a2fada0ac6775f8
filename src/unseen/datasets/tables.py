"""Tables of samples: one row per sample, a column with its class, and numeric columns with its features."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unseen._core.blocks import FloatArray
from unseen._core.labels import shortened
from unseen._core.prototypes import Descriptions
from unseen._core.tables import INDEX_NAMES, Table, counts_up, is_number, read_table
from unseen.datasets.dataset import ZeroShotDataset, find_overflow
from unseen.datasets.own import Pieces, assemble
from unseen.errors import UnseenError, did_you_mean

TO_TRAIN = "Correct it, or leave the column out with --ignore {}."
TO_PREDICT = "Correct it, or delete the line."  # the model needs the column


@dataclass(frozen=True, eq=False)
class SampleTable:
    """The samples of a table.

    Parameters
    ----------
    X : ndarray of shape (rows, features)
    feature_names : tuple of str
    label : str, optional
        Name of the column with the classes.
    y : ndarray of str, shape (rows,), optional
    notes : tuple of str
        Which columns are not used, and why.
    """

    X: FloatArray
    feature_names: tuple[str, ...]
    label: str | None = None
    y: NDArray[np.str_] | None = None
    notes: tuple[str, ...] = ()


def load_table(
    path: Path,
    *,
    label: str | None = None,
    ignore: Collection[str] = (),
    prototypes: Descriptions | None = None,
    unseen_classes: Sequence[str] | None = None,
) -> ZeroShotDataset:
    """Return the data set in a CSV or Parquet table; its classes are described by ``prototypes``."""
    samples = read_samples(path, label=label, ignore=ignore)
    if samples.label is None or samples.y is None:
        raise UnseenError(f"{path}: {_no_label(read_table(path), ignore)}")
    pieces = Pieces(
        name=path.stem,
        content={"X": samples.X, "y": samples.y},
        files=(path,),
        notes=samples.notes,
        labels=f"{path}, column {samples.label!r},",
        feature_names=samples.feature_names,
    )
    data = assemble(pieces, prototypes, unseen_classes)
    if prototypes is not None:  # to train on
        _warn_of_row_numbers(samples, path)
    return data


def read_samples(
    path: Path,
    *,
    label: str | None = None,
    ignore: Collection[str] = (),
    features: Sequence[str] | None = None,
) -> SampleTable:
    """Return the samples of a CSV or Parquet table.

    Parameters
    ----------
    path : Path
    label : str, optional
        The column with the classes; by default the only column of text. Without any, there are no labels.
    ignore : collection of str
        Columns to leave out.
    features : sequence of str, optional
        The columns to take, in this order; by default all columns of numbers.
    """
    table = read_table(path, text=[label] if label else [])
    _check_columns(table, [*ignore, *([label] if label else [])])
    usable = [name for name in table.columns if name not in INDEX_NAMES and name not in ignore]
    empty = [name for name in usable if table.is_empty(name)]
    text = [name for name in usable if name not in empty and table.is_text(name)]
    if label is None and len(text) == 1 and text[0] not in (features or ()):
        label = text[0]
    numeric = [name for name in usable if name not in (label, *empty, *text)]
    chosen = numeric if features is None else find_features(features, usable, str(path))
    if features is None:
        unused = {name: "text" for name in text if name != label} | dict.fromkeys(empty, "empty")
    else:
        unused = {name: "not a feature of the model" for name in numeric if name not in chosen}
    y = None if label is None else _labels(table, label, required=features is None)
    X = _features(table, chosen, TO_TRAIN if features is None else TO_PREDICT)
    return SampleTable(X, tuple(chosen), label, y, _notes(path, unused))


def _warn_of_row_numbers(samples: SampleTable, path: Path) -> None:
    """Warn of a feature that only counts the rows."""
    for name, column in zip(samples.feature_names, samples.X.T):
        if len(column) > 1 and np.all(np.diff(column) == 1):
            warnings.warn(
                f"The column {name!r} of {path} counts the rows, and is used as a feature. Leave it out with "
                f"--ignore {name}.",
                stacklevel=2,
            )


def find_features(wanted: Sequence[str], names: Sequence[str], where: str) -> list[str]:
    """Return the features that a model takes; all of them must be among the names."""
    absent = [name for name in wanted if name not in set(names)]
    if absent:
        near = did_you_mean(absent[0], [name for name in names if name not in set(wanted)])
        raise UnseenError(
            f"{where} lacks {len(absent)} of the {len(wanted)} features that the model takes: "
            f"{shortened(absent, 8)}.{near}"
        )
    return list(wanted)


def _check_columns(table: Table, names: Sequence[str]) -> None:
    """Reject names that no column has."""
    for name in names:
        if name not in table.columns:
            near = did_you_mean(name, table.columns)
            known = shortened(list(table.columns), 8)
            raise UnseenError(f"{table.path} has no column {name!r}, only {known}.{near}")


def _notes(path: Path, unused: dict[str, str]) -> tuple[str, ...]:
    """Return which columns are not used, and why."""
    if not unused:
        return ()
    listed = shortened([f"{name!r} ({why})" for name, why in unused.items()], 8)
    return (f"not used of {path.name}: {listed}.",)


def _labels(table: Table, label: str, required: bool) -> NDArray[np.str_] | None:
    """Return the label of every row; rows without one are rejected by their lines."""
    y = table.text(label)
    empty = np.flatnonzero(y == "")
    if not len(empty):
        return y
    if not required:
        return None
    lines = empty if table.lines is None else table.lines[empty]
    more = f" (so are lines {shortened(list(map(str, lines[1:])), 8)})" if len(lines) > 1 else ""
    raise UnseenError(
        f"{table.place(empty[0], label)} is empty{more}: every sample needs a label. Fill it in, or delete "
        "these lines."
    )


def _features(table: Table, names: Sequence[str], advice: str) -> FloatArray:
    """Return the features; a cell that is not a finite number is rejected by its place."""
    if not names:
        raise UnseenError(
            f"{table.path} has no column of numbers, expected the features of the samples.{_example(table)}"
        )
    if all(map(is_number, names)) and not counts_up(names):
        raise UnseenError(
            f"{table.path} has no header: its first line holds {', '.join(names)[:60]}. Write a line above "
            "it with the names of the columns."
        )
    X = table.numbers(names, advice)
    if not np.isfinite(X).all():
        row, column = np.argwhere(~np.isfinite(X))[0]
        what = "empty" if np.isnan(X[row, column]) else X[row, column]
        raise UnseenError(
            f"{table.place(row, names[column])} is {what}, expected a finite number. "
            f"{advice.format(names[column])}"
        )
    if (place := find_overflow(X)) is not None:
        name = names[place[1]]
        raise UnseenError(
            f"{table.place(place[0], name)} is {X[place]:.3g}, too large to compute with. "
            f"{advice.format(name)}"
        )
    return X


def _example(table: Table) -> str:
    """Return what a column of text holds that may be meant as numbers, such as 1.234,56."""
    for name in table.columns:
        cell = str(table.columns[name][0])
        if cell[:1].isdigit() or (cell[:1] in "+-" and cell[1:2].isdigit()):
            return f" Column {name!r} holds {cell!r}: write numbers without separators of thousands or units."
    return ""


def _no_label(table: Table, ignore: Collection[str]) -> str:
    """Return why no column was taken for the label."""
    text = [name for name in table.columns if name not in ignore and table.is_text(name)]
    if not text:
        return "no column holds text, so which one holds the classes? Name it with --label."
    return (
        f"{len(text)} columns hold text ({shortened(text, 8)}), so which one holds the classes? Name it with "
        f"--label, for instance --label {text[0]}."
    )
