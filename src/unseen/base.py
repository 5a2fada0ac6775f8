"""What every method shares: a class description in, one row of a linear classifier out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from unseen.errors import UnseenError, did_you_mean
from unseen.rows import Rows, in_place, read_ahead

BLOCK = 4096  # rows that are held in a second form (scaled, scored) at any moment
LARGEST = 1e30  # number that is left to float32: a sum of products of such size is still finite
SCORES = 2**24  # scores that exist at any moment where only their largest are needed
FloatArray = NDArray[np.floating]


@dataclass(frozen=True)
class Training:
    """The training samples as a method sees them: features, class indices, seen prototypes.

    ``X`` stays where it is (perhaps on disk); scaled rows exist one block or batch at a time.
    """

    X: FloatArray | Rows  # (samples, features)
    y: NDArray[np.intp]  # (samples,), row of S
    S: FloatArray  # (seen classes, attributes)
    normalize: str | None = "l2"

    def rows(self, index: slice | NDArray[np.intp]) -> FloatArray:
        """Return the chosen rows of X, scaled."""
        rows = self.X[index]
        return scale_rows(rows, self.normalize, out=rows if isinstance(self.X, Rows) else None)

    def blocks(self, size: int = BLOCK) -> Iterator[tuple[FloatArray, NDArray[np.intp]]]:
        """Yield (scaled rows, class indices) block by block, in order."""
        return read_ahead(lambda block: (self.rows(block), self.y[block]), row_blocks(len(self.y), size))


def row_blocks(n: int, size: int = BLOCK) -> Iterator[slice]:
    """Yield slices that cover ``range(n)`` in order."""
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))


def score_blocks(n: int, n_classes: int) -> Iterator[slice]:
    """Yield slices that cover ``range(n)``, shorter ones the more classes their rows are scored for."""
    yield from row_blocks(n, min(BLOCK, max(SCORES // n_classes, 64)))


def candidate_columns(classes: NDArray[Any], candidates: Any) -> NDArray[np.intp]:
    """Return the positions of the candidates in ``classes``; those of all classes for None."""
    if candidates is None:
        return np.arange(len(classes))
    return encode_labels(np.asarray(candidates), classes)


def top_columns(scores: FloatArray, k: int) -> NDArray[np.intp]:
    """Return the columns of the k highest scores of each row, the highest first, (rows, k).

    Of equal scores the first column wins. Only rows in which the last place is a tie are sorted whole.

    >>> top_columns(np.array([[3.0, 5.0, 1.0, 5.0]]), 3)
    array([[1, 3, 0]])
    """
    top = np.sort(np.argpartition(scores, -k, axis=1)[:, -k:], axis=1)
    values = np.take_along_axis(scores, top, axis=1)
    last = values.min(axis=1, keepdims=True)
    tied = np.flatnonzero((scores >= last).sum(axis=1) > k)
    top = np.take_along_axis(top, np.argsort(-values, axis=1, kind="stable"), axis=1)
    top[tied] = np.argsort(-scores[tied], axis=1, kind="stable")[:, :k]
    return top


def scale_rows(X: FloatArray, normalize: str | None, out: FloatArray | None = None) -> FloatArray:
    """Return X with rows of unit length (``"l2"``) or as it is (``None``); a zero row stays zero.

    >>> scale_rows(np.array([[3.0, 4.0], [0.0, 0.0]]), "l2")
    array([[0.6, 0.8],
           [0. , 0. ]])
    """
    if normalize is None:
        return X
    norm, safe = row_lengths(X)
    extreme = _scale_extreme_rows(X[~safe])
    scaled: FloatArray = np.divide(X, norm[:, None], out=out)
    scaled[~safe] = extreme
    return scaled


def row_lengths(X: FloatArray) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Return the length of every row, and whether its square neither over- nor underflowed; 1 if it did."""
    with np.errstate(over="ignore"):
        norm = np.sqrt(np.einsum("ij,ij->i", X, X))
    safe = (norm > 1e-15) & (norm < 1e15)  # float32 included
    return np.where(safe, norm, 1), safe


def _scaled_product(X: FloatArray, coef: FloatArray, normalize: str | None) -> FloatArray:
    """Return ``scale_rows(X, normalize) @ coef``; there are fewer scores than features to divide."""
    if normalize is None:
        return np.asarray(X @ coef)
    norm, safe = row_lengths(X)
    if not safe.all():
        return np.asarray(scale_rows(X, normalize) @ coef)
    scores = X @ coef
    scores /= norm[:, None]
    return np.asarray(scores)


