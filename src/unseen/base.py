"""What every method shares: a class description in, one row of a linear classifier out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from unseen._core.blocks import BLOCK, MANY_CLASSES, BoolArray, FloatArray, IndexArray, score_blocks
from unseen._core.labels import (
    LabelArray,
    attribute_names,
    candidate_columns,
    is_labeled,
    label_positions,
    split_prototypes,
)
from unseen._core.representation import one_line_repr
from unseen._core.rows import Rows, as_rows, read_ahead
from unseen._core.scaling import LinearScores, Standardization, scaled_products
from unseen._core.shots import Shots
from unseen._core.training import Training, weigh_samples
from unseen.datasets.prototypes import Prototypes, align
from unseen.errors import UnseenError

LARGEST = 1e30  # beyond this, sums of products may overflow float32
KAPPA = 5.0  # samples that a description is worth, where nobody has measured it
_SAMPLES = ("sample_classes_", "described_share_", "sample_means_", "sample_bias_")

Params = Mapping[str, Any]  # values by parameter name, as ``set_params`` takes them
Groups = Sequence[slice | IndexArray]  # of classes: their positions
ScoreFunction = Callable[[FloatArray], list[FloatArray]]  # samples to their scores for each group


class ZeroShotClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Base of all methods: ``f(x, c) = x . coef_[c] + intercept_[c]``.

    A method learns ``mapping_`` from the seen classes alone. The classifier row of *any* class is then a
    function of its prototype ``s``: ``coef = features_of(s) @ mapping_``, so a new class needs no training.

    A subclass stores its parameters in ``__init__`` and overrides ``_solve_path``; where they differ, also
    ``_class_features`` and ``_intercepts``. See ``docs/adding_a_method.md``.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        All class labels, seen and unseen, in the order of the prototypes.
    prototypes_ : ndarray of shape (n_classes, n_attributes)
        Their descriptions.
    attribute_names_ : ndarray of str, shape (n_attributes,)
        The names of the columns, where the prototypes were a DataFrame with names; ``add_classes`` finds the
        columns of another DataFrame by them.
    seen_ : ndarray of bool, shape (n_classes,)
        Which classes had training samples.
    mapping_ : ndarray of shape (n_class_features, n_features)
        What was learned.
    coef_, intercept_ : ndarray of shapes (n_classes, n_features) and (n_classes,)
        The linear classifier over all classes: of samples scaled to unit length with ``normalize="l2"``,
        of raw samples otherwise (standardizing is folded into it).
    standard_mean_, standard_scale_ : ndarray of shape (n_features,)
        Mean and scale of the features with ``normalize="standard"``.
    sample_classes_, described_share_, sample_means_ : ndarray of shapes (k,), (k,) and (k, n_features)
        Positions of the classes that ``add_classes`` was given samples of, the weight of their descriptions,
        and the means of their samples; only after such a call.
    """

    # parameters whose values share one factorization (or one stacked training)
    _path: ClassVar[tuple[str, ...]] = ("alpha",)
    # what selection tries when the user gives no grid
    default_grid: ClassVar[Mapping[str, Sequence[Any]]] = {}
    # True when a fit depends on random_state
    stochastic: ClassVar[bool] = False
    # True when prototypes must always be points in the space of the features, as embeddings of one model are
    shared_space: ClassVar[bool] = False

    prototypes: Any
    normalize: str | None
    classes_: LabelArray
    prototypes_: FloatArray
    attribute_names_: NDArray[np.str_]
    seen_: BoolArray
    mapping_: FloatArray
    coef_: FloatArray
    intercept_: FloatArray
    training_prototypes_: FloatArray
    standard_mean_: FloatArray
    standard_scale_: FloatArray
    sample_classes_: IndexArray
    described_share_: FloatArray
    sample_means_: FloatArray
    sample_bias_: FloatArray
    n_features_in_: int
    feature_names_in_: NDArray[Any]

    # ---- what a method defines -------------------------------------------------------------------

    def _solve_path(self, training: Training, models: Sequence[Self]) -> Iterator[FloatArray]:
        """Yield ``mapping_`` for each model; the models differ only in the parameters in ``_path``.

        It may also set further fitted attributes (``n_iter_``, ...) on each model before it yields.
        """
        raise NotImplementedError

    def _class_features(self, S: FloatArray) -> FloatArray:
        """Return the factor of ``mapping_`` for prototypes S; by default the prototypes themselves."""
        return S

    def _intercepts(self, S: FloatArray, coef: FloatArray) -> FloatArray:
        """Return the intercept of each class; by default 0."""
        return np.zeros(len(S), dtype=coef.dtype)

    def _shares_space(self) -> bool:
        """Whether this model needs prototypes in the space of the features: always, or as parametrized."""
        return self.shared_space

    def _takes_samples(self) -> bool:
        """Whether a row follows from the mean of its class, so that samples of a new class can improve it."""
        return False

    def _rows_of_means(
        self, S: FloatArray, share: FloatArray, means: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return the rows of classes with means ``share mu(s) + (1 - share) means``, for scaled samples.

        ``share`` has shape (classes,) and ``means`` (classes, features).
        """
        raise NotImplementedError

    def _warn_about_fit(self) -> None:
        """Warn about what a user of this model should know; not called for every candidate in selection."""

    # ---- what users call ------------------------------------------------------------------------

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn from samples X with labels y; unseen classes have no samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or path, or list of paths
            A memory-mapped array, a ``.npy`` file or a list of such files stays on disk: it is read in
            blocks and checked while it is read.
        y : array-like of shape (n_samples,)
        """
        for model in self._fit_models([self], X, y):
            model._warn_about_fit()
        return self

    def fit_path(self, X: ArrayLike, y: ArrayLike, params: Iterable[Params]) -> Iterator[Self]:
        """Yield one fitted classifier per combination of parameters, at about the cost of one fit.

        Parameters
        ----------
        X, y : array-like
            As in ``fit``.
        params : iterable of dict
            Each as ``set_params`` takes it, for instance ``[{"alpha": 0.1}, {"alpha": 1.0}]``.
        """
        yield from self._fit_models([self._variant(values) for values in params], X, y)

    def solve(self) -> Self:
        """Compute ``coef_`` and ``intercept_`` if ``partial_fit`` has changed the moments since.

        Prediction, ``add_classes``, saving and export do it themselves. Call it before you read ``coef_``
        after ``partial_fit``.
        """
        check_is_fitted(self)
        return self

    def similarity(self, X: ArrayLike) -> FloatArray:
        """Return the score of every sample for every class, (n_samples, n_classes)."""
        samples = self._validate_samples(X)
        scores = np.empty((len(samples), len(self.classes_)), dtype=self._score_dtype(samples))
        for block, (part,) in self._score_blocks(samples, slice(None)):
            scores[block] = part
        return scores

    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Return the scores as scikit-learn wants them: of two classes the second minus the first."""
        scores = self.similarity(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Return the softmax of the scores, (n_samples, n_classes)."""
        return np.asarray(softmax(self.similarity(X), axis=1))

    def predict(self, X: ArrayLike, candidates: ArrayLike | None = None) -> LabelArray:
        """Return the best class of every sample, among ``candidates`` (class labels) or all classes."""
        samples = self._validate_samples(X)
        columns = candidate_columns(self.classes_, candidates)
        best = np.empty(len(samples), dtype=np.intp)
        chosen = slice(None) if candidates is None else columns  # no copy of all rows
        for block, (scores,) in self._score_blocks(samples, chosen):
            best[block] = scores.argmax(axis=1)
        labels: LabelArray = self.classes_[columns[best]]
        return labels

    def add_classes(
        self,
        prototypes: Any,
        classes: ArrayLike | None = None,
        X: ArrayLike | None = None,
        y: ArrayLike | None = None,
        kappa: float | None = None,
    ) -> Self:
        """Add classes by their descriptions, and by a few samples if there are any; nothing is trained.

        The described mean of a class counts as much as ``kappa`` samples:
        ``mu = (kappa mu(s) + sum x) / (kappa + n)``. For calibration, a class with samples remains unseen.

        Parameters
        ----------
        prototypes : DataFrame indexed by class label, mapping, or array of shape (n_new, n_attributes)
            Columns of a DataFrame are found by their names, in any order, if the model knows such names.
        classes : array-like of shape (n_new,), optional
            Their labels. By default the index of the DataFrame; for an array the next integers, where
            labels are integers.
        X, y : array-like of shapes (n_samples, n_features) and (n_samples,), optional
            Samples of some or all of the new classes, and their labels; for methods that predict the mean of
            a class: ``LDA``, ``LinearSV``, and ``SAE`` in the visual space.
        kappa : float, default=5.0
            How many samples a description is worth. ``GZSLClassifierCV`` chooses it on held-out classes.
        """
        self.solve()
        labels, S = split_prototypes(prototypes, np.empty(0))
        names = attribute_names(prototypes)
        if names is not None and hasattr(self, "attribute_names_"):
            S = align(Prototypes(labels, tuple(names), S), self.attribute_names_.tolist()).values
        if S.shape[1] != self.prototypes_.shape[1]:
            raise UnseenError(
                f"The new prototypes have {S.shape[1]} attributes, expected {self.prototypes_.shape[1]} "
                "as in the prototypes of the fitted classes."
            )
        if classes is not None:
            labels = np.asarray(classes)
        elif not is_labeled(prototypes):
            labels = self._next_labels(len(S))
        known = np.isin(labels, self.classes_)
        if known.any():
            raise UnseenError(
                f"Class {str(labels[known][0])!r} is already known. Give the new class another name."
            )
        shots = None if X is None and y is None else self._count_shots(labels, X, y)
        share = None if shots is None else shots.described_share(_check_kappa(kappa))
        self._append_classes(labels, S)
        if shots is not None and share is not None:
            self._mix_in(len(self.classes_) - len(S) + np.flatnonzero(shots.count), shots, share)
        return self

    def described(self) -> Prototypes:
        """Return the descriptions of all present classes, ready to be passed as ``prototypes``."""
        check_is_fitted(self)
        names = tuple(self.attribute_names_.tolist()) if hasattr(self, "attribute_names_") else ()
        return Prototypes(self.classes_, names, self.prototypes_)

    def __repr__(self) -> str:
        return one_line_repr(self)

    # ---- the machinery behind them ----------------------------------------------------------------

    def _validate_samples(self, X: Any) -> Any:
        """Return checked samples; those on disk stay there and are checked while they are read."""
        self.solve()
        X = as_rows(X)
        checked = validate_data(
            self, X[:1] if isinstance(X, Rows) else X, reset=False, dtype=[np.float64, np.float32]
        )
        return X if isinstance(X, Rows) else checked

    def _score_blocks(self, X: Any, *groups: slice | IndexArray) -> Iterator[tuple[slice, list[FloatArray]]]:
        """Yield (rows, their scores for each group of classes), never more than ``SCORES`` at a time.

        The scores of a block are overwritten by those of the next.
        """
        n_classes = sum(len(self.intercept_[columns]) for columns in groups)
        score = self._score_many if n_classes > MANY_CLASSES else self._score_few
        scores = score(groups, self._score_dtype(X), len(X))
        blocks = list(score_blocks(len(X), n_classes))
        for block, rows in zip(blocks, read_ahead(lambda block: X[block], blocks)):
            yield block, scores(rows)

    def _score_few(self, groups: Groups, dtype: np.dtype[Any], n: int) -> ScoreFunction:
        """Return the function from samples to their scores for each group of classes."""
        coefs = [self.coef_[columns].astype(dtype, copy=False).T for columns in groups]  # (features, columns)
        intercepts = [self.intercept_[columns].astype(dtype, copy=False) for columns in groups]
        memory = [np.empty((min(n, BLOCK), len(b)), dtype) for b in intercepts]

        def score(rows: FloatArray) -> list[FloatArray]:
            scores = scaled_products(rows, coefs, self.normalize, [part[: len(rows)] for part in memory])
            for part, intercept in zip(scores, intercepts):
                part += intercept
            return scores

        return score

    def _score_many(self, groups: Groups, dtype: np.dtype[Any], n: int) -> ScoreFunction:
        """Return the same for so many classes that the scores are worth a smaller product."""
        coefs = [self.coef_[columns] for columns in groups]
        intercepts = [self.intercept_[columns] for columns in groups]
        rank, D = self.mapping_.shape
        # n D products for each class, against n K and the projection of coef in float64
        span = self._span() if n * (D - rank) > 4 * rank * D else None
        return LinearScores(coefs, intercepts, self.normalize, dtype, span)

    def _span(self) -> FloatArray:
        """Return the rows from which those of ``coef_`` are combined, unless samples or anchors are added."""
        return self.mapping_ / self.standard_scale_ if self.normalize == "standard" else self.mapping_

    def _score_dtype(self, X: Any) -> np.dtype[Any]:
        """Return the type of the samples, or float64 where the intercepts would overflow float32."""
        representable = np.abs(self.intercept_).max() < LARGEST
        return np.dtype(X.dtype if representable else np.float64)

    def _variant(self, values: Params) -> Self:
        """Return an unfitted model with other parameters, which shares the prototypes: they may be large."""
        model: Self = clone(self)
        model.prototypes = self.prototypes
        model.set_params(**values)
        return model

    def _fit_models(
        self, models: Sequence[Self], X: Any, y: Any, sample_weight: ArrayLike | None = None
    ) -> Iterator[Self]:
        """Fit all models on the same samples; only some methods take weights."""
        X, y, weight = weigh_samples(*self._validate(X, y), sample_weight)
        for model in models:
            model._check_parameters()
        classes, S = split_prototypes(self.prototypes, y)
        self._check_space(S, X.shape[1])
        index = label_positions(y, classes)
        seen = np.bincount(index, minlength=len(classes)) > 0
        y_seen = (np.cumsum(seen) - 1)[index]

        def solve(group: Sequence[Self]) -> Iterator[FloatArray]:
            training = Training(X, y_seen, S[seen], group[0].normalize, weight=weight)
            return group[0]._solve_samples(training, group)

        yield from self._solve_groups(models, classes, S, seen, solve)

    def _solve_samples(self, training: Training, models: Sequence[Self]) -> Iterator[FloatArray]:
        """Solve on standardized features where that is asked for, else on the samples as they are."""
        if self.normalize == "standard":
            training = training.standardized()
            for model in models:
                model._keep_standard(training.standard)
        return self._solve_path(training, models)

    def _keep_standard(self, standard: Standardization | None) -> None:
        if standard is not None:
            self.standard_mean_, self.standard_scale_ = standard.mean, standard.scale

    def _validate(self, X: Any, y: Any, *, reset: bool = True) -> tuple[Any, LabelArray]:
        """Return checked samples and labels; features on disk stay there and are checked while read."""
        X = as_rows(X)
        options: dict[str, Any] = {"reset": reset, "dtype": [np.float64, np.float32], "ensure_min_samples": 1}
        if isinstance(X, Rows):
            validate_data(self, X[:1], **options)
            y = validate_data(self, y=y)
            check_consistent_length(X, y)
        else:
            X, y = validate_data(self, X, y, **options)
        check_classification_targets(y)
        return X, y

    def _solve_groups(
        self,
        models: Sequence[Self],
        classes: LabelArray,
        S: FloatArray,
        seen: BoolArray,
        solve: Callable[[Sequence[Self]], Iterator[FloatArray]],
    ) -> Iterator[Self]:
        """Solve all models for the same samples, those that differ only in ``_path`` together."""
        groups: dict[Any, list[Self]] = {}
        trained = S[seen]  # once for all models
        for model in models:
            model._adopt(self, classes, S, seen, trained)
            groups.setdefault(model._group(), []).append(model)
        solutions = {key: solve(group) for key, group in groups.items()}
        for model in models:
            yield model._set_mapping(next(solutions[model._group()]))

    def _check_parameters(self) -> None:
        """Refuse parameters that make no sense; subclasses add their own."""
        if self.normalize not in ("l2", "standard", None):
            raise UnseenError(f"Got normalize={self.normalize!r}, but expected 'l2', 'standard' or None.")
        alpha = getattr(self, "alpha", 0.0)
        if not (isinstance(alpha, int | float | np.integer | np.floating) and 0 <= alpha < np.inf):
            raise UnseenError(f"Got alpha={alpha!r}, but expected a finite number of at least 0.")

    def _check_space(self, S: FloatArray, n_features: int) -> None:
        """Refuse prototypes of another width where they must be points in the space of the features."""
        if self._shares_space() and self.prototypes is not None and S.shape[1] != n_features:
            raise UnseenError(
                f"{type(self).__name__} compares samples with prototypes directly, but prototypes has "
                f"{S.shape[1]} columns and X has {n_features} features. Pass embeddings of one space, or "
                "choose a method that learns the mapping."
            )

    def _group(self) -> tuple[tuple[str, str], ...]:
        """Return what two models must share to be solved together."""
        free = {"prototypes", *self._path}
        return tuple((k, repr(v)) for k, v in sorted(self.get_params(deep=False).items()) if k not in free)

    def _adopt(
        self, other: Self, classes: LabelArray, S: FloatArray, seen: BoolArray, trained: FloatArray
    ) -> None:
        self.n_features_in_ = other.n_features_in_
        if hasattr(other, "feature_names_in_"):
            self.feature_names_in_ = other.feature_names_in_
        self.classes_, self.prototypes_, self.seen_ = classes, S, seen
        self.training_prototypes_ = trained
        self._keep_attribute_names()
        for name in _SAMPLES:
            self.__dict__.pop(name, None)

    def _keep_attribute_names(self) -> None:
        """Keep the names of the columns of the prototypes, if they have names."""
        self.__dict__.pop("attribute_names_", None)
        names = attribute_names(self.prototypes)
        if names is not None:
            self.attribute_names_ = np.array(names)

    def _forget(self) -> None:
        """Drop what was fitted, which a path of models would hold to its end."""
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)

    def _set_mapping(self, mapping: FloatArray) -> Self:
        self.mapping_ = mapping
        self.coef_, self.intercept_ = self._rows(self.prototypes_)
        if "sample_classes_" in vars(self):
            self._replace_rows()
        return self

    def _rows(self, S: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the classifier rows (coef, intercept) of the classes with prototypes S."""
        return self._fold(*self._linear_rows(S))

    def _fold(self, coef: FloatArray, intercept: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return rows for samples as they come, from rows for samples that are scaled already."""
        if self.normalize != "standard":
            return coef, intercept
        return Standardization(self.standard_mean_, self.standard_scale_).fold(coef, intercept)

    def _linear_rows(self, S: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the rows for samples that are scaled already."""
        coef = self._class_features(S).astype(self.mapping_.dtype, copy=False) @ self.mapping_
        return coef, self._intercepts(S, coef)

    def _next_labels(self, n: int) -> LabelArray:
        if self.classes_.dtype.kind not in "iu":
            raise UnseenError("The classes have names: pass classes=[...], one name per new prototype.")
        labels: LabelArray = np.arange(n) + self.classes_.max() + 1
        return labels

    def _append_classes(self, labels: LabelArray, S: FloatArray) -> Self:
        coef, intercept = self._rows(S)
        self.classes_ = np.concatenate([self.classes_, labels])
        self.prototypes_ = np.concatenate([self.prototypes_, S])
        self.seen_ = np.concatenate([self.seen_, np.zeros(len(S), dtype=bool)])
        self.coef_ = np.concatenate([self.coef_, coef])
        self.intercept_ = np.concatenate([self.intercept_, intercept])
        return self

    # ---- a few samples of new classes -----------------------------------------------------------------

    def _count_shots(self, labels: LabelArray, X: Any, y: Any) -> Shots:
        """Return count and mean of the samples of each of the classes ``labels``."""
        if not self._takes_samples():
            raise UnseenError(
                f"{type(self).__name__} does not predict the mean of a class, so samples cannot be averaged "
                "with it. Leave X and y out, or use LDA, LinearSV, or SAE with space='visual'."
            )
        if X is None or y is None:
            raise UnseenError("Pass X and y together: samples of the new classes, and their labels.")
        X = self._validate_samples(X)
        index = label_positions(y, labels, lacks="is not among the new classes")
        check_consistent_length(X, index)
        standard = None
        if self.normalize == "standard":
            standard = Standardization(self.standard_mean_, self.standard_scale_)
        training = Training(X, index, np.empty((0, 0)), self.normalize, standard)
        return Shots.of_blocks(training.blocks(), len(labels))

    def _mix_in(self, columns: IndexArray, shots: Shots, share: FloatArray) -> None:
        """Keep the samples of the classes at ``columns``, those of ``shots`` that have some, and use them."""
        having = shots.count > 0
        new = (columns, share[having], shots.means[having], np.zeros(len(columns)))
        for name, values in zip(_SAMPLES, new):
            known = vars(self).get(name, values[:0])
            setattr(self, name, np.concatenate([known, values]))
        self._replace_rows()

    def _replace_rows(self) -> None:
        """Recompute the rows of the classes with samples."""
        columns, share, means = self.sample_classes_, self.described_share_, self.sample_means_
        coef, intercept = self._fold(*self._rows_of_means(self.prototypes_[columns], share, means))
        self.coef_[columns], self.intercept_[columns] = coef, intercept - self.sample_bias_

    def _set_sample_bias(self, bias: float) -> None:
        """Subtract a bias from the scores of classes with samples, times the weight of these samples."""
        self.sample_bias_ = bias * (1 - self.described_share_)
        self._replace_rows()

    def _get_samples(self) -> dict[str, NDArray[Any]]:
        """Return what ``add_classes`` learned from samples, for another model of the same classes."""
        return {name: getattr(self, name) for name in _SAMPLES if name in vars(self)}

    def _set_samples(self, samples: Mapping[str, NDArray[Any]]) -> None:
        for name, values in samples.items():
            setattr(self, name, values)
        if samples:
            self._replace_rows()


def _check_kappa(kappa: float | None) -> float:
    if kappa is None:
        return KAPPA
    if not (isinstance(kappa, int | float | np.integer | np.floating) and 0 <= kappa < np.inf):
        raise UnseenError(f"Got kappa={kappa!r}, but expected a finite number of at least 0.")
    return float(kappa)
