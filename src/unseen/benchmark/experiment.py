"""What a bench measures on: a data set with its features, cut by one split."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unseen.benchmark.published import PublishedExperiment, recognize
from unseen.benchmark.results import Asked, Description, SplitPart
from unseen.benchmark.store import fingerprint
from unseen.datasets import ZeroShotDataset, load
from unseen.datasets.splits import Fold, GZSLSplit, make_split


@dataclass(frozen=True)
class Experiment:
    """A data set, its split, the rule for gamma, and what the user asked for to get them.

    Parameters
    ----------
    dataset : ZeroShotDataset
    split : GZSLSplit
    asked : Asked
        What was asked for, kept in the description.
    gamma : str
        How gamma is carried from the folds to the test, see ``GZSLClassifierCV``.
    """

    dataset: ZeroShotDataset
    split: GZSLSplit
    asked: Asked
    gamma: str = "paper"

    @classmethod
    def load(
        cls,
        source: str,
        *,
        features: str = "res101",
        split_dir: str | None = None,
        split_rule: str = "official",
        gamma: str = "paper",
        prototypes: str | None = None,
        unseen_classes: str | None = None,
    ) -> Experiment:
        """Load a data set by name or path and split it; ``unseen_classes`` are comma-separated names.

        >>> Experiment.load("digits").description["n_classes"]
        10
        """
        names = [name.strip() for name in unseen_classes.split(",")] if unseen_classes else None
        dataset = load(
            source, features=features, split_dir=split_dir, prototypes=prototypes, unseen_classes=names
        )
        asked: Asked = {
            "source": source,
            "features": features,
            "split_dir": split_dir,
            "split_rule": split_rule,
            "prototypes": prototypes,
            "unseen_classes": unseen_classes,
        }
        return cls(dataset, make_split(dataset, rule=split_rule), asked, gamma)

    @cached_property
    def key(self) -> str:
        """A hash of what determines every number: the data, the samples in each part, the rule for gamma."""
        split = split_checksum(self.split)
        return fingerprint({"data": self.dataset.checksum, "split": split, "gamma": self.gamma})

    @cached_property
    def published(self) -> PublishedExperiment | None:
        """The paper's experiment that this one repeats, or None."""
        if not self.split.folds:
            return None
        return recognize(
            self.dataset.name,
            self.asked["features"],
            total=len(self.dataset.y),
            test=len(self.split.test_unseen),
            val_classes=len(np.unique(self.dataset.y[self.split.folds[0].val])),
        )

    @cached_property
    def description(self) -> Description:
        """What the store keeps about the experiment."""
        data = self.dataset
        counts = [class_counts(data, self.split, fold) for fold in self.split.folds]
        return {
            "dataset": data.name,
            **self.asked,
            "gamma": self.gamma,
            "name": self._name(),
            "checksum": data.checksum,
            "split_checksum": split_checksum(self.split),
            "n_samples": len(data.y),
            "n_features": int(data.X.shape[1]),
            "n_attributes": int(data.prototypes.shape[1]),
            "n_classes": len(data.class_names),
            "n_unseen_classes": int(data.unseen.sum()),
            "class_names": list(data.class_names),
            "unseen": data.unseen.astype(int).tolist(),
            "counts": {
                "train": len(self.split.train),
                "test_seen": len(self.split.test_seen),
                "test_unseen": len(self.split.test_unseen),
            },
            "folds": [
                {part: [int(n.sum()), int((n > 0).sum())] for part, n in fold.items()} for fold in counts
            ],
            "class_counts": [{part: n.tolist() for part, n in fold.items()} for fold in counts],
            "published": self.published.place if self.published else None,
        }

    def _name(self) -> str:
        words = [self.dataset.name]
        if self.published:
            words = [self.published.dataset, f"{self.published.split} split", self.asked["features"]]
        elif self.asked["split_dir"]:
            words.append(f"split {Path(self.asked['split_dir']).parent.name}")
        if self.asked["split_rule"] != "official":
            words.append(f"{Path(self.asked['split_rule']).name} rule")
        if self.gamma != "paper":
            words.append(f"gamma by {self.gamma}")
        return ", ".join(words)


def class_counts(dataset: ZeroShotDataset, split: GZSLSplit, fold: Fold) -> dict[SplitPart, NDArray[np.intp]]:
    """Return for each part of a split with one of its folds how many samples each class has in it."""
    parts: dict[SplitPart, NDArray[np.intp]] = {
        "train": fold.train,
        "seen_val": fold.seen_val,
        "val": fold.val,
        "test_seen": split.test_seen,
        "test": split.test_unseen,
    }
    n_classes = len(dataset.class_names)
    return {part: np.bincount(dataset.y[samples], minlength=n_classes) for part, samples in parts.items()}


def split_checksum(split: GZSLSplit) -> str:
    """Return a short hash of the samples in every part; their order counts, since batches depend on it."""
    digest = hashlib.sha256()
    parts = [split.train, split.test_seen, split.test_unseen]
    for fold in split.folds:
        parts += [fold.train, fold.seen_val, fold.val]
    for samples in parts:
        digest.update(len(samples).to_bytes(8, "little"))
        digest.update(np.asarray(samples).astype("<i8").tobytes())
    return digest.hexdigest()[:16]
