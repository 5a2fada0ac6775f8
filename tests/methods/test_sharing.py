"""Methods share sums, spectra and scaled rows of equal samples, and nothing changes by it."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from problems import linear_problem
from unseen import ALE, ESZSL, LDA, SAE, GZSLClassifierCV, LinearSV, LinearVS, SynC
from unseen.methods import _dual, _moments, _sharing, ranking
from unseen.methods._sharing import share_sums
from unseen.selection.auto import fit_best

FEATURES = 9
METHODS = [LinearSV, LinearVS, ESZSL, SAE, LDA]


@pytest.fixture(autouse=True)
def nothing_shared_before():
    _sharing._kept.clear()


@pytest.fixture
def counted(monkeypatch):
    """Count the Gram matrices and their eigendecompositions."""
    counts = {"dsyrk": 0, "eigh": 0}
    dsyrk, eigh = _moments.dsyrk, np.linalg.eigh

    def count_dsyrk(*args, **options):
        counts["dsyrk"] += 1
        return dsyrk(*args, **options)

    def count_eigh(A):
        counts["eigh"] += len(A) == FEATURES
        return eigh(A)

    monkeypatch.setattr(_moments, "dsyrk", count_dsyrk)
    monkeypatch.setattr(_moments.np.linalg, "eigh", count_eigh)
    return counts


def fit_all(X, y, S, **params):
    return [method(S, **params).fit(X, y).coef_ for method in METHODS]


@pytest.mark.parametrize("normalize", ["l2", "standard", None])
def test_rows_are_the_same_to_the_bit(normalize):
    X, y, S = linear_problem(features=FEATURES)
    alone = fit_all(X, y, S, normalize=normalize)
    with share_sums("a"):
        shared = fit_all(X, y, S, normalize=normalize)
        again = fit_all(X.copy(), y, S, normalize=normalize)
    for expected, first, second in zip(alone, shared, again):
        assert_array_equal(first, expected)
        assert_array_equal(second, expected)


def test_one_gram_matrix_and_one_spectrum_serve_all_methods(counted):
    X, y, S = linear_problem(features=FEATURES)
    for _ in range(2):  # two runs of one experiment
        with share_sums("a"):
            fit_all(X, y, S)
    assert counted == {"dsyrk": 1, "eigh": 3}  # LDA factorizes the covariance within classes, in each run
    with share_sums("b"):
        fit_all(X, y, S)
    assert counted["dsyrk"] == 2


def test_methods_that_are_compared_share_the_sums_of_each_fold(counted, monkeypatch):
    X, y, S = linear_problem(n=300, features=FEATURES, classes=12, seen=10)
    alone = {method.__name__: GZSLClassifierCV(method(S)).fit(X, y) for method in METHODS}
    finish, before_the_end = GZSLClassifierCV._finish, []

    def count_and_finish(*arguments):
        before_the_end.append(counted["dsyrk"])
        return finish(*arguments)

    monkeypatch.setattr(GZSLClassifierCV, "_finish", count_and_finish)
    counted["dsyrk"] = 0
    choice = fit_best({name: GZSLClassifierCV(model.estimator) for name, model in alone.items()}, X, y)
    assert before_the_end == [3]  # once for each fold, of four methods that need it
    assert choice.compared == {name: model.curve_.h for name, model in alone.items()}
    assert_array_equal(choice.model.coef_, alone[choice.name].coef_)
    assert not _sharing._kept and _sharing._active.get() is None


def test_a_single_method_keeps_nothing_of_its_folds(monkeypatch):
    """Sums and scaled rows of all folds would take memory that nobody else uses."""
    X, y, S = linear_problem(n=300, features=FEATURES, classes=12, seen=10)
    choose, active = GZSLClassifierCV._choose_params, []

    def look_and_choose(*arguments):
        active.append(_sharing._active.get())
        return choose(*arguments)

    monkeypatch.setattr(GZSLClassifierCV, "_choose_params", look_and_choose)
    fit_best({"linear-vs": GZSLClassifierCV(LinearVS(S))}, X, y)
    assert active == [None]


def test_other_samples_share_nothing(counted):
    X, y, S = linear_problem(features=FEATURES)
    with share_sums("a"):
        LinearVS(S).fit(X, y)
        for other in (X[:-1], y[:-1]), (X * 1.01, y), (X, y[::-1]):
            LinearVS(S, normalize=None).fit(*other)
        LinearVS(S).fit(X, y, sample_weight=np.linspace(1, 2, len(y)))
    assert counted == {"dsyrk": 5, "eigh": 5}


def test_few_training_sets_are_kept():
    X, y, S = linear_problem(features=FEATURES)
    with share_sums("a"):
        for factor in range(1, 10):
            LinearVS(S, normalize=None).fit(factor * X, y)
    (kept,) = _sharing._kept.values()
    assert len(kept.moments) == len(kept.spectra) == 6


@pytest.mark.parametrize("normalize", ["l2", "standard"])
def test_seeds_of_ranking_methods_share_scaled_rows_and_nothing_else(normalize, monkeypatch):
    X, y, S = linear_problem(features=FEATURES)
    found = []
    monkeypatch.setattr(
        ranking, "shift_and_scale", lambda t, f=ranking.shift_and_scale: found.append(0) or f(t)
    )

    def fit_seeds():
        fits = ((method, seed) for method in (ALE, SynC) for seed in (0, 1))
        return [method(S, normalize=normalize, random_state=seed).fit(X, y) for method, seed in fits]

    alone = fit_seeds()
    assert len(found) == 4
    with share_sums("a"):
        shared = fit_seeds()
        LinearVS(S, normalize=normalize).fit(X, y)
    assert len(found) == 5
    for first, second in zip(alone, shared):
        assert_array_equal(first.coef_, second.coef_)
        assert_array_equal(first.intercept_, second.intercept_)


def test_seeds_share_few_directions_to_the_bit(monkeypatch):
    X, y, S = linear_problem(n=80, features=16)
    monkeypatch.setattr(_dual, "DIRECTIONS", 4)
    found = []
    counted = lambda X, f=_dual.in_few_directions: found.append(0) or f(X)  # noqa: E731
    monkeypatch.setattr(ranking, "in_few_directions", counted)
    monkeypatch.setattr(_sharing, "in_few_directions", counted)

    def fit_seeds():
        return [ALE(S, random_state=seed).fit(X, y).coef_ for seed in (0, 1)]

    alone = fit_seeds()
    assert len(found) == 2
    with share_sums("a"):
        shared = fit_seeds()
    assert len(found) == 3
    for first, second in zip(alone, shared):
        assert_array_equal(first, second)


@pytest.mark.parametrize(("small", "n_kept"), [(0, 4), (2**26, 9)])
def test_scaled_rows_of_few_training_sets_or_of_small_ones_are_kept(small, n_kept, monkeypatch):
    X, y, S = linear_problem(features=FEATURES)
    monkeypatch.setattr(_sharing, "_SMALL", small)
    with share_sums("a"):
        for n in range(len(y) - 9, len(y)):
            ALE(S, random_state=0).fit(X[:n], y[:n])
    (kept,) = _sharing._kept.values()
    assert [len(rows.X) for rows in kept.rows.values()] == [len(y) - n for n in range(n_kept, 0, -1)]
