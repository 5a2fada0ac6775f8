"""Several candidates through the same folds: a method, and how features are scaled.

The candidates come in order of preference. With few classes the mean of small differences is noise, so a
candidate takes the lead if its validation H is higher on *every* fold. Methods that compare samples and
descriptions in one space go by the mean: the first of them, cosine, is not trained.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from unseen._core.blocks import FloatArray
from unseen._core.samples import TrainingSet
from unseen.selection.search import GZSLClassifierCV


def fit_best(
    searches: Mapping[str, GZSLClassifierCV], samples: TrainingSet, by_mean: Collection[str] = ()
) -> str:
    """Compare candidates on their folds; retrain and calibrate the leader alone, and return its name.

    Parameters
    ----------
    searches : mapping of GZSLClassifierCV
        The candidates by name, in order of preference. All of them have ``cv_results_`` afterwards.
    samples : TrainingSet
    by_mean : collection of str
        Which of them lead by their mean H.

    Examples
    --------
    >>> from unseen import ESZSL, LinearSV
    >>> from unseen.datasets import load_dataset
    >>> from unseen._core.samples import as_samples
    >>> data = load_dataset("digits")
    >>> seen = data.seen[data.y]
    >>> methods = {"eszsl": ESZSL(data.prototypes), "linear-sv": LinearSV(data.prototypes)}
    >>> searches = {name: GZSLClassifierCV(method) for name, method in methods.items()}
    >>> fit_best(searches, as_samples(data.X[seen], data.y[seen])) in searches
    True
    """
    chosen = {name: search.choose_params(samples) for name, search in searches.items()}
    leader, *others = searches
    for name in others:
        better = fold_scores(searches[name]) > fold_scores(searches[leader])
        if better.all() or (name in by_mean and searches[name].best_score_ > searches[leader].best_score_):
            leader = name
    searches[leader].finish(samples, *chosen[leader])
    return leader


def fold_scores(search: GZSLClassifierCV) -> FloatArray:
    """Return the validation H of the best parameters on each fold, (folds,)."""
    results = search.cv_results_
    best = int(np.argmax(results["mean_test_score"]))
    names = [name for name in results if name.startswith("split") and name.endswith("_test_score")]
    return np.array([results[name][best] for name in names])
