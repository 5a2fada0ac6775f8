"""What a calibrated model predicts: classes, probabilities, candidates, groups, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted

from unseen._core.blocks import BoolArray, FloatArray, top_columns
from unseen._core.labels import UNKNOWN, LabelArray, candidate_columns
from unseen._core.scoring import LinearClassifier, all_scores, class_scores, iter_scores
from unseen._core.taxonomy import CONFIDENCE, Taxonomy
from unseen.base import ZeroShotClassifier, last_step
from unseen.errors import UnseenError, expect

if TYPE_CHECKING:
    from unseen.methods.explanation import Explanation


ROUNDING = 1e-9  # of shares times numbers of samples


class CalibratedPrediction:
    """Prediction with a retrained estimator, gamma and a temperature; ``GZSLClassifierCV`` chooses them."""

    # what predict takes besides X is an option, not metadata that a pipeline might route
    __metadata_request__predict: ClassVar[dict[str, str]] = dict.fromkeys(
        ("candidates", "reject", "taxonomy", "confidence"), UNUSED
    )

    estimator_: Any
    seen_: BoolArray
    gamma_: float
    temperature_: float
    held_out_: Any  # with the thresholds ``rejection`` and ``sets``

    @property
    def classes_(self) -> LabelArray:
        """All class labels, seen and unseen."""
        return np.asarray(self.estimator_.classes_)

    @property
    def coef_(self) -> FloatArray:
        """Rows of the linear classifier, (n_classes, n_features)."""
        return np.asarray(self.estimator_.coef_)

    @property
    def intercept_(self) -> FloatArray:
        """Intercepts, with gamma subtracted for the seen classes, (n_classes,)."""
        return np.asarray(self.estimator_.intercept_ - self.gamma_ * self.seen_)

    @property
    def n_features_in_(self) -> int:
        """The number of features, if the estimator knows it."""
        return int(self.estimator_.n_features_in_)

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """The names of the features, if X was a DataFrame."""
        return np.asarray(self.estimator_.feature_names_in_)

    def similarity(self, X: Any) -> FloatArray:
        """Return calibrated scores, (n_samples, n_classes)."""
        check_is_fitted(self, "gamma_")
        linear = self.linear_classifier()
        if linear is not None:
            return all_scores(linear, X)
        scores = class_scores(self.estimator_, X)
        bias = np.where(self.seen_, self.gamma_, 0)
        return np.asarray(np.subtract(scores, bias, dtype=np.result_type(scores, np.float32)))

    def linear_classifier(self) -> LinearClassifier | None:
        """Return what scores samples, with gamma in the intercepts; None if the estimator is not linear."""
        linear = getattr(self.estimator_, "linear_classifier", lambda: None)()
        return (
            None if linear is None else replace(linear, intercept=linear.intercept - self.gamma_ * self.seen_)
        )

    def decision_function(self, X: Any) -> FloatArray:
        """Return calibrated scores, (n_samples, n_classes)."""
        return self.similarity(X)

    def predict_proba(self, X: Any) -> FloatArray:
        """Return probabilities, (n_samples, n_classes): the softmax of the scores over ``temperature_``."""
        return probabilities(self.similarity(X), self.temperature_)

    def predict(
        self,
        X: Any,
        candidates: ArrayLike | None = None,
        *,
        reject: float | None = None,
        taxonomy: Any = None,
        confidence: float = CONFIDENCE,
    ) -> LabelArray:
        """Return the best class of every sample after calibration, or its finest probable group.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        candidates : array-like of class labels, optional
            The classes to choose from; by default all.
        reject : float, optional
            Label as ``"unknown"`` (integers: -1) the samples that fit worse than this fraction of known ones.
        taxonomy : path of a CSV file, DataFrame or mapping, optional
            Groups of the classes: a table ``class, genus, family, ...`` from fine to coarse, or pairs
            ``child, parent``. The labels are then the finest groups that reach the confidence, as text.
        confidence : float
            With a taxonomy: how probable a group must be, from 0 to 1. A group adds up its classes.
        """
        check_is_fitted(self, "gamma_")
        columns = candidate_columns(self.classes_, candidates)
        names = self.classes_[columns]
        groups = None if taxonomy is None else Taxonomy.from_table(taxonomy, names)
        threshold = None if reject is None else self.rejection_threshold(reject)
        labels = [names[:0] if groups is None else names[:0].astype(str)]
        # all classes as a slice: no copy of their scores
        for _, (scores,) in iter_scores(self, X, slice(None) if candidates is None else columns):
            found = names[scores.argmax(axis=1)]
            if groups is not None or threshold is not None:
                p = probabilities(scores.astype(np.float64), self.temperature_)
            if groups is not None:
                found = groups.answer(p, confidence).label
            if threshold is not None:
                found = with_unknown(found, p.max(axis=1) < threshold)
            labels.append(found)
        return np.concatenate(labels)

    def rejection_threshold(self, reject: float) -> float:
        """Return the probability of the best class below which ``predict(X, reject=...)`` says unknown."""
        if self.held_out_.rejection is None:
            raise UnseenError("This model has no thresholds for unknown classes. Fit the model again.")
        if np.isin(UNKNOWN, self.classes_.astype(str)):
            raise UnseenError(f"A class is called {UNKNOWN!r}, the label for none of the classes. Rename it.")
        return float(self.held_out_.rejection.threshold(reject))

    def predict_set(self, X: Any, coverage: float = 0.9) -> BoolArray:
        """Return which classes are candidates of every sample, (n_samples, n_classes), bool; none: unknown.

        The share ``coverage`` of samples has its class among them: on average for seen classes if samples are
        exchangeable with the training samples; for unseen ones as held-out classes have shown.
        """
        return np.asarray(self.predict_proba(X) >= self.set_thresholds(coverage))

    def set_thresholds(self, coverage: float) -> FloatArray:
        """Return how probable each class must be for ``predict_set``, (n_classes,)."""
        check_is_fitted(self, "gamma_")
        return class_thresholds(self.held_out_.sets, coverage, self.seen_)

    def predict_top(self, X: Any, k: int = 3) -> Any:
        """Return a pandas DataFrame of the k best classes of every sample, with probability and kind."""
        import pandas as pd

        expect("k", k, k >= 1, "a number of classes, at least 1")
        sure = self.predict_proba(X)  # (samples, classes)
        top = top_columns(sure, min(k, sure.shape[1]))  # (samples, k)
        n, k = top.shape
        return pd.DataFrame(
            {
                "sample": np.repeat(np.arange(n), k),
                "rank": np.tile(np.arange(1, k + 1), n),
                "class": self.classes_[top.ravel()],
                "probability": np.take_along_axis(sure, top, axis=1).ravel(),
                "kind": np.where(self.seen_[top.ravel()], "seen", "unseen"),
            }
        )

    def explain(self, X: Any, rival: Any = None, top: int = 5) -> Explanation:
        """Return which attributes decide, as ``ZeroShotClassifier.explain`` does, and the part of gamma."""
        from unseen.methods.explanation import explain

        check_is_fitted(self, "gamma_")
        method = last_step(self.estimator_)
        if not isinstance(method, ZeroShotClassifier):
            raise UnseenError(
                f"{type(method).__name__} cannot be explained: its rows do not follow from descriptions. "
                "Use a method of unseen."
            )
        if isinstance(self.estimator_, Pipeline):
            X = self.estimator_[:-1].transform(X)
        return explain(method, X, rival, top, np.where(self.seen_, self.gamma_, 0.0))

    def add_classes(
        self, prototypes: Any, classes: ArrayLike | None = None, X: Any = None, y: ArrayLike | None = None
    ) -> Self:
        """Add classes as ``ZeroShotClassifier.add_classes`` does; ``recalibrate`` chooses gamma again."""
        check_is_fitted(self, "gamma_")
        before = len(self.classes_)
        if isinstance(self.estimator_, Pipeline) and X is not None:
            X = self.estimator_[:-1].transform(X)
        last_step(self.estimator_).add_classes(prototypes, classes, X, y)
        self.seen_ = np.concatenate([self.seen_, np.zeros(len(self.classes_) - before, dtype=bool)])
        return self


def with_unknown(labels: LabelArray, unknown: BoolArray) -> LabelArray:
    """Return the labels with ``"unknown"`` in some places; -1 if they are integers.

    >>> with_unknown(np.array([3, 4]), np.array([False, True]))
    array([ 3, -1])
    """
    if labels.dtype.kind == "i":
        return np.where(unknown, -1, labels)
    return np.where(unknown, UNKNOWN, labels)


def probabilities(scores: FloatArray, temperature: float) -> FloatArray:
    """Return the probability of every class from calibrated scores, (samples, classes)."""
    return np.asarray(softmax(scores / temperature, axis=1))


def class_thresholds(by_kind: Mapping[str, FloatArray], coverage: float, seen: BoolArray) -> FloatArray:
    """Return how probable each class must be to be a candidate, (classes,); coverage in whole percent, up."""
    share = "a share of samples, above 0 and below 1, such as 0.9"
    expect("coverage", coverage, 0 < coverage < 1, share)
    place = int(np.ceil(100 * coverage - ROUNDING))
    return np.asarray(np.where(seen, by_kind["seen"][place], by_kind["unseen"][place]))
