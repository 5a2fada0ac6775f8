"""A few samples of a class beside its description: the described mean is a prior worth kappa samples."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np

from unseen._core.blocks import FloatArray, IndexArray, class_sums


@dataclass(frozen=True, eq=False)
class Shots:
    """Mean and number of the samples of each class, in the scale in which a method compares them.

    Examples
    --------
    >>> shots = Shots.of_blocks([(np.array([[1.0], [3.0]]), np.array([0, 0]))], 2)
    >>> shots.count
    array([2., 0.])
    >>> shots.means
    array([[2.],
           [0.]])
    """

    count: FloatArray  # (classes,)
    means: FloatArray  # (classes, features), zero without samples

    @classmethod
    def of_blocks(cls, blocks: Iterable[tuple[FloatArray, IndexArray]], n_classes: int) -> Self:
        """Count samples that come in blocks of (X, class indices)."""
        count, total = np.zeros(n_classes), np.zeros(())
        for X, y in blocks:
            count += np.bincount(y, minlength=n_classes)
            total = total + class_sums(X.astype(np.float64, copy=False), y, n_classes)
        return cls(count, total / np.maximum(count, 1)[:, None])


def described_share(count: FloatArray, kappa: float) -> FloatArray:
    """Return the weight of the description in the mean of each class, 1 without samples.

    >>> described_share(np.array([2.0, 0.0]), kappa=2.0)
    array([0.5, 1. ])
    """
    if kappa == np.inf:
        return np.ones(len(count))
    # mean = (kappa mu(s) + n m) / (kappa + n) = share mu(s) + (1 - share) m
    return np.where(count > 0, kappa / np.where(count > 0, kappa + count, 1), 1.0)
