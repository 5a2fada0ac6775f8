"""Several methods through the same folds: the best mean validation H is taken."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any, NamedTuple

from numpy.typing import ArrayLike

from unseen.methods._sharing import share_sums
from unseen.selection.search import GZSLClassifierCV, as_samples


class Choice(NamedTuple):
    """The method that won, its fitted model, and the validation H of all that were compared."""

    name: str
    model: GZSLClassifierCV
    compared: dict[str, float]


def fit_best(
    searches: Mapping[str, GZSLClassifierCV], X: Any, y: ArrayLike, groups: ArrayLike | None = None
) -> Choice:
    """Choose parameters for every search on its folds; finish the one with the best mean validation H.

    Only the winner is retrained and calibrated. Of equals the first wins.

    Examples
    --------
    >>> from unseen import ESZSL, LinearSV
    >>> from unseen.datasets import load
    >>> data = load("digits")
    >>> seen = data.seen[data.y]
    >>> methods = {"linear-sv": LinearSV(data.prototypes), "eszsl": ESZSL(data.prototypes)}
    >>> searches = {name: GZSLClassifierCV(method) for name, method in methods.items()}
    >>> choice = fit_best(searches, data.X[seen], data.y[seen])
    >>> choice.name == max(choice.compared, key=choice.compared.get)
    True
    """
    samples = as_samples(X, y, groups)
    compared: dict[str, float] = {}
    best = ""
    # methods see the same folds; a single one would keep sums and rows that nobody else uses
    with share_sums() if len(searches) > 1 else nullcontext():
        for name, search in searches.items():
            folds = search._choose_params(samples)
            compared[name] = search.curve_.h
            if not best or compared[name] > compared[best]:
                best, best_folds = name, folds
    return Choice(best, searches[best]._finish(samples, best_folds), compared)
