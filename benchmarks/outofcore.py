"""Features on disk, several times the memory allowed: paths and calibrated evaluation in blocks.

A file of 10^6 x 2048 float32 (8 GB) is made in the temporary folder and removed afterwards. A process of its
own fits twelve combinations of parameters of linear-vs, linear-sv and LDA on the samples of seen classes, and
evaluates one model of each, calibrated, on all samples. Its time is compared with that of the matrix products
it cannot do without, on blocks that are in memory: X'X in float64 for linear-vs and LDA (the moments are
exact to 1e-10, which float32 products are not), and X times coef in float32 for each evaluation.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.linalg.blas import dsyrk

from benchmarks import Row, table
from unseen import LDA, LinearSV, LinearVS
from unseen._core.blocks import BLOCK, row_blocks
from unseen._core.rows import Rows
from unseen.calibration.classifier import CalibratedClassifier

CLASSES, ATTRIBUTES = 200, 100
SEEN = np.arange(CLASSES) < 180
ALPHAS = [{"alpha": alpha} for alpha in np.logspace(-6, 0, 12)]
METHODS = {"lda": LDA, "linear-vs": LinearVS, "linear-sv": LinearSV}


def run(small: bool = False) -> list[Row]:
    """Return rows (name, value, unit, demanded)."""
    n, features = (40_000, 256) if small else (1_000_000, 2048)
    with tempfile.TemporaryDirectory() as folder:
        needed = n * features * 4 * 1.05
        if shutil.disk_usage(folder).free < needed:
            print(f"out of core: {folder} has less than {needed / 1e9:.0f} GB free, nothing measured")
            return []
        make_file(Path(folder), n, features)
        quarter, whole = (_pipeline(folder, rows) for rows in (n // 4, n))
    parts = {name: seconds for name, seconds in whole.items() if name.startswith(tuple(METHODS))}
    total, total_quarter = (sum(t[name] for name in parts) for t in (whole, quarter))
    return [
        *((f"{name}, {n:.0e} x {features}", seconds, "s", "") for name, seconds in parts.items()),
        ("the same matrix products from memory", whole["products"], "s", ""),
        ("speed / that of the products", whole["products"] / total, "", "" if small else ">= 0.6"),
        ("processor time of the products / of the whole", whole["cpu of products"] / whole["cpu"], "", ""),
        (
            "time / that of a quarter of the samples",
            total / total_quarter,
            "times",
            "" if small else "<= 4.4",
        ),
        ("peak memory of the process", whole["peak"] / 2**30, "GiB", "<= 2"),
        ("harmonic mean, linear-sv, calibrated on these samples", whole["H"], "%", ""),
    ]


def make_file(folder: Path, n: int, features: int) -> None:
    """Write X.npy and y.npy: every class a center that its attributes describe, plus noise."""
    rng = np.random.default_rng(0)
    S, y = prototypes(), rng.integers(0, CLASSES, n)
    centers = (0.05 * S @ rng.normal(size=(ATTRIBUTES, features)) / 10).astype(np.float32)
    np.save(folder / "y.npy", y)
    X = np.lib.format.open_memmap(folder / "X.npy", mode="w+", dtype=np.float32, shape=(n, features))
    for block in row_blocks(n):
        rows = rng.standard_normal((block.stop - block.start, features), dtype=np.float32)
        rows += centers[y[block]]
        X[block] = rows
    X.flush()


def prototypes() -> np.ndarray:
    """Return the descriptions of the classes, the same in every process."""
    return np.random.default_rng(1).normal(size=(CLASSES, ATTRIBUTES))


def _pipeline(folder: str, n: int) -> dict[str, float]:
    """Run the whole way on the first n samples in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.outofcore", folder, str(n)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


# ---- inside that process ---------------------------------------------------------------------------------


def measure(folder: str, n: int) -> dict[str, float]:
    """Return the seconds of each part and of the bare products, and the peak memory in bytes."""
    y = np.load(Path(folder, "y.npy"))[:n]
    X = Rows([Path(folder, "X.npy")], np.arange(n))
    train = np.flatnonzero(SEEN[y])
    sizes = len(train), n, X.shape[1]
    before = _products(*sizes)
    result, start = {}, time.process_time()
    for name, method in METHODS.items():
        path = method(prototypes()).fit_path(X.choose(train), y[train], ALPHAS)
        result[f"{name}, 12 alphas"], models = _time(lambda path=path: list(path))
        calibrated = CalibratedClassifier(models[6])
        evaluate = lambda calibrated=calibrated: calibrated.fit(X, y).curve_  # noqa: E731
        result[f"{name}, calibrated evaluation"], curve = _time(evaluate)
        result["H"] = curve.h
        result["peak"] = _peak()
    result["cpu"] = time.process_time() - start
    after = _products(*sizes)  # before and after: the machine may change
    result["products"], result["cpu of products"] = np.mean([before, after], axis=0).tolist()
    return result


def _products(n_train: int, n: int, features: int) -> list[float]:
    """Return the seconds of the bare products, by the clock and of the processor, from blocks in memory."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((BLOCK, features), dtype=np.float32)
    X64, coef = X.astype(np.float64), X[:CLASSES].T.copy()
    gram = dsyrk(1.0, X64.T)
    repeats = range(8)
    found = []
    for clock in (time.perf_counter, time.process_time):
        options: dict[str, Any] = {"beta": 1.0, "c": gram, "overwrite_c": True}
        syrk, _ = _time(lambda options=options: [dsyrk(1.0, X64.T, **options) for _ in repeats], clock)
        gemm, _ = _time(lambda: [X @ coef for _ in repeats], clock)
        # X'X of two methods, the scores of all
        found.append((2 * syrk * n_train + len(METHODS) * gemm * n) / (BLOCK * len(repeats)))
    return found


def _time(job: Callable[[], Any], clock: Callable[[], float] = time.perf_counter) -> tuple[float, Any]:
    start = clock()
    result = job()
    return clock() - start, result


def _peak() -> float:
    """Return the largest memory this process has had, in bytes (Linux)."""
    found = re.search(r"VmHWM:\s*(\d+)", Path("/proc/self/status").read_text())
    return 1024 * float(found[1]) if found else float("nan")


if __name__ == "__main__":
    if len(sys.argv) == 3:
        print(json.dumps(measure(sys.argv[1], int(sys.argv[2]))))
    else:
        print(table(run("--small" in sys.argv)))
