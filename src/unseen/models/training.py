"""From a data set to a calibrated model and its card."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from unseen import __version__
from unseen._core.labels import LabelArray
from unseen._core.rows import choose_rows
from unseen.datasets import ZeroShotDataset
from unseen.datasets.inspection import differ_in_scale
from unseen.datasets.prototypes import Prototypes
from unseen.datasets.splits import GZSLFolds, training_samples
from unseen.methods import METHODS, make_method, method_name
from unseen.models.card import Card, describe_confidence, expect
from unseen.selection.auto import fit_best
from unseen.selection.search import GZSLClassifierCV

AUTO = "auto"
FAST = 40  # methods that cost more than this in the registry are not tried by default


def train(
    data: ZeroShotDataset,
    method: str = AUTO,
    *,
    normalize: str | None = None,
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
    method : {"auto"}, name of a method, or ``module:Class``
        ``"auto"`` runs the fast methods through the folds and takes the best mean validation H.
    normalize : {"l2", "standard", "none"}, optional
        How features are scaled. By default to unit length; ``"auto"`` also tries standardized features
        where features differ in scale by more than 1000.
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
    groups = None if data.groups is None else data.groups[samples]
    folds = list(class_folds(data, random_state).split(X, y, groups))
    searches = {
        str(candidate): GZSLClassifierCV(
            candidate.make(S, random_state), cv=folds, gamma=gamma, n_jobs=n_jobs, verbose=verbose, **options
        )
        for candidate in candidates(data, method, normalize)
    }
    name, model, compared = fit_best(searches, X, y, groups)
    confidence = describe_confidence(model)
    if model.held_out_.cross_fitted is None and not model.seen_.all():
        model.cross_fit(X, y, groups=groups)  # the card reports it, whatever rule chose gamma
    return model, replace(describe_model(model, data, name, X, y, compared), confidence=confidence)


@dataclass(frozen=True)
class Candidate:
    """A method and how it scales the features; None for the method's own default."""

    method: str
    normalize: str | None = None

    def __str__(self) -> str:
        return self.method if self.normalize is None else f"{self.method}, {self.normalize}"

    def make(self, prototypes: Prototypes, seed: int) -> Any:
        """Return the unfitted method."""
        return make_method(self.method, prototypes, seed, self.normalize)


def candidates(data: ZeroShotDataset, method: str, normalize: str | None) -> list[Candidate]:
    """Return what is compared: one method, or the fast ones that fit the data."""
    if method != AUTO:
        return [Candidate(method_name(method), normalize)]
    scales = [normalize]
    if normalize is None and differ_in_scale(data.X):
        scales = ["l2", "standard"]
    same_space = data.X.shape[1] == data.prototypes.shape[1]
    return [
        Candidate(name, scale)
        for name, row in METHODS.items()
        for scale in scales
        # methods that compare samples with prototypes directly compare directions
        if row.cost <= FAST and (not row.shared_space or (same_space and scale in (None, "l2")))
    ]


def class_folds(data: ZeroShotDataset, random_state: int = 0) -> GZSLFolds:
    """Return the folds of a data set: over its own class folds, where it has some."""
    names = np.array(data.class_names)
    given = [(names[train], names[val]) for train, val in data.class_folds or ()]
    return GZSLFolds(class_folds=given or None, random_state=random_state)


def describe_model(
    model: GZSLClassifierCV,
    data: ZeroShotDataset,
    method: str,
    X: Any,
    y: LabelArray,
    compared: dict[str, float],
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
        method=method.split(",")[0],
        normalize=model.estimator_.normalize,
        params=model.best_params_,
        gamma=model.gamma_,
        gamma_rule=model.gamma_rule_,
        retention=model.retention_,
        compared={name: round(h, 2) for name, h in compared.items()},
        expected=expect(model),
        written_by=f"unseen {__version__}",
        encoder=data.encoder,
    )
