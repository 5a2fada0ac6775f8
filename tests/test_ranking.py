"""ALE, DeViSE, SJE and SynC: losses and gradients against literal sums, training against both."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import oracle
from unseen import ALE, SJE, DeViSE, SynC
from unseen.ranking import Problem, max_loss, rank_loss, sum_loss

METHODS = [ALE, DeViSE, SJE, SynC]
LOSSES = {"ale": rank_loss, "devise": sum_loss, "sje": max_loss}


def problem(n=200, features=16, attributes=6, classes=9, seen=7, seed=0):
    """Samples of the first ``seen`` classes, linear in the attributes plus noise."""
    rng = np.random.default_rng(seed)
    S = rng.normal(size=(classes, attributes))
    y = rng.permutation(np.arange(n) % seen)
    X = S[y] @ rng.normal(size=(attributes, features)) + 0.7 * rng.normal(size=(n, features))
    return X, y, S


@pytest.mark.parametrize("name", LOSSES)
def test_loss_is_the_literal_sum(name):
    rng = np.random.default_rng(1)
    scores, y = rng.normal(size=(30, 2, 5)), rng.integers(5, size=30)
    margins = 1 - np.eye(5)
    loss, _ = LOSSES[name](scores.copy(), y, margins)
    for model in range(2):
        literal = sum(oracle.ranking_loss(name, s[model], label, margins) for s, label in zip(scores, y))
        assert_allclose(loss[model], literal)


@pytest.mark.parametrize("name", LOSSES)
def test_gradient_equals_finite_differences(name):
    rng = np.random.default_rng(2)
    scores, y = rng.normal(size=(6, 1, 5)), rng.integers(5, size=6)
    margins = 1 - np.eye(5)
    _, gradient = LOSSES[name](scores.copy(), y, margins)
    step = 1e-6
    for place in np.ndindex(scores.shape):
        up, down = scores.copy(), scores.copy()
        up[place] += step
        down[place] -= step
        slope = (LOSSES[name](up, y, margins)[0] - LOSSES[name](down, y, margins)[0]) / (2 * step)
        assert_allclose(gradient[place], slope[0], atol=1e-6)


def test_step_in_class_space_is_the_gradient_of_W():
    """S' (G' X / n + 2 alpha A) is the gradient of the mean loss of X W' S' plus alpha ||W||^2."""
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(8, 4)), rng.integers(5, size=8)
    S, A, alpha = rng.normal(size=(5, 3)), rng.normal(size=(5, 4)), 0.3
    margins = 1 - np.eye(5)
    trained = Problem(X, y, S @ S.T, margins, np.array([alpha]), sum_loss)
    _, step = trained.gradient(A[None], X, y)

    def objective(W):
        return sum_loss((X @ W.T @ S.T)[:, None], y, margins)[0][0] / 8 + alpha * np.sum(W**2)

    W = S.T @ A
    slopes = np.empty_like(W)
    for place in np.ndindex(W.shape):
        change = np.zeros_like(W)
        change[place] = 1e-6
        slopes[place] = (objective(W + change) - objective(W - change)) / 2e-6
    assert_allclose(S.T @ step[0], slopes, atol=1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_training_lowers_the_loss_and_learns(method):
    X, y, S = problem()
    model = method(S, alpha=1e-4, random_state=0).fit(X, y)
    assert model.n_iter_ == len(model.loss_curve_) == model.max_iter
    assert model.loss_curve_[-1] < 0.8 * model.loss_curve_[0]
    assert np.mean(model.predict(X, candidates=np.arange(7)) == y) > 0.7
    assert np.all(model.intercept_ == 0)


@pytest.mark.parametrize("method", METHODS)
def test_a_path_is_one_fit_each(method):
    X, y, S = problem()
    settings = [{"alpha": 1e-4}, {"alpha": 1e-2}]
    for setting, model in zip(settings, method(S, random_state=0).fit_path(X, y, settings), strict=True):
        alone = method(S, random_state=0, **setting).fit(X, y)
        assert_allclose(model.coef_, alone.coef_, rtol=1e-3, atol=1e-4 * np.abs(alone.coef_).max())


@pytest.mark.parametrize("method", METHODS)
def test_seeds_repeat_to_the_bit_and_differ(method):
    X, y, S = problem()
    first, again, other = (method(S, random_state=seed).fit(X, y) for seed in (0, 0, 1))
    assert_array_equal(first.coef_, again.coef_)
    assert not np.array_equal(first.coef_, other.coef_)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("normalize", ["l2", None])
def test_any_scale_of_features_and_prototypes(method, normalize):
    X, y, S = problem()
    plain = method(S, normalize=normalize, random_state=0).fit(X, y)
    scaled = method(1e3 * S, normalize=normalize, random_state=0).fit(1e6 * X, y)
    assert np.mean(plain.predict(X) == scaled.predict(1e6 * X)) > 0.97


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("alpha", [0.0, 1e-12, 1e3, 1e12])
def test_no_alpha_diverges(method, alpha):
    X, y, S = problem()
    model = method(S, alpha=alpha, random_state=0).fit(X, y)
    assert np.isfinite(model.coef_).all()


def test_sync_gives_a_seen_class_its_own_row():
    X, y, S = problem()
    model = SynC(S, random_state=0).fit(X, y)
    assert_allclose(model.coef_[:7], model.mapping_, atol=1e-4 * np.abs(model.mapping_).max())


def test_sync_bandwidths_share_a_training():
    X, y, S = problem()
    settings = [{"bandwidth": width} for width in (0.5, 4.0)]
    narrow, wide = SynC(S, random_state=0).fit_path(X, y, settings)
    assert_array_equal(narrow.mapping_, wide.mapping_)
    assert not np.allclose(narrow.coef_[7:], wide.coef_[7:])
