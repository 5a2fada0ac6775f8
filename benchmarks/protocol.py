"""What the paper's complete protocol costs, nine methods in one process, against its work at sgemm speed.

One run = every value of the grid on three folds, retraining, test, with the paper's gamma. Processor time
with one thread, so that other work on the machine disturbs little. The work counts the matrix products and
factorizations that the formulas of a method ask for; an operation in float64 counts twice, because it takes
twice as long. Runs share what a bench shares in each of its processes; so the second seed of a method may
take less than the first, and five seeds count as the first and four times the second.
"""

from __future__ import annotations

import os
import resource
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import numpy as np
from sklearn.model_selection import ParameterGrid
from threadpoolctl import threadpool_limits

from benchmarks import Row, table
from unseen._core.workspace import Workspace
from unseen.benchmark.experiment import Experiment
from unseen.benchmark.protocol import evaluate_run
from unseen.datasets import load_dataset
from unseen.datasets.splits import make_split
from unseen.methods import METHODS, find_method
from unseen.methods._dual import Stack

DATA = Path(os.environ.get("UNSEEN_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
SEEDS = 5
CORES = 2


def run(small: bool = False) -> list[Row]:
    """Return rows (name, value, unit, demanded), on CUB or on drawn data of its size."""
    experiment = make_experiment(small)
    rows: list[Row] = []
    total = 0.0
    workspace = Workspace()
    with threadpool_limits(1):
        for method in (name for name, row in METHODS.items() if not row.shared_space):
            stochastic = find_method(method).stochastic
            runs = [_measure(experiment, method, seed, workspace) for seed in range(2 if stochastic else 1)]
            total += runs[0][0] + (SEEDS - 1) * runs[-1][0] * stochastic
            demanded = "" if small or stochastic else "<= 1.6"
            rows.append((f"{method}, one run", runs[-1][0], "cpu s", ""))
            rows.append((f"{method} / its work at sgemm speed", runs[-1][1], "ratio", demanded))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    minutes, gibibytes = ("", "") if small else ("<= 10", "<= 2")
    rows.append((f"nine methods, {SEEDS} seeds, {CORES} cores", total / CORES / 60, "min", minutes))
    rows.append(("peak memory of one process", memory, "GiB", gibibytes))
    return rows


def _measure(experiment: Experiment, method: str, seed: int, workspace: Workspace) -> tuple[float, float]:
    """Return the processor time of one run, and its ratio to the work."""
    speed = sgemm_speed()  # each time, because the speed of the machine may change
    with counted_visits() as visits:
        seconds = evaluate_run(experiment, method, seed, workspace)["seconds"]["cpu"]
    return seconds, seconds * speed / work(experiment, method, sum(visits))


def make_experiment(small: bool) -> Experiment:
    """Return CUB with its own features, or drawn data of its size (a tenth of it when small)."""
    folder = DATA / "xlsa17" / "CUB"
    if (folder / "res50.mat").is_file() and not small:
        return Experiment.load(str(folder), features="res50", gamma="paper")
    sizes = {"n_samples": 1000, "n_features": 128, "n_classes": 40, "n_attributes": 32}
    if not small:
        sizes = {"n_samples": 11788, "n_features": 2048, "n_classes": 200, "n_attributes": 312}
    data = load_dataset("synthetic", **sizes)
    return Experiment(data, make_split(data), "paper")


def sgemm_speed(n: int = 2048) -> float:
    """Return operations per second of processor time in a float32 matrix product, the best of three."""
    A = np.random.default_rng(0).random((n, n), dtype=np.float32)
    best = np.inf
    for _ in range(3):
        start = time.process_time()
        A @ A
        best = min(best, time.process_time() - start)
    return 2 * n**3 / best


@contextmanager
def counted_visits() -> Iterator[list[float]]:
    """Give the operations of each epoch of the ranking trainer meanwhile, and of each look at a gap."""
    visits: list[float] = []
    visit_all, gap = Stack._visit_all, Stack._gap

    def products(stack: Stack, features: int) -> float:
        n, C = len(stack.problem.y), len(stack.problem.margins)
        # scores X C' and step (G K)'X of one model
        return 4 * n * features * C + (2 * n * C * C if np.ndim(stack.problem.gram) else 0)

    def counted(stack: Stack, order: np.ndarray) -> np.ndarray:
        visits.append(len(stack.active) * products(stack, stack.visited.X.shape[1]))
        return visit_all(stack, order)

    def counted_gap(stack: Stack, models: np.ndarray, A: np.ndarray) -> np.ndarray:
        visits.append(len(models) * products(stack, stack.problem.X.shape[1]))
        return gap(stack, models, A)

    with patch.object(Stack, "_visit_all", counted), patch.object(Stack, "_gap", counted_gap):
        yield visits


def work(experiment: Experiment, method: str, training: float) -> float:
    """Return the operations of one run: fits and scores on every fold, then of the retrained model."""
    data, split = experiment.dataset, experiment.split
    settings = len(ParameterGrid(find_method(method).default_grid))
    D, K = data.X.shape[1], data.prototypes.shape[1]

    def stage(rows: np.ndarray, n_scored: int, n_candidates: int, n_settings: int) -> float:
        n, C = len(rows), len(np.unique(data.y[rows]))
        scores = n_settings * (2 * n_scored * D * n_candidates + 2 * 2 * n_candidates * K * D)
        return scores if training else scores + closed_form_work(method, (n, C, D, K), n_settings)

    n_test = len(split.test_seen) + len(split.test_unseen)
    total = training + stage(split.train, n_test, len(data.class_names), 1)
    for fold in split.folds:
        scored = np.concatenate([fold.seen_val, fold.val])
        candidates = len(np.unique(data.y[np.concatenate([fold.train, scored])]))
        total += stage(fold.train, len(scored), candidates, settings)
    return total


def closed_form_work(method: str, sizes: tuple[int, int, int, int], settings: int) -> float:
    """Return the operations of fitting a whole grid on n samples of C classes, D features, K attributes."""
    n, C, D, K = sizes
    double = 2  # closed forms are solved in float64
    if method == "linear-sv":  # T'T, its eigenvectors, one product per alpha
        return double * (2 * C * K * K + 6 * K**3 + settings * 2 * K * K * D)
    spectrum = 2 * n * D * D + 6 * D**3  # X'X and its eigenvectors
    if method == "lda":
        return double * (spectrum + lda_work(C, D))
    # a product with the eigenvectors per alpha
    return double * (spectrum + settings * 2 * min(C, K) * D * D)


def lda_work(C: int, D: int) -> float:
    """Return the operations of LDA's grid after the spectrum of the covariance, for C seen classes."""
    grid = find_method("lda").default_grid
    shrinkages, bandwidths = len(grid["shrinkage"]), len(grid.get("bandwidth", [2.0]))
    precision = 2 * C * D * D + shrinkages * (2 * C * D * D + 2 * C * C * D)  # M V, then M P and M P M'
    settings = len(ParameterGrid(grid)) * (2 * C**3 + 2 * C * C * D + 4 * C**3)  # inverse, mapping, overlap
    return precision + bandwidths * 6 * C**3 + settings


if __name__ == "__main__":
    print(table(run("--small" in sys.argv)))
