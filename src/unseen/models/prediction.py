"""Predictions for features of any size: read in blocks, scored in blocks, written in blocks."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from unseen._core.blocks import BoolArray, FloatArray, row_blocks, top_columns
from unseen._core.csv_files import csv_text
from unseen._core.labels import UNKNOWN, LabelArray
from unseen._core.npz import Member, map_npy, read_npz
from unseen._core.rows import release_pages
from unseen._core.scoring import iter_scores
from unseen._core.tables import is_table
from unseen._core.taxonomy import CONFIDENCE, Taxonomy
from unseen.calibration.prediction import Prediction, probabilities
from unseen.datasets import load_dataset
from unseen.datasets.dataset import as_features
from unseen.datasets.tables import read_samples
from unseen.errors import UnseenError

if TYPE_CHECKING:
    from unseen.base import ZeroShotClassifier
    from unseen.models.io import Model
    from unseen.models.predictor import Predictor

    AnyModel = Model | Predictor

PredictionT = TypeVar("PredictionT", bound=Prediction)
Columns = dict[str, Sequence[str | int | float]]  # column name -> values


# ---- features, wherever they are --------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Samples:
    """Features that are read block by block, with the names and the true classes of their rows if known."""

    name: str
    shape: tuple[int, int]
    blocks: Callable[[], Iterator[NDArray[Any]]]
    names: NDArray[Any] | None = None
    labels: NDArray[Any] | None = None
    notes: tuple[str, ...] = ()

    def features_for(self, model: AnyModel) -> Iterator[tuple[int, FloatArray]]:
        """Yield (number of the first sample, features) of each block, checked for what the model takes."""
        check_width(model, self.shape[1], self.name)
        if not self.shape[0]:
            raise UnseenError(f"{self.name} holds no samples.")
        start = 0
        for block in self.blocks():
            X = as_features(block)
            finite = np.isfinite(X)
            if not finite.all():
                row, column = np.argwhere(~finite)[0]
                raise UnseenError(
                    f"{self.name} holds {X[row, column]} at sample {start + row}, feature {column}, "
                    "expected a finite number. Remove this sample or fill the value in."
                )
            yield start, X
            start += len(X)


def open_samples(
    source: str | PathLike[str],
    features: str = "res101",
    *,
    model: AnyModel | None = None,
    label: str | None = None,
    ignore: Collection[str] = (),
) -> Samples:
    """Return the features in a ``.npy`` or ``.npz`` file, in a table, or in any data set.

    A ``.npy`` is memory-mapped and the array ``X`` of an ``.npz`` is streamed, so both may be larger than
    memory.

    Parameters
    ----------
    source : path, or name of a data set
    features : str
        Feature file of an xlsa17 folder.
    model : fitted model, optional
        The columns of a table are matched with the names of its features.
    label, ignore : str and collection of str, optional
        Columns of a table that are not features. Columns of text never are.
    """
    path = Path(source)
    if path.suffix == ".npy":
        return _of_array(path.name, map_npy(path))
    if path.suffix == ".npz":
        return _of_npz(path)
    if is_table(path):
        table = read_samples(path, label=label, ignore=ignore, features=feature_names(model))
        return replace(_of_array(path.name, table.X, labels=table.y), notes=table.notes)
    data = load_dataset(source, features=features, require_features=False)
    if data.X is None:
        raise UnseenError(data.missing[0])
    labels = None if data.y is None else np.array(data.class_names)[data.y]
    return _of_array(data.name, data.X, data.sample_names, labels)


def feature_names(model: AnyModel | None) -> list[str] | None:
    """Return the names of the features that a model was fitted with; None if they have none."""
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else list(map(str, names))


@contextmanager
def matched_features() -> Iterator[None]:
    """Silence scikit-learn about arrays without names, if their columns have been matched already."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        yield


def _of_array(
    name: str, X: NDArray[Any], names: NDArray[Any] | None = None, labels: NDArray[Any] | None = None
) -> Samples:
    if X.ndim != 2:
        raise UnseenError(f"{name} has shape {X.shape}, expected (samples, features).")
    return Samples(name, X.shape, lambda: _blocks_of(X), names, labels)


