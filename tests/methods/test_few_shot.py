"""A few samples of a new class: the formula, its two ends, and what selection chooses for it."""

from __future__ import annotations

from copy import deepcopy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import oracle
from problems import LEARNED, linear_problem, make
from unseen import LDA, SAE, Cosine, GZSLClassifierCV, LinearSV, UnseenError
from unseen._core.scaling import scale_rows
from unseen.datasets.splits import GZSLFolds
from unseen.methods._kernels import kernel_matrix
from unseen.models.io import load, save
from unseen.selection.evaluation import Samples, seen_unseen_curve
from unseen.selection.few_shots import COUNTS, DESCRIBED, KAPPAS, choose_kappa, draw_turns, simulate_shots

TAKING = [LDA, LinearSV, SAE]
SEEN = 5


@pytest.fixture
def problem():
    return linear_problem(120, features=9, attributes=5, classes=7, seen=SEEN)


@pytest.fixture
def few():
    """Three samples of class 5, one of class 6."""
    return np.random.default_rng(5).normal(size=(4, 9)), np.array([5, 6, 5, 5])


def described_means(model, X, y, S):
    """The means that a model predicts for all classes, from the literal formulas."""
    rows = scale_rows(X, model.normalize)
    if isinstance(model, LDA):
        means = np.array([rows[y == c].mean(axis=0) for c in range(SEEN)])
        K = kernel_matrix(S[:SEEN], S[:SEEN], model.kernel, model.bandwidth)
        k = kernel_matrix(S, S[:SEEN], model.kernel, model.bandwidth)
        center = rows.mean(axis=0)
        return center + k @ np.linalg.inv(K + model.alpha * np.eye(SEEN)) @ (means - center)
    method = oracle.linear_sv if isinstance(model, LinearSV) else oracle.sae
    return S @ method(rows, y, S, model.alpha)


def expected_scores(model, X, y, mu):
    rows = scale_rows(X, model.normalize)
    if isinstance(model, LDA):
        return oracle.gaussian_scores(rows, y, range(SEEN), model.shrinkage, mu, rows)
    return rows @ mu.T - 0.5 * (mu**2).sum(axis=1)


# ---- the formula -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("normalize", ["l2", None])
@pytest.mark.parametrize("kappa", [0.0, 0.7, 5.0])
@pytest.mark.parametrize("method", TAKING)
def test_scores_equal_the_literal_formula(problem, few, method, kappa, normalize):
    X, y, S = problem
    model = method(S[:SEEN], normalize=normalize).fit(X, y).add_classes(S[SEEN:], None, *few, kappa)
    mu = described_means(model, X, y, S)
    samples = scale_rows(few[0], normalize)
    if method is SAE:  # samples are brought to the length of decoded prototypes
        rows = scale_rows(X, normalize)
        means = np.array([rows[y == c].mean(axis=0) for c in range(SEEN)])
        samples = samples * np.sum(mu[:SEEN] ** 2) / np.sum(mu[:SEEN] * means)
    for c in (5, 6):
        mu[c] = oracle.mean_with_samples(mu[c], samples[few[1] == c], kappa)
    expected = expected_scores(model, X, y, mu)
    assert_allclose(model.similarity(X), expected, rtol=1e-5, atol=2e-5 * np.ptp(expected))
    assert not model.seen_[5:].any()


@pytest.mark.parametrize("method", TAKING)
def test_standardized_features_give_what_a_scaler_in_front_gives(problem, few, method):
    X, y, S = problem
    X, new = X * np.logspace(-2, 3, 9), few[0] * np.logspace(-2, 3, 9)
    scaler = StandardScaler().fit(X)
    model = method(S[:SEEN], normalize="standard").fit(X, y).add_classes(S[SEEN:], None, new, few[1])
    other = method(S[:SEEN], normalize=None).fit(scaler.transform(X), y)
    other.add_classes(S[SEEN:], None, scaler.transform(new), few[1])
    expected = other.similarity(scaler.transform(X))
    assert_allclose(model.similarity(X), expected, atol=1e-5 * np.ptp(expected))