def _scale_extreme_rows(X: FloatArray) -> FloatArray:
    """Divide by the largest value first: the squares of features of 1e30 or 1e-30 do not exist."""
    largest = np.abs(X).max(axis=1, keepdims=True)
    X = X / np.where(largest == 0, 1, largest)
    norm = np.sqrt(np.einsum("ij,ij->i", X, X))[:, None]
    return X / np.where(norm == 0, 1, norm)


def split_prototypes(prototypes: Any, y: NDArray[Any]) -> tuple[NDArray[Any], FloatArray]:
    """Return (class labels, prototype rows) from an array, a DataFrame, or None for one-hot rows."""
    if prototypes is None:
        classes = np.unique(y)
        return classes, np.eye(len(classes))
    S = np.asarray(prototypes, dtype=np.float64)
    if S.ndim != 2 or 0 in S.shape:
        raise UnseenError(
            f"prototypes has shape {S.shape}, expected (classes, attributes). Pass one row per class."
        )
    if not np.isfinite(S).all():
        row, column = np.argwhere(~np.isfinite(S))[0]
        raise UnseenError(f"prototypes[{row}, {column}] is {S[row, column]}, expected a finite number.")
    classes = np.asarray(prototypes.index) if _is_frame(prototypes) else np.arange(len(S))
    if len(np.unique(classes)) < len(classes):
        raise UnseenError("prototypes names a class twice. Pass one prototype row per class.")
    return classes, S


def _is_frame(prototypes: Any) -> bool:
    """Tell a DataFrame without importing pandas (a list has an ``index`` too)."""
    return hasattr(prototypes, "index") and hasattr(prototypes, "columns")


def encode_labels(y: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.intp]:
    """Return for every label its position in ``classes``; a label without a class is refused by name."""
    order = np.argsort(classes)
    try:
        position = order[np.searchsorted(classes, y, sorter=order).clip(max=len(classes) - 1)]
        unknown = classes[position] != y
    except TypeError:  # strings against integers
        unknown = np.ones(len(y), dtype=bool)
    if np.any(unknown):
        raise UnseenError(_unknown_label(y[np.flatnonzero(unknown)[0]], classes))
    return position


def _unknown_label(label: Any, classes: NDArray[Any]) -> str:
    if classes.dtype.kind in "iu" and np.array_equal(classes, np.arange(len(classes))):
        return (
            f"prototypes has {len(classes)} rows but y names class {label} "
            f"(labels must be 0..{len(classes) - 1}). Pass one prototype row per class."
        )
    near = did_you_mean(str(label), map(str, classes))
    return f"y names class {str(label)!r}, which has no prototype.{near} Pass one prototype row per class."


