"""LinearVS, LinearSV, ESZSL and SAE against their literal formulas, and at the ends of what is sane."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import oracle
from problems import linear_problem
from unseen import ESZSL, SAE, LinearSV, LinearVS
from unseen._core.scaling import scale_rows

METHODS = [LinearVS, LinearSV, ESZSL, SAE]


def literal(model, X, y, S_seen):
    """The mapping of the slow formula that belongs to a model's parameters."""
    X = scale_rows(np.asarray(X, dtype=np.float64), model.normalize)
    if isinstance(model, LinearVS):
        return oracle.linear_vs(X, y, S_seen, model.alpha)
    if isinstance(model, LinearSV):
        return oracle.linear_sv(X, y, S_seen, model.alpha)
    if isinstance(model, ESZSL):
        return oracle.eszsl(X, y, S_seen, model.alpha, model.beta, model.targets)
    return oracle.sae(X, y, S_seen, model.alpha)


@pytest.mark.parametrize("normalize", ["l2", None])
@pytest.mark.parametrize("alpha", [1e-3, 0.3, 20.0])
@pytest.mark.parametrize("shape", [(60, 9), (12, 30), (40, 40)], ids=["N>D", "N<D", "N=D"])
@pytest.mark.parametrize("method", METHODS)
def test_mapping_equals_the_literal_formula(method, shape, alpha, normalize):
    X, y, S = linear_problem(n=shape[0], features=shape[1])
    model = method(S, alpha=alpha, normalize=normalize).fit(X, y)
    assert_allclose(model.mapping_, literal(model, X, y, S[:5]), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("targets", ["01", "-1+1"])
@pytest.mark.parametrize("beta", [1e-2, 1.0, 100.0])
def test_eszsl_two_parameters_and_both_codings(beta, targets):
    X, y, S = linear_problem()
    model = ESZSL(S, alpha=0.5, beta=beta, targets=targets).fit(X, y)
    assert_allclose(model.mapping_, literal(model, X, y, S[:5]), rtol=1e-8)


def test_eszsl_path_covers_the_whole_grid():
    X, y, S = linear_problem()
    grid = [{"alpha": a, "beta": b} for a in (0.1, 1.0) for b in (0.1, 10.0)]
    for params, model in zip(grid, ESZSL(S).fit_path(X, y, grid), strict=True):
        assert (model.alpha, model.beta) == (params["alpha"], params["beta"])
        assert_allclose(model.mapping_, literal(model, X, y, S[:5]), rtol=1e-8)


def test_linear_vs_predicts_the_nearest_prototype():
    X, y, S = linear_problem()
    model = LinearVS(S, alpha=1e-2, normalize=None).fit(X, y)
    assert_array_equal(model.predict(X), oracle.nearest(X @ model.mapping_.T, S))


@pytest.mark.parametrize("model", [LinearSV(alpha=1e-2, normalize=None), SAE(alpha=1e-2, normalize=None)])
def test_visual_space_predicts_the_nearest_projected_prototype(model):
    X, y, S = linear_problem()
    model.set_params(prototypes=S).fit(X, y)
    assert_array_equal(model.predict(X), oracle.nearest(X, S @ model.mapping_))


def test_sae_semantic_space_predicts_the_nearest_prototype_to_the_code():
    X, y, S = linear_problem()
    model = SAE(S, alpha=0.5, space="semantic", normalize=None).fit(X, y)
    assert_array_equal(model.predict(X), oracle.nearest(X @ model.mapping_.T, S))


@pytest.mark.parametrize("method", METHODS)
def test_recovers_a_known_truth(method):
    """Orthonormal class means, one sample each, hardly any regularization: every sample finds its class."""
    rng = np.random.default_rng(3)
    means = np.linalg.qr(rng.normal(size=(10, 6)))[0].T  # (6 classes, 10 features), orthonormal
    model = method(np.eye(6), alpha=1e-9).fit(means, np.arange(6))
    assert_array_equal(model.predict(means), np.arange(6))


@pytest.mark.parametrize("method", METHODS)
def test_float32_features_give_the_float64_answer(method):
    X, y, S = linear_problem()
    single, double = method(S, alpha=0.1).fit(X.astype(np.float32), y), method(S, alpha=0.1).fit(X, y)
    assert single.similarity(X.astype(np.float32)).dtype == np.float32
    assert_allclose(single.mapping_, double.mapping_, rtol=1e-4, atol=1e-5)


# ---- the ends of the grid -------------------------------------------------------------------------------


def rank_deficient(X, S):
    return np.hstack([X, X]), S


def constant_features(X, S):
    return np.hstack([X, np.full((len(X), 3), 2.0)]), S


def duplicated_attributes(X, S):
    return X, np.hstack([S, S, S])


def more_attributes_than_samples(X, S):
    return X, np.random.default_rng(0).normal(size=(len(S), 100))


@pytest.mark.parametrize("alpha", [0.0, 1e-12, 1e12])
@pytest.mark.parametrize(
    "degenerate", [rank_deficient, constant_features, duplicated_attributes, more_attributes_than_samples]
)
@pytest.mark.parametrize("method", METHODS)
def test_numerically_sound_at_both_ends(method, degenerate, alpha):
    """At alpha -> 0 the minimum-norm solution; at 1e12 zero up to scale; finite everywhere."""
    X, y, S = linear_problem()
    X, S = degenerate(X, S)
    model = method(S, alpha=alpha, normalize=None).fit(X, y)
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.intercept_).all()
    near = method(S, alpha=max(alpha, 1e-10), normalize=None).fit(X, y)
    if alpha < 1:  # nothing explodes as alpha vanishes
        assert_allclose(model.coef_, near.coef_, rtol=1e-3, atol=1e-3 * np.abs(near.coef_).max())


@pytest.mark.parametrize("scale", [1e-30, 1e30])
@pytest.mark.parametrize("method", METHODS)
def test_scale_of_the_features_does_not_matter(method, scale):
    X, y, S = linear_problem(dtype=np.float32)
    small, large = method(S, alpha=0.1).fit(X, y), method(S, alpha=0.1).fit(X * np.float32(scale), y)
    assert_allclose(large.coef_, small.coef_, rtol=1e-4, atol=1e-5)
    assert_array_equal(large.predict(X * np.float32(scale)), small.predict(X))


@pytest.mark.parametrize("method", METHODS)
def test_all_zero_features_give_finite_scores(method):
    _, y, S = linear_problem()
    model = method(S).fit(np.zeros((len(y), 4)), y)
    assert np.isfinite(model.similarity(np.zeros((2, 4)))).all()


@pytest.mark.parametrize("method", METHODS)
def test_one_attribute_one_feature_one_sample_per_class(method):
    model = method([[1.0], [2.0], [3.0]], alpha=1e-3, normalize=None).fit([[1.0], [2.0]], [0, 1])
    assert np.isfinite(model.similarity([[3.0]])).all()
