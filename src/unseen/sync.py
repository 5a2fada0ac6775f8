"""SynC: synthesised classifiers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from scipy.spatial.distance import cdist

from unseen.base import FloatArray, Training
from unseen.ranking import Problem, RankingClassifier, max_loss, scaled_features


class SynC(RankingClassifier):
    """Synthesised classifiers with the structured loss; the phantom classes are the seen classes."""

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
