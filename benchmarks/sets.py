"""Sets of candidates and groups of a taxonomy on test samples: how often they are right, how large they are.

Every case is one fit on a data set with its own choice of unseen classes. Thresholds come from held-out
training samples; test samples only measure. *Plain* sets take the most probable classes until their
probabilities add up to the coverage. ``python -m benchmarks.sets --out FILE`` runs what the data at hand
allows, resumes an interrupted run, and prints both tables; ``--methods`` and ``--data`` choose others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import Row
from benchmarks._cases import Case, data_folder, measure_all
from unseen import GZSLClassifierCV
from unseen._core.blocks import BoolArray, FloatArray, IndexArray
from unseen._core.taxonomy import CONFIDENCE, Taxonomy
from unseen.datasets import ZeroShotDataset
from unseen.datasets.splits import make_split
from unseen.methods import make_method

COVERAGE = 0.9
SLACK = {"seen": 3, "unseen": 5}  # points that the mean coverage may lack, on each kind of data
FIRST = 300  # seeds below were looked at while the thresholds were designed


def all_cases() -> Iterator[Case]:
    """Yield every case that the data at hand allows."""
    yield from random_choices("letters", "letters", 6)
    yield from random_choices("digits", "digits", 3)
    yield from random_choices("synthetic", "synthetic", 0)
    folder = data_folder()
    if folder is None:
        return
    yield from random_choices("handwritten", str(folder / "letters_handwritten.npz"), 6)
    cub = str(folder / "xlsa17" / "CUB")
    for features, n in (("clip_b16", 5), ("res50", 1)):
        yield Case(f"CUB {features}", cub, features, methods=("lda",))
        for seed in range(FIRST, FIRST + n):
            yield Case(f"CUB {features}, random", cub, features, None, seed, 50, ("lda",))


def random_choices(group: str, source: str, n_unseen: int, n: int = 20) -> Iterator[Case]:
    """Yield random choices of unseen classes."""
    for seed in range(FIRST, FIRST + n):
        yield Case(group, source, seed=seed, n_unseen=n_unseen)


def measure(case: Case, method: str) -> dict[str, Any]:
    """Return coverage and size of the sets of seen and unseen test samples, and for birds the levels."""
    data = case.load()
    if case.seed is not None and case.source != "synthetic":  # other seen test samples too
        data = replace(data, test_seen=None)
    split = make_split(data, random_state=case.seed or 0)
    model = GZSLClassifierCV(make_method(method, data.prototypes, 0), cv=split.cv())
    groups = None if data.groups is None else data.groups[split.train]
    model.fit(data.X[split.train], data.y[split.train], groups=groups)
    row: dict[str, Any] = {"group": case.group, "seed": case.seed, "method": method}
    for kind, test in (("seen", split.test_seen), ("unseen", split.test_unseen)):
        p, y = model.predict_proba(data.X[test]), data.y[test]
        row[kind] = {
            "sets": describe(p >= model.set_thresholds(COVERAGE), y),
            "plain": describe(plain_sets(p, COVERAGE), y),
        }
        if case.group.startswith("CUB"):
            row[kind]["levels"] = measure_levels(bird_groups(data), p, y)
    return row


def describe(sets: BoolArray, y: IndexArray) -> list[float]:
    """Return coverage (0 to 1), mean size, and the share of empty sets."""
    return [
        float(sets[np.arange(len(y)), y].mean()),
        float(sets.sum(axis=1).mean()),
        float((~sets.any(axis=1)).mean()),
    ]


def plain_sets(p: FloatArray, coverage: float) -> BoolArray:
    """Return the most probable classes of every sample, until their probabilities add up to the coverage.

    >>> plain_sets(np.array([[0.5, 0.1, 0.4], [0.95, 0.0, 0.05]]), 0.9)
    array([[ True, False,  True],
           [ True, False, False]])
    """
    order = np.argsort(-p, axis=1)
    falling = np.take_along_axis(p, order, axis=1)
    needed = np.cumsum(falling, axis=1) - falling < coverage - 1e-9  # what the better classes add up to
    sets = np.empty(p.shape, dtype=bool)
    np.put_along_axis(sets, order, needed, axis=1)
    return sets


def bird_groups(data: ZeroShotDataset) -> Taxonomy:
    """Return the species of CUB in groups: the last word of 001.Black_footed_Albatross."""
    groups = {name: [name.split(".")[-1].split("_")[-1]] for name in data.class_names}
    return Taxonomy.from_table(groups, data.class_names)


def measure_levels(taxonomy: Taxonomy, p: FloatArray, y: IndexArray) -> list[list[float]]:
    """Return (share answered, share right of these, their mean probability) of each level."""
    found = taxonomy.answer(p, CONFIDENCE)
    rows = []
    for number, level in enumerate(taxonomy.levels):
        here = found.level == number
        right = found.label[here] == level.nodes[level.of_class[y[here]]]
        rows.append([float(np.mean(values)) for values in (here, right, found.probability[here])])
    return rows


# ---- running and printing --------------------------------------------------------------------------------


def by_group(rows: list[dict[str, Any]]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield the rows of each data set and method, with its name."""
    for group, method in dict.fromkeys((row["group"], row["method"]) for row in rows):
        chosen = [row for row in rows if (row["group"], row["method"]) == (group, method)]
        yield f"{group} ({len(chosen)}) | {method}", chosen


