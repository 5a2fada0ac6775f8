"""How much H the rules for gamma lose against the best gamma on test, and how often the card is right.

Every case is one fit on a data set with its own choice of unseen classes. Its folds give the paper's gamma,
its cross-fitted samples that of the retention rule. Both are judged on the test samples, which nothing else
has seen.

``python -m benchmarks.regret --out FILE`` runs everything that the data at hand allows, resumes an
interrupted run, and prints one line per data set; ``--methods`` and ``--data`` choose less.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import Row
from benchmarks._cases import Case, data_folder, measure_all
from unseen.calibration.classifier import CalibratedClassifier
from unseen.calibration.goals import Goal
from unseen.card import expected_accuracies
from unseen.datasets.splits import make_split
from unseen.methods import METHODS, make_method
from unseen.selection.gamma import choose_retention, gamma_at_retention, seen_alone
from unseen.selection.search import GZSLClassifierCV

LEARNED = [name for name, row in METHODS.items() if not row.shared_space]
RULES = ("paper", "retention")
CLOSED = ["linear-vs", "linear-sv", "eszsl", "sae", "lda"]


def all_cases() -> Iterator[Case]:
    """Yield every case that the data at hand allows."""
    yield Case("digits", "digits")
    yield from (Case("digits", "digits", seed=seed, n_unseen=3) for seed in range(30))
    yield from (Case("synthetic", "synthetic", seed=seed) for seed in range(30))
    yield Case("letters", "letters")
    yield from (Case("letters", "letters", seed=seed, n_unseen=6) for seed in range(40))
    folder = data_folder()
    if folder is None:
        return
    letters = str(folder / "letters_handwritten.npz")
    yield from (Case("handwritten letters", letters, seed=seed, n_unseen=6) for seed in range(20))
    cub = str(folder / "xlsa17" / "CUB")
    standard = str(folder / "xlsa17" / "standard_split" / "CUB")
    yield Case("CUB res50_10crop, proposed", cub, "res50_10crop")
    for features in ("res50", "lite2", "clip_b16"):
        yield Case(f"CUB {features}, proposed", cub, features)
        yield Case(f"CUB {features}, standard", cub, features, standard)
        yield from (
            Case(f"CUB {features}, 50 at random", cub, features, seed=k, n_unseen=50) for k in range(5)
        )


def measure(case: Case, method: str) -> dict[str, Any]:
    """Return what both rules lose, what no calibration gives, and whether the card's intervals hold."""
    data = case.load()
    split = make_split(data, random_state=case.seed or 0)
    model = GZSLClassifierCV(make_method(method, data.prototypes, 0), cv=split.cv())
    start = time.perf_counter()
    groups = None if data.groups is None else data.groups[split.train]
    model.fit(data.X[split.train], data.y[split.train], groups=groups)
    seconds = time.perf_counter() - start
    test = np.concatenate([split.test_seen, split.test_unseen])
    X, y = data.X[test], data.y[test]
    curve = CalibratedClassifier(model.estimator_).fit(X, y).curve_
    truth, expected = curve.at(model.gamma_), expected_accuracies(model)
    few = choose_for(model, Goal(unseen_share=10))
    return {
        "group": case.group,
        "seed": case.seed,
        "method": method,
        "best": curve.h,
        "none": curve.at(0.0)[2],
        "paper": curve.at(model.curve_.gamma)[2],
        "retention": truth[2],
        "truth": list(truth),
        "expected": [expected.unseen, expected.seen, expected.H],
        "few_truth": curve.at(few.gamma_)[0],
        "few_expected": expected_accuracies(few).unseen,
        "seconds": seconds,
    }


def choose_for(model: GZSLClassifierCV, goal: Goal) -> GZSLClassifierCV:
    """Return a fitted model with the gamma that another goal chooses from the same held-out samples."""
    other, held_out = copy(model), model.held_out_
    share = choose_retention(held_out.rehearsals, seen_alone(held_out.cross_fitted), goal)
    other.gamma_ = float(gamma_at_retention(held_out.cross_fitted, share))
    return other


def covered(row: dict[str, Any], k: int) -> bool:
    """Return whether the truth lies in the card's interval: 0 unseen, 1 seen, 2 H."""
    _, low, high = row["expected"][k]
    return bool(low <= row["truth"][k] <= high)


def covered_if_few(row: dict[str, Any]) -> bool:
    """Return whether the unseen accuracy lies in the card's interval with unseen_share=10."""
    _, low, high = row["few_expected"]
    return bool(low <= row["few_truth"] <= high)


def _mean_regrets(rows: list[dict[str, Any]]) -> list[float]:
    """Return how much H each of the rules loses on average."""
    return [float(np.mean([row["best"] - row[rule] for row in rows])) for rule in RULES]


def summarize(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Yield a Markdown table: mean regret of both rules, worse than none, coverage of the card."""
    yield (
        "| data | cases | best H | paper | retention | worse than none: paper | retention | card U, S, H | "
        "U, 10 % unseen |"
    )
    yield "|---|---:|---:|---:|---:|---:|---:|---:|---:|"
    for group in [*dict.fromkeys(row["group"] for row in rows), "all"]:
        chosen = [row for row in rows if group in (row["group"], "all")]
        lost = _mean_regrets(chosen)
        worse = [100 * np.mean([row[rule] < row["none"] - 1 for row in chosen]) for rule in RULES]
        inside = [100 * np.mean([covered(row, k) for row in chosen]) for k in range(3)]
        best = np.mean([row["best"] for row in chosen])
        yield (
            f"| {group} | {len(chosen)} | {best:.1f} | {lost[0]:.2f} | {lost[1]:.2f} | "
            f"{worse[0]:.1f} % | {worse[1]:.1f} % | "
            f"{inside[0]:.0f} {inside[1]:.0f} {inside[2]:.0f} % | "
            f"{100 * np.mean([covered_if_few(row) for row in chosen]):.0f} % |"
        )


def by_method(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Yield a Markdown table of mean regret, paper -> retention, by data set and method."""
    methods = list(dict.fromkeys(row["method"] for row in rows))
    yield "| data | " + " | ".join(methods) + " |"
    yield "|---" * (len(methods) + 1) + "|"
    for group in dict.fromkeys(row["group"] for row in rows):
        cells = []
        for method in methods:
            chosen = [row for row in rows if (row["group"], row["method"]) == (group, method)]
            cells.append(" → ".join(f"{lost:.2f}" for lost in _mean_regrets(chosen)) if chosen else "")
        yield f"| {group} | " + " | ".join(cells) + " |"


def run(small: bool = False) -> list[Row]:
    """Return rows (name, value, unit, demanded) for the embedded and the synthetic data."""
    n = 2 if small else 10
    cases = [Case("digits", "digits", seed=s, n_unseen=3) for s in range(n)]
    cases += [Case("synthetic", "synthetic", seed=s) for s in range(n)]
    rows = [measure(case, method) for case in cases for method in CLOSED]
    paper, retention = _mean_regrets(rows)
    ratio = paper / max(retention, 1e-9)
    return [("regret of the paper's rule / of retention", ratio, "", "" if small else ">= 2")]


def main() -> None:
    """Measure, and print both tables."""
    rows = measure_all(__doc__, Path("runs/regret.jsonl"), LEARNED, all_cases(), measure)
    print("\n".join([*summarize(rows), "", *by_method(rows)]))


if __name__ == "__main__":
    main()
