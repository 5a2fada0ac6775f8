"""ALE, DeViSE, SJE and SynC: losses, gradients and minima against literal ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.spatial.distance import cdist, pdist
from sklearn.exceptions import ConvergenceWarning

import oracle
from unseen import ALE, SJE, DeViSE, SynC
from unseen.errors import UnseenError
from unseen.methods import _dual as dual
from unseen.methods import _few_directions
from unseen.methods._dual import Problem
from unseen.methods.ranking import project_box, project_simplex, rank_weights

METHODS = [ALE, DeViSE, SJE, SynC]
CONVEX = [DeViSE, SJE, SynC]
LOSSES = {"ale": (project_box, rank_weights), "devise": (project_box, None), "sje": (project_simplex, None)}
EIGHT = 1 - np.eye(8)
OVERLAP = 3.0  # noise with which the classes of ``samples`` are far from separable
GRID = [{"alpha": 1e-2}, {"alpha": 1e-1}]


def samples(n=200, features=16, attributes=6, classes=9, seen=7, seed=0, noise=0.7):
    """Samples of the first ``seen`` classes, linear in the attributes plus noise."""
    rng = np.random.default_rng(seed)
    S = rng.normal(size=(classes, attributes))
    y = rng.permutation(np.arange(n) % seen)
    X = S[y] @ rng.normal(size=(attributes, features)) + noise * rng.normal(size=(n, features))
    return X, y, S


def problem(name, X, y, margins=EIGHT):
    return Problem(X, y, np.float32(1), margins, *LOSSES[name])


def weights(name, v):
    return rank_weights(v) if name == "ale" else np.ones((*v.shape[:2], 1))


# ---- losses and gradients ----------------------------------------------------------------------------------


@settings(max_examples=200, deadline=None)
@given(
    u=arrays(float, (1, 1, 6), elements=st.floats(-3, 3)),
    other=arrays(float, 6, elements=st.floats(0, 1)),
    weight=st.floats(0.1, 1),
)
def test_projections_give_the_nearest_point(u, other, weight):
    """The point p is nearest to u in a convex set exactly when <u - p, z - p> <= 0 for every z of the set."""
    simplex = other / max(other.sum(), 1)
    for project, z, w in ((project_box, weight * other, weight), (project_simplex, simplex, 1.0)):
        p = project(u, np.full((1, 1, 1), w))[0, 0]
        assert p.min() >= 0
        assert p.max() <= w + 1e-9 if project is project_box else p.sum() <= 1 + 1e-9
        assert (u[0, 0] - p) @ (z - p) <= 1e-9


@pytest.mark.parametrize("margins", [EIGHT, np.ones((8, 1))], ids=["each", "the same"])
@pytest.mark.parametrize("name", LOSSES)
def test_loss_is_the_literal_sum(name, margins):
    rng = np.random.default_rng(1)
    scores, y = rng.normal(size=(30, 2, 8)), rng.integers(8, size=30)
    trained = problem(name, scores, y, margins)
    v = trained.violations(scores.copy(), y)
    _, loss = trained.push(v, weights(name, v))
    for model in range(2):
        literal = sum(oracle.ranking_loss(name, s[model], label, EIGHT, 1.0) for s, label in zip(scores, y))
        assert_allclose(loss[model], literal, rtol=1e-6)


def any_weights(n, features, seed):
    """Samples of eight classes with three attributes, and any W: nothing is learned here."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, features)), rng.integers(8, size=n)
    return X, y, rng.normal(size=(8, 3)), rng.normal(size=(3, features))


def objective(name, alpha, X, y, S, margins, W, w=None):
    """The mean loss of the scores X W' S' plus alpha ||W||^2, and its gradient from the pushes."""
    trained = problem(name, X, y, margins)
    v = trained.violations((X @ W.T @ S.T)[:, None], y)  # (samples, 1, classes)
    u, loss = trained.push(v, weights(name, v) if w is None else w)
    G = u[:, 0]
    G[np.arange(len(y)), y] = -G.sum(axis=1)
    value = loss[0] / len(y) + alpha * np.sum(W**2)
    return value, S.T @ G.T @ X / len(y) + 2 * alpha * W


