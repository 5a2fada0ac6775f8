"""ESZSL: an embarrassingly simple approach to zero-shot learning."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from unseen._core.blocks import FloatArray
from unseen.base import is_real_number
from unseen.methods._closed_form import ClosedForm
from unseen.methods._moments import Moments, Spectrum


class ESZSL(ClosedForm):
    r"""Bilinear regression on class targets, regularized on both sides, in closed form.

    .. math:: V = (X^\top X + \alpha I)^{-1} X^\top Y S (S^\top S + \beta I)^{-1}, \qquad f(x, s) = x^\top V s

    Parameters
    ----------
    prototypes : array of shape (n_classes, n_attributes), DataFrame indexed by class label, or None
        One description per class, seen and unseen; ``None`` stands for one-hot rows of the classes in y.
    alpha, beta : float, default=1.0
        Strength of the regularization on the feature and on the attribute side.
    targets : {"01", "-1+1"}, default="01"
        Coding of Y. The paper's results were obtained with -1 for the wrong classes and +1 for the right
        one; 0 and 1 is much better, because the sum over the many wrong classes no longer dominates.
    normalize : {"l2", "sqrt", "standard", None}, default="l2"
        Scale every sample to unit length (after the signed square root of each feature with ``"sqrt"``), or
        every feature to mean 0 and variance 1.

    References
    ----------
    Romera-Paredes, Torr (2015), *An embarrassingly simple approach to zero-shot learning*.

    Examples
    --------
    >>> import numpy as np
    >>> from unseen import ESZSL
    >>> prototypes = np.array([[1.0, 0.0], [0.0, 1.0], [0.8, 0.8]])   # class 2 has no sample
    >>> X = np.array([[2.0, 0.0], [0.0, 3.0]])
    >>> model = ESZSL(prototypes, alpha=1e-3, beta=1e-3).fit(X, [0, 1])
    >>> model.predict([[1.0, 1.1]])
    array([2])
    """

    _path = ("alpha", "beta")
    default_grid: ClassVar[Mapping[str, Sequence[Any]]] = {
        "alpha": np.logspace(-3, 3, 7).tolist(),
        "beta": np.logspace(-3, 3, 7).tolist(),
    }

    def __init__(
        self,
        prototypes: Any = None,
        *,
        alpha: float = 1.0,
        beta: float = 1.0,
        targets: str = "01",
        normalize: str | None = "l2",
    ) -> None:
        self.prototypes = prototypes
        self.alpha = alpha
        self.beta = beta
        self.targets = targets
        self.normalize = normalize

    def check_parameters(self) -> None:
        super().check_parameters()
        valid = is_real_number(self.beta) and 0 <= self.beta < np.inf
        self._require("beta", valid, "a finite number of at least 0")
        self._require("targets", self.targets in ("01", "-1+1"), "'01' or '-1+1'")

    def _solve_moments(
        self, moments: Moments, gram: Any, S: FloatArray, models: Sequence[Any]
    ) -> Iterator[FloatArray]:
        # Y'X is the class sums M for targets {0,1}, and 2 M - (sum of all samples) for {-1,+1}
        YX = moments.total if self.targets == "01" else 2 * moments.total - moments.total.sum(axis=0)
        # V' = U diag(d + beta)^-1 U' S'Y'X (X'X + alpha I)^-1 with S'S = U diag(d) U'
        semantic = Spectrum.of_rows(S)
        targets = (S @ semantic.vectors).T @ YX  # (semantic rank, features)
        alphas = sorted({model.alpha for model in models})
        rows = dict(zip(alphas, gram.solve(targets, alphas)))  # (semantic rank, features) each
        for model in models:
            yield (semantic.vectors / (semantic.values + model.beta)) @ rows[model.alpha]
