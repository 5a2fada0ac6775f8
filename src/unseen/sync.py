"""SynC: synthesised classifiers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from scipy.spatial.distance import cdist

from unseen.base import FloatArray, Training
from unseen.ranking import Problem, RankingClassifier, max_loss, scaled_features


class SynC(RankingClassifier):
    r"""Synthesised classifiers: the row of a class is combined from the rows of similar seen classes.

    .. math:: w(s) = \sigma(s) \, \sigma(S)^{+} A, \qquad
        \sigma(s)_c = \exp(-\lVert s - s_c \rVert^2 / (b \, m^2))

    with the median distance m between seen prototypes and the bandwidth b. The phantom classes are the seen
    classes, so the rows A are learnt directly, with the structured loss whose margin is the distance
    between the prototypes, and the bandwidth costs no training of its own:

    .. math:: \frac1N \sum_n \max_c (\lVert s_c - s_{y_n} \rVert / m + x_n \cdot A_c - x_n \cdot A_{y_n}
       ) + \alpha \lVert A \rVert_F^2

    Parameters
    ----------
    prototypes : array of shape (n_classes, n_attributes), DataFrame indexed by class label, or None
        One description per class, seen and unseen; ``None`` stands for one-hot rows of the classes in y.
    alpha : float, default=3e-4
        Strength of the regularisation, the paper's lambda, for features and prototypes of mean squared
        length 1: the trainer scales both, so alpha means the same for any data.
    bandwidth : float, default=1.0
        How far the similarity of two classes reaches, in squared median distances.
    normalize : {"l2", None}, default="l2"
        Scale every sample to unit length first.
    max_iter : int, default=20
        Epochs.
    batch_size : int, default=64
        Samples per step.
    random_state : int, RandomState instance or None, default=None
        Orders the samples; an int makes the result reproducible to the bit.

    Attributes
    ----------
    n_iter_ : int
        Epochs that were run.
    loss_curve_ : ndarray of shape (n_iter_,)
        Mean loss in each epoch, without the regularisation.

    References
    ----------
    Changpinyo et al. (2016), *Synthesized Classifiers for Zero-Shot Learning*.

    Examples
    --------
    >>> from unseen import SynC
    >>> from unseen.datasets import load
    >>> data = load("digits")
    >>> train = data.seen[data.y]
    >>> model = SynC(data.prototypes, random_state=0).fit(data.X[train], data.y[train])
    >>> model.coef_.shape  # a row for every digit, 3, 4 and 6 included
    (10, 64)
    """

    _path = ("alpha", "bandwidth")
    _loss = staticmethod(max_loss)
    _rate = 10.0
    default_grid: ClassVar[Mapping[str, Sequence[Any]]] = {
        "alpha": np.geomspace(1e-5, 1e-2, 10).tolist(),
        "bandwidth": [0.5, 1.0, 2.0, 4.0],
    }

    def __init__(
        self,
        prototypes: Any = None,
        *,
        alpha: float = 3e-4,
        bandwidth: float = 1.0,
        normalize: str | None = "l2",
        max_iter: int = 20,
        batch_size: int = 64,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            prototypes,
            alpha=alpha,
            normalize=normalize,
            max_iter=max_iter,
            batch_size=batch_size,
            random_state=random_state,
        )
        self.bandwidth = bandwidth

    def _solve_path(self, training: Training, models: Sequence[Self]) -> Iterator[FloatArray]:
        X, x_scale = scaled_features(training)
        distances = cdist(training.S, training.S)
        alphas, which = np.unique([model.alpha for model in models], return_inverse=True)
        problem = Problem(
            X=X,
            y=training.y,
            gram=None,
            margins=(distances / (_median_distance(training.S) or 1.0)).astype(np.float32),
            alphas=alphas.astype(np.float32),
            loss=max_loss,
        )
        A, curve = self._train(problem)
        for model, i in zip(models, which):
            model._record(curve[:, i])
            yield A[i] / x_scale

    def _class_features(self, S: FloatArray) -> FloatArray:
        phantoms = self.training_prototypes_
        # sim(s) pinv(sim(S_seen)): a seen class gets back the row that was learnt for it
        return self._similarities(S) @ np.linalg.pinv(self._similarities(phantoms))

    def _similarities(self, S: FloatArray) -> FloatArray:
        """Return ``exp(-||s - s_phantom||^2 / (bandwidth median^2))``."""
        phantoms = self.training_prototypes_
        width = self.bandwidth * _median_distance(phantoms) ** 2 or 1.0
        return np.exp(-cdist(S, phantoms, "sqeuclidean") / width)


def _median_distance(S: FloatArray) -> float:
    """Return the median distance between two rows, 0 for a single row."""
    if len(S) == 1:
        return 0.0
    return float(np.median(cdist(S, S)[np.triu_indices(len(S), 1)]))
