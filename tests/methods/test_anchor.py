"""Anchored LDA: the literal formulas, zero-shot without the gap at the end, and what it cannot take."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import oracle
from unseen import LDA, Cosine, UnseenError
from unseen._core.scaling import scale_rows
from unseen.datasets import load_dataset
from unseen.methods import METHODS, _kernels, describe_method, make_method
from unseen.models.io import load_model, save_model
from unseen.models.training import method_candidates

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


# ---- the formula -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rho", [0.3, 1.0])
@pytest.mark.parametrize("n", [140, 8], ids=["N>D", "N<D"])
def test_scores_equal_the_literal_formula(embeddings, rho, n):
    X, y, S = embeddings
    turn = [np.sum(y[:i] == y[i]) for i in range(len(y))]
    order = np.argsort(turn, kind="stable")[:n]  # first one sample of every class, then the next
    X, y = X[order], y[order]
    model = LDA(S, alpha=0.1, shrinkage=rho, kappa=np.inf, anchor="prototype").fit(X, y)
    mu = oracle.anchored_means(unit(X), y, S, range(SEEN), 0.1)
    expected = oracle.gaussian_scores(unit(X), y, range(SEEN), rho, mu, unit(X))
    found, expected = (s - s.mean(axis=1, keepdims=True) for s in (model.similarity(X), expected))
    assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * np.ptp(expected))


def test_a_description_counts_as_much_as_kappa_samples(embeddings):
    X, y, S = embeddings
    rows = unit(X)
    mu = oracle.anchored_means(rows, y, S, range(SEEN), 0.2)
    for c in range(SEEN):
        mu[c] = oracle.mean_with_samples(mu[c], rows[y == c], 6.0)
    model = LDA(S, alpha=0.2, shrinkage=0.5, kappa=6.0, anchor="prototype").fit(X, y)
    expected = oracle.gaussian_scores(rows, y, range(SEEN), 0.5, mu, rows)
    found, expected = (s - s.mean(axis=1, keepdims=True) for s in (model.similarity(X), expected))
    assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * np.ptp(expected))


def test_strong_regularization_ends_at_zero_shot_without_the_gap(embeddings):
    X, y, S = embeddings
    model = LDA(S, alpha=1e12, shrinkage=1.0, kappa=np.inf, anchor="prototype").fit(X, y)
    means = np.array([unit(X)[y == c].mean(axis=0) for c in range(SEEN)])
    M, T = means - means.mean(axis=0), oracle.centered_texts(S, range(SEEN))
    b = np.sum(M * T[:SEEN]) / np.sum(T[:SEEN] ** 2)
    centers = means.mean(axis=0) + b * T
    new = np.random.default_rng(2).normal(size=(2000, D))
    assert_array_equal(model.predict(new), oracle.nearest(unit(new), centers))


def test_a_constant_gap_and_another_scale_change_nothing(embeddings):
    """Images and texts may sit in different corners: only differences between classes count."""
    rng = np.random.default_rng(4)
    S = unit(rng.normal(size=(SEEN + 3, D)))
    y = np.arange(140) % SEEN
    X = unit(S[y] + 0.3 * rng.normal(size=(140, D)))
    model = LDA(S, alpha=1.0, anchor="prototype").fit(X, y)
    assert np.mean(model.predict(X) == y) > 0.9
    apart = 0.1 * X + 5 * unit(rng.normal(size=(1, D)))  # almost one direction
    moved = LDA(S, alpha=1.0, anchor="prototype").fit(apart, y)
    assert np.mean(moved.predict(apart) == y) > 0.85
    assert np.mean(Cosine(S).fit(apart, y).predict(apart) == y) < 0.5


def test_many_seen_classes_are_exact_with_enough_landmarks(monkeypatch):
    """The linear kernel has at most the rank of the features."""
    rng = np.random.default_rng(0)
    S, y = rng.normal(size=(50, 4)), np.arange(400) % 40
    X = S[y] + rng.normal(size=(400, 4))
    exact = LDA(S, anchor="prototype").fit(X, y).similarity(X)
    monkeypatch.setattr(_kernels, "LANDMARKS", 10)
    assert_allclose(LDA(S, anchor="prototype").fit(X, y).similarity(X), exact, rtol=1e-7, atol=1e-7)


# ---- selection ---------------------------------------------------------------------------------------------


def test_fit_compares_anchored_methods_if_prototypes_have_the_width_of_the_features():
    data = load_dataset(
        "synthetic", n_samples=200, n_features=D, n_classes=10, n_attributes=D, random_state=0
    )
    candidates = list(method_candidates(data, "auto", "auto"))
    assert candidates == ["cosine", "lda-anchored", "lda", "lda standard"]  # the first two compare directions
    narrow = replace(data, prototypes=data.prototypes[:, :5])
    assert list(method_candidates(narrow, "auto", "auto")) == ["lda", "lda standard"]


def test_plain_models_keep_their_grid():
    plain, anchored = make_method("lda", None, 0), make_method("lda-anchored", None, 0)
    assert type(plain).default_grid == plain.default_grid != anchored.default_grid
    for model in (plain, anchored):
        assert set(model.default_grid) <= set(model.get_params())


# ---- what is refused, and files ----------------------------------------------------------------------------


def test_what_cannot_be_anchored_raises_an_error(embeddings):
    X, y, S = embeddings
    with pytest.raises(UnseenError, match="prototypes has 5 columns and X has 9 features"):
        LDA(S[:, :5], anchor="prototype").fit(X, y)
    with pytest.raises(UnseenError, match="prototypes has 5 columns and X has 9 features"):
        LDA(S[:, :5], anchor="prototype").partial_fit(X, y)
    with pytest.raises(UnseenError, match="but none were given"):
        LDA(anchor="prototype").fit(X, y)
    for normalize in ("standard", "sqrt", None):
        with pytest.raises(UnseenError, match="expected normalize='l2'"):
            LDA(S, anchor="prototype", normalize=normalize).fit(X, y)
    with pytest.raises(UnseenError, match="Got anchor='mean', but expected 'prototype' or None"):
        LDA(S, anchor="mean").fit(X, y)


@pytest.mark.parametrize("name", ["lda", "lda-anchored"])
def test_a_model_file_says_whether_it_is_anchored(embeddings, tmp_path, name):
    X, y, S = embeddings
    model = make_method(name, S, 0).fit(X, y)
    save_model(model, tmp_path / "m")
    again = load_model(tmp_path / "m")
    assert again.anchor == model.anchor == describe_method(name).params.get("anchor")
    new = np.random.default_rng(0).normal(size=(2, D))
    assert_array_equal(again.add_classes(new).similarity(X), model.add_classes(new).similarity(X))


def test_variants_of_a_method_share_its_class():
    for name, method in METHODS.items():
        if method.params:
            assert method.place == METHODS[name.removesuffix("-anchored")].place


def test_weights_of_class_means_make_the_mean_of_every_class(embeddings):
    X, y, S = embeddings
    model = LDA(S, alpha=0.1, anchor="prototype", kappa=np.inf).fit(X, y)
    means = np.array([unit(X)[y == c].mean(axis=0) for c in range(SEEN)])
    M, T = means - means.mean(axis=0), oracle.centered_texts(S, range(SEEN))
    b = np.sum(M * T[:SEEN]) / np.sum(T[:SEEN] ** 2)
    weights = model.seen_weights(np.arange(len(S)))[:, :SEEN]
    # mu(s) = mean + sum_c w_c m_c + b (t - sum_c w_c t_c)
    found = means.mean(axis=0) + weights @ M + b * (T - weights @ T[:SEEN])
    assert_allclose(found, oracle.anchored_means(unit(X), y, S, range(SEEN), 0.1), rtol=1e-9, atol=1e-12)
