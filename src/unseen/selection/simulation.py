"""What the descriptions of the real unseen classes say about the trade-off, through simulated samples.

Folds show which retention is best for *held-out* classes. The real unseen classes may be easier or harder to
tell from the seen ones. No sample of theirs may say so, but their descriptions do: in every fold, samples of
both kinds of classes are simulated in the same way,

    x = mu(s) + sqrt(1/2) d + e,    mu(s) = s W + b by ridge regression of the means of the train classes

where d are the errors of this regression for train classes that are left out, and e the residuals of training
samples from their class means. The model of the fold scores simulated samples of the held-out classes among
train and held-out classes, and simulated samples of the unseen classes among train and unseen classes. What
counts is the difference of the best retentions, the *shift* of the fold:

    shift = r(simulated unseen) - r(simulated held out)

The model is linear, so that the scores of a sum are the sum of scores: a few rows are multiplied, not one per
simulated sample.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from unseen._core.blocks import SCORES, FloatArray, class_sums, row_blocks, score_blocks
from unseen._core.labels import LabelArray, label_positions
from unseen._core.rows import choose_rows
from unseen._core.scaling import Standardization, scale_rows, squared_lengths
from unseen.calibration.curve import ScoreMaxima
from unseen.selection.evaluation import Samples, Trial, is_linear, last_step, plain_rows
from unseen.selection.gamma import best_retentions, seen_alone, unseen_at_retention

N_SIMULATED = 300  # samples of each class
MOST = 5000  # samples that are read of each part of a fold
MOST_CLASSES = 100  # that samples are simulated of; of more classes some, at random
ALPHAS = np.geomspace(0.01, 10, 7)  # of the ridge regression, for descriptions of mean squared length 1
ERRORS = np.sqrt(0.5)  # times the errors of left-out classes: half of their variance

PredictMeans = Callable[[FloatArray], FloatArray]  # descriptions (classes, attributes) -> (classes, features)


@dataclass(frozen=True)
class Simulation:
    """Finds the shift of a fold, for these unseen classes."""

    unseen: LabelArray
    weights: str = "per-class"

    def __call__(self, model: Any, train: Samples, validation: Samples) -> float:
        """Return the shift of a fold, by its fitted model; 0 for one that is not of this package's kind."""
        if not is_linear(last_step(model)):
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
        self.predict_means, errors = regress_means(self._prototypes(known), means)
        # d of the class of one training sample and e of another, the same for every simulated class
        left_out, drawn = np.random.default_rng(0).integers(len(y), size=(2, N_SIMULATED))
        self.noise = ERRORS * errors[y[left_out]] + X[drawn] - means[y[drawn]]  # (samples, features)
        self.X, self.y = some_rows(model, validation.take(np.flatnonzero(np.isin(validation.y, train.y))))

    def best_retention(self, classes: LabelArray, weights: str) -> float:
        """Return the retention that is best for simulated samples of these classes."""
        labels = np.union1d(self.labels, classes)
        seen = np.isin(labels, self.labels)
        drawn = np.sort(np.random.default_rng(0).permutation(classes)[:MOST_CLASSES])
        y = np.concatenate([self.y, np.repeat(drawn, N_SIMULATED)])
        maxima = ScoreMaxima.concatenate(
            [ScoreMaxima.from_scores(scores, seen) for scores in self._scores(drawn, labels)]
        )
        trial = Trial.from_maxima(maxima, np.searchsorted(labels, y), seen)
        unseen = unseen_at_retention(trial, weights=weights)
        return float(best_retentions(unseen[None], seen_alone(trial, weights))[0])

    def _scores(self, classes: LabelArray, labels: LabelArray) -> Iterator[FloatArray]:
        """Yield the scores for ``labels`` of held-out samples, then of simulated ones, class by class."""
        rows, intercept = self.classifier._linear_rows(self._prototypes(labels))
        coef = rows.T  # (features, labels)
        for block in score_blocks(len(self.X), len(labels)):
            yield self.X[block] @ coef + intercept
        means = self.predict_means(self._prototypes(classes))  # (classes, features)
        noise = self.noise @ coef  # (samples, labels)
        for block in row_blocks(len(means), max(1, SCORES // noise.size)):
            products = (means[block] @ coef)[:, None] + noise  # (classes, samples, labels)
            products /= self._lengths(means[block])[:, :, None]
            yield products.reshape(-1, len(labels)) + intercept

    def _lengths(self, means: FloatArray) -> FloatArray:
        """Return the lengths by which the products of simulated samples are divided, (classes, samples)."""
        if self.classifier.normalize != "l2":
            return np.ones((len(means), N_SIMULATED))
        # |m + n|^2 = |m|^2 + 2 m . n + |n|^2
        squared = squared_lengths(means)[:, None] + 2 * means @ self.noise.T + squared_lengths(self.noise)
        return np.asarray(np.sqrt(np.maximum(squared, np.finfo(np.float32).tiny)))

    def _prototypes(self, labels: LabelArray) -> FloatArray:
        """Return the descriptions of some classes, (classes, attributes)."""
        return np.asarray(self.classifier.prototypes_[label_positions(labels, self.classifier.classes_)])


def regress_means(S: FloatArray, means: FloatArray) -> tuple[PredictMeans, FloatArray]:
    """Learn class means from descriptions by ridge regression, on the classes that have samples.

    Returns
    -------
    predict : callable
        From descriptions to class means.
    errors : ndarray of shape (classes, features)
        Of the mean of each class, where it is left out. They choose alpha.

    Examples
    --------
    >>> S = np.array([[0.0], [1.0], [2.0]])
    >>> predict, errors = regress_means(S, 10 * S)
    >>> predict(np.array([[4.0]])).round()
    array([[40.]])
    """
    origin, level = S.mean(axis=0), means.mean(axis=0)
    scale = np.sqrt(np.mean(np.sum((S - origin) ** 2, axis=1))) or 1.0
    S, M = (S - origin) / scale, means - level
    e, V = np.linalg.eigh(S @ S.T)
    e, VM = np.maximum(e, 0), V.T @ M

    def left_out(alpha: float) -> FloatArray:
        # M_i - mu(s_i) without class i = (M - H M)_i / (1 - h_i - 1/n),  H = S S' (S S' + alpha I)^-1
        kept = e / (e + alpha)
        h = V**2 @ kept + 1 / len(S)
        return np.asarray((M - V @ (kept[:, None] * VM)) / np.maximum(1 - h, 1e-6)[:, None])

    errors = [left_out(alpha) for alpha in ALPHAS]
    best = int(np.argmin([np.sum(found**2) for found in errors]))
    # mu(s) = m + (s - s0) S' (S S' + alpha I)^-1 M
    W = S.T @ (V @ (VM / (e + ALPHAS[best])[:, None]))  # (attributes, features)
    return lambda wanted: level + (wanted - origin) / scale @ W, errors[best]


def some_rows(model: Any, samples: Samples) -> tuple[FloatArray, LabelArray]:
    """Return rows as the linear classifier of a model multiplies them, and their labels; of many some."""
    n = len(samples.y)
    drawn = np.sort(np.random.default_rng(0).permutation(n)[:MOST])
    rows, classifier = plain_rows(model, choose_rows(samples.X, drawn)), last_step(model)
    if classifier.normalize == "standard":
        standard = Standardization(classifier.standard_mean_, classifier.standard_scale_)
        return standard.apply(rows), samples.y[drawn]
    return scale_rows(rows, classifier.normalize), samples.y[drawn]
