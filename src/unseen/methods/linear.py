"""The paper's two linear models: ridge regression from features to attributes, and back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from unseen._core.blocks import FloatArray
from unseen._core.scaling import squared_lengths
from unseen.methods._anchor import ZERO_SHOT, Anchorable, GridByAnchor
from unseen.methods._closed_form import ClosedForm
from unseen.methods._moments import Moments, Spectrum, target_spectrum
from unseen.methods._sharing import feature_spectrum


class LinearVS(ClosedForm):
    r"""Ridge regression from visual features to the attributes of the sample's class.

    .. math:: \min_W \tfrac1N \lVert X W^\top - T \rVert_F^2 + \alpha \lVert W \rVert_F^2

    and a sample belongs to the class whose prototype is nearest to the predicted attributes.

    Parameters
    ----------
    prototypes : array of shape (n_classes, n_attributes), DataFrame indexed by class label, or None
        One description per class, seen and unseen; ``None`` stands for one-hot rows of the classes in y.
    alpha : float, default=1e-3
        Strength of the regularization, the paper's lambda.
    normalize : {"l2", "standard", None}, default="l2"
        Scale every sample to unit length, or every feature to mean 0 and variance 1.

    References
    ----------
    Le Cacheux, Le Borgne, Crucianu (2018), *From Classical to Generalized Zero-Shot Learning*, Sec. 4.1.

    Examples
    --------
    >>> import numpy as np
    >>> from unseen import LinearVS
    >>> prototypes = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])   # class 2 has no sample
    >>> X = np.array([[2.0, 0.0], [0.0, 3.0]])
    >>> model = LinearVS(prototypes, alpha=1e-6).fit(X, [0, 1])
    >>> model.predict([[1.0, 1.1]], candidates=[0, 1, 2])
    array([2])
    """

    default_grid: ClassVar[Mapping[str, Sequence[Any]]] = {"alpha": np.logspace(-7, 0, 15).tolist()}

    def __init__(self, prototypes: Any = None, *, alpha: float = 1e-3, normalize: str | None = "l2") -> None:
        self.prototypes = prototypes
        self.alpha = alpha
        self.normalize = normalize

    def _solve_moments(
        self, moments: Moments, spectrum: Spectrum | None, S: FloatArray, models: Sequence[Any]
    ) -> Iterator[FloatArray]:
        # W = T'X (X'X + alpha N I)^-1 with T'X = S'M and X'X = V diag(e) V'
        eig = feature_spectrum(moments, spectrum)
        MV = moments.total @ eig.vectors  # (seen classes, rank)
        for model in models:
            rows = (MV / (eig.values + model.alpha * moments.n)) @ eig.vectors.T  # (seen classes, features)
            yield S.T @ rows

    def _intercepts(self, S: FloatArray, coef: FloatArray) -> FloatArray:
        # -||Wx - s||^2 / 2 = x.(sW) - ||s||^2 / 2 + (the same for all classes)
        return -0.5 * squared_lengths(S)


class LinearSV(Anchorable):
    r"""Ridge regression from attributes to visual features.

    .. math:: \min_W \tfrac1N \lVert X - T W \rVert_F^2 + \alpha \lVert W \rVert_F^2

    and a sample belongs to the class whose projected prototype is nearest. Comparing in the visual space
    lessens the hubness that :class:`LinearVS` suffers from.

    Parameters
    ----------
    prototypes : array of shape (n_classes, n_attributes), DataFrame indexed by class label, or None
        One description per class, seen and unseen; ``None`` stands for one-hot rows of the classes in y.
    alpha : float, default=1e-3
        Strength of the regularization, the paper's lambda.
    anchor : {"identity", None}, default=None
        For prototypes in the space of the features, such as embeddings of one vision-language model:
        ``"identity"`` regresses the difference, ``X - T`` on ``T`` with prototypes of unit length, so that
        the center of a class is ``s + sW``. A large alpha ends at :class:`Cosine`, a small one at the plain
        method in the span of the seen prototypes; outside of it prototypes stay where they are.
    normalize : {"l2", "standard", None}, default="l2"
        Scale every sample to unit length, or every feature to mean 0 and variance 1.

    References
    ----------
    Shigeto et al. (2015), *Ridge Regression, Hubness, and Zero-Shot Learning*.

    Examples
    --------
    >>> import numpy as np
    >>> from unseen import LinearSV
    >>> prototypes = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])   # class 2 has no sample
    >>> X = np.array([[2.0, 0.0], [0.0, 3.0]])
    >>> model = LinearSV(prototypes, alpha=1e-6).fit(X, [0, 1])
    >>> model.predict([[1.0, 1.1]], candidates=[0, 2])
    array([2])
    """

    default_grid = GridByAnchor(
        {"alpha": np.logspace(-6, 1, 15).tolist()},
        {"alpha": [*np.logspace(-6, 1, 15).tolist(), ZERO_SHOT]},
    )
    _uses_gram = False

    def __init__(
        self,
        prototypes: Any = None,
        *,
        alpha: float = 1e-3,
        anchor: str | None = None,
        normalize: str | None = "l2",
    ) -> None:
        self.prototypes = prototypes
        self.alpha = alpha
        self.anchor = anchor
        self.normalize = normalize

    def _solve_moments(
        self, moments: Moments, spectrum: Spectrum | None, S: FloatArray, models: Sequence[Any]
    ) -> Iterator[FloatArray]:
        # W = (T'T + alpha N I)^-1 T'X with T'X = S'M and T'T = U diag(d) U'
        S = self._placed(S)
        eig = target_spectrum(moments, S)
        UTX = (S @ eig.vectors).T @ moments.total  # (rank, features)
        if self.anchor:
            UTX -= eig.values[:, None] * eig.vectors.T  # U'T'(X - T), for U'T'T = diag(d) U'
        start = np.eye(S.shape[1]) if self.anchor else np.zeros(())
        for model in models:
            yield start + (eig.vectors / (eig.values + model.alpha * moments.n)) @ UTX

    def _class_features(self, S: FloatArray) -> FloatArray:
        return self._placed(S)

    def _intercepts(self, S: FloatArray, coef: FloatArray) -> FloatArray:
        # -||x - sW||^2 / 2 = x.(sW) - ||sW||^2 / 2 + (the same for all classes)
        return -0.5 * squared_lengths(coef)

    def _takes_samples(self) -> bool:
        return True

    def _rows_of_means(
        self, S: FloatArray, share: FloatArray, means: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        described = self._class_features(S) @ self.mapping_  # (classes, features)
        mu = share[:, None] * described + (1 - share)[:, None] * means
        return mu, self._intercepts(S, mu)
