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

This needs few epochs if there are many features, but thousands for overlapping classes in few dimensions.
A model that is not done after ``PATIENCE`` epochs is therefore finished by descent on the primal problem,
which then has few variables: with ``K = L L'`` and ``V = L' A``, ::

    scores = X V' L',    ||W|| = ||V||,    gradient of P = L' G' X / n + 2 alpha V

where G has the pushes that attain the losses; they are feasible, and give
``P(V) - D(u) = ||gradient||^2 / (4 alpha)``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from tempfile import TemporaryFile

import numpy as np
from scipy.linalg.blas import sgemm
from scipy.optimize import minimize

from unseen._core.blocks import FloatArray, IndexArray, row_blocks
from unseen._core.rows import read_ahead, release_pages
from unseen._core.training import Training

SAMPLE_BLOCK = 256  # samples whose scores come from one matrix product
PART = 16  # samples that move together: fewer converge in fewer epochs, more are quicker in each
MEMORY = 2**28  # bytes of dual variables that are held in memory
RANKING = 10  # epochs in which the weights of the samples follow their ranks; then they stay
PATIENCE = 50  # epochs after which a model is finished by descent on the primal problem
VARIABLES = 2**20  # of the primal problem, at most: L-BFGS keeps fifty times as many numbers
SMALLEST = np.finfo(np.float32).tiny  # to divide 0 by

