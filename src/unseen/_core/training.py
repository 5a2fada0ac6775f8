"""The training samples as a method sees them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import _check_sample_weight

from unseen._core.blocks import FloatArray, IndexArray, row_blocks
from unseen._core.labels import LabelArray
from unseen._core.rows import Rows, choose_rows, read_ahead
from unseen._core.scaling import Standardization, scale_rows
from unseen._core.workspace import Workspace
from unseen.errors import UnseenError

T = TypeVar("T")


@dataclass(frozen=True)
class Training:
    """The training samples as a method sees them: features, class indices, seen prototypes, weights.

    ``X`` stays where it is (perhaps on disk); scaled rows exist one block or batch at a time.
    """

    X: FloatArray | Rows  # (samples, features)
    y: IndexArray  # (samples,), row of S
    S: FloatArray  # (seen classes, attributes)
    normalize: str | None = "l2"
    standard: Standardization | None = None
    weight: FloatArray | None = None  # (samples,), positive; None if all samples count the same
    workspace: Workspace | None = None  # of these samples, if several methods share one
    sums: Mapping[str | None, Any] | None = None  # Moments by normalize, if no more is left of the samples

    def rows(self, index: slice | IndexArray) -> FloatArray:
        """Return the chosen rows of X, scaled."""
        rows = self.X[index]
        if self.standard is not None:
            return self.standard.apply(rows)
        return scale_rows(rows, self.normalize, out=rows if isinstance(self.X, Rows) else None)

    def standardized(self) -> tuple[Training, Standardization]:
        """Return the same samples with standardized features, and how they are standardized."""
        blocks = read_ahead(lambda block: self.X[block], row_blocks(len(self.y)))
        standard = Standardization.of_blocks(blocks, self.weight_blocks())
        return replace(self, standard=standard), standard

    def once(self, key: str, compute: Callable[[], T], *details: Hashable) -> T:
        """Return what ``compute`` makes of the scaled rows; from the workspace if it has been made before."""
        if self.workspace is None:
            return compute()
        return self.workspace.once((key, self.normalize, self.standard is None, *details), compute)

    def blocks(self) -> Iterator[tuple[FloatArray, IndexArray]]:
        """Yield (scaled rows, class indices) block by block, in order."""
        return read_ahead(lambda block: (self.rows(block), self.y[block]), row_blocks(len(self.y)))

    def weight_blocks(self) -> Iterator[FloatArray | None]:
        """Yield the weights of the samples in each of the ``blocks``."""
        for block in row_blocks(len(self.y)):
            yield None if self.weight is None else self.weight[block]


def weigh_samples(
    X: Any, y: LabelArray, sample_weight: ArrayLike | None
) -> tuple[Any, LabelArray, FloatArray | None]:
    """Return samples, labels and checked weights; a sample of weight 0 is as if it were not there."""
    if sample_weight is None:
        return X, y, None
    weight = check_weights(sample_weight, len(y))
    positive = np.flatnonzero(weight)
    if len(positive) == len(weight):
        return X, y, weight
    return choose_rows(X, positive), y[positive], weight[positive]


def check_weights(sample_weight: ArrayLike, n: int) -> FloatArray:
    """Return the weights as an array, (n,); reject what cannot be weights of n samples."""
    weight = _check_sample_weight(sample_weight, range(n), dtype=np.float64, ensure_non_negative=True)
    if not weight.any():
        raise UnseenError("Sample weights must contain at least one non-zero number.")
    return np.asarray(weight)
