"""Methods that share a workspace compute sums, spectra and scaled rows once, and nothing changes by it."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from problems import linear_problem
from unseen import ALE, ESZSL, LDA, SAE, GZSLClassifierCV, LinearSV, LinearVS, SynC
from unseen._core.rows import Rows
from unseen._core.samples import as_samples
from unseen._core.workspace import Remainder, Workspace
from unseen.methods import _closed_form, _moments, ranking
from unseen.selection.auto import fit_best

FEATURES = 9
METHODS = [LinearSV, LinearVS, ESZSL, SAE, LDA]


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


def fit_all(X, y, S, workspace=None, grid=({},), **params):
    paths = (method(S, **params).fit_path(X, y, grid, workspace=workspace) for method in METHODS)
    return [next(path).coef_ for path in paths]


@pytest.mark.parametrize("normalize", ["l2", "standard", None])
@pytest.mark.parametrize("n", [60, 7])  # fewer samples than features, too
def test_rows_are_the_same_to_the_bit(normalize, n):
    X, y, S = linear_problem(n=n, features=FEATURES)
    workspace = Workspace()
    alone = fit_all(X, y, S, normalize=normalize)
    shared, again = (fit_all(X, y, S, workspace, normalize=normalize) for _ in range(2))
    for expected, first, second in zip(alone, shared, again):
        assert_array_equal(first, expected)
        assert_array_equal(second, expected)


def test_one_gram_matrix_and_one_spectrum_serve_all_methods(counted):
    X, y, S = linear_problem(features=FEATURES)
    workspace = Workspace()
    grid = [{"alpha": alpha} for alpha in np.geomspace(0.1, 1, 9)]
    for _ in range(2):  # two runs of one experiment
        fit_all(X, y, S, workspace, grid)
    assert counted == {"dsyrk": 1, "eigh": 1}  # of X'X; LDA factorizes the covariance otherwise
    fit_all(X, y, S)
    assert counted["dsyrk"] == 5  # four methods need it, and share nothing


def test_scalings_and_parts_share_nothing(counted):
    X, y, S = linear_problem(features=FEATURES)
    workspace = Workspace()
    for normalize in ("l2", "standard", None):
        next(LinearVS(S, normalize=normalize).fit_path(X, y, [{}], workspace=workspace))
    for part in (0, 1):
        next(LinearVS(S).fit_path(X[part:], y[part:], [{}], workspace=workspace.part(part)))
    assert counted["dsyrk"] == 5


def test_candidates_share_the_sums_of_each_fold(counted):
    X, y, S = linear_problem(n=300, features=FEATURES, classes=12, seen=10)
    alone = {method.__name__: GZSLClassifierCV(method(S)).fit(X, y) for method in METHODS}
    samples = as_samples(X, y, workspace=Workspace())
    counted["dsyrk"] = 0
    searches = {name: GZSLClassifierCV(model.estimator) for name, model in alone.items()}
    for search in searches.values():
        search.choose_params(samples)
    assert counted["dsyrk"] == 3  # once for each fold, of four methods that need it
    leader = fit_best(searches, samples)
    assert [s.best_score_ for s in searches.values()] == [model.best_score_ for model in alone.values()]
    assert_array_equal(searches[leader].coef_, alone[leader].coef_)


def test_searches_with_one_workspace_find_what_they_find_alone():
    X, y, S = linear_problem(n=300, features=FEATURES, classes=12, seen=10)
    samples = as_samples(X, y, workspace=Workspace())
    for _ in range(2):
        search = GZSLClassifierCV(LinearVS(S))
        search.finish(samples, *search.choose_params(samples))
        alone = GZSLClassifierCV(LinearVS(S)).fit(X, y)
        assert_array_equal(search.coef_, alone.coef_)
        assert search.gamma_ == alone.gamma_


@pytest.mark.parametrize("normalize", ["l2", "standard"])
def test_seeds_of_ranking_methods_share_scaled_rows_and_nothing_else(normalize, monkeypatch):
    X, y, S = linear_problem(features=FEATURES)
    found = []
    monkeypatch.setattr(
        ranking, "shift_and_scale", lambda t, f=ranking.shift_and_scale: found.append(0) or f(t)
    )

    def fit_seeds(workspace=None):
        fits = ((method, seed) for method in (ALE, SynC) for seed in (0, 1))
        return [
            next(method(S, normalize=normalize, random_state=seed).fit_path(X, y, [{}], workspace=workspace))
            for method, seed in fits
        ]

    alone = fit_seeds()
    assert len(found) == 4
    workspace = Workspace()
    next(LinearVS(S, normalize=normalize).fit_path(X, y, [{}], workspace=workspace))
    shared = fit_seeds(workspace)
    assert len(found) == 5
    for first, second in zip(alone, shared):
        assert_array_equal(first.coef_, second.coef_)
        assert_array_equal(first.intercept_, second.intercept_)


@pytest.mark.parametrize("normalize", ["l2", "sqrt", "standard", None])
@pytest.mark.parametrize("scales", [1.0, np.geomspace(1e-6, 1e6, FEATURES)], ids=["plain", "badly scaled"])
def test_sums_by_difference_are_those_of_the_samples(normalize, scales):
    """Features of very different sizes, one only in samples that are left out, and one huge sample."""
    X, y, S = linear_problem(n=300, features=FEATURES)
    X = X * scales
    X[:, 0] *= np.arange(len(X)) < 100
    X[3] *= 1e9
    y[y == 0] = np.where(np.flatnonzero(y == 0) < 100, 0, 1)  # one class is left out completely
    whole = LinearVS(S, normalize=normalize).fit(X, y).moments_
    workspace = Workspace(Remainder({normalize: whole}, Rows([X], np.arange(100)), y[:100]))
    (part,) = LinearVS(S, normalize=normalize).fit_path(X[100:], y[100:], [{}], workspace=workspace)
    alone = LinearVS(S, normalize=normalize).fit(X[100:], y[100:])
    assert_array_equal(part.moments_.count, alone.moments_.count)
    assert_allclose(part.moments_.total, alone.moments_.total, rtol=1e-12, atol=1e-12)
    largest = np.trace(alone.moments_.gram)
    assert_allclose(part.moments_.gram, alone.moments_.gram, rtol=1e-12, atol=1e-14 * largest)
    assert_allclose(part.coef_, alone.coef_, rtol=1e-9, atol=1e-9 * np.abs(alone.coef_).max())


def test_rehearsals_subtract_what_is_left_out(monkeypatch):
    """X'X of all, minus that of the samples of a part, is what a fit on the others needs."""
    X, y, S = linear_problem(n=300, features=FEATURES, classes=12, seen=10)
    rows, dsyrk = [], _moments.dsyrk
    monkeypatch.setattr(
        _moments, "dsyrk", lambda *args, **o: rows.append(args[1].shape[1]) or dsyrk(*args, **o)
    )
    search = GZSLClassifierCV(LDA(S)).fit(X, y)
    whole = rows.index(len(y))
    assert max(rows[whole + 1 :]) <= len(y) / 2
    monkeypatch.setattr(_closed_form, "moments_by_difference", lambda training: None)
    again = GZSLClassifierCV(LDA(S)).fit(X, y)
    assert search.gamma_ == pytest.approx(again.gamma_, rel=1e-9)
    assert search.temperature_ == pytest.approx(again.temperature_, rel=1e-9)


def test_a_copy_in_another_process_starts_empty():
    workspace = Workspace()
    workspace.part("fold").once("gram", lambda: np.zeros((1000, 1000)))
    assert len(pickle.dumps(workspace)) < 100
    assert pickle.loads(pickle.dumps(workspace)).part("fold").once("gram", lambda: "new") == "new"
