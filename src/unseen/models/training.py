"""From a data set to a calibrated model and its card: what it was made of and what to expect of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen import __version__
from unseen._core.blocks import FloatArray
from unseen._core.rows import choose_rows
from unseen.datasets import ZeroShotDataset
from unseen.datasets.prototypes import Prototypes
from unseen.datasets.splits import GZSLFolds
from unseen.errors import UnseenError
from unseen.methods import find_method
from unseen.metrics import harmonic_mean
from unseen.selection.evaluation import fit_settings, score_maxima
from unseen.selection.search import GZSLClassifierCV

Fold = tuple[NDArray[np.intp], NDArray[np.intp]]
REPLICATES = 2000
CONFIDENCE = 0.95


def train(
    data: ZeroShotDataset,
    method: str = "sje",
    *,
    gamma: str = "transfer",
    random_state: int = 0,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> tuple[GZSLClassifierCV, dict[str, Any]]:
    """Return a model of all classes of a data set, and its card.

    All samples of the seen classes take part, but for those of the data set's own test sets.

    Parameters
    ----------
    data : ZeroShotDataset
    method : name of a method, or ``module:Class``
    gamma : {"transfer", "paper"}
        How the calibration is carried over to the model of all samples, see ``GZSLClassifierCV``.
    random_state : int
        For the folds and for methods that draw lots.
    n_jobs : int, optional
        Folds that run at the same time.
    verbose : bool
        Show progress.

    Examples
    --------
    >>> from unseen.datasets import load
    >>> model, card = train(load("digits"), "linear-sv")
    >>> card["classes"]["unseen"]
    ['3', '4', '6']
    """
    kind = find_method(method)
    names = np.array(data.class_names)
    S = Prototypes(names, data.attribute_names or (), data.prototypes)
    estimator = kind(S, random_state=random_state) if kind.stochastic else kind(S)
    samples = training_samples(data)
    X, y = choose_rows(data.X, samples), names[data.y[samples]]
    given = [(names[train], names[val]) for train, val in data.class_folds or ()]
    folds = list(GZSLFolds(class_folds=given or None, random_state=random_state).split(X, y))
    model = GZSLClassifierCV(estimator, cv=folds, gamma=gamma, n_jobs=n_jobs, verbose=verbose).fit(X, y)
    tried = [try_fold(estimator, X, y, fold, model.best_params_, model.curve_.gamma) for fold in folds]
    return model, {**_facts(data, method, model, X), "expected": expected_accuracy(tried, random_state)}


def training_samples(data: ZeroShotDataset) -> NDArray[np.intp]:
    """Return the samples of the seen classes that belong to no test set."""
    if data.X is None or data.y is None:
        raise UnseenError(data.missing[0])
    pool = np.flatnonzero(data.seen[data.y]) if data.trainval is None else data.trainval
    return pool if data.test_seen is None else np.setdiff1d(pool, data.test_seen)


def _facts(data: ZeroShotDataset, method: str, model: GZSLClassifierCV, X: FloatArray) -> dict[str, Any]:
    names, seen = model.classes_, model.seen_
    return {
        "data": data.name,
        "checksum": data.checksum,
        "samples": len(X),
        "features": X.shape[1],
        "classes": {"seen": names[seen].tolist(), "unseen": names[~seen].tolist()},
        "attributes": list(data.attribute_names or ()),
        "method": method,
        "params": model.best_params_,
        "gamma": model.gamma_,
        "written_by": f"unseen {__version__}",
    }


# ---- what to expect ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Trial:
    """How many samples of each class a fold validated, how many of them were right, which were seen."""

    count: NDArray[np.intp]  # (classes,)
    right: NDArray[np.intp]  # (classes,)
    seen: NDArray[np.bool_]  # (classes,)


def try_fold(
    estimator: Any, X: Any, y: NDArray[Any], fold: Fold, params: Mapping[str, Any], gamma: float
) -> Trial:
    """Train on a fold's train part with the chosen parameters; count right answers on the other part."""
    train, validation = fold
    model = next(iter(fit_settings(estimator, choose_rows(X, train), y[train], [params])))
    labels = np.union1d(y[train], y[validation])
    seen = np.isin(labels, y[train])
    predicted = score_maxima(model, choose_rows(X, validation), labels, seen).predict(gamma)
    index = np.searchsorted(labels, y[validation])
    count = np.bincount(index, minlength=len(labels))
    right = np.bincount(index[predicted == index], minlength=len(labels))
    present = count > 0
    return Trial(count[present], right[present], seen[present])


