"""What the descriptions of the real unseen classes say about the trade-off, through simulated samples.

Folds show which retention is best for *held-out* classes. The real unseen classes may be easier or harder to
tell from the seen ones. No sample of theirs may say so, but their descriptions do: in every fold, samples of
both kinds of classes are simulated in the same way,

    x = mu(s) + e,    mu(s) = s W + b by ridge regression of the means of the train classes

where e are the residuals of training samples from their class means. The model of the fold scores simulated
samples of the held-out classes among train and held-out classes, and simulated samples of the unseen classes
among train and unseen classes. Both are too easy, because no predicted mean is right, but equally so. What
counts is the difference of the best retentions, the *shift* of the fold:

    shift = r(simulated unseen) - r(simulated held out)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.linear_model import RidgeCV

from unseen._core.blocks import FloatArray, class_sums
from unseen._core.labels import LabelArray, label_positions
from unseen._core.rows import choose_rows
from unseen.base import ZeroShotClassifier
from unseen.selection.evaluation import Samples, Trial, last_step, plain_rows, score_maxima
from unseen.selection.gamma import best_retentions, seen_alone, unseen_at_retention

N_SIMULATED = 100  # samples of each class
MOST = 5000  # samples that are read of each part of a fold
ALPHAS = np.geomspace(0.01, 10, 7)  # of the ridge regression, for descriptions of mean squared length 1


@dataclass(frozen=True)
class Simulation:
    """Finds the shift of a fold, for these unseen classes."""

    unseen: LabelArray
    weights: str = "per-class"

    def __call__(self, model: Any, train: Samples, validation: Samples) -> float:
        """Return the shift of a fold, by its fitted model; 0 for a model that does not know descriptions."""
        if not isinstance(last_step(model), ZeroShotClassifier):
            return 0.0
        fold = SimulatedFold(model, train, validation)
        held_out = np.setdiff1d(validation.y, train.y)
        return fold.best_retention(self.unseen, self.weights) - fold.best_retention(held_out, self.weights)


class SimulatedFold:
    """A fitted model with held-out samples of its classes, to which simulated samples of others are added."""

    def __init__(self, model: Any, train: Samples, validation: Samples) -> None:
        self.labels, self.classifier = np.unique(train.y), last_step(model)
        X, y = some_rows(model, train)
        known, y = np.unique(y, return_inverse=True)
        means = class_sums(X, y, len(known)) / np.bincount(y)[:, None]  # (train classes, features)
        drawn = np.random.default_rng(0).integers(len(y), size=N_SIMULATED)
        self.residuals = X[drawn] - means[y[drawn]]  # (samples, features)
        self.predict_means = regress_means(self._prototypes(known), means)
        self.X, self.y = some_rows(model, validation.take(np.flatnonzero(np.isin(validation.y, train.y))))
        vars(self.classifier).pop("feature_names_in_", None)  # from here on rows are arrays

    def best_retention(self, classes: LabelArray, weights: str) -> float:
        """Return the retention that is best for simulated samples of these classes."""
        means = self.predict_means(self._prototypes(classes))
        simulated = means[:, None] + self.residuals  # (classes, samples, features)
        X = np.concatenate([self.X, simulated.reshape(-1, self.X.shape[1]).astype(self.X.dtype)])
        y = np.concatenate([self.y, np.repeat(classes, N_SIMULATED)])
        labels = np.union1d(self.labels, classes)
        seen = np.isin(labels, self.labels)
        maxima = score_maxima(self.classifier, X, labels, seen)
        trial = Trial.from_maxima(maxima, np.searchsorted(labels, y), seen)
        unseen = unseen_at_retention(trial, weights=weights)
        return float(best_retentions(unseen[None], seen_alone(trial, weights))[0])

    def _prototypes(self, labels: LabelArray) -> FloatArray:
        """Return the descriptions of some classes, (classes, attributes)."""
        return np.asarray(self.classifier.prototypes_[label_positions(labels, self.classifier.classes_)])


def regress_means(S: FloatArray, means: FloatArray) -> Callable[[FloatArray], FloatArray]:
    """Return a function from descriptions to class means, learned from the classes that have samples."""
    scale = np.sqrt(np.mean(np.sum((S - S.mean(axis=0)) ** 2, axis=1))) or 1.0
    regression = RidgeCV(ALPHAS).fit(S / scale, means)  # alpha by leaving classes out
    # with one feature the regression would return (classes,)
    return lambda wanted: np.asarray(regression.predict(wanted / scale)).reshape(len(wanted), means.shape[1])


def some_rows(model: Any, samples: Samples) -> tuple[FloatArray, LabelArray]:
    """Return rows as the classifier of a model gets them, and their labels; of many samples some."""
    n = len(samples.y)
    drawn = np.sort(np.random.default_rng(0).permutation(n)[:MOST])
    return plain_rows(model, choose_rows(samples.X, drawn)), samples.y[drawn]
