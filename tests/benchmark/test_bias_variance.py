"""Bias and variance are what statistics says they are."""

from __future__ import annotations

import numpy as np

from unseen.benchmark.bias_variance import measure_bias_variance


def test_bias_rises_variance_falls_and_both_with_noise_make_the_error():
    parts = measure_bias_variance(np.logspace(-2, 4, 7), n_sets=10)
    assert np.all(np.diff(parts["bias"]) > -5e-3)
    assert np.all(np.diff(parts["variance"]) < 1e-3)
    np.testing.assert_allclose(parts["bias"] + parts["variance"] + parts["noise"], parts["error"], rtol=0.05)
    best = parts["error"].argmin()
    assert 0 < best < len(parts["alpha"]) - 1  # a compromise, neither end
