"""The same numbers with one and two BLAS threads: nine digits, five from methods in single precision."""

from __future__ import annotations

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from problems import LEARNED, linear_problem
from unseen import GZSLClassifierCV
from unseen.methods import make_method

SINGLE = ("ale", "devise", "sje", "sync")  # dual ascent visits samples in single precision


@pytest.mark.parametrize("name", LEARNED)
def test_one_and_two_threads_agree(name):
    """Large enough that BLAS divides the products among its threads."""
    X, y, S = linear_problem(600, features=200, attributes=12, classes=14, seen=10)
    found = []
    for n_threads in (1, 2):
        with threadpool_limits(n_threads):
            found.append(make_method(name, S, 0).fit(X, y))
    one, two = found
    tolerance = (1e-5 if name in SINGLE else 1e-9) * np.abs(one.coef_).max()
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
