"""Closed-form methods see a training set only through sums: they stream and merge."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from unseen._core.blocks import FloatArray
from unseen._core.labels import label_positions
from unseen._core.prototypes import as_prototypes
from unseen._core.scaling import has_unit_rows, scale_rows, weigh_rows
from unseen._core.training import Training, weigh_samples
from unseen._core.workspace import Workspace
from unseen.base import Params, Task, ZeroShotClassifier
from unseen.errors import UnseenError
from unseen.methods._factor import Gram
from unseen.methods._moments import Moments, is_dask

_NO_SUMS = (
    "partial_fit needs moments, which model files and models fitted on fewer samples than features omit. "
    "Call partial_fit on a new model, starting with the first block."
)


class ClosedForm(ZeroShotClassifier):
    """Base of the methods that are solved from moments, all values of alpha from one factorization.

    Attributes
    ----------
    moments_ : Moments
        The sums of the seen classes that the solution was made from; ``partial_fit`` adds to them.
    """

    # False for a method that needs only the class sums
    _uses_gram: ClassVar[bool] = True

    moments_: Moments

    @property
    def _needs_gram(self) -> bool:
        """Whether moments must hold the Gram matrix: for the solution, or for the scale of the features."""
        return self._uses_gram or self.normalize == "standard"

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from samples X with labels y; unseen classes have no sample.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), path or list of paths, Dask array, or iterable
            A memory-mapped array, a ``.npy`` file and a list of such files stay on disk and are read in
            blocks. A Dask array is summed where its chunks are. An iterable of blocks ``(X, y)``, each
            as in ``partial_fit``, is taken without ``y``.
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            A sample of weight 2 counts as two equal samples, one of weight 0 as none. Not for Dask arrays
            and iterables.
        """
        for model in self._fit_models([self], X, y, sample_weight):
            model.warn_about_fit()
        return self

    def fit_path(
        self,
        X: Any,
        y: Any,
        params: Iterable[Params],
        sample_weight: ArrayLike | None = None,
        *,
        workspace: Workspace | None = None,
    ) -> Iterator[Self]:
        """Yield one fitted classifier per combination of parameters, at about the cost of one fit.

        Parameters
        ----------
        X, y : array-like
            As in ``fit``.
        params : iterable of dict
            Each as ``set_params`` takes it, for instance ``[{"alpha": 0.1}, {"alpha": 1.0}]``.
        sample_weight : array-like of shape (n_samples,), optional
            As in ``fit``.
        workspace : Workspace, optional
            Of these samples, if several methods are fitted on them: they share moments and factorizations.
        """
        models = [self._variant(values) for values in params]
        yield from self._fit_models(models, X, y, sample_weight, workspace)

    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn from further samples; all blocks together give what one ``fit`` on all samples gives.

        The equations are not solved for every block, but when the model is used: by prediction,
        ``add_classes``, saving, export, or ``solve``. Until then there is no ``coef_``.

        Parameters
        ----------
        X, y : array-like
            As in ``fit``.
        classes : array-like, optional
            All class labels, needed in the first call when there are no prototypes.
        sample_weight : array-like of shape (n_samples,), optional
            As in ``fit``.
        """
        first = not hasattr(self, "moments_")
        X, y, weight = weigh_samples(*self._validate(X, y, reset=first), sample_weight)
        if first:
            self._start(classes)
        index = label_positions(y, self.classes_)
        training = Training(X, index, self.prototypes_, self.normalize, weight=weight)
        return self._add(sum_up(training, gram=self._needs_gram))

    def _start(self, classes: Any = None) -> None:
        """Prepare for moments of all classes: which of them have samples is not known yet."""
        self.check_parameters()
        if "mapping_" in vars(self):
            raise UnseenError(_NO_SUMS)
        if self.prototypes is None and classes is None:
            raise UnseenError("Without prototypes the first block must name all classes: pass classes=[...].")
        described = as_prototypes(self.prototypes, classes)
        self.classes_, self.prototypes_ = described.index, described.values
        self._keep_attribute_names()
        if classes is not None:
            label_positions(np.asarray(classes), self.classes_)  # rejects a class without prototype
        self._check_space(self.prototypes_, self.n_features_in_)

    def _add(self, new: Moments) -> Self:
        """Add moments of all classes, and discard the solution, which is now out of date."""
        if hasattr(self, "moments_"):
            if self._needs_gram and self.moments_.triangle is None:
                raise UnseenError(_NO_SUMS)
            new = self.moments_.for_classes(np.where(self.seen_, np.cumsum(self.seen_) - 1, -1)) + new
        self.seen_ = new.count > 0
        self.moments_ = new.for_classes(np.flatnonzero(self.seen_))
        self.training_prototypes_ = self.prototypes_[self.seen_]
        for name in ("mapping_", "coef_", "intercept_"):
            self.__dict__.pop(name, None)
        return self

    def solve(self) -> Self:
        """Compute ``coef_`` and ``intercept_`` if ``partial_fit`` has changed the moments since.

        Prediction, ``add_classes``, saving and export do it themselves. Call it before you read ``coef_``
        after ``partial_fit``.
        """
        super().solve()
        if "mapping_" not in vars(self):
            training = of_sums({self.normalize: self.moments_}, self.training_prototypes_)
            self._set_mapping(next(self._solve_path(replace(training, normalize=self.normalize), [self])))
        return self

    def _gather(
        self,
        models: Sequence[Self],
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None,
        workspace: Workspace | None,
    ) -> Task:
        if not is_dask(X) and (y is not None or hasattr(X, "shape")):
            return super()._gather(models, X, y, sample_weight, workspace)
        if sample_weight is not None:
            problem = "sample_weight is for arrays, DataFrames and files"
            raise UnseenError(f"{problem}. Pass the weights of a block to partial_fit.")
        counters = {model.normalize: clone(model) for model in models}  # each scaling has its own moments
        if is_dask(X):
            for counter in counters.values():
                counter._add_dask(X, y)
        else:
            for block in X:  # read once for all
                for counter in counters.values():
                    counter.partial_fit(*block)
        first = counters[models[0].normalize]
        if not hasattr(first, "moments_"):
            raise UnseenError("There is no block of samples. Pass at least one.")
        self.n_features_in_ = first.n_features_in_
        sums = {normalize: counter.moments_ for normalize, counter in counters.items()}
        training = of_sums(sums, first.training_prototypes_)
        return Task(first.classes_, first.prototypes_, first.seen_, training)

    def _add_dask(self, X: Any, y: Any) -> Self:
        self.n_features_in_ = X.shape[1]
        self._start()
        dtype = X.dtype if X.dtype in (np.float32, np.float64) else np.float64
        X = X.rechunk({1: -1}).astype(dtype).map_blocks(scale_rows, self.normalize, dtype=dtype)
        if is_dask(y):
            y = y.map_blocks(label_positions, self.classes_, dtype=np.intp)
        else:
            y = label_positions(np.asarray(y), self.classes_)
        moments = Moments.from_dask(X, y, len(self.classes_), gram=self._needs_gram)
        if not np.isfinite(moments.total).all():
            raise UnseenError("X holds NaN or infinity. Remove these samples or fill the values in.")
        return self._add(moments)

    def _scaled(self, training: Training, models: Sequence[Self]) -> Training:
        if is_thin(training):  # few samples: standardized one by one
            return super()._scaled(training, models)
        return replace(training, normalize=self.normalize)  # many: their moments are standardized

    def _solve_path(self, training: Training, models: Sequence[Self]) -> Iterator[FloatArray]:
        with_gram = self._needs_gram and not is_thin(training)
        if training.sums is None:
            moments = training.once("moments", lambda: sum_up(training, gram=with_gram), with_gram)
        else:
            moments = training.sums[self.normalize]
        for model in models:
            model.moments_ = moments
        if self.normalize == "standard" and moments.triangle is not None:
            moments, standard = moments.standardized()
            for model in models:
                model.standard_mean_, model.standard_scale_ = standard.mean, standard.scale
        gram = self._gram(training, moments) if self._uses_gram else None
        yield from self._solve_moments(moments, gram, training.S, models)

    def _gram(self, training: Training, moments: Moments) -> Gram:
        """Return the Gram matrix that the solution factorizes: by default X'X."""
        return training.once("gram", lambda: feature_gram(training, moments))

    def _solve_moments(
        self, moments: Moments, gram: Any, S: FloatArray, models: Sequence[Any]
    ) -> Iterator[FloatArray]:
        """Yield ``mapping_`` (attributes, features) for each model.

        ``gram`` is what ``_gram`` returns, or None if the method needs only the class sums.
        """
        raise NotImplementedError


