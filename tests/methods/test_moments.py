"""Moments add, subtract and stream; spectra leave out what rounding cannot tell from zero."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from unseen import Moments
from unseen.methods._moments import Spectrum


def samples(n, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 4)), rng.integers(0, 3, size=n)


def equal(a, b):
    assert_array_equal(a.count, b.count)
    assert_allclose(a.total, b.total, atol=1e-12)
    assert_allclose(a.gram, b.gram, atol=1e-12)


def test_of_is_the_literal_sum():
    X, y = samples(20)
    moments = Moments.of(X, y, 3)
    for c in range(3):
        assert moments.count[c] == (y == c).sum()
        assert_allclose(moments.total[c], X[y == c].sum(axis=0))
    assert_allclose(moments.gram, sum(np.outer(x, x) for x in X))
    assert moments.n == 20


@settings(max_examples=50, deadline=None)
@given(cuts=st.lists(st.integers(1, 29), max_size=5))
def test_any_cutting_into_blocks_gives_the_same(cuts):
    X, y = samples(30)
    edges = [0, *sorted(set(cuts)), 30]
    blocks = [(X[a:b], y[a:b]) for a, b in itertools.pairwise(edges)]
    equal(Moments.from_blocks(blocks, 3), Moments.of(X, y, 3))


def test_without_gram():
    X, y = samples(30)
    part = Moments.of(X, y, 3, gram=False)
    assert (part + part).gram is None
    assert_allclose((part + part).total, 2 * part.total)


@pytest.mark.parametrize("shape", [(30, 8), (8, 30)], ids=["tall", "wide"])
def test_spectrum_rebuilds_the_gram_matrix(shape):
    A = np.random.default_rng(0).normal(size=shape)
    spectrum = Spectrum.of_rows(A)
    assert_allclose((spectrum.vectors * spectrum.values) @ spectrum.vectors.T, A.T @ A, atol=1e-10)
    assert_allclose(spectrum.vectors.T @ spectrum.vectors, np.eye(len(spectrum.values)), atol=1e-10)


@pytest.mark.parametrize("shape", [(30, 8), (8, 30)], ids=["tall", "wide"])
def test_spectrum_has_the_rank_of_the_rows(shape):
    rng = np.random.default_rng(0)
    A = rng.normal(size=(shape[0], 3)) @ rng.normal(size=(3, shape[1]))
    assert len(Spectrum.of_rows(A).values) == 3
    assert len(Spectrum.of_rows(np.zeros(shape)).values) == 0