@pytest.mark.parametrize("name", LOSSES)
def test_gradient_equals_finite_differences(name):
    X, y, S, W = any_weights(8, 4, seed=3)
    _, gradient = objective(name, 0.3, X, y, S, EIGHT, W)
    slopes = np.empty_like(W)
    for place in np.ndindex(W.shape):
        change = np.zeros_like(W)
        change[place] = 1e-6
        up, down = (objective(name, 0.3, X, y, S, EIGHT, W + sign * change)[0] for sign in (1, -1))
        slopes[place] = (up - down) / 2e-6
    assert_allclose(gradient, slopes, atol=1e-5)


@pytest.mark.parametrize("name", LOSSES)
def test_gradient_equals_that_of_torch(name):
    torch = pytest.importorskip("torch", reason="needs torch: pip install --group torch")
    X, y, S, W = any_weights(20, 5, seed=4)
    value, gradient = objective(name, 0.3, X, y, S, EIGHT, W)
    parameter = torch.tensor(W, requires_grad=True)
    scores = torch.tensor(X) @ parameter.T @ torch.tensor(S).T
    v = torch.tensor(EIGHT[y]) + scores - scores[range(20), y][:, None]
    if name == "sje":  # u = max(0, v - t) with the t that makes their sum 1, or 0
        largest = v.sort(dim=1, descending=True).values.cumsum(dim=1)
        t = ((largest - 1) / torch.arange(1, 9)).max(dim=1, keepdim=True).values.clamp(min=0)
        u = (v - t).clamp(min=0)
        loss = (u * v - u**2 / 2).sum()
    else:
        r = (v > 0).sum(dim=1)
        beta = torch.cumsum(1 / torch.arange(1, 9).double(), dim=0)
        w = (beta[r.clamp(min=1) - 1] / r.clamp(min=1) if name == "ale" else torch.ones(20))[:, None]
        loss = torch.where(v < w, v.clamp(min=0) ** 2 / 2, w * v - w**2 / 2).sum()
    total = loss / 20 + 0.3 * (parameter**2).sum()
    total.backward()
    assert_allclose(value, total.item())
    assert_allclose(gradient, parameter.grad.numpy(), atol=1e-10)


# ---- the minimum -------------------------------------------------------------------------------------------


def scaled(method, X, y, S, model):
    """Return the objective of a method in the units of its alpha, and the model's W there."""
    X = X / np.linalg.norm(X, axis=1, keepdims=True)
    X = X - X.mean(axis=0) / 2
    scale = np.sqrt(np.mean(np.sum(X**2, axis=1)))
    if method is SynC:
        margins = cdist(S, S) / np.median(pdist(S))
        return X / scale, np.eye(len(S)), margins, scale * model.mapping_
    S = S - S.mean(axis=0)
    length = np.sqrt(np.sum(S**2) / len(S))
    return X / scale, S / length, 1 - np.eye(len(S)), scale * length * model.mapping_


def literal(name, alpha, X, y, S, margins, W, smoothing):
    scores = X @ W.T @ S.T
    losses = [oracle.ranking_loss(name, f, label, margins, smoothing) for f, label in zip(scores, y)]
    return np.mean(losses) + alpha * np.sum(W**2)


