"""The training samples as a method sees them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from unseen._core.blocks import BLOCK, FloatArray, IndexArray, row_blocks
from unseen._core.rows import Rows, read_ahead
from unseen._core.scaling import Standardization, scale_rows


@dataclass(frozen=True)
class Training:
    """The training samples as a method sees them: features, class indices, seen prototypes.

    ``X`` stays where it is (perhaps on disk); scaled rows exist one block or batch at a time.
    """

    X: FloatArray | Rows  # (samples, features)
    y: IndexArray  # (samples,), row of S
    S: FloatArray  # (seen classes, attributes)
    normalize: str | None = "l2"
    standard: Standardization | None = None

    def rows(self, index: slice | IndexArray) -> FloatArray:
        """Return the chosen rows of X, scaled."""
        rows = self.X[index]
        if self.standard is not None:
            return self.standard.apply(rows)
        return scale_rows(rows, self.normalize, out=rows if isinstance(self.X, Rows) else None)

    def standardized(self) -> Training:
        """Return the same samples with standardized features."""
        blocks = read_ahead(lambda block: self.X[block], row_blocks(len(self.y)))
        return replace(self, standard=Standardization.of_blocks(blocks))

    def blocks(self, size: int = BLOCK) -> Iterator[tuple[FloatArray, IndexArray]]:
        """Yield (scaled rows, class indices) block by block, in order."""
        return read_ahead(lambda block: (self.rows(block), self.y[block]), row_blocks(len(self.y), size))
