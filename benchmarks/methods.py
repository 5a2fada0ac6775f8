"""Closed forms: a whole path of parameters against one ordinary solution per parameter, and peak memory.

The ordinary solutions are slow, so a few are timed and the least time is multiplied by their number.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.linalg
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import Ridge

from benchmarks import Row, table
from unseen import ESZSL, LDA, SAE, LinearSV, LinearVS
from unseen._core.scaling import scale_rows
from unseen.datasets import load_dataset
from unseen.methods import METHODS

# samples, features, classes, attributes
SIZES = {"CUB": (11788, 2048, 200, 312)}
SMALL = {"small": (4000, 256, 50, 40)}


@dataclass(frozen=True)
class Problem:
    """Samples as our methods take them, and as the ordinary solutions do: scaled, with targets."""

    name: str
    X: np.ndarray  # (samples, features), float32
    y: np.ndarray  # (samples,)
    S: np.ndarray  # (classes, attributes)

    @classmethod
    def make(cls, name: str, n: int, features: int, classes: int, attributes: int) -> Problem:
        """Draw a problem of the given size."""
        data = load_dataset(
            "synthetic",
            n_samples=n,
            n_features=features,
            n_classes=classes,
            n_attributes=attributes,
            random_state=0,
        )
        return cls(name, data.X, data.y, data.prototypes)

    @property
    def scaled(self) -> np.ndarray:
        """Rows of unit length, in float64."""
        return scale_rows(self.X, "l2").astype(np.float64)


def run(small: bool = False) -> list[Row]:
    """Return rows (name, value, unit, demanded); a small run only looks whether we are faster."""
    rows: list[Row] = []
    for name, size in (SMALL if small else SIZES).items():
        problem = Problem.make(name, *size)
        for measure, demanded in ((_sae, 12), (_eszsl, 40)):
            label, ratio, difference = measure(problem)
            rows.append((f"{name}: {label}", ratio, "times", f">= {1 if small else demanded}"))
            rows.append((f"{name}: {label}, relative difference", difference, "", "<= 1e-8"))
        rows += [*_linear(problem, small), *_lda(problem, small), *_memory(problem)]
    return rows


# ---- one path against many solutions ---------------------------------------------------------------------


def _sae(problem: Problem) -> tuple[str, float, float]:
    alphas = np.logspace(-3, 3, 12)
    ours, mappings = _time_path(SAE(problem.S), problem, [{"alpha": a} for a in alphas])
    X, T = problem.scaled, problem.S[problem.y]
    TT, XX, TX = T.T @ T, X.T @ X, T.T @ X

    def ordinary(alpha: float) -> np.ndarray:
        return scipy.linalg.solve_sylvester(TT, alpha * XX, (1 + alpha) * TX)

    seconds, W = _time(lambda: ordinary(alphas[6]))
    return "12 solve_sylvester (1 timed) / 12 alphas of SAE", 12 * seconds / ours, _apart(mappings[6], W)


def _eszsl(problem: Problem) -> tuple[str, float, float]:
    grid = [{"alpha": a, "beta": b} for a in np.logspace(-3, 3, 7) for b in np.logspace(-3, 3, 7)]
    ours, mappings = _time_path(ESZSL(problem.S), problem, grid)
    X, S = problem.scaled, problem.S
    Y = np.eye(len(S))[problem.y]
    identity = np.eye(X.shape[1]), np.eye(S.shape[1])

    def ordinary(alpha: float, beta: float) -> np.ndarray:
        visual = np.linalg.pinv(X.T @ X + alpha * identity[0])
        semantic = np.linalg.pinv(S.T @ S + beta * identity[1])
        return (visual @ (X.T @ Y @ S) @ semantic).T

    seconds, V = _time(lambda: ordinary(**grid[24]))
    return "49 cells as peers do (1 timed) / 49 cells of ESZSL", 49 * seconds / ours, _apart(mappings[24], V)


def _linear(problem: Problem, small: bool) -> Iterator[Row]:
    """Yield both linear models against Ridge: in float64 it gives our answer, in float32 a rougher one."""
    X, T = scale_rows(problem.X, "l2"), problem.S[problem.y]
    alphas = np.logspace(-7, 0, 12)
    for name, method, A, B, times in (("linear-vs", LinearVS, X, T, 4), ("linear-sv", LinearSV, T, X, 6)):
        ours, mappings = _time_path(method(problem.S), problem, [{"alpha": a} for a in alphas])
        label = f"{problem.name}: 12 Ridge (2 timed) / 12 alphas of {name}"
        for dtype, demanded in ((np.float64, f">= {1 if small else times}"), (np.float32, "")):
            ridge, W = _time_ridge(A.astype(dtype), B.astype(dtype), alphas[6])
            apart = _apart(mappings[6], W if name == "linear-vs" else W.T)
            yield (f"{label}, {dtype.__name__}", 12 * ridge / ours, "times", demanded)
            limit = "<= 1e-8" if dtype is np.float64 else ""
            yield (f"{label}, {dtype.__name__}, relative difference", apart, "", limit)


def _lda(problem: Problem, small: bool) -> Iterator[Row]:
    """Yield single fits of LDA against a path, and shrinkages against scikit-learn's fits."""
    grid = [
        {"shrinkage": rho, "alpha": alpha, "bandwidth": bandwidth}
        for rho in (0.1, 0.3, 0.5, 0.7, 0.9)
        for alpha in (0.03, 0.1, 0.3, 1.0)
        for bandwidth in (1.0, 2.0, 4.0)
    ]
    one = _time_path(LDA(problem.S), problem, grid[:1])[0]
    path = _time_path(LDA(problem.S), problem, grid)[0]
    label = f"{problem.name}: 60 fits of LDA (1 timed) / 60 combinations of its parameters"
    yield (label, 60 * one / path, "times", f">= {1 if small else 8}")
    # one-hot prototypes and no ridge: the model that scikit-learn fits, whose scores also hold the priors
    X, rhos = problem.scaled, np.linspace(0.05, 0.95, 12)
    plain = LDA(alpha=0.0, kernel="linear", normalize=None)

    def ours() -> list[np.ndarray]:
        models = plain.fit_path(X, problem.y, [{"shrinkage": rho} for rho in rhos])
        return [model.similarity(X[:200]) for model in models]

    seconds, scores = min((_time(ours) for _ in range(3)), key=lambda found: found[0])
    theirs = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=rhos[6])
    ordinary = _time(lambda: theirs.fit(X, problem.y))[0]
    label = f"{problem.name}: 12 fits of scikit-learn's LDA (1 timed) / 12 shrinkages of ours"
    yield (label, 12 * ordinary / seconds, "times", f">= {1 if small else 8}")
    apart = _apart(
        _centered(scores[6]), _centered(theirs.decision_function(X[:200]) - np.log(theirs.priors_))
    )
    yield (f"{label}, relative difference", apart, "", "<= 1e-6")