def expected_accuracy(trials: Sequence[Trial], random_state: int = 0) -> dict[str, Any]:
    """Return (value, low, high) in percent for ``unseen``, ``seen`` and ``H``: per class, mean over folds.

    ``samples`` says how many answers that rests on.

    The limits are a bootstrap over samples and, for unseen classes, over classes too: the next unseen
    class will be another one, while the seen classes stay.
    """
    rng = np.random.default_rng(random_state)
    values = np.mean([_per_class(trial.right / trial.count, trial) for trial in trials], axis=0)  # (3,)
    draws = np.mean([_resample(trial, rng) for trial in trials], axis=0)  # (3, replicates)
    tail = 50 * (1 - CONFIDENCE)
    limits = np.percentile(draws, [tail, 100 - tail], axis=1)  # (2, 3)
    rows = np.column_stack([values, limits.T]).round(2).tolist()
    n_seen = sum(int(trial.count[trial.seen].sum()) for trial in trials)
    n_unseen = sum(int(trial.count[~trial.seen].sum()) for trial in trials)
    samples = {"unseen": n_unseen, "seen": n_seen, "H": n_unseen + n_seen}
    return {**dict(zip(samples, rows)), "samples": samples}


def _resample(trial: Trial, rng: np.random.Generator) -> FloatArray:
    # Drawing n answers with replacement from k right ones of n is a binomial number.
    share = rng.binomial(trial.count, trial.right / trial.count, (REPLICATES, len(trial.count))) / trial.count
    unseen = np.flatnonzero(~trial.seen)
    drawn = rng.integers(len(unseen), size=(REPLICATES, len(unseen)))
    share[:, unseen] = np.take_along_axis(share[:, unseen], drawn, axis=1)
    return _per_class(share, trial)


def _per_class(share: FloatArray, trial: Trial) -> FloatArray:
    """Return A_U->C, A_S->C and their harmonic mean in percent for shares of right answers (..., classes)."""
    unseen = 100 * share[..., ~trial.seen].mean(axis=-1)
    seen = 100 * share[..., trial.seen].mean(axis=-1)
    return np.stack([unseen, seen, harmonic_mean(unseen, seen)])  # (3, ...)


# ---- the card in words -----------------------------------------------------------------------------------


def format_card(card: Mapping[str, Any]) -> str:
    """Return the card for a reader."""
    seen, unseen = card["classes"]["seen"], card["classes"]["unseen"]
    params = ", ".join(f"{name} {_short(value)}" for name, value in card["params"].items())
    facts = {
        "data": f"{card['data']}, {card['samples']} samples of {card['features']} features",
        "seen classes": f"{len(seen)}: {_names(seen)}",
        "unseen classes": f"{len(unseen)}: {_names(unseen)}"
        if unseen
        else "none yet (unseen add-class adds them)",
        "method": f"{card['method']} ({params})",
        "gamma": f"{card['gamma']:.4g}, taken off the scores of the seen classes",
    }
    kinds = {"unseen": "accuracy, unseen", "seen": "accuracy, seen", "H": "harmonic mean"}
    for kind, words in kinds.items():
        value, low, high = card["expected"][kind]
        n = card["expected"]["samples"][kind]
        facts[words] = f"{value:5.1f} %  ({low:.1f} to {high:.1f}; {n} samples)"
    lines = [f"{name:<17} {value}" for name, value in facts.items()]
    note = "Expected accuracies: per class, from classes held out in training, with 95 % intervals."
    return "\n".join([*lines, note])


def _names(names: Sequence[str], most: int = 6) -> str:
    shown = ", ".join(map(str, names[:most]))
    return shown if len(names) <= most else f"{shown}, ..."


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