def of_sums(moments: Mapping[str | None, Moments], S: FloatArray) -> Training:
    """Return training samples of which only the sums (by normalize) and the seen prototypes are left."""
    nothing = np.empty((0, next(iter(moments.values())).total.shape[1]))
    return Training(nothing, np.empty(0, dtype=np.intp), S, sums=moments)


def is_thin(training: Training) -> bool:
    """Whether samples are fewer than features, so that X'X is larger than the samples."""
    return training.sums is None and len(training.y) < training.X.shape[1]


def feature_gram(training: Training, moments: Moments) -> Gram:
    """Return X'X, or the rows if there are fewer."""
    if moments.triangle is not None:
        return Gram(moments.triangle)
    return Gram(weigh_rows(training.rows(slice(None)), training.weight), of_rows=True)


def sum_up(training: Training, *, gram: bool) -> Moments:
    """Return the moments of training samples, one row per prototype."""
    known = moments_by_difference(training) if gram else None
    if known is not None:
        return known
    blocks, weights = training.blocks(), training.weight_blocks()
    return Moments.from_blocks(blocks, len(training.S), gram=gram, weights=weights)


def moments_by_difference(training: Training) -> Moments | None:
    """Return the moments of all samples minus those of the ones left out, if known and exact enough.

    It is for samples of unit length: none of them is so large that rounding it hides all others.
    """
    remainder = None if training.workspace is None else training.workspace.remainder
    if remainder is None or training.weight is not None or not has_unit_rows(training.normalize):
        return None
    whole = remainder.moments.get(training.normalize)
    if whole is None or whole.triangle is None:
        return None
    left_out = replace(training, X=remainder.left_out, y=remainder.y)
    found: Moments = whole.without(Moments.from_blocks(left_out.blocks(), len(whole.count)))
    return found.for_classes(np.flatnonzero(found.count))
