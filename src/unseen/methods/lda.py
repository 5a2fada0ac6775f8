"""LDA: a class is what its description says and what its samples show; all classes share one covariance."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Self

import numpy as np
from scipy.linalg.blas import dsyrk
from sklearn.utils.validation import check_consistent_length

from unseen._core.blocks import FloatArray, IndexArray, row_blocks
from unseen._core.labels import LabelArray, label_positions
from unseen._core.scaling import weigh_rows
from unseen._core.training import Training
from unseen.base import Task
from unseen.errors import UnseenError
from unseen.methods import _kernels
from unseen.methods._anchor import GridByAnchor, centered_texts, check_anchor, scale_between
from unseen.methods._closed_form import ClosedForm
from unseen.methods._factor import Gram, Inverse
from unseen.methods._kernels import (
    KernelRidge,
    choose_landmarks,
    kernel_matrix,
    median_distance,
)
from unseen.methods._moments import Moments, mirror

KERNELS = ("rbf", "linear")
_SAMPLES = ("sample_classes_", "sample_counts_", "sample_means_")


class LDA(ClosedForm):
    r"""Linear discriminant analysis with class means from descriptions and samples.

    Kernel ridge regression predicts the mean of a class from its prototype:
    :math:`\mu(s) = k(s, S) (K + \alpha I)^{-1} M`, where the rows of M are the centered means :math:`m_c` of
    the seen classes. The description of a class then counts as much as :math:`\kappa` of its n samples:

    .. math::
        \text{mean}(c) = \frac{n_c m_c + \kappa \mu(s_c)}{n_c + \kappa}, \qquad
        P = \left((1 - \rho) \Sigma_w + \rho \tfrac{\operatorname{tr} \Sigma_w}{D} I\right)^{-1}

    A class without samples is described alone. All classes share the shrunken covariance of the samples
    around their class means, and a class is scored by the logarithm of its Gaussian density,
    :math:`x^\top P \mu - \tfrac12 \mu^\top P \mu` for a centered sample x. One factorization for each
    shrinkage serves every other parameter.

    With more than 2048 seen classes the kernel is a low-rank (Nyström) approximation: 2048 random seen
    classes are landmarks, all seen classes are regressed on their similarities to these, and nothing has
    seen classes x seen classes entries.

    Parameters
    ----------
    prototypes : array of shape (n_classes, n_attributes), DataFrame indexed by class label, or None
        One description per class, seen and unseen; ``None`` stands for one-hot rows of the classes in y.
    alpha : float, default=0.03
        Strength of the regularization of the regression.
    shrinkage : float, default=0.7
        How far the covariance is shrunken: 0 not at all, 1 to a multiple of the identity.
    kernel : {"rbf", "linear"}, default="rbf"
        Similarity of two prototypes: ``exp(-||s - s'||^2 / (bandwidth d^2))``, where d is the median distance
        between seen prototypes, or ``s . s'``.
    bandwidth : float, default=2.0
        Width of the RBF kernel, in squared median distances.
    kappa : float, default=10.0
        How many samples the description of a class is worth, for seen classes and for samples that
        ``add_classes`` is given. With 0 only samples count; with ``np.inf`` every class has the mean
        :math:`\mu(s_c)` that the regression predicts.
    anchor : {"prototype", None}, default=None
        For prototypes in the space of the features, such as embeddings of one vision-language model:
        ``"prototype"`` predicts :math:`\mu(s) = b (t_s - t_0) + k(s, S) (K + \alpha I)^{-1} R` with
        prototypes :math:`t_s` of length 1 on average, their mean :math:`t_0` over seen classes, the scale b
        that fits M best, what is left of M as targets R, and the linear kernel of centered prototypes.
    normalize : {"l2", "sqrt", "standard", None}, default="l2"
        Scale every sample to unit length (after the signed square root of each feature with ``"sqrt"``), or
        every feature to mean 0 and variance 1.

    Attributes
    ----------
    center_ : ndarray of shape (n_features,)
        Mean of the training samples; with an anchor, of the class means.
    mean_mapping_ : ndarray of shape (n_class_features, n_features)
        What predicts the centered mean of a class; ``mapping_`` is this matrix times P.
    class_count_ : ndarray of shape (n_seen,)
        Training samples of each seen class.
    covariance_ : ndarray of shape (n_features (n_features + 1) / 2,), or (n_samples, n_features)
        The covariance within classes, for the samples of new classes: one triangle of it, or its rows if
        there are fewer training samples than features. In single precision: 8 MB for 2048 features.
    sample_classes_, sample_counts_, sample_means_ : ndarray of shapes (k,), (k,) and (k, n_features)
        Positions of the classes that ``add_classes`` was given samples of, the number of these samples and
        their means; only after such a call.

    References
    ----------
    Verma and Rai (2017), *A Simple Exponential Family Framework for Zero-Shot Learning*.
    Changpinyo, Chao, Sha (2017), *Predicting Visual Exemplars of Unseen Classes for Zero-Shot Learning*.

    Examples
    --------
    >>> import numpy as np
    >>> from unseen import LDA
    >>> prototypes = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])   # class 2 has no sample
    >>> X = np.array([[2.0, 0.1], [1.9, -0.1], [0.1, 3.0], [-0.1, 2.9]])
    >>> model = LDA(prototypes, kernel="linear", alpha=1e-6).fit(X, [0, 0, 1, 1])
    >>> model.predict([[1.0, 1.1]], candidates=[0, 2])
    array([2])
    """

    _path = ("alpha", "shrinkage", "kernel", "bandwidth", "kappa")
    default_grid = GridByAnchor(
        {"alpha": [0.01, 0.03, 0.1, 0.3], "shrinkage": [0.3, 0.7, 0.9]},
        {"alpha": [0.1, 0.3, 1.0, 3.0], "shrinkage": [0.7, 0.9], "kappa": [10.0, 100.0]},
    )

    center_: FloatArray
    mean_mapping_: FloatArray
    class_count_: FloatArray
    covariance_: FloatArray
    sample_classes_: IndexArray
    sample_counts_: FloatArray
    sample_means_: FloatArray
    _own: tuple[FloatArray, ...]

    def __init__(
        self,
        prototypes: Any = None,
        *,
        alpha: float = 0.03,
        shrinkage: float = 0.7,
        kernel: str = "rbf",
        bandwidth: float = 2.0,
        kappa: float = 10.0,
        anchor: str | None = None,
        normalize: str | None = "l2",
    ) -> None:
        self.prototypes = prototypes
        self.alpha = alpha
        self.shrinkage = shrinkage
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.kappa = kappa
        self.anchor = anchor
        self.normalize = normalize

    def check_parameters(self) -> None:
        super().check_parameters()
        check_anchor(self.anchor, self.normalize)
        if self.kernel not in KERNELS:
            raise UnseenError(f"Got kernel={self.kernel!r}, but expected 'rbf' or 'linear'.")
        if not (_is_number(self.shrinkage) and 0 <= self.shrinkage <= 1):
            raise UnseenError(f"Got shrinkage={self.shrinkage!r}, but expected a number from 0 to 1.")
        if not (_is_number(self.bandwidth) and 0 < self.bandwidth < np.inf):
            raise UnseenError(f"Got bandwidth={self.bandwidth!r}, but expected a finite number above 0.")
        if not (_is_number(self.kappa) and self.kappa >= 0):
            raise UnseenError(f"Got kappa={self.kappa!r}, but expected a number of at least 0.")

    def shares_space(self) -> bool:
        return self.anchor is not None

    def _check_space(self, S: FloatArray, n_features: int) -> None:
        if self.anchor and self.prototypes is None:
            raise UnseenError(
                "anchor='prototype' needs prototypes in the space of the features, but none were given. "
                "Pass embeddings of one space, or leave anchor out."
            )
        super()._check_space(S, n_features)

    # ---- fitting -----------------------------------------------------------------------------------------

    def _gram(self, training: Training, moments: Moments) -> Gram:
        return training.once("within", lambda: within_gram(training, moments))

    def _solve_moments(
        self, moments: Moments, gram: Any, S: FloatArray, models: Sequence[Any]
    ) -> Iterator[FloatArray]:
        means = moments.total / moments.count[:, None]  # (seen classes, features)
        center = means.mean(axis=0) if self.anchor else moments.total.sum(axis=0) / moments.n
        within = Within(gram, len(center), len({model.shrinkage for model in models}))
        path = AnchoredPath if self.anchor else Path
        shared = path(centered_texts(S, S) if self.anchor else S, means - center, within)
        for model in models:
            model.center_, model.class_count_ = center, moments.count
            model.covariance_ = gram.compact
            model.mean_mapping_, mapping = shared.mappings(model)
            model._keep_own(shared.M, shared.mean_rows(model.shrinkage))
            yield mapping

    def _keep_own(self, *means: FloatArray) -> None:
        """Keep the means of the seen classes, and these times P, until the rows are made."""
        self._own = means

    def _set_mapping(self, mapping: FloatArray) -> Self:
        super()._set_mapping(mapping)
        if self.kappa < np.inf:  # seen classes have samples, too
            rows = self._mixed_rows(self.training_prototypes_, self.class_count_, *self._own)
            self.coef_[self.seen_], self.intercept_[self.seen_] = self._fold(*rows)
        del self._own
        if "sample_classes_" in vars(self):  # so have some new ones
            new = self.sample_classes_
            rows = self._rows_of_samples(self.prototypes_[new], self.sample_counts_, self.sample_means_)
            self.coef_[new], self.intercept_[new] = rows
        return self

    def _adopt(self, other: Self, task: Task, trained: FloatArray) -> None:
        super()._adopt(other, task, trained)
        for name in _SAMPLES:
            self.__dict__.pop(name, None)

    # ---- rows ----------------------------------------------------------------------------------------------

    def _class_features(self, S: FloatArray) -> FloatArray:
        return self._described_by()(S)

    def _described_by(self) -> Callable[[FloatArray], FloatArray]:
        """Return the function from prototypes to the factor of the mappings, (classes, class features)."""
        seen = self.training_prototypes_
        if self.anchor:
            return lambda S: centered_texts(S, seen)
        seen = choose_landmarks(seen, len(self.mapping_))
        median = None if self.kernel == "linear" else median_distance(seen)
        return lambda S: kernel_matrix(S, seen, self.kernel, self.bandwidth, median)

    def _linear_rows(self, S: FloatArray) -> tuple[FloatArray, FloatArray]:
        describe = self._described_by()
        coef, intercept = np.empty((len(S), len(self.center_))), np.empty(len(S))
        for block in row_blocks(len(S)):  # there may be far more classes than landmarks
            k = describe(S[block])  # (block, class features)
            coef[block], intercept[block] = self._score_means(k @ self.mean_mapping_, k @ self.mapping_)
        return coef, intercept

    def _score_means(self, means: FloatArray, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return coef and intercept of classes with centered means and ``rows = means P``."""
        # (x - center).(P mu) - mu'P mu / 2 = x.row - center.row - mu.row / 2
        return rows, -rows @ self.center_ - 0.5 * np.einsum("ij,ij->i", means, rows)

    def _sampled_rows(
        self, labels: LabelArray, S: FloatArray, X: Any, y: Any
    ) -> tuple[FloatArray, FloatArray]:
        if self.kappa == np.inf:
            raise UnseenError(
                "With kappa=inf descriptions alone count, so samples of new classes have no effect. "
                "Choose a finite kappa, or leave X and y out."
            )
        X = self.check_samples(X)
        index = label_positions(y, labels, lacks="is not among the new classes")
        check_consistent_length(X, index)
        training = Training(X, index, S, self.normalize, self.standardization())
        moments = Moments.from_blocks(training.blocks(), len(S), gram=False)
        new = np.flatnonzero(moments.count)
        count, means = moments.count[new], moments.total[new] / moments.count[new, None]
        for name, values in zip(_SAMPLES, (len(self.classes_) + new, count, means)):
            setattr(self, name, np.concatenate([vars(self).get(name, values[:0]), values]))
        coef, intercept = self.rows(S)
        coef[new], intercept[new] = self._rows_of_samples(S[new], count, means)
        return coef, intercept

    def _rows_of_samples(
        self, S: FloatArray, count: FloatArray, means: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return the rows of classes with prototypes S, from number and mean of their samples, too."""
        own = means - self.center_
        within = Within(Gram.of_compact(self.covariance_, len(self.center_)), len(self.center_))
        rows = self._mixed_rows(S, count, own, within.precision(self.shrinkage).apply(own))
        return self._fold(*rows)

    def _mixed_rows(
        self, S: FloatArray, count: FloatArray, own: FloatArray, own_rows: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return the rows of classes with samples: their number, their centered means, and these times P."""
        share, describe = described_share(count, self.kappa)[:, None], self._described_by()
        coef, intercept = np.empty_like(own_rows), np.empty(len(S))
        for block in row_blocks(len(S)):
            k, w = describe(S[block]), share[block]
            # mean = (n m + kappa mu(s)) / (n + kappa), and the same times P
            means = w * (k @ self.mean_mapping_) + (1 - w) * own[block]
            rows = w * (k @ self.mapping_) + (1 - w) * own_rows[block]
            coef[block], intercept[block] = self._score_means(means, rows)
        return coef, intercept

    # ---- what counts in a row ----------------------------------------------------------------------------

    def _described_shares(self) -> FloatArray:
        """Return the weight of the description in the mean of every class, (n_classes,)."""
        count = np.zeros(len(self.classes_))
        count[self.seen_] = self.class_count_ if self.kappa < np.inf else 0
        if "sample_classes_" in vars(self):
            count[self.sample_classes_] = self.sample_counts_
        return described_share(count, self.kappa)

    def has_samples(self, column: int) -> bool:
        """Return whether samples of the class itself count in its row, besides its description."""
        return bool(self._described_shares()[column] < 1)

    def rows_as(self, column: int, S: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the rows that the class at ``column`` would have with each of the prototypes S.

        Samples of the class stay what they are, and so does its part in what was learned.
        """
        if not self.has_samples(column):
            return self.rows(S)
        k = self._class_features(S) - self._class_features(self.prototypes_[column : column + 1])
        share, row = self._described_shares()[column], self.coef_[column]
        if self.normalize == "standard":
            row = row * self.standard_scale_
        d, dP = share * (k @ self.mean_mapping_), share * (k @ self.mapping_)  # (classes, features)
        # (m + d)'P(m + d) = m'Pm + d'(2 Pm + Pd)
        spread = np.einsum("ij,ij->i", d, 2 * row + dP)
        coef, intercept = self._fold(dP, -dP @ self.center_ - 0.5 * spread)
        return self.coef_[column] + coef, self.intercept_[column] + intercept

    def seen_weights(self, columns: IndexArray) -> FloatArray | None:
        """Return the weights of the class means in the means of some classes, (columns, n_classes).

        None with landmarks. With ``anchor``, a mean is that sum plus b times what the same sum of centered
        prototypes lacks of the class's own.
        """
        S = self.training_prototypes_
        if len(S) > _kernels.LANDMARKS:
            return None
        features = self._described_by()
        seen = features(S).T if self.anchor else np.eye(len(S))  # similarities are features @ seen
        inverse = np.linalg.pinv(features(S) @ seen + self.alpha * np.eye(len(S)), hermitian=True)
        weights = np.zeros((len(columns), len(self.classes_)))
        weights[:, self.seen_] = features(self.prototypes_[columns]) @ seen @ inverse
        share = self._described_shares()[columns]
        weights *= share[:, None]
        weights[np.arange(len(columns)), columns] += 1 - share
        return weights


# ---- what the models of a path share -----------------------------------------------------------------------


class Path:
    """The solutions for one training set: every factorization and every large product once.

    Parameters
    ----------
    S : ndarray of shape (n_seen, n_attributes)
    M : ndarray of shape (n_seen, n_features)
        The centered means of the seen classes.
    within : Within
    """

    def __init__(self, S: FloatArray, M: FloatArray, within: Within) -> None:
        self.S, self.M, self.R, self.within = S, M, M, within  # R: what the regression predicts
        kept = lru_cache(1 if len(S) > _kernels.LANDMARKS else None)  # of many classes only the last
        self.ridge, self.precision = kept(self._ridge), kept(within.precision)
        self.mean_rows, self.ridge_rows = kept(self._mean_rows), kept(self._ridge_rows)
        self.weights = lru_cache(1)(self._weights)

    def mappings(self, model: LDA) -> tuple[FloatArray, FloatArray]:
        """Return A with ``mu(s) = k(s, S) A``, and A P."""
        return self.weights(model.alpha, model.shrinkage, *self._kernel(model))

    def _kernel(self, model: LDA) -> tuple[str, float]:
        return model.kernel, model.bandwidth

    def _weights(self, alpha: float, rho: float, *kernel: Any) -> tuple[FloatArray, FloatArray]:
        ridge = self.ridge(*kernel)
        return ridge.weights(alpha), ridge.weights(alpha, self.ridge_rows(rho, *kernel))

    def _ridge(self, kernel: str, bandwidth: float) -> KernelRidge:
        return KernelRidge.of(self.S, self.R, kernel, bandwidth)

    def _mean_rows(self, rho: float) -> FloatArray:
        """Return M P."""
        return self.precision(rho).apply(self.M)

    def _ridge_rows(self, rho: float, *kernel: Any) -> FloatArray:
        """Return the targets of the regression times P."""
        ridge = self.ridge(*kernel)
        if self.R is self.M and len(ridge.landmarks) == len(self.S):
            return ridge.project(self.mean_rows(rho))  # (Phi' M) P = Phi' (M P)
        return self.precision(rho).apply(ridge.targets)


class AnchoredPath(Path):
    """The same for ``mu(s) = b t + k(t, T) (K + alpha I)^-1 R`` with centered prototypes t.

    With the linear kernel that is ``mu(s) = t W``: the mapping is W.
    """

    def __init__(self, T: FloatArray, M: FloatArray, within: Within) -> None:
        super().__init__(T, M, within)
        self.b = scale_between(T, M)
        self.R = M - self.b * T
        self.whole = lru_cache(None)(self._whole)

    def mappings(self, model: LDA) -> tuple[FloatArray, FloatArray]:
        """Return W with ``mu(s) = t W``, and W P."""
        A, AP = super().mappings(model)
        T = self.ridge(*self._kernel(model)).landmarks
        # W = b I + T' (K + alpha I)^-1 R
        P = self.whole(model.shrinkage)
        return self.b * np.eye(len(P)) + T.T @ A, self.b * P + T.T @ AP

    def _kernel(self, model: LDA) -> tuple[str, float]:
        return "linear", 1.0

    def _whole(self, rho: float) -> FloatArray:
        """Return P, (features, features)."""
        return self.precision(rho).apply(np.eye(self.M.shape[1]))


# ---- the covariance within classes -------------------------------------------------------------------


def within_gram(training: Training, moments: Moments) -> Gram:
    """Return Sigma_w, the covariance of the samples around their class means."""
    if moments.gram is not None:
        # Sigma_w = (X'X - sum_c n_c m_c m_c') / N, of which BLAS computes one triangle
        scaled = moments.total / np.sqrt(moments.count)[:, None]  # (seen classes, features)
        upper = dsyrk(-1 / moments.n, scaled.T, beta=1 / moments.n, c=moments.gram.T)
        return Gram(mirror(upper).T)  # the same, in the order of rows
    # Sigma_w = R'R / N with the rows R of the samples around their class means
    means = moments.total / moments.count[:, None]
    rows = weigh_rows(training.rows(slice(None)) - means[training.y], training.weight)
    return Gram(rows / np.sqrt(moments.n), of_rows=True)


@dataclass(frozen=True, eq=False)
class Within:
    """The covariance Sigma_w of the samples around their class means, to be shrunken n times."""

    gram: Gram
    n_features: int
    n: int = 1

    def precision(self, rho: float) -> Inverse:
        """Return ``P = ((1 - rho) Sigma_w + rho t I)^-1`` with ``t = tr(Sigma_w) / D``.

        For rho = 0 it is the pseudoinverse. Samples that do not vary within their classes count as white
        noise.
        """
        t = self.gram.trace / self.n_features if self.gram.trace > 0 else 1.0
        return self.gram.inverse(rho * t, scale=1 - rho, n=self.n)


def described_share(count: FloatArray, kappa: float) -> FloatArray:
    """Return the weight of the description in the mean of each class, 1 without samples.

    >>> described_share(np.array([2.0, 0.0]), kappa=2.0)
    array([0.5, 1. ])
    """
    if kappa == np.inf:
        return np.ones(len(count))
    # mean = (kappa mu(s) + n m) / (kappa + n) = share mu(s) + (1 - share) m
    return np.where(count > 0, kappa / np.where(count > 0, kappa + count, 1), 1.0)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating)
