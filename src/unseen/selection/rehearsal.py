"""Held-out samples: a model is tried on classes and samples that it has not learned from.

A *fold* holds out classes and samples of the other classes, to choose parameters. A *rehearsal* does the same
with the chosen parameters under the conditions of the final model: the held-out classes replace an equal
number of unseen classes among the candidates. A *cross-fit* holds out samples of all seen classes in turn.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from unseen._core.blocks import MANY_CLASSES, BoolArray, FloatArray, IndexArray
from unseen._core.labels import LabelArray, check_labels, distinct_labels, label_positions
from unseen._core.rows import Rows, as_rows, choose_rows, n_rows
from unseen._core.scoring import iter_scores
from unseen._core.training import check_weights
from unseen._core.workspace import Remainder, Workspace
from unseen.base import ZeroShotClassifier
from unseen.calibration.curve import ScoreMaxima, SeenUnseenCurve
from unseen.datasets.splits import GZSLFolds
from unseen.errors import UnseenError

FoldIndices = tuple[IndexArray, IndexArray]  # (train, validation)
# (all classes, those of train, those of validation) -> the classes to choose from
Candidates = Callable[[LabelArray, LabelArray, LabelArray], LabelArray]
Params = Mapping[str, Any]  # values by parameter name, as ``set_params`` takes them
N_REHEARSALS = 12
N_PARTS = 5  # a cross-fitted model trains on all samples but one part of five
KEPT = 2**17  # scores that are kept of a trial, a megabyte at most
FEWEST = 32  # samples that are kept of a trial, however many classes there are


@runtime_checkable
class ScoresClasses(Protocol):
    """What a model needs for selection: learn from seen classes, score samples for all classes.

    ``classes_`` names the columns of ``similarity``; a model without ``similarity`` may have
    ``decision_function`` or ``predict_proba`` instead, as pipelines do. ``get_params`` and ``set_params``
    (from ``sklearn.base.BaseEstimator``) let selection try parameters; ``fit_path`` makes that fast.
    """

    classes_: Any

    def fit(self, X: Any, y: Any) -> Any:
        """Learn from samples of the seen classes."""

    def similarity(self, X: Any) -> Any:
        """Return scores (n_samples, n_classes), higher is better."""


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """Training samples: features and labels, and the group and the weight of each if there are any."""

    X: Any
    y: LabelArray  # (samples,)
    groups: NDArray[Any] | None = None  # (samples,), what belongs together is never divided
    weight: FloatArray | None = None  # (samples,)
    workspace: Workspace | None = None  # of these samples, if several methods are fitted on them
    moments: Mapping[str | None, Any] = field(default_factory=dict)  # by normalize, as far as known
    index: IndexArray | None = None  # (samples,), rows of the moments

    def take(self, index: IndexArray) -> Self:
        """Return some of the samples."""
        return type(self)(
            choose_rows(self.X, index),
            self.y[index],
            None if self.groups is None else self.groups[index],
            None if self.weight is None else self.weight[index],
            self._workspace_of(index),
        )

    def _workspace_of(self, index: IndexArray) -> Workspace | None:
        if self.workspace is not None:
            return self.workspace.part(index.tobytes())
        if self.index is None or 2 * len(index) <= len(self.y) or not isinstance(self.X, np.ndarray):
            return None
        others = np.setdiff1d(np.arange(len(self.y)), index)
        return Workspace(Remainder(self.moments, Rows([self.X], others), self.index[others]))

    def summed_by(self, models: Sequence[Any]) -> Self:
        """Return the same samples with the sums of these models of all: most parts need fewer new ones."""
        summed = [model for model in models if hasattr(model, "moments_")]
        if not summed:
            return replace(self, workspace=None)
        known = {model.normalize: model.moments_ for model in summed}
        index = label_positions(self.y, summed[0].classes_[summed[0].seen_])
        return replace(self, workspace=None, moments=known, index=index)


def as_samples(
    X: Any,
    y: ArrayLike,
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    workspace: Workspace | None = None,
) -> TrainingSet:
    """Return training samples ready for indexing: one label, group and weight per sample.

    With a ``workspace``, searches for the same samples share what their methods compute on folds and on all.
    """
    X, labels = as_rows(X), check_labels(y)
    X = X if hasattr(X, "shape") else np.asarray(X)  # ready for indexing; what is on disk stays there
    if n_rows(X) != len(labels):
        raise UnseenError(
            f"X has {n_rows(X)} samples but y has {len(labels)} labels. Pass one label per sample."
        )
    weight = None if sample_weight is None else check_weights(sample_weight, len(labels))
    if groups is not None and np.shape(groups) != labels.shape:
        raise UnseenError(
            f"groups has shape {np.shape(groups)}, expected {labels.shape}. Pass one group per sample."
        )
    return TrainingSet(X, labels, None if groups is None else np.asarray(groups), weight, workspace)


@dataclass(frozen=True, eq=False)
class Kept:
    """Some held-out samples with the scores of all classes: what temperature and rejection need."""

    scores: FloatArray  # (samples, classes)
    y: IndexArray  # (samples,), index of the class
    seen: BoolArray  # (classes,)

    @property
    def of_seen(self) -> BoolArray:
        """Which samples belong to seen classes, (samples,)."""
        return np.asarray(self.seen[self.y])

    @property
    def right(self) -> BoolArray:
        """Which samples have their own class as the best one, (samples,); a seen class wins ties.

        gamma is often the very number at which a sample flips: rounding must not decide on which side.
        """
        largest = np.abs(self.scores).max(initial=0.0, where=np.isfinite(self.scores))
        return np.asarray((self.scores + 1e-12 * largest * self.seen).argmax(axis=1) == self.y)

    def of_kind(self, seen: bool) -> Self:
        """Return the samples of the seen classes alone, or of the others."""
        rows = self.of_seen == seen
        return type(self)(self.scores[rows], self.y[rows], self.seen)

    def calibrated(self, gamma: float) -> Self:
        """Return the same samples with gamma subtracted from the scores of the seen classes."""
        return type(self)(self.scores.astype(np.float64) - gamma * self.seen, self.y, self.seen)


@dataclass(frozen=True, eq=False)
class Trial:
    """How held-out samples fare with one model, at every gamma.

    A sample is predicted right while the best class of its own kind (seen or unseen) is its own class and
    gamma leaves the prediction to that kind.
    """

    y: IndexArray  # (samples,), index of the class
    seen: BoolArray  # (classes,)
    right: BoolArray  # (samples,), the best class of the sample's own kind is its class
    flips: FloatArray  # (samples,), the gamma up to which it is predicted as a seen class
    kept: tuple[Kept, ...] = ()  # some of the samples with all of their scores

    @property
    def of_seen(self) -> BoolArray:
        """Which samples belong to seen classes, (samples,)."""
        return np.asarray(self.seen[self.y])

    @classmethod
    def from_maxima(
        cls, maxima: ScoreMaxima, y: IndexArray, seen: BoolArray, kept: tuple[Kept, ...] = ()
    ) -> Self:
        """Keep what calibration needs of the maxima."""
        right = np.where(seen[y], maxima.argmax_seen, maxima.argmax_unseen) == y
        return cls(y, seen, right, maxima.flips, kept)

    @classmethod
    def concatenate(cls, trials: Sequence[Self]) -> Self:
        """Join the trials of disjoint samples for the same classes."""
        columns = (np.concatenate([getattr(t, name) for t in trials]) for name in ("y", "right", "flips"))
        y, right, flips = columns
        return cls(y, trials[0].seen, right, flips, tuple(kept for trial in trials for kept in trial.kept))

    def renumbered(self, labels: LabelArray, classes: LabelArray, train: LabelArray) -> Self:
        """Return the same with the classes of a model, among which ``labels`` are those of this trial."""
        return replace(self, y=label_positions(labels, classes)[self.y], seen=np.isin(classes, train))

    def correct(self, gamma: float) -> BoolArray:
        """Return which samples are predicted right at one gamma, (samples,)."""
        as_seen = self.flips >= gamma
        return np.asarray(self.right & (as_seen == self.of_seen))

    def __repr__(self) -> str:
        n_seen = int(self.of_seen.sum())
        return f"Trial({n_seen} samples of seen classes, {len(self.y) - n_seen} of others)"


# ---- fit and score ---------------------------------------------------------------------------------------


def fit_each(estimator: Any, samples: TrainingSet, params: Sequence[Params]) -> Iterator[Any]:
    """Yield a fitted model per element of ``params``: along the estimator's fast path, or by plain fits."""
    options: dict[str, Any] = _weight_argument(estimator, samples.weight)
    if hasattr(estimator, "fit_path"):
        if samples.workspace is not None and isinstance(estimator, ZeroShotClassifier):
            options["workspace"] = samples.workspace
        yield from estimator.fit_path(samples.X, samples.y, params, **options)
    else:
        for values in params:
            yield clone(estimator).set_params(**values).fit(samples.X, samples.y, **options)


