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
from unseen._core.tables import INDEX_NAMES, Table, read_table
from unseen.datasets.dataset import ZeroShotDataset
from unseen.datasets.own import assemble
from unseen.datasets.prototypes import finite_numbers
from unseen.errors import UnseenError, did_you_mean

TO_TRAIN = "Correct it, or leave the column out with --ignore {}."
TO_PREDICT = "Correct it, or delete the line."  # the model needs the column


@dataclass(frozen=True, eq=False)
class SampleTable:
    """The samples of a table."""

    X: FloatArray  # (rows, features)
    feature_names: tuple[str, ...]
    label: str | None  # the column with the classes
    y: NDArray[np.str_] | None  # (rows,)
    notes: tuple[str, ...]  # which columns are not used, and why


def load_table(
    path: Path,
    *,
    label: str | None = None,
    ignore: Collection[str] = (),
    prototypes: Descriptions | None = None,
    unseen_classes: Sequence[str] | None = None,
) -> ZeroShotDataset:
    """Return the data set in a CSV or Parquet table; its classes are described by ``prototypes``."""
    samples = read_samples(path, label=label, ignore=ignore, require_labels=True)
    data = assemble(
        path.stem,
        {"X": samples.X, "y": np.asarray(samples.y)},
        prototypes,
        unseen_classes,
        labels=f"{path}, column {samples.label!r},",
        files=[path],
        notes=samples.notes,
        feature_names=samples.feature_names,
    )
    for name, column in zip(samples.feature_names, samples.X.T):
        if prototypes is not None and len(column) > 1 and np.all(np.diff(column) == 1):
            warnings.warn(
                f"The column {name!r} of {path} counts the rows, and is used as a feature. Leave it out with "
                f"--ignore {name}.",
                stacklevel=2,
            )
    return data


def read_samples(
    path: Path,
    *,
    label: str | None = None,
    ignore: Collection[str] = (),
    features: Sequence[str] | None = None,
    require_labels: bool = False,
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
    require_labels : bool
        Reject a table in which a sample has no label.
    """
    table = read_table(path, text=[label] if label else [])
    for name in (*ignore, *([label] if label else [])):
        if name not in table.columns:
            known, near = shortened(list(table.columns), 8), did_you_mean(name, table.columns)
            raise UnseenError(f"{path} has no column {name!r}, only {known}.{near}")
    usable = [name for name in table.columns if name not in INDEX_NAMES and name not in ignore]
    empty = [name for name in usable if table.is_empty(name)]
    text = [name for name in usable if name not in empty and table.is_text(name)]
    if label is None and len(text) == 1 and text[0] not in (features or ()):
        label = text[0]
    y = _labels(table, label, text, require_labels)
    numeric = [name for name in usable if name not in (label, *empty, *text)]
    if features is None:
        chosen = numeric
        unused = {name: "text" for name in text if name != label} | dict.fromkeys(empty, "empty")
    else:
        chosen = find_features(features, usable, str(path))
        unused = {name: "not a feature of the model" for name in numeric if name not in chosen}
    if not chosen:
        raise UnseenError(f"{path} has no column of numbers, expected the features of the samples.")
    X = finite_numbers(table, chosen, TO_TRAIN if features is None else TO_PREDICT)
    listed = shortened([f"{name!r} ({why})" for name, why in unused.items()], 8)
    notes = (f"columns of {path.name} that are not used: {listed}.",) if unused else ()
    return SampleTable(X, tuple(chosen), label, y, notes)


def find_features(wanted: Sequence[str], names: Sequence[str], where: str) -> list[str]:
    """Return the features that a model takes; all of them must be among the names."""
    absent = [name for name in wanted if name not in set(names)]
    if absent:
        near = did_you_mean(absent[0], [name for name in names if name not in set(wanted)])
        problem = f"{where} lacks {len(absent)} of the {len(wanted)} features that the model takes"
        raise UnseenError(f"{problem}: {shortened(absent, 8)}.{near}")
    return list(wanted)


def _labels(table: Table, label: str | None, text: Sequence[str], required: bool) -> NDArray[np.str_] | None:
    """Return the label of every row; None if some have none, unless labels are required."""
    if label is None:
        if not required:
            return None
        held = f"{len(text)} columns hold text ({shortened(text, 8)})" if text else "no column holds text"
        example = f", for instance --label {text[0]}" if text else ""
        raise UnseenError(
            f"{table.path}: {held}, so the column of classes is not clear. Name it with --label{example}."
        )
    return None if not required and "" in table.text(label) else table.labels(label)