@pytest.mark.parametrize("noise", [0.7, OVERLAP])
@pytest.mark.parametrize("smoothing", [0.3, 1.0])
@pytest.mark.parametrize("alpha", [1e-4, 1e-2])
@pytest.mark.parametrize("method", CONVEX)
def test_the_objective_is_as_near_its_minimum_as_the_gap_says(method, alpha, smoothing, noise):
    X, y, S = samples(noise=noise)
    model = method(S, alpha=alpha, smoothing=smoothing, random_state=0).fit(X, y)
    name = "devise" if method is DeViSE else "sje"
    X, S, margins, W = scaled(method, X, y, S[:7], model)

    def flat(w):
        # with the unit s = smoothing for scores: P(W) = s [1/n sum loss(v / s) + alpha / s ||W||^2]
        value, gradient = objective(
            name, alpha / smoothing, X, y, S / smoothing, margins / smoothing, w.reshape(W.shape)
        )
        return smoothing * value, smoothing * gradient.ravel()

    least = minimize(flat, np.zeros(W.size), jac=True, method="L-BFGS-B", options={"maxiter": 5000}).fun
    at_zero, reached = flat(np.zeros(W.size))[0], flat(W.ravel())[0]
    assert_allclose(reached, literal(name, alpha, X, y, S, margins, W, smoothing))
    assert 0 < model.dual_gap_ <= model.tol
    assert -1e-6 <= (reached - least) / at_zero <= model.dual_gap_ + 1e-6