def _weight_argument(estimator: Any, weight: FloatArray | None) -> dict[str, FloatArray]:
    """Return the weights as the estimator's ``fit`` takes them; reject one that takes none."""
    if weight is None:
        return {}
    method = last_step(estimator)
    if not has_fit_parameter(method, "sample_weight"):
        raise UnseenError(
            f"{type(method).__name__} does not take sample_weight. Use a closed form, such as LDA or ESZSL, "
            "or leave sample_weight out."
        )
    prefix = f"{estimator.steps[-1][0]}__" if isinstance(estimator, Pipeline) else ""
    return {f"{prefix}sample_weight": weight}


def last_step(estimator: Any) -> Any:
    """Return the classifier at the end of a pipeline, or the estimator itself."""
    return estimator[-1] if isinstance(estimator, Pipeline) else estimator


def score_maxima(model: Any, X: Any, labels: LabelArray, seen: BoolArray) -> ScoreMaxima:
    """Score the rows of X for the classes ``labels``, block by block; four numbers per sample remain.

    The columns in the result count along ``labels``, and ``seen`` says which of these were trained on.
    """
    columns = _columns_of(model, labels)
    if len(labels) <= MANY_CLASSES:
        found = [ScoreMaxima.from_scores(scores, seen) for _, (scores,) in iter_scores(model, X, columns)]
    else:  # two products, whose columns need no copy to be searched
        index = label_positions(labels, model.classes_)
        kinds = iter_scores(model, X, index[seen], index[~seen])
        found = [ScoreMaxima.from_parts(of_seen, of_unseen, seen) for _, (of_seen, of_unseen) in kinds]
    return ScoreMaxima.concatenate(found)