# (u, w) -> the point of w Q that is nearest to u; arrays are (samples, models, classes)
Projection = Callable[[FloatArray, FloatArray], FloatArray]
# violations -> weight of every sample, (samples, models, 1)
Weights = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True)
class VisitedRows:
    """Features in the order of the visits, in float32: ``(x - shift) / scale``, made when asked for.

    The shift is half the mean of the features; with the scale their mean squared length is 1.
    """

    training: Training
    order: IndexArray  # (samples,)
    shift: FloatArray  # (features,)
    scale: float

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of samples and of features."""
        return self.training.X.shape

    def __getitem__(self, rows: slice) -> FloatArray:
        index = self.order[rows]
        places = np.argsort(index)
        X = np.empty((len(index), self.shape[1]), dtype=np.float32)
        X[places] = (self.training.rows(index[places]) - self.shift) / self.scale
        return X

    def copy(self) -> FloatArray:
        """Return all rows as one array."""
        X = np.empty(self.shape, dtype=np.float32)
        for block in row_blocks(len(X)):
            X[block] = self[block]
        return X


Features = FloatArray | VisitedRows  # (samples, features), float32


@dataclass(frozen=True)
class Problem:
    """What is to be learned, but for alpha. Its loss has the smoothing 1."""

    X: Features  # (samples, features), mean squared length 1
    y: IndexArray  # (samples,)
    gram: FloatArray | np.float32  # K (classes, classes); a number stands for that many identities
    margins: FloatArray  # (classes, classes), or (classes, 1) if all wrong classes have the same
    project: Projection
    weigh: Weights | None  # None stands for the weight 1

    @property
    def in_memory(self) -> bool:
        """Whether the features are an array, and not read when they are asked for."""
        return isinstance(self.X, np.ndarray)

    def blocks(self, numbers: IndexArray | None = None) -> Iterator[tuple[slice, FloatArray]]:
        """Yield (place, features) of some or all blocks; a thread reads the next one from disk meanwhile."""
        places = list(row_blocks(len(self.y), SAMPLE_BLOCK))
        keys = places if numbers is None else [places[number] for number in numbers]
        read = map if self.in_memory else read_ahead
        return zip(keys, read(self.X.__getitem__, keys))

    def violations(self, F: FloatArray, y: IndexArray) -> FloatArray:
        """Turn scores (samples, models, classes) into ``margin(y, c) + f(x, c) - f(x, y)``, in place."""
        own = right_entries(F.shape, y)
        F -= F.take(own)[:, :, None] - self.margins.take(y, axis=0)[:, None]
        F.put(own, 0)
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
        return u, _dot(u, v - u / 2)


@dataclass
class Solution:
    """What was learned for one alpha."""

    A: FloatArray = field(default_factory=lambda: np.empty(0))  # (classes, features)
    losses: list[float] = field(default_factory=list)  # mean loss, epoch by epoch
    gap: float = np.inf  # (P - D) / P(0)


@cache
def halves(start: int, stop: int, size: int) -> tuple[tuple[slice, slice | None], ...]:
    """Return (part, None) for parts of a block in order, and (second half, first half) in between.

    A nested function that calls itself would be a cycle, and keep the features until garbage is collected.

    >>> [(part.start, before and before.start) for part, before in halves(0, 4, 2)]
    [(0, None), (2, 0), (2, None)]
    """
    parts = -(-(stop - start) // size)
    if parts == 1:
        return ((slice(start, stop), None),)
    middle = start + parts // 2 * size
    between = (slice(middle, stop), slice(start, middle))
    return (*halves(start, middle, size), between, *halves(middle, stop, size))


class Stack:
    """Models that differ in alpha alone and are trained together, as rows of the same matrix products."""

    def __init__(self, problem: Problem, alphas: Sequence[float], tol: float, max_iter: int) -> None:
        n, classes = len(problem.y), len(problem.margins)
        self.problem = self.visited = problem
        self.tol, self.max_iter = tol, max_iter
        self.solutions = [Solution() for _ in alphas]
        self.active = np.arange(len(alphas))
        # gap, met on the way, at which it is time to look at a model
        self.due = np.full(len(alphas), float(tol))
        # 2 alpha n, as far as float32 can divide by it
        self.double = np.clip([2 * n * alpha for alpha in alphas], 1e-24, 1e30).astype(np.float32)
        self.C = np.zeros((problem.X.shape[1], len(alphas), classes), dtype=np.float32)
        self.b = zeros((n, len(alphas), classes))
        self.w = np.ones((n, len(alphas), 1), dtype=np.float32)
        self.epoch = 0
        self.at_zero = self._loss_at_zero() or 1.0
        self.products: dict[int, FloatArray] = {}

    def _loss_at_zero(self) -> float:
        """Return P(0), the mean loss if all scores are 0."""
        problem = self.problem
        counts = np.bincount(problem.y, minlength=len(problem.margins))
        losses = []
        for y in range(len(counts)):
            v = problem.violations(np.zeros((1, 1, len(counts)), dtype=np.float32), np.array([y]))
            w = np.ones((1, 1, 1), dtype=np.float32) if problem.weigh is None else problem.weigh(v)
            losses.append(problem.push(v, w)[1][0])
        return float(counts @ losses) / len(problem.y)

    def solve(self, rng: np.random.RandomState) -> list[Solution]:
        """Visit all samples until every gap is at most ``tol``, ``max_iter`` times at most."""
        n_blocks = len(range(0, len(self.problem.y), SAMPLE_BLOCK))
        n_variables = self.problem.X.shape[1] * self.C.shape[2]  # of one model's A
        while len(self.active):
            passed = self._visit_all(rng.permutation(n_blocks))
            self.epoch += 1
            # gaps that were met on the way belong to models that have moved since: look again
            slow = self.epoch == PATIENCE < self.max_iter and n_variables <= VARIABLES
            last = self.epoch == self.max_iter
            near = np.flatnonzero((passed <= self.due) | slow | last)
            if len(near):
                A = self._weights(near)
                gap = self._gap(near, A)
                for i in np.flatnonzero(gap > self.tol) if slow else ():
                    gap[i] = self._descend(near[i], A[:, i])
                done = (gap <= self.tol) | last
                self._finish(near[done], A[:, done], gap[done])
        return self.solutions

    # ---- what a trainer that visits other features than those of the problem overrides ----

    def _note(self, block: slice, models: IndexArray, F: FloatArray) -> None:
        """Take note of exact scores (block, models, classes)."""

    def _complete(self, block: slice, F: FloatArray) -> None:
        """Add to the scores of a block what the visited features leave out, in place."""

    # ---- one epoch after another -----------------------------------------------------------------------

    def _visit_all(self, order: IndexArray) -> FloatArray:
        """Visit every sample once; return the gap of each model, as it was met on the way."""
        sums = np.zeros((2, len(self.active)))  # of loss and gap
        # the scores of a block, and the changes of G K / (2 alpha n)
        buffers = np.empty((2, min(SAMPLE_BLOCK, len(self.problem.y)), *self.C.shape[1:]), dtype=np.float32)
        for block, X in self.visited.blocks(order):
            self._visit(block, X, sums, buffers)
        loss, gap = sums / len(self.problem.y)
        for i, value in zip(self.active, loss):
            self.solutions[i].losses.append(float(value))
        return np.asarray(gap / self.at_zero)

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
        """Return (P - D) / P(0) of some models with the weights A."""
        problem = self.problem
        C = problem.mix(A)
        if self.visited is problem:  # go on with exact C, without what rounding has added up
            self.C[:, models] = C
        gap = np.zeros(len(models))
        for block, X in problem.blocks():
            b = self.b[block][:, models]
            F = (X @ rows_of(C)).reshape(b.shape)
            self._note(block, models, F)
            v = problem.violations(F, problem.y[block])
            d, _ = problem.push(v, self.w[block][:, models])
            d -= b
            v -= b
            gap += _dot(d, v - d / 2)
        return gap / len(problem.y) / self.at_zero

    def _descend(self, model: int, A: FloatArray) -> float:
        """Try to finish a model by descent from A, which is changed if that succeeds; return the gap."""
        alpha = float(self.double[model]) / (2 * len(self.problem.y))
        tol, max_iter = self.tol * self.at_zero, self.max_iter - self.epoch
        found = descend(self.problem, alpha, self.w[:, [model]], A.T, tol, max_iter)
        gap = found.gap / self.at_zero
        if gap <= self.tol:
            A[...] = found.A.T
            self.solutions[self.active[model]].losses += found.losses
        return gap

    def _finish(self, models: IndexArray, A: FloatArray, gap: FloatArray) -> None:
        """Take models out of the stack."""
        for i, j in enumerate(self.active[models]):
            self.solutions[j].A = np.ascontiguousarray(A[:, i].T)
            self.solutions[j].gap = float(gap[i])
        left = np.delete(np.arange(len(self.active)), models)
        self.active, self.due, self.double = self.active[left], self.due[left], self.double[left]
        # contiguous, unlike what an index would give, so that products can change them in place
        self.C, self.b, self.w = (np.take(array, left, axis=1) for array in (self.C, self.b, self.w))

    def _visit(self, block: slice, X: FloatArray, sums: FloatArray, buffers: FloatArray) -> None:
        """Move the dual variables of a block, part by part; add the gaps that were met to the sums."""
        y, b, w = self.problem.y[block], self.b[block], self.w[block]
        F, moved = buffers[:, : len(y)]  # (block, models, classes)
        np.matmul(X, rows_of(self.C), out=rows_of(F))
        products = self._products(block, X)  # (block, block)
        self._complete(block, F)
        size = min(PART, max(1, len(self.problem.y) // 8))
        for part, before in halves(0, len(y), size):
            if before is None:
                self._move(F[part], y[part], products[part, part], b[part], w[part], sums, moved[part])
            else:  # what was moved before changes these scores
                subtract_product(rows_of(F[part]), products[part, before], rows_of(moved[before]))
        subtract_product(rows_of(self.C), X.T, rows_of(moved))
        release_pages(self.b)

    def _products(self, block: slice, X: FloatArray) -> FloatArray:
        """Return ``X X'`` of a block; features in memory are multiplied once."""
        if block.start in self.products:
            return self.products[block.start]
        products = np.asarray(X @ X.T)
        if self.problem.in_memory:
            self.products[block.start] = products
        return products

    def _move(
        self,
        F: FloatArray,
        y: IndexArray,
        products: FloatArray,
        b: FloatArray,
        w: FloatArray,
        sums: FloatArray,
        moved: FloatArray,
    ) -> None:
        """Move the dual variables b of a few samples in place; fill in the change of G K / (2 alpha n)."""
        v = self.problem.violations(F, y)
        start = self._follow_ranks(v, b, w)
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
        G.put(right_entries(G.shape, y), 0)
        b += G

    def _follow_ranks(self, v: FloatArray, b: FloatArray, w: FloatArray) -> FloatArray:
        """Update the weights w of a few samples in place; return b, made feasible for them."""
        if self.problem.weigh is None or self.epoch >= RANKING:
            return b
        w[...] = self.problem.weigh(v)
        return self.problem.project(b, w)


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


def right_entries(shape: tuple[int, ...], y: IndexArray) -> IndexArray:
    """Return the places of the right classes among all entries of an array of this shape, (samples, models).

    >>> right_entries((2, 1, 3), np.array([2, 0]))
    array([[2],
           [3]])
    """
    return _first_entries(*shape) + y[:, None]


@lru_cache(maxsize=16)
def _first_entries(n: int, models: int, classes: int) -> IndexArray:
    """Return the places of the first class among all entries, (samples, models)."""
    return np.arange(0, n * models * classes, classes).reshape(n, models)


def complete(G: FloatArray, y: IndexArray) -> FloatArray:
    """Set the right classes, which hold 0, to ``-sum_c G_c``, in place."""
    # quicker than a sum
    G.put(right_entries(G.shape, y), -(G @ np.ones(G.shape[2], dtype=G.dtype)))
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
