"""The process of the paper: choose lambda and gamma on held-out classes, retrain, predict calibrated."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from joblib import delayed
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from unseen._core.callbacks import FitCallbacks, with_callbacks
from unseen._core.checks import warn_about
from unseen._core.labels import LabelArray, label_positions, shortened
from unseen._core.parallel import results
from unseen._core.progress import progress
from unseen._core.prototypes import as_prototypes
from unseen._core.representation import Documented, shorten_help
from unseen._core.samples import TrainingSet, as_samples
from unseen.base import Params, ZeroShotClassifier, last_step
from unseen.calibration.curve import Goal, SeenUnseenCurve, mean_curve
from unseen.calibration.estimator import CalibratedEstimator
from unseen.datasets.splits import GZSLFolds
from unseen.errors import UnseenError, expect
from unseen.selection.confidence import HeldOut
from unseen.selection.gamma import choose_retention, gamma_at_retention, seen_alone
from unseen.selection.rehearsal import (
    FoldIndices,
    Trial,
    cross_fit_parts,
    fit_each,
    rehearsal_classes,
    run_fold,
    run_part,
)

if TYPE_CHECKING:
    from unseen.card import Card

RULES = ("retention", "paper")
Curves = Sequence[SeenUnseenCurve]  # one per fold


class Calibrated(NamedTuple):
    """A retrained model and its gamma."""

    estimator: Any
    gamma: float


class Choice(NamedTuple):
    """Parameters that the folds have chosen, with their mean curve and their trials."""

    params: dict[str, Any]
    curve: SeenUnseenCurve
    trials: list[Trial]


@shorten_help
class GZSLClassifierCV(
    Documented,
    FitCallbacks,
    MetaEstimatorMixin,  # type: ignore[misc]
    CalibratedEstimator,
    ClassifierMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """Choose parameters and calibration on held-out classes, then retrain on everything.

    For every fold and every element of the grid a model is trained on the train classes. Its exact
    seen-unseen curve on validation samples gives the harmonic mean H for every gamma; the best mean H
    chooses the parameters. Then the model is retrained on all samples, and gamma becomes part of the
    intercepts of the seen classes. Nothing depends on a sample of an unseen class; gamma alone depends on
    their prototypes, with ``gamma="retention"``.

    Parameters
    ----------
    estimator : ZeroShotClassifier, a pipeline that ends in one, or anything like :class:`ScoresClasses`
    param_grid : dict or list of dict, optional
        As in ``sklearn.model_selection.ParameterGrid``; by default the estimator's own ``default_grid``.
    cv : int, splitter or iterable of (train, validation) index arrays, optional
        Validation samples of classes not in train are held-out ones. A number makes ``GZSLFolds``; 3 if None.
    gamma : {"retention", "paper"} or float, default="retention"
        ``"retention"`` takes the share of right predictions for seen samples that the best trade-off keeps in
        twelve rehearsals, and the gamma that keeps it on held-out samples among all present classes.
        ``"paper"`` is the gamma of the folds. A number is used unchanged; 0 is no calibration.
    min_seen, min_unseen, unseen_share : float, optional
        Instead of the best H: the best accuracy on unseen samples with at least this accuracy on seen ones,
        the reverse, or the best accuracy when this share of future samples is unseen, in percent.
    weights : {"per-class", "per-sample"}, default="per-class"
        Whether every class or every sample has the same weight in accuracies.
    refit_zsl : bool, default=False
        Also retrain and calibrate with ``best_params_zsl_``, for the tables of the paper.
    n_jobs : int, optional
        Folds that run at the same time, through joblib.
    verbose : bool, default=False
        Show progress on stderr.

    Attributes
    ----------
    best_params_, best_params_zsl_ : dict
        Those with the best mean H, and with the best accuracy on validation classes among themselves.
    best_score_ : float
        Mean validation H of ``best_params_``, in percent.
    gamma_ : float
        What is subtracted from the scores of the seen classes.
    temperature_ : float
        Divides the scores in ``predict_proba``, so that mean confidence equals accuracy on held-out samples.
    curve_ : SeenUnseenCurve
        Mean validation curve of ``best_params_``.
    cv_results_ : dict of lists and arrays
        For every element of the grid ``params``, ``param_*``, ``mean_test_score`` (H), ``rank_test_score``,
        ``mean_zsl``, ``mean_seen``, ``gamma``, and per fold.
    estimator_ : fitted estimator
        Retrained on all samples; not calibrated.
    zsl_ : Calibrated or None
        With ``refit_zsl``: the estimator retrained with ``best_params_zsl_``, and its gamma.
    seen_ : ndarray of bool
        Which of ``classes_`` had samples.
    held_out_ : HeldOut
        How held-out samples fared with ``best_params_``.

    Examples
    --------
    >>> from unseen import GZSLClassifierCV, LinearSV, load_dataset
    >>> data = load_dataset("digits")
    >>> seen = data.seen[data.y]  # samples of the other classes are never used
    >>> model = GZSLClassifierCV(LinearSV(data.prototypes)).fit(data.X[seen], data.y[seen])
    >>> model.predict(data.X[~seen][:5]).tolist()
    [3, 4, 6, 3, 4]
    """

    def __init__(
        self,
        estimator: Any,
        param_grid: Any = None,
        *,
        cv: Any = None,
        gamma: str | float = "retention",
        min_seen: float | None = None,
        min_unseen: float | None = None,
        unseen_share: float | None = None,
        weights: str = "per-class",
        refit_zsl: bool = False,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.cv = cv
        self.gamma = gamma
        self.min_seen = min_seen
        self.min_unseen = min_unseen
        self.unseen_share = unseen_share
        self.weights = weights
        self.refit_zsl = refit_zsl
        self.n_jobs = n_jobs
        self.verbose = verbose

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(
        self, X: Any, y: ArrayLike, *, groups: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Run the whole process on training samples.

        Parameters
        ----------
        X, y : array-like of shape (n_samples, n_features) and (n_samples,)
        groups : array-like of shape (n_samples,), optional
            Held out as a whole, such as images of one video: samples alike make estimates optimistic.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the training samples, if the estimator takes them. Accuracies are not weighted.
        """
        from unseen.card import find_problems

        samples = as_samples(X, y, groups, sample_weight)
        with self._report_fit():
            self.finish(samples, *self.choose_params(samples))
        warn_about(find_problems(self, samples.X), stacklevel=3)
        return self

    def choose_params(self, samples: TrainingSet) -> tuple[list[FoldIndices], list[Choice]]:
        """Return the folds and the parameters that they choose: the first half of ``fit``."""
        self._check()
        _check_classes(last_step(self.estimator), samples.y)
        params = _grid(self.estimator, self.param_grid)
        expect("param_grid", self.param_grid, params, "at least one combination of parameters")
        folds = list(_folds(self.cv, samples))
        expect("cv", self.cv, folds, "at least one fold")
        run = delayed(run_fold)
        tasks = [run(self.estimator, samples, fold, params, self.weights, keep=self._paper) for fold in folds]
        found = self._run("choosing parameters", tasks)
        curves = [[curve for curve, _ in by_fold if curve is not None] for by_fold in found]
        means = [mean_curve(by_fold) for by_fold in curves]
        self.cv_results_ = _summary(params, curves, means)
        best = int(np.argmax(self.cv_results_["mean_test_score"]))
        zsl = int(np.argmax(self.cv_results_["mean_zsl"]))
        self.best_params_, self.best_params_zsl_ = params[best], params[zsl]
        self.curve_, self.best_score_ = means[best], means[best].h
        chosen = [best, zsl] if self.refit_zsl and best != zsl else [best]
        return folds, [Choice(params[i], means[i], [trial for _, trial in found[i]]) for i in chosen]

    def finish(self, samples: TrainingSet, folds: Sequence[FoldIndices], chosen: Sequence[Choice]) -> Self:
        """Retrain on everything, rehearse and calibrate: the second half of ``fit``."""
        models = list(fit_each(self.estimator, samples, [choice.params for choice in chosen]))
        for model in models:
            if isinstance(model, ZeroShotClassifier):
                model.warn_about_fit()
        self.estimator_ = models[0]
        self.seen_ = np.isin(self.classes_, samples.y)
        held_out = self._hold_out(samples.summed_by(models), folds, chosen)
        gammas = [self._choose_gamma(*pair) for pair in zip(chosen, held_out)]
        self.gamma_, self.held_out_ = gammas[0], held_out[0]
        self.zsl_ = Calibrated(models[-1], gammas[-1]) if self.refit_zsl else None
        self.temperature_ = self.held_out_.choose_confidence(self.gamma_, self.weights)
        return self

    # ---- calibration -----------------------------------------------------------------------------

    @property
    def _paper(self) -> bool:
        """Whether gamma needs the folds alone."""
        return self.gamma != "retention"

    def _check(self) -> None:
        """Raise before the work begins if a parameter makes no sense."""
        goal = self._goal()
        known = self.gamma in RULES or (isinstance(self.gamma, Real) and np.isfinite(self.gamma))
        expect("gamma", self.gamma, known, "'retention', 'paper' or a number")
        if self.gamma not in RULES and goal != Goal():
            advice = "Pass a number for gamma, or one of min_seen, min_unseen and unseen_share."
            raise UnseenError(f"Got gamma={self.gamma} and a goal that would choose it. {advice}")
        expect("cv", self.cv, not isinstance(self.cv, str), "a number of folds or a splitter")
        if isinstance(self.estimator, type):
            name = self.estimator.__name__
            raise UnseenError(f"Got the class {name}, but expected an estimator: {name}(prototypes).")

    def _goal(self) -> Goal:
        return Goal(self.min_seen, self.min_unseen, self.unseen_share)

    def _run(self, what: str, tasks: Sequence[Any]) -> list[list[Any]]:
        """Run the tasks of a stage wherever joblib's backend is; return what they found, [params][task]."""
        stages = ["choosing parameters", "rehearsing"]  # retraining between them is one fit
        name = type(last_step(self.estimator)).__name__
        words = f"{stages.index(what) + 1} of {1 if self._paper else 2}: {what}, {name}"
        found = []
        bar = progress(len(tasks), words, unit="parts", quiet=not self.verbose)
        with bar as advance, self._report_stage(what, len(tasks)) as finish_part:
            for by_params in results(tasks, self.n_jobs):
                found.append(by_params)
                advance(1, "")
                finish_part()
        return [list(by_task) for by_task in zip(*found)]

    def _hold_out(
        self, samples: TrainingSet, folds: Sequence[FoldIndices], chosen: Sequence[Choice]
    ) -> list[HeldOut]:
        """Try each chosen model on held-out classes and samples, as far as the rule for gamma needs it."""
        params = [choice.params for choice in chosen]
        if self._paper:
            rule = "paper" if self.gamma == "paper" else "given"
            return [HeldOut(rule, choice.trials) for choice in chosen]
        if self.seen_.all():
            warnings.warn(
                "No unseen class is known yet, so gamma comes from the folds (the paper's rule). "
                "Call recalibrate(X, y) after add_classes.",
                stacklevel=4,
            )
            tasks = [delayed(run_fold)(self.estimator, samples, fold, params) for fold in folds]
            found = self._run("rehearsing", tasks)
            return [HeldOut("paper", [trial for _, trial in by_fold]) for by_fold in found]
        rehearsals = rehearsal_classes(samples.y, int((~self.seen_).sum()))
        return [HeldOut("retention", *trials) for trials in self._cross_fit(samples, params, rehearsals)]

    def _cross_fit(
        self, samples: TrainingSet, params: Sequence[Params], rehearsals: Sequence[LabelArray] = ()
    ) -> list[tuple[list[Trial], Trial]]:
        """Hold out samples part by part, and classes besides: return rehearsals and cross-fit, by params."""
        parts = cross_fit_parts(samples.y, samples.groups)
        estimator, n = self._present_estimator(), len(parts)
        tasks = [
            delayed(run_part)(estimator, samples, part, rehearsals[number::n], params)
            for number, part in enumerate(parts)
        ]
        return [
            ([trial for trials, _ in by_part for trial in trials], Trial.concatenate([t for _, t in by_part]))
            for by_part in self._run("rehearsing", tasks)
        ]

    def _choose_gamma(self, choice: Choice, held_out: HeldOut) -> float:
        """Return gamma by the rule, and note the retention that belongs to it."""
        crossed = held_out.cross_fitted
        accuracy = choice.curve.seen_alone if crossed is None else seen_alone(crossed, self.weights)
        if held_out.rule == "given":
            return float(self.gamma)
        held_out.retention = choose_retention(held_out.rehearsals, accuracy, self._goal(), self.weights)
        if crossed is None:
            return choice.curve.best_for(self._goal()).gamma
        return float(gamma_at_retention(crossed, held_out.retention, self.weights))

    def _present_estimator(self) -> Any:
        """Return the unfitted estimator that describes all present classes, later ones included."""
        model = last_step(self.estimator_)
        described = getattr(last_step(self.estimator), "prototypes", None)
        same = len(self.classes_) == len(() if described is None else described)
        if same or not isinstance(model, ZeroShotClassifier):
            return self.estimator
        present = clone(self.estimator)
        last_step(present).set_params(prototypes=model.described())
        return present

    def recalibrate(
        self, X: Any, y: ArrayLike, *, groups: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Choose gamma again for the present classes, with the retention that selection has chosen.

        X and y are the training samples, or others of all seen classes; the rest is as for ``fit``.
        """
        check_is_fitted(self, "gamma_")
        if self.seen_.all():
            raise UnseenError("There is no unseen class to calibrate for. Call add_classes first.")
        samples, held_out = as_samples(X, y, groups, sample_weight), self.held_out_
        expect("gamma", self.gamma_, held_out.rule != "given", "a rule that chooses it, such as 'retention'")
        other = shortened(list(map(str, np.setxor1d(samples.y, self.classes_[self.seen_]))), 5)
        expect("y", other, not other, "samples of all seen classes and of no other")
        ((_, crossed),) = self._cross_fit(samples, [self.best_params_])
        held_out.rule, held_out.cross_fitted = "retention", crossed
        self.gamma_ = float(gamma_at_retention(crossed, held_out.retention, self.weights))
        self.temperature_ = held_out.carry_confidence(self.gamma_)
        return self

    def card(self) -> Card:
        """Return what to expect of this model, and what the calibration costs the seen classes."""
        from unseen.card import make_card

        check_is_fitted(self, "gamma_")
        return make_card(self)


# ---- what the user passes ----------------------------------------------------------------------------


def _check_classes(method: Any, y: LabelArray) -> None:
    """Reject labels without a description, all at once; a fold would see only some of them."""
    if isinstance(method, ZeroShotClassifier):
        label_positions(y, as_prototypes(method.prototypes, y).index)


def _grid(estimator: Any, param_grid: Any) -> list[dict[str, Any]]:
    """Return the parameters to try; those of the last step if the estimator is a pipeline."""
    if param_grid is None:
        own = getattr(last_step(estimator), "default_grid", {})
        prefix = f"{estimator.steps[-1][0]}__" if isinstance(estimator, Pipeline) else ""
        param_grid = {f"{prefix}{name}": values for name, values in own.items()}
    return list(ParameterGrid(param_grid))


def _folds(cv: Any, samples: TrainingSet) -> Iterator[FoldIndices]:
    """Yield (train, validation) index arrays, each with seen and held-out classes in validation."""
    cv, y = GZSLFolds() if cv is None else GZSLFolds(int(cv)) if isinstance(cv, Integral) else cv, samples.y
    pairs: Iterable[FoldIndices] = cv.split(samples.X, y, samples.groups) if hasattr(cv, "split") else cv
    for number, pair in enumerate(pairs):
        train, validation = map(np.asarray, pair)
        places = np.concatenate([train, validation])
        valid = places.dtype.kind in "iu" and places.min() >= 0 and places.max() < len(y)
        expect("cv", f"fold {number}", valid, f"positions of samples, from 0 to {len(y) - 1}")
        seen = np.isin(y[validation], y[train])
        for part, name in ((seen, "classes that are in train"), (~seen, "classes that are not in train")):
            if not part.any():
                got = f"Validation part {number} has no sample of {name}. Calibration compares both"
                raise UnseenError(f"{got}: use GZSLFolds, two samples per class or more, and small groups.")
        shared = np.intersect1d(train, validation)
        if shared.size:
            raise UnseenError(f"Sample {shared[0]} is in train and validation of fold {number}.")
        yield train, validation


def _summary(params: list[dict[str, Any]], curves: Sequence[Curves], means: Curves) -> dict[str, Any]:
    """Return the table of what every element of the grid reached, means and folds; the score is H."""
    h = np.array([curve.h for curve in means])
    table: dict[str, Any] = {"params": params}
    for name in sorted({name for values in params for name in values}):
        table[f"param_{name}"] = np.array([values.get(name) for values in params], dtype=object)
    table |= {
        "mean_test_score": h,
        "rank_test_score": np.argsort(np.argsort(-h, kind="stable")) + 1,
        "mean_zsl": np.array([curve.unseen_alone for curve in means]),  # A_U->Cu
        "mean_seen": np.array([curve.seen_alone for curve in means]),  # A_S->Cs
        "gamma": np.array([curve.gamma for curve in means]),
    }
    for number, by_params in enumerate(zip(*curves)):
        table[f"split{number}_test_score"] = np.array([curve.h for curve in by_params])
        table[f"split{number}_zsl"] = np.array([curve.unseen_alone for curve in by_params])
        table[f"split{number}_seen"] = np.array([curve.seen_alone for curve in by_params])
    return table
