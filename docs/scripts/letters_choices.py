"""Measure how typical the unseen letters are: ``python docs/scripts/letters_choices.py``.

Prints H without and with calibration (the paper's rule) for the fixed choice of unseen letters, for a choice
named on the command line, and for random ones: their mean, and on how many of them calibration gains.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from unseen import GZSLClassifierCV, SeenUnseenCurve
from unseen._core.labels import class_mask, label_positions
from unseen.datasets import ZeroShotDataset, load
from unseen.datasets.letters import deal_folds
from unseen.datasets.splits import make_split
from unseen.methods import make_method

METHODS = ("linear-vs", "linear-sv", "eszsl", "sae", "lda")
N_CHOICES = 20
N_TYPEFACES = 126


def hold_out(data: ZeroShotDataset, letters: Iterable[str]) -> ZeroShotDataset:
    """Return the data with other unseen letters; the typefaces for seen test stay the same."""
    unseen = class_mask(label_positions(list(letters), data.class_names), len(data.class_names))
    face = np.arange(len(data.y)) % N_TYPEFACES
    on_test = np.isin(face, face[data.test_seen])
    return replace(
        data,
        unseen=unseen,
        test_seen=np.flatnonzero(on_test & ~unseen[data.y]),
        test_unseen=np.flatnonzero(unseen[data.y]),
        class_folds=deal_folds(np.flatnonzero(~unseen)),
    )


def measure(data: ZeroShotDataset, method: str) -> tuple[float, float]:
    """Return H on test samples without calibration and with calibration and lambda chosen for both."""
    split = make_split(data)
    search = GZSLClassifierCV(make_method(method, data.prototypes, 0), cv=split.cv(), gamma="paper")
    search.fit(data.X[split.train], data.y[split.train])
    test = np.concatenate([split.test_seen, split.test_unseen])
    before, after = (
        SeenUnseenCurve.from_scores(model.similarity(data.X[test]), data.y[test], data.seen)
        for model in (search.estimator_zsl_, search.estimator_)
    )
    return before.at(0.0).h, after.at(search.gamma_).h


def main(named: list[str]) -> None:
    """Print one Markdown row per method."""
    letters = load("letters")
    rng = np.random.default_rng(0)
    drawn = ["".join(sorted(rng.choice(letters.class_names, 6, replace=False))) for _ in range(N_CHOICES)]
    fixed = "".join(name for name, unseen in zip(letters.class_names, letters.unseen) if unseen)
    print("random:", *drawn, file=sys.stderr)
    for method in METHODS:
        H = {choice: measure(hold_out(letters, choice), method) for choice in (fixed, *named, *drawn)}
        cells = [f"{H[choice][0]:.1f} -> {H[choice][1]:.1f}" for choice in (fixed, *named)]
        none, calibrated = np.array([H[choice] for choice in drawn]).T
        cells += [
            f"{none.mean():.1f} -> {calibrated.mean():.1f}",
            f"{(calibrated > none).sum()} of {N_CHOICES}",
        ]
        print(f"| {method} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
