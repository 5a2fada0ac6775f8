"""SynC: synthesized classifiers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from scipy.spatial.distance import cdist

from unseen._core.blocks import FloatArray, IndexArray
from unseen._core.training import Training
from unseen.methods._kernels import kernel_matrix, median_distance
from unseen.methods.ranking import RankingClassifier, project_simplex


class SynC(RankingClassifier):
    r"""Synthesized classifiers: the row of a class is combined from the rows of similar seen classes.

    .. math:: w(s) = \sigma(s) \, \sigma(S)^{+} A, \qquad
        \sigma(s)_c = \exp(-\lVert s - s_c \rVert^2 / (b \, m^2))

    with the median distance m between seen prototypes and the bandwidth b. The phantom classes are the seen
    classes, so the rows A are learned directly, with the structured loss whose margin is the distance
    between the prototypes, and the bandwidth costs no training of its own:

    .. math:: \frac1N \sum_n \max_c (\lVert s_c - s_{y_n} \rVert / m + f(x_n, c) - f(x_n, y_n))
        + \alpha \lVert A \rVert_F^2, \qquad f(x, c) = A_c (x - \mu / 2)

    with the mean :math:`\mu` of the training features.

    Parameters
    ----------
    prototypes : array of shape (n_classes, n_attributes), DataFrame indexed by class label, or None
        One description per class, seen and unseen; ``None`` stands for one-hot rows of the classes in y.
    alpha : float, default=1e-3
        Strength of the regularization, the paper's lambda, for features and prototypes of mean squared
        length 1: the trainer scales both, so alpha means the same for any data.
    bandwidth : float, default=2.0
        How far the similarity of two classes reaches, in squared median distances.
    normalize : {"l2", "sqrt", "standard", None}, default="l2"
        Scale every sample to unit length (after the signed square root of each feature with ``"sqrt"``), or
        every feature to mean 0 and variance 1.
    smoothing : float, default=1.0
        Width over which the corners of the loss are rounded, which helps both the training and the result;
        0 is the published loss with its sharp corners.
    tol : float, default=3e-3
        Stop when the objective is within this share of its value at W = 0 of the minimum, which the
        duality gap proves.
    max_iter : int, default=200
        Epochs after which the training stops in any case; ``fit`` then warns.
    random_state : int, RandomState instance or None, default=None
        Orders the samples; an int makes the result reproducible to the bit.

    Attributes
    ----------
    n_iter_ : int
        Epochs that were run.
    loss_curve_ : ndarray of shape (n_iter_,)
        Mean loss in each epoch, without the regularization.
    dual_gap_ : float
        How far the objective can be from its minimum, as a share of its value at W = 0.
    shift_ : ndarray of shape (n_features,)
        Half the mean of the training features, subtracted from all features to train twice as fast.

    References
    ----------
    Changpinyo et al. (2016), *Synthesized Classifiers for Zero-Shot Learning*.

    Examples
    --------
    >>> from unseen import SynC
    >>> from unseen.datasets import load_dataset
    >>> data = load_dataset("digits")
    >>> train = data.seen[data.y]
    >>> model = SynC(data.prototypes, random_state=0).fit(data.X[train], data.y[train])
    >>> model.coef_.shape  # a row for every digit, 3, 4 and 6 included
    (10, 64)
    """

    _path = ("alpha", "bandwidth")
    _project = staticmethod(project_simplex)
    default_grid: ClassVar[Mapping[str, Sequence[Any]]] = {
        "alpha": np.geomspace(2e-5, 1e-2, 10).tolist(),
        "bandwidth": [1.0, 2.0, 4.0, 8.0],
    }

    def __init__(
        self,
        prototypes: Any = None,
        *,
        alpha: float = 1e-3,
        bandwidth: float = 2.0,
        normalize: str | None = "l2",
        smoothing: float = 1.0,
        tol: float = 3e-3,
        max_iter: int = 200,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            prototypes,
            alpha=alpha,
            normalize=normalize,
            smoothing=smoothing,
            tol=tol,
            max_iter=max_iter,
            random_state=random_state,
        )
        self.bandwidth = bandwidth

    def _solve_path(self, training: Training, models: Sequence[Self]) -> Iterator[FloatArray]:
        distances = cdist(training.S, training.S)
        margins = (distances / (median_distance(training.S) or 1.0)).astype(np.float32)
        for A in self._train(training, np.float32(1), margins, models):
            yield A.astype(np.float64)  # as all mappings: rows of new classes do not depend on threads

    def _class_features(self, S: FloatArray) -> FloatArray:
        phantoms = self.training_prototypes_
        # sim(s) pinv(sim(S_seen)): a seen class gets back the row that was learned for it
        similar, own = (kernel_matrix(A, phantoms, "rbf", self.bandwidth) for A in (S, phantoms))
        return similar @ np.linalg.pinv(own)

    def seen_weights(self, columns: IndexArray) -> FloatArray:
        """Return the weights of the rows that were learned for the seen classes, (columns, n_classes)."""
        weights = np.zeros((len(columns), len(self.classes_)))
        weights[:, self.seen_] = self._class_features(self.prototypes_[columns])
        return weights
