"""The maxima and the curve of a model on samples, block by block."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from unseen._core.blocks import MANY_CLASSES, BoolArray
from unseen._core.labels import LabelArray, label_positions
from unseen._core.scoring import iter_scores
from unseen.calibration.curve import ScoreMaxima, SeenUnseenCurve
from unseen.errors import UnseenError


@runtime_checkable
class ScoresClasses(Protocol):
    """What a model needs for selection: learn from seen classes, score samples for all classes.

    ``classes_`` names the columns of ``similarity``; a model without ``similarity`` may have
    ``decision_function`` or ``predict_proba`` instead, as pipelines do. ``get_params`` and ``set_params``
    (from ``sklearn.base.BaseEstimator``) let selection try parameters; ``fit_path`` makes that fast.
    """

    classes_: Any

    def fit(self, X: Any, y: Any) -> Any:
        """Learn from samples of the seen classes."""

    def similarity(self, X: Any) -> Any:
        """Return scores (n_samples, n_classes), higher is better."""


def score_maxima(model: Any, X: Any, labels: LabelArray, seen: BoolArray) -> ScoreMaxima:
    """Score the rows of X for the classes ``labels``, block by block; four numbers per sample remain.

    The columns in the result count along ``labels``, and ``seen`` says which of these were trained on.
    """
    columns = class_columns(model, labels)
    if len(labels) <= MANY_CLASSES:
        found = [ScoreMaxima.from_scores(scores, seen) for _, (scores,) in iter_scores(model, X, columns)]
    else:  # two products, whose columns need no copy to be searched
        index = label_positions(labels, model.classes_)
        kinds = iter_scores(model, X, index[seen], index[~seen])
        found = [ScoreMaxima.from_parts(of_seen, of_unseen, seen) for _, (of_seen, of_unseen) in kinds]
    return ScoreMaxima.concatenate(found)


def class_columns(model: Any, labels: LabelArray) -> Any:
    """Return the columns of the labels in the scores of a model, all of them as a slice: no copy."""
    known = np.isin(labels, model.classes_)
    if not known.all():
        raise UnseenError(
            f"{type(model).__name__} has no score for class {str(labels[~known][0])!r}, which had no "
            "training sample here. Use a method that describes every class: pass prototypes=..., one row "
            "per class, seen and unseen."
        )
    columns = label_positions(labels, model.classes_)
    return slice(None) if np.array_equal(columns, np.arange(len(model.classes_))) else columns


def seen_unseen_curve(
    model: Any, X: Any, y: ArrayLike, seen_labels: ArrayLike, weights: str = "per-class"
) -> SeenUnseenCurve:
    """Evaluate a model on samples of seen and unseen classes; the candidates are the classes of both."""
    labels = np.union1d(seen_labels, y)
    seen = np.isin(labels, seen_labels)
    maxima = score_maxima(model, X, labels, seen)
    return SeenUnseenCurve.from_maxima(maxima, np.searchsorted(labels, y), seen, weights)
