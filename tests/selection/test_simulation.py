"""The shift of a fold against its literal formula, and what it must and must not depend on."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import oracle
from unseen import LinearSV
from unseen.calibration.curve import ScoreMaxima
from unseen.datasets import load
from unseen.datasets.splits import GZSLFolds
from unseen.selection.evaluation import Samples
from unseen.selection.gamma import SHARES
from unseen.selection.simulation import (
    ALPHAS,
    MOST_CLASSES,
    N_SIMULATED,
    SimulatedFold,
    Simulation,
    regress_means,
)


@pytest.fixture(scope="module")
def fold():
    """A data set with 10 seen and 3 unseen classes, and the samples of one fold."""
    data = load("synthetic", n_samples=520, n_features=20, n_classes=13, n_attributes=8, random_state=3)
    rows = np.flatnonzero(data.seen[data.y])
    X, y = data.X[rows], data.y[rows]
    train, validation = next(GZSLFolds(3).split(X, y))
    return data, Samples(X[train], y[train]), Samples(X[validation], y[validation])


def shift(fold, prototypes=None, unseen=None, wrap=lambda X: X, model=None):
    data, train, validation = fold
    model = LinearSV(data.prototypes if prototypes is None else prototypes) if model is None else model
    parts = [Samples(wrap(part.X), part.y) for part in (train, validation)]
    model.fit(parts[0].X, parts[0].y)
    return Simulation(np.flatnonzero(data.unseen) if unseen is None else unseen)(model, *parts)


@pytest.mark.parametrize("normalize", ["l2", "standard", None])
def test_the_shift_equals_its_literal_formula(normalize, fold, monkeypatch):
    data, train, validation = fold
    n = 20  # simulated samples of each class: the formula is slow
    monkeypatch.setattr("unseen.selection.simulation.N_SIMULATED", n)
    model = LinearSV(data.prototypes, normalize=normalize).fit(train.X, train.y)
    seen, S = np.unique(train.y), data.prototypes.astype(float)

    def scaled(X):
        if normalize == "standard":
            return (X - train.X.mean(axis=0)) / train.X.std(axis=0)
        return X / np.linalg.norm(X, axis=1, keepdims=True) if normalize == "l2" else X.astype(float)

    def unscaled(X):
        return X * train.X.std(axis=0) + train.X.mean(axis=0) if normalize == "standard" else X

    X = scaled(train.X)
    means = np.array([X[train.y == c].mean(axis=0) for c in seen])
    index = np.searchsorted(seen, train.y)
    left_out, drawn = np.random.default_rng(0).integers(len(X), size=(2, n))
    residuals = X[drawn] - means[index[drawn]]
    of_seen = np.isin(validation.y, seen)

    def literal(classes):
        centers, errors = oracle.ridge_means(S[seen], means, S[classes], ALPHAS)
        noise = np.sqrt(0.5) * errors[index[left_out]] + residuals
        X = np.concatenate([validation.X[of_seen], *(unscaled(center + noise) for center in centers)])
        y = np.concatenate([validation.y[of_seen], np.repeat(classes, n)])
        labels = np.union1d(seen, classes)
        scores = model.similarity(X.astype(np.float32))[:, labels].astype(float)
        scored = (scores, np.searchsorted(labels, y), np.isin(labels, seen))
        return oracle.best_retention(scored, oracle.seen_accuracy(*scored, -np.inf), SHARES)

    unseen, held_out = np.flatnonzero(data.unseen), np.setdiff1d(validation.y, seen)
    found = shift(fold, model=LinearSV(data.prototypes, normalize=normalize))
    assert found == pytest.approx(literal(unseen) - literal(held_out), abs=0.001)


def test_unseen_classes_described_as_the_held_out_ones_have_no_shift(fold):
    data, train, validation = fold
    S = data.prototypes.copy()
    held_out = np.setdiff1d(validation.y, train.y)
    unseen = np.flatnonzero(data.unseen)
    assert len(unseen) == len(held_out)
    S[unseen] = S[held_out]
    assert shift(fold, S) == 0
    assert shift(fold) != 0


def test_unseen_classes_beside_seen_ones_call_for_less_retention(fold):
    """A class that hardly differs from a seen one wins no sample unless much of that class is given up."""
    data, train, _ = fold
    S, seen = data.prototypes, np.unique(train.y)
    shifts = []
    for distance in (0.1, -3.0):  # in the other direction, all classes are far
        moved = S.copy()
        unseen = np.flatnonzero(data.unseen)
        away = S[seen] - S[seen].mean(axis=0)
        moved[unseen] = (S[seen] + distance * away)[: len(unseen)]
        shifts.append(shift(fold, moved))
    assert shifts[0] < shifts[1] - 0.02


def test_features_of_any_kind_have_the_same_shift(fold, tmp_path):
    data, *_ = fold
    expected = shift(fold)

    def on_disk(X):
        path = tmp_path / f"{len(X)}.npy"
        np.save(path, X)
        return np.load(path, mmap_mode="r")

    def frame(X):
        return pd.DataFrame(X, columns=[f"f{k}" for k in range(X.shape[1])])

    assert shift(fold, wrap=on_disk) == pytest.approx(expected, abs=1e-6)
    assert shift(fold, wrap=frame) == pytest.approx(expected, abs=1e-6)
    double = make_pipeline(FunctionTransformer(lambda X: 2 * X), LinearSV(data.prototypes))
    assert shift(fold, model=double) == pytest.approx(expected, abs=1e-3)
    assert shift(fold, wrap=frame, model=double) == pytest.approx(expected, abs=1e-3)


def test_only_train_samples_say_where_unseen_classes_are(fold):
    """Validation samples of held-out classes may be anything."""
    data, train, validation = fold
    X = validation.X.copy()
    X[~np.isin(validation.y, train.y)] = 1e3
    assert shift((data, train, Samples(X, validation.y))) == shift(fold)


def test_a_model_without_descriptions_has_no_shift(fold):
    data, train, validation = fold
    model = DummyClassifier().fit(train.X, train.y)
    assert Simulation(np.flatnonzero(data.unseen))(model, train, validation) == 0


def test_a_model_with_scores_of_its_own_has_no_shift(fold):
    class Squared(LinearSV):
        def similarity(self, X):
            return super().similarity(X) ** 2

    assert shift(fold, model=Squared(fold[0].prototypes)) == 0


@pytest.mark.parametrize("spread", [1, 0])
def test_simulated_samples_keep_the_spread_of_their_classes(spread, fold):
    """And half the variance with which the mean of a class is missed, which is all without a spread."""
    data, train, validation = fold
    seen, index = np.unique(train.y, return_inverse=True)
    means = np.array([train.X[index == c].mean(axis=0) for c in range(len(seen))])
    train = Samples(means[index] + spread * (train.X - means[index]), train.y)
    model = LinearSV(data.prototypes, normalize=None).fit(train.X, train.y)
    noise = SimulatedFold(model, train, validation).noise
    within = np.mean(np.sum((train.X - means[index]) ** 2, axis=1))
    errors = np.mean(np.sum(regress_means(data.prototypes[seen], means)[1] ** 2, axis=1))
    assert noise.shape == (N_SIMULATED, train.X.shape[1])
    assert np.mean(np.sum(noise**2, axis=1)) == pytest.approx(within + errors / 2, rel=0.1)


def test_samples_of_some_of_very_many_unseen_classes_are_simulated(fold, monkeypatch):
    """All of them are candidates."""
    data, train, validation = fold
    S = np.concatenate([data.prototypes, np.tile(data.prototypes[data.unseen], (40, 1))])
    unseen = np.arange(len(data.prototypes), len(S))
    scored = []
    found = ScoreMaxima.from_scores.__func__
    monkeypatch.setattr(
        ScoreMaxima, "from_scores", classmethod(lambda c, s, m: scored.append(s.shape) or found(c, s, m))
    )
    assert -1 <= shift(fold, S, unseen) <= 1
    n_seen = np.isin(validation.y, train.y).sum()
    wide = [rows for rows, columns in scored if columns == len(np.unique(train.y)) + len(unseen)]
    assert sum(wide) == n_seen + MOST_CLASSES * N_SIMULATED


def test_few_of_many_samples_are_read(fold, monkeypatch):
    """A class may be missing among the samples that are read; most of the others are not even looked at."""
    data, train, validation = fold
    monkeypatch.setattr("unseen.selection.simulation.MOST", 12)
    X = train.X.copy()
    read = np.sort(np.random.default_rng(0).permutation(len(X))[:12])
    assert len(np.unique(train.y[read])) < len(np.unique(train.y))
    model = LinearSV(data.prototypes).fit(train.X, train.y)
    X[np.setdiff1d(np.arange(len(X)), read)] = np.nan
    assert -1 <= Simulation(np.flatnonzero(data.unseen))(model, Samples(X, train.y), validation) <= 1