def test_anchored_means_are_a_prior_too():
    rng = np.random.default_rng(0)
    S, y = rng.normal(size=(7, 6)), np.arange(60) % SEEN
    X, new = S[y] + rng.normal(size=(60, 6)), rng.normal(size=(2, 6))
    for method in (LinearSV, LDA):
        alone, both = (method(S[:SEEN], anchor="identity").fit(X, y) for _ in range(2))
        alone.add_classes(S[5:])
        both.add_classes(S[5:], None, new, [5, 6], kappa=1e12)  # samples hardly count
        assert_allclose(both.similarity(X), alone.similarity(X), rtol=1e-5, atol=1e-5)


# ---- properties ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", TAKING)
def test_a_class_without_samples_is_described_alone(problem, few, method):
    X, y, S = problem
    only_six = few[1] == 6
    some = method(S[:SEEN]).fit(X, y).add_classes(S[SEEN:], None, few[0][only_six], few[1][only_six])
    none = method(S[:SEEN]).fit(X, y).add_classes(S[SEEN:])
    assert_array_equal(some.coef_[:6], none.coef_[:6])
    assert_array_equal(some.intercept_[:6], none.intercept_[:6])
    assert not np.allclose(some.coef_[6], none.coef_[6])


@pytest.mark.parametrize("method", TAKING)
def test_without_prior_only_the_samples_count(problem, few, method):
    """With kappa 0, another description of the class gives the same row."""
    X, y, S = problem
    one, two = (method(S[:SEEN]).fit(X, y) for _ in range(2))
    one.add_classes(S[SEEN:], None, *few, kappa=0)
    two.add_classes(S[SEEN:] + 1, None, *few, kappa=0)
    assert_allclose(one.coef_, two.coef_, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("method", TAKING)
def test_the_order_of_the_samples_does_not_matter(problem, few, method):
    X, y, S = problem
    order = [2, 3, 1, 0]
    one, two = (method(S[:SEEN]).fit(X, y) for _ in range(2))
    one.add_classes(S[SEEN:], None, *few)
    two.add_classes(S[SEEN:], None, few[0][order], few[1][order])
    assert_allclose(one.coef_, two.coef_, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("method", TAKING)
def test_classes_one_by_one_or_together(problem, few, method):
    X, y, S = problem
    together, apart = (method(S[:SEEN]).fit(X, y) for _ in range(2))
    together.add_classes(S[SEEN:], None, *few)
    for c in (5, 6):
        apart.add_classes(S[c : c + 1], None, few[0][few[1] == c], few[1][few[1] == c])
    assert_allclose(apart.coef_, together.coef_, rtol=1e-12)


@pytest.mark.parametrize("method", TAKING)
def test_samples_survive_files_and_further_training(problem, few, method, tmp_path):
    X, y, S = problem
    model = method(S[:SEEN]).fit(X, y).add_classes(S[SEEN:], None, *few)
    save(model, tmp_path / "m")
    again = load(tmp_path / "m")
    assert_array_equal(again.similarity(X), model.similarity(X))
    more = np.vstack([S, S[:1] + 1])
    assert_array_equal(again.add_classes(more[7:]).coef_, model.add_classes(more[7:]).coef_)
    streamed = method(S[:SEEN]).partial_fit(X[:60], y[:60]).add_classes(S[SEEN:], None, *few)
    streamed.partial_fit(X[60:], y[60:])
    assert_allclose(streamed.similarity(X), model.similarity(X)[:, :7], rtol=1e-6, atol=1e-6)
    streamed.fit(X, y)  # starts anew
    assert not hasattr(streamed, "sample_classes_")


# ---- what is refused --------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [make(name, None) for name in LEARNED] + [Cosine(), SAE(space="semantic")])
def test_methods_without_class_means_refuse_samples(model, problem, few):
    if model._takes_samples():
        return
    X, y, S = problem
    S = np.hstack([S, S[:, :4]]) if isinstance(model, Cosine) else S
    model.set_params(prototypes=S[:SEEN]).fit(X, y)
    with pytest.raises(UnseenError, match="does not predict the mean of a class"):
        model.add_classes(S[SEEN:], None, *few)
    assert len(model.classes_) == SEEN  # nothing was added


def test_wrong_samples_are_refused_before_anything_is_added(problem, few):
    X, y, S = problem
    model = LDA(S[:SEEN]).fit(X, y)
    wrong = {
        "y names class '9', which is not among the new classes": (few[0], few[1] + 4),
        "Pass X and y together": (few[0], None),
        "Got kappa=-1": (*few, -1),
        "has 8 features": (few[0][:, :8], few[1]),
    }
    for message, arguments in wrong.items():
        with pytest.raises(ValueError, match=message):
            model.add_classes(S[SEEN:], None, *arguments)
    assert len(model.classes_) == SEEN


# ---- selection --------------------------------------------------------------------------------------------


def many_classes(seed=0):
    """Noisy samples of 24 classes, roughly described, of which 16 are seen."""
    rng = np.random.default_rng(seed)
    S = rng.normal(size=(24, 6))
    y = rng.permutation(np.arange(960) % 24)
    offset = 1.5 * rng.normal(size=(24, 20))  # what descriptions do not say
    X = S[y] @ rng.normal(size=(6, 20)) + offset[y] + 2.5 * rng.normal(size=(960, 20))
    return X, y, S, y < 16


@pytest.mark.parametrize("method", TAKING)
def test_both_are_better_than_description_or_samples_alone(method):
    X, y, S, seen = many_classes()
    train = seen & (np.arange(960) % 4 > 0)
    with pytest.warns(UserWarning, match="No unseen class is known yet"):
        model = GZSLClassifierCV(method(S[:16]), {"alpha": [0.01, 0.1]}).fit(X[train], y[train])
    assert model.kappa_ in KAPPAS
    gamma = model.gamma_
    given = np.concatenate([np.flatnonzero(y == c)[:2] for c in range(16, 24)])
    rest = np.setdiff1d(np.flatnonzero(~train), given)
    save_rows = model.coef_.copy()
    model.add_classes(S[16:], None, X[given], y[given])
    assert model.gamma_ == gamma and not model.seen_[16:].any()
    assert_array_equal(model.coef_[:16], save_rows)

    def h(estimator):
        return seen_unseen_curve(estimator, X[rest], y[rest], np.arange(16)).h

    described = method(S, **model.best_params_).fit(X[train], y[train])
    samples = method(S[:16], **model.best_params_).fit(X[train], y[train])
    samples.add_classes(S[16:], None, X[given], y[given], kappa=0)
    assert h(model.estimator_) > max(h(described), h(samples))


def test_simulating_shots_changes_nothing_else():
    X, y, S, seen = many_classes()
    with_samples = GZSLClassifierCV(LinearSV(S)).fit(X[seen], y[seen])

    class Refusing(LinearSV):
        def _takes_samples(self):
            return False

    without = GZSLClassifierCV(Refusing(S)).fit(X[seen], y[seen])
    assert with_samples.gamma_ == without.gamma_ and with_samples.best_params_ == without.best_params_
    assert_array_equal(with_samples.coef_, without.coef_)
    assert (without.kappa_, without.sample_bias_) == (5.0, 0.0)
    assert GZSLClassifierCV(LinearSV(S), gamma="paper").fit(X[seen], y[seen]).kappa_ == 5.0


def test_the_bias_is_part_of_the_scores_and_of_files(tmp_path):
    X, y, S, seen = many_classes()
    model = GZSLClassifierCV(LinearSV(S[:20]), {"alpha": [0.1]}).fit(X[seen], y[seen])
    model.sample_bias_ = 3.0
    plain = LinearSV(S[:20], alpha=0.1).fit(X[seen], y[seen])
    new = y == 20
    model.add_classes(S[20:21], None, X[new], y[new], kappa=10.0)
    plain.add_classes(S[20:21], None, X[new], y[new], kappa=10.0)
    n = new.sum()
    expected = plain.intercept_[20] - 3.0 * n / (10 + n)
    assert_allclose(model.intercept_[20], expected)
    save(model, tmp_path / "m")
    again = load(tmp_path / "m")
    assert (again.kappa_, again.sample_bias_) == (model.kappa_, 3.0)
    assert_array_equal(again.intercept_, model.intercept_)


def test_recalibration_counts_the_samples_in():
    """Held-out seen samples are scored against the rows that the model really has."""
    X, y, S, seen = many_classes()
    model = GZSLClassifierCV(LinearSV(S[:20]), {"alpha": [0.1]}).fit(X[seen], y[seen])
    new = y == 20
    other, described = deepcopy(model), deepcopy(model)
    # without prior the description does not matter, not even one like that of a seen class
    model.add_classes(S[20:21], None, X[new], y[new], kappa=0.0).recalibrate(X[seen], y[seen])
    other.add_classes(S[:1], None, X[new], y[new], kappa=0.0).recalibrate(X[seen], y[seen])
    described.add_classes(S[:1]).recalibrate(X[seen], y[seen])
    assert model.gamma_ == pytest.approx(other.gamma_)
    assert model.gamma_ != pytest.approx(described.gamma_)


def test_samples_pass_through_a_pipeline():
    X, y, S, seen = many_classes()
    scaler = StandardScaler().fit(X[seen])
    new = y == 20
    inside = GZSLClassifierCV(make_pipeline(StandardScaler(), LinearSV(S[:20]))).fit(X[seen], y[seen])
    inside.add_classes(S[20:21], None, X[new], y[new], kappa=2.0)
    alpha = inside.best_params_["linearsv__alpha"]
    alone = LinearSV(S[:20], alpha=alpha).fit(scaler.transform(X[seen]), y[seen])
    alone.add_classes(S[20:21], None, scaler.transform(X[new]), y[new], kappa=2.0)
    assert_allclose(inside.estimator_[-1].coef_, alone.coef_)


def test_kappa_has_the_best_harmonic_mean_of_all_counts():
    """Chosen against a literal search over the same curves."""
    X, y, S, seen = many_classes()
    folds = list(GZSLFolds().split(X[seen], y[seen]))
    found = [
        draw
        for fold in folds
        for draw in simulate_shots(LinearSV(S), Samples(X[seen], y[seen]), fold, {"alpha": 0.1})
    ]
    chosen = choose_kappa(found)
    search = GZSLClassifierCV(LinearSV(S), {"alpha": [0.1]}, cv=folds).fit(X[seen], y[seen])
    assert (search.kappa_, search.sample_bias_) == (chosen.kappa, chosen.bias)

    def mean_h(n, kappa, gamma):
        return np.mean([draw[n, kappa].at(gamma)[2] for draw in found])

    grid = np.linspace(-0.1, 0.1, 801)
    best = {kappa: sum(max(mean_h(n, kappa, g) for g in grid) for n in COUNTS) for kappa in KAPPAS}
    assert best[chosen.kappa] == pytest.approx(max(best.values()), abs=0.1)
    gamma = max(grid, key=lambda g: mean_h(*DESCRIBED, g))

    def biased(bias):
        return sum(mean_h(n, chosen.kappa, gamma - bias * n / (chosen.kappa + n)) for n in COUNTS)

    assert biased(chosen.bias) >= biased(0.0) - 0.1


def test_scored_samples_are_never_given_away():
    y = np.repeat(np.arange(4), [12, 12, 3, 1])
    seen = np.array([True, False, False, False])
    turns = draw_turns(y, seen, np.random.default_rng(0))
    assert (turns[y == 0] == -1).all() and (turns[y == 3] == -1).all()
    assert sorted(turns[y == 1]) == [-1] * 7 + [0, 1, 2, 3, 4]
    assert sorted(turns[y == 2]) == [-1, -1, 0]
