"""Twenty thousand classes, the size of ImageNet-21k: fit, predict, curve and report, and the best few."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import Row, table
from unseen import ESZSL, LDA, LinearSV, LinearVS, SeenUnseenCurve
from unseen._core.blocks import top_columns
from unseen.benchmark.experiment import Experiment
from unseen.benchmark.protocol import evaluate_run
from unseen.benchmark.store import Run, Store
from unseen.datasets import load
from unseen.datasets.splits import make_split
from unseen.report import write_report
from unseen.selection.evaluation import score_maxima


def run(small: bool = False) -> list[Row]:
    """Return rows (name, value, unit, demanded)."""
    n_classes, features = (1000, 64) if small else (20_000, 512)
    data = load(
        "synthetic", n_samples=5 * n_classes, n_features=features, n_classes=n_classes, n_attributes=128
    )
    return [*_fit_and_predict(data, small), *_best_few(n_classes, small), *_bench_and_report(data)]


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


def _bench_and_report(data: Any) -> list[Row]:
    asked = {"source": "synthetic", "features": "res101", "split_dir": None, "split_rule": "official"}
    experiment = Experiment(data, make_split(data), asked)
    bench, result = _time(lambda: evaluate_run(experiment, "linear-sv", 0))
    with tempfile.TemporaryDirectory() as folder:
        with Store(folder, create=True) as store:
            store.add_experiment(experiment.key, experiment.description)
            run = Run("run", experiment.key, "linear-sv", 0)
            store.add_result(run, {**result, "threads": 1, "warnings": []})
        report, page = _time(lambda: write_report(folder, None))
        size = page.stat().st_size
    return [
        ("the whole protocol, linear-sv", bench, "s", ""),
        ("report", report, "s", ""),
        ("size of the report", size / 1e6, "MB", "<= 5"),
    ]


def _time(job: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = job()
    return time.perf_counter() - start, result


if __name__ == "__main__":
    print(table(run("--small" in sys.argv)))
