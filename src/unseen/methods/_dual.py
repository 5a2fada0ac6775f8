"""The trainer of the ranking methods: ascent on the dual problem, a whole path of alphas at once.

Every ranking method minimizes over ``W``, with scores ``f(x, c) = s_c W x`` and the violations
``v_ic = margin(y_i, c) + f(x_i, c) - f(x_i, y_i)`` ::

    P(W) = 1/n sum_i loss(v_i) + alpha ||W||^2,    loss(v) = max over u in Q of <u, v> - 1/2 ||u||^2

A loss is known by its set Q: which wrong classes may push, and how strongly. One dual variable ``b_ic`` for
each sample and each wrong class is that push. With ``G_i = b_i``, except ``G_iy = -sum_c b_ic`` for the right
class, the optimum has the form ``W = S' A`` with ``A = -G' X / (2 alpha n)``, and ::

    D(b) = 1/n sum_i [<b_i, margin(y_i, .)> - 1/2 ||b_i||^2] - alpha ||W||^2  <=  min P
    P(W) - D(b) = 1/n sum_i [loss(v_i) - <b_i, v_i> + 1/2 ||b_i||^2]
                = 1/n sum_i [<d_i, v_i - b_i> - 1/2 ||d_i||^2],    d_i = u_i - b_i

bounds how far the optimum can be: the *duality gap*, at which the training stops. The scores of the seen
classes are ``X C'`` with ``C = S W = K A`` and ``K = S S'``, so ``W`` itself is never formed, and ``A`` only
at the end. A step moves the dual variables of a few samples toward the pushes ``u_i`` that attain their
losses, as far as D rises: there is no rate to choose, and nothing can diverge. Scores come from one large
matrix product for a block of samples; within the block they follow every step through the products of its
samples, ``X X'``.

Most of an epoch is products with all features. If there are many, samples are visited as ``Z = X Q``, with an
orthonormal basis Q of ``X'X`` times random numbers. What Z leaves out, ``R = X - Z Q'``, comes back in two
ways: samples of the same block know their exact products, and every look at the gap takes all features and
leaves the exact scores ``X C0'`` behind. With the changes of C and G since then, ::

    scores = X C0' + Z Q'(C - C0)' - R R'(G - G0) K / (2 alpha n),    R R' within each block only

The gap is that of all features, so Z only leads to the minimum. If the gap does not fall from one look to the
next, too much is left out, and all models go on with X.

Ascent needs few epochs if there are many features, but thousands for overlapping classes in few dimensions.
A model that is not done after ``PATIENCE`` epochs is therefore finished by descent on the primal problem,
which then has few variables: with ``K = L L'`` and ``V = L' A``, ::

    scores = X V' L',    ||W|| = ||V||,    gradient of P = L' G' X / n + 2 alpha V

where G has the pushes that attain the losses; they are feasible, and give
``P(V) - D(u) = ||gradient||^2 / (4 alpha)``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from tempfile import TemporaryFile
from typing import Protocol

import numpy as np
from scipy.linalg.blas import sgemm
from scipy.optimize import minimize
from threadpoolctl import ThreadpoolController

from unseen._core.blocks import FloatArray, IndexArray, row_blocks
from unseen._core.rows import read_ahead, release_pages

BLOCK = 256  # samples whose scores come from one matrix product
# samples that move together: fewer converge in fewer epochs, more are quicker in each, above all if they have
# few numbers
PARTS = 16, 64
NUMBERS = 2**13
MEMORY = 2**28  # bytes of dual variables that are held in memory
RANKING = 10  # epochs in which the weights of the samples follow their ranks; then they stay
PATIENCE = 50  # epochs after which a model is finished by descent on the primal problem
VARIABLES = 2**20  # of the primal problem, at most: L-BFGS keeps fifty times as many numbers
DIRECTIONS = 384  # in which samples are visited if there are at least four times as many features
LOOK = 0.01  # gap in these directions at which a model first sees all features
SMALLEST = np.finfo(np.float32).tiny  # to divide 0 by

# (u, w) -> the point of w Q that is nearest to u; arrays are (samples, models, classes)
Projection = Callable[[FloatArray, FloatArray], FloatArray]
# violations -> weight of every sample, (samples, models, 1)
Weights = Callable[[FloatArray], FloatArray]


class Features(Protocol):
    """Rows of float32 features in the order in which they are visited."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    def __getitem__(self, rows: slice, /) -> FloatArray: ...


