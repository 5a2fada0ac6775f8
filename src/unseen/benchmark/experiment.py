"""What is measured on: a data set with its features, cut by one split.

``Setting.description`` is a plain document that the store keeps once per setting:

dataset, source, features, split_dir, split_rule, gamma    what was asked for
name                      how people call it, such as "CUB, proposed split, res50"
checksum, split_checksum  of the data and of the split's sample indices
n_samples, n_features, n_attributes, n_classes, n_unseen_classes, class_names, unseen (0 or 1 per class)
counts                    {"train", "test_seen", "test_unseen"}: number of samples
folds                     per fold {part: [samples, classes]} for train, seen_val, val, test_seen, test
class_counts              per fold {part: samples of each class}, the same parts (the paper's Fig. 2)
published                 {"dataset", "split", "crops"} when the paper printed numbers for it, else null
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen.benchmark import published
from unseen.benchmark.store import fingerprint
from unseen.datasets import ZeroShotDataset, load
from unseen.datasets.splits import Fold, GZSLSplit, make_split


@dataclass(frozen=True)
class Setting:
    """A data set, its split, how gamma is chosen, and what the user asked for to get them."""

    dataset: ZeroShotDataset
    split: GZSLSplit
    asked: Mapping[str, Any]
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
    ) -> Setting:
        """Load a data set by name or path and cut it; ``unseen_classes`` are names with commas between.

        >>> Setting.load("digits").description["n_classes"]
        10
        """
        names = [name.strip() for name in unseen_classes.split(",")] if unseen_classes else None
        dataset = load(
            source, features=features, split_dir=split_dir, prototypes=prototypes, unseen_classes=names
        )
        asked = {"source": source, "features": features, "split_dir": split_dir, "split_rule": split_rule}
        asked |= {"prototypes": prototypes, "unseen_classes": unseen_classes}
        return cls(dataset, make_split(dataset, rule=split_rule), asked, gamma)

    @cached_property
    def key(self) -> str:
        """What determines every number measured here: the data, the samples in each part, the rule."""
        split = split_checksum(self.split)
        return fingerprint({"data": self.dataset.checksum, "split": split, "gamma": self.gamma})

    @cached_property
    def description(self) -> dict[str, Any]:
        """The document described at the top of this module."""
        data = self.dataset
        counts = [class_counts(data, self.split, fold) for fold in self.split.folds]
        experiment = self._experiment()
        return {
            "dataset": data.name,
            **self.asked,
            "gamma": self.gamma,
            "name": self._name(experiment),
            "checksum": data.checksum,
            "split_checksum": split_checksum(self.split),
            **_sizes(data),
            "counts": {
                part: len(getattr(self.split, part)) for part in ("train", "test_seen", "test_unseen")
            },
            "folds": [
                {part: [int(n.sum()), int((n > 0).sum())] for part, n in fold.items()} for fold in counts
            ],
            "class_counts": [{part: n.tolist() for part, n in fold.items()} for fold in counts],
            "published": asdict(experiment) if experiment else None,
        }

    def _experiment(self) -> published.Experiment | None:
        if not self.split.folds:
            return None
        return published.recognise(
            self.dataset.name,
            self.asked["features"],
            total=len(self.dataset.y),
            test=len(self.split.test_unseen),
            val_classes=len(np.unique(self.dataset.y[self.split.folds[0].val])),
        )

    def _name(self, experiment: published.Experiment | None) -> str:
        parts = [self.dataset.name]
        if experiment:
            parts = [experiment.dataset, f"{experiment.split} split", self.asked["features"]]
        elif self.asked["split_dir"]:
            parts.append(f"split {Path(self.asked['split_dir']).parent.name}")
        if self.asked["split_rule"] != "official":
            parts.append(f"{Path(self.asked['split_rule']).name} rule")
        if self.gamma != "paper":
            parts.append(f"gamma by {self.gamma}")
        return ", ".join(parts)


def class_counts(dataset: ZeroShotDataset, split: GZSLSplit, fold: Fold) -> dict[str, NDArray[np.intp]]:
    """Return for each part of a fold how many samples each class has in it."""
    parts = {
        "train": fold.train,
        "seen_val": fold.seen_val,
        "val": fold.val,
        "test_seen": split.test_seen,
        "test": split.test_unseen,
    }
    n_classes = len(dataset.class_names)
    return {name: np.bincount(dataset.y[rows], minlength=n_classes) for name, rows in parts.items()}


def split_checksum(split: GZSLSplit) -> str:
    """Return a short hash of the samples in every part, in their order: batches depend on it."""
    digest = hashlib.sha256()
    parts = [split.train, split.test_seen, split.test_unseen]
    for fold in split.folds:
        parts += [fold.train, fold.seen_val, fold.val]
    for rows in parts:
        digest.update(len(rows).to_bytes(8, "little"))
        digest.update(np.asarray(rows).astype("<i8").tobytes())
    return digest.hexdigest()[:16]


def _sizes(data: ZeroShotDataset) -> dict[str, Any]:
    return {
        "n_samples": len(data.y),
        "n_features": int(data.X.shape[1]),
        "n_attributes": int(data.prototypes.shape[1]),
        "n_classes": len(data.class_names),
        "n_unseen_classes": int(data.unseen.sum()),
        "class_names": list(data.class_names),
        "unseen": data.unseen.astype(int).tolist(),
    }
