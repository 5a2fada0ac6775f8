"""From a data set to a calibrated model and its card."""

from __future__ import annotations

from typing import Any

import numpy as np

from unseen import __version__
from unseen._core.labels import LabelArray
from unseen._core.rows import choose_rows
from unseen.datasets import ZeroShotDataset
from unseen.datasets.prototypes import Prototypes
from unseen.datasets.splits import GZSLFolds, training_samples
from unseen.methods import make_method
from unseen.models.card import Card, expect
from unseen.selection.search import GZSLClassifierCV


def train(
    data: ZeroShotDataset,
    method: str = "lda",
    *,
    gamma: str = "retention",
    random_state: int = 0,
    n_jobs: int | None = None,
    verbose: bool = False,
    **options: Any,
) -> tuple[GZSLClassifierCV, Card]:
    """Return a model of all classes of a data set, and its card.

    All samples of the seen classes are used, except those of the data set's own test sets.

    Parameters
    ----------
    data : ZeroShotDataset
    method : name of a method, or ``module:Class``
    gamma : {"retention", "paper"}
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
    >>> from unseen.datasets import load
    >>> model, card = train(load("digits"), "linear-sv")
    >>> card.classes["unseen"]
    ['3', '4', '6']
    """
    names = np.array(data.class_names)
    S = Prototypes(names, data.attribute_names or (), data.prototypes)
    samples = training_samples(data)
    X, y = choose_rows(data.X, samples), names[data.y[samples]]
    model = GZSLClassifierCV(
        make_method(method, S, random_state),
        cv=class_folds(data, random_state),
        gamma=gamma,
        n_jobs=n_jobs,
        verbose=verbose,
        **options,
    ).fit(X, y)
    if model.held_out_.cross_fitted is None and not model.seen_.all():
        model.cross_fit(X, y)  # the card wants to know, whatever rule chose gamma
    return model, describe_model(model, data, method, X, y)


def class_folds(data: ZeroShotDataset, random_state: int = 0) -> GZSLFolds:
    """Return the folds of a data set: over its own class folds, where it has some."""
    names = np.array(data.class_names)
    given = [(names[train], names[val]) for train, val in data.class_folds or ()]
    return GZSLFolds(class_folds=given or None, random_state=random_state)


def describe_model(
    model: GZSLClassifierCV, data: ZeroShotDataset, method: str, X: Any, y: LabelArray
) -> Card:
    """Return the card of a fitted model."""
    names, seen = model.classes_, model.seen_
    return Card(
        data=data.name,
        checksum=data.checksum,
        samples=len(y),
        features=int(X.shape[1]),
        classes={"seen": names[seen].tolist(), "unseen": names[~seen].tolist()},
        attributes=list(data.attribute_names or ()),
        method=method,
        params=model.best_params_,
        gamma=model.gamma_,
        gamma_rule=model.gamma_rule_,
        retention=model.retention_,
        expected=expect(model),
        written_by=f"unseen {__version__}",
        encoder=data.encoder,
    )
