"""Measure how typical the unseen letters are: ``python docs/scripts/letters_choices.py``.

Prints H without calibration, and with it by the paper's rule and by retention: for the fixed choice of
unseen letters, for a choice named on the command line, and for random ones. Of the random ones it prints the
mean, and on how many of them each rule gains.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from unseen import GZSLClassifierCV, SeenUnseenCurve
from unseen.datasets import ZeroShotDataset, load_dataset
from unseen.datasets.dataset import hold_out
from unseen.datasets.letters import deal_folds
from unseen.datasets.splits import make_split
from unseen.methods import make_method

METHODS = ("linear-vs", "linear-sv", "eszsl", "sae", "lda")
N_CHOICES = 20


def choose_letters(data: ZeroShotDataset, letters: Iterable[str]) -> ZeroShotDataset:
    """Return the data with other unseen letters; the typefaces for seen test stay the same."""
    data = hold_out(data, list(letters))
    return replace(data, class_folds=deal_folds(np.flatnonzero(data.seen)))


def measure(data: ZeroShotDataset, method: str) -> tuple[float, float, float]:
    """Return H on test samples: without calibration, then by the paper's rule and by retention."""
    split = make_split(data)
    search = GZSLClassifierCV(make_method(method, data.prototypes, 0), cv=split.cv())
    search.fit(data.X[split.train], data.y[split.train], groups=data.groups[split.train])
    test = np.concatenate([split.test_seen, split.test_unseen])
    before, after = (
        SeenUnseenCurve.from_scores(model.similarity(data.X[test]), data.y[test], data.seen)
        for model in (search.estimator_zsl_, search.estimator_)
    )
    return before.at(0.0).h, after.at(search.curve_.gamma).h, after.at(search.gamma_).h


def main(named: list[str]) -> None:
    """Print one Markdown row per method."""
    letters = load_dataset("letters")
    rng = np.random.default_rng(0)
    drawn = ["".join(sorted(rng.choice(letters.class_names, 6, replace=False))) for _ in range(N_CHOICES)]
    fixed = "".join(name for name, unseen in zip(letters.class_names, letters.unseen) if unseen)
    print("random:", *drawn, file=sys.stderr)
    for method in METHODS:
        H = {choice: measure(choose_letters(letters, choice), method) for choice in (fixed, *named, *drawn)}
        values = np.array([H[choice] for choice in drawn])
        gains = (values[:, 1:] > values[:, :1]).sum(axis=0)
        cells = [_arrows(H[choice]) for choice in (fixed, *named)] + [_arrows(values.mean(axis=0))]
        print(f"| {method} | {' | '.join(cells)} | {gains[0]}, {gains[1]} of {N_CHOICES} |", flush=True)


def _arrows(h: Iterable[float]) -> str:
    return "{:.1f} -> {:.1f}, {:.1f}".format(*h)


if __name__ == "__main__":
    main(sys.argv[1:])
