"""Anchored methods: the literal formulas, both ends of the regularization, and never worse than zero-shot."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import pdist

import oracle
from unseen import LDA, Cosine, GZSLClassifierCV, LinearSV, UnseenError
from unseen._core.scaling import scale_rows
from unseen.datasets import load as load_data
from unseen.methods import METHODS, describe_method, make_method
from unseen.models.io import load, save
from unseen.models.training import candidates

D, SEEN = 9, 7


@pytest.fixture
def embeddings():
    """Samples near distorted prototypes of their own space; the last three classes are unseen."""
    rng = np.random.default_rng(1)
    S = rng.normal(size=(SEEN + 3, D)) + 0.5
    y = rng.permutation(np.arange(140) % SEEN)
    X = S[y] @ (np.eye(D) + 0.4 * rng.normal(size=(D, D))) + rng.normal(size=(140, D)) + 0.3
    return X, y, S


def unit(S):
    return scale_rows(S, "l2")


def kernel_of(kernel, S_seen):
    width = 2.0 * np.median(pdist(S_seen)) ** 2
    return np.dot if kernel == "linear" else lambda a, b: np.exp(-np.sum((a - b) ** 2) / width)


# ---- the formulas ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [1e-3, 1.0])
def test_linear_sv_equals_the_literal_formula(embeddings, alpha):
    X, y, S = embeddings
    model = LinearSV(S, alpha=alpha, anchor="identity").fit(X, y)
    centers = oracle.anchored_linear_sv(unit(X), y, S, alpha)
    assert_allclose(model.coef_, centers, rtol=1e-9, atol=1e-12)
    assert_allclose(model.intercept_, -0.5 * (centers**2).sum(axis=1), rtol=1e-9)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("rho", [0.3, 1.0])
@pytest.mark.parametrize("n", [140, 8], ids=["N>D", "N<D"])
def test_lda_equals_the_literal_formula(embeddings, kernel, rho, n):
    X, y, S = embeddings
    turn = [np.sum(y[:i] == y[i]) for i in range(len(y))]
    order = np.argsort(turn, kind="stable")[:n]  # first one sample of every class, then the next
    X, y = X[order], y[order]
    model = LDA(S, alpha=0.1, shrinkage=rho, kernel=kernel, anchor="identity").fit(X, y)
    k = kernel_of(kernel, unit(S)[:SEEN])
    expected = oracle.anchored_lda_scores(unit(X), y, S, range(SEEN), 0.1, rho, k, unit(X))
    # eigenvectors are kept in single precision
    assert_allclose(model.similarity(X), expected, rtol=1e-5, atol=1e-5 * np.ptp(expected))


# ---- both ends ---------------------------------------------------------------------------------------------


STRONG = [
    LinearSV(alpha=1e12, anchor="identity"),
    LDA(alpha=1e12, shrinkage=1.0, anchor="identity"),
    LDA(alpha=1e12, shrinkage=1.0, kernel="linear", anchor="identity"),
]


@pytest.mark.parametrize("model", STRONG, ids=str)
def test_strong_regularization_ends_at_zero_shot(embeddings, model):
    X, y, S = embeddings
    new = np.random.default_rng(2).normal(size=(2000, D))
    zero_shot = Cosine(S).fit(X, y)
    model.set_params(prototypes=S).fit(X, y)
    assert_array_equal(model.predict(new), zero_shot.predict(new))
    # even the scores are cosines, up to a common factor and a constant for each sample
    scores, cosines = (s - s.mean(axis=1, keepdims=True) for s in map(_scores(new), (model, zero_shot)))
    factor = (scores * cosines).sum() / (cosines**2).sum()
    assert_allclose(scores, factor * cosines, atol=1e-6 * np.abs(scores).max())


def _scores(X):
    return lambda model: model.similarity(X)


def test_weak_regularization_ends_at_the_plain_linear_model(embeddings):
    """With seen prototypes that span the space, the identity is one of the mappings that can be learned."""
    X, y, _ = embeddings
    S = np.random.default_rng(3).normal(size=(30, D))
    y = np.arange(len(y)) % 20
    anchored = LinearSV(S, alpha=1e-14, anchor="identity").fit(X, y)
    plain = LinearSV(unit(S), alpha=1e-14).fit(X, y)
    assert_allclose(anchored.coef_, plain.coef_, atol=1e-8)
    assert_allclose(anchored.intercept_, plain.intercept_, atol=1e-8)


def test_a_direction_without_seen_prototypes_stays_where_it_is(embeddings):
    X, y, S = embeddings
    S = S.copy()
    S[:SEEN, -1] = 0
    S[-1] = np.eye(D)[-1]  # orthogonal to all seen prototypes
    model = LinearSV(S, alpha=1e-6, anchor="identity").fit(X, y)
    assert_allclose(model.coef_[-1], S[-1], atol=1e-9)


def test_weak_regularization_ends_at_the_observed_means(embeddings):
    """The kernel interpolates: with or without anchors, seen classes end at their own means."""
    X, y, S = embeddings
    anchored, plain = (LDA(unit(S), alpha=0.0, anchor=a).fit(X, y) for a in ("identity", None))
    expected = plain.similarity(X)[:, :SEEN]
    assert_allclose(anchored.similarity(X)[:, :SEEN], expected, atol=1e-5 * np.ptp(expected))


# ---- selection ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", ["linear-sv-anchored", "lda-anchored"])
def test_the_default_grid_is_never_worse_than_zero_shot_on_validation(name, seed):
    """Even where learning only hurts: features whose seen classes say nothing about the others."""
    rng = np.random.default_rng(seed)
    S = rng.normal(size=(16, 12))
    y = np.arange(240) % 12
    X = S[y] + 1.5 * rng.normal(size=(240, 12))
    anchored, zero_shot = (
        GZSLClassifierCV(model, gamma="paper").fit(X, y) for model in (make_method(name, S, 0), Cosine(S))
    )
    assert anchored.cv_results_["mean_h"].max() >= zero_shot.cv_results_["mean_h"].max() - 1e-9
    assert anchored.cv_results_["mean_zsl"].max() >= zero_shot.cv_results_["mean_zsl"].max() - 1e-9


def test_fit_compares_anchored_methods_where_prototypes_have_the_width_of_the_features():
    data = load_data("synthetic", n_samples=200, n_features=D, n_classes=10, n_attributes=D, random_state=0)
    anchored = {"cosine", "linear-sv-anchored", "lda-anchored"}
    assert anchored < {str(candidate) for candidate in candidates(data, "auto", None)}
    assert not anchored & {candidate.method for candidate in candidates(data, "auto", "standard")}
    raw = replace(data, X=data.X * np.logspace(-2, 4, D))  # unit length and standardized: for learned methods
    compared = {str(candidate) for candidate in candidates(raw, "auto", None)}
    assert "lda, standard" in compared and "lda-anchored, l2" in compared
    assert "lda-anchored, standard" not in compared
    narrow = replace(data, prototypes=data.prototypes[:, :5])
    assert not anchored & {candidate.method for candidate in candidates(narrow, "auto", None)}


def test_plain_models_keep_their_grid():
    for name in ("linear-sv", "lda"):
        plain, anchored = make_method(name, None, 0), make_method(f"{name}-anchored", None, 0)
        assert type(plain).default_grid == plain.default_grid != anchored.default_grid
        assert set(plain.default_grid["alpha"]) < set(anchored.default_grid["alpha"])


# ---- what is refused, and files ----------------------------------------------------------------------------


@pytest.mark.parametrize("method", [LinearSV, LDA])
def test_what_cannot_be_anchored_is_refused(embeddings, method):
    X, y, S = embeddings
    with pytest.raises(UnseenError, match="prototypes has 5 columns and X has 9 features"):
        method(S[:, :5], anchor="identity").fit(X, y)
    with pytest.raises(UnseenError, match="prototypes has 5 columns and X has 9 features"):
        method(S[:, :5], anchor="identity").partial_fit(X, y)
    with pytest.raises(UnseenError, match="but none were given"):
        method(anchor="identity").fit(X, y)
    with pytest.raises(UnseenError, match="expected normalize='l2'"):
        method(S, anchor="identity", normalize="standard").fit(X, y)
    with pytest.raises(UnseenError, match="Got anchor='mean', but expected 'identity' or None"):
        method(S, anchor="mean").fit(X, y)


@pytest.mark.parametrize("name", ["linear-sv", "lda", "linear-sv-anchored", "lda-anchored"])
def test_a_model_file_says_whether_it_is_anchored(embeddings, tmp_path, name):
    X, y, S = embeddings
    model = make_method(name, S, 0).fit(X, y)
    save(model, tmp_path / "m")
    again = load(tmp_path / "m")
    assert again.anchor == model.anchor == describe_method(name).params.get("anchor")
    new = np.random.default_rng(0).normal(size=(2, D))
    assert_array_equal(again.add_classes(new).similarity(X), model.add_classes(new).similarity(X))


def test_variants_of_a_method_share_its_class():
    for name, method in METHODS.items():
        if method.params:
            assert method.place == METHODS[name.removesuffix("-anchored")].place