def _centered(scores: np.ndarray) -> np.ndarray:
    """Subtract what all classes share from the scores of each sample."""
    return scores - scores.mean(axis=1, keepdims=True)


def _time_ridge(A: np.ndarray, B: np.ndarray, alpha: float) -> tuple[float, np.ndarray]:
    """Return the least time of two fits, and what they give."""
    model = Ridge(alpha=alpha * len(A), fit_intercept=False)
    return min(_time(lambda: model.fit(A, B))[0] for _ in range(2)), model.coef_


def _time_path(model: Any, problem: Problem, params: list[dict[str, float]]) -> tuple[float, list[Any]]:
    """Return the least time of two paths (ten small ones), moments included, and all mappings."""

    def path() -> list[Any]:
        return [fitted.mapping_ for fitted in model.fit_path(problem.X, problem.y, params)]

    tries = [_time(path) for _ in range(10 if problem.name in SMALL else 2)]
    return min(seconds for seconds, _ in tries), tries[0][1]


def _time(job: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = job()
    return time.perf_counter() - start, result


def _apart(ours: np.ndarray, theirs: np.ndarray) -> float:
    return float(np.abs(ours - theirs).max() / np.abs(theirs).max())


# ---- memory ---------------------------------------------------------------------------------------------

_FIT = """
import re, sys
import numpy as np
from unseen.methods import find_method

method, X, y, S = sys.argv[1], *map(np.load, sys.argv[2:])
find_method(method)(S).fit(X, y)
# not getrusage, which starts with the memory of the process that has started this one
print(1024 * int(re.search(r"VmHWM:\\s*(\\d+)", open("/proc/self/status").read())[1]))
"""


def _memory(problem: Problem) -> Iterator[Row]:
    """Yield each method's peak, the whole process counted, against twice the features plus 500 MB."""
    allowed = 2 * problem.X.nbytes + 500e6
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, f"{name}.npy") for name in ("X", "y", "S")]
        for file, array in zip(files, (problem.X, problem.y, problem.S), strict=True):
            np.save(file, array)
        for method in (name for name, row in METHODS.items() if not row.shared_space):
            command = [sys.executable, "-W", "ignore", "-c", _FIT, method, *map(str, files)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            label = f"{problem.name}: peak of {method} / (2 x features + 500 MB)"
            yield (label, float(done.stdout) / allowed, "", "<= 1")


if __name__ == "__main__":
    print(table(run("--small" in sys.argv)))