def keep_some(model: Any, X: Any, y: IndexArray, labels: LabelArray, seen: BoolArray) -> Kept:
    """Return the scores of some samples with class indices y: as many as give about ``KEPT`` scores."""
    n = min(len(y), max(FEWEST, KEPT // len(labels)))
    drawn = np.sort(np.random.default_rng(0).permutation(len(y))[:n])
    blocks = iter_scores(model, choose_rows(X, drawn), _columns_of(model, labels))
    return Kept(np.concatenate([scores.copy() for _, (scores,) in blocks]), y[drawn], seen)


def _columns_of(model: Any, labels: LabelArray) -> Any:
    """Return the columns of the labels in the scores of a model, all of them as a slice: no copy."""
    known = np.isin(labels, model.classes_)
    if not known.all():
        raise UnseenError(
            f"{type(model).__name__} has no score for class {str(labels[~known][0])!r}, which had no "
            "training sample here. Use a method that describes every class: pass prototypes=..., one row "
            "per class, seen and unseen."
        )
    columns = label_positions(labels, model.classes_)
    return slice(None) if np.array_equal(columns, np.arange(len(model.classes_))) else columns


def seen_unseen_curve(
    model: Any, X: Any, y: ArrayLike, seen_labels: ArrayLike, weights: str = "per-class"
) -> SeenUnseenCurve:
    """Evaluate a model on samples of seen and unseen classes; the candidates are the classes of both."""
    labels = np.union1d(seen_labels, y)
    seen = np.isin(labels, seen_labels)
    maxima = score_maxima(model, X, labels, seen)
    return SeenUnseenCurve.from_maxima(maxima, np.searchsorted(labels, y), seen, weights)


# ---- folds, rehearsals, cross-fits -------------------------------------------------------------------


def run_fold(
    estimator: Any,
    samples: TrainingSet,
    fold: FoldIndices,
    params: Sequence[Params],
    among: Candidates,
    weights: str = "per-class",
    *,
    keep: bool = True,
) -> list[tuple[SeenUnseenCurve | None, Trial]]:
    """Fit every element of ``params`` on the train part; try the validation part among some classes.

    Return the curve of each, if some of its classes are not in train, and the trial; with ``keep``, the trial
    keeps scores, which take memory.
    """
    train, held = (samples.take(part) for part in fold)
    found = []
    for model in fit_each(estimator, train, params):
        classes = np.asarray(model.classes_)
        labels = among(classes, train.y, held.y)
        seen, index = np.isin(labels, train.y), label_positions(held.y, labels)
        maxima = score_maxima(model, held.X, labels, seen)
        kept = (keep_some(model, held.X, index, labels, seen),) if keep else ()
        trial = Trial.from_maxima(maxima, index, seen, kept).renumbered(labels, classes, train.y)
        curve = None if seen[index].all() else SeenUnseenCurve.from_maxima(maxima, index, seen, weights)
        found.append((curve, trial))
        if isinstance(model, ZeroShotClassifier):
            model.forget()
    return found


def fold_candidates(labels: LabelArray, train: LabelArray, held_out: LabelArray) -> LabelArray:
    """Return the classes of a fold: those that have samples in it."""
    return np.union1d(train, held_out)


def all_candidates(labels: LabelArray, train: LabelArray, held_out: LabelArray) -> LabelArray:
    """Return all classes that the model has."""
    return labels


def rehearsal_folds(y: LabelArray, n_unseen: int, groups: ArrayLike | None = None) -> list[FoldIndices]:
    """Return the class folds of the rehearsals; all classes are held out about equally often."""
    classes = distinct_labels(y)
    rng = np.random.default_rng(0)
    size, deck, drawn = n_held_out(len(classes), n_unseen), classes[:0], []
    for _ in range(N_REHEARSALS):
        if len(deck) < size:  # what is left of the deck, then all other classes in a new order
            deck = np.concatenate([deck, rng.permutation(classes[~np.isin(classes, deck)])])
        drawn.append((np.setdiff1d(classes, deck[:size]), np.sort(deck[:size])))
        deck = deck[size:]
    return list(GZSLFolds(class_folds=drawn).split(None, y, groups))


def n_held_out(n_seen: int, n_unseen: int) -> int:
    """Return how many seen classes a rehearsal holds out: the share that is unseen, at most a third.

    >>> n_held_out(20, 6), n_held_out(7, 3), n_held_out(20, 0), n_held_out(30, 970)
    (5, 2, 2, 10)
    """
    # held out / seen = unseen / (seen + unseen)
    share = n_seen * n_unseen / (n_seen + n_unseen)
    return max(2, min(round(share), n_seen // 3))


def rehearsal_candidates(labels: LabelArray, train: LabelArray, held_out: LabelArray) -> LabelArray:
    """Return the labels without some that have no sample: as many, at random, as are only held out.

    >>> rehearsal_candidates(np.arange(6), np.array([0, 1]), np.array([0, 2, 2]))
    array([0, 1, 2, 3, 4])
    """
    missing = labels[~np.isin(labels, np.union1d(train, held_out))]  # in this order, whatever their names
    n_held_out = len(np.setdiff1d(held_out, train))
    left_out = np.random.default_rng(0).permutation(missing)[:n_held_out]
    return np.asarray(labels[~np.isin(labels, left_out)])


def cross_fit_folds(y: LabelArray, groups: NDArray[Any] | None = None) -> list[FoldIndices]:
    """Return folds that hold out samples of all classes in turn, [] if no class can spare one."""
    part = assign_parts(y, groups)
    return [(np.flatnonzero(part != k), np.flatnonzero(part == k)) for k in np.unique(part[part >= 0])]


def assign_parts(y: LabelArray, groups: NDArray[Any] | None = None) -> IndexArray:
    """Return the part of every sample, -1 for none: each class is spread evenly over the parts.

    A class that lies in one part alone is in none: without that part it would have no training sample.

    >>> assign_parts(np.array([7, 7, 9])).tolist()
    [1, 0, -1]
    """
    classes, index, count = np.unique(y, return_inverse=True, return_counts=True)
    n_parts = min(N_PARTS, int(count.max()) if groups is None else len(np.unique(groups)))
    part = np.full(len(y), -1)
    if n_parts < 2:
        return part
    kind = StratifiedKFold if groups is None else StratifiedGroupKFold
    with warnings.catch_warnings():  # a class with fewer samples than parts is expected
        warnings.simplefilter("ignore", UserWarning)
        for number, (_, held) in enumerate(
            kind(n_parts, shuffle=True, random_state=0).split(np.zeros(len(y)), y, groups)
        ):
            part[held] = number
    lowest, highest = np.full(len(classes), n_parts), np.full(len(classes), -1)
    np.minimum.at(lowest, index, part)
    np.maximum.at(highest, index, part)
    return np.where((lowest == highest)[index], -1, part)
