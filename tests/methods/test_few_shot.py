"""A few samples of a new class: the formula of seen classes, its two ends, and what it cannot take."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import oracle
from problems import LEARNED, linear_problem, make
from unseen import LDA, Cosine, GZSLClassifierCV, UnseenError
from unseen._core.scaling import scale_rows
from unseen.calibration.classifier import CalibratedClassifier
from unseen.methods._kernels import kernel_matrix
from unseen.models.io import load_model, save_model

SEEN = 5


@pytest.fixture
def problem():
    return linear_problem(120, features=9, attributes=5, classes=7, seen=SEEN)


@pytest.fixture
def few():
    """Three samples of class 5, one of class 6."""
    return np.random.default_rng(5).normal(size=(4, 9)), np.array([5, 6, 5, 5])


# ---- the formula -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("normalize", ["l2", "sqrt", None])
@pytest.mark.parametrize("kappa", [0.0, 0.7, 5.0])
def test_scores_equal_the_literal_formula(problem, few, kappa, normalize):
    X, y, S = problem
    model = LDA(S[:SEEN], kappa=kappa, normalize=normalize).fit(X, y).add_classes(S[SEEN:], None, *few)
    rows, samples = scale_rows(X, normalize), scale_rows(few[0], normalize)

    def k(a, b):
        return kernel_matrix(a[None], S[:SEEN], "rbf", 2.0)[0, np.argmax((S[:SEEN] == b).all(axis=1))]

    mu = oracle.means_with_own_samples(rows, y, S, range(SEEN), model.alpha, k, kappa)
    for c in (5, 6):
        mu[c] = oracle.mean_with_samples(mu[c], samples[few[1] == c], kappa)
    expected = oracle.gaussian_scores(rows, y, range(SEEN), model.shrinkage, mu, rows)
    # eigenvectors are kept in single precision
    assert_allclose(model.similarity(X), expected, rtol=1e-5, atol=2e-5 * np.ptp(expected))
    assert not model.seen_[5:].any()


def test_standardized_features_give_what_a_scaler_in_front_gives(problem, few):
    X, y, S = problem
    X, new = X * np.logspace(-2, 3, 9), few[0] * np.logspace(-2, 3, 9)
    scaler = StandardScaler().fit(X)
    model = LDA(S[:SEEN], normalize="standard").fit(X, y).add_classes(S[SEEN:], None, new, few[1])
    other = LDA(S[:SEEN], normalize=None).fit(scaler.transform(X), y)
    other.add_classes(S[SEEN:], None, scaler.transform(new), few[1])
    expected = other.similarity(scaler.transform(X))
    assert_allclose(model.similarity(X), expected, atol=1e-5 * np.ptp(expected))


def test_a_description_that_counts_infinitely_leaves_samples_no_weight(problem, few):
    X, y, S = problem
    alone, both = (LDA(S[:SEEN], kappa=1e15).fit(X, y) for _ in range(2))
    alone.add_classes(S[SEEN:])
    both.add_classes(S[SEEN:], None, *few)
    assert_allclose(both.similarity(X), alone.similarity(X), rtol=1e-6, atol=1e-6)


def test_anchored_means_are_a_prior_too():
    rng = np.random.default_rng(0)
    S, y = rng.normal(size=(7, 6)), np.arange(60) % SEEN
    X, new = S[y] + rng.normal(size=(60, 6)), rng.normal(size=(2, 6))
    model = LDA(S[:SEEN], kappa=3.0, anchor="prototype").fit(X, y).add_classes(S[5:], None, new, [5, 6])
    rows = scale_rows(X, "l2")
    mu = oracle.anchored_means(rows, y, S, range(SEEN), model.alpha)[5:]
    mu = (3.0 * mu + scale_rows(new, "l2")) / 4.0
    scores = oracle.gaussian_scores(rows, y, range(SEEN), model.shrinkage, mu, rows)
    found = model.similarity(X)[:, 5:]
    assert_allclose(found[:, 0] - found[:, 1], scores[:, 0] - scores[:, 1], atol=1e-5 * np.ptp(scores))


# ---- properties ------------------------------------------------------------------------------------------


def test_a_class_without_samples_is_described_alone(problem, few):
    X, y, S = problem
    only_six = few[1] == 6
    some = LDA(S[:SEEN]).fit(X, y).add_classes(S[SEEN:], None, few[0][only_six], few[1][only_six])
    none = LDA(S[:SEEN]).fit(X, y).add_classes(S[SEEN:])
    assert_array_equal(some.coef_[:6], none.coef_[:6])
    assert_array_equal(some.intercept_[:6], none.intercept_[:6])
    assert not np.allclose(some.coef_[6], none.coef_[6])


def test_without_prior_only_the_samples_count(problem, few):
    """With kappa 0, another description of the class gives the same row."""
    X, y, S = problem
    one, two = (LDA(S[:SEEN], kappa=0).fit(X, y) for _ in range(2))
    one.add_classes(S[SEEN:], None, *few)
    two.add_classes(S[SEEN:] + 1, None, *few)
    assert_allclose(one.coef_, two.coef_, rtol=1e-12, atol=1e-12)


def test_the_order_of_the_samples_does_not_matter(problem, few):
    X, y, S = problem
    order = [2, 3, 1, 0]
    one, two = (LDA(S[:SEEN]).fit(X, y) for _ in range(2))
    one.add_classes(S[SEEN:], None, *few)
    two.add_classes(S[SEEN:], None, few[0][order], few[1][order])
    assert_allclose(one.coef_, two.coef_, rtol=1e-12, atol=1e-14)


def test_classes_one_by_one_or_together(problem, few):
    X, y, S = problem
    together, apart = (LDA(S[:SEEN]).fit(X, y) for _ in range(2))
    together.add_classes(S[SEEN:], None, *few)
    for c in (5, 6):
        apart.add_classes(S[c : c + 1], None, few[0][few[1] == c], few[1][few[1] == c])
    assert_allclose(apart.coef_, together.coef_, rtol=0, atol=1e-12 * np.abs(together.coef_).max())
    for name in ("sample_classes_", "sample_counts_", "sample_means_"):
        assert_allclose(getattr(apart, name), getattr(together, name), rtol=1e-14)


def test_samples_survive_files_and_further_training(problem, few, tmp_path):
    X, y, S = problem
    model = LDA(S[:SEEN]).fit(X, y).add_classes(S[SEEN:], None, *few)
    save_model(model, tmp_path / "m")
    again = load_model(tmp_path / "m")
    assert_array_equal(again.similarity(X), model.similarity(X))
    more = np.vstack([S, S[:1] + 1])
    assert_array_equal(again.add_classes(more[7:]).coef_, model.add_classes(more[7:]).coef_)
    streamed = LDA(S[:SEEN]).partial_fit(X[:60], y[:60]).add_classes(S[SEEN:], None, *few)
    streamed.partial_fit(X[60:], y[60:])
    assert_allclose(streamed.similarity(X), model.similarity(X)[:, :7], rtol=1e-6, atol=1e-6)
    streamed.fit(X, y)  # starts anew
    assert not hasattr(streamed, "sample_classes_")


# ---- what is refused --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [make(name, None) for name in LEARNED if name != "lda"] + [Cosine()],
    ids=str,
)
def test_other_methods_cannot_use_samples(model, problem, few):
    X, y, S = problem
    S = np.hstack([S, S[:, :4]]) if isinstance(model, Cosine) else S
    model.set_params(prototypes=S[:SEEN]).fit(X, y)
    with pytest.raises(UnseenError, match="cannot use samples of new classes"):
        model.add_classes(S[SEEN:], None, *few)
    assert len(model.classes_) == SEEN  # nothing was added


def test_wrong_samples_are_refused_before_anything_is_added(problem, few):
    X, y, S = problem
    model = LDA(S[:SEEN]).fit(X, y)
    wrong = {
        "y names 2 classes that are not among the new classes: 9, 10": (few[0], few[1] + 4),
        "Pass X and y together": (few[0], None),
        "has 8 features": (few[0][:, :8], few[1]),
        "inconsistent numbers of samples": (few[0], few[1][:3]),
    }
    for message, arguments in wrong.items():
        with pytest.raises(ValueError, match=message):
            model.add_classes(S[SEEN:], None, *arguments)
    with pytest.raises(UnseenError, match="With kappa=inf descriptions alone count"):
        model.set_params(kappa=np.inf).add_classes(S[SEEN:], None, *few)
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


def test_both_are_better_than_description_or_samples_alone():
    """On average: with one choice of samples, any of the three may be ahead."""
    both, described, samples = np.mean([compare_few_shot(seed) for seed in range(8)], axis=0)
    assert both > max(described, samples)


def compare_few_shot(seed):
    """Return the best H with descriptions and one sample of each new class, and with either alone."""
    X, y, S, seen = many_classes(seed)
    train = seen & (np.arange(960) % 4 > 0)
    grid = {"alpha": [0.01, 0.1], "kappa": [3.0, 10.0]}
    with pytest.warns(UserWarning, match="No unseen class is known yet"):
        model = GZSLClassifierCV(LDA(S[:16]), grid).fit(X[train], y[train])
    gamma = model.gamma_
    given = np.array([np.flatnonzero(y == c)[0] for c in range(16, 24)])
    rest = np.setdiff1d(np.flatnonzero(~train), given)
    save_rows = model.coef_.copy()
    model.add_classes(S[16:], None, X[given], y[given])
    assert model.gamma_ == gamma and not model.seen_[16:].any()
    assert_array_equal(model.coef_[:16], save_rows)

    def h(estimator):
        return CalibratedClassifier(estimator, seen=np.arange(16)).fit(X[rest], y[rest]).curve_.h

    described = LDA(S, **model.best_params_).fit(X[train], y[train])
    samples = LDA(S[:16], **model.best_params_ | {"kappa": 0.0}).fit(X[train], y[train])
    samples.add_classes(S[16:], None, X[given], y[given])
    return h(model.estimator_), h(described), h(samples)


def test_samples_pass_through_a_pipeline():
    X, y, S, seen = many_classes()
    scaler = StandardScaler().fit(X[seen])
    new = y == 20
    pipeline = make_pipeline(StandardScaler(), LDA(S[:20]))
    inside = GZSLClassifierCV(pipeline, {"lda__alpha": [0.1]}).fit(X[seen], y[seen])
    inside.add_classes(S[20:21], None, X[new], y[new])
    alone = LDA(S[:20], alpha=0.1).fit(scaler.transform(X[seen]), y[seen])
    alone.add_classes(S[20:21], None, scaler.transform(X[new]), y[new])
    assert_allclose(inside.estimator_[-1].coef_, alone.coef_)


def test_samples_of_new_classes_survive_another_standardization(problem, few):
    X, y, S = problem
    half, rest = slice(0, None, 2), slice(1, None, 2)
    X = np.where(np.arange(len(X))[:, None] % 2, 3 * X + 1, X)
    before, after = (LDA(S[:SEEN], normalize="standard").partial_fit(X[half], y[half]) for _ in range(2))
    before.add_classes(S[SEEN:], None, *few).partial_fit(X[rest], y[rest])
    after.partial_fit(X[rest], y[rest]).add_classes(S[SEEN:], None, *few)
    assert_allclose(before.similarity(X), after.similarity(X), rtol=1e-9, atol=1e-9)


def test_a_class_gets_its_samples_in_one_way(problem, few):
    X, y, S = problem
    model = LDA(S[:SEEN]).partial_fit(X, y).add_classes(S[SEEN:], None, *few)
    with pytest.raises(UnseenError, match="Class '6' has samples from add_classes"):
        model.partial_fit(few[0], np.full(4, 6))