@pytest.mark.parametrize("smoothing", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("method", CONVEX)
def test_the_curve_ends_at_the_loss_whatever_the_smoothing(method, smoothing):
    X, y, S = samples()
    model = method(S, alpha=1e-2, smoothing=smoothing, tol=1e-4, max_iter=1000, random_state=0).fit(X, y)
    X, S, margins, W = scaled(method, X, y, S[:7], model)
    loss = literal("devise" if method is DeViSE else "sje", 0.0, X, y, S, margins, W, smoothing)
    assert_allclose(model.loss_curve_[-1], loss, rtol=0.02)


def test_ale_is_at_the_minimum_for_its_weights():
    """The weights follow the ranks at first and then stay: with those of the end it is nearly at rest."""
    X, y, S = samples()
    model = ALE(S, alpha=1e-2, random_state=0).fit(X, y)
    X, S, margins, W = scaled(ALE, X, y, S[:7], model)
    v = problem("ale", X, y, margins).violations((X @ W.T @ S.T)[:, None], y)
    w = rank_weights(v)

    def flat(W_flat):
        value, gradient = objective("ale", 1e-2, X, y, S, margins, W_flat.reshape(W.shape), w)
        return value, gradient.ravel()

    least = minimize(flat, W.ravel(), jac=True, method="L-BFGS-B").fun
    assert flat(W.ravel())[0] - least < 0.01 * flat(np.zeros(W.size))[0]


@pytest.mark.parametrize("method", METHODS)
def test_training_lowers_the_loss_and_learns(method):
    X, y, S = samples()
    model = method(S, alpha=1e-4, random_state=0).fit(X, y)
    assert 1 < model.n_iter_ == len(model.loss_curve_) < model.max_iter
    assert model.loss_curve_[-1] < 0.8 * model.loss_curve_[0]
    assert np.mean(model.predict(X, candidates=np.arange(7)) == y) > 0.7
    assert_allclose(model.intercept_, -model.coef_ @ model.shift_, rtol=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_a_training_that_was_cut_off_says_so(method):
    X, y, S = samples()
    with pytest.warns(ConvergenceWarning, match=r"has not converged in 2 epochs: dual_gap_=.*Raise max_iter"):
        model = method(S, alpha=1e-6, max_iter=2, random_state=0).fit(X, y)
    assert model.n_iter_ == 2
    assert model.dual_gap_ > model.tol


@pytest.mark.parametrize("method", METHODS)
def test_overlapping_classes_are_finished_by_descent(method, monkeypatch):
    """Ascent on the dual alone would take thousands of epochs; what descent finds has the same minimum."""
    X, y, S = samples(noise=OVERLAP)
    model = method(S, alpha=1e-4, random_state=0).fit(X, y)
    assert dual.PATIENCE < model.n_iter_ == len(model.loss_curve_) < model.max_iter
    assert model.dual_gap_ <= model.tol
    monkeypatch.setattr(dual, "VARIABLES", 0)
    alone = method(S, alpha=1e-4, max_iter=5000, random_state=0).fit(X, y)
    assert alone.n_iter_ > 2 * model.n_iter_
    assert_allclose(model.loss_curve_[-1], alone.loss_curve_[-1], rtol=0.03)
    assert np.mean(model.predict(X) == alone.predict(X)) > 0.9


def test_a_smaller_tolerance_comes_nearer():
    X, y, S = samples()
    rough, fine = (SJE(S, tol=tol, random_state=0).fit(X, y) for tol in (1e-1, 1e-4))
    assert fine.dual_gap_ <= 1e-4 < rough.dual_gap_ <= 1e-1
    assert fine.n_iter_ > rough.n_iter_


# ---- few directions of many features -----------------------------------------------------------------------


def many_features(noise=0.7, features=40):
    """Samples of more features than ``few`` directions."""
    return samples(n=600, features=features, noise=noise)


@pytest.fixture
def few(monkeypatch):
    """Let samples be visited in 6 directions; list the features of each epoch."""
    features = []
    visit_all = dual.Stack._visit_all

    def noted(stack, order):
        features.append(stack.visited.X.shape[1])
        return visit_all(stack, order)

    monkeypatch.setattr(_few_directions, "DIRECTIONS", 6)
    monkeypatch.setattr(dual.Stack, "_visit_all", noted)
    return features


@pytest.mark.parametrize("alpha", [1e-3, 1e-2])
@pytest.mark.parametrize("method", METHODS)
def test_few_directions_lead_to_the_same_minimum(method, alpha, few, monkeypatch):
    X, y, S = many_features()
    model = method(S, alpha=alpha, tol=1e-5, random_state=0).fit(X, y)
    monkeypatch.setattr(_few_directions, "DIRECTIONS", 600)
    plain = method(S, alpha=alpha, tol=1e-5, random_state=0).fit(X, y)
    assert few[0] == 6
    assert few[-1] == 40  # without them
    assert model.dual_gap_ <= 1e-5
    if method is not ALE:  # whose weights depend on the way
        assert_allclose(model.coef_, plain.coef_, atol=0.02 * np.abs(plain.coef_).max())


@pytest.mark.parametrize("method", CONVEX)
def test_the_gap_of_few_directions_is_that_of_all_features(method, few):
    X, y, S = many_features()
    model = method(S, alpha=1e-3, random_state=0).fit(X, y)
    name = "devise" if method is DeViSE else "sje"
    X, S, margins, W = scaled(method, X, y, S[:7], model)

    def flat(w):
        value, gradient = objective(name, 1e-3, X, y, S, margins, w.reshape(W.shape))
        return value, gradient.ravel()

    least = minimize(flat, np.zeros(W.size), jac=True, method="L-BFGS-B", options={"maxiter": 5000}).fun
    at_zero, reached = flat(np.zeros(W.size))[0], flat(W.ravel())[0]
    assert 0 < model.dual_gap_ <= model.tol
    assert -1e-6 <= (reached - least) / at_zero <= model.dual_gap_ + 1e-6


@pytest.mark.parametrize("method", METHODS)
def test_where_too_much_is_left_out_all_features_are_used(method, few):
    """Noise alone has no leading directions: all features are visited, or descent finishes the training."""
    X, y, S = many_features(noise=30.0, features=400)
    model = method(S, alpha=1e-5, random_state=0).fit(X, y)
    assert few[0] == 6
    assert few[-1] == 400 or len(few) == dual.PATIENCE
    assert model.dual_gap_ <= model.tol


@pytest.mark.parametrize("method", METHODS)
def test_few_directions_do_not_depend_on_how_a_path_is_cut(method, few, monkeypatch):
    X, y, S = many_features()
    model = method(S, tol=1e-5, random_state=0)
    whole = list(model.fit_path(X, y, GRID))
    monkeypatch.setattr(dual, "MEMORY", 100)
    for one, other in zip(whole, model.fit_path(X, y, GRID), strict=True):
        assert_allclose(one.coef_, other.coef_, atol=0.02 * np.abs(other.coef_).max())


# ---- paths, seeds, scales ----------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_a_path_is_one_fit_each(method):
    X, y, S = samples()
    model = method(S, tol=1e-5, random_state=0)
    for params, one in zip(GRID, model.fit_path(X, y, GRID), strict=True):
        alone = method(S, tol=1e-5, random_state=0, **params).fit(X, y)
        assert_allclose(one.coef_, alone.coef_, atol=0.02 * np.abs(alone.coef_).max())


@pytest.mark.parametrize("method", METHODS)
def test_dual_variables_beyond_memory_change_nothing(method, monkeypatch):
    """Too many for memory, a path is cut; too many for one model, they are in a temporary file."""
    X, y, S = samples()
    model = method(S, tol=1e-5, random_state=0)
    whole = list(model.fit_path(X, y, GRID))
    monkeypatch.setattr(dual, "MEMORY", 100)
    for one, other in zip(whole, model.fit_path(X, y, GRID), strict=True):
        assert_allclose(one.coef_, other.coef_, atol=0.02 * np.abs(other.coef_).max())


@pytest.mark.parametrize("method", METHODS)
def test_seeds_repeat_to_the_bit_and_differ(method):
    X, y, S = samples()
    first, again, other = (method(S, random_state=seed).fit(X, y) for seed in (0, 0, 1))
    assert_array_equal(first.coef_, again.coef_)
    assert not np.array_equal(first.coef_, other.coef_)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("normalize", ["l2", None])
def test_any_scale_of_features_and_prototypes(method, normalize):
    X, y, S = samples()
    plain = method(S, normalize=normalize, random_state=0).fit(X, y)
    large = method(1e3 * S, normalize=normalize, random_state=0).fit(1e6 * X, y)
    assert np.mean(plain.predict(X) == large.predict(1e6 * X)) > 0.97


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("alpha", [1e-300, 1e-12, 1e3, 1e12, 1e300])
def test_no_alpha_diverges(method, alpha):
    X, y, S = samples()
    model = method(S, alpha=alpha, max_iter=30, random_state=0).fit(X, y)
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.dual_gap_)


@pytest.mark.parametrize("bad", [{"alpha": 0}, {"tol": 0}, {"max_iter": 0}, {"smoothing": -1}])
def test_parameters_without_meaning_are_refused(bad):
    X, y, S = samples()
    (name, value), *_ = bad.items()
    with pytest.raises(UnseenError, match=f"Got {name}={value}, but expected a number"):
        SJE(S, **bad).fit(X, y)


def test_the_published_loss_is_a_smoothing_away():
    X, y, S = samples()
    sharp = DeViSE(S, smoothing=0, alpha=1e-2, random_state=0).fit(X, y)
    assert sharp.dual_gap_ <= sharp.tol
    assert np.mean(sharp.predict(X, candidates=np.arange(7)) == y) > 0.7


# ---- SynC --------------------------------------------------------------------------------------------------


def test_sync_gives_a_seen_class_its_own_row():
    X, y, S = samples()
    model = SynC(S, random_state=0).fit(X, y)
    assert_allclose(model.coef_[:7], model.mapping_, atol=1e-4 * np.abs(model.mapping_).max())


def test_sync_bandwidths_share_a_training():
    X, y, S = samples()
    grid = [{"bandwidth": width} for width in (0.5, 4.0)]
    narrow, wide = SynC(S, random_state=0).fit_path(X, y, grid)
    assert_array_equal(narrow.mapping_, wide.mapping_)
    assert not np.allclose(narrow.coef_[7:], wide.coef_[7:])
