"""A few samples of a new class: how many of them its description is worth, measured on held-out classes.

With n samples of a class, its mean is mu = (kappa mu(s) + sum x) / (kappa + n). The folds simulate that: each
held-out class gives away 1, 2 or 5 of its validation samples, and the others are scored. kappa has the best
mean harmonic mean.

A class with samples is still an unseen class, but the more samples it has, the less help it needs against the
seen classes. The best gamma falls in proportion to the weight n / (kappa + n) of the samples, from gamma to
gamma - bias. Classes may have different numbers of samples, so gamma stays, and the model subtracts

    bias n / (kappa + n)

from the scores of the class.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from unseen._core.blocks import BoolArray, FloatArray, IndexArray
from unseen._core.labels import LabelArray, label_positions
from unseen._core.rows import choose_rows
from unseen._core.scaling import scaled_products
from unseen.base import KAPPA, ZeroShotClassifier
from unseen.calibration.curve import ScoreMaxima, SeenUnseenCurve, mean_curve
from unseen.selection.evaluation import FoldIndices, Params, Samples, fit_each, last_step, plain_rows

COUNTS = (1, 2, 5)  # samples of each class
KAPPAS = (1.0, 2.0, 3.0, 5.0, 8.0, 12.0, 20.0)
DRAWS = 2  # of the samples
MOST = 5000  # validation samples of a fold that take part

Case = tuple[int, float]  # (samples of each class, kappa); (0, inf) for descriptions alone
DESCRIBED: Case = (0, np.inf)


@dataclass(frozen=True)
class FewShots:
    """The worth of a description, and how much less gamma a class with many samples needs."""

    kappa: float = KAPPA
    bias: float = 0.0


def choose_kappa(found: Sequence[Mapping[Case, SeenUnseenCurve]]) -> FewShots:
    """Return the kappa with the best harmonic mean over all counts, and the bias that goes with it.

    Parameters
    ----------
    found : sequence of dict
        Seen-unseen curves by case, one dict per fold and draw.
    """
    means = {case: mean_curve([curves[case] for curves in found]) for case in found[0]}
    kappa = max(KAPPAS, key=lambda kappa: sum(means[n, kappa].h for n in COUNTS))
    gamma = means[DESCRIBED].gamma
    weight = {n: n / (kappa + n) for n in COUNTS}
    # gamma(n) = gamma - bias weight(n): no bias at all, or the one that is best for one of the counts
    biases = [0.0, *((gamma - means[n, kappa].gamma) / weight[n] for n in COUNTS)]
    best = max(biases, key=lambda b: sum(means[n, kappa].at(gamma - b * weight[n])[2] for n in COUNTS))
    return FewShots(kappa, float(best))


def simulate_shots(
    estimator: Any, samples: Samples, fold: FoldIndices, params: Params, weights: str = "per-class"
) -> list[dict[Case, SeenUnseenCurve]]:
    """Fit on the train part of a fold; give each held-out class a few samples, and score all others.

    Returns the seen-unseen curve of every case, a dict for each draw of the samples.
    """
    train, validation = fold
    rng = np.random.default_rng(0)
    if len(validation) > MOST:
        validation = np.sort(rng.choice(validation, MOST, replace=False))
    model = next(fit_each(estimator, samples.take(train), [params]))
    rows, y = plain_rows(model, choose_rows(samples.X, validation)), samples.y
    model = last_step(model)
    vars(model).pop("feature_names_in_", None)  # they were compared; from here on rows are an array
    labels = np.union1d(y[train], y[validation])
    rehearsal = Rehearsal(model, labels, np.isin(labels, y[train]), weights)
    index = label_positions(y[validation], labels)
    return [dict(rehearsal.curves(rows, index, rng)) for _ in range(DRAWS)]


@dataclass(frozen=True)
class Rehearsal:
    """A model among some classes of which those that it has not seen get a few samples."""

    model: ZeroShotClassifier
    labels: LabelArray  # (classes,)
    seen: BoolArray  # (classes,)
    weights: str

    def curves(
        self, X: FloatArray, y: IndexArray, rng: np.random.Generator
    ) -> Iterator[tuple[Case, SeenUnseenCurve]]:
        """Yield the curve of every case for one draw; X are validation samples, y positions in labels."""
        turns = draw_turns(y, self.seen, rng)
        rest = turns < 0
        scores = self.model.similarity(X[rest])[:, label_positions(self.labels, self.model.classes_)]
        yield DESCRIBED, self._curve(scores, y[rest])
        new = self.labels[~self.seen]
        S = self.model.prototypes_[label_positions(new, self.model.classes_)]
        for n in COUNTS:
            given = (turns >= 0) & (turns < n)
            shots = self.model._count_shots(new, X[given], self.labels[y[given]])
            for kappa in KAPPAS:
                rows = self.model._rows_of_means(S, shots.described_share(kappa), shots.means)
                coef, intercept = self.model._fold(*rows)
                (product,) = scaled_products(X[rest], [coef.T.astype(X.dtype)], self.model.normalize)
                scores[:, ~self.seen] = product + intercept
                yield (n, kappa), self._curve(scores, y[rest])

    def _curve(self, scores: FloatArray, y: IndexArray) -> SeenUnseenCurve:
        maxima = ScoreMaxima.from_scores(scores, self.seen)
        return SeenUnseenCurve.from_maxima(maxima, y, self.seen, self.weights)


def draw_turns(y: IndexArray, seen: BoolArray, rng: np.random.Generator) -> IndexArray:
    """Return when each sample of an unseen class is given away, 0 first; -1 for those that are scored.

    A class gives away as many samples as the largest count, and at most half of what it has.

    >>> y, seen = np.array([0, 1, 1, 1, 1]), np.array([True, False])
    >>> sorted(draw_turns(y, seen, np.random.default_rng(0)).tolist())
    [-1, -1, -1, 0, 1]
    """
    turns = np.full(len(y), -1)
    for c in np.flatnonzero(~seen):
        members = rng.permutation(np.flatnonzero(y == c))
        n = min(max(COUNTS), len(members) // 2)
        turns[members[:n]] = np.arange(n)
    return turns
