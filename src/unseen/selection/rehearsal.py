"""Held-out samples: a model is tried on classes and samples that it has not learned from.

A *fold* holds out classes and samples of the other classes, to choose parameters. A *cross-fit* with the
chosen parameters holds out samples of all seen classes, part by part. A *rehearsal* leaves out some classes
besides, under the conditions of the final model: they replace an equal number of unseen classes among the
candidates.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from unseen._core.blocks import BoolArray, FloatArray, IndexArray
from unseen._core.labels import LabelArray, distinct_labels, label_positions
from unseen._core.samples import TrainingSet
from unseen.base import Params, ZeroShotClassifier, last_step
from unseen.calibration.curve import ScoreMaxima, SeenUnseenCurve
from unseen.calibration.maxima import maxima_and_scores
from unseen.errors import UnseenError

FoldIndices = tuple[IndexArray, IndexArray]  # (train, validation)
# (all classes, those of train, those of validation) -> the classes to choose from
Candidates = Callable[[LabelArray, LabelArray, LabelArray], LabelArray]
Tried = tuple[SeenUnseenCurve | None, "Trial"]  # no curve if only samples are held out
N_REHEARSALS = 12
N_PARTS = 5  # a cross-fitted model trains on all samples but one part of five
KEPT = 2**17  # scores that are kept of a trial, a megabyte at most
FEWEST = 32  # samples that are kept of a trial, however many classes there are


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


def draw_some(n: int, most: int) -> IndexArray:
    """Return some of n samples at random, always the same, in rising order."""
    return np.sort(np.random.default_rng(0).permutation(n)[:most])


# ---- folds, rehearsals, cross-fits -------------------------------------------------------------------


def run_fold(
    estimator: Any,
    samples: TrainingSet,
    fold: FoldIndices,
    params: Sequence[Params],
    weights: str = "per-class",
    *,
    keep: bool = True,
) -> list[Tried]:
    """Fit every element of ``params`` on the train part; try the validation part."""
    train, held = (samples.take(part) for part in fold)
    found = []
    for model in fit_each(estimator, train, params):
        found.append(try_model(model, train.y, held, fold_candidates, weights, keep=keep))
        if isinstance(model, ZeroShotClassifier):
            model.forget()
    return found


def try_model(
    model: Any,
    train: LabelArray,
    held: TrainingSet,
    among: Candidates,
    weights: str = "per-class",
    *,
    keep: bool = True,
) -> Tried:
    """Try a model of the classes in ``train`` on held-out samples.

    Return their curve, if some of their classes are not in train, and their trial; with ``keep``, the trial
    keeps scores, which take memory.
    """
    classes = np.asarray(model.classes_)
    labels = among(classes, train, held.y)
    seen, index = np.isin(labels, train), label_positions(held.y, labels)
    drawn = draw_some(len(index), max(FEWEST, KEPT // len(labels)) if keep else 0)
    maxima, scores = maxima_and_scores(model, held.X, labels, seen, drawn)
    kept = (Kept(scores, index[drawn], seen),) if keep else ()
    trial = Trial.from_maxima(maxima, index, seen, kept).renumbered(labels, classes, train)
    curve = None if seen[index].all() else SeenUnseenCurve.from_maxima(maxima, index, seen, weights)
    return curve, trial


def run_part(
    estimator: Any,
    samples: TrainingSet,
    part: BoolArray,
    rehearsals: Sequence[LabelArray],
    params: Sequence[Params],
) -> list[tuple[list[Trial], Trial]]:
    """Hold out one part of the samples, and then some classes besides; return the trials of both, by params.

    A rehearsal is a set of classes to hold out. Its training samples are those of the cross-fitted model
    without these classes, so there is little to sum up.
    """
    rest, held = samples.take(np.flatnonzero(~part)), samples.take(np.flatnonzero(part))
    models = list(fit_each(estimator, rest, params))
    found = [(list[Trial](), try_model(model, rest.y, held, all_candidates)[1]) for model in models]
    rest = rest.summed_by(models)
    del models
    for classes in rehearsals:
        train = rest.take(np.flatnonzero(~np.isin(rest.y, classes)))
        held = samples.take(np.flatnonzero(part | np.isin(samples.y, classes)))
        for model, (trials, _) in zip(fit_each(estimator, train, params), found):
            trials.append(try_model(model, train.y, held, rehearsal_candidates)[1])
    return found


def fold_candidates(labels: LabelArray, train: LabelArray, held_out: LabelArray) -> LabelArray:
    """Return the classes of a fold: those that have samples in it."""
    return np.union1d(train, held_out)


def all_candidates(labels: LabelArray, train: LabelArray, held_out: LabelArray) -> LabelArray:
    """Return all classes that the model has."""
    return labels


def rehearsal_classes(y: LabelArray, n_unseen: int) -> list[LabelArray]:
    """Return the classes that each rehearsal holds out; all are held out about equally often."""
    classes = distinct_labels(y)
    rng = np.random.default_rng(0)
    size, deck, drawn = n_held_out(len(classes), n_unseen), classes[:0], []
    for _ in range(N_REHEARSALS):
        if len(deck) < size:  # what is left of the deck, then all other classes in a new order
            deck = np.concatenate([deck, rng.permutation(classes[~np.isin(classes, deck)])])
        drawn.append(np.sort(deck[:size]))
        deck = deck[size:]
    return drawn


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


def cross_fit_parts(y: LabelArray, groups: NDArray[Any] | None = None) -> list[BoolArray]:
    """Return the parts, each (samples,), that are held out in turn."""
    part = assign_parts(y, groups)
    parts = [part == number for number in np.unique(part[part >= 0])]
    if not parts:
        raise UnseenError(
            'gamma="retention" holds out samples of seen classes, but every class has only one sample or '
            'one group. Pass gamma="paper".'
        )
    return parts


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
    folds = kind(n_parts, shuffle=True, random_state=0)
    with warnings.catch_warnings():  # a class with fewer samples than parts is expected
        warnings.simplefilter("ignore", UserWarning)
        for number, (_, held) in enumerate(folds.split(part, y, groups)):
            part[held] = number
    found = np.zeros((len(classes), n_parts), dtype=bool)  # which parts have samples of a class
    found[index, part] = True
    return np.where(found.sum(axis=1)[index] > 1, part, -1)
