"""Every fast path can be switched off, and the results stay the same, as far as stated here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from problems import linear_problem, make
from unseen import GZSLClassifierCV, base
from unseen._core import scoring
from unseen._core.samples import as_samples
from unseen._core.workspace import Workspace
from unseen.methods import _closed_form, _factor, _few_directions, _kernels
from unseen.selection.auto import fit_best

ROUNDING = 1e-9  # of numbers in double precision, relative to the largest
CLOSED_FORMS = ("linear-vs", "linear-sv", "eszsl", "sae", "lda")


@dataclass(frozen=True)
class FastPath:
    """What to set in which place to have a fast path always taken, and never."""

    place: Any
    name: str
    on: Any
    off: Any


ALL_BUT_FEW = FastPath(
    _closed_form, "moments_by_difference", _closed_form.moments_by_difference, lambda _: None
)
FACTORIZATION = FastPath(_factor, "FEW", 10**9, 0)  # Cholesky, or an eigendecomposition
DIRECT = FastPath(_factor, "SAFE", _factor.SAFE, np.inf)  # Cholesky and a tridiagonal form, or never these
THIN = FastPath(_closed_form, "is_thin", _closed_form.is_thin, lambda _: False)
SHARED = FastPath(Workspace, "once", Workspace.once, lambda self, key, compute: compute())
DIRECTIONS = FastPath(_few_directions, "DIRECTIONS", 6, 10**9)
LANDMARKS = FastPath(_kernels, "LANDMARKS", 20, 10**9)
PAIRS = FastPath(_kernels, "_PAIRS", 0, 10**9)  # distances by a matrix product, or one by one
PROJECTION = FastPath(scoring.LinearClassifier, "_projection_pays", lambda *_: True, lambda *_: False)


def in_both_ways(path: FastPath, monkeypatch, compute):
    """Return what is computed with and without a fast path."""
    found = []
    for value in (path.on, path.off):
        monkeypatch.setattr(path.place, path.name, value)
        found.append(compute())
    return found


def numbers(search: GZSLClassifierCV) -> dict[str, Any]:
    """Return what a search has learned and chosen, but for the confidence.

    The temperature solves an equation that is nearly undetermined if all samples of a rehearsal are right.
    """
    return {
        "coef": search.coef_,
        "intercept": search.intercept_,
        "gamma": search.gamma_,
        "retention": search.held_out_.retention,
        "h": search.cv_results_["mean_test_score"],
    }


def assert_same(fast: dict[str, Any], slow: dict[str, Any], tolerance: float) -> None:
    for name, expected in slow.items():
        atol = tolerance * np.abs(expected).max()
        assert_allclose(fast[name], expected, rtol=0, atol=atol, err_msg=name)


@pytest.mark.parametrize("method", CLOSED_FORMS)
@pytest.mark.parametrize(
    "path", [ALL_BUT_FEW, FACTORIZATION, DIRECT], ids=["sums by difference", "Cholesky", "tridiagonal"]
)
def test_a_whole_search_is_the_same(path, method, monkeypatch):
    X, y, S = linear_problem(300, features=40, classes=12, seen=10)
    fast, slow = in_both_ways(path, monkeypatch, lambda: numbers(GZSLClassifierCV(make(method, S)).fit(X, y)))
    assert_same(fast, slow, ROUNDING)


@pytest.mark.parametrize("normalize", ["l2", "standard"])
@pytest.mark.parametrize("method", CLOSED_FORMS)
@pytest.mark.parametrize("path", [FACTORIZATION, THIN], ids=["Cholesky", "rows instead of features"])
def test_fewer_samples_than_features(path, method, normalize, monkeypatch):
    X, y, S = linear_problem(30, features=40, classes=12, seen=10)
    fast, slow = in_both_ways(path, monkeypatch, lambda: rows(make(method, S, normalize=normalize).fit(X, y)))
    assert_same(fast, slow, ROUNDING)


def rows(model) -> dict[str, Any]:
    return {"coef": model.coef_, "intercept": model.intercept_ + np.abs(model.coef_).max()}


def test_methods_that_share_sums_find_what_they_find_alone(monkeypatch):
    """Every digit: what is shared is what each would compute."""
    X, y, S = linear_problem(300, features=40, classes=12, seen=10)

    def compare():
        searches = {name: GZSLClassifierCV(make(name, S)) for name in CLOSED_FORMS}
        leader = fit_best(searches, as_samples(X, y, workspace=Workspace()))
        return {name: s.best_score_ for name, s in searches.items()} | numbers(searches[leader])

    fast, slow = in_both_ways(SHARED, monkeypatch, compare)
    assert_same(fast, slow, 0.0)


@pytest.mark.parametrize("method", ["devise", "sje", "sync"])
def test_few_directions_lead_to_the_same_minimum(method, monkeypatch):
    """Within what the duality gap proves, for a strictly convex objective P; ALE's depends on the way.

    P(W) - P(W*) <= tol P(0) and alpha ||W - W*||^2 <= P(W) - P(W*), so two solutions differ by at most
    2 sqrt(tol P(0) / alpha), in units in which features and descriptions have the mean squared length 1.
    """
    X, y, S = linear_problem(600, features=40, attributes=6, classes=9, seen=7, noise=0.7)
    fast, slow = in_both_ways(
        DIRECTIONS, monkeypatch, lambda: make(method, S, alpha=1e-2, tol=1e-6).fit(X, y)
    )
    assert not np.array_equal(fast.coef_, slow.coef_)  # they went different ways
    assert max(fast.dual_gap_, slow.dual_gap_) <= 1e-6
    assert_allclose(fast.coef_, slow.coef_, rtol=0, atol=5e-3 * np.abs(slow.coef_).max())


def test_landmarks_are_exact_if_they_span_the_descriptions(monkeypatch):
    """20 of 30 seen classes span 5 attributes. For a Gaussian kernel, landmarks are an approximation."""
    X, y, S = linear_problem(600, features=40, classes=40, seen=30)
    fast, slow = in_both_ways(LANDMARKS, monkeypatch, lambda: make("lda", S, kernel="linear").fit(X, y))
    assert not np.array_equal(fast.coef_, slow.coef_)
    assert_same(rows(fast), rows(slow), 1e-7)


def test_distances_by_a_product(monkeypatch):
    X, y, S = linear_problem(600, features=40, classes=40, seen=30)
    fast, slow = in_both_ways(PAIRS, monkeypatch, lambda: make("lda", S, kernel="rbf").fit(X, y))
    assert_same(rows(fast), rows(slow), ROUNDING)


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, ROUNDING), (np.float32, 1e-5)])
def test_projected_scores(dtype, tolerance, monkeypatch):
    X, y, S = linear_problem(600, features=40, classes=12, seen=10, dtype=dtype)
    for place in (scoring, base):
        monkeypatch.setattr(place, "MANY_CLASSES", 3)
    model = make("linear-sv", S).fit(X, y)
    fast, slow = in_both_ways(PROJECTION, monkeypatch, lambda: {"scores": model.similarity(X)})
    assert_same(fast, slow, tolerance)
