"""The same numbers with one and two BLAS threads, to nine digits."""

from __future__ import annotations

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from problems import LEARNED, linear_problem
from unseen import GZSLClassifierCV
from unseen.methods import _few_directions, make_method


@pytest.mark.parametrize("name", [*LEARNED, "ale in few directions", "sje in few directions"])
def test_one_and_two_threads_agree(name, monkeypatch):
    """Large enough that BLAS divides the products among its threads."""
    name, _, few = name.partition(" in ")
    if few:
        monkeypatch.setattr(_few_directions, "DIRECTIONS", 100)
    X, y, S = linear_problem(900, features=600, attributes=12, classes=90, seen=80)
    found = []
    for n_threads in (1, 2):
        with threadpool_limits(n_threads):
            found.append(make_method(name, S, 0).fit(X, y))
    one, two = found
    tolerance = 1e-9 * np.abs(one.coef_).max()
    np.testing.assert_allclose(two.coef_, one.coef_, rtol=0, atol=tolerance)
    tolerance *= max(1, np.abs(one.intercept_).max() / np.abs(one.coef_).max())
    np.testing.assert_allclose(two.intercept_, one.intercept_, rtol=0, atol=tolerance)


def test_gamma_agrees_to_nine_digits():
    X, y, S = linear_problem(600, features=200, attributes=12, classes=14, seen=10)
    gammas = []
    for n_threads in (1, 2):
        with threadpool_limits(n_threads):
            gammas.append(GZSLClassifierCV(make_method("lda", S, 0)).fit(X, y).gamma_)
    assert gammas[1] == pytest.approx(gammas[0], rel=1e-9)
