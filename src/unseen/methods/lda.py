"""LDA: class means predicted from descriptions, one covariance shared by all classes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Self

import numpy as np

from unseen._core.blocks import FloatArray, row_blocks
from unseen._core.scaling import weigh_rows
from unseen._core.training import Training
from unseen.errors import UnseenError
from unseen.methods._anchor import ZERO_SHOT, Anchorable, GridByAnchor
from unseen.methods._kernels import kernel_matrix, median_distance
from unseen.methods._moments import Moments, Spectrum

KERNELS = ("rbf", "linear")
LANDMARKS = 2048  # seen classes whose kernel matrix is used as it is; of more classes, so many are landmarks


class LDA(Anchorable):
    r"""Linear discriminant analysis with class means that are predicted from the descriptions.

    Kernel ridge regression predicts the mean of a class from its prototype, and all classes share the
    shrunken covariance of the samples around their class means:

    .. math::
        \mu(s) = k(s, S) (K + \alpha I)^{-1} M, \qquad
        P = \left((1 - \rho) \Sigma_w + \rho \tfrac{\operatorname{tr} \Sigma_w}{D} I\right)^{-1}

    where the rows of M are the centered means of the seen classes. A class is scored by the logarithm of
    its Gaussian density, :math:`x^\top P \mu - \tfrac12 \mu^\top P \mu` for a centered sample x. One
    eigendecomposition of :math:`\Sigma_w` serves every alpha, shrinkage, kernel and bandwidth.

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
    anchor : {"identity", None}, default=None
        For prototypes in the space of the features, such as embeddings of one vision-language model:
        ``"identity"`` predicts the difference between the mean of a class and its prototype of unit length.
        Strong regularization (a large alpha, shrinkage 1) ends at :class:`Cosine`, weak regularization at
        the observed means of the seen classes.
    normalize : {"l2", "standard", None}, default="l2"
        Scale every sample to unit length, or every feature to mean 0 and variance 1.

    Attributes
    ----------
    center_ : ndarray of shape (n_features,)
        Mean of the training samples.
    overlap_ : ndarray of shape (n_seen, n_seen)
        The quadratic form of the intercepts: ``mu(s)' P mu(s) = k(s, S) overlap_ k(s, S)'``. With more than
        2048 seen classes, S are the landmarks, and this is a matrix of shape (2048, n_features) with
        ``mu(s)' P mu(s) = ||k(s, S) overlap_||^2``.
    variances_, directions_ : ndarray of shapes (rank,) and (n_features, rank)
        Eigenvalues and eigenvectors of the covariance within classes, for means that are not combined from
        those of the seen classes: anchors, and the samples of new classes. The eigenvectors are as large
        as the covariance, so they are kept in single precision: 17 MB for 2048 features, 1 MB for 512.

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

    _path = ("alpha", "shrinkage", "kernel", "bandwidth")
    default_grid = GridByAnchor(
        {"alpha": [0.01, 0.03, 0.1, 0.3], "shrinkage": [0.3, 0.5, 0.7, 0.9], "bandwidth": [2.0, 4.0]},
        {
            "alpha": [0.01, 0.03, 0.1, 0.3, 1.0, 10.0, ZERO_SHOT],
            "shrinkage": [0.3, 0.5, 0.7, 0.9, 1.0],
            "bandwidth": [2.0, 4.0],
        },
    )

    center_: FloatArray
    overlap_: FloatArray
    variances_: FloatArray
    directions_: FloatArray

    def __init__(
        self,
        prototypes: Any = None,
        *,
        alpha: float = 0.03,
        shrinkage: float = 0.7,
        kernel: str = "rbf",
        bandwidth: float = 2.0,
        anchor: str | None = None,
        normalize: str | None = "l2",
    ) -> None:
        self.prototypes = prototypes
        self.alpha = alpha
        self.shrinkage = shrinkage
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.anchor = anchor
        self.normalize = normalize

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.kernel not in KERNELS:
            raise UnseenError(f"Got kernel={self.kernel!r}, but expected 'rbf' or 'linear'.")
        if not (_is_number(self.shrinkage) and 0 <= self.shrinkage <= 1):
            raise UnseenError(f"Got shrinkage={self.shrinkage!r}, but expected a number from 0 to 1.")
        if not (_is_number(self.bandwidth) and 0 < self.bandwidth < np.inf):
            raise UnseenError(f"Got bandwidth={self.bandwidth!r}, but expected a finite number above 0.")

    def _thin_spectrum(self, training: Training, moments: Moments) -> Spectrum:
        # Sigma_w = R'R / N with the rows R of the samples around their class means
        means = moments.total / moments.count[:, None]
        rows = weigh_rows(training.rows(slice(None)) - means[training.y], training.weight)
        return Spectrum.of_rows(rows / np.sqrt(moments.n))

    def _solve_moments(
        self, moments: Moments, spectrum: Spectrum | None, S: FloatArray, models: Sequence[Any]
    ) -> Iterator[FloatArray]:
        center = moments.total.sum(axis=0) / moments.n  # (features,)
        S = self._placed(S)
        means = moments.total / moments.count[:, None]  # (seen classes, features)
        M = means - (S if self.anchor else center)  # what the regression predicts
        within = Within.of(within_spectrum(moments) if spectrum is None else spectrum, len(center))
        directions = within.spectrum.vectors.astype(np.float32)
        solve = self._solve_landmarks if len(S) > LANDMARKS else self._solve_kernel
        for model, (mapping, overlap) in zip(models, solve(S, M, within, models)):
            model.center_ = center
            model.overlap_ = overlap
            model.variances_, model.directions_ = within.spectrum.values, directions
            yield mapping

    def _solve_kernel(
        self, S: FloatArray, M: FloatArray, within: Within, models: Sequence[Any]
    ) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Yield mapping and overlap of each model."""
        precision_rows = cache(within.precision_of(M))
        kernel_spectrum = cache(lambda *kernel: Spectrum.of_gram(kernel_matrix(S, S, *kernel)))
        for model in models:
            MP, MPM = precision_rows(model.shrinkage)  # (seen, features), (seen, seen)
            # (K + alpha I)^-1 with K = U diag(w) U'; k(s, S) is zero where K is
            eig = kernel_spectrum(model.kernel, model.bandwidth)
            inverse = (eig.vectors / (eig.values + model.alpha)) @ eig.vectors.T  # (seen, seen)
            yield inverse @ MP, inverse @ MPM @ inverse

    def _solve_landmarks(
        self, S: FloatArray, M: FloatArray, within: Within, models: Sequence[Any]
    ) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Yield mapping and overlap of each model, for features k(s, L) of a class with landmarks L."""
        regression = cache(lambda *kernel: LandmarkRegression.of(S, M, *kernel))
        for model in models:
            A = regression(model.kernel, model.bandwidth).weights(model.alpha)  # mu(s) = k(s, L) A
            yield within.precision_root_of(A, model.shrinkage)  # A P, and R with R R' = A P A'

    def _class_features(self, S: FloatArray) -> FloatArray:
        return self._similarity_to_seen()(S)

    def _similarity_to_seen(self) -> Callable[[FloatArray], FloatArray]:
        """Return the function from prototypes to k(s, S), (classes, seen)."""
        seen = choose_landmarks(self._placed(self.training_prototypes_), len(self.mapping_))
        median = None if self.kernel == "linear" else median_distance(seen)
        return lambda S: kernel_matrix(self._placed(S), seen, self.kernel, self.bandwidth, median)

    def _spread(self, k: FloatArray) -> FloatArray:
        """Return mu'P mu of classes with similarities k (classes, seen)."""
        many = len(self.training_prototypes_) > len(self.mapping_)
        projected = k @ self.overlap_
        return np.asarray(np.einsum("ij,ij->i", projected, projected if many else k))

    def _linear_rows(self, S: FloatArray) -> tuple[FloatArray, FloatArray]:
        if self.anchor:
            return self._rows_beside(S, np.ones(len(S)), self._placed(S) - self.center_)
        similar = self._similarity_to_seen()
        dtype = self.mapping_.dtype
        coef, intercept = np.empty((len(S), len(self.center_)), dtype), np.empty(len(S))
        for block in row_blocks(len(S)):  # there may be far more classes than landmarks
            k = similar(S[block])  # (block, seen)
            coef[block] = k.astype(dtype, copy=False) @ self.mapping_
            # (x - center).(P mu) - mu'P mu / 2 = x.coef - center.coef - mu'P mu / 2
            intercept[block] = -coef[block] @ self.center_ - 0.5 * self._spread(k)
        return coef, intercept

    def _takes_samples(self) -> bool:
        return True

    def _rows_of_means(
        self, S: FloatArray, share: FloatArray, means: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        b = (1 - share)[:, None] * (means - self.center_)
        if self.anchor:
            b += share[:, None] * (self._placed(S) - self.center_)
        return self._rows_beside(S, share, b)

    def _rows_beside(self, S: FloatArray, share: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the rows of classes with centered means ``share a + b``, where a is what S predicts.

        ``share`` has shape (classes,) and ``b`` (classes, features).
        """
        k = share[:, None] * self._class_features(S)  # (classes, seen)
        within = Within.of(Spectrum(self.variances_, self.directions_), len(self.center_))
        Pa, Pb = k @ self.mapping_, within.precision_of(b)(self.shrinkage)[0]  # (classes, features)
        # (a + b)'P(a + b) = a'Pa + b'(2 Pa + Pb), with a'Pa = k overlap k'
        spread = self._spread(k) + np.einsum("ij,ij->i", b, 2 * Pa + Pb)
        coef = Pa + Pb
        return coef, -coef @ self.center_ - 0.5 * spread


# ---- many seen classes ---------------------------------------------------------------------------------


def choose_landmarks(S: FloatArray, n: int) -> FloatArray:
    """Return n rows at random, always the same ones of equally many; all rows if there are no more."""
    if len(S) <= n:
        return S
    chosen: FloatArray = S[np.sort(np.random.default_rng(0).permutation(len(S))[:n])]
    return chosen


@dataclass(frozen=True)
class LandmarkRegression:
    """Kernel ridge regression with the Nyström kernel ``k(s, L) K_L^-1 k(L, s')``, for every alpha.

    With features ``phi(s) = k(s, L) C``, where ``C C' = K_L^-1``, it is ridge regression from phi, and
    ``Phi'Phi = U diag(w) U'`` solves it.
    """

    back: FloatArray  # C U, (landmarks, rank)
    values: FloatArray  # w, (rank,)
    targets: FloatArray  # U' Phi' M, (rank, features)

    @classmethod
    def of(cls, S: FloatArray, M: FloatArray, kernel: str, bandwidth: float) -> Self:
        """Factorize for seen prototypes S and what to predict for them, M."""
        L = choose_landmarks(S, LANDMARKS)
        median = None if kernel == "linear" else median_distance(L)
        K = Spectrum.of_gram(kernel_matrix(L, L, kernel, bandwidth, median))
        C = K.vectors / np.sqrt(K.values)  # (landmarks, rank)
        gram, targets = np.zeros((C.shape[1], C.shape[1])), np.zeros((C.shape[1], M.shape[1]))
        for block in row_blocks(len(S)):
            Phi = kernel_matrix(S[block], L, kernel, bandwidth, median) @ C  # (block, rank)
            gram += Phi.T @ Phi
            targets += Phi.T @ M[block]
        eig = Spectrum.of_gram(gram)
        return cls(C @ eig.vectors, eig.values, eig.vectors.T @ targets)

    def weights(self, alpha: float) -> FloatArray:
        """Return A with ``mu(s) = k(s, L) A``, (landmarks, features)."""
        # A = C (Phi'Phi + alpha I)^-1 Phi' M
        return np.asarray((self.back / (self.values + alpha)) @ self.targets)


# ---- the covariance within classes -------------------------------------------------------------------


def within_spectrum(moments: Moments) -> Spectrum:
    """Return the spectrum of Sigma_w from the Gram matrix of the moments."""
    # Sigma_w = (X'X - sum_c n_c m_c m_c') / N
    assert moments.gram is not None
    scaled = moments.total / np.sqrt(moments.count)[:, None]  # (seen classes, features)
    gram = (moments.gram - scaled.T @ scaled) / moments.n
    return Spectrum.of_gram(gram)


@dataclass(frozen=True)
class Within:
    """The covariance of the samples around their class means, ``Sigma_w = V diag(e) V'``."""

    spectrum: Spectrum  # e (rank,), V (features, rank)
    scale: float  # t = tr(Sigma_w) / D

    @classmethod
    def of(cls, spectrum: Spectrum, n_features: int) -> Self:
        """Add the scale; samples that do not vary within their classes count as white noise."""
        if not len(spectrum.values):
            return cls(spectrum, 1.0)
        return cls(spectrum, float(spectrum.values.sum()) / n_features)

    def precision_of(self, M: FloatArray) -> Callable[[float], tuple[FloatArray, FloatArray]]:
        """Return the function from rho to (M P, M P M') with ``P = ((1 - rho) Sigma_w + rho t I)^-1``.

        All shrinkages share the projection of M. With rho = 0 and a singular Sigma_w, P is the pseudoinverse.
        """
        e, V, t = self.spectrum.values, self.spectrum.vectors, self.scale
        inside = M @ V  # (rows, rank)
        outside = M - inside @ V.T if V.shape[1] < len(V) else np.zeros_like(M)
        outer = outside @ outside.T  # (rows, rows)

        def rows(rho: float) -> tuple[FloatArray, FloatArray]:
            # P = V diag(1 / ((1 - rho) e + rho t)) V' + (I - V V') / (rho t)
            divided = inside / ((1 - rho) * e + rho * t)
            rest = 1 / (rho * t) if rho > 0 else float(not len(e))
            return divided @ V.T + rest * outside, divided @ inside.T + rest * outer

        return rows

    def precision_root_of(self, M: FloatArray, rho: float) -> tuple[FloatArray, FloatArray]:
        """Return M P, and R with ``R R' = M P M'``, for P as above and more rows than features."""
        e, V, t = self.spectrum.values, self.spectrum.vectors, self.scale
        inside = M @ V  # (rows, rank)
        root = np.sqrt((1 - rho) * e + rho * t)
        R = inside / root
        MP = (R / root) @ V.T
        if V.shape[1] == len(V):
            return MP, R
        outside = M - inside @ V.T
        rest = 1 / (rho * t) if rho > 0 else float(not len(e))
        return MP + rest * outside, np.hstack([R, np.sqrt(rest) * outside])


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating)
