"""Twenty thousand classes, the size of ImageNet-21k: fit, predict, curve and report, and the best few."""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks import Row, table
from unseen import ESZSL, LDA, LinearSV, LinearVS, SeenUnseenCurve
from unseen._core.blocks import top_columns
from unseen.benchmark.experiment import Experiment
from unseen.benchmark.protocol import evaluate_run
from unseen.benchmark.store import Run, Store
from unseen.calibration.maxima import score_maxima
from unseen.datasets import load_dataset
from unseen.datasets.splits import make_split
from unseen.report import write_report


def run(small: bool = False) -> list[Row]:
    """Return rows (name, value, unit, demanded)."""
    n_classes, features = (1000, 64) if small else (20_000, 512)
    data = load_dataset(
        "synthetic", n_samples=5 * n_classes, n_features=features, n_classes=n_classes, n_attributes=128
    )
    return [
        *_bench_and_report(data, small),
        *_bench_lda(data, small),
        *_fit_and_predict(data, small),
        *_best_few(n_classes, small),
    ]


def _fit_and_predict(data: Any, small: bool) -> list[Row]:
    seen = data.seen[data.y]
    X, y = data.X[:8192], data.y[:8192]
    rows: list[Row] = []
    for name, method in (("lda", LDA), ("linear-vs", LinearVS), ("linear-sv", LinearSV), ("eszsl", ESZSL)):
        fit, model = _time(lambda method=method: method(data.prototypes).fit(data.X[seen], data.y[seen]))
        rows.append((f"{name}: fit, {len(data.prototypes)} classes, {seen.sum()} samples", fit, "s", ""))
    coef = model.coef_.astype(np.float32)
    gemm = min(_time(lambda: _products(X, coef))[0] for _ in range(3))
    predict = min(_time(lambda: model.predict(X))[0] for _ in range(3))
    labels = np.arange(len(data.prototypes))
    evaluate, maxima = _time(lambda: score_maxima(model, X, labels, data.seen))
    curve, _ = _time(lambda: SeenUnseenCurve.from_maxima(maxima, y, data.seen).gamma)
    return [
        *rows,
        ("predict / the bare matrix product", predict / gemm, "times", "" if small else "<= 1.15"),
        ("maxima for calibration / the bare matrix product", evaluate / gemm, "times", ""),
        ("curve of 8192 samples", curve, "s", ""),
    ]


def _products(X: np.ndarray, coef: np.ndarray) -> None:
    for start in range(0, len(X), 512):
        X[start : start + 512] @ coef.T


def _best_few(n_classes: int, small: bool) -> list[Row]:
    scores = np.random.default_rng(0).standard_normal((512, n_classes), dtype=np.float32)
    sort, _ = _time(lambda: np.argsort(-scores, axis=1)[:, :5])
    few, _ = _time(lambda: top_columns(scores, 5))
    return [(f"full sort / best 5 of {n_classes} classes", sort / few, "times", f">= {1 if small else 2}")]


def _bench_and_report(data: Any, small: bool) -> list[Row]:
    experiment = _experiment(data)
    bench, result = _time(lambda: evaluate_run(experiment, "linear-sv", 0))
    memory = _peak()
    with tempfile.TemporaryDirectory() as folder:
        with Store(folder, create=True) as store:
            store.add_experiment(experiment.key, experiment.description)
            run = Run("run", experiment.key, "linear-sv", 0)
            store.add_result(run, {**result, "threads": 1, "warnings": []})
        report, page = _time(lambda: write_report(folder, None))
        size = page.stat().st_size
    return [
        ("the whole protocol, linear-sv", bench, "s", "" if small else "<= 210"),
        ("peak memory of the process, linear-sv", memory, "GiB", "" if small else "<= 2.4"),
        ("report", report, "s", ""),
        ("size of the report", size / 1e6, "MB", "<= 5"),
    ]


def _bench_lda(data: Any, small: bool) -> list[Row]:
    """Return the rows of LDA with two of its 32 settings: more take longer, but no more memory."""
    grid = {"alpha": [0.03], "shrinkage": [0.5, 0.9], "bandwidth": [2.0]}
    with patch.object(LDA, "default_grid", grid):
        seconds, _ = _time(lambda: evaluate_run(_experiment(data), "lda", 0))
    return [
        ("the whole protocol, lda, two settings", seconds, "s", ""),
        ("peak memory of the process, lda", _peak(), "GiB", "" if small else "<= 2.4"),
    ]


def _experiment(data: Any) -> Experiment:
    return Experiment(data, make_split(data), "paper")


def _peak() -> float:
    """Return the largest memory that this process has had, in GiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def _time(job: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = job()
    return time.perf_counter() - start, result


if __name__ == "__main__":
    print(table(run("--small" in sys.argv)))
