"""A few samples of unseen classes: H with their description alone, with the samples alone, with both.

A model of the seen classes is fitted and calibrated once. Then every unseen class is added with its
description and n of its samples, and H is measured on the other samples, the same ones for every n. "Both"
takes kappa and gamma as the model has chosen them. "Samples alone" has kappa 0 and the gamma that is best on
the test samples, which no user knows: if both is better all the same, the description is worth having.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks import Row, table
from unseen._core.prototypes import Prototypes
from unseen.benchmark.experiment import Experiment
from unseen.calibration.classifier import CalibratedClassifier
from unseen.datasets import load_dataset
from unseen.datasets.splits import GZSLSplit, make_split
from unseen.methods import make_method
from unseen.selection.search import GZSLClassifierCV

DATA = Path(os.environ.get("UNSEEN_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
METHODS = ("lda",)  # the others cannot use samples
COUNTS = (1, 2, 5, 10)
DRAWS = 5


@dataclass(frozen=True)
class Problem:
    """A data set and its split."""

    name: str
    X: np.ndarray
    y: np.ndarray
    S: np.ndarray
    split: GZSLSplit


def run(small: bool = False) -> list[Row]:
    """Return rows (name, value, unit, demanded); both must be the best at every count."""
    return [
        row
        for problem in (_small() if small else _cub())
        for method in METHODS
        for row in measure(problem, method, draws=2 if small else DRAWS, demand=not small)
    ]


def _cub() -> Iterator[Problem]:
    folder = DATA / "xlsa17" / "CUB"
    for features in ("res50", "clip_b16"):
        if not (folder / f"{features}.mat").is_file():
            print(f"skipped CUB {features}: no {folder / features}.mat (set UNSEEN_DATA)", file=sys.stderr)
            continue
        experiment = Experiment.load(str(folder), features=features)
        data = experiment.dataset
        yield Problem(f"CUB {features}", data.X, data.y, np.asarray(data.prototypes), experiment.split)


def _small() -> Iterator[Problem]:
    data = load_dataset(
        "synthetic", n_samples=1500, n_features=24, n_classes=24, n_attributes=10, random_state=0
    )
    yield Problem("synthetic", data.X, data.y, np.asarray(data.prototypes), make_split(data))


def measure(problem: Problem, method: str, draws: int, demand: bool = True) -> Iterator[Row]:
    """Yield H of the three ways for every count."""
    model = fit(problem, method)
    y, new = problem.y, np.setdiff1d(problem.y, model.classes_)
    S = Prototypes(new, (), problem.S[new])
    pools = [draw_pools(y, problem.split.test_unseen, new, np.random.default_rng(i)) for i in range(draws)]
    tests = [np.setdiff1d(np.r_[problem.split.test_seen, problem.split.test_unseen], pool) for pool in pools]
    train = problem.split.train
    described = deepcopy(model).add_classes(S).recalibrate(problem.X[train], y[train])

    def score(pool: np.ndarray, test: np.ndarray, kappa: float | None) -> tuple[float, float]:
        """Return H at the gamma of the model, and at the best gamma."""
        grown = deepcopy(model)
        if kappa is not None:
            grown.estimator_.set_params(kappa=kappa)
        grown.add_classes(S, X=problem.X[pool], y=y[pool])
        curve = (
            CalibratedClassifier(grown.estimator_, seen=model.classes_).fit(problem.X[test], y[test]).curve_
        )
        return curve.at(described.gamma_)[2], curve.h

    alone = [
        CalibratedClassifier(described.estimator_, seen=model.classes_)
        .fit(problem.X[test], y[test])
        .curve_.at(described.gamma_)[2]
        for test in tests
    ]
    name = f"{problem.name}, {method}"
    yield (f"{name}: kappa", model.estimator_.kappa, "samples", "")
    yield (f"{name}: 0 shots, description", float(np.mean(alone)), "H", "")
    for n in COUNTS:
        shots = [pool[:, :n].ravel() for pool in pools]
        both = [score(shot, test, None)[0] for shot, test in zip(shots, tests)]
        samples = [score(shot, test, 0.0)[1] for shot, test in zip(shots, tests)]
        least = max(np.mean(alone), np.mean(samples))
        yield (f"{name}: {n} shots, samples (best gamma)", float(np.mean(samples)), "H", "")
        yield (f"{name}: {n} shots, both", float(np.mean(both)), "H", f">= {least:.2f}" if demand else "")


def fit(problem: Problem, method: str) -> GZSLClassifierCV:
    """Return a calibrated model of the seen classes only."""
    train = problem.split.train
    seen = np.unique(problem.y[train])
    prototypes = Prototypes(seen, (), problem.S[seen])
    model = GZSLClassifierCV(make_method(method, prototypes, 0), cv=problem.split.cv())
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "No unseen class is known yet")
        return model.fit(problem.X[train], problem.y[train])


def draw_pools(y: np.ndarray, test: np.ndarray, new: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return as many test samples of each new class as the largest count, (classes, count)."""
    return np.array([rng.choice(test[y[test] == c], max(COUNTS), replace=False) for c in new])


if __name__ == "__main__":
    print(table(run("--small" in sys.argv)))
