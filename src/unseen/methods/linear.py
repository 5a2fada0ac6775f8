"""The paper's two linear models: ridge regression from features to attributes, and back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from unseen._core.blocks import FloatArray, IndexArray
from unseen._core.scaling import squared_lengths
from unseen.methods._closed_form import ClosedForm
from unseen.methods._moments import Moments, target_spectrum


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
    normalize : {"l2", "sqrt", "standard", None}, default="l2"
        Scale every sample to unit length (after the signed square root of each feature with ``"sqrt"``), or
        every feature to mean 0 and variance 1.

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
        self, moments: Moments, gram: Any, S: FloatArray, models: Sequence[Any]
    ) -> Iterator[FloatArray]:
        # W = T'X (X'X + alpha N I)^-1 with T'X = S'M
        for rows in gram.solve(moments.total, [model.alpha * moments.n for model in models]):
            yield S.T @ rows  # (attributes, seen classes) @ (seen classes, features)

    def _intercepts(self, S: FloatArray, coef: FloatArray) -> FloatArray:
        # -||Wx - s||^2 / 2 = x.(sW) - ||s||^2 / 2 + (the same for all classes)
        return -0.5 * squared_lengths(S)


class LinearSV(ClosedForm):
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
    normalize : {"l2", "sqrt", "standard", None}, default="l2"
        Scale every sample to unit length (after the signed square root of each feature with ``"sqrt"``), or
        every feature to mean 0 and variance 1.

    Attributes
    ----------
    class_count_ : ndarray of shape (n_seen,)
        Training samples of each seen class.

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

    default_grid: ClassVar[Mapping[str, Sequence[Any]]] = {"alpha": np.logspace(-6, 1, 15).tolist()}
    _uses_gram = False

    class_count_: FloatArray

    def __init__(self, prototypes: Any = None, *, alpha: float = 1e-3, normalize: str | None = "l2") -> None:
        self.prototypes = prototypes
        self.alpha = alpha
        self.normalize = normalize

    def _solve_moments(
        self, moments: Moments, gram: Any, S: FloatArray, models: Sequence[Any]
    ) -> Iterator[FloatArray]:
        # W = (T'T + alpha N I)^-1 T'X with T'X = S'M and T'T = U diag(d) U'
        eig = target_spectrum(moments, S)
        UTX = (S @ eig.vectors).T @ moments.total  # (rank, features)
        for model in models:
            model.class_count_ = moments.count
            yield (eig.vectors / (eig.values + model.alpha * moments.n)) @ UTX

    def _intercepts(self, S: FloatArray, coef: FloatArray) -> FloatArray:
        # -||x - sW||^2 / 2 = x.(sW) - ||sW||^2 / 2 + (the same for all classes)
        return -0.5 * squared_lengths(coef)

    def seen_weights(self, columns: IndexArray) -> FloatArray:
        """Return the weights of the class means in the predicted means, (columns, n_classes)."""
        n, S = self.class_count_, self.training_prototypes_
        # s (T'T + alpha N I)^-1 T'X with T'T = S'DS, T'X = DS'M and counts D:
        # the weights are s S' sqrt(D) (sqrt(D) S S' sqrt(D) + alpha N I)^-1 sqrt(D)
        root = np.sqrt(n)[:, None] * S  # (seen classes, attributes)
        inverse = np.linalg.pinv(root @ root.T + self.alpha * n.sum() * np.eye(len(n)), hermitian=True)
        weights = np.zeros((len(columns), len(self.classes_)))
        weights[:, self.seen_] = self.prototypes_[columns] @ root.T @ inverse * np.sqrt(n)
        return weights
