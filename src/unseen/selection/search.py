"""The process of the paper: choose lambda and gamma on held-out classes, retrain, predict calibrated."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np
from joblib import delayed
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import ParameterGrid
from sklearn.utils.validation import check_is_fitted

from unseen._core.blocks import FloatArray, score_blocks
from unseen._core.labels import candidate_columns
from unseen._core.parallel import results
from unseen._core.progress import progress
from unseen._core.rows import as_rows
from unseen.base import ZeroShotClassifier
from unseen.calibration.curve import mean_curve
from unseen.datasets.splits import GZSLFolds
from unseen.errors import UnseenError
from unseen.selection.evaluation import Fold, Settings, fit_settings, run_fold
from unseen.selection.gamma import Curves, _mean_classes, extrapolate_gamma, fewer_classes

SHARES = (0.4, 0.6, 0.8)  # of a fold's train classes, for the transfer of gamma


class GZSLClassifierCV(ClassifierMixin, BaseEstimator):
    """Choose parameters and calibration on held-out classes, then retrain on everything.

    For every fold and every parameter setting a model is trained on the train classes. Its *ZSL score* is
    the accuracy on validation classes among themselves; its exact seen-unseen curve gives the harmonic
    mean for every gamma. ``best_params_zsl_`` has the best mean ZSL score, ``best_params_`` the best mean
    harmonic mean at its own gamma. The model is retrained on all samples, and gamma becomes part of the
    intercept of the seen classes. No sample of an unseen class and no prototype of one takes part.

    Parameters
    ----------
    estimator : ZeroShotClassifier, or anything that follows :class:`ScoresClasses`
    param_grid : dict or list of dict, optional
        As in ``sklearn.model_selection.ParameterGrid``; by default the estimator's own ``default_grid``.
    cv : splitter or iterable of (train, validation) index arrays, optional
        A validation sample whose class is not in train plays an unseen class. By default
        :class:`unseen.datasets.splits.GZSLFolds` with three folds.
    gamma : {"paper", "transfer"}, default="paper"
        How gamma is carried from the folds to the retrained model: as it is, as in the paper, or
        extrapolated to the number of classes that the retrained model has seen. A model that has seen
        fewer classes favors them more, so gamma of the folds tends to be too large.
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
    curve_ : SeenUnseenCurve
        Mean validation curve of ``best_params_``.
    cv_results_ : dict of lists and arrays
        For every setting ``params``, ``mean_zsl``, ``mean_seen``, ``mean_h``, ``gamma``, and per fold.
    estimator_, estimator_zsl_ : fitted estimators
        Retrained on all samples with each of the two settings; not calibrated.
    coef_, intercept_ : ndarray
        The calibrated linear classifier, where the estimator is linear.
    classes_, seen_ : ndarray
        All class labels, and which of them had samples.

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

    def __init__(
        self,
        estimator: Any,
        param_grid: Any = None,
        *,
        cv: Any = None,
        gamma: str = "paper",
        weights: str = "per-class",
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.cv = cv
        self.gamma = gamma
        self.weights = weights
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any) -> Self:
        """Run the whole process on training samples X (n_samples, n_features) with labels y."""
        if self.gamma not in ("paper", "transfer"):
            raise UnseenError(f"Got gamma={self.gamma!r}, but expected 'paper' or 'transfer'.")
        X, y = _as_arrays(X, y)
        settings = _settings(self.estimator, self.param_grid)
        folds = list(_folds(self.cv, X, y))
        curves = self._run_folds(X, y, folds, settings)
        self._select(settings, curves)
        if self.gamma == "transfer":
            chosen = [curves[self.best_index_], curves[self.best_index_zsl_]]
            self._transfer_gamma(X, y, folds, chosen)
        self._retrain(X, y)
        return self

    def _select(self, settings: list[dict[str, Any]], by_setting: Sequence[Curves]) -> None:
        curves = [mean_curve(folds) for folds in by_setting]
        self.cv_results_ = _summary(settings, by_setting, curves)
        self.best_index_ = int(np.argmax(self.cv_results_["mean_h"]))
        self.best_index_zsl_ = int(np.argmax(self.cv_results_["mean_zsl"]))
        self.best_params_ = settings[self.best_index_]
        self.best_params_zsl_ = settings[self.best_index_zsl_]
        self.curve_ = curves[self.best_index_]
        self.gamma_ = self.curve_.gamma
        self.gamma_zsl_ = curves[self.best_index_zsl_].gamma

    def _run_folds(self, X: Any, y: NDArray[Any], folds: Sequence[Fold], settings: Settings) -> list[Curves]:
        """Return the validation curves, [setting][fold]."""
        tasks = (delayed(run_fold)(self.estimator, X, y, fold, settings, self.weights) for fold in folds)
        found = []
        with progress(len(folds), "Choosing parameters", unit="folds", quiet=not self.verbose) as advance:
            for curves in results(tasks, self.n_jobs):
                found.append(curves)
                advance(1, f"{len(settings)} settings each")
        return list(zip(*found))

    def _transfer_gamma(self, X: Any, y: NDArray[Any], folds: Sequence[Fold], full: list[Curves]) -> None:
        """Extrapolate both gammas; ``full`` holds the curves of the two chosen settings, [setting][fold]."""
        sizes, curves = [_mean_classes(y, folds)], [full]
        for share in SHARES:
            parts = [fewer_classes(y, fold, share) for fold in folds]
            sizes.append(_mean_classes(y, parts))
            curves.append(self._run_folds(X, y, parts, [self.best_params_, self.best_params_zsl_]))
        n_classes = len(np.unique(y))
        self.gamma_, self.gamma_zsl_ = (
            extrapolate_gamma(sizes, by_size, n_classes) for by_size in zip(*curves)
        )

    def _retrain(self, X: Any, y: NDArray[Any]) -> None:
        same = self.best_index_ == self.best_index_zsl_
        settings = [self.best_params_] if same else [self.best_params_, self.best_params_zsl_]
        models: list[Any] = list(fit_settings(self.estimator, X, y, settings))
        for model in models:
            if isinstance(model, ZeroShotClassifier):
                model._warn_about_fit()
        self.estimator_, self.estimator_zsl_ = models[0], models[-1]
        self.seen_ = np.isin(self.classes_, y)

    @property
    def classes_(self) -> NDArray[Any]:
        """All class labels, seen and unseen."""
        return np.asarray(self.estimator_.classes_)

    @property
    def coef_(self) -> FloatArray:
        """Rows of the linear classifier, (n_classes, n_features)."""
        return self.estimator_.coef_

    @property
    def intercept_(self) -> FloatArray:
        """Intercepts with gamma taken off the seen classes, (n_classes,)."""
        return self.estimator_.intercept_ - self.gamma_ * self.seen_

    def similarity(self, X: Any) -> FloatArray:
        """Return calibrated scores, (n_samples, n_classes)."""
        check_is_fitted(self, "gamma_")
        scores = np.asarray(self.estimator_.similarity(X))
        scores[:, self.seen_] -= self.gamma_
        return scores

    def predict(self, X: Any, candidates: Any = None) -> NDArray[Any]:
        """Return the best class of every sample after calibration, among ``candidates`` or all classes."""
        check_is_fitted(self, "gamma_")
        X = _indexable(X)
        columns = candidate_columns(self.classes_, candidates)
        best = np.empty(len(X), dtype=np.intp)
        for block in score_blocks(len(X), len(self.classes_)):
            best[block] = self.similarity(X[block])[:, columns].argmax(axis=1)
        return self.classes_[columns[best]]

    def add_classes(self, prototypes: Any, classes: Any = None) -> Self:
        """Add unseen classes by their descriptions alone, without training; see ``ZeroShotClassifier``."""
        check_is_fitted(self, "gamma_")
        before = len(self.classes_)
        self.estimator_.add_classes(prototypes, classes)
        if self.estimator_zsl_ is not self.estimator_:
            self.estimator_zsl_.add_classes(prototypes, classes)
        self.seen_ = np.concatenate([self.seen_, np.zeros(len(self.classes_) - before, dtype=bool)])
        return self