class ZeroShotClassifier(ClassifierMixin, BaseEstimator):
    """Base of all methods: ``f(x, c) = x . coef_[c] + intercept_[c]``.

    A method learns ``mapping_`` from the seen classes alone. The classifier row of *any* class is then a
    function of its prototype ``s``: ``coef = features_of(s) @ mapping_``, so a new class needs no training.

    A subclass stores its parameters in ``__init__``, and overrides ``_solve_path`` (and, where they
    differ, ``_class_features`` and ``_intercepts``). See ``docs/adding_a_method.md``.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        All class labels, seen and unseen, in the order of the prototypes.
    prototypes_ : ndarray of shape (n_classes, n_attributes)
        Their descriptions.
    seen_ : ndarray of bool, shape (n_classes,)
        Which classes had training samples.
    mapping_ : ndarray of shape (n_class_features, n_features)
        What was learnt.
    coef_, intercept_ : ndarray of shapes (n_classes, n_features) and (n_classes,)
        The linear classifier over all classes, for rows scaled as ``normalize`` says.
    """

    # parameters that one factorisation (or one stacked training) serves together
    _path: ClassVar[tuple[str, ...]] = ("alpha",)
    # the values that selection tries when the user names none
    default_grid: ClassVar[Mapping[str, Sequence[Any]]] = {}
    # True when a fit depends on random_state
    stochastic: ClassVar[bool] = False

    prototypes: Any
    normalize: str | None
    n_features_in_: int
    feature_names_in_: NDArray[Any]

    # ---- what a method defines -------------------------------------------------------------------

    def _solve_path(self, training: Training, models: Sequence[Self]) -> Iterator[FloatArray]:
        """Yield ``mapping_`` for each model; the models differ only in the parameters in ``_path``.

        It may also set further fitted attributes (``n_iter_``, ...) on each model before it yields.
        """
        raise NotImplementedError

    def _class_features(self, S: FloatArray) -> FloatArray:
        """Return the factor of ``mapping_`` for prototypes S; the prototypes themselves by default."""
        return S

    def _intercepts(self, S: FloatArray, coef: FloatArray) -> FloatArray:
        """Return the intercept of each class; 0 by default."""
        return np.zeros(len(S), dtype=coef.dtype)

    def _warn_of_fit(self) -> None:
        """Warn of what the user of this fitted model should know; not called for all that selection tries."""

    # ---- what users call ------------------------------------------------------------------------

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from samples X with labels y; unseen classes have no sample.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or path, or list of paths
            A memory-mapped array, a ``.npy`` file and a list of such files stay on disk: they are read in
            blocks, and checked as they are read.
        y : array-like of shape (n_samples,)
        """
        for model in self._fit_models([self], X, y):
            model._warn_of_fit()
        return self

    def fit_path(self, X: Any, y: Any, params: Iterable[Mapping[str, Any]]) -> Iterator[Self]:
        """Yield one fitted classifier per parameter setting, at the cost of about one fit.

        Parameters
        ----------
        X, y : array-like
            As in ``fit``.
        params : iterable of dict
            Settings as ``set_params`` takes them, for instance ``[{"alpha": 0.1}, {"alpha": 1.0}]``.
        """
        models = [clone(self).set_params(**setting) for setting in params]
        yield from self._fit_models(models, X, y)

    def similarity(self, X: Any) -> FloatArray:
        """Return the score of every sample for every class, (n_samples, n_classes)."""
        X = self._validate_samples(X)
        scores = np.empty((len(X), len(self.classes_)), dtype=self._score_dtype(X))
        for block, part in self._score_blocks(X, slice(None)):
            scores[block] = part
        return scores

    def predict(self, X: Any, candidates: Any = None) -> NDArray[Any]:
        """Return the best class of every sample, among ``candidates`` (class labels) or all classes."""
        X = self._validate_samples(X)
        columns = candidate_columns(self.classes_, candidates)
        best = np.empty(len(X), dtype=np.intp)
        for block, scores in self._score_blocks(X, columns):
            best[block] = scores.argmax(axis=1)
        return self.classes_[columns[best]]

    def add_classes(self, prototypes: Any, classes: Any = None) -> Self:
        """Add classes by their descriptions alone: one more row each, no training.

        Parameters
        ----------
        prototypes : DataFrame indexed by class label, or array of shape (n_new, n_attributes)
        classes : array-like of shape (n_new,), optional
            Their labels; needed for an array unless labels are integers, which are then counted on.
        """
        check_is_fitted(self)
        labels, S = split_prototypes(prototypes, np.empty(0))
        if S.shape[1] != self.prototypes_.shape[1]:
            raise UnseenError(
                f"The new prototypes have {S.shape[1]} attributes, expected {self.prototypes_.shape[1]} "
                "as in the prototypes of the fitted classes."
            )
        if classes is not None:
            labels = np.asarray(classes)
        elif not _is_frame(prototypes):
            labels = self._next_labels(len(S))
        known = np.isin(labels, self.classes_)
        if known.any():
            raise UnseenError(
                f"Class {str(labels[known][0])!r} is already known. Give the new class another name."
            )
        return self._append_classes(labels, S)

    # ---- the machinery behind them ----------------------------------------------------------------

    def _validate_samples(self, X: Any) -> Any:
        """Return checked samples; those on disk stay there and are checked as they are read."""
        check_is_fitted(self)
        X = in_place(X)
        checked = validate_data(
            self, X[:1] if isinstance(X, Rows) else X, reset=False, dtype=[np.float64, np.float32]
        )
        return X if isinstance(X, Rows) else checked

    def _score_blocks(self, X: Any, columns: slice | NDArray[np.intp]) -> Iterator[tuple[slice, FloatArray]]:
        """Yield (rows, scores of these rows for some classes), never more than ``SCORES`` at a time."""
        dtype = self._score_dtype(X)
        coef = self.coef_[columns].astype(dtype, copy=False).T  # (features, columns)
        intercept = self.intercept_[columns].astype(dtype, copy=False)
        blocks = list(score_blocks(len(X), coef.shape[1]))
        for block, rows in zip(blocks, read_ahead(lambda block: X[block], blocks)):
            scores = _scaled_product(rows, coef, self.normalize)
            scores += intercept
            yield block, scores

    def _score_dtype(self, X: Any) -> np.dtype[Any]:
        """Return the type of the samples, unless squared lengths of class centres go beyond float32."""
        representable = np.abs(self.intercept_).max() < LARGEST
        return np.dtype(X.dtype if representable else np.float64)

    def _fit_models(self, models: Sequence[Self], X: Any, y: Any) -> Iterator[Self]:
        """Fit all models on the same samples."""
        X, y = self._validate(X, y)
        for model in models:
            model._check_parameters()
        classes, S = split_prototypes(self.prototypes, y)
        index = encode_labels(y, classes)
        seen = np.bincount(index, minlength=len(classes)) > 0
        y_seen = (np.cumsum(seen) - 1)[index]

        def solve(group: Sequence[Self]) -> Iterator[FloatArray]:
            return group[0]._solve_path(Training(X, y_seen, S[seen], group[0].normalize), group)

        yield from self._solve_groups(models, classes, S, seen, solve)

    def _validate(self, X: Any, y: Any, *, reset: bool = True) -> tuple[Any, NDArray[Any]]:
        """Return checked samples and labels; features on disk stay there and are checked as they are read."""
        X = in_place(X)
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
        classes: NDArray[Any],
        S: FloatArray,
        seen: NDArray[np.bool_],
        solve: Callable[[Sequence[Self]], Iterator[FloatArray]],
    ) -> Iterator[Self]:
        """Solve all models for the same samples, those that differ only in ``_path`` together."""
        groups: dict[Any, list[Self]] = {}
        for model in models:
            model._adopt(self, classes, S, seen)
            groups.setdefault(model._group(), []).append(model)
        solutions = {key: solve(group) for key, group in groups.items()}
        for model in models:
            yield model._set_mapping(next(solutions[model._group()]))

    def _check_parameters(self) -> None:
        """Refuse parameters that make no sense; subclasses add their own."""
        if self.normalize not in ("l2", None):
            raise UnseenError(f"Got normalize={self.normalize!r}, but expected 'l2' or None.")
        alpha = getattr(self, "alpha", 0.0)
        if not (isinstance(alpha, int | float | np.integer | np.floating) and 0 <= alpha < np.inf):
            raise UnseenError(f"Got alpha={alpha!r}, but expected a finite number of at least 0.")

    def _group(self) -> tuple[tuple[str, str], ...]:
        """Return what two models must share to be solved together."""
        free = {"prototypes", *self._path}
        return tuple((k, repr(v)) for k, v in sorted(self.get_params(deep=False).items()) if k not in free)

    def _adopt(self, other: Self, classes: NDArray[Any], S: FloatArray, seen: NDArray[np.bool_]) -> None:
        self.n_features_in_ = other.n_features_in_
        if hasattr(other, "feature_names_in_"):
            self.feature_names_in_ = other.feature_names_in_
        self.classes_, self.prototypes_, self.seen_ = classes, S, seen
        self.training_prototypes_ = S[seen]

    def _set_mapping(self, mapping: FloatArray) -> Self:
        self.mapping_ = mapping
        self.coef_, self.intercept_ = self._rows(self.prototypes_)
        return self

    def _rows(self, S: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the classifier rows (coef, intercept) of the classes with prototypes S."""
        coef = self._class_features(S).astype(self.mapping_.dtype, copy=False) @ self.mapping_
        return coef, self._intercepts(S, coef)

    def _next_labels(self, n: int) -> NDArray[Any]:
        if self.classes_.dtype.kind not in "iu":
            raise UnseenError("The classes have names: pass classes=[...], one name per new prototype.")
        return np.arange(n) + self.classes_.max() + 1

    def _append_classes(self, labels: NDArray[Any], S: FloatArray) -> Self:
        coef, intercept = self._rows(S)
        self.classes_ = np.concatenate([self.classes_, labels])
        self.prototypes_ = np.concatenate([self.prototypes_, S])
        self.seen_ = np.concatenate([self.seen_, np.zeros(len(S), dtype=bool)])
        self.coef_ = np.concatenate([self.coef_, coef])
        self.intercept_ = np.concatenate([self.intercept_, intercept])
        return self
