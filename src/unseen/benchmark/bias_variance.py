"""Bias and variance of ridge regression, measured where the truth is known (the paper's Fig. 3b).

The data is ``synthetic``: there the best possible prediction ``h(x) = E[s | x]`` and the noise that remains
are known exactly. As in the paper, every training set has its own classes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from unseen._core.blocks import FloatArray, IndexArray
from unseen.datasets import ZeroShotDataset, load_dataset
from unseen.methods.linear import LinearVS

CLASSES_PER_SET, TEST_CLASSES = 20, 200  # of ten samples each


def measure_bias_variance(
    alphas: Sequence[float] | None = None, *, n_sets: int = 20
) -> dict[str, FloatArray]:
    """Fit ridge regression on many training sets and decompose its error on unseen classes.

    Returns by name, for every ``alpha``: ``bias`` (squared, of the mean prediction over training sets, from
    h(x)), ``variance`` (of the prediction over training sets), ``noise`` (of the attribute around h(x)), and
    ``error`` (measured: mean squared distance of prediction and attribute), which they add up to.

    Parameters
    ----------
    alphas : sequence of float, optional
        By default 25 values from 1e-3 to 1e5.
    n_sets : int
        Training sets, each with its own 20 classes.

    Examples
    --------
    >>> parts = measure_bias_variance([1e-2, 1e4], n_sets=5)
    >>> [bool(parts[name][0] < parts[name][1]) for name in ("bias", "variance")]
    [True, False]
    """
    grid = np.logspace(-3, 5, 25) if alphas is None else np.asarray(alphas, dtype=float)
    n_classes = n_sets * CLASSES_PER_SET + TEST_CLASSES
    data = load_dataset(
        "synthetic", n_samples=10 * n_classes, n_features=64, n_attributes=16, n_classes=n_classes
    )
    groups = np.split(np.arange(n_classes - TEST_CLASSES), n_sets)
    test = np.flatnonzero(data.y >= n_classes - TEST_CLASSES)
    predicted = np.stack([_predict(data, group, test, grid) for group in groups])  # (sets, alphas, ...)
    h = data.X[test] @ data.truth.regression()  # (test samples, attributes)
    t = data.prototypes[data.y[test]]
    variance = predicted.var(axis=0, ddof=1).mean(axis=(1, 2))
    # The mean over a few sets still varies by variance / sets: that is not bias.
    bias = ((h - predicted.mean(axis=0)) ** 2).mean(axis=(1, 2)) - variance / n_sets
    return {
        "alpha": grid,
        "bias": np.maximum(bias, 0),
        "variance": variance,
        "noise": np.full(len(grid), data.truth.residual_variance().mean()),
        "error": ((t - predicted) ** 2).mean(axis=(2, 3)).mean(axis=0),
    }


def _predict(data: ZeroShotDataset, classes: IndexArray, test: IndexArray, alphas: FloatArray) -> FloatArray:
    """Return the attributes predicted from samples of some classes, (alphas, test samples, attributes)."""
    train = np.flatnonzero(np.isin(data.y, classes))
    path = LinearVS(data.prototypes, normalize=None).fit_path(
        data.X[train], data.y[train], [{"alpha": alpha} for alpha in alphas]
    )
    return np.stack([data.X[test] @ model.mapping_.T for model in path])