def _blocks_of(X: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """Yield the rows block by block; what was read from a memory-mapped file is released."""
    for block in row_blocks(len(X)):
        yield X[block]
        release_pages(X)


def _of_npz(path: Path) -> Samples:
    content, X = read_npz(path, ["files", "y", "class_names"]), Member.find(path, "X")
    if X is None:
        raise UnseenError(f"{path} holds no array X, expected the features (samples, features).")
    names, labels = content.get("files"), _labels(content, X.shape[0] if X.shape else 0)
    if names is not None and names.shape != X.shape[:1]:
        raise UnseenError(f"{path} has files of shape {names.shape}, expected one for each sample of X.")
    if X.fortran or len(X.shape) != 2 or X.dtype.kind not in "fiub":  # cannot be read row by row
        return _of_array(path.name, X.read(), names, labels)
    n, width = X.shape
    return Samples(path.name, (n, width), lambda: X.blocks(row_blocks(n)), names, labels)


def _labels(content: Mapping[str, NDArray[Any]], n: int) -> NDArray[Any] | None:
    """Return the class name of every sample; None if there are no usable labels, which are not needed."""
    y, names = content.get("y"), content.get("class_names")
    if y is None or y.shape != (n,):
        return None
    if names is None or y.dtype.kind not in "iu":
        return y
    return names[y] if np.all((y >= 0) & (y < len(names))) else None


# ---- from features to tables ------------------------------------------------------------------------------


def predict_tables(
    model: AnyModel,
    samples: Samples,
    top: int = 3,
    reject: float | None = None,
    *,
    coverage: float | None = None,
    taxonomy: Any = None,
    confidence: float = CONFIDENCE,
) -> Iterator[Columns]:
    """Yield the predictions of each block: class, score, probability and kind of the best ``top`` classes.

    Parameters
    ----------
    model : fitted method or fitted GZSLClassifierCV
    samples : Samples
    top : int
        Number of classes per sample; the second has the columns ``class_2``, ``score_2``, ...
    reject : float, optional
        As in ``GZSLClassifierCV.predict``: class and kind of samples of no described class are ``"unknown"``.
    coverage : float, optional
        As in ``GZSLClassifierCV.predict_set``: the column ``candidates`` holds the classes of the set, the
        most probable first, joined by ``|``.
    taxonomy, confidence : optional
        As in ``GZSLClassifierCV.predict``: the columns ``answer``, ``level`` and ``probability`` are those of
        the finest group that reaches the confidence, and the best class has a ``class_probability``.
    """
    groups = None if taxonomy is None else Taxonomy.from_table(taxonomy, model.classes_)
    threshold = None if reject is None else selected(model).rejection_threshold(reject)
    thresholds = None if coverage is None else selected(model).set_thresholds(coverage)
    top = min(top, len(model.classes_))
    linear = model.linear_classifier()
    # the features are checked already, and their columns matched
    scorer = model if linear is None else replace(linear, check_samples=np.asarray)
    for start, X in samples.features_for(model):
        for rows, (scores,) in iter_scores(scorer, X):
            p = probabilities(scores.astype(np.float64), getattr(model, "temperature_", 1.0))
            table = _best(model, scores, p, top)
            if groups is not None:
                table = _with_answers(table, groups, p, confidence)
            if thresholds is not None:
                table["candidates"] = join_candidates(p, thresholds, model.classes_)
            if threshold is not None:
                table |= _with_unknown(table, p.max(axis=1) < threshold)
            numbers = range(start + rows.start, start + rows.stop)
            if samples.names is None:
                yield {"sample": numbers, **table}
            else:
                yield {"file": samples.names[numbers.start : numbers.stop].tolist(), **table}


def selected(model: ZeroShotClassifier | PredictionT) -> PredictionT:
    """Return the model if held-out samples have calibrated it."""
    if not isinstance(model, Prediction):
        problem = f"{type(model).__name__} has no calibration and no thresholds, because nothing was held out"
        raise UnseenError(f"{problem}. Fit the model with unseen fit or GZSLClassifierCV.")
    return model


def check_width(model: AnyModel, width: int, name: str) -> None:
    """Reject features that the model was not fitted for."""
    expected = model.coef_.shape[1]
    if width != expected:
        problem = f"{name} has {width} features per sample, but the model takes {expected}"
        raise UnseenError(f"{problem}. Extract them with the backbone that the model was fitted with.")


def _best(model: AnyModel, scores: FloatArray, p: FloatArray, top: int) -> Columns:
    """Return class, score, probability and kind of the ``top`` best classes; of equals the first column."""
    order = top_columns(scores, top)
    kinds = np.where(model.seen_, "seen", "unseen")
    table: Columns = {}
    for rank in range(top):
        column, suffix = order[:, rank], f"_{rank + 1}" if rank else ""
        table[f"class{suffix}"] = model.classes_[column].tolist()
        table[f"score{suffix}"] = np.take_along_axis(scores, column[:, None], axis=1)[:, 0].tolist()
        table[f"probability{suffix}"] = np.take_along_axis(p, column[:, None], axis=1)[:, 0].tolist()
        table[f"kind{suffix}"] = kinds[column].tolist()
    return table


def _with_answers(table: Columns, taxonomy: Taxonomy, p: FloatArray, confidence: float) -> Columns:
    """Return the table with the finest sure group of every sample before its best classes."""
    found = taxonomy.answer(p, confidence)
    renamed = {"class_probability" if name == "probability" else name: table[name] for name in table}
    return {
        "answer": found.label.tolist(),
        "level": np.array(taxonomy.level_names)[found.level].tolist(),
        "probability": found.probability.tolist(),
        **renamed,
    }


def join_candidates(p: FloatArray, thresholds: FloatArray, classes: LabelArray) -> list[str]:
    """Return the candidates of every sample as text, the most probable first; "" for none.

    A bar in the name of a class is written with a backslash before it, and a backslash twice.

    >>> p = np.array([[0.3, 0.6, 0.1], [0.4, 0.3, 0.3]])
    >>> join_candidates(p, np.array([0.2, 0.5, 0.5]), np.array(["jay", "owl", "tit"]))
    ['owl|jay', 'jay']
    """
    names = np.array([str(label).replace("\\", "\\\\").replace("|", "\\|") for label in classes.tolist()])
    order = np.argsort(-p, axis=1, kind="stable")  # (samples, classes)
    chosen = np.take_along_axis(p >= thresholds, order, axis=1)
    return ["|".join(names[row[inside]]) for row, inside in zip(order, chosen)]


def _with_unknown(table: Columns, unknown: BoolArray) -> Columns:
    """Return class and kind of every sample, and its answer if there is one, ``"unknown"`` for some."""
    names = (name for name in ("answer", "level", "class", "kind") if name in table)
    return {name: np.where(unknown, UNKNOWN, np.array(table[name], dtype=str)).tolist() for name in names}


# ---- tables to files --------------------------------------------------------------------------------------


def write_tables(tables: Iterable[Columns], file: IO[str]) -> None:
    """Write tables with the same columns as one CSV."""
    for number, table in enumerate(tables):
        rows = zip(*table.values())
        cells = [[f"{value:.6g}" if isinstance(value, float) else value for value in row] for row in rows]
        file.write(csv_text(cells if number else [list(table), *cells]))
