"""From a data set to a calibrated model and its card."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from unseen._core.blocks import BLOCK
from unseen._core.checks import warn_about
from unseen._core.prototypes import Prototypes
from unseen._core.rows import choose_rows, read_rows
from unseen._core.samples import as_samples
from unseen.base import ZeroShotClassifier
from unseen.card import Card
from unseen.datasets import ZeroShotDataset
from unseen.datasets.splits import GZSLFolds, training_samples
from unseen.errors import UnseenError
from unseen.methods import describe_method, make_method, method_name
from unseen.selection.auto import fit_best
from unseen.selection.search import GZSLClassifierCV

AUTO = "auto"


def train(
    data: ZeroShotDataset,
    method: str = AUTO,
    *,
    normalize: str = AUTO,
    gamma: str | float = "retention",
    random_state: int = 0,
    n_jobs: int | None = None,
    verbose: bool = False,
    **options: Any,
) -> tuple[GZSLClassifierCV, Card]:
    """Return a model of all classes of a data set, and its card.

    All samples of the seen classes are used, except those of the data set's own test sets. What may be wrong
    with data or model is on the card, and issued as warnings.

    Parameters
    ----------
    data : ZeroShotDataset
    method : {"auto"}, name of a method, or ``module:Class``
        ``"auto"`` is LDA. If features and descriptions have the same width, it compares cosine, anchored LDA
        and LDA: the better of the first two by their mean H, unless LDA has a higher H on every fold.
    normalize : {"auto", "l2", "sqrt", "standard", "none"}
        How features are scaled, see ``LDA``. ``"auto"`` scales samples to unit length, unless square roots
        (if no feature is negative) or standardized features have a higher H on every fold.
    gamma : {"retention", "paper"} or float
        How the calibration gets from the folds to the final model, see ``GZSLClassifierCV``.
    random_state : int
        For the folds and for stochastic methods.
    n_jobs : int, optional
        Folds that run at the same time.
    verbose : bool
        Show progress.
    **options
        Further parameters of ``GZSLClassifierCV``, such as ``min_seen``.

    Examples
    --------
    >>> from unseen.datasets import load_dataset
    >>> model, card = train(load_dataset("digits"), "linear-sv")
    >>> card.classes["unseen"]
    ['3', '4', '6']
    """
    S, index = _descriptions(data), training_samples(data)
    samples = as_samples(data.X, S.index[data.y], data.groups).take(index)
    folds = list(class_folds(data, random_state).split(samples.X, samples.y, samples.groups))

    def search(name: str, scaling: str | None = None) -> GZSLClassifierCV:
        estimator = make_method(name, S, random_state, scaling)
        return GZSLClassifierCV(estimator, cv=folds, gamma=gamma, n_jobs=n_jobs, verbose=verbose, **options)

    candidates = method_candidates(data, method, normalize)
    searches = {name: search(*candidate) for name, candidate in candidates.items()}
    leader = fit_best(searches, samples, by_mean=["lda-anchored"])
    model = searches[leader]
    if same_width(data) and "cosine" not in searches:
        searches["cosine"] = search("cosine")
        searches["cosine"].choose_params(samples)
    compared = {name: search.best_score_ for name, search in searches.items()}
    model.held_out_.facts |= training_facts(data, len(index), candidates[leader][0], compared)
    _name_features(model.estimator_, data.feature_names)
    card = model.card()
    warn_about(card.checks, stacklevel=2)
    return model, card


def train_uncalibrated(
    data: ZeroShotDataset, method: str = AUTO, *, normalize: str = AUTO, random_state: int = 0
) -> ZeroShotClassifier:
    """Return a method with its default parameters, fitted to a data set: for too few classes to hold out.

    Nothing is calibrated, and nothing is known of the accuracy. ``"auto"`` is LDA, or cosine if features and
    descriptions have the same width.

    Examples
    --------
    >>> from unseen.datasets import load_dataset
    >>> type(train_uncalibrated(load_dataset("digits"))).__name__
    'LDA'
    """
    S, samples = _descriptions(data), training_samples(data)
    y = S.index[data.y[samples]]
    n_seen = len(np.unique(y))
    if n_seen < 2:
        raise UnseenError(f"The number of seen classes is {n_seen}, expected at least two to train on.")
    name, scaling = next(iter(method_candidates(data, method, normalize).values()))
    model = make_method(name, S, random_state, scaling)
    model.fit(choose_rows(data.X, samples), y)
    _name_features(model, data.feature_names)
    return model


def _descriptions(data: ZeroShotDataset) -> Prototypes:
    return Prototypes(np.array(data.class_names), data.attribute_names or (), data.prototypes)


def _name_features(estimator: Any, names: Sequence[str] | None) -> None:
    """Tell an estimator that was fitted on arrays what their columns are called."""
    if names is not None:
        estimator.feature_names_in_ = np.array(names, dtype=object)


def method_candidates(
    data: ZeroShotDataset, method: str, normalize: str
) -> dict[str, tuple[str, str | None]]:
    """Return what to compare, in order of preference: methods, each with the scalings that it may need.

    The values are the name of a method and how it scales the features; None for the method's own default.
    """
    if method != AUTO:
        names = [method_name(method)]
    else:
        names = ["cosine", "lda-anchored", "lda"] if same_width(data) else ["lda"]
    return {
        name if scaling is None else f"{name} {scaling}": (name, scaling)
        for name in names
        for scaling in (scalings(name, data.X) if normalize == AUTO else [normalize])
    }


def same_width(data: ZeroShotDataset) -> bool:
    """Return whether features and descriptions have the same width, as they have in one space."""
    return bool(data.X.shape[1] == data.prototypes.shape[1])


def scalings(method: str, X: Any) -> list[str | None]:
    """Return the ways to scale features that are worth a comparison: the method's own, then others."""
    if describe_method(method).shared_space:  # compares directions of samples and prototypes
        return [None]
    some = read_rows(X, slice(0, BLOCK))
    return [None, "sqrt", "standard"] if np.min(some) >= 0 else [None, "standard"]


def class_folds(data: ZeroShotDataset, random_state: int = 0) -> GZSLFolds:
    """Return the folds of a data set: over its own class folds, if it has some."""
    names = np.array(data.class_names)
    given = [(names[train], names[val]) for train, val in data.class_folds or ()]
    return GZSLFolds(class_folds=given or None, random_state=random_state)


def training_facts(
    data: ZeroShotDataset, n_samples: int, method: str, compared: Mapping[str, float]
) -> dict[str, Any]:
    """Return what a model was made of, for its card."""
    return {
        "method": method,
        "data": data.name,
        "checksum": data.checksum,
        "samples": n_samples,
        "compared": {name: round(h, 2) for name, h in compared.items()},
        "encoder": data.encoder,
        "checks": [check.to_json() for check in data.checks()],
    }


def recalibrate_on(model: GZSLClassifierCV, data: ZeroShotDataset) -> int:
    """Choose gamma again on the training samples of the seen classes in ``data``; return their number."""
    names = np.array(data.class_names)[data.y]
    samples = training_samples(data)
    samples = samples[np.isin(names[samples], model.classes_[model.seen_])]
    if not len(samples):
        raise UnseenError(f"{data.name} holds no training samples of the model's seen classes.")
    groups = None if data.groups is None else data.groups[samples]
    model.recalibrate(choose_rows(data.X, samples), names[samples], groups=groups)
    return len(samples)
