"""SAE: the semantic autoencoder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from unseen._core.blocks import FloatArray
from unseen._core.scaling import squared_lengths
from unseen.methods._closed_form import ClosedForm
from unseen.methods._moments import Moments, target_spectrum


class SAE(ClosedForm):
    r"""A linear autoencoder whose code is the description of the class.

    .. math:: \min_W \lVert X - T W \rVert_F^2 + \alpha \lVert X W^\top - T \rVert_F^2

    solved by the Sylvester equation :math:`T^\top T W + \alpha W X^\top X = (1 + \alpha) T^\top X`, which two
    eigendecompositions turn into one division for any alpha.

    Parameters
    ----------
    prototypes : array of shape (n_classes, n_attributes), DataFrame indexed by class label, or None
        One description per class, seen and unseen; ``None`` stands for one-hot rows of the classes in y.
    alpha : float, default=1.0
        Weight of the encoder against the decoder, the paper's lambda.
    space : {"visual", "semantic"}, default="visual"
        Where samples and classes are compared: decoded prototypes against features, as in the paper, or
        encoded features against prototypes.
    normalize : {"l2", "sqrt", "standard", None}, default="l2"
        Scale every sample to unit length (after the signed square root of each feature with ``"sqrt"``), or
        every feature to mean 0 and variance 1.

    References
    ----------
    Kodirov, Xiang, Gong (2017), *Semantic Autoencoder for Zero-Shot Learning*.

    Examples
    --------
    >>> import numpy as np
    >>> from unseen import SAE
    >>> prototypes = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])   # class 2 has no sample
    >>> X = np.array([[2.0, 0.0], [0.0, 3.0]])
    >>> model = SAE(prototypes, alpha=0.1).fit(X, [0, 1])
    >>> model.predict([[1.0, 1.1]], candidates=[0, 2])
    array([2])
    """

    default_grid: ClassVar[Mapping[str, Sequence[Any]]] = {"alpha": np.logspace(-4, 3, 15).tolist()}

    def __init__(
        self,
        prototypes: Any = None,
        *,
        alpha: float = 1.0,
        space: str = "visual",
        normalize: str | None = "l2",
    ) -> None:
        self.prototypes = prototypes
        self.alpha = alpha
        self.space = space
        self.normalize = normalize

    def check_parameters(self) -> None:
        super().check_parameters()
        self._require("space", self.space in ("visual", "semantic"), "'visual' or 'semantic'")

    def _solve_moments(
        self, moments: Moments, gram: Any, S: FloatArray, models: Sequence[Any]
    ) -> Iterator[FloatArray]:
        # T'T W + alpha W X'X = (1 + alpha) T'X with T'T = U diag(d) U':
        # row i of U'W = row i of (1 + alpha) U'T'X (alpha X'X + d_i I)^-1
        semantic = target_spectrum(moments, S)
        targets = (S @ semantic.vectors).T @ moments.total  # (semantic rank, features)
        rows = gram.solve_rows(targets, semantic.values, [model.alpha for model in models])
        for model, found in zip(models, rows):
            yield semantic.vectors @ ((1 + model.alpha) * found)

    def _intercepts(self, S: FloatArray, coef: FloatArray) -> FloatArray:
        compared = coef if self.space == "visual" else S
        return -0.5 * squared_lengths(compared)