def _as_arrays(X: Any, y: Any) -> tuple[Any, NDArray[Any]]:
    """Return X and y ready for indexing by arrays."""
    X, y = _indexable(X), np.asarray(y)
    if len(X) != len(y):
        raise UnseenError(f"X has {len(X)} samples but y has {len(y)} labels. Pass one label per sample.")
    return X, y


def _indexable(X: Any) -> Any:
    """Return X ready for indexing by slices and arrays; what is on disk stays there."""
    X = as_rows(X)
    return X if hasattr(X, "shape") else np.asarray(X)


def _settings(estimator: Any, param_grid: Any) -> list[dict[str, Any]]:
    grid = getattr(estimator, "default_grid", {}) if param_grid is None else param_grid
    return list(ParameterGrid(grid))


def _folds(cv: Any, X: Any, y: NDArray[Any]) -> Iterable[Fold]:
    """Yield (train, validation) index arrays, each with seen and unseen validation samples."""
    cv = GZSLFolds() if cv is None else cv
    for number, (train, validation) in enumerate(cv.split(X, y) if hasattr(cv, "split") else cv):
        seen = np.isin(y[validation], y[train])
        for part, name in ((seen, "classes that are in train"), (~seen, "classes that are not in train")):
            if not part.any():
                raise UnseenError(
                    f"Validation part {number} has no sample of {name}. Calibration compares both: "
                    "make folds with unseen.datasets.splits.GZSLFolds or make_split."
                )
        if np.intersect1d(train, validation).size:
            sample = np.intersect1d(train, validation)[0]
            raise UnseenError(f"Sample {sample} is in train and validation of fold {number}.")
        yield np.asarray(train), np.asarray(validation)


def _summary(
    settings: list[dict[str, Any]],
    by_setting: Sequence[Curves],
    curves: Curves,
) -> dict[str, Any]:
    """Return the table of what every setting reached, means and folds."""
    table: dict[str, Any] = {
        "params": settings,
        "mean_zsl": np.array([curve.unseen_alone for curve in curves]),  # A_U->Cu
        "mean_seen": np.array([curve.seen_alone for curve in curves]),  # A_S->Cs
        "mean_h": np.array([curve.h for curve in curves]),
        "gamma": np.array([curve.gamma for curve in curves]),
    }
    for number, folds in enumerate(zip(*by_setting)):
        table[f"split{number}_zsl"] = np.array([curve.unseen_alone for curve in folds])
        table[f"split{number}_seen"] = np.array([curve.seen_alone for curve in folds])
        table[f"split{number}_h"] = np.array([curve.h for curve in folds])
    return table
