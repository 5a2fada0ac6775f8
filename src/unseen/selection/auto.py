"""Several candidates through the same folds: a method, and how features are scaled.

The candidates come in order of preference. With few classes the mean of small differences is noise, so a
candidate takes the lead if its validation H is higher on *every* fold. Methods that compare samples and
descriptions in one space go by the mean: the first of them, cosine, is not trained.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from unseen._core.blocks import FloatArray
from unseen.selection.rehearsal import FoldIndices, TrainingSet
from unseen.selection.search import Choice, GZSLClassifierCV


class Entry(NamedTuple):
    """A candidate after its folds."""

    name: str
    search: GZSLClassifierCV
    folds: list[FoldIndices]
    chosen: Sequence[Choice]

    def fold_scores(self) -> FloatArray:
        """Return the validation H of its best parameters on each fold, (folds,)."""
        results = self.search.cv_results_
        best = int(np.argmax(results["mean_test_score"]))
        return np.array([results[f"split{k}_test_score"][best] for k in range(len(self.folds))])


class Contest:
    """Compare candidates on their folds; only the leader is retrained and calibrated.

    Examples
    --------
    >>> from unseen import ESZSL, LinearSV
    >>> from unseen.datasets import load_dataset
    >>> from unseen.selection.rehearsal import as_samples
    >>> data = load_dataset("digits")
    >>> seen = data.seen[data.y]
    >>> contest = Contest(as_samples(data.X[seen], data.y[seen]))
    >>> contest.enter("eszsl", GZSLClassifierCV(ESZSL(data.prototypes)))
    >>> contest.enter("linear-sv", GZSLClassifierCV(LinearSV(data.prototypes)))
    >>> contest.leader.name in contest.compared
    True
    """

    leader: Entry

    def __init__(self, samples: TrainingSet) -> None:
        self.samples = samples
        self.compared: dict[str, float] = {}  # mean validation H of every candidate

    def enter(self, name: str, search: GZSLClassifierCV, *, unanimous: bool = True) -> None:
        """Run a candidate through its folds; it leads if every fold agrees, or else by its mean H."""
        entry = Entry(name, search, *search.choose_params(self.samples))
        if not self.compared or self._leads(entry, unanimous):
            self.leader = entry
        self.compared[name] = search.best_score_

    def compare(self, name: str, search: GZSLClassifierCV) -> None:
        """Run a candidate through its folds that cannot lead."""
        search.choose_params(self.samples)
        self.compared[name] = search.best_score_

    def _leads(self, entry: Entry, unanimous: bool) -> bool:
        if unanimous:
            return bool((entry.fold_scores() > self.leader.fold_scores()).all())
        return entry.search.best_score_ > self.leader.search.best_score_

    def finish(self) -> GZSLClassifierCV:
        """Return the model of the leader, retrained on everything and calibrated."""
        return self.leader.search.finish(self.samples.alone(), self.leader.folds, self.leader.chosen)
