"""The table of docs/performance.md: processor time and peak memory of fit, predict and bench by size.

``python -m benchmarks.sizes`` prints it in Markdown, beside scikit-learn's LogisticRegression on the samples
of the seen classes. One thread; every entry has its own process, so that its peak memory is known.
"""

from __future__ import annotations

import os
import resource
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import NamedTuple

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy is imported

SMALL = ((1000, 20, 15, 8),)
SIZES = (
    *SMALL,
    (3000, 256, 26, 16),
    (10_000, 512, 200, 312),
    (10_000, 2048, 200, 312),
    (50_000, 512, 1000, 312),
)
TASKS = ("fit", "search", "predict", "bench", "logistic")
HEADINGS = ("N x D x C", "fit", "with selection", "predict", "bench", "memory", "logistic")


class Cost(NamedTuple):
    """Processor time in seconds, and the largest memory of the process in MB, data included."""

    seconds: float
    megabytes: float


def measure(task: str, size: tuple[int, int, int, int]) -> Cost:
    """Run one task on synthetic data of a size: samples, features, classes, attributes."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import normalize

    from unseen import LDA, GZSLClassifierCV, load_dataset, make_split
    from unseen.benchmark.experiment import Experiment
    from unseen.benchmark.protocol import evaluate_run

    names = ("n_samples", "n_features", "n_classes", "n_attributes")
    data = load_dataset("synthetic", **dict(zip(names, size)))
    rows = data.seen[data.y]
    X, y = data.X[rows], data.y[rows]
    model = LDA(data.prototypes).fit(X, y) if task == "predict" else None
    jobs = {
        "fit": lambda: LDA(data.prototypes).fit(X, y),
        "search": lambda: GZSLClassifierCV(LDA(data.prototypes)).fit(X, y),
        "predict": lambda: model.predict(data.X),
        "bench": lambda: evaluate_run(Experiment(data, make_split(data)), "lda", 0),
        "logistic": lambda: LogisticRegression(max_iter=1000).fit(normalize(X), y),
    }
    start = time.process_time()
    jobs[task]()
    return Cost(time.process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def in_words(seconds: float) -> str:
    """Return a time with two digits, in milliseconds or seconds."""
    return f"{1000 * seconds:.2g} ms" if seconds < 0.1 else f"{seconds:.2g} s"


def line(size: tuple[int, int, int, int]) -> str:
    """Return the row of a size; the memory is that of the search, the most that a user needs."""
    found = {}
    for task in TASKS:
        with ProcessPoolExecutor(1, get_context("spawn")) as process:
            found[task] = process.submit(measure, task, size).result()
        print(task, size, found[task], file=sys.stderr, flush=True)
    cells = [in_words(found[task].seconds) for task in TASKS]
    memory = f"{found['search'].megabytes:.0f} MB"
    numbers = " x ".join(f"{n:,}".replace(",", " ") if n >= 10_000 else str(n) for n in size[:3])
    return f"| {numbers} | {' | '.join(cells[:4])} | {memory} | {cells[4]} |"


if __name__ == "__main__":
    print(f"| {' | '.join(HEADINGS)} |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for each in SMALL if "--small" in sys.argv else SIZES:
        print(line(each), flush=True)
