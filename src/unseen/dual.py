"""The trainer of the ranking methods: ascent on the dual problem, a whole path of alphas at once.

Every ranking method minimises over ``W``, with scores ``f(x, c) = s_c W x`` and the violations
``v_ic = margin(y_i, c) + f(x_i, c) - f(x_i, y_i)`` ::

    P(W) = 1/n sum_i loss(v_i) + alpha ||W||^2,    loss(v) = max over u in Q of <u, v> - smoothing/2 ||u||^2

A loss is known by its set Q: which wrong classes may push, and how strongly. One dual variable ``b_ic`` for
each sample and each wrong class is that push. With ``G_i = b_i``, except ``G_iy = -sum_c b_ic`` for the right
class, the optimum has the form ``W = S' A`` with ``A = -G' X / (2 alpha n)``, and ::

    D(b) = 1/n sum_i [<b_i, margin(y_i, .)> - smoothing/2 ||b_i||^2] - alpha ||W||^2  <=  min P
    P(W) - D(b) = 1/n sum_i [loss(v_i) - <b_i, v_i> + smoothing/2 ||b_i||^2]
                = 1/n sum_i [<d_i, v_i - smoothing b_i> - smoothing/2 ||d_i||^2],    d_i = u_i - b_i

bounds how far the optimum can be: the *duality gap*, at which the training stops. The scores of the seen
classes are ``F = X A' K`` with ``K = S S'``, so ``W`` itself is never formed. A step moves the dual variables
of a few samples towards the pushes ``u_i`` that attain their losses, as far as D rises: there is no rate to
choose, and nothing can diverge. Scores come from one large matrix product for a block of samples; within the
block they follow every step through the products of its samples, ``X X'``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from tempfile import TemporaryFile
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import sgemm
from threadpoolctl import ThreadpoolController

from unseen.base import FloatArray, row_blocks
from unseen.rows import read_ahead, release_pages

BLOCK = 256  # samples whose scores come from one matrix product
PART = 16  # samples that move together: fewer converge in fewer epochs, more are quicker in each
MEMORY = 2**28  # bytes of dual variables that are held in memory
RANKING = 10  # epochs in which the weights of the samples follow their ranks; then they stay

Labels = NDArray[np.intp]
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
    """What is to be learnt, but for alpha."""

    X: Features  # (samples, features), mean squared length 1
    y: Labels  # (samples,)
    gram: FloatArray | None  # K (classes, classes), mean diagonal 1; None stands for the identity
    margins: FloatArray  # (classes, classes), 0 on the diagonal
    project: Projection
    weigh: Weights | None  # None stands for the weight 1
    smoothing: float

    @property
    def in_memory(self) -> bool:
        """Whether the features are an array, and not read when they are asked for."""
        return isinstance(self.X, np.ndarray)

    def blocks(self, numbers: Iterable[int]) -> Iterator[tuple[slice, FloatArray]]:
        """Yield (place, features) of these blocks; a thread reads the next one from disk meanwhile."""
        places = list(row_blocks(len(self.y), BLOCK))
        keys = [places[number] for number in numbers]
        read = map if self.in_memory else read_ahead
        return zip(keys, read(self.X.__getitem__, keys))

    def violations(self, XA: FloatArray, y: Labels) -> FloatArray:
        """Return ``margin(y, c) + f(x, c) - f(x, y)`` from ``X A'`` (samples, models, classes)."""
        v = self.mix(XA)
        v -= v[np.arange(len(y)), :, y][:, :, None]
        v += self.margins[y][:, None, :]
        return v

    def mix(self, XA: FloatArray) -> FloatArray:
        """Return ``X A' K``, a new array."""
        if self.gram is None:
            return XA.copy()
        return (XA.reshape(-1, len(self.gram)) @ self.gram).reshape(XA.shape)

    def push(self, v: FloatArray, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return (u that attains the loss, loss of each model summed over the samples).

        u is the gradient of the loss with respect to v. Without smoothing it is a corner of Q.
        """
        smoothing = np.float32(max(self.smoothing, 1e-6))
        u = self.project(v / smoothing, w)
        return u, _dot(u, v) - smoothing / 2 * _dot(u, u)


@dataclass
class Solution:
    """What was learnt for one alpha."""

    A: FloatArray = field(default_factory=lambda: np.empty(0))  # (classes, features)
    losses: list[float] = field(default_factory=list)  # mean loss, epoch by epoch
    gap: float = np.inf  # (P - D) / P(0)


def solve_path(
    problem: Problem, alphas: Sequence[float], tol: float, max_iter: int, rng: np.random.RandomState
) -> list[Solution]:
    """Return the solution of every alpha, within ``tol`` of the optimum or after ``max_iter`` epochs."""
    seed = rng.randint(2**31)
    size = 4 * len(problem.y) * len(problem.margins)  # bytes of one model's dual variables
    solutions = []
    for part in row_blocks(len(alphas), max(1, MEMORY // size)):
        # the same order of visits, so that a path does not depend on how it is cut
        solutions += Stack(problem, alphas[part]).solve(tol, max_iter, np.random.RandomState(seed))
    return solutions


class Stack:
    """Models that differ in alpha alone and are trained together, as rows of the same matrix products."""

    def __init__(self, problem: Problem, alphas: Sequence[float]) -> None:
        n, classes = len(problem.y), len(problem.margins)
        self.problem = problem
        self.solutions = [Solution() for _ in alphas]
        self.active = np.arange(len(alphas))
        # 2 alpha n, as far as float32 can divide by it
        self.double = np.clip([2 * n * alpha for alpha in alphas], 1e-30, 1e30).astype(np.float32)[:, None]
        self.A = np.zeros((len(alphas) * classes, problem.X.shape[1]), dtype=np.float32)
        self.b = zeros((n, len(alphas), classes))
        self.w = np.ones((n, len(alphas), 1), dtype=np.float32)
        self.n_blocks = len(range(0, n, BLOCK))
        self.epoch = 0
        self.at_zero = self._loss_at_zero() or 1.0
        self.products: dict[int, FloatArray] = {}
        self.threads = ThreadpoolController()

    def _loss_at_zero(self) -> float:
        """Return P(0), the mean loss where all scores are 0."""
        problem = self.problem
        counts = np.bincount(problem.y, minlength=len(problem.margins))
        losses = []
        for y in range(len(counts)):
            v = problem.margins[y][None, None]  # (1, 1, classes)
            w = np.ones((1, 1, 1), dtype=np.float32) if problem.weigh is None else problem.weigh(v)
            losses.append(problem.push(v, w)[1][0])
        return float(counts @ losses) / len(problem.y)

    def solve(self, tol: float, max_iter: int, rng: np.random.RandomState) -> list[Solution]:
        """Visit all samples until every gap is at most ``tol``, ``max_iter`` times at most."""
        while len(self.active):
            passed = self._visit_all(rng.permutation(self.n_blocks))
            self.epoch += 1
            # gaps that were met on the way belong to models that have moved since: look again
            near = np.flatnonzero((passed <= tol) | (self.epoch == max_iter))
            if len(near):
                gap = self._gap(near)
                done = (gap <= tol) | (self.epoch == max_iter)
                self._finish(near[done], gap[done])
        return self.solutions

    def _visit_all(self, order: NDArray[np.intp]) -> FloatArray:
        """Visit every sample once; return the gap of each model, as it was met on the way."""
        sums = np.zeros((2, len(self.active)))  # of loss and gap
        for block, X in self.problem.blocks(order):
            self._visit(block, X, sums)
        loss, gap = sums / len(self.problem.y)
        for i, value in zip(self.active, loss):
            self.solutions[i].losses.append(float(value))
        return gap / self.at_zero

    def _gap(self, models: NDArray[np.intp]) -> FloatArray:
        """Return (P - D) / P(0) of some models as they are."""
        problem = self.problem
        A = self.A.reshape(len(self.active), -1, self.A.shape[1])[models]
        gap = np.zeros(len(models))
        for block, X in problem.blocks(range(self.n_blocks)):
            b = self.b[block][:, models]
            XA = (X @ A.reshape(-1, A.shape[2]).T).reshape(b.shape)
            v = problem.violations(XA, problem.y[block])
            u, _ = problem.push(v, self.w[block][:, models])
            u -= b
            gap += _dot(u, v) - problem.smoothing * (_dot(u, b) + _dot(u, u) / 2)
        return gap / len(problem.y) / self.at_zero

    def _finish(self, models: NDArray[np.intp], gap: FloatArray) -> None:
        """Take models out of the stack."""
        A = self.A.reshape(len(self.active), -1, self.A.shape[1])
        for i, value in zip(models, gap):
            self.solutions[self.active[i]].A = A[i].copy()
            self.solutions[self.active[i]].gap = float(value)
        self.A = np.delete(A, models, axis=0).reshape(-1, A.shape[2])
        self.active, self.double = np.delete(self.active, models), np.delete(self.double, models, axis=0)
        self.b, self.w = np.delete(self.b, models, axis=1), np.delete(self.w, models, axis=1)

    def _visit(self, block: slice, X: FloatArray, sums: FloatArray) -> None:
        """Move the dual variables of a block, part by part; add the gaps that were met to the sums."""
        y, b, w = self.problem.y[block], self.b[block], self.w[block]
        products = self._products(block.start, X)  # (block, block)
        XA = X @ self.A.T  # (block, models x classes)
        moved = np.empty_like(XA)  # change of G, divided by 2 alpha n
        size = min(PART, max(1, len(self.problem.y) // 8))
        with self.threads.limit(limits=1):  # these products are too small to share
            for part in row_blocks(len(y), size):
                before = slice(0, part.start)
                XA[part] -= products[part, before] @ moved[before]
                moved[part] = self._move(XA[part], y[part], products[part, part], b[part], w[part], sums)
        # A -= moved' X
        sgemm(-1.0, X.T, moved.T, beta=1.0, c=self.A.T, trans_b=True, overwrite_c=True)
        release_pages(self.b)

    def _products(self, start: int, X: FloatArray) -> FloatArray:
        """Return ``X X'`` of a block, kept from the first epoch unless memory is dear."""
        if start in self.products:
            return self.products[start]
        products = X @ X.T
        if self.problem.in_memory:
            self.products[start] = products
        return products

    def _move(
        self, XA: FloatArray, y: Labels, products: FloatArray, b: FloatArray, w: FloatArray, sums: FloatArray
    ) -> FloatArray:
        """Move the dual variables b of a few samples in place; return the change of G over 2 alpha n."""
        own, smoothing = (np.arange(len(y)), slice(None), y), self.problem.smoothing
        v = self.problem.violations(XA.reshape(b.shape), y)
        start = self._follow_ranks(v, b, w)
        d, loss = self.problem.push(v, w)
        d -= start
        # D(start + t d) - D(start) is 1/n of t rise - t^2/2 bend, which is largest at t = rise / bend
        rise, dd = _dot(d, v) - smoothing * _dot(d, start), _dot(d, d)
        sums += loss, rise - smoothing / 2 * dd
        d[own] = -d.sum(axis=2)
        bend = self._bend(d, products) + smoothing * dd
        d[own] = 0
        d *= np.clip(rise / np.where(bend > 0, bend, 1), 0, 1).astype(np.float32)[:, None]
        d += start
        d -= b
        b += d
        d[own] = -d.sum(axis=2)
        d /= self.double
        return d.reshape(XA.shape)

    def _follow_ranks(self, v: FloatArray, b: FloatArray, w: FloatArray) -> FloatArray:
        """Update the weights w of a few samples in place; return b, made feasible for them."""
        if self.problem.weigh is None or self.epoch >= RANKING:
            return b
        w[...] = self.problem.weigh(v)
        return self.problem.project(b, w)

    def _bend(self, G: FloatArray, products: FloatArray) -> FloatArray:
        """Return ``<X X' G K, G> / (2 alpha n)``."""
        XXG = (products @ G.reshape(len(G), -1)).reshape(G.shape)
        return _dot(XXG, self.problem.mix(G)) / self.double[:, 0]


def zeros(shape: tuple[int, ...]) -> FloatArray:
    """Return float32 zeros, in a temporary file when they are too many for memory."""
    if 4 * np.prod(shape) <= MEMORY:
        return np.zeros(shape, dtype=np.float32)
    with TemporaryFile() as file:  # the map keeps it alive
        return np.memmap(file, dtype=np.float32, mode="w+", shape=shape)


def _dot(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return the inner product of each model's entries."""
    return np.einsum("imc,imc->m", a, b)
