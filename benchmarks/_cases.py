"""Fits on many data sets and choices of unseen classes: one line of JSON each, resumed where it stopped."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from unseen.datasets import ZeroShotDataset, load_dataset
from unseen.datasets.dataset import hold_out


@dataclass(frozen=True)
class Case:
    """A data set with one choice of unseen classes: how to load it, and the seed of the choice."""

    group: str
    source: str
    features: str = "res101"
    split_dir: str | None = None
    seed: int | None = None  # None for the official choice
    n_unseen: int = 0
    methods: tuple[str, ...] = ()  # measured by default; all where it is empty

    def load(self) -> ZeroShotDataset:
        """Return the data set, with the classes of this choice unseen."""
        options: dict[str, Any] = {}
        if self.source == "synthetic":
            options = {"n_samples": 40 * 25, "n_features": 48, "n_classes": 40, "n_attributes": 16}
            return load_dataset("synthetic", **options, random_state=self.seed)
        if self.group.startswith("CUB"):
            options = {"features": self.features, "split_dir": self.split_dir}
        data = load_dataset(self.source, **options)
        return data if self.seed is None else choose_unseen(data, self.seed, self.n_unseen)


def choose_unseen(data: ZeroShotDataset, seed: int, n_unseen: int) -> ZeroShotDataset:
    """Return the data set with other unseen classes, drawn at random."""
    drawn = np.random.default_rng(seed).permutation(len(data.class_names))[:n_unseen]
    return hold_out(data, [data.class_names[k] for k in np.sort(drawn)])


def data_folder() -> Path | None:
    """Return the folder of real data: $UNSEEN_DATA, else ../shared/data beside the project, else None."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    found = Path(os.environ.get("UNSEEN_DATA", beside))
    return found if found.is_dir() else None


Measure = Callable[[Case, str], dict[str, Any]]  # (case, method) -> a row with its group, seed and method


def measure_all(
    doc: str | None, out: Path, methods: Iterable[str], cases: Iterable[Case], measure: Measure
) -> list[dict[str, Any]]:
    """Measure what the command line asks for; return the rows of the data sets that it names."""
    parser = argparse.ArgumentParser(description=(doc or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=out)
    parser.add_argument("--methods", default="", help="instead of those of each case, such as lda,sync")
    parser.add_argument("--data", default="", help="only groups that contain this text")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    options.out.parent.mkdir(parents=True, exist_ok=True)
    chosen = [case for case in cases if options.data in case.group]
    if options.methods:
        chosen, methods = [replace(case, methods=()) for case in chosen], options.methods.split(",")
    rows = run_cases(chosen, list(methods), measure, options.out, options.jobs)
    return [row for row in rows if options.data in row["group"]]


def run_cases(
    cases: Iterable[Case], methods: Sequence[str], measure: Measure, out: Path, jobs: int
) -> list[dict[str, Any]]:
    """Measure what the file does not hold yet, one line of JSON per case and method."""
    done = [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []
    known = {(row["group"], row["seed"], row["method"]) for row in done}
    tasks = [(c, m) for c in cases for m in c.methods or methods if (c.group, c.seed, m) not in known]
    calls = (delayed(measure)(case, method) for case, method in tasks)
    with open(out, "a", encoding="utf-8") as file:
        for row in Parallel(n_jobs=jobs, return_as="generator_unordered")(calls):
            file.write(json.dumps(row) + "\n")
            file.flush()
            done.append(row)
    return done
