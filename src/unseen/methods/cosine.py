"""Cosine similarity: the training-free baseline for features and prototypes of one space."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np

from unseen._core.blocks import FloatArray
from unseen._core.scaling import scale_rows
from unseen._core.training import Training
from unseen.base import ZeroShotClassifier
from unseen.methods._moments import Moments


class Cosine(ZeroShotClassifier):
    r"""Zero-shot classification by the angle between a sample and the description of a class.

    .. math:: f(x, s) = \frac{x^\top s}{\lVert x \rVert \lVert s \rVert}

    Nothing is learned: samples and prototypes must be embeddings in one space, such as the image and text
    embeddings of CLIP.

    Parameters
    ----------
    prototypes : array of shape (n_classes, n_features), DataFrame indexed by class label, or None
        One embedding per class, seen and unseen; ``None`` stands for the mean sample of each class in y.
    normalize : {"l2"}, default="l2"
        Samples always count with unit length.

    References
    ----------
    Radford et al. (2021), *Learning Transferable Visual Models From Natural Language Supervision*.

    Examples
    --------
    >>> import numpy as np
    >>> from unseen import Cosine
    >>> prototypes = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])   # class 2 has no sample
    >>> model = Cosine(prototypes).fit(np.array([[2.0, 0.1], [0.2, 3.0]]), [0, 1])
    >>> model.predict([[1.0, 1.1]])
    array([2])
    """

    def __init__(self, prototypes: Any = None, *, normalize: str | None = "l2") -> None:
        self.prototypes = prototypes
        self.normalize = normalize

    def check_parameters(self) -> None:
        self._require("normalize", self.normalize == "l2", "'l2', because Cosine compares angles")

    def shares_space(self) -> bool:
        return True

    def _solve_path(self, training: Training, models: Sequence[Self]) -> Iterator[FloatArray]:
        for model in models:
            if self.prototypes is None:
                sums = Moments.from_blocks(training.blocks(), len(training.S), gram=False)
                model.prototypes_ = model.training_prototypes_ = sums.total / sums.count[:, None]
            yield np.empty((0, training.X.shape[1]))  # nothing is learned

    def rows(self, S: FloatArray) -> tuple[FloatArray, FloatArray]:
        return scale_rows(S, "l2"), np.zeros(len(S))