def sets_table(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Yield a Markdown table: coverage and mean size, of plain sets in brackets."""
    yield "| data (fits) | method | coverage, seen | unseen | size, seen | unseen | goal |"
    yield "|---|---|" + "---:|" * 5
    for name, chosen in by_group(rows):
        coverage, size, met = [], [], True
        for kind, slack in SLACK.items():
            ours, plain = (np.mean([row[kind][how] for row in chosen], axis=0) for how in ("sets", "plain"))
            coverage.append(f"{100 * ours[0]:.1f} ({100 * plain[0]:.1f})")
            size.append(f"{ours[1]:.1f} ({plain[1]:.1f})")
            met &= 100 * ours[0] >= 100 * COVERAGE - slack
        yield f"| {name} | " + " | ".join([*coverage, *size, "met" if met else "missed"]) + " |"


def levels_table(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Yield a Markdown table: birds answered by species and by group, and how many are right."""
    yield "| data (fits) | method | samples | species: answered, right | group: answered, right | unknown |"
    yield "|---|---|---|" + "---:|" * 3
    for name, chosen in by_group([row for row in rows if "levels" in row["seen"]]):
        for kind in SLACK:
            species, group = 100 * np.mean([row[kind]["levels"] for row in chosen], axis=0)
            cells = [f"{answered:.1f}, {right:.1f}" for answered, right, _ in (species, group)]
            yield f"| {name} | {kind} | " + " | ".join([*cells, f"{100 - species[0] - group[0]:.1f}"]) + " |"


def run(small: bool = False) -> list[Row]:
    """Return rows (name, value, unit, demanded) for the embedded letters."""
    rows = [measure(case, "lda") for case in random_choices("letters", "letters", 6, 1 if small else 5)]
    return [
        (
            f"coverage of {kind} samples, LDA",
            100 * float(np.mean([row[kind]["sets"][0] for row in rows])),
            "%",
            "" if small else f">= {100 * COVERAGE - slack:g}",
        )
        for kind, slack in SLACK.items()
    ]


def main() -> None:
    """Measure, and print both tables."""
    rows = measure_all(__doc__, Path("runs/sets.jsonl"), ("lda", "eszsl"), all_cases(), measure)
    groups = list(dict.fromkeys(case.group for case in all_cases()))
    rows.sort(key=lambda row: (groups.index(row["group"]), row["method"]))
    print("\n".join([*sets_table(rows), "", *levels_table(rows)]))


if __name__ == "__main__":
    main()
