"""Calibrated prediction with a retrained estimator, which explains itself and takes further classes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted

from unseen._core.blocks import FloatArray
from unseen._core.labels import LabelArray
from unseen._core.scoring import LinearClassifier, all_scores, class_scores
from unseen.base import ZeroShotClassifier, last_step
from unseen.calibration.prediction import Prediction, Thresholds
from unseen.errors import UnseenError

if TYPE_CHECKING:
    from unseen.methods.explanation import Explanation


class CalibratedEstimator(Prediction):
    """Prediction with a retrained estimator, gamma and a temperature; ``GZSLClassifierCV`` chooses them."""

    # what predict takes besides X is an option, not metadata that a pipeline might route
    __metadata_request__predict: ClassVar[dict[str, str]] = dict.fromkeys(
        ("candidates", "reject", "taxonomy", "confidence"), UNUSED
    )

    estimator_: Any
    gamma_: float
    held_out_: Any  # with the thresholds ``rejection`` and ``sets``

    @property
    def classes_(self) -> LabelArray:
        """All class labels, seen and unseen."""
        check_is_fitted(self, "estimator_")
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

    def _thresholds(self) -> Thresholds:
        check_is_fitted(self, "gamma_")
        return Thresholds(self.held_out_.rejection.thresholds, self.held_out_.sets)

    def similarity(self, X: Any) -> FloatArray:
        """Return calibrated scores, (n_samples, n_classes)."""
        check_is_fitted(self, "gamma_")
        linear = self.linear_classifier()
        if linear is not None:
            return all_scores(linear, X)
        scores = class_scores(self.estimator_, X)
        bias = self.gamma_ * self.seen_
        return np.asarray(np.subtract(scores, bias, dtype=np.result_type(scores, np.float32)))

    def linear_classifier(self) -> LinearClassifier | None:
        """Return what scores samples, with gamma in the intercepts; None if the estimator is not linear."""
        linear = getattr(self.estimator_, "linear_classifier", lambda: None)()
        bias = self.gamma_ * self.seen_
        return None if linear is None else replace(linear, intercept=linear.intercept - bias)

    def explain(self, X: Any, rival: Any = None, top: int = 5) -> Explanation:
        """Return which attributes decide, as ``ZeroShotClassifier.explain`` does, and the part of gamma."""
        from unseen.methods.explanation import explain

        check_is_fitted(self, "gamma_")
        method = last_step(self.estimator_)
        if not isinstance(method, ZeroShotClassifier):
            raise UnseenError(f"{type(method).__name__} cannot be explained. Use a method of unseen.")
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
