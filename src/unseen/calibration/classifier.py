"""Any classifier, with the seen/unseen bias removed from its predictions."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils.validation import check_is_fitted

from unseen._core.blocks import BoolArray
from unseen._core.labels import LabelArray
from unseen._core.representation import Documented
from unseen._core.rows import read_rows
from unseen._core.scoring import class_scores, iter_scores, score_method
from unseen.calibration.columns import column_names, find_columns, seen_columns
from unseen.calibration.curve import Goal, ScoreMaxima, SeenUnseenCurve
from unseen.errors import UnseenError
from unseen.metrics import seen_labels


class CalibratedClassifier(
    Documented,
    MetaEstimatorMixin,  # type: ignore[misc]
    ClassifierMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """Calibrate a classifier that favors the classes it was trained on.

    ``fit`` trains nothing. It takes samples of seen *and* unseen classes that the classifier was not trained
    on, and chooses the gamma that ``predict`` subtracts from the scores of the seen classes. Scores are
    computed in blocks.

    Parameters
    ----------
    estimator : fitted classifier, or callable
        A classifier with ``similarity``, ``decision_function`` or ``predict_proba``, or a function from X
        to scores of shape (n_samples, n_classes), as an array or a DataFrame.
    seen : array-like, optional
        The classes that had training samples: their labels, their column numbers, or one bool per class.
        By default what the estimator says in ``seen_``.
    classes : array-like of shape (n_classes,), optional
        The label of every column of the scores. By default ``estimator.classes_``; for a callable the
        columns of the DataFrame that it returns, or 0, 1, ...
    weights : {"per-class", "per-sample"}
        Whether every class or every sample has the same weight.
    min_seen, min_unseen, unseen_share : float, optional
        What gamma maximizes instead of the harmonic mean, see ``SeenUnseenCurve.best``.

    Attributes
    ----------
    gamma_ : float
        The number that is subtracted from the scores of the seen classes.
    point_ : OperatingPoint
        This gamma, with its accuracies on the samples of ``fit``.
    curve_ : SeenUnseenCurve
        The accuracies on the samples of ``fit`` for every gamma.
    classes_ : ndarray of shape (n_classes,)
    seen_ : ndarray of bool, shape (n_classes,)

    Examples
    --------
    A classifier over three classes that was trained on two of them:

    >>> def scores(X):
    ...     return np.column_stack([X + 1, 2 - X, X - 2])
    >>> X, y = np.array([0.0, 1.0, 3.0, 4.0]), np.array([1, 0, 2, 2])
    >>> scores(X).argmax(axis=1)
    array([1, 0, 0, 0])
    >>> clf = CalibratedClassifier(scores, seen=[0, 1], min_unseen=100).fit(X, y)
    >>> clf.gamma_ > 3
    True
    """

    def __init__(
        self,
        estimator: Any,
        *,
        seen: ArrayLike | None = None,
        classes: ArrayLike | None = None,
        weights: str = "per-class",
        min_seen: float | None = None,
        min_unseen: float | None = None,
        unseen_share: float | None = None,
    ) -> None:
        self.estimator = estimator
        self.seen = seen
        self.classes = classes
        self.weights = weights
        self.min_seen = min_seen
        self.min_unseen = min_unseen
        self.unseen_share = unseen_share

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Choose gamma on samples X with labels y that the classifier was not trained on."""
        self.classes_ = self._column_labels(X)
        self.seen_ = self._seen_mask()
        index = find_columns(y, self.classes_)
        self.curve_ = SeenUnseenCurve.from_maxima(self._maxima(X), index, self.seen_, self.weights)
        self.point_ = self.curve_.best_for(Goal(self.min_seen, self.min_unseen, self.unseen_share))
        self.gamma_ = self.point_.gamma
        return self

    def predict(self, X: Any) -> LabelArray:
        """Subtract gamma from the scores of the seen classes and return the best class of every sample."""
        check_is_fitted(self, "gamma_")
        return self.classes_[self._maxima(X).predict_all(self.gamma_)]

    def _maxima(self, X: Any) -> ScoreMaxima:
        maxima = []
        for _, (scores,) in iter_scores(self.estimator, X):
            if scores.shape[1:] != self.classes_.shape:
                expected = f"one column for each of {len(self.classes_)} classes"
                raise UnseenError(f"The scores have shape {scores.shape}, expected {expected}.")
            maxima.append(ScoreMaxima.from_scores(scores, self.seen_))
        return ScoreMaxima.concatenate(maxima)

    def _column_labels(self, X: Any) -> LabelArray:
        if self.classes is not None:
            return np.asarray(self.classes)
        if hasattr(self.estimator, "classes_"):
            return np.asarray(self.estimator.classes_)
        one = read_rows(X, slice(0, 1))
        n_classes = class_scores(self.estimator, one).shape[1]
        return column_names(score_method(self.estimator)(one), n_classes)

    def _seen_mask(self) -> BoolArray:
        if self.seen is not None:
            return seen_columns(self.seen, self.classes_)
        labels = seen_labels(self.estimator)
        if labels is None:
            name = type(self.estimator).__name__
            raise UnseenError(f"{name} does not name the classes it has seen. Pass seen=[...], their labels.")
        return np.isin(self.classes_, labels)
