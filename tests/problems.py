"""Small problems, built in one place: samples that are linear in attributes, and methods to try on them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from unseen import LDA, GZSLClassifierCV
from unseen.benchmark.experiment import Experiment
from unseen.calibration.curve import SeenUnseenCurve
from unseen.datasets import load_dataset
from unseen.datasets.splits import make_split
from unseen.methods import METHODS, find_method

# names of the methods that learn a mapping: features and prototypes may have different dimensions
LEARNED = [name for name in METHODS if not METHODS[name].shared_space]


class Problem(NamedTuple):
    """Samples of the first classes, and the prototypes of all classes."""

    X: np.ndarray  # (samples, features)
    y: np.ndarray  # (samples,)
    S: np.ndarray  # (classes, attributes)


def linear_problem(
    n=60, *, features=9, attributes=5, classes=7, seen=5, noise=0.5, dtype=np.float64, seed=0
) -> Problem:
    """Return ``x = s M + noise`` for n samples of the first ``seen`` classes, about as many of each."""
    rng = np.random.default_rng(seed)
    S = rng.normal(size=(classes, attributes))
    y = rng.permutation(np.arange(n) % seen)
    X = S[y] @ rng.normal(size=(attributes, features)) + noise * rng.normal(size=(n, features))
    return Problem(X.astype(dtype), y, S)


def small_experiment(gamma="paper", *, n_samples=400, n_classes=16) -> Experiment:
    """Return an experiment on synthetic data, where some of the classes are unseen."""
    sizes = {"n_samples": n_samples, "n_features": 40, "n_classes": n_classes, "n_attributes": 10}
    data = load_dataset("synthetic", **sizes, random_state=3)
    return Experiment(data, make_split(data), gamma, source="synthetic", features="res101")


def small_curve(n: int = 300) -> SeenUnseenCurve:
    """Return the curve of n samples of ten classes, of which seven are seen and favored."""
    rng = np.random.default_rng(0)
    y, seen = np.arange(n) % 10, np.arange(10) < 7
    scores = rng.normal(size=(n, 10))
    scores[np.arange(n), y] += 2
    scores[:, seen] += 1
    return SeenUnseenCurve.from_scores(scores, y, seen)


def make(name: str, S: np.ndarray, **params):
    """Return the method of this name, with a fixed seed where it takes one."""
    method = find_method(name)
    return method(S, **params, **({"random_state": 0} if method.stochastic else {}))


def fit_lda(data) -> GZSLClassifierCV:
    """Return LDA with one alpha, fitted and calibrated on the training samples of a data set."""
    split = make_split(data)
    search = GZSLClassifierCV(LDA(data.prototypes), {"alpha": [0.1]}, cv=split.cv())
    return search.fit(data.X[split.train], data.y[split.train])
