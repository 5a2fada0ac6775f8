"""Ranking methods: an epoch of the trainer against a loop over samples, a stack against one model, sgemm.

One thread for all that is compared. An epoch is a training of six less one of two, over four: without reading
and scaling the features, which the loop is spared, too. Its work counts the two products with all features.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks import Row, table
from benchmarks.methods import SIZES, SMALL, Problem
from unseen import ALE, SJE, DeViSE
from unseen.base import scale_rows
from unseen.ranking import RankingClassifier

EPOCHS = (2, 6)
METHODS = {"ale": ALE, "devise": DeViSE, "sje": SJE}


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
    ten, one = (_epoch(METHODS[method], problem, models) for models in (10, 1))
    n, features, classes = *problem.X.shape, len(problem.S)
    work = 10 * 4 * n * features * classes / ten  # operations per second
    loop = _loop_epoch(problem, method)
    label = f"{problem.name}: {method},"
    return [
        (
            f"{label} loop over samples / epoch per model",
            10 * loop / ten,
            "times",
            f">= {1 if small else 60}",
        ),
        (f"{label} ten models / one", ten / one, "times", f"<= {10 if small else 6}"),
        (f"{label} share of sgemm's speed", work / _sgemm_speed(), "", "" if small else ">= 0.5"),
    ]


def _epoch(method: type[RankingClassifier], problem: Problem, models: int) -> float:
    """Return the seconds of an epoch of a stack."""
    grid = [{"alpha": alpha} for alpha in np.geomspace(2e-5, 1e-2, models)]
    few, more = (
        _least(lambda model: list(model.fit_path(problem.X, problem.y, grid)), model)
        for model in (method(problem.S, tol=1e-12, max_iter=epochs, random_state=0) for epochs in EPOCHS)
    )
    return (more - few) / (EPOCHS[1] - EPOCHS[0])


def _loop_epoch(problem: Problem, method: str, n_timed: int = 100) -> float:
    """Return the seconds of an epoch that updates W after every sample, from a hundred samples."""
    X, y = scale_rows(problem.X[:n_timed], "l2"), problem.y[:n_timed]
    S = problem.S.astype(np.float32)
    weight = np.cumsum(1 / np.arange(1, len(S) + 1)) / np.arange(1, len(S) + 1)

    def epoch() -> None:
        W = np.zeros((S.shape[1], X.shape[1]), dtype=np.float32)
        for x, label in zip(X, y):
            v = S @ (W @ x)
            v += 1 - v[label]
            v[label] = 0
            if method == "sje":
                push = (np.arange(len(v)) == v.argmax()).astype(np.float32)
            else:
                push = (v > 0).astype(np.float32)
                push *= weight[max(int(push.sum()), 1) - 1] if method == "ale" else 1
            push[label] -= push.sum()
            W -= 0.01 * np.outer(push @ S, x) + 2e-6 * W

    return _least(epoch) * len(problem.y) / n_timed


def _sgemm_speed() -> float:
    """Return operations per second of a product of 4096 x 2048 with 2048 x 1500 float32 numbers."""
    rng = np.random.default_rng(0)
    A, B = rng.random((4096, 2048), dtype=np.float32), rng.random((2048, 1500), dtype=np.float32)
    return 2 * 4096 * 2048 * 1500 / _least(lambda: A @ B)


def _least(job: Callable[..., object], *arguments: object) -> float:
    """Return the least seconds of two tries."""
    tries = []
    for _ in range(2):
        start = time.perf_counter()
        job(*arguments)
        tries.append(time.perf_counter() - start)
    return min(tries)


if __name__ == "__main__":
    print(table(run("--small" in sys.argv)))
