"""Closed-form methods see a training set only through sums: they stream, merge and subtract."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from unseen._core.blocks import FloatArray
from unseen._core.labels import label_positions, split_prototypes
from unseen._core.scaling import scale_rows, weigh_rows
from unseen._core.training import Training, weigh_samples
from unseen.base import Params, ZeroShotClassifier
from unseen.errors import UnseenError
from unseen.methods._moments import Moments, Spectrum, is_dask
from unseen.methods._sharing import shared_moments

_SOLUTION = ("mapping_", "coef_", "intercept_")
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
            model._warn_about_fit()
        return self

    def fit_path(
        self, X: Any, y: Any, params: Iterable[Params], sample_weight: ArrayLike | None = None
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
        """
        yield from self._fit_models([self._variant(values) for values in params], X, y, sample_weight)

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
        return self._add(self._sum_up(training, gram=self._needs_gram))

    def _sum_up(self, training: Training, *, gram: bool) -> Moments:
        """Return the moments of training samples, one row per prototype."""
        return Moments.from_blocks(
            training.blocks(), len(training.S), gram=gram, weights=training.weight_blocks()
        )

    def _start(self, classes: Any = None) -> None:
        """Prepare for moments of all classes: which of them have samples is not known yet."""
        self._check_parameters()
        if "mapping_" in vars(self):
            raise UnseenError(_NO_SUMS)
        if self.prototypes is None and classes is None:
            raise UnseenError("Without prototypes the first block must name all classes: pass classes=[...].")
        self.classes_, self.prototypes_ = split_prototypes(self.prototypes, classes)
        self._keep_attribute_names()
        if classes is not None:
            label_positions(np.asarray(classes), self.classes_)  # refuses a class without prototype
        self._check_space(self.prototypes_, self.n_features_in_)

    def _add(self, new: Moments) -> Self:
        """Add moments of all classes, and discard the solution, which is now out of date."""
        if hasattr(self, "moments_"):
            new = self._moments_of_all() + new
        self.seen_ = new.count > 0
        self.moments_ = new.for_classes(np.flatnonzero(self.seen_))
        self.training_prototypes_ = self.prototypes_[self.seen_]
        for name in _SOLUTION:
            self.__dict__.pop(name, None)
        return self

    def _moments_of_all(self) -> Moments:
        if self._needs_gram and self.moments_.gram is None:
            raise UnseenError(_NO_SUMS)
        return self.moments_.for_classes(np.where(self.seen_, np.cumsum(self.seen_) - 1, -1))

    def solve(self) -> Self:
        """Compute ``coef_`` and ``intercept_`` if ``partial_fit`` has changed the moments since.

        Prediction, ``add_classes``, saving and export do it themselves. Call it before you read ``coef_``
        after ``partial_fit``.
        """
        super().solve()
        if "mapping_" not in vars(self):
            self._set_mapping(next(self._solve_kept(self.moments_, None, self.training_prototypes_, [self])))
        return self

    if not TYPE_CHECKING:  # with it, a type checker would accept any attribute

        def __getattr__(self, name: str) -> Any:
            # reading an attribute never solves: hasattr(model, "coef_") reads it too, and must be cheap
            hint = ""
            if name in _SOLUTION and "moments_" in vars(self):
                hint = " since the last partial_fit: call solve() first"
            message = f"{type(self).__name__!r} object has no attribute {name!r}{hint}"
            raise AttributeError(message, name=name, obj=self)

    def _fit_models(
        self, models: Sequence[Self], X: Any, y: Any, sample_weight: ArrayLike | None = None
    ) -> Iterator[Self]:
        if not is_dask(X) and (y is not None or hasattr(X, "shape")):
            yield from super()._fit_models(models, X, y, sample_weight)
            return
        if sample_weight is not None:
            raise UnseenError(
                "sample_weight is for arrays, DataFrames and files. "
                "Pass the weights of a block to partial_fit."
            )
        for model in models:
            model._check_parameters()
        if len({model.normalize for model in models}) > 1:
            raise UnseenError("Different values of normalize need different moments. Fit one path for each.")
        counter = clone(models[0])._count(X, y)

        def solve(group: Sequence[Self]) -> Iterator[FloatArray]:
            return self._solve_kept(counter.moments_, None, counter.training_prototypes_, group)

        yield from counter._solve_groups(models, counter.classes_, counter.prototypes_, counter.seen_, solve)

    def _count(self, X: Any, y: Any) -> Self:
        """Add up the moments of a Dask array, or of an iterable of blocks."""
        if is_dask(X):
            return self._add_dask(X, y)
        for block in X:
            self.partial_fit(*block)
        if not hasattr(self, "moments_"):
            raise UnseenError("There is no block of samples. Pass at least one.")
        return self

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

    def _solve_samples(self, training: Training, models: Sequence[Self]) -> Iterator[FloatArray]:
        if len(training.y) < training.X.shape[1]:  # few samples: standardized one by one
            return super()._solve_samples(training, models)
        return self._solve_path(training, models)  # many: their moments are standardized

    def _solve_path(self, training: Training, models: Sequence[Self]) -> Iterator[FloatArray]:
        thin = len(training.y) < training.X.shape[1]  # N < D: X'X is larger than the data
        gram = self._needs_gram and not thin
        moments = shared_moments(training, gram, lambda: self._sum_up(training, gram=gram))
        spectrum = self._thin_spectrum(training, moments) if self._uses_gram and thin else None
        yield from self._solve_kept(moments, spectrum, training.S, models)

    def _thin_spectrum(self, training: Training, moments: Moments) -> Spectrum:
        """Return the spectrum that a solution needs from fewer samples than features: by default of X'X."""
        return Spectrum.of_rows(weigh_rows(training.rows(slice(None)), training.weight))

    def _solve_kept(
        self, moments: Moments, spectrum: Spectrum | None, S: FloatArray, models: Sequence[Self]
    ) -> Iterator[FloatArray]:
        """Solve, and let every model keep the moments."""
        for model in models:
            model.moments_ = moments
        if self.normalize == "standard" and moments.gram is not None:
            standard = moments.standardization()
            moments = moments.standardized(standard)
            for model in models:
                model._keep_standard(standard)
        yield from self._solve_moments(moments, spectrum, S, models)

    def _solve_moments(
        self, moments: Moments, spectrum: Spectrum | None, S: FloatArray, models: Sequence[Any]
    ) -> Iterator[FloatArray]:
        """Yield ``mapping_`` (attributes, features) for each model.

        ``spectrum`` is that of X'X where it is known already; otherwise it comes from ``moments.gram``.
        """
        raise NotImplementedError
