"""Predictions for features of any size: read in blocks, scored in blocks, written in blocks."""

from __future__ import annotations

import csv
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from unseen._core.blocks import BoolArray, FloatArray, row_blocks, score_blocks, top_columns
from unseen._core.files import atomic_path
from unseen._core.npz import Member, map_npy, read_npz
from unseen.datasets import load
from unseen.datasets.dataset import as_features
from unseen.errors import UnseenError, need_extra
from unseen.models.io import Model
from unseen.selection.rejection import Rejection
from unseen.selection.search import GZSLClassifierCV, with_unknown

Table = dict[str, Sequence[str | int | float]]  # column name -> values


# ---- features, wherever they are --------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Samples:
    """Features that are read block by block, and the names of their rows if they have any."""

    name: str
    shape: tuple[int, int]
    blocks: Callable[[], Iterator[NDArray[Any]]]
    names: NDArray[Any] | None = None


def open_samples(source: str | PathLike[str], features: str = "res101") -> Samples:
    """Return the features in a ``.npy`` or ``.npz`` file, or in any data set that ``datasets.load`` takes.

    A ``.npy`` is memory-mapped and the array ``X`` of an ``.npz`` is streamed, so both may be larger than
    memory.
    """
    path = Path(source)
    if path.suffix == ".npy":
        return _of_array(path.name, map_npy(path))
    if path.suffix == ".npz":
        return _of_npz(path)
    data = load(source, features=features, require_features=False)
    if data.X is None:
        raise UnseenError(data.missing[0])
    return _of_array(data.name, data.X, data.sample_names)


def _of_array(name: str, X: NDArray[Any], names: NDArray[Any] | None = None) -> Samples:
    if X.ndim != 2:
        raise UnseenError(f"{name} has shape {X.shape}, expected (samples, features).")
    return Samples(name, X.shape, lambda: (X[block] for block in row_blocks(len(X))), names)


def _of_npz(path: Path) -> Samples:
    names, X = read_npz(path, ["files"]).get("files"), Member.find(path, "X")
    if X is None:
        raise UnseenError(f"{path} holds no array X, expected the features (samples, features).")
    if X.fortran or len(X.shape) != 2 or X.dtype.kind not in "fiub":  # cannot be read row by row
        return _of_array(path.name, read_npz(path, ["X"])["X"], names)
    n, width = X.shape
    return Samples(path.name, (n, width), lambda: X.blocks(row_blocks(n)), names)


# ---- from features to tables ------------------------------------------------------------------------------


def predict_tables(
    model: Model, samples: Samples, top: int = 3, reject: float | None = None
) -> Iterator[Table]:
    """Yield the predictions of each block: class, score, probability and kind of the best ``top`` classes.

    Parameters
    ----------
    model : fitted method or fitted GZSLClassifierCV
    samples : Samples
    top : int
        Number of classes per sample; the second has the columns ``class_2``, ``score_2``, ...
    reject : float, optional
        As in ``GZSLClassifierCV.predict``: class and kind of samples of no described class are ``"unknown"``.
    """
    rejection = None if reject is None else rejection_of(model, reject)
    check_width(model, samples.shape[1], samples.name)
    if not samples.shape[0]:
        raise UnseenError(f"{samples.name} holds no samples.")
    top = min(top, len(model.classes_))
    start = 0
    for block in samples.blocks():
        X = as_features(block)
        _check_finite(X, start, samples.name)
        for rows in score_blocks(len(X), len(model.classes_)):
            scores = model.similarity(X[rows])
            table = _best(model, scores, top)
            if rejection is not None and reject is not None:
                familiar = rejection.familiarity(scores, model.temperature_)
                table |= _with_unknown(table, familiar < rejection.threshold(reject))
            yield {**_row_names(samples, start, len(scores)), **table}
            start += len(scores)


def rejection_of(model: Model, reject: float) -> Rejection:
    """Return how a model detects unknown classes; refuse one that cannot."""
    if not isinstance(model, GZSLClassifierCV):
        raise UnseenError(
            f"{type(model).__name__} has no threshold for unknown classes, because nothing was held out. "
            "Fit the model with unseen fit or GZSLClassifierCV."
        )
    return model._rejects(reject)


def check_width(model: Model, width: int, name: str) -> None:
    """Refuse features that the model was not fitted for."""
    expected = model.coef_.shape[1]
    if width != expected:
        raise UnseenError(
            f"{name} has {width} features per sample, but the model takes {expected}. "
            "Extract them with the backbone that the model was fitted with."
        )


def _check_finite(X: FloatArray, start: int, name: str) -> None:
    finite = np.isfinite(X)
    if not finite.all():
        row, column = np.argwhere(~finite)[0]
        raise UnseenError(
            f"{name} holds {X[row, column]} at sample {start + row}, feature {column}, "
            "expected a finite number. Remove this sample or fill the value in."
        )


def _row_names(samples: Samples, start: int, n: int) -> Table:
    if samples.names is None:
        return {"sample": range(start, start + n)}
    return {"file": samples.names[start : start + n].tolist()}


def _best(model: Model, scores: FloatArray, top: int) -> Table:
    """Return class, score, probability and kind of the ``top`` best classes; of equals the first column."""
    order = top_columns(scores, top)
    kinds = np.where(model.seen_, "seen", "unseen")
    precise = scores.astype(np.float64)
    searched = isinstance(model, GZSLClassifierCV)
    probabilities = model._probabilities(precise) if searched else softmax(precise, axis=1)
    table: Table = {}
    for rank in range(top):
        column, suffix = order[:, rank], f"_{rank + 1}" if rank else ""
        table[f"class{suffix}"] = model.classes_[column].tolist()
        table[f"score{suffix}"] = np.take_along_axis(scores, column[:, None], axis=1)[:, 0].tolist()
        table[f"probability{suffix}"] = probabilities[np.arange(len(column)), column].tolist()
        table[f"kind{suffix}"] = kinds[column].tolist()
    return table


def _with_unknown(table: Table, unknown: BoolArray) -> Table:
    """Return the first class and kind of every sample, ``"unknown"`` for some."""
    return {name: with_unknown(np.array(table[name]), unknown).tolist() for name in ("class", "kind")}


# ---- tables to files --------------------------------------------------------------------------------------


def write_csv(tables: Iterable[Table], file: IO[str]) -> None:
    """Write tables with the same columns as one CSV."""
    writer = csv.writer(file, lineterminator="\n")
    for number, table in enumerate(tables):
        if number == 0:
            writer.writerow(table)
        columns = [
            [f"{value:.6g}" if isinstance(value, float) else value for value in column]
            for column in table.values()
        ]
        writer.writerows(zip(*columns))


def write_parquet(tables: Iterable[Table], path: str | PathLike[str]) -> None:
    """Write tables with the same columns as one Parquet file, one row group per table."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise need_extra("pyarrow", "pandas", "Writing Parquet") from None
    groups = (pyarrow.table({name: list(column) for name, column in table.items()}) for table in tables)
    first = next(groups)
    with atomic_path(path) as temporary, pyarrow.parquet.ParquetWriter(temporary, first.schema) as writer:
        for group in itertools.chain([first], groups):
            writer.write_table(group)
