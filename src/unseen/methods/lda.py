"""LDA: a class is what its description says and what its samples show; all classes share one covariance."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Self

import numpy as np
from scipy.linalg.blas import dsyrk
from sklearn.utils.validation import check_consistent_length

from unseen._core.blocks import FloatArray, IndexArray, row_blocks
from unseen._core.labels import LabelArray, label_positions
from unseen._core.scaling import weigh_rows
from unseen._core.training import Training
from unseen.base import is_real_number
from unseen.errors import UnseenError
from unseen.methods import _kernels
from unseen.methods._closed_form import ClosedForm
from unseen.methods._factor import Gram, Inverse
from unseen.methods._kernels import KernelRidge, choose_landmarks, kernel_matrix, median_distance
from unseen.methods._moments import Moments

Grid = Mapping[str, Sequence[Any]]
_SAMPLES = ("sample_classes_", "sample_counts_", "sample_means_")


class GridByAnchor:
    """A ``default_grid`` that differs for anchored models."""

    def __init__(self, plain: Grid, anchored: Grid) -> None:
        self.plain, self.anchored = plain, anchored

    def __get__(self, model: Any, owner: type) -> Grid:
        """Return the grid of a model, or that of plain models for the class itself."""
        return self.anchored if model is not None and model.anchor else self.plain


class LDA(ClosedForm):
    r"""Linear discriminant analysis with class means from descriptions and samples.

    Kernel ridge regression predicts the mean of a class from its prototype:
    :math:`\mu(s) = k(s, S) (K + \alpha I)^{-1} M`, where the rows of M are the centered means :math:`m_c` of
    the seen classes. The description of a class then counts as much as :math:`\kappa` of its n samples:

    .. math::
        \text{mean}(c) = \frac{n_c m_c + \kappa \mu(s_c)}{n_c + \kappa}, \qquad
        P = \left((1 - \rho) \Sigma_w + \rho \tfrac{\operatorname{tr} \Sigma_w}{D} I\right)^{-1}

    A class without samples has the mean :math:`\mu(s_c)`. All classes share the shrunken covariance of the
    samples around their class means, and a class is scored by the logarithm of its Gaussian density,
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
    own_: tuple[FloatArray, ...]  # of the seen classes, only until their rows are made

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
        self._require("anchor", self.anchor in ("prototype", None), "'prototype' or None")
        if self.anchor and self.normalize != "l2":
            raise UnseenError(
                f"Got normalize={self.normalize!r}, but anchor='prototype' compares directions of samples "
                "and prototypes: expected normalize='l2'."
            )
        rho, width, kappa = self.shrinkage, self.bandwidth, self.kappa
        self._require("kernel", self.kernel in ("rbf", "linear"), "'rbf' or 'linear'")
        self._require("shrinkage", is_real_number(rho) and 0 <= rho <= 1, "a number from 0 to 1")
        self._require("bandwidth", is_real_number(width) and 0 < width < np.inf, "a finite number above 0")
        self._require("kappa", is_real_number(kappa) and kappa >= 0, "a number of at least 0")

    def shares_space(self) -> bool:
        return self.anchor is not None

    def _check_space(self, S: FloatArray, n_features: int) -> None:
        if self.anchor and self.prototypes is None:
            problem = "anchor='prototype' needs prototypes in the space of the features, but none were given"
            raise UnseenError(f"{problem}. Pass embeddings of one space, or leave anchor out.")
        super()._check_space(S, n_features)

    # ---- fitting -----------------------------------------------------------------------------------------

    def _gram(self, training: Training, moments: Moments) -> Gram:
        return training.once("within", lambda: within_gram(training, moments))

    def _solve_moments(
        self, moments: Moments, gram: Any, S: FloatArray, models: Sequence[Any]
    ) -> Iterator[FloatArray]:
        M = moments.total / moments.count[:, None]  # (seen classes, features)
        center = M.mean(axis=0) if self.anchor else moments.total.sum(axis=0) / moments.n
        M -= center
        T = centered_texts(S, S) if self.anchor else S
        n = len({model.shrinkage for model in models})
        mappings = prepare_path(T, M, gram, n, bool(self.anchor))
        for model in models:
            model.center_, model.class_count_ = center, moments.count
            model.covariance_ = gram.compact
            model.mean_mapping_, mapping, mean_rows = mappings(model)
            model.own_ = moments.count, M, mean_rows
            yield mapping

    def _set_mapping(self, mapping: FloatArray) -> Self:
        self.mapping_ = mapping
        place = np.where(self.seen_, np.cumsum(self.seen_) - 1, -1)
        self.coef_, self.intercept_ = self._fold(*self._linear_rows(self.prototypes_, place, *self.own_))
        del self.own_
        if "sample_classes_" in vars(self):  # of new classes, from add_classes
            new = self.sample_classes_
            rows = self._rows_of_samples(self.prototypes_[new], self.sample_counts_, self.sample_means_)
            self.coef_[new], self.intercept_[new] = rows
        return self

    def _add(self, new: Moments) -> Self:
        again = np.flatnonzero(new.count[vars(self).get("sample_classes_", slice(0))])
        if len(again):
            got = f"Class {str(self.classes_[self.sample_classes_[again[0]]])!r} has samples from add_classes"
            raise UnseenError(f"{got}. Call partial_fit on a new model, with all samples of the class.")
        return super()._add(new)

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

    def _linear_rows(
        self, S: FloatArray, place: IndexArray | None = None, *own: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return the rows for samples that are scaled already.

        ``own`` is what is known of classes with samples: their number, centered means, and these times P.
        ``place`` says where each class is among them, -1 for a class without samples.
        """
        describe = self._described_by()
        coef, intercept = np.empty((len(S), len(self.center_))), np.empty(len(S))
        for block in row_blocks(len(S), _kernels.CLASS_BLOCK):  # there may be far more classes than landmarks
            k = describe(S[block])  # (block, class features)
            means, rows = k @ self.mean_mapping_, k @ self.mapping_
            if place is not None and self.kappa < np.inf:
                sampled = place[block] >= 0
                count, *known = (part[place[block][sampled]] for part in own)
                w = described_share(count, self.kappa)[:, None]
                # mean = (n m + kappa mu(s)) / (n + kappa), and the same times P
                for described, shown in zip((means, rows), known):
                    described[sampled] = w * described[sampled] + (1 - w) * shown
            # (x - center).(P mu) - mu'P mu / 2 = x.row - center.row - mu.row / 2
            coef[block] = rows
            intercept[block] = -rows @ self.center_ - 0.5 * np.einsum("ij,ij->i", means, rows)
        return coef, intercept

    def _sampled_rows(
        self, labels: LabelArray, S: FloatArray, X: Any, y: Any
    ) -> tuple[FloatArray, FloatArray]:
        if self.kappa == np.inf:
            problem = "With kappa=inf descriptions alone count, so samples of new classes have no effect"
            raise UnseenError(f"{problem}. Choose a finite kappa, or leave X and y out.")
        X = self.check_samples(X)
        index = label_positions(y, labels, lacks="is not among the new classes")
        check_consistent_length(X, index)
        scaling = None if self.normalize == "standard" else self.normalize
        training = Training(X, index, S, scaling)
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
        standard = self.standardization()
        own = (means if standard is None else standard.apply(means)) - self.center_
        P = precision(Gram.of_compact(self.covariance_, len(self.center_)), self.shrinkage)
        return self._fold(*self._linear_rows(S, np.arange(len(S)), count, own, P(own)))

    # ---- what counts in a row ----------------------------------------------------------------------------

    def _described_shares(self) -> FloatArray:
        """Return the weight of the description in the mean of every class, (n_classes,)."""
        count = np.zeros(len(self.classes_))
        count[self.seen_] = self.class_count_
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


Mappings = tuple[FloatArray, FloatArray, FloatArray]


def prepare_path(
    S: FloatArray, M: FloatArray, gram: Gram, n: int, anchored: bool
) -> Callable[[LDA], Mappings]:
    """Return the function from a model to its solution: every factorization and large product once.

    The solution is A with ``mu(s) = k(s, S) A``, A P and M P. With anchors A is W with ``mu(s) = t W``, as
    ``mu(s) = b t + k(t, T) (K + alpha I)^-1 R`` with centered prototypes t and the linear kernel.

    Parameters
    ----------
    S : ndarray of shape (n_seen, n_attributes)
        The prototypes of the seen classes, centered if they are anchors.
    M : ndarray of shape (n_seen, n_features)
        The centered means of the seen classes.
    gram : Gram
        The covariance within classes.
    n : int
        How many values of shrinkage there are.
    anchored : bool
    """
    kept = lru_cache(1 if len(S) > _kernels.LANDMARKS else None)  # of many classes only the last
    # the b with the least ||M - b T||
    b = float(np.vdot(S, M) / np.vdot(S, S)) if anchored and S.any() else 1.0
    R = M - b * S if anchored else M  # what the regression predicts
    inverse = kept(lambda rho: precision(gram, rho, n))
    whole = lru_cache(None)(lambda rho: inverse(rho)(np.eye(M.shape[1])))  # P
    mean_rows = kept(lambda rho: inverse(rho)(M))  # M P
    ridge = kept(lambda *kernel: KernelRidge.of(S, R, *kernel))

    @kept
    def ridge_rows(rho: float, *kernel: Any) -> FloatArray:
        """Return the targets of the regression times P."""
        if not anchored and len(ridge(*kernel).landmarks) == len(S):
            return ridge(*kernel).project(mean_rows(rho))  # (Phi' M) P = Phi' (M P)
        return inverse(rho)(ridge(*kernel).targets)

    @lru_cache(1)
    def weights(alpha: float, rho: float, *kernel: Any) -> tuple[FloatArray, FloatArray]:
        return ridge(*kernel).weights(alpha), ridge(*kernel).weights(alpha, ridge_rows(rho, *kernel))

    def mappings(model: LDA) -> Mappings:
        kernel = ("linear", 1.0) if anchored else (model.kernel, model.bandwidth)
        A, AP = weights(model.alpha, model.shrinkage, *kernel)
        if anchored:  # W = b I + T' A
            T, P = ridge(*kernel).landmarks, whole(model.shrinkage)
            A, AP = b * np.eye(len(P)) + T.T @ A, b * P + T.T @ AP
        return A, AP, mean_rows(model.shrinkage)

    return mappings


def centered_texts(S: FloatArray, seen: FloatArray) -> FloatArray:
    """Return prototypes S minus the mean of the seen ones, which then have length 1 on average."""
    length = float(np.linalg.norm(seen, axis=1).mean()) or 1.0
    return np.asarray((S - seen.mean(axis=0)) / length)  # (classes, features)


# ---- the covariance within classes -------------------------------------------------------------------


def within_gram(training: Training, moments: Moments) -> Gram:
    """Return Sigma_w, the covariance of the samples around their class means."""
    if moments.triangle is not None:
        # Sigma_w = (X'X - sum_c n_c m_c m_c') / N
        scaled = moments.total / np.sqrt(moments.count)[:, None]  # (seen classes, features)
        return Gram(dsyrk(-1 / moments.n, scaled.T, beta=1 / moments.n, c=moments.triangle.T).T)
    # Sigma_w = R'R / N with the rows R of the samples around their class means
    means = moments.total / moments.count[:, None]
    rows = weigh_rows(training.rows(slice(None)) - means[training.y], training.weight)
    return Gram(rows / np.sqrt(moments.n), of_rows=True)


def precision(gram: Gram, rho: float, n: int = 1) -> Inverse:
    """Return ``P = ((1 - rho) Sigma_w + rho t I)^-1`` with ``t = tr(Sigma_w) / D``, one of n that are needed.

    For rho = 0 it is the pseudoinverse. Samples that do not vary within their classes count as white noise.
    """
    t = gram.trace / gram.matrix.shape[1] if gram.trace > 0 else 1.0
    return gram.inverse(rho * t, scale=1 - rho, n=n)


def described_share(count: FloatArray, kappa: float) -> FloatArray:
    """Return the weight of the description in the mean of each class, 1 without samples.

    >>> described_share(np.array([2.0, 0.0]), kappa=2.0)
    array([0.5, 1. ])
    """
    if kappa == np.inf:
        return np.ones(len(count))
    # mean = (kappa mu(s) + n m) / (kappa + n) = share mu(s) + (1 - share) m
    return np.where(count > 0, kappa / np.where(count > 0, kappa + count, 1), 1.0)
