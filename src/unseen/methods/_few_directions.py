"""The trainer of the ranking methods for many features: most of what is learned lies in few directions.

Most of an epoch is products with all features. Samples are therefore visited as ``Z = X Q``, with an
orthonormal basis Q of ``X'X`` times random numbers. What Z leaves out, ``R = X - Z Q'``, comes back in two
ways: samples of the same block know their exact products, and every look at the gap takes all features and
leaves the exact scores ``X C0'`` behind. With the changes of C and G since then, ::

    scores = X C0' + Z Q'(C - C0)' - R R'(G - G0) K / (2 alpha n),    R R' within each block only

The gap is that of all features, so the minimum is proved as before; Z only leads there. If a gap does not
fall from one look to the next, too much is left out, and all models go on with X.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from unseen._core.blocks import FloatArray, IndexArray, row_blocks
from unseen._core.rows import release_pages
from unseen.methods._dual import PATIENCE, Features, Problem, Stack, rows_of, zeros

DIRECTIONS = 384  # in which samples are visited if there are at least four times as many features
LOOK = 0.01  # gap in these directions at which a model first sees all features


def few_directions_pay(shape: tuple[int, ...], n_columns: int) -> bool:
    """Return whether models of this many columns (classes of all alphas) save more than directions cost."""
    return min(shape) >= 4 * DIRECTIONS and 3 * n_columns >= 2 * DIRECTIONS


def in_few_directions(X: Features) -> FloatArray:
    """Return ``Z = X Q`` (samples, directions); Q is an orthonormal basis of ``X'X`` times random numbers."""
    blocks = list(row_blocks(X.shape[0]))
    random = np.random.RandomState(0).standard_normal((X.shape[1], DIRECTIONS)).astype(np.float32)
    product = np.zeros_like(random)
    for rows in (X[block] for block in blocks):
        product += rows.T @ (rows @ random)
    Q, _ = np.linalg.qr(product)  # (features, directions)
    return np.concatenate([X[block] @ Q for block in blocks])


class ShortStack(Stack):
    """Models that are trained together on samples in few directions Z; their C is its change since a look."""

    def __init__(
        self, problem: Problem, alphas: Sequence[float], tol: float, max_iter: int, Z: FloatArray
    ) -> None:
        super().__init__(problem, alphas, tol, max_iter)
        self.visited = replace(problem, X=Z)
        self.C = np.zeros((Z.shape[1], *self.C.shape[1:]), dtype=np.float32)
        # X C0' + R R' G0 K / (2 alpha n) at the last look (samples, models, classes)
        self.scores = zeros(self.b.shape)
        self.gap = np.full(len(alphas), np.inf)  # at the last look
        self.due[:] = max(LOOK, tol)
        self.left_out: dict[int, FloatArray] = {}  # R R' of each block, by its start
        self.short, self.stalled = True, False

    def _gap(self, models: IndexArray, A: FloatArray) -> FloatArray:
        gap = super()._gap(models, A)
        if self.short:
            self.C[:, models] = 0
            near_tol = 2 * self.tol  # where the gap goes up and down
            self.stalled = bool((gap >= np.maximum(self.gap[models], near_tol)).any())
            self.gap[models], self.due[models] = gap, np.maximum(gap / 10, self.tol)
        return gap

    def _note(self, block: slice, models: IndexArray, F: FloatArray) -> None:
        if self.short:
            self.scores[block][:, models] = F + self._left_out_scores(block, models)

    def _complete(self, block: slice, F: FloatArray) -> None:
        if self.short and self.epoch:  # at first there is nothing to leave out
            F += self.scores[block]
            F -= self._left_out_scores(block, np.arange(len(self.active)))
            release_pages(self.scores)

    def _left_out_scores(self, block: slice, models: IndexArray) -> FloatArray:
        """Return ``R R' G K / (2 alpha n)`` of some models (block, models, classes)."""
        GK = self.problem.mix(self._pushes(block, models))
        return (self.left_out[block.start] @ rows_of(GK)).reshape(GK.shape)

    def _products(self, block: slice, X: FloatArray) -> FloatArray:
        products = super()._products(block, self.problem.X[block])
        if self.short and block.start not in self.left_out:
            self.left_out[block.start] = products - X @ X.T
        return products

    def _finish(self, models: IndexArray, A: FloatArray, gap: FloatArray) -> None:
        left = np.delete(np.arange(len(self.active)), models)
        super()._finish(models, A, gap)
        self.scores = np.take(self.scores, left, axis=1)
        self.gap = self.gap[left]
        if self.short and len(left) and (self.stalled or self.epoch >= PATIENCE):
            self.visited, self.short = self.problem, False
            self.due[:] = self.tol
            self.C = self.problem.mix(self._weights(np.arange(len(left))))
