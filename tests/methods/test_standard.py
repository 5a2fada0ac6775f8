"""normalize="standard": raw sensor channels of any size, and still one linear layer on raw features."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.preprocessing import StandardScaler

from problems import LEARNED, Problem, linear_problem, make
from unseen.methods import find_method

CLOSED = [name for name in LEARNED if hasattr(find_method(name), "partial_fit")]


def channels(n=120, features=10):
    """Samples of five of seven classes whose channels range from hundredths to thousands."""
    Z, y, S = linear_problem(n, features=features, attributes=4, noise=0.3)
    return Problem(Z * np.logspace(-2, 3, features) + np.linspace(-5, 4000, features), y, S)


@pytest.mark.parametrize("n", [120, 8], ids=["N>D", "N<D"])
@pytest.mark.parametrize("method", LEARNED)
def test_it_is_scikit_learns_scaler_in_front_folded_into_the_rows(method, n):
    X, y, S = channels(n)
    scaler = StandardScaler().fit(X)
    model = make(method, S, normalize="standard").fit(X, y)
    behind = make(method, S, normalize=None).fit(scaler.transform(X), y)
    expected = behind.similarity(scaler.transform(X))
    assert_allclose(model.similarity(X), expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())
    assert_allclose(model.similarity(X), X @ model.coef_.T + model.intercept_, rtol=1e-9)


@pytest.mark.parametrize("method", LEARNED)
def test_a_class_that_comes_later_gets_the_same_row(method):
    X, y, S = channels()
    whole = make(method, S, normalize="standard").fit(X, y)
    grown = make(method, S[:6], normalize="standard").fit(X, y).add_classes(S[6:])
    assert_allclose(grown.similarity(X), whole.similarity(X), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("method", CLOSED)
def test_blocks_are_standardized_together(method):
    X, y, S = channels()
    whole = make(method, S, normalize="standard").fit(X, y)
    streamed = make(method, S, normalize="standard").partial_fit(X[:40], y[:40]).partial_fit(X[40:], y[40:])
    expected = whole.similarity(X)
    assert_allclose(streamed.similarity(X), expected, rtol=1e-6, atol=1e-7 * np.abs(expected).max())


@pytest.mark.parametrize("method", LEARNED)
def test_a_constant_channel_changes_nothing(method):
    X, y, S = channels()
    constant = np.column_stack([X, np.full(len(X), 4863.0)])
    plain = make(method, S, normalize="standard").fit(X, y).predict(X)
    assert np.mean(make(method, S, normalize="standard").fit(constant, y).predict(constant) == plain) > 0.99
