"""LDA against its literal formula, against scikit-learn's, and on streams, few samples and its whole path."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.distance import pdist
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import ParameterGrid

import oracle
from problems import linear_problem
from unseen import LDA, UnseenError
from unseen._core.scaling import scale_rows
from unseen.methods import _factor, _kernels, _moments


def kernel_of(model, S_seen):
    if model.kernel == "linear":
        return np.dot
    width = model.bandwidth * np.median(pdist(S_seen)) ** 2
    return lambda a, b: np.exp(-np.sum((a - b) ** 2) / width)


def literal(model, X, y, S):
    rows = scale_rows(X, model.normalize)
    k = kernel_of(model, S[:5])
    if model.kappa == np.inf:
        return oracle.lda_scores(rows, y, S, range(5), model.alpha, model.shrinkage, k, rows)
    mu = oracle.means_with_own_samples(rows, y, S, range(5), model.alpha, k, model.kappa)
    return oracle.gaussian_scores(rows, y, range(5), model.shrinkage, mu, rows)


@pytest.mark.parametrize("normalize", ["l2", "sqrt", None])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("kappa", [0.0, 3.0, np.inf])
@pytest.mark.parametrize("rho", [0.1, 0.7, 1.0])
@pytest.mark.parametrize("shape", [(60, 9), (12, 30), (40, 40)], ids=["N>D", "N<D", "N=D"])
def test_scores_equal_the_literal_formula(shape, rho, kappa, kernel, normalize):
    X, y, S = linear_problem(n=shape[0], features=shape[1])
    params = {"alpha": 0.05, "shrinkage": rho, "kernel": kernel, "bandwidth": 1.5, "kappa": kappa}
    model = LDA(S, **params, normalize=normalize).fit(X, y)
    expected = literal(model, X, y, S)
    assert_allclose(model.similarity(X), expected, rtol=1e-9, atol=1e-9 * np.ptp(expected))


@pytest.mark.parametrize("shrinkages", [[0.2, 0.9], np.linspace(0.1, 0.9, 9).tolist()], ids=["few", "many"])
@pytest.mark.parametrize("shape", [(60, 9), (12, 30)], ids=["N>D", "N<D"])
def test_a_path_factorizes_once_for_each_of_few_shrinkages_or_once_for_many(shape, shrinkages, monkeypatch):
    X, y, S = linear_problem(n=shape[0], features=shape[1])
    grid = [
        {"alpha": a, "shrinkage": r, "bandwidth": b, "kernel": k, "kappa": kappa}
        for a in (0.01, 1.0)
        for r in shrinkages
        for b in (1.0, 4.0)
        for k in ("rbf", "linear")
        for kappa in (2.0, np.inf)
    ]
    sizes, factors = [], []
    eigh, cholesky = np.linalg.eigh, _factor.cholesky
    monkeypatch.setattr(_moments.np.linalg, "eigh", lambda A: sizes.append(len(A)) or eigh(A))
    monkeypatch.setattr(_factor, "cholesky", lambda A, shift: factors.append(len(A)) or cholesky(A, shift))
    models = list(LDA(S).fit_path(X, y, grid))
    few = len(shrinkages) == 2
    # the other eigendecompositions are as small as the seen classes
    assert sum(size >= min(shape) for size in sizes) == (0 if few else 1)
    assert factors == ([min(shape)] * 2 if few else [])
    for model in models:
        assert_allclose(model.similarity(X), literal(model, X, y, S), rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("shrinkage", [0.0, 0.3, 0.9])
@pytest.mark.parametrize("normalize", ["l2", None])
def test_samples_alone_give_scikit_learns_lda(shrinkage, normalize):
    X, y, _ = linear_problem(n=200)
    rows = scale_rows(X, normalize)
    other = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=shrinkage, priors=np.bincount(y) / len(y))
    other.fit(rows, y)
    ours = LDA(None, kernel="linear", kappa=0, shrinkage=shrinkage, normalize=normalize).fit(X, y)
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
        ({"kappa": -1.0}, "Got kappa=-1.0, but expected a number of at least 0"),
        ({"kappa": "few"}, "Got kappa='few'"),
    ],
)
def test_wrong_parameters_are_named(params, message):
    X, y, S = linear_problem()
    with pytest.raises(UnseenError, match=message):
        LDA(S, **params).fit(X, y)


def test_landmarks_lose_nothing_where_the_kernel_has_their_rank(monkeypatch):
    X, y, S = linear_problem(n=300, features=9, classes=30, seen=25, attributes=4)
    grid = {"alpha": [0.01, 1.0], "shrinkage": [0.2, 0.9], "kernel": ["linear"], "kappa": [5.0, np.inf]}
    params = list(ParameterGrid(grid))
    exact = [model.similarity(X) for model in LDA(S).fit_path(X, y, params)]
    monkeypatch.setattr(_kernels, "LANDMARKS", 8)
    models = list(LDA(S).fit_path(X, y, params))
    for model, expected in zip(models, exact):
        assert model.mapping_.shape == (8, 9)
        assert_allclose(model.similarity(X), expected, rtol=1e-7, atol=1e-8)


def test_the_more_landmarks_the_closer_to_the_exact_kernel(monkeypatch):
    X, y, S = linear_problem(n=400, features=9, classes=40, seen=36, attributes=4)
    exact = LDA(S).fit(X, y).similarity(X)
    errors = []
    for n in (5, 15, 30):
        monkeypatch.setattr(_kernels, "LANDMARKS", n)
        errors.append(np.abs(LDA(S).fit(X, y).similarity(X) - exact).max())
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.1 * np.abs(exact).max()


# ---- description and samples ---------------------------------------------------------------------------


def test_equal_descriptions_do_not_make_two_seen_classes_one():
    X, y, S = linear_problem(n=200)
    S[1] = S[0]
    X[y == 1] += 5.0
    described = LDA(S, kappa=np.inf).fit(X, y)
    model = LDA(S, kappa=10.0).fit(X, y)
    assert_allclose(described.coef_[0], described.coef_[1], rtol=1e-9)
    assert np.mean(model.predict(X[y < 2], candidates=[0, 1]) == y[y < 2]) > 0.95


def test_the_ends_of_kappa():
    X, y, S = linear_problem(n=200)
    rows = scale_rows(X, "l2")
    means = np.array([rows[y == c].mean(axis=0) for c in range(5)])
    samples, many, described = (LDA(S, kappa=kappa).fit(X, y) for kappa in (0, 1e12, np.inf))
    expected = oracle.gaussian_scores(rows, y, range(5), 0.7, means, rows)
    assert_allclose(samples.similarity(X)[:, :5], expected, atol=1e-9 * np.ptp(expected))
    assert_allclose(many.coef_, described.coef_, rtol=1e-6, atol=1e-9)
    assert_allclose(described.coef_[5:], samples.coef_[5:], rtol=1e-12)  # no samples, no difference


@pytest.mark.parametrize("n", [1, 2, 4])
def test_few_samples_of_few_classes_are_recognized(n):
    """However little a regression on four classes predicts, a class is not lost to its description."""
    rng = np.random.default_rng(n)
    centers, S = 4 * rng.normal(size=(6, 8)), rng.normal(size=(6, 5))  # unrelated to each other
    y = np.repeat(np.arange(4), n)
    model = LDA(S).fit(centers[y] + rng.normal(size=(len(y), 8)), y)
    new = np.repeat(np.arange(4), 50)
    found = model.predict(centers[new] + rng.normal(size=(200, 8)), candidates=range(4))
    assert np.mean(found == new) > 0.8


def test_the_more_samples_the_less_a_description_counts():
    X, y, S = linear_problem(n=100)
    distance = []
    for times in (1, 10, 100):
        weight = np.full(len(y), float(times))
        some, alone = (LDA(S, kappa=k).fit(X, y, sample_weight=weight) for k in (10.0, 0.0))
        distance.append(np.abs(some.coef_ - alone.coef_).max())
    assert distance[0] > 5 * distance[1] > 25 * distance[2]


@pytest.mark.parametrize("kappa", [0.0, 4.0])
def test_without_a_ridge_the_regression_has_its_limit(kappa):
    X, y, S = linear_problem(n=100)
    zero, small = (LDA(S, alpha=a, kappa=kappa).fit(X, y).similarity(X) for a in (0.0, 1e-7))
    assert_allclose(zero, small, atol=1e-4 * np.ptp(small))


@pytest.mark.parametrize("normalize", ["l2", "sqrt", "standard", None])
def test_weights_blocks_and_disk_give_the_same_rows(normalize, tmp_path):
    X, y, S = linear_problem(n=120)
    times = np.random.default_rng(0).integers(1, 4, 120)
    model = LDA(S, normalize=normalize, kappa=5.0).fit(X, y, sample_weight=times)
    repeated = LDA(S, normalize=normalize, kappa=5.0).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    expected = repeated.similarity(X)
    assert_allclose(model.similarity(X), expected, rtol=1e-7, atol=1e-9 * np.ptp(expected))
    np.save(tmp_path / "X.npy", X)
    whole = LDA(S, normalize=normalize, kappa=5.0).fit(X, y).similarity(X)
    stored = LDA(S, normalize=normalize, kappa=5.0).fit(tmp_path / "X.npy", y)
    assert_allclose(stored.similarity(X), whole, rtol=1e-7, atol=1e-9 * np.ptp(whole))
    blocks = LDA(S, normalize=normalize, kappa=5.0).fit(iter([(X[:70], y[:70]), (X[70:], y[70:])]))
    assert_allclose(blocks.similarity(X), whole, rtol=1e-7, atol=1e-9 * np.ptp(whole))


def test_weights_of_fewer_samples_than_features_are_repetitions():
    X, y, S = linear_problem(n=14, features=60)
    times = np.random.default_rng(0).integers(1, 4, 14)
    assert times.sum() < 60
    model = LDA(S, kappa=5.0).fit(X, y, sample_weight=times)
    expected = LDA(S, kappa=5.0).fit(np.repeat(X, times, axis=0), np.repeat(y, times)).similarity(X)
    assert_allclose(model.similarity(X), expected, rtol=1e-7, atol=1e-9 * np.ptp(expected))


@pytest.mark.parametrize("rho", [0.25, 1.0])
def test_samples_that_do_not_vary_count_as_white_noise(rho):
    S, X = np.eye(3), np.array([[1.0, 0.0, 4.0], [0.0, 3.0, 0.0], [0.0, 0.0, 2.0]])
    model = LDA(S, shrinkage=rho, kappa=0.0, normalize=None).fit(X, [0, 1, 2])
    assert_allclose(model.coef_, (X - X.mean(axis=0)) / rho)


@pytest.mark.parametrize("normalize", ["l2", "standard"])
def test_another_description_counts_as_much_as_kappa_samples(normalize):
    """For seen classes and for new ones with samples; the rows of the descriptions alone are the oracle."""
    X, y, S = linear_problem(n=120)
    model = LDA(S, kappa=7.0, normalize=normalize).fit(X, y)
    model.add_classes(S[:1] + 1, X=X[:3] + 1, y=[7, 7, 7])
    other = S[2:5] + 0.3
    for c in (0, 7):
        n = np.sum(y == 0) if c == 0 else 3
        assert model.has_samples(c) and not model.has_samples(6)
        rows = model.rows_as(c, np.vstack([model.prototypes_[c], other]))
        assert_allclose(rows[0][0], model.coef_[c], rtol=1e-9)
        assert_allclose(rows[1][0], model.intercept_[c], rtol=1e-9)
        described = (
            LDA(np.vstack([S, model.prototypes_[c : c + 1], other]), normalize=normalize).fit(X, y).coef_
        )
        expected = 7 / (7 + n) * (described[8:] - described[7])
        assert_allclose(rows[0][1:] - rows[0][0], expected, rtol=1e-9, atol=1e-9)
        if normalize == "l2":  # an intercept is -m'Pm / 2 - Pm.center, with the row Pm
            change, both = rows[0][1:] - rows[0][0], rows[0][1:] + rows[0][0]
            d = np.linalg.lstsq(model.mapping_.T, change.T)[0].T @ model.mean_mapping_  # from P d to d
            expected = -0.5 * np.einsum("ij,ij->i", d, both) - change @ model.center_
            assert_allclose(rows[1][1:] - rows[1][0], expected, rtol=1e-7)


@pytest.mark.parametrize("source", ["array", "blocks", "dask"])
def test_one_path_holds_every_scaling_and_kappa(source):
    X, y, S = linear_problem(n=120)
    path = list(ParameterGrid({"normalize": ["l2", "sqrt", "standard", None], "kappa": [2.0, np.inf]}))
    if source == "dask":
        array = pytest.importorskip("dask.array")
        samples = array.from_array(X, chunks=(50, 4)), array.from_array(y, chunks=50)
    else:
        samples = (X, y) if source == "array" else (iter([(X[:70], y[:70]), (X[70:], y[70:])]), None)
    for model, params in zip(LDA(S).fit_path(*samples, path), path, strict=True):
        expected = LDA(S, **params).fit(X, y).similarity(X)
        assert_allclose(model.similarity(X), expected, rtol=1e-7, atol=1e-9 * np.ptp(expected))
