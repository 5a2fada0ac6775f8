"""The process of the paper: choose lambda and gamma on held-out classes, retrain, predict calibrated."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from joblib import delayed
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from unseen._core.blocks import MANY_CLASSES, BoolArray, FloatArray, score_blocks
from unseen._core.labels import LabelArray, candidate_columns, check_labels
from unseen._core.parallel import results
from unseen._core.progress import progress
from unseen._core.representation import one_line_repr
from unseen._core.rows import as_rows, n_rows, read_rows
from unseen._core.training import check_weights
from unseen.base import ZeroShotClassifier
from unseen.calibration.classifier import class_scores
from unseen.calibration.curve import Goal, SeenUnseenCurve, mean_curve
from unseen.datasets.splits import GZSLFolds
from unseen.errors import UnseenError
from unseen.selection.evaluation import (
    FindShift,
    FoldIndices,
    Kept,
    Params,
    Samples,
    Trial,
    deal_parts,
    fit_each,
    hold_out_classes,
    hold_out_part,
    last_step,
    run_fold,
)
from unseen.selection.few_shots import FewShots, choose_kappa, simulate_shots
from unseen.selection.gamma import (
    CAUTION,
    choose_retention,
    gamma_at_retention,
    rehearsal_folds,
    retention_at,
    seen_alone,
    unseen_at_retention,
)
from unseen.selection.rejection import UNKNOWN, Rejection, carry_thresholds, choose_rejection
from unseen.selection.simulation import Simulation
from unseen.selection.temperature import (
    Temperature,
    carry_temperature,
    choose_temperature,
    dress_rehearsals,
)

RULES = ("retention", "paper")
N_PARTS = 5  # a cross-fitted model trains on all samples but one part of five
MANY = 100  # classes with which two parts, held out in turn, are enough

Curves = Sequence[SeenUnseenCurve]  # one per fold


@dataclass
class HeldOut:
    """How held-out samples fared with the chosen parameters: what gamma and the model card are made of."""

    rehearsals: list[Trial] = field(default_factory=list)  # a trial per fold, or per rehearsal fold
    rehearsals_zsl: list[Trial] = field(default_factory=list)  # the same with the parameters of the ZSL model
    dressed: list[Trial] = field(default_factory=list)  # a trial per dress rehearsal, where classes are many
    curves: Curves = ()  # mean validation curves of the GZSL and of the ZSL model
    cross_fitted: Trial | None = None  # held-out samples of the seen classes, among all present classes


class GZSLClassifierCV(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Choose parameters and calibration on held-out classes, then retrain on everything.

    For every fold and every element of the grid a model is trained on the train classes. Its *ZSL score* is
    the accuracy on validation classes among themselves; its exact seen-unseen curve gives the harmonic
    mean for every gamma. ``best_params_zsl_`` has the best mean ZSL score, ``best_params_`` the best mean
    harmonic mean at its own gamma. Then the model is retrained on all samples, and gamma becomes part of
    the intercepts of the seen classes.

    What depends on what: weights and parameters never depend on a prototype of an unseen class. gamma does
    with ``gamma="retention"``, and never on a sample of an unseen class.

    Parameters
    ----------
    estimator : ZeroShotClassifier, a pipeline that ends in one, or anything like :class:`ScoresClasses`
    param_grid : dict or list of dict, optional
        As in ``sklearn.model_selection.ParameterGrid``; by default the estimator's own ``default_grid``.
    cv : splitter or iterable of (train, validation) index arrays, optional
        Validation samples of classes that are not in train are held-out classes. By default
        :class:`unseen.datasets.splits.GZSLFolds`.
    gamma : {"retention", "paper"}, default="retention"
        How gamma gets from the folds to the retrained model. ``"paper"`` takes the gamma of the folds.
        ``"retention"`` takes the share of right answers on seen samples that the best trade-off keeps, and
        finds the gamma that keeps this share on held-out samples among all present classes. With fewer than
        100 seen classes, simulated samples tell how the unseen classes differ from held-out ones; for
        estimators that are not a ZeroShotClassifier there is no simulation. Without any unseen class the
        rule falls back to the paper's, with a warning.
    min_seen, min_unseen, unseen_share : float, optional
        What gamma is chosen for instead of the harmonic mean, in percent: the best accuracy on unseen
        samples with at least this accuracy on seen ones, the reverse, or the best accuracy when this share
        of future samples is unseen.
    weights : {"per-class", "per-sample"}, default="per-class"
        What accuracy means in the selection.
    n_jobs : int, optional
        Folds that run at the same time, through joblib.
    verbose : bool, default=False
        Show progress on stderr.

    Attributes
    ----------
    best_params_, best_params_zsl_ : dict
        lambda_GZSL and lambda_ZSL of the paper.
    gamma_, gamma_zsl_ : float
        The calibration that belongs to each.
    gamma_rule_ : {"retention", "paper"}
        The rule that chose them.
    retention_, retention_zsl_ : float
        The share of right answers on seen samples that the best trade-off of each keeps.
    kappa_ : float
        How many samples the description of a new class is worth, see ``add_classes``. Chosen on the folds for
        methods that take samples, with ``gamma="retention"``; 5 otherwise.
    sample_bias_ : float
        What is subtracted from the scores of a new class with many samples; with n samples
        ``n / (kappa + n)`` of it. Chosen with ``kappa_``; 0 otherwise.
    temperature_ : float
        The calibrated scores are divided by it before ``predict_proba`` takes their softmax. Chosen on
        held-out samples, so that answers are as sure as they are right.
    temperature_factor_ : float
        Where the best class is unseen, the scores are divided by so many times ``temperature_``; 1 with fewer
        than 100 seen classes and with the paper's rule.
    temperature_power_, temperature_height_ : float
        The temperature of a sample is multiplied by this power of its height, relative to the mean one. The
        height is how far its best score is above its mean score. The power is 0 where the factor is 1.
    temperature_ratio_ : float
        The temperature of held-out samples of seen and of held-out classes, relative to that of the seen ones
        alone; 1 with the paper's rule, which takes the temperature of the folds as it is.
    rejection_ : Rejection
        How ``predict(X, reject=...)`` detects samples of no described class, and the AUROC of each score on
        held-out classes.
    curve_ : SeenUnseenCurve
        Mean validation curve of ``best_params_``.
    cv_results_ : dict of lists and arrays
        For every element of the grid ``params``, ``mean_zsl``, ``mean_seen``, ``mean_h``, ``gamma``, and
        per fold.
    estimator_, estimator_zsl_ : fitted estimators
        Retrained on all samples with each of the two choices; not calibrated.
    coef_, intercept_ : ndarray
        The calibrated linear classifier, where the estimator is linear.
    classes_, seen_ : ndarray
        All class labels, and which of them had samples.
    n_features_in_, feature_names_in_ : int and ndarray
        The features of X, where the estimator knows them; names where X was a DataFrame.
    held_out_ : HeldOut
        How held-out samples fared with ``best_params_``.

    Examples
    --------
    >>> from unseen import GZSLClassifierCV, LinearSV
    >>> from unseen.datasets import load
    >>> from unseen.datasets.splits import make_split
    >>> data = load("digits")
    >>> split = make_split(data)
    >>> model = GZSLClassifierCV(LinearSV(data.prototypes), cv=split.cv())
    >>> model = model.fit(data.X[split.train], data.y[split.train])
    >>> model.predict(data.X[split.test_unseen]).shape == split.test_unseen.shape
    True
    """

    estimator_: Any
    estimator_zsl_: Any
    seen_: BoolArray
    gamma_: float
    gamma_zsl_: float
    gamma_rule_: str
    retention_: float
    retention_zsl_: float
    kappa_: float
    sample_bias_: float
    temperature_: float
    temperature_factor_: float
    temperature_power_: float
    temperature_height_: float
    temperature_ratio_: float
    rejection_: Rejection | None
    held_out_: HeldOut

    def __init__(
        self,
        estimator: Any,
        param_grid: Any = None,
        *,
        cv: Any = None,
        gamma: str = "retention",
        min_seen: float | None = None,
        min_unseen: float | None = None,
        unseen_share: float | None = None,
        weights: str = "per-class",
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
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        *,
        groups: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Run the whole process on training samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        groups : array-like of shape (n_samples,), optional
            What belongs together, such as images of one video: held-out samples of seen classes are whole
            groups. Without them, what is expected of new samples is too good.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the training samples, for estimators that take them. Accuracies on held-out samples
            are not weighted.
        """
        if self.gamma not in RULES:
            raise UnseenError(f"Got gamma={self.gamma!r}, but expected 'retention' or 'paper'.")
        if isinstance(self.estimator, type):
            name = self.estimator.__name__
            raise UnseenError(f"Got the class {name}, but expected an estimator: {name}(prototypes).")
        samples = as_samples(X, y, groups, sample_weight)
        return self._finish(samples, self._choose_params(samples))

    def _choose_params(self, samples: Samples) -> list[FoldIndices]:
        """Try the grid on the folds, and choose lambda_ZSL and lambda_GZSL; return the folds."""
        self._goal()  # refuses a wrong one before the work
        params = _grid(self.estimator, self.param_grid)
        folds = list(_folds(self.cv, samples))
        name = type(last_step(self.estimator)).__name__
        found = self._run_folds(samples, folds, params, f"Choosing parameters of {name}")
        self._select(params, [[curve for curve, _ in by_fold] for by_fold in found])
        self.held_out_.rehearsals = [trial for _, trial in found[self.best_index_]]
        self.held_out_.rehearsals_zsl = [trial for _, trial in found[self.best_index_zsl_]]
        return folds

    def _finish(self, samples: Samples, folds: Sequence[FoldIndices]) -> Self:
        """Retrain on everything, calibrate, and prepare for unknown classes and samples of new ones."""
        self._calibrate(samples)
        held_out = self._rehearsed(), self._held_out_samples()
        self.rejection_ = choose_rejection(*held_out, self.temperature_)
        few = self._simulate_shots(samples, folds) if self.gamma == "retention" else FewShots()
        self.kappa_, self.sample_bias_ = few.kappa, few.bias
        return self

    def _calibrate(self, samples: Samples) -> None:
        """Retrain on everything; choose gamma and the temperature. This is all that a bench needs."""
        self._retrain(samples)
        self._choose_gamma(samples)
        self._choose_temperature(samples)

    def _goal(self) -> Goal:
        return Goal(self.min_seen, self.min_unseen, self.unseen_share)

    def _run_folds(
        self,
        samples: Samples,
        folds: Sequence[FoldIndices],
        params: Sequence[Params],
        what: str,
        find_shift: FindShift | None = None,
    ) -> list[list[tuple[SeenUnseenCurve, Trial]]]:
        """Return the curve and the trial on the validation part, [params][fold]."""
        tasks = (
            delayed(run_fold)(self.estimator, samples, fold, params, self.weights, find_shift)
            for fold in folds
        )
        found = []
        with progress(len(folds), what, unit="folds", quiet=not self.verbose) as advance:
            for by_params in results(tasks, self.n_jobs):
                found.append(by_params)
                advance(1, f"{len(params)} combination{'s' if len(params) > 1 else ''} each")
        return [list(by_fold) for by_fold in zip(*found)]

    def _select(self, params: list[dict[str, Any]], curves: Sequence[Curves]) -> None:
        """Choose lambda_ZSL and lambda_GZSL by the curves, [params][fold]."""
        means = [mean_curve(by_fold) for by_fold in curves]
        self.cv_results_ = _summary(params, curves, means)
        self.best_index_ = int(np.argmax(self.cv_results_["mean_h"]))
        self.best_index_zsl_ = int(np.argmax(self.cv_results_["mean_zsl"]))
        self.best_params_ = params[self.best_index_]
        self.best_params_zsl_ = params[self.best_index_zsl_]
        self.curve_ = means[self.best_index_]
        self.held_out_ = HeldOut(curves=(self.curve_, means[self.best_index_zsl_]))

    def _retrain(self, samples: Samples) -> None:
        models: list[Any] = list(fit_each(self.estimator, samples, self._chosen_params()))
        for model in models:
            if isinstance(model, ZeroShotClassifier):
                model._warn_about_fit()
        self.estimator_, self.estimator_zsl_ = models[0], models[-1]
        self.seen_ = np.isin(self.classes_, samples.y)

    def _chosen_params(self) -> list[dict[str, Any]]:
        """Return the parameters of the one or two models that are retrained."""
        same = self.best_index_ == self.best_index_zsl_
        return [self.best_params_] if same else [self.best_params_, self.best_params_zsl_]

    # ---- calibration -----------------------------------------------------------------------------

    def _choose_gamma(self, samples: Samples) -> None:
        """Choose gamma for both models, by the rule or, without unseen classes, by the paper's."""
        self.gamma_rule_ = self.gamma if not self.seen_.all() else "paper"
        if self.gamma_rule_ == "paper":
            curves = self.held_out_.curves
            self.gamma_, self.gamma_zsl_ = (curve.best_for(self._goal()).gamma for curve in curves)
            self._choose_retention([curve.seen_alone for curve in curves])
        else:
            rehearsed = self._rehearse(samples)
            trials = self._cross_fit(samples)
            both = (trials[0], trials[-1])
            self._choose_retention(
                [seen_alone(trial, self.weights) for trial in both],
                [retention_at(trial, 0.0, self.weights) for trial in both],
                CAUTION if rehearsed else 0.0,
            )
            self._set_gamma(trials)
        if self.gamma_rule_ != self.gamma:
            warnings.warn(
                "No unseen class is known yet, so gamma comes from the folds (the paper's rule). "
                "Call recalibrate(X, y) after add_classes.",
                stacklevel=5,
            )

    def _choose_retention(
        self,
        alone: Sequence[float],
        uncalibrated: Sequence[float | None] = (None, None),
        caution: float = 0.0,
    ) -> None:
        """Choose the retention of both models by what the rehearsals have shown."""
        self.retention_, self.retention_zsl_ = (
            choose_retention(
                np.array([unseen_at_retention(trial, weights=self.weights) for trial in trials]),
                accuracy,
                self._goal(),
                shifts=[trial.shift for trial in trials],
                uncalibrated=before,
                caution=caution,
            )
            for trials, accuracy, before in zip(
                (self.held_out_.rehearsals, self.held_out_.rehearsals_zsl), alone, uncalibrated
            )
        )

    def _rehearse(self, samples: Samples) -> bool:
        """Try the chosen parameters on other class folds, and simulate, where there are few; return if so."""
        folds = rehearsal_folds(samples.y, int((~self.seen_).sum()), samples.groups)
        if not folds:
            return False
        simulation = Simulation(self.classes_[~self.seen_], self.weights)
        found = self._run_folds(samples, folds, self._chosen_params(), "Rehearsing", simulation)
        self.held_out_.rehearsals = [trial for _, trial in found[0]]
        self.held_out_.rehearsals_zsl = [trial for _, trial in found[-1]]
        return True

    def _set_gamma(self, trials: Sequence[Trial]) -> None:
        """Take the gammas at which the cross-fitted samples retain what was chosen."""
        self.gamma_ = gamma_at_retention(trials[0], self.retention_, self.weights)
        self.gamma_zsl_ = gamma_at_retention(trials[-1], self.retention_zsl_, self.weights)

    def _choose_temperature(self, samples: Samples) -> None:
        """Choose the temperature by held-out samples, at the gamma that was chosen."""
        if self.gamma_rule_ == "retention":
            self._dress_rehearse(samples)
        rehearsed, dressed = self._dress_rehearsed(), bool(self.held_out_.dressed)
        self._set_temperature(choose_temperature(rehearsed, self._held_out_samples(), dressed=dressed))

    def _set_temperature(self, chosen: Temperature) -> None:
        self.temperature_, self.temperature_ratio_ = chosen.value, chosen.ratio
        self.temperature_factor_ = chosen.factor
        self.temperature_power_, self.temperature_height_ = chosen.power, chosen.height

    def _temperature(self) -> Temperature:
        return Temperature(
            self.temperature_,
            self.temperature_ratio_,
            self.temperature_factor_,
            self.temperature_power_,
            self.temperature_height_,
        )

    def _dress_rehearse(self, samples: Samples) -> None:
        """Hold out a few classes in the places of unseen ones, where there are many."""
        folds = dress_rehearsals(samples.y, samples.groups)
        if not folds:
            return
        tasks = (
            delayed(hold_out_classes)(self.estimator, samples, fold, self.best_params_) for fold in folds
        )
        with progress(len(folds), "Rehearsing", unit="folds", quiet=not self.verbose) as advance:
            for trial in results(tasks, self.n_jobs):
                if all(kept.of_seen.any() for kept in trial.kept):  # without any, its units are unknown
                    self.held_out_.dressed.append(trial)
                advance(1, "")

    def _rehearsed(self) -> list[Kept]:
        """Return calibrated samples of the rehearsals, at the retention of the final model."""
        return self._at_retention(self.held_out_.rehearsals)

    def _dress_rehearsed(self) -> list[Kept]:
        """Return the same of the dress rehearsals, where there are any."""
        return self._at_retention(self.held_out_.dressed or self.held_out_.rehearsals)

    def _at_retention(self, trials: Sequence[Trial]) -> list[Kept]:
        paper = self.gamma_rule_ == "paper"
        return [
            kept.calibrated(
                self.gamma_ if paper else gamma_at_retention(trial, self.retention_, self.weights)
            )
            for trial in trials
            for kept in trial.kept
        ]

    def _held_out_samples(self) -> list[Kept]:
        """Return calibrated samples of the seen classes, cross-fitted; [] with the paper's rule."""
        trial = self.held_out_.cross_fitted
        return [] if trial is None else [kept.calibrated(self.gamma_) for kept in trial.kept]

    def cross_fit(
        self,
        X: Any,
        y: ArrayLike,
        *,
        groups: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> list[Trial]:
        """Hold out training samples in turn; return how they fare among all present classes.

        One trial for each retrained model: ``best_params_``, then ``best_params_zsl_`` where it differs.
        The parameters are those of ``fit``.
        """
        return self._cross_fit(as_samples(X, y, groups, sample_weight))

    def _cross_fit(self, samples: Samples) -> list[Trial]:
        part = deal_parts(samples.y, N_PARTS, samples.groups)
        n_parts = N_PARTS if self.seen_.sum() < MANY else 2
        estimator, params, shots = self._present_estimator(), self._chosen_params(), self._shots()
        tasks = (
            delayed(hold_out_part)(estimator, samples, part == number, params, shots)
            for number in range(n_parts)
            if (part == number).any()
        )
        found = []
        with progress(n_parts, "Calibrating", unit="parts", quiet=not self.verbose) as advance:
            for trials in results(tasks, self.n_jobs):
                found.append(trials)
                advance(1, "")
        if not found:
            raise UnseenError(
                'gamma="retention" holds out samples of seen classes, but every class has only one sample or '
                'one group. Pass gamma="paper".'
            )
        trials = [Trial.concatenate(list(parts)) for parts in zip(*found)]
        self.held_out_.cross_fitted = trials[0]
        return trials

    def _present_estimator(self) -> Any:
        """Return the unfitted estimator that describes all present classes, later ones included."""
        model = last_step(self.estimator_)
        same = len(self.classes_) == len(_described(self.estimator))
        if same or not isinstance(model, ZeroShotClassifier):
            return self.estimator
        present = clone(self.estimator)
        last_step(present).set_params(prototypes=model.described())
        return present

    def _shots(self) -> list[dict[str, NDArray[Any]]]:
        """Return what the one or two retrained models know of samples of new classes, [] for nothing."""
        models = [last_step(model) for model in (self.estimator_, self.estimator_zsl_)]
        known = [model._get_samples() for model in models if isinstance(model, ZeroShotClassifier)]
        return known if any(known) else []

    def _simulate_shots(self, samples: Samples, folds: Sequence[FoldIndices]) -> FewShots:
        """Choose how samples of new classes will be used; parameters, weights and gamma stay as they are."""
        model = last_step(self.estimator_)
        if not (isinstance(model, ZeroShotClassifier) and model._takes_samples()):
            return FewShots()
        tasks = (
            delayed(simulate_shots)(self.estimator, samples, fold, self.best_params_, self.weights)
            for fold in folds
        )
        found = []
        with progress(len(folds), "Simulating few shots", unit="folds", quiet=not self.verbose) as advance:
            for draws in results(tasks, self.n_jobs):
                found += draws
                advance(1, "")
        return choose_kappa(found)

    def recalibrate(
        self,
        X: Any,
        y: ArrayLike,
        *,
        groups: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Choose gamma again for the present classes, with the retention that selection has chosen.

        Parameters
        ----------
        X, y : array-like
            The training samples, or other samples of the seen classes.
        groups, sample_weight : array-like, optional
            As for ``fit``.
        """
        check_is_fitted(self, "gamma_")
        if self.seen_.all():
            raise UnseenError("There is no unseen class to calibrate for. Call add_classes first.")
        if np.isnan(self.retention_):
            raise UnseenError("This model file is older than recalibration. Fit the model again.")
        self._set_gamma(self.cross_fit(X, y, groups=groups, sample_weight=sample_weight))
        self.gamma_rule_ = "retention"
        if self.rejection_ is not None:
            held_out = self._held_out_samples()
            self._set_temperature(carry_temperature(self._temperature(), held_out))
            self.rejection_ = carry_thresholds(self.rejection_, held_out, self.temperature_)
        return self

    # ---- prediction ------------------------------------------------------------------------------

    @property
    def classes_(self) -> LabelArray:
        """All class labels, seen and unseen."""
        return np.asarray(self.estimator_.classes_)

    @property
    def coef_(self) -> FloatArray:
        """Rows of the linear classifier, (n_classes, n_features)."""
        return np.asarray(self.estimator_.coef_)

    @property
    def intercept_(self) -> FloatArray:
        """Intercepts, with gamma subtracted for the seen classes, (n_classes,)."""
        return np.asarray(self.estimator_.intercept_ - self.gamma_ * self.seen_)

    @property
    def n_features_in_(self) -> int:
        """The number of features, where the estimator knows it."""
        return int(self.estimator_.n_features_in_)

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """The names of the features, where X was a DataFrame."""
        return np.asarray(self.estimator_.feature_names_in_)

    def similarity(self, X: Any) -> FloatArray:
        """Return calibrated scores, (n_samples, n_classes)."""
        check_is_fitted(self, "gamma_")
        scores = class_scores(self.estimator_, X)
        bias = np.where(self.seen_, self.gamma_, 0)
        return np.asarray(np.subtract(scores, bias, dtype=np.result_type(scores, np.float32)))

    def decision_function(self, X: Any) -> FloatArray:
        """Return calibrated scores, (n_samples, n_classes)."""
        return self.similarity(X)

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of every class, (n_samples, n_classes).

        It is the softmax of the calibrated scores over the temperature of the sample: ``temperature_``,
        times ``temperature_factor_`` where the best class is unseen, times
        ``(height / temperature_height_) ** temperature_power_``.
        """
        return self._probabilities(self.similarity(X))

    def _probabilities(self, scores: FloatArray) -> FloatArray:
        """Return the probability of every class from calibrated scores, (n_samples, n_classes)."""
        return np.asarray(softmax(scores / self._temperature().of(scores, self.seen_), axis=1))

    def predict(
        self, X: Any, candidates: ArrayLike | None = None, *, reject: float | None = None
    ) -> LabelArray:
        """Return the best class of every sample after calibration.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        candidates : array-like of class labels, optional
            The classes to choose from; by default all.
        reject : float, optional
            Answer ``"unknown"`` where a sample fits its best class worse than this share of samples of known
            classes does: 0.05 keeps 95 % of them. Where labels are not text, the answers are objects.
        """
        check_is_fitted(self, "gamma_")
        X = _indexable(X)
        if reject is None and len(self.classes_) > MANY_CLASSES:
            model = copy(self.estimator_)
            if isinstance(model, ZeroShotClassifier):  # gamma in the intercepts: no copy of the scores
                model.intercept_ = self.intercept_
                return model.predict(X, candidates)
        columns = candidate_columns(self.classes_, candidates)
        chosen: Any = slice(None) if candidates is None else columns  # no copy of all scores
        rejection = None if reject is None else self._rejects(reject)
        best, familiar = np.empty(n_rows(X), dtype=np.intp), np.zeros(n_rows(X))
        for block in score_blocks(len(best), len(self.classes_)):
            scores = self.similarity(read_rows(X, block))[:, chosen]
            best[block] = scores.argmax(axis=1)
            if rejection:
                familiar[block] = rejection.familiarity(scores, self.temperature_)
        labels: LabelArray = self.classes_[columns[best]]
        if rejection is None or reject is None:
            return labels
        return with_unknown(labels, familiar < rejection.threshold(reject))

    def familiarity(self, X: Any) -> FloatArray:
        """Return how well samples fit the described classes: what ``predict(X, reject=...)`` compares.

        Returns
        -------
        ndarray of shape (n_samples,)
            In the units of ``rejection_.thresholds``.
        """
        check_is_fitted(self, "gamma_")
        X, rejection = _indexable(X), self._rejects()
        familiar = np.empty(n_rows(X))
        for block in score_blocks(len(familiar), len(self.classes_)):
            scores = self.similarity(read_rows(X, block))
            familiar[block] = rejection.familiarity(scores, self.temperature_)
        return familiar

    def _rejects(self, reject: float = 0.0) -> Rejection:
        """Return how unknown classes are detected; refuse a share that makes no sense."""
        if self.rejection_ is None:
            raise UnseenError("This model file is older than rejection. Fit the model again.")
        if np.isin(UNKNOWN, self.classes_.astype(str)):
            raise UnseenError(
                f"A class is called {UNKNOWN!r}, the answer for none of the classes. Rename it."
            )
        self.rejection_.threshold(reject)
        return self.rejection_

    def add_classes(
        self,
        prototypes: Any,
        classes: ArrayLike | None = None,
        X: Any = None,
        y: ArrayLike | None = None,
        kappa: float | None = None,
    ) -> Self:
        """Add unseen classes by their descriptions, and a few samples if there are any, without training.

        The parameters are those of ``ZeroShotClassifier.add_classes``; ``kappa`` is ``kappa_`` by default.
        gamma stays; ``recalibrate`` chooses it again for the larger set of classes.
        """
        check_is_fitted(self, "gamma_")
        before = len(self.classes_)
        kappa = self.kappa_ if kappa is None else kappa
        for model in {id(model): model for model in (self.estimator_, self.estimator_zsl_)}.values():
            if isinstance(model, Pipeline) and X is not None:
                last_step(model).add_classes(prototypes, classes, model[:-1].transform(X), y, kappa)
            else:
                last_step(model).add_classes(prototypes, classes, X, y, kappa)
        if X is not None:
            last_step(self.estimator_)._set_sample_bias(self.sample_bias_)
        self.seen_ = np.concatenate([self.seen_, np.zeros(len(self.classes_) - before, dtype=bool)])
        return self

    def __repr__(self) -> str:
        folds = {"cv": f"{len(self.cv)} folds"} if isinstance(self.cv, list | tuple) else {}
        return one_line_repr(self, **folds)


def with_unknown(labels: LabelArray, unknown: BoolArray) -> LabelArray:
    """Return the labels with ``"unknown"`` in some places; as objects where they are not text.

    >>> with_unknown(np.array([3, 4]), np.array([False, True]))
    array([3, 'unknown'], dtype=object)
    """
    if labels.dtype.kind == "U":
        return np.where(unknown, UNKNOWN, labels)
    answers = labels.astype(object)
    answers[unknown] = UNKNOWN
    return answers


# ---- what the user passes ----------------------------------------------------------------------------


def as_samples(
    X: Any, y: ArrayLike, groups: ArrayLike | None = None, sample_weight: ArrayLike | None = None
) -> Samples:
    """Return training samples ready for indexing: one label, group and weight per sample."""
    X, labels = _indexable(X), check_labels(y)
    if n_rows(X) != len(labels):
        raise UnseenError(
            f"X has {n_rows(X)} samples but y has {len(labels)} labels. Pass one label per sample."
        )
    weight = None if sample_weight is None else check_weights(sample_weight, len(labels))
    return Samples(X, labels, None if groups is None else _check_groups(groups, len(labels)), weight)


def _check_groups(groups: ArrayLike, n: int) -> NDArray[Any]:
    found = np.asarray(groups)
    if found.shape != (n,):
        raise UnseenError(f"groups has shape {found.shape}, expected ({n},). Pass one group per sample.")
    return found


def _indexable(X: Any) -> Any:
    """Return X ready for indexing by slices and arrays; what is on disk stays there."""
    X = as_rows(X)
    return X if hasattr(X, "shape") else np.asarray(X)


def _described(estimator: Any) -> Any:
    """Return the prototypes that an unfitted estimator was given."""
    prototypes = getattr(last_step(estimator), "prototypes", None)
    return () if prototypes is None else prototypes


def _grid(estimator: Any, param_grid: Any) -> list[dict[str, Any]]:
    """Return the parameters to try; those of the last step where the estimator is a pipeline."""
    if param_grid is None:
        own = getattr(last_step(estimator), "default_grid", {})
        prefix = f"{estimator.steps[-1][0]}__" if isinstance(estimator, Pipeline) else ""
        param_grid = {f"{prefix}{name}": values for name, values in own.items()}
    return list(ParameterGrid(param_grid))


def _folds(cv: Any, samples: Samples) -> Iterator[FoldIndices]:
    """Yield (train, validation) index arrays, each with seen and held-out classes in validation."""
    cv, y = GZSLFolds() if cv is None else cv, samples.y
    pairs: Iterable[FoldIndices] = cv.split(samples.X, y, samples.groups) if hasattr(cv, "split") else cv
    for number, (train, validation) in enumerate(pairs):
        seen = np.isin(y[validation], y[train])
        for part, name in ((seen, "classes that are in train"), (~seen, "classes that are not in train")):
            if not part.any():
                raise UnseenError(
                    f"Validation part {number} has no sample of {name}. Calibration compares both: "
                    "make folds with unseen.datasets.splits.GZSLFolds or make_split."
                )
        shared = np.intersect1d(train, validation)
        if shared.size:
            raise UnseenError(f"Sample {shared[0]} is in train and validation of fold {number}.")
        yield np.asarray(train), np.asarray(validation)


def _summary(params: list[dict[str, Any]], curves: Sequence[Curves], means: Curves) -> dict[str, Any]:
    """Return the table of what every element of the grid reached, means and folds."""
    table: dict[str, Any] = {
        "params": params,
        "mean_zsl": np.array([curve.unseen_alone for curve in means]),  # A_U->Cu
        "mean_seen": np.array([curve.seen_alone for curve in means]),  # A_S->Cs
        "mean_h": np.array([curve.h for curve in means]),
        "gamma": np.array([curve.gamma for curve in means]),
    }
    for number, by_params in enumerate(zip(*curves)):
        table[f"split{number}_zsl"] = np.array([curve.unseen_alone for curve in by_params])
        table[f"split{number}_seen"] = np.array([curve.seen_alone for curve in by_params])
        table[f"split{number}_h"] = np.array([curve.h for curve in by_params])
    return table
