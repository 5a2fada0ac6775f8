"""Labeled training samples, with what is known of all of them when some are chosen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unseen._core.blocks import FloatArray, IndexArray
from unseen._core.labels import LabelArray, check_labels, label_positions
from unseen._core.rows import Rows, as_rows, choose_rows, n_rows
from unseen._core.training import check_weights
from unseen._core.workspace import Remainder, Workspace
from unseen.errors import UnseenError


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """Training samples: features and labels, and the group and the weight of each if there are any."""

    X: Any
    y: LabelArray  # (samples,)
    groups: NDArray[Any] | None = None  # (samples,), what belongs together is never divided
    weight: FloatArray | None = None  # (samples,)
    workspace: Workspace | None = None  # of these samples, if several methods are fitted on them
    moments: Mapping[str | None, Any] = field(default_factory=dict)  # by normalize, as far as known
    index: IndexArray | None = None  # (samples,), rows of the moments

    def take(self, index: IndexArray) -> Self:
        """Return some of the samples."""
        return type(self)(
            choose_rows(self.X, index),
            self.y[index],
            None if self.groups is None else self.groups[index],
            None if self.weight is None else self.weight[index],
            self._workspace_of(index),
        )

    def _workspace_of(self, index: IndexArray) -> Workspace | None:
        if self.workspace is not None:
            return self.workspace.part(index.tobytes())
        if self.index is None or 2 * len(index) <= len(self.y) or not isinstance(self.X, np.ndarray):
            return None
        others = np.setdiff1d(np.arange(len(self.y)), index)
        return Workspace(Remainder(self.moments, Rows([self.X], others), self.index[others]))

    def summed_by(self, models: Sequence[Any]) -> Self:
        """Return the same samples with the sums of these models of all: most parts need fewer new ones."""
        summed = [model for model in models if hasattr(model, "moments_")]
        if not summed:
            return replace(self, workspace=None)
        known = {model.normalize: model.moments_ for model in summed}
        index = label_positions(self.y, summed[0].classes_[summed[0].seen_])
        return replace(self, workspace=None, moments=known, index=index)


def as_samples(
    X: Any,
    y: ArrayLike,
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    workspace: Workspace | None = None,
) -> TrainingSet:
    """Return training samples ready for indexing: one label, group and weight per sample.

    With a ``workspace``, searches for the same samples share what their methods compute on folds and on all.
    """
    X, labels = as_rows(X), check_labels(y)
    X = X if hasattr(X, "shape") else np.asarray(X)  # ready for indexing; what is on disk stays there
    if n_rows(X) != len(labels):
        raise UnseenError(f"X has {n_rows(X)} samples but y has {len(labels)} labels. Pass a label for each.")
    weight = None if sample_weight is None else check_weights(sample_weight, len(labels))
    if groups is not None and np.shape(groups) != labels.shape:
        raise UnseenError(f"groups has shape {np.shape(groups)}, expected {labels.shape}: one per sample.")
    samples = TrainingSet(X, labels, None if groups is None else np.asarray(groups), weight, workspace)
    return samples if weight is None or weight.all() else samples.take(np.flatnonzero(weight))
