"""Exact calibration against grids of gamma, against the sort that it needs, and the bootstrap."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any

import numpy as np

from benchmarks import Row, table
from unseen.calibration.bootstrap import bootstrap
from unseen.calibration.curve import ScoreMaxima, SeenUnseenCurve
from unseen.metrics import harmonic_mean


def run(small: bool = False) -> list[Row]:
    """Return rows (name, value, unit, demanded)."""
    return [*_against_grids(small), *_against_sort(small), *_bootstrap(small)]


def make_scores(n: int, n_classes: int, dtype: Any = np.float32) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (scores, y, seen) with the usual bias toward seen classes."""
    rng = np.random.default_rng(0)
    seen = rng.permutation(np.arange(n_classes) < 3 * n_classes // 4)
    y = rng.integers(0, n_classes, n)
    scores = rng.normal(size=(n, n_classes)).astype(dtype)
    scores[np.arange(n), y] += 3
    scores[:, seen] += 1
    return scores, y, seen


def grid_search(scores: np.ndarray, y: np.ndarray, seen: np.ndarray, gammas: np.ndarray) -> float:
    """Return the best H of a grid, with a full argmax for each gamma, as is common practice."""
    count = np.bincount(y, minlength=len(seen))
    bias = seen.astype(scores.dtype)
    best = 0.0
    for gamma in gammas.astype(scores.dtype):
        right = (scores - gamma * bias).argmax(axis=1) == y
        accuracy = 100 * np.bincount(y[right], minlength=len(seen)) / count
        best = max(best, harmonic_mean(accuracy[~seen].mean(), accuracy[seen].mean()))
    return best


def exact_search(scores: np.ndarray, y: np.ndarray, seen: np.ndarray) -> float:
    """Return the best H of all gammas."""
    return SeenUnseenCurve.from_scores(scores, y, seen).h


def ratio(first: Callable[[], Any], second: Callable[[], Any], turns: int) -> float:
    """Return the processor time of the first, divided by that of the second.

    They take turns, so that other work on the machine slows both down alike. The median turn counts.
    """
    return median(_seconds(first) / _seconds(second) for _ in range(turns))


def _seconds(job: Callable[[], Any], clock: Callable[[], float] = time.process_time) -> float:
    start = clock()
    job()
    return clock() - start


def _against_grids(small: bool) -> list[Row]:
    n, n_classes = (1000, 50) if small else (5000, 200)
    rows: list[Row] = []
    for dtype in (np.float32, np.float64):
        scores, y, seen = make_scores(n, n_classes, dtype)
        d = ScoreMaxima.from_scores(scores, seen).flips
        for points in (200, 1000):
            gammas = np.linspace(d.min(), d.max(), points)  # the best possible range for a grid
            exact = partial(exact_search, scores, y, seen)
            grid = partial(grid_search, scores, y, seen, gammas)
            times = ratio(grid, exact, turns=7 if points == 200 else 3)
            name = f"{n} x {n_classes} {scores.dtype}, grid of {points}"
            gain = exact() - grid()
            rows.append((f"{name} / exact curve", times, "times", "" if small else ">= 50"))
            rows.append((f"{name}, H exact - H grid", gain, "points", ">= 0"))
    return rows


def _against_sort(small: bool) -> list[Row]:
    n, n_classes = (10**5 if small else 10**6), 200
    rng = np.random.default_rng(0)
    seen, y = np.arange(n_classes) < 150, rng.integers(0, n_classes, n)
    guess = [rng.integers(0, 150, n), rng.integers(150, n_classes, n)]  # seen, unseen
    for side, own in zip(guess, (seen[y], ~seen[y]), strict=True):
        hit = own & (rng.random(n) < 0.6)  # its own side is right about 60 % of the samples
        side[hit] = y[hit]
    best = rng.normal(size=(2, n))
    unsorted = rng.normal(size=n)

    def curve() -> float:
        return SeenUnseenCurve.from_maxima(ScoreMaxima(*best, *guess), y, seen).gamma

    times = ratio(curve, lambda: unsorted.argsort(), turns=15)
    name = f"curve of {n:.0e} maxima / argsort of {n:.0e} float64"
    return [(name, times, "times", "" if small else "<= 3")]


def _bootstrap(small: bool) -> list[Row]:
    n, replicates = (1000, 100) if small else (5000, 1000)
    scores, y, seen = make_scores(n, 200)
    maxima = ScoreMaxima.from_scores(scores, seen)
    job = partial(bootstrap, maxima, y, seen, n_replicates=replicates)
    seconds = min(_seconds(job, time.perf_counter) for _ in range(3))
    return [(f"bootstrap of {n} samples, {replicates} replicates", seconds, "s", "<= 2")]


if __name__ == "__main__":
    print(table(run()))
