"""normalize="standard": raw sensor channels of any size, and still one linear layer on raw features."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.preprocessing import StandardScaler

from unseen.methods import METHODS, find_method

LEARNED = [find_method(name) for name in METHODS if not find_method(name).shared_space]
CLOSED = [method for method in LEARNED if hasattr(method, "partial_fit")]


def channels(n=120, features=10, seed=0):
    """Samples of five of seven classes whose channels range from hundredths to thousands."""
    rng = np.random.default_rng(seed)
    S = rng.normal(size=(7, 4))
    y = rng.permutation(np.arange(n) % 5)
    Z = S[y] @ rng.normal(size=(4, features)) + 0.3 * rng.normal(size=(n, features))
    return Z * np.logspace(-2, 3, features) + np.linspace(-5, 4000, features), y, S


def make(method, S, **params):
    return method(S, **params, **({"random_state": 0} if method.stochastic else {}))


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
    whole = method(S, normalize="standard").fit(X, y)
    streamed = method(S, normalize="standard").partial_fit(X[:40], y[:40]).partial_fit(X[40:], y[40:])
    expected = whole.similarity(X)
    assert_allclose(streamed.similarity(X), expected, rtol=1e-6, atol=1e-7 * np.abs(expected).max())


@pytest.mark.parametrize("method", LEARNED)
def test_a_constant_channel_changes_nothing(method):
    X, y, S = channels()
    constant = np.column_stack([X, np.full(len(X), 4863.0)])
    plain = make(method, S, normalize="standard").fit(X, y).predict(X)
    assert np.mean(make(method, S, normalize="standard").fit(constant, y).predict(constant) == plain) > 0.99
