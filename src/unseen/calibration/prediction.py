"""What a calibrated classifier predicts: classes, probabilities, candidates and groups.

Nothing here needs the method that made the classifier, so ``unseen predict`` imports none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import softmax

from unseen._core.blocks import BoolArray, FloatArray, top_columns
from unseen._core.display import data_frame
from unseen._core.labels import UNKNOWN, LabelArray, candidate_columns
from unseen._core.scoring import ROUNDING, LinearClassifier, all_scores, iter_scores
from unseen._core.taxonomy import CONFIDENCE, Taxonomy
from unseen.errors import UnseenError, expect

RATES = np.linspace(0, 1, 101)  # the shares of known samples for which thresholds are kept


class Thresholds(NamedTuple):
    """How probable a class must be to be predicted, or to be a candidate, at each of ``RATES``."""

    rejection: FloatArray  # (101,), of the best class, by the share of known samples that is rejected
    sets: Mapping[str, FloatArray]  # (101,) by kind, "seen" and "unseen", by coverage


class Prediction:
    """Prediction with calibrated scores, a temperature and thresholds."""

    seen_: BoolArray
    temperature_: float

    if TYPE_CHECKING:  # an attribute or a property, as a subclass likes

        @property
        def classes_(self) -> LabelArray: ...

    def _thresholds(self) -> Thresholds:
        raise NotImplementedError

    def linear_classifier(self) -> LinearClassifier | None:
        """Return what scores samples, with gamma in the intercepts; None if the model is not linear."""
        raise NotImplementedError

    def similarity(self, X: Any) -> FloatArray:
        """Return calibrated scores, (n_samples, n_classes)."""
        return all_scores(self, X)

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
                found = np.where(p.max(axis=1) < threshold, unknown_label(found), found)
            labels.append(found)
        return np.concatenate(labels)

    def rejection_threshold(self, reject: float) -> float:
        """Return the probability of the best class below which ``predict(X, reject=...)`` says unknown."""
        share = "a share of samples of known classes, at least 0 and below 1, such as 0.05"
        expect("reject", reject, 0 <= reject < 1, share)
        unknown = unknown_label(self.classes_)
        if np.isin(str(unknown), self.classes_.astype(str)):
            raise UnseenError(f"A class is called {unknown!r}, the label for none of the classes. Rename it.")
        return float(np.interp(reject, RATES, self._thresholds().rejection)) if reject else -np.inf

    def predict_set(self, X: Any, coverage: float = 0.9) -> BoolArray:
        """Return which classes are candidates of every sample, (n_samples, n_classes), bool; none: unknown.

        The share ``coverage`` of samples has its class among them: on average for seen classes if samples are
        exchangeable with the training samples; for unseen ones as held-out classes have shown.
        """
        return np.asarray(self.predict_proba(X) >= self.set_thresholds(coverage))

    def set_thresholds(self, coverage: float) -> FloatArray:
        """Return how probable each class must be for ``predict_set``, (n_classes,)."""
        return class_thresholds(self._thresholds().sets, coverage, self.seen_)

    def predict_top(self, X: Any, k: int = 3) -> Any:
        """Return a pandas DataFrame of the k best classes of every sample, with probability and kind."""
        expect("k", k, k >= 1, "a number of classes, at least 1")
        sure = self.predict_proba(X)  # (samples, classes)
        top = top_columns(sure, min(k, sure.shape[1]))  # (samples, k)
        n, k = top.shape
        return data_frame(
            {
                "sample": np.repeat(np.arange(n), k),
                "rank": np.tile(np.arange(1, k + 1), n),
                "class": self.classes_[top.ravel()],
                "probability": np.take_along_axis(sure, top, axis=1).ravel(),
                "kind": np.where(self.seen_[top.ravel()], "seen", "unseen"),
            }
        )


def unknown_label(labels: LabelArray) -> int | str:
    """Return the label of samples of no class: -1 among integers."""
    return -1 if labels.dtype.kind == "i" else UNKNOWN


def probabilities(scores: FloatArray, temperature: float) -> FloatArray:
    """Return the probability of every class from calibrated scores, (samples, classes)."""
    return np.asarray(softmax(scores / temperature, axis=1))


def class_thresholds(by_kind: Mapping[str, FloatArray], coverage: float, seen: BoolArray) -> FloatArray:
    """Return how probable each class must be to be a candidate, (classes,); coverage in whole percent, up."""
    share = "a share of samples, above 0 and below 1, such as 0.9"
    expect("coverage", coverage, 0 < coverage < 1, share)
    place = int(np.ceil(100 * coverage - ROUNDING))
    return np.asarray(np.where(seen, by_kind["seen"][place], by_kind["unseen"][place]))
