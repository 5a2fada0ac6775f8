"""Ranking methods: an epoch of the trainer against a loop over samples and sgemm, a path against one model.

One thread for all that is compared, least seconds of two rounds in which they take turns. An epoch visits all
features, as the loop does, without reading and scaling them, which the loop is spared, too; its work counts
the two products with all features. Trainings are whole ones with the defaults, to the tolerance, of one
method, whose trainer is that of all: ten alphas together against the mean of four of them, each on its own,
and against ten that visit all features from the start.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from unittest.mock import patch

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks import Row, table
from benchmarks.methods import SIZES, SMALL, Problem
from unseen import ALE, SJE, DeViSE
from unseen._core.scaling import scale_rows
from unseen.methods import _few_directions
from unseen.methods._dual import Stack
from unseen.methods.ranking import RankingClassifier

ROUNDS = 2
SGEMM = 4096, 2048, 1500  # a product of 4096 x 2048 with 2048 x 1500 numbers
METHODS = {"ale": ALE, "devise": DeViSE, "sje": SJE}
GRID = [{"alpha": alpha} for alpha in RankingClassifier.default_grid["alpha"]]


def run(small: bool = False) -> list[Row]:
    """Return rows (name, value, unit, demanded); a small run only looks whether we are faster."""
    rows: list[Row] = []
    with threadpool_limits(1):
        for name, size in (SMALL if small else SIZES).items():
            problem = Problem.make(name, *size)
            for method in METHODS:
                rows += _method(problem, method, small)
    return rows


def _method(problem: Problem, method: str, small: bool) -> list[Row]:
    rounds = [
        (
            _epoch(problem, method, GRID),
            _epoch(problem, method, GRID[:1]),
            _loop_epoch(problem, method, np.float64),
            _loop_epoch(problem, method, np.float32),
            _sgemm_seconds(),
        )
        for _ in range(ROUNDS)
    ]
    ten, one, loop, loop32, sgemm = np.min(rounds, axis=0)
    n, features, classes = *problem.X.shape, len(problem.S)
    share = (10 * 4 * n * features * classes / ten) / (2 * np.prod(SGEMM) / sgemm)
    label = f"{problem.name}: {method},"
    rows = [
        (
            f"{label} loop over samples / epoch per model",
            10 * loop / ten,
            "times",
            f">= {1 if small else 60}",
        ),
        (f"{label} the same loop in float32", 10 * loop32 / ten, "times", ""),
        (f"{label} share of sgemm's speed", share, "", "" if small else ">= 0.5"),
        (f"{label} epoch of ten / one", ten / one, "times", ""),
    ]
    return rows + _trainings(problem, method, small) if method == "sje" else rows


def _epoch(problem: Problem, method: str, grid: list[dict[str, float]]) -> float:
    """Return the least seconds of the epochs of a short training with all features, but for the first."""
    with _all_features(), _timed_epochs() as seconds:
        _train(problem, method, grid, tol=1e-12, max_iter=3)
    return min(seconds[1:])


def _all_features() -> AbstractContextManager[object]:
    """Let trainings visit all features meanwhile, however many there are."""
    return patch.object(_few_directions, "DIRECTIONS", sys.maxsize)


@contextmanager
def _timed_epochs() -> Iterator[list[float]]:
    """Give the seconds of every epoch that is run meanwhile."""
    seconds: list[float] = []
    visit_all = Stack._visit_all

    def timed(stack: Stack, order: np.ndarray) -> np.ndarray:
        start = time.perf_counter()
        gap = visit_all(stack, order)
        seconds.append(time.perf_counter() - start)
        return gap

    with patch.object(Stack, "_visit_all", timed):
        yield seconds


def _trainings(problem: Problem, method: str, small: bool) -> list[Row]:
    """Compare the training of all alphas with those of single ones, and with that of all features."""
    train = partial(_train, problem, method)
    together, *alone = (_seconds(partial(train, grid)) for grid in (GRID, *([one] for one in GRID[::3])))
    with _all_features():
        slow = _seconds(partial(train, GRID))
    label = f"{problem.name}: {method},"
    return [
        (f"{label} training ten / one", together / np.mean(alone), "times", f"<= {10 if small else 6}"),
        (f"{label} training with all features / in few directions", slow / together, "times", ""),
    ]


def _train(problem: Problem, method: str, grid: list[dict[str, float]], **options: float) -> None:
    list(METHODS[method](problem.S, random_state=0, **options).fit_path(problem.X, problem.y, grid))


def _loop_epoch(problem: Problem, method: str, dtype: type, n_timed: int = 100) -> float:
    """Return the seconds of an epoch that updates W after every sample, from a hundred samples."""
    X, y = scale_rows(problem.X[:n_timed].astype(dtype), "l2"), problem.y[:n_timed]
    S = problem.S.astype(dtype)
    weight = np.cumsum(1 / np.arange(1, len(S) + 1)) / np.arange(1, len(S) + 1)

    def epoch() -> None:
        W = np.zeros((S.shape[1], X.shape[1]), dtype=dtype)
        for x, label in zip(X, y):
            v = S @ (W @ x)
            v += 1 - v[label]
            v[label] = 0
            if method == "sje":
                push = (np.arange(len(v)) == v.argmax()).astype(dtype)
            else:
                push = (v > 0).astype(dtype)
                push *= weight[max(int(push.sum()), 1) - 1] if method == "ale" else 1
            push[label] -= push.sum()
            W -= 0.01 * np.outer(push @ S, x) + 2e-6 * W

    return _seconds(epoch) * len(problem.y) / n_timed


def _sgemm_seconds() -> float:
    """Return the least seconds of two products of float32 numbers."""
    rows, inner, columns = SGEMM
    rng = np.random.default_rng(0)
    A, B = rng.random((rows, inner), dtype=np.float32), rng.random((inner, columns), dtype=np.float32)
    return min(_seconds(lambda: A @ B) for _ in range(2))


def _seconds(job: Callable[[], object]) -> float:
    start = time.perf_counter()
    job()
    return time.perf_counter() - start


if __name__ == "__main__":
    print(table(run("--small" in sys.argv)))
