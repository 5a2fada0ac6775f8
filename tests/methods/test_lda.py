"""LDA against its literal formula, against scikit-learn's, and on streams, few samples and its whole path."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.distance import pdist
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

import oracle
from problems import linear_problem
from unseen import LDA, UnseenError
from unseen._core.scaling import scale_rows
from unseen.methods import _moments, lda


def kernel_of(model, S_seen):
    if model.kernel == "linear":
        return np.dot
    width = model.bandwidth * np.median(pdist(S_seen)) ** 2
    return lambda a, b: np.exp(-np.sum((a - b) ** 2) / width)


def literal(model, X, y, S):
    rows = scale_rows(X, model.normalize)
    k = kernel_of(model, S[:5])
    return oracle.lda_scores(rows, y, S, range(5), model.alpha, model.shrinkage, k, rows)


@pytest.mark.parametrize("normalize", ["l2", None])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("rho", [0.1, 0.7, 1.0])
@pytest.mark.parametrize("shape", [(60, 9), (12, 30), (40, 40)], ids=["N>D", "N<D", "N=D"])
def test_scores_equal_the_literal_formula(shape, rho, kernel, normalize):
    X, y, S = linear_problem(n=shape[0], features=shape[1])
    model = LDA(S, alpha=0.05, shrinkage=rho, kernel=kernel, bandwidth=1.5, normalize=normalize).fit(X, y)
    assert_allclose(model.similarity(X), literal(model, X, y, S), rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("shape", [(60, 9), (12, 30)], ids=["N>D", "N<D"])
def test_a_whole_path_takes_one_eigendecomposition_of_the_features(shape, monkeypatch):
    X, y, S = linear_problem(n=shape[0], features=shape[1])
    grid = [
        {"alpha": a, "shrinkage": r, "bandwidth": b, "kernel": k}
        for a in (0.01, 1.0)
        for r in (0.2, 0.9)
        for b in (1.0, 4.0)
        for k in ("rbf", "linear")
    ]
    sizes = []
    eigh = np.linalg.eigh
    monkeypatch.setattr(_moments.np.linalg, "eigh", lambda A: sizes.append(len(A)) or eigh(A))
    models = list(LDA(S).fit_path(X, y, grid))
    assert sum(size >= min(shape) for size in sizes) == 1  # the others are as small as the seen classes
    for model in models:
        assert_allclose(model.similarity(X), literal(model, X, y, S), rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("shrinkage", [0.0, 0.3, 0.9])
@pytest.mark.parametrize("normalize", ["l2", None])
def test_one_hot_prototypes_without_ridge_give_scikit_learns_lda(shrinkage, normalize):
    X, y, _ = linear_problem(n=200)
    rows = scale_rows(X, normalize)
    other = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=shrinkage, priors=np.bincount(y) / len(y))
    other.fit(rows, y)
    ours = LDA(None, kernel="linear", alpha=0.0, shrinkage=shrinkage, normalize=normalize).fit(X, y)
    # a constant per sample is the same for all classes; ours has no prior
    theirs = other.decision_function(rows) - np.log(other.priors_)
    difference = ours.similarity(X) - theirs
    scale = np.abs(theirs - theirs.mean(axis=1, keepdims=True)).max()
    assert np.ptp(difference, axis=1).max() < 1e-6 * scale
    equal = other.set_params(priors=np.full(len(other.classes_), 1 / len(other.classes_))).fit(rows, y)
    assert_allclose(ours.predict_proba(X), equal.predict_proba(rows), rtol=1e-5, atol=1e-9)  # the posterior


def test_blocks_and_subtracted_moments_give_the_same_model():
    X, y, S = linear_problem(n=120)
    whole = LDA(S).fit(X, y)
    streamed = LDA(S).partial_fit(X[:50], y[:50]).partial_fit(X[50:], y[50:])
    assert_allclose(streamed.similarity(X), whole.similarity(X), rtol=1e-9, atol=1e-9)
    from_blocks = LDA(S).fit(iter([(X[:70], y[:70]), (X[70:], y[70:])]))
    assert_allclose(from_blocks.similarity(X), whole.similarity(X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"kernel": "poly"}, "Got kernel='poly', but expected 'rbf' or 'linear'"),
        ({"shrinkage": 1.5}, "Got shrinkage=1.5, but expected a number from 0 to 1"),
        ({"shrinkage": "auto"}, "Got shrinkage='auto'"),
        ({"bandwidth": 0}, "Got bandwidth=0, but expected a finite number above 0"),
    ],
)
def test_wrong_parameters_are_named(params, message):
    X, y, S = linear_problem()
    with pytest.raises(UnseenError, match=message):
        LDA(S, **params).fit(X, y)


def test_landmarks_lose_nothing_where_the_kernel_has_their_rank(monkeypatch):
    X, y, S = linear_problem(n=300, features=9, classes=30, seen=25, attributes=4)
    params = [{"alpha": a, "shrinkage": r, "kernel": "linear"} for a in (0.01, 1.0) for r in (0.2, 0.9)]
    exact = [model.similarity(X) for model in LDA(S).fit_path(X, y, params)]
    monkeypatch.setattr(lda, "LANDMARKS", 8)
    models = list(LDA(S).fit_path(X, y, params))
    for model, expected in zip(models, exact):
        assert model.mapping_.shape == (8, 9)
        assert_allclose(model.similarity(X), expected, rtol=1e-7, atol=1e-8)


def test_the_more_landmarks_the_closer_to_the_exact_kernel(monkeypatch):
    X, y, S = linear_problem(n=400, features=9, classes=40, seen=36, attributes=4)
    exact = LDA(S).fit(X, y).similarity(X)
    errors = []
    for n in (5, 15, 30):
        monkeypatch.setattr(lda, "LANDMARKS", n)
        errors.append(np.abs(LDA(S).fit(X, y).similarity(X) - exact).max())
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.1 * np.abs(exact).max()
