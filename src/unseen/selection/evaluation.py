"""A model on held-out samples: scores in blocks, two maxima per sample, one exact curve."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from unseen._core.blocks import MANY_CLASSES, BoolArray, FloatArray, IndexArray, score_blocks
from unseen._core.labels import LabelArray, distinct_labels, label_positions
from unseen._core.rows import Rows, choose_rows, n_rows, read_ahead, read_rows
from unseen.base import ZeroShotClassifier
from unseen.calibration.classifier import class_scores
from unseen.calibration.curve import ScoreMaxima, SeenUnseenCurve
from unseen.errors import UnseenError

FoldIndices = tuple[IndexArray, IndexArray]  # (train, validation)
Params = Mapping[str, Any]  # values by parameter name, as ``set_params`` takes them
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
class Samples:
    """Training samples: features and labels, and the group and the weight of each where there are any."""

    X: Any
    y: LabelArray  # (samples,)
    groups: NDArray[Any] | None = None  # (samples,), what belongs together is never divided
    weight: FloatArray | None = None  # (samples,)

    def take(self, index: IndexArray) -> Self:
        """Return some of the samples."""
        return type(self)(
            choose_rows(self.X, index),
            self.y[index],
            None if self.groups is None else self.groups[index],
            None if self.weight is None else self.weight[index],
        )


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
    shift: float = 0.0  # how much more retention the real unseen classes call for than the held-out ones

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

    def correct(self, gamma: float) -> BoolArray:
        """Return which samples are predicted right at one gamma, (samples,)."""
        as_seen = self.flips >= gamma
        return np.asarray(self.right & (as_seen == self.seen[self.y]))


FindShift = Callable[[Any, Samples, Samples], float]  # (fitted model, train, validation) -> shift


def fit_each(estimator: Any, samples: Samples, params: Sequence[Params]) -> Iterator[Any]:
    """Yield a fitted model per element of ``params``: along the estimator's fast path, or by plain fits."""
    weight = _weight_argument(estimator, samples.weight)
    if hasattr(estimator, "fit_path"):
        yield from estimator.fit_path(samples.X, samples.y, params, **weight)
    else:
        for values in params:
            yield clone(estimator).set_params(**values).fit(samples.X, samples.y, **weight)


def _weight_argument(estimator: Any, weight: FloatArray | None) -> dict[str, FloatArray]:
    """Return the weights as the estimator's ``fit`` takes them; refuse one that takes none."""
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


def plain_rows(model: Any, X: Any) -> FloatArray:
    """Return rows as the classifier at the end of a fitted model gets them: checked, and in memory."""
    rows = read_rows(X, slice(None))
    if isinstance(model, Pipeline):
        rows = model[:-1].transform(rows)
    return np.asarray(last_step(model)._validate_samples(rows))


def score_maxima(model: Any, X: Any, labels: LabelArray, seen: BoolArray) -> ScoreMaxima:
    """Score the rows of X for the classes ``labels``, block by block; four numbers per sample remain.

    The columns in the result count along ``labels``, and ``seen`` says which of these were trained on.
    """
    if is_linear(model) and len(labels) > MANY_CLASSES:
        return ScoreMaxima.concatenate(list(_linear_maxima(model, X, _columns_of(model, labels), seen)))
    blocks = _score_blocks(model, X, labels)
    return ScoreMaxima.concatenate([ScoreMaxima.from_scores(scores, seen) for _, scores in blocks])


def try_model(
    model: Any, X: Any, y: IndexArray, labels: LabelArray, seen: BoolArray
) -> tuple[ScoreMaxima, Trial]:
    """Score held-out samples with class indices y once, for the curve and for the trial."""
    drawn = _draw_kept(len(y), len(labels))
    if len(labels) > MANY_CLASSES:
        maxima = score_maxima(model, X, labels, seen)
        parts = [scores.copy() for _, scores in _score_blocks(model, choose_rows(X, drawn), labels)]
    else:
        found, parts = [], []
        for block, scores in _score_blocks(model, X, labels):
            found.append(ScoreMaxima.from_scores(scores, seen))
            inside = (drawn >= block.start) & (drawn < block.stop)
            parts.append(scores[drawn[inside] - block.start])
        maxima = ScoreMaxima.concatenate(found)
    kept = Kept(np.concatenate(parts), y[drawn], seen)
    return maxima, Trial.from_maxima(maxima, y, seen, (kept,))


