"""Closed forms of a bench share sums and spectra of equal training samples, and nothing changes by it."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from problems import linear_problem
from unseen import ESZSL, LDA, SAE, LinearSV, LinearVS
from unseen.methods import _moments, _sharing
from unseen.methods._sharing import share_sums

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
