"""What every method shares: a class description in, one row of a linear classifier out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.pipeline import Pipeline
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from unseen._core.blocks import MANY_CLASSES, BoolArray, FloatArray, IndexArray
from unseen._core.labels import LabelArray, candidate_columns, check_labels, is_missing, label_positions
from unseen._core.prototypes import Prototypes, align, as_prototypes, attribute_names, prototype_parts
from unseen._core.representation import Documented
from unseen._core.rows import Rows, as_rows
from unseen._core.scaling import SCALINGS, Standardization
from unseen._core.scoring import LinearClassifier, all_scores, iter_scores
from unseen._core.training import Training, weigh_samples
from unseen._core.workspace import Workspace
from unseen.errors import UnseenError, expect

if TYPE_CHECKING:
    from unseen.methods.explanation import Explanation

Params = Mapping[str, Any]  # values by parameter name, as ``set_params`` takes them


class Task(NamedTuple):
    """What all models of a path are fitted on."""

    classes: LabelArray  # (classes,)
    S: FloatArray  # (classes, attributes)
    seen: BoolArray  # (classes,)
    training: Training  # with the prototypes of the seen classes


class ZeroShotClassifier(Documented, ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # no types
    """Base of all methods: ``f(x, c) = x . coef_[c] + intercept_[c]``.

    A method learns ``mapping_`` from the seen classes alone. The classifier row of *any* class is then a
    function of its prototype ``s``: ``coef = features_of(s) @ mapping_``, so a new class needs no training.

    A subclass stores its parameters in ``__init__`` and overrides ``_solve_path``; if they differ, also
    ``_class_features`` and ``_intercepts``. See ``docs/adding_a_method.md``.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        All class labels, seen and unseen, in the order of the prototypes.
    prototypes_ : ndarray of shape (n_classes, n_attributes)
        Their descriptions.
    attribute_names_ : ndarray of str, shape (n_attributes,)
        The names of the columns, if the prototypes were a DataFrame with names; ``add_classes`` finds the
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
    """

    # parameters whose values share one factorization (or one stacked training)
    _path: ClassVar[tuple[str, ...]] = ("alpha",)
    # what selection tries when the user gives no grid
    default_grid: ClassVar[Mapping[str, Sequence[Any]]] = {}
    # True when a fit depends on random_state
    stochastic: ClassVar[bool] = False

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

    def shares_space(self) -> bool:
        """Whether prototypes must be points in the space of the features, as embeddings of one model are."""
        return False

    def _sampled_rows(
        self, labels: LabelArray, S: FloatArray, X: Any, y: Any
    ) -> tuple[FloatArray, FloatArray]:
        """Return the rows of new classes with prototypes S, of some of which there are samples."""
        name = type(self).__name__
        raise UnseenError(f"{name} cannot use samples of new classes. Leave X and y out, or use LDA.")

    def warn_about_fit(self) -> None:
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
            model.warn_about_fit()
        return self

    def fit_path(
        self, X: ArrayLike, y: ArrayLike, params: Iterable[Params], *, workspace: Workspace | None = None
    ) -> Iterator[Self]:
        """Yield one fitted classifier per combination of parameters, at about the cost of one fit.

        Parameters
        ----------
        X, y : array-like
            As in ``fit``.
        params : iterable of dict
            Each as ``set_params`` takes it, for instance ``[{"alpha": 0.1}, {"alpha": 1.0}]``.
        workspace : Workspace, optional
            Of these samples, if several methods or seeds are fitted on them: they share sums and rows.
        """
        models = [self._variant(values) for values in params]
        yield from self._fit_models(models, X, y, workspace=workspace)

    def solve(self) -> Self:
        """Compute ``coef_`` and ``intercept_`` if ``partial_fit`` has changed the moments since.

        Prediction, ``add_classes``, saving and export do it themselves. Call it before you read ``coef_``
        after ``partial_fit``.
        """
        check_is_fitted(self)
        return self

    def similarity(self, X: ArrayLike) -> FloatArray:
        """Return the score of every sample for every class, (n_samples, n_classes)."""
        return all_scores(self._linear(), X)

    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Return the scores as scikit-learn wants them: of two classes the second minus the first."""
        scores = self.similarity(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Return the softmax of the scores, (n_samples, n_classes)."""
        return np.asarray(softmax(self.similarity(X), axis=1))

    def predict(self, X: ArrayLike, candidates: ArrayLike | None = None) -> LabelArray:
        """Return the best class of every sample, among ``candidates`` (class labels) or all classes."""
        check_is_fitted(self)
        columns = candidate_columns(self.classes_, candidates)
        chosen = slice(None) if candidates is None else columns  # no copy of all rows
        best = [scores.argmax(axis=1) for _, (scores,) in iter_scores(self, X, chosen)]
        return np.asarray(self.classes_[columns[np.concatenate(best)]])

    def check_samples(self, X: Any) -> Any:
        """Return checked samples; those on disk stay there and are checked while they are read."""
        self.solve()
        X = as_rows(X)
        few = X[:1] if isinstance(X, Rows) else X
        checked = validate_data(self, few, reset=False, dtype=[np.float64, np.float32])
        return X if isinstance(X, Rows) else checked

    def linear_classifier(self) -> LinearClassifier | None:
        """Return what scores samples, for ``iter_scores``; None if a subclass overrides ``similarity``."""
        return self._linear() if type(self).similarity is ZeroShotClassifier.similarity else None

    def add_classes(
        self, prototypes: Any, classes: ArrayLike | None = None, X: Any = None, y: ArrayLike | None = None
    ) -> Self:
        """Add classes by their descriptions, and by a few samples if there are any; nothing is trained.

        For calibration, a class with samples remains unseen.

        Parameters
        ----------
        prototypes : DataFrame indexed by class label, mapping, or array of shape (n_new, n_attributes)
            Columns of a DataFrame are found by their names, in any order, if the model knows such names.
        classes : array-like of shape (n_new,), optional
            Their labels. By default the index of the DataFrame; for an array the next integers, if
            the labels are integers.
        X, y : array-like of shapes (n_samples, n_features) and (n_samples,), optional
            Samples of some or all of the new classes, and their labels; for ``LDA``, to which a description
            is worth ``kappa`` samples.
        """
        self.solve()
        new = as_prototypes(prototypes)
        if new.columns and hasattr(self, "attribute_names_"):
            new = align(new, self.attribute_names_.tolist())
        labels, S = new.index, new.values
        if S.shape[1] != self.prototypes_.shape[1]:
            expected = f"{self.prototypes_.shape[1]} as in the prototypes of the fitted classes"
            raise UnseenError(f"The new prototypes have {S.shape[1]} attributes, expected {expected}.")
        if classes is not None:
            labels = np.asarray(classes)
        elif prototype_parts(prototypes).labels is None:
            labels = self._next_labels(len(S))
        text = [part.dtype.kind in "OSTU" for part in (labels, self.classes_)]
        distinct = labels.shape == (len(S),) == np.unique(labels).shape and not any(map(is_missing, labels))
        expected = (
            f"{len(S)} different labels, {'text' if text[1] else 'numbers'} as those of the other classes"
        )
        expect("classes", labels.tolist(), distinct and text[0] == text[1], expected)
        known = np.isin(labels, self.classes_)
        if known.any():
            raise UnseenError(f"Class {str(labels[known][0])!r} is already known. Give it another name.")
        if X is None and y is None:
            coef, intercept = self.rows(S)
        elif X is None or y is None:
            raise UnseenError("Pass X and y together: samples of the new classes, and their labels.")
        else:
            coef, intercept = self._sampled_rows(labels, S, X, y)
        self.classes_ = np.concatenate([self.classes_, labels])
        self.prototypes_ = np.concatenate([self.prototypes_, S])
        self.seen_ = np.concatenate([self.seen_, np.zeros(len(S), dtype=bool)])
        self.coef_ = np.concatenate([self.coef_, coef])
        self.intercept_ = np.concatenate([self.intercept_, intercept])
        return self

    def explain(self, X: ArrayLike, rival: Any = None, top: int = 5) -> Explanation:
        """Return why each sample is of its class and not of its closest rival: the attributes that decide.

        The contribution of attribute k is ``f(x, s_c) - f(x, s_c with s_ck of the rival)``: exactly what this
        model computes. Without named attributes, the seen classes that the rows of the two classes are
        combined from take their place, if the method combines them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        rival : class label, optional
            The class to compare with; by default the one with the second highest score.
        top : int, default=5
            Attributes to list for the class, and as many against it.
        """
        from unseen.methods.explanation import explain

        return explain(self, X, rival, top)

    def has_samples(self, column: int) -> bool:
        """Return whether samples of the class itself count in its row, besides its description."""
        return False

    def rows_as(self, column: int, S: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the rows that the class at ``column`` would have with each of the prototypes S.

        Samples of the class stay what they are, and so does its part in what was learned.
        """
        return self.rows(S)

    def seen_weights(self, columns: IndexArray) -> FloatArray | None:
        """Return how the rows of some classes are combined from those of all classes with samples.

        Of shape (columns, n_classes); None if the method does not combine them.
        """
        return None

    def described(self) -> Prototypes:
        """Return the descriptions of all present classes, ready to be passed as ``prototypes``."""
        check_is_fitted(self)
        names = tuple(self.attribute_names_.tolist()) if hasattr(self, "attribute_names_") else ()
        return Prototypes(self.classes_, names, self.prototypes_)

    # ---- the machinery behind them ----------------------------------------------------------------

    def _linear(self) -> LinearClassifier:
        """Return ``coef_`` and ``intercept_``, ready to score samples."""
        self.solve()
        span = self._span() if len(self.classes_) > MANY_CLASSES else None
        return LinearClassifier(self.coef_, self.intercept_, self.normalize, self.check_samples, span)

    def _span(self) -> FloatArray:
        """Return the rows from which those of ``coef_`` are combined, unless samples or anchors are added."""
        return self.mapping_ / self.standard_scale_ if self.normalize == "standard" else self.mapping_

    def _variant(self, values: Params) -> Self:
        """Return an unfitted model with other parameters, which shares the prototypes: they may be large."""
        model: Self = clone(self)
        model.prototypes = self.prototypes
        model.set_params(**values)
        return model

    def _fit_models(
        self,
        models: Sequence[Self],
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        workspace: Workspace | None = None,
    ) -> Iterator[Self]:
        """Check everything once; solve the models that differ only in ``_path`` together."""
        for model in models:
            model.check_parameters()
        task = self._gather(models, X, y, sample_weight, workspace)
        groups: dict[Any, list[Self]] = {}
        for model in models:
            model._adopt(self, task)
            groups.setdefault(model._group(), []).append(model)
        solutions = {
            key: group[0]._solve_path(group[0]._scaled(task.training, group), group)
            for key, group in groups.items()
        }
        for model in models:
            yield model._set_mapping(next(solutions[model._group()]))

    def _gather(
        self,
        models: Sequence[Self],
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None,
        workspace: Workspace | None,
    ) -> Task:
        """Return checked samples and descriptions; only some methods take weights."""
        X, y, weight = weigh_samples(*self._validate(X, y), sample_weight)
        described = as_prototypes(self.prototypes, y)
        classes, S = described.index, described.values
        self._check_space(S, X.shape[1])
        index = label_positions(y, classes)
        seen = np.bincount(index, minlength=len(classes)) > 0
        y_seen = (np.cumsum(seen) - 1)[index]
        return Task(classes, S, seen, Training(X, y_seen, S[seen], weight=weight, workspace=workspace))

    def _scaled(self, training: Training, models: Sequence[Self]) -> Training:
        """Return the training samples in the scale that these models ask for."""
        training = replace(training, normalize=self.normalize)
        if self.normalize == "standard":
            training, standard = training.standardized()
            for model in models:
                model.standard_mean_, model.standard_scale_ = standard.mean, standard.scale
        return training

    def _validate(self, X: Any, y: Any, *, reset: bool = True) -> tuple[Any, LabelArray]:
        """Return checked samples and labels; features on disk stay there and are checked while read."""
        X = as_rows(X)
        options: dict[str, Any] = {"reset": reset, "dtype": [np.float64, np.float32], "ensure_min_samples": 1}
        if isinstance(X, Rows):
            validate_data(self, X[:1], **options)
            y = validate_data(self, y=y)
            check_consistent_length(X, y)
        else:
            X, y = validate_data(self, X, check_labels(y), **options)
        check_classification_targets(y)
        return X, y

    def check_parameters(self) -> None:
        """Reject parameters that make no sense; subclasses add their own."""
        self._require("normalize", self.normalize in SCALINGS, "'l2', 'sqrt', 'standard' or None")
        alpha = getattr(self, "alpha", 0.0)
        self._require("alpha", is_real_number(alpha) and 0 <= alpha < np.inf, "a finite number of at least 0")

    def _require(self, name: str, valid: bool, expected: str) -> None:
        """Reject the value of a parameter if it is not valid."""
        expect(name, getattr(self, name), valid, expected)

    def _check_space(self, S: FloatArray, n_features: int) -> None:
        """Reject prototypes of another width if they must be points in the space of the features."""
        if self.shares_space() and self.prototypes is not None and S.shape[1] != n_features:
            widths = f"prototypes has {S.shape[1]} columns and X has {n_features} features"
            advice = "Pass embeddings of one space, or choose a method that learns the mapping."
            raise UnseenError(f"{type(self).__name__} compares samples with prototypes: {widths}. {advice}")

    def _group(self) -> tuple[tuple[str, str], ...]:
        """Return what two models must share to be solved together."""
        free = {"prototypes", *self._path}
        return tuple((k, repr(v)) for k, v in sorted(self.get_params(deep=False).items()) if k not in free)

    def _adopt(self, other: Self, task: Task) -> None:
        """Take over what is known of the samples, and drop what was fitted before."""
        names = ("n_features_in_", "feature_names_in_")
        known = {name: getattr(other, name) for name in names if hasattr(other, name)}
        self.forget()
        self.__dict__.update(known)
        self.classes_, self.prototypes_, self.seen_ = task.classes, task.S, task.seen
        self.training_prototypes_ = task.training.S
        self._keep_attribute_names()

    def _keep_attribute_names(self) -> None:
        """Keep the names of the columns of the prototypes, if they have names."""
        names = attribute_names(prototype_parts(self.prototypes))
        if names:
            self.attribute_names_ = np.array(names)

    def forget(self) -> None:
        """Drop what was fitted, which a path of models would hold to its end."""
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)

    def _set_mapping(self, mapping: FloatArray) -> Self:
        self.mapping_ = mapping
        self.coef_, self.intercept_ = self.rows(self.prototypes_)
        return self

    def rows(self, S: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the classifier rows (coef, intercept) of the classes with prototypes S."""
        return self._fold(*self._linear_rows(S))

    def _fold(self, coef: FloatArray, intercept: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return rows for samples as they come, from rows for samples that are scaled already."""
        standard = self.standardization()
        return (coef, intercept) if standard is None else standard.fold(coef, intercept)

    def standardization(self) -> Standardization | None:
        """Return how samples are standardized, if they are."""
        if self.normalize != "standard":
            return None
        return Standardization(self.standard_mean_, self.standard_scale_)

    def _linear_rows(self, S: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the rows for samples that are scaled already."""
        coef = self._class_features(S).astype(self.mapping_.dtype, copy=False) @ self.mapping_
        return coef, self._intercepts(S, coef)

    def _next_labels(self, n: int) -> LabelArray:
        if self.classes_.dtype.kind not in "iu":
            raise UnseenError("The classes have names: pass classes=[...], one name per new prototype.")
        return np.asarray(np.arange(n) + self.classes_.max() + 1)


def last_step(estimator: Any) -> Any:
    """Return the classifier at the end of a pipeline, or the estimator itself."""
    return estimator[-1] if isinstance(estimator, Pipeline) else estimator


def is_real_number(value: Any) -> bool:
    """Return whether this is a number, also one of NumPy."""
    return isinstance(value, int | float | np.integer | np.floating)