def _draw_kept(n_samples: int, n_classes: int) -> IndexArray:
    """Return the samples whose scores are kept, drawn at random: as many as give about ``KEPT`` scores."""
    n = min(n_samples, max(FEWEST, KEPT // n_classes))
    return np.sort(np.random.default_rng(0).permutation(n_samples)[:n])


def _score_blocks(model: Any, X: Any, labels: LabelArray) -> Iterator[tuple[slice, FloatArray]]:
    """Yield (rows, their scores for the classes ``labels``); the next block of rows overwrites them."""
    columns: Any = _columns_of(model, labels)
    if np.array_equal(columns, np.arange(len(model.classes_))):
        columns = slice(None)  # no copy of the scores
    if is_linear(model) and isinstance(X, np.ndarray | Rows):
        for block, (scores,) in model._score_blocks(model._validate_samples(X), columns):
            yield block, scores  # no score of any other class was computed
        return
    blocks = list(score_blocks(n_rows(X), len(model.classes_)))
    for block, rows in zip(blocks, read_ahead(lambda block: read_rows(X, block), blocks)):
        yield block, class_scores(model, rows)[:, columns]


def is_linear(model: Any) -> bool:
    """Whether the scores of a model are those of its linear classifier, and not of its own making."""
    return getattr(type(model), "similarity", None) is ZeroShotClassifier.similarity


def _linear_maxima(
    model: ZeroShotClassifier, X: Any, columns: IndexArray, seen: BoolArray
) -> Iterator[ScoreMaxima]:
    """Yield the maxima of each block of samples: one product for the seen classes, one for the others."""
    samples = model._validate_samples(X)
    for _, (of_seen, of_unseen) in model._score_blocks(samples, columns[seen], columns[~seen]):
        yield ScoreMaxima.from_parts(of_seen, of_unseen, seen)


def _columns_of(model: Any, labels: LabelArray) -> IndexArray:
    """Return the column of every label in the scores of a model; refuse a model without unseen classes."""
    known = np.isin(labels, model.classes_)
    if not known.all():
        raise UnseenError(
            f"{type(model).__name__} has no score for class {str(labels[~known][0])!r}, which had no "
            "training sample here. Use a method that describes every class: pass prototypes=..., one row "
            "per class, seen and unseen."
        )
    return label_positions(labels, model.classes_)


def seen_unseen_curve(
    model: Any, X: Any, y: ArrayLike, seen_labels: ArrayLike, weights: str = "per-class"
) -> SeenUnseenCurve:
    """Evaluate a model on samples of seen and unseen classes; the candidates are the classes of both."""
    labels = np.union1d(seen_labels, y)
    seen = np.isin(labels, seen_labels)
    maxima = score_maxima(model, X, labels, seen)
    return SeenUnseenCurve.from_maxima(maxima, np.searchsorted(labels, y), seen, weights)


def run_fold(
    estimator: Any,
    samples: Samples,
    fold: FoldIndices,
    params: Sequence[Params],
    weights: str = "per-class",
    find_shift: FindShift | None = None,
) -> list[tuple[SeenUnseenCurve, Trial]]:
    """Fit every element of ``params`` on the fold's train part; evaluate each on the validation part.

    ``find_shift`` gives the ``shift`` of each trial; without it, it is 0.
    """
    train, validation = (samples.take(part) for part in fold)
    labels = np.union1d(train.y, validation.y)
    seen = np.isin(labels, train.y)
    index = np.searchsorted(labels, validation.y)
    found = []
    for model in fit_each(estimator, train, params):
        maxima, trial = try_model(model, validation.X, index, labels, seen)
        if find_shift is not None:
            trial = replace(trial, shift=find_shift(model, train, validation))
        found.append((SeenUnseenCurve.from_maxima(maxima, index, seen, weights), trial))
        if isinstance(model, ZeroShotClassifier):
            model._forget()
    return found


def deal_parts(
    y: LabelArray, n_parts: int, groups: NDArray[Any] | None = None, random_state: int = 0
) -> IndexArray:
    """Return the part of every sample, -1 for none: each class is spread evenly over the parts.

    A class with a single sample is in no part. With groups, whole groups are spread, and a class that would
    lie in one part is in none.

    >>> deal_parts(np.array([7, 7, 7, 7, 9]), 2).tolist()
    [1, 0, 0, 1, -1]
    >>> deal_parts(np.array([7, 7, 7, 7, 9]), 2, groups=np.array(["a", "a", "b", "b", "b"])).tolist()
    [0, 0, 1, 1, -1]
    """
    rng = np.random.default_rng(random_state)
    part = np.full(len(y), -1)
    if groups is not None:
        _, group = np.unique(groups, return_inverse=True)
        part = (rng.permutation(group.max() + 1) % n_parts)[group]
    for label in distinct_labels(y):
        members = rng.permutation(np.flatnonzero(y == label))
        if groups is None and len(members) > 1:
            part[members] = (np.arange(len(members)) + rng.integers(n_parts)) % n_parts
        elif groups is not None and len(np.unique(part[members])) == 1:
            part[members] = -1
    return part


def hold_out_part(
    estimator: Any,
    samples: Samples,
    held_out: BoolArray,
    params: Sequence[Params],
    shots: Sequence[Mapping[str, NDArray[Any]]] = (),
) -> list[Trial]:
    """Fit without some samples of the seen classes; try these among all classes, unseen ones included.

    ``shots`` holds what each model knows of samples of unseen classes.
    """
    train, held = samples.take(np.flatnonzero(~held_out)), samples.take(np.flatnonzero(held_out))
    trials = []
    for number, model in enumerate(fit_each(estimator, train, params)):
        if shots:
            last_step(model)._set_samples(shots[number])
        labels = np.asarray(model.classes_)
        seen = np.isin(labels, samples.y)
        trials.append(try_model(model, held.X, label_positions(held.y, labels), labels, seen)[1])
    return trials


def hold_out_classes(estimator: Any, samples: Samples, fold: FoldIndices, params: Params) -> Trial:
    """Fit on the fold's train part; try its validation part among as many classes as there are.

    The held-out classes take the places of as many unseen ones.
    """
    train, held = (samples.take(part) for part in fold)
    model = next(iter(fit_each(estimator, train, [params])))
    labels = rehearsal_candidates(np.asarray(model.classes_), train.y, held.y)
    seen = np.isin(labels, train.y)
    return try_model(model, held.X, label_positions(held.y, labels), labels, seen)[1]


def rehearsal_candidates(labels: LabelArray, train: LabelArray, held_out: LabelArray) -> LabelArray:
    """Return the labels without some that have no sample: as many, at random, as are only held out.

    >>> rehearsal_candidates(np.arange(6), np.array([0, 1]), np.array([0, 2, 2]))
    array([0, 1, 2, 3, 4])
    """
    missing = np.setdiff1d(labels, np.union1d(train, held_out))
    n_held_out = len(np.setdiff1d(held_out, train))
    left_out = np.random.default_rng(0).permutation(missing)[:n_held_out]
    return np.asarray(labels[~np.isin(labels, left_out)])