@dataclass(frozen=True)
class Problem:
    """What is to be learned, but for alpha. Its loss has the smoothing 1."""

    X: Features  # (samples, features), mean squared length 1
    y: IndexArray  # (samples,)
    gram: FloatArray | np.float32  # K (classes, classes); a number stands for that many identities
    margins: FloatArray  # (classes, classes), or (classes, 1) if all wrong classes have the same
    project: Projection
    weigh: Weights | None  # None stands for the weight 1

    def blocks(self, numbers: Iterable[int] | None = None) -> Iterator[tuple[slice, FloatArray]]:
        """Yield (place, features) of these blocks or all; a thread reads the next one from disk meanwhile."""
        keys = list(row_blocks(len(self.y), BLOCK))
        if numbers is not None:
            keys = [keys[number] for number in numbers]
        read = map if isinstance(self.X, np.ndarray) else read_ahead
        return zip(keys, read(self.X.__getitem__, keys))

    def violations(self, F: FloatArray, y: IndexArray) -> FloatArray:
        """Turn scores (samples, models, classes) into ``margin(y, c) + f(x, c) - f(x, y)``, in place."""
        own = right_class(y)
        F -= F[own][:, :, None] - self.margins[y][:, None]
        F[own] = 0
        return F

    def mix(self, G: FloatArray) -> FloatArray:
        """Return ``G K``, a new array."""
        if np.ndim(self.gram) == 0:
            return G * self.gram
        return (G.reshape(-1, G.shape[-1]) @ self.gram).reshape(G.shape)

    def push(self, v: FloatArray, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return (u that attains the loss, loss of each model summed over the samples).

        u is the gradient of the loss with respect to v.
        """
        u = self.project(v, w)
        return u, _dot(u, v) - _dot(u, u) / 2

    def loss_at_zero(self) -> float:
        """Return P(0), the mean loss if all scores are 0."""
        classes = np.arange(len(self.margins))
        counts, total = np.bincount(self.y, minlength=len(classes)), 0.0
        for y in (classes[block] for block in row_blocks(len(classes), BLOCK)):
            v = self.violations(np.zeros((len(y), 1, len(classes)), dtype=np.float32), y)
            u = self.project(v, np.ones_like(v[:, :, :1]) if self.weigh is None else self.weigh(v))
            total += float(counts[y] @ np.sum(u * (v - u / 2), axis=(1, 2)))
        return total / len(self.y) or 1.0


@dataclass
class Solution:
    """What was learned for one alpha."""

    A: FloatArray = field(default_factory=lambda: np.empty(0))  # (classes, features)
    losses: list[float] = field(default_factory=list)  # mean loss, epoch by epoch
    gap: float = np.inf  # (P - D) / P(0)


def solve_path(
    problem: Problem,
    alphas: Sequence[float],
    tol: float,
    max_iter: int,
    rng: np.random.RandomState,
    Z: FloatArray | None = None,
) -> list[Solution]:
    """Return the solution of every alpha, within ``tol`` of the optimum or after ``max_iter`` epochs.

    Z are the samples in few directions, if that pays.
    """
    seed = rng.randint(2**31)
    # bytes that a model keeps: dual variables, and scores at the last look if there are few directions
    size = 4 * len(problem.y) * len(problem.margins) * (1 if Z is None else 2)
    solutions = []
    for part in row_blocks(len(alphas), max(1, MEMORY // size)):
        # the same order of visits, so that a path does not depend on how it is cut
        stack = Stack(problem, alphas[part], Z)
        solutions += stack.solve(tol, max_iter, np.random.RandomState(seed))
    return solutions


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


@cache
def blas_threads() -> ThreadpoolController:
    """Return what limits the threads of BLAS; the search for its libraries takes milliseconds."""
    return ThreadpoolController()


class Stack:
    """Models that differ in alpha alone and are trained together, as rows of the same matrix products.

    In few directions Z, if they are given; C is then its change since the last look.
    """

    def __init__(self, problem: Problem, alphas: Sequence[float], Z: FloatArray | None = None) -> None:
        n, classes = len(problem.y), len(problem.margins)
        self.problem, self.short = problem, Z is not None
        self.visited = problem if Z is None else replace(problem, X=Z)
        self.solutions = [Solution() for _ in alphas]
        self.active = np.arange(len(alphas))
        # 2 alpha n, as far as float32 can divide by it
        self.double = np.clip([2 * n * alpha for alpha in alphas], 1e-24, 1e30).astype(np.float32)
        self.C = np.zeros((self.visited.X.shape[1], len(alphas), classes), dtype=np.float32)
        self.b = zeros((n, len(alphas), classes))
        self.w = np.ones((n, len(alphas), 1), dtype=np.float32)
        self.n_blocks = len(range(0, n, BLOCK))
        self.epoch = 0
        self.at_zero = problem.loss_at_zero()
        self.products: dict[int, FloatArray] = {}  # X X' of each block in memory, by its start
        # X C0' + R R' G0 K / (2 alpha n) at the last look (samples, models, classes), its gap, R R'
        self.scores = zeros(self.b.shape if self.short else (0, len(alphas), 0))
        self.gap = np.full(len(alphas), 10 * LOOK)
        self.left_out: dict[int, FloatArray] = {}

    def solve(self, tol: float, max_iter: int, rng: np.random.RandomState) -> list[Solution]:
        """Visit all samples until every gap is at most ``tol``, ``max_iter`` times at most."""
        n_variables = self.problem.X.shape[1] * self.C.shape[2]
        while len(self.active):
            met = self._visit_all(rng.permutation(self.n_blocks))
            self.epoch += 1
            # gaps that were met on the way belong to models that have moved since: look again
            due = np.maximum(self.gap / 10, tol) if self.short else tol
            slow = self.epoch == PATIENCE < max_iter and n_variables <= VARIABLES
            near = np.flatnonzero((met <= due) | slow | (self.epoch == max_iter))
            if len(near):
                self._look(near, tol, max_iter, slow)
        return self.solutions

    def _look(self, models: IndexArray, tol: float, max_iter: int, slow: bool) -> None:
        """Look at some models with all features; take those out of the stack that are done."""
        A = self._weights(models)
        gap = self._gap(models, A)
        stalled = bool((gap >= np.maximum(self.gap[models], 2 * tol)).any())  # near tol it goes up and down
        self.gap[models] = gap
        for i in np.flatnonzero(gap > tol) if slow else ():
            gap[i] = self._descend(models[i], A[:, i], tol, max_iter)
        done = (gap <= tol) | (self.epoch == max_iter)
        if done.any():
            self._finish(models[done], A[:, done], gap[done])
        if self.short and len(self.active) and (stalled or self.epoch >= PATIENCE):
            self.visited, self.short = self.problem, False
            self.C = self.problem.mix(self._weights(np.arange(len(self.active))))

    def _weights(self, models: IndexArray) -> FloatArray:
        """Return ``A' = -X' G / (2 alpha n)`` of some models (features, models, classes)."""
        A = np.zeros((self.problem.X.shape[1], len(models), self.C.shape[2]), dtype=np.float32)
        for block, X in self.problem.blocks():
            subtract_product(rows_of(A), X.T, rows_of(self._pushes(block, models)))
        return A

    def _pushes(self, block: slice, models: IndexArray) -> FloatArray:
        """Return ``G / (2 alpha n)`` of some models (block, models, classes)."""
        G = complete(np.take(self.b[block], models, axis=1), self.problem.y[block])
        G /= self.double[models][:, None]
        return G

    def _gap(self, models: IndexArray, A: FloatArray) -> FloatArray:
        """Return (P - D) / P(0) of some models with the weights A, and go on with exact scores."""
        problem = self.problem
        C = problem.mix(A)
        self.C[:, models] = 0 if self.short else C  # without what rounding has added up
        gap = np.zeros(len(models))
        for block, X in problem.blocks():
            b = self.b[block][:, models]
            F = (X @ rows_of(C)).reshape(b.shape)
            if self.short:
                self.scores[block][:, models] = F + self._left_out_scores(block, models)
            v = problem.violations(F, problem.y[block])
            d, _ = problem.push(v, self.w[block][:, models])
            d -= b
            v -= b
            gap += _dot(d, v) - _dot(d, d) / 2
        return gap / len(problem.y) / self.at_zero

    def _left_out_scores(self, block: slice, models: IndexArray) -> FloatArray:
        """Return ``R R' G K / (2 alpha n)`` of some models (block, models, classes)."""
        GK = self.problem.mix(self._pushes(block, models))
        return (self.left_out[block.start] @ rows_of(GK)).reshape(GK.shape)

    def _descend(self, model: int, A: FloatArray, tol: float, max_iter: int) -> float:
        """Try to finish a model by descent from A, which is changed if that succeeds; return the gap."""
        alpha = float(self.double[model]) / (2 * len(self.problem.y))
        found = descend(
            self.problem, alpha, self.w[:, [model]], A.T, tol * self.at_zero, max_iter - self.epoch
        )
        gap = found.gap / self.at_zero
        if gap <= tol:
            A[...] = found.A.T
            self.solutions[self.active[model]].losses += found.losses
        return gap

    def _finish(self, models: IndexArray, A: FloatArray, gap: FloatArray) -> None:
        """Take models out of the stack."""
        for i, j in enumerate(self.active[models]):
            self.solutions[j].A = np.ascontiguousarray(A[:, i].T)
            self.solutions[j].gap = float(gap[i])
        left = np.delete(np.arange(len(self.active)), models)
        self.active, self.double, self.gap = self.active[left], self.double[left], self.gap[left]
        # contiguous, unlike what an index would give, so that products can change them in place
        arrays = self.C, self.b, self.w, self.scores
        self.C, self.b, self.w, self.scores = (np.take(array, left, axis=1) for array in arrays)

    # ---- one epoch after another -----------------------------------------------------------------------

    def _visit_all(self, order: IndexArray) -> FloatArray:
        """Visit every sample once; return the gap of each model, as it was met on the way."""
        sums = np.zeros((2, len(self.active)))  # of loss and gap
        # room for the scores of a block and for the changes of G K / (2 alpha n)
        buffers = np.empty((2, min(BLOCK, len(self.problem.y)), *self.C.shape[1:]), dtype=np.float32)
        for block, X in self.visited.blocks(order):
            self._visit(block, X, sums, buffers)
        loss, gap = sums / len(self.problem.y)
        for i, value in zip(self.active, loss):
            self.solutions[i].losses.append(float(value))
        return np.asarray(gap / self.at_zero)

    def _visit(self, block: slice, X: FloatArray, sums: FloatArray, buffers: FloatArray) -> None:
        """Move the dual variables of a block, part by part; add the gaps that were met to the sums."""
        n = block.stop - block.start
        F, moved = buffers[:, :n]  # (block, models, classes)
        np.matmul(X, rows_of(self.C), out=rows_of(F))
        products = self._products(block, X)  # (block, block)
        if self.short and self.epoch:  # at first there is nothing to leave out
            F += self.scores[block]
            F -= self._left_out_scores(block, np.arange(len(self.active)))
            release_pages(self.scores)
        size = int(np.clip(NUMBERS // rows_of(F).shape[1], *PARTS))
        with blas_threads().limit(limits=1):  # these products are too small to share
            for part in row_blocks(n, min(size, max(1, len(self.problem.y) // 8))):
                at = slice(block.start + part.start, block.start + part.stop)
                self._move(at, F[part], products[part, part], sums, moved[part])
                if part.stop < n:  # what was moved changes the scores of those after it
                    after = slice(part.stop, n)
                    subtract_product(rows_of(F[after]), products[after, part], rows_of(moved[part]))
        subtract_product(rows_of(self.C), X.T, rows_of(moved))
        release_pages(self.b)

    def _products(self, block: slice, X: FloatArray) -> FloatArray:
        """Return ``X X'`` of a block with all features, of which X are those visited."""
        if block.start in self.products:
            return self.products[block.start]
        everything = self.problem.X[block] if self.short else X
        products = np.asarray(everything @ everything.T)
        if self.short:
            self.left_out[block.start] = products - X @ X.T
        if isinstance(self.problem.X, np.ndarray):
            self.products[block.start] = products
        return products

    def _move(
        self, at: slice, F: FloatArray, products: FloatArray, sums: FloatArray, moved: FloatArray
    ) -> None:
        """Move the dual variables b of a few samples; fill in the change of G K / (2 alpha n)."""
        y, b, w = self.problem.y[at], self.b[at], self.w[at]
        v, start = self.problem.violations(F, y), b
        if self.problem.weigh is not None and self.epoch < RANKING:
            w[...] = self.problem.weigh(v)
            start = self.problem.project(b, w)  # feasible for these weights
        d, loss = self.problem.push(v, w)
        d -= start
        v -= start
        # D(start + t d) - D(start) is 1/n of t rise - t^2/2 bend, which is largest at t = rise / bend
        rise, dd = np.maximum(_dot(d, v), 0), _dot(d, d)
        sums[0] += loss
        sums[1] += rise - dd / 2
        G = complete(d, y)
        GK = self.problem.mix(G)
        bend = _dot((products @ rows_of(G)).reshape(G.shape), GK) / self.double + dd
        t = rise / np.maximum(np.maximum(bend, rise), SMALLEST)  # at most 1
        G *= t[:, None]
        if start is b:
            GK *= t[:, None]
        else:
            G += complete(start - b, y)
            GK = self.problem.mix(G)
        np.divide(GK, self.double[:, None], out=moved)
        G[right_class(y)] = 0
        b += G


def descend(
    problem: Problem, alpha: float, w: FloatArray, A: FloatArray, tol: float, max_iter: int
) -> Solution:
    """Return what L-BFGS finds on its way down from A, at most ``max_iter`` iterations; the gap is P - D."""
    n = len(problem.y)
    K = problem.gram * np.eye(len(A)) if np.ndim(problem.gram) == 0 else problem.gram
    values, vectors = np.linalg.eigh(K.astype(np.float64))
    kept = values > 1e-9 * values[-1]
    roots, vectors = np.sqrt(values[kept]), vectors[:, kept]
    L = vectors * roots  # (classes, rank)
    found, loss = Solution(), 0.0

    def objective(flat: FloatArray) -> tuple[float, FloatArray]:
        nonlocal loss
        V = flat.reshape(len(roots), A.shape[1])
        loss, GX = 0.0, np.zeros(A.shape)
        for block, X in problem.blocks():
            v = problem.violations((X @ V.T @ L.T)[:, None], problem.y[block])  # (block, 1, classes)
            u, losses = problem.push(v, w[block])
            loss += losses[0] / n
            GX += complete(u, problem.y[block])[:, 0].T @ X
        gradient = L.T @ GX / n + 2 * alpha * V
        gap = np.sum(gradient**2) / (4 * alpha)
        if gap < found.gap:
            found.gap, found.A = gap, vectors / roots @ V
        return loss + alpha * float(np.sum(V**2)), gradient.ravel()

    def after_each(_: FloatArray) -> None:
        found.losses.append(loss)
        if found.gap <= tol:
            raise StopIteration

    options = {"maxiter": max_iter, "maxfun": 2 * max_iter, "maxcor": 20, "ftol": 0, "gtol": 0}
    start = (L.T @ A).ravel()
    minimize(objective, start, jac=True, method="L-BFGS-B", callback=after_each, options=options)
    return found


def zeros(shape: tuple[int, ...]) -> FloatArray:
    """Return float32 zeros, in a temporary file when they are too many for memory."""
    if 4 * np.prod(shape) <= MEMORY:
        return np.zeros(shape, dtype=np.float32)
    with TemporaryFile() as file:  # the map keeps it alive
        return np.memmap(file, dtype=np.float32, mode="w+", shape=shape)


def right_class(y: IndexArray) -> tuple[IndexArray, slice, IndexArray]:
    """Return the index of the right class of each sample in (samples, models, classes)."""
    return np.arange(len(y)), slice(None), y


def complete(G: FloatArray, y: IndexArray) -> FloatArray:
    """Set the right classes, which hold 0, to ``-sum_c G_c``, in place."""
    G[right_class(y)] = -(G @ np.ones(G.shape[2], dtype=G.dtype))  # quicker than a sum
    return G


def rows_of(array: FloatArray) -> FloatArray:
    """Return (rows, models x classes), a view."""
    return array.reshape(len(array), -1)


def subtract_product(C: FloatArray, A: FloatArray, B: FloatArray) -> None:
    """Subtract ``A B`` from C in place; C and B have contiguous rows of float32 numbers."""
    # BLAS has columns: C' -= B' A'
    sgemm(-1.0, B.T, A, beta=1.0, c=C.T, trans_b=True, overwrite_c=True)


def _dot(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return the inner product of each model's entries."""
    return np.asarray(np.einsum("imc,imc->m", a, b))
