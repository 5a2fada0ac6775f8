"""A model on held-out samples: scores in blocks, two maxima per sample, one exact curve."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from unseen._core.blocks import BoolArray, IndexArray, score_blocks
from unseen._core.labels import label_positions
from unseen._core.rows import choose_rows, read_ahead
from unseen.calibration.curve import ScoreMaxima, SeenUnseenCurve

Fold = tuple[IndexArray, IndexArray]  # (train, validation) indices
Settings = Sequence[Mapping[str, Any]]  # parameters to try


@runtime_checkable
class ScoresClasses(Protocol):
    """What a model needs for the process: learn from seen classes, score samples for all classes.

    ``classes_`` names the columns of ``similarity``. ``get_params`` and ``set_params`` (or
    ``sklearn.base.BaseEstimator``) let the process try parameters; ``fit_path`` makes that quick.
    """

    classes_: Any

    def fit(self, X: Any, y: Any) -> Any:
        """Learn from samples of the seen classes."""

    def similarity(self, X: Any) -> Any:
        """Return scores (n_samples, n_classes), higher is better."""


def fit_settings(estimator: Any, X: Any, y: Any, settings: Settings) -> Iterator[Any]:
    """Yield a fitted model per setting: along the estimator's fast path, or one plain fit each."""
    if hasattr(estimator, "fit_path"):
        yield from estimator.fit_path(X, y, settings)
    else:
        for setting in settings:
            yield clone(estimator).set_params(**setting).fit(X, y)


def score_maxima(model: ScoresClasses, X: Any, labels: NDArray[Any], seen: BoolArray) -> ScoreMaxima:
    """Score the rows of X for the classes ``labels``, block by block; four numbers per sample remain.

    The indices in the result count along ``labels``, and ``seen`` says which of these were trained on.
    """
    columns: Any = label_positions(labels, np.asarray(model.classes_))
    if np.array_equal(columns, np.arange(len(model.classes_))):
        columns = slice(None)  # no copy of the scores
    blocks = score_blocks(len(X), len(model.classes_))
    return ScoreMaxima.concatenate(
        [
            ScoreMaxima.from_scores(np.asarray(model.similarity(rows))[:, columns], seen)
            for rows in read_ahead(lambda block: X[block], blocks)
        ]
    )


def seen_unseen_curve(
    model: ScoresClasses, X: Any, y: NDArray[Any], seen_labels: NDArray[Any], weights: str = "per-class"
) -> SeenUnseenCurve:
    """Evaluate a model on samples of seen and unseen classes; the candidates are the classes of both."""
    labels = np.union1d(seen_labels, y)
    seen = np.isin(labels, seen_labels)
    maxima = score_maxima(model, X, labels, seen)
    return SeenUnseenCurve.from_maxima(maxima, np.searchsorted(labels, y), seen, weights)


def run_fold(
    estimator: Any,
    X: Any,
    y: NDArray[Any],
    fold: Fold,
    settings: Settings,
    weights: str = "per-class",
) -> list[SeenUnseenCurve]:
    """Fit every setting on the fold's train part; return its curve on the validation part."""
    train, validation = fold
    seen_labels = np.unique(y[train])
    X_validation, y_validation = choose_rows(X, validation), y[validation]
    models = fit_settings(estimator, choose_rows(X, train), y[train], settings)
    return [seen_unseen_curve(model, X_validation, y_validation, seen_labels, weights) for model in models]
