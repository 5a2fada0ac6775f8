"""A generator of data whose truth is known, for tests, timings and the figure of bias and variance."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral

import numpy as np

from unseen._core.blocks import FloatArray, IndexArray, row_blocks
from unseen._core.labels import class_mask
from unseen.datasets.dataset import ZeroShotDataset
from unseen.errors import expect

UNSEEN_SHARE = 0.25
UNDESCRIBED = 0.5  # part of a class that its description does not cover, relative to the part it covers
INDIVIDUAL = 1.5  # how much samples of a class differ from each other, likewise
NOISE = 1.0  # noise of every feature, relative to the contribution of the classes


@dataclass(frozen=True)
class SyntheticTruth:
    """The Gaussian model behind ``synthetic``: a class is a point z in a small latent space.

    Its prototype is ``s = z description``; a sample of it is ``x = (z + 0.5 w + 1.5 v) mapping + e`` with
    ``w`` drawn per class, ``v`` and the noise ``e`` per sample. Everything is standard normal, so the best
    possible regression of attributes on features is linear and known.
    """

    description: FloatArray  # (latent, attributes)
    mapping: FloatArray  # (latent, features)

    def regression(self) -> FloatArray:
        """Return B of the true ``E[s | x] = x B``, (features, attributes)."""
        return np.asarray(self.mapping.T @ np.linalg.solve(self._latent_covariance(), self.description))

    def residual_variance(self) -> FloatArray:
        """Return the variance of every attribute around ``E[s | x]``: the intrinsic noise, (attributes,)."""
        # cov[z | x] = I - M (scale M'M + noise^2 I)^-1 M' = I - (scale M M' + noise^2 I)^-1 M M'
        explained = np.linalg.solve(self._latent_covariance(), self.mapping @ self.mapping.T)
        covariance = np.eye(len(explained)) - explained
        return np.asarray(np.einsum("ik,ij,jk->k", self.description, covariance, self.description))

    def _latent_covariance(self) -> FloatArray:
        scale = 1 + UNDESCRIBED**2 + INDIVIDUAL**2
        M = self.mapping.astype(np.float64)
        return np.asarray(scale * (M @ M.T) + NOISE**2 * np.eye(len(M)))  # (latent, latent)


def load_synthetic(
    *,
    n_samples: int = 2000,
    n_features: int = 128,
    n_classes: int = 40,
    n_attributes: int = 48,
    random_state: int = 0,
) -> ZeroShotDataset:
    """Return random data of any size; a quarter of the classes is unseen.

    >>> from unseen.datasets import load_dataset
    >>> load_dataset("synthetic", n_samples=100, n_classes=8).X.shape
    (100, 128)
    """
    _check_size("n_features", n_features, 1)
    _check_size("n_classes", n_classes, 6)
    _check_size("n_attributes", n_attributes, 1)
    _check_size("n_samples", n_samples, 5 * n_classes)
    rng = np.random.default_rng(random_state)
    latent = max(2, n_attributes // 2)  # correlates the attributes, as real ones are
    description = rng.standard_normal((latent, n_attributes)) / np.sqrt(latent)
    mapping = rng.standard_normal((latent, n_features), dtype=np.float32) / np.float32(np.sqrt(latent))
    Z = rng.standard_normal((n_classes, latent))  # (classes, latent)
    y = rng.permutation(np.arange(n_samples) % n_classes)
    n_unseen = max(2, round(UNSEEN_SHARE * n_classes))
    unseen = class_mask(rng.permutation(n_classes)[:n_unseen], n_classes)
    return ZeroShotDataset(
        name="synthetic",
        X=_draw_samples(rng, Z, y, mapping),
        y=y,
        prototypes=Z @ description,
        class_names=tuple(f"class {index}" for index in range(n_classes)),
        unseen=unseen,
        test_unseen=np.flatnonzero(unseen[y]),
        truth=SyntheticTruth(description, mapping),
    )


def _check_size(name: str, value: int, smallest: int) -> None:
    valid = isinstance(value, Integral) and value >= smallest
    expect(name, value, valid, f"an integer of at least {smallest}")


def _draw_samples(rng: np.random.Generator, Z: FloatArray, y: IndexArray, mapping: FloatArray) -> FloatArray:
    """Return x = (z + undescribed + individual) M + noise, a block of rows at a time, in float32."""
    centers = (Z + UNDESCRIBED * rng.standard_normal(Z.shape)).astype(np.float32)
    X = np.empty((len(y), mapping.shape[1]), dtype=np.float32)
    for block in row_blocks(len(y)):
        rows = X[block]
        rng.standard_normal(out=rows, dtype=np.float32)
        rows *= np.float32(NOISE)
        latent = centers[y[block]]
        latent += np.float32(INDIVIDUAL) * rng.standard_normal(latent.shape, dtype=np.float32)
        rows += latent @ mapping
    return X
