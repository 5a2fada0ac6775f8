"""What a bench measures on: a data set with its features, cut by one split."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import numpy as np

from unseen._core.blocks import IndexArray
from unseen.benchmark.published import recognize
from unseen.benchmark.results import Description, PublishedPlace, SplitPart
from unseen.benchmark.store import fingerprint
from unseen.datasets import ZeroShotDataset, load_dataset
from unseen.datasets.features import describe_encoder
from unseen.datasets.splits import Fold, GZSLSplit, make_split

DEFAULT_FEATURES = "res101"  # of an xlsa17 folder


@dataclass(frozen=True)
class Experiment:
    """A data set, its split, the rule for gamma, and what the user asked for to get them.

    Parameters
    ----------
    dataset : ZeroShotDataset
    split : GZSLSplit
    gamma : str
        How gamma is carried from the folds to the test, see ``GZSLClassifierCV``.
    normalize : str, optional
        How features are scaled; by default as each method does.
    source, features, split_dir, split_rule : str
        Where the data comes from, for the description alone.
    """

    dataset: ZeroShotDataset
    split: GZSLSplit
    gamma: str = "retention"
    normalize: str | None = None
    source: str = ""
    features: str | None = None
    split_dir: str | None = None
    split_rule: str = "official"

    @classmethod
    def load(
        cls,
        source: str,
        *,
        features: str | None = None,
        split_dir: str | None = None,
        split_rule: str = "official",
        gamma: str = "retention",
        normalize: str | None = None,
        **options: Any,
    ) -> Experiment:
        """Load a data set by name or path and split it.

        Parameters
        ----------
        source, split_dir
            As for ``unseen.load_dataset``.
        features : str, optional
            Feature file of an xlsa17 folder, by default res101. For other data only a name for tables.
        split_rule : str
            As for ``unseen.datasets.splits.make_split``.
        gamma : str
            As for ``GZSLClassifierCV``.
        normalize : {"l2", "sqrt", "standard", "none"}, optional
            As for ``unseen.methods.make_method``.
        **options
            Further options of ``unseen.load_dataset``, such as ``prototypes`` and ``unseen_classes``.

        Examples
        --------
        >>> Experiment.load("digits").description["n_classes"]
        10
        """
        dataset = load_dataset(source, features=features or DEFAULT_FEATURES, split_dir=split_dir, **options)
        split = make_split(dataset, rule=split_rule)
        named = name_features(dataset, features)
        return cls(dataset, split, gamma, normalize, source, named, split_dir, split_rule)

    @cached_property
    def key(self) -> str:
        """A hash of what determines every number: the data, the samples in each part, the rule for gamma."""
        split = split_checksum(self.split)
        parts = {"data": self.dataset.checksum, "split": split, "gamma": self.gamma}
        return fingerprint(parts | {"normalize": self.normalize})

    @cached_property
    def published(self) -> PublishedPlace | None:
        """The paper's experiment that this one repeats, or None."""
        return recognize(
            self.dataset.class_names,
            total=len(self.dataset.y),
            test=len(self.split.test_unseen),
            val_classes=len(np.unique(self.dataset.y[self.split.folds[0].val])),
            crops=10 if "10crop" in (self.features or "").lower() else 1,
        )

    @cached_property
    def description(self) -> Description:
        """What the store keeps about the experiment."""
        data = self.dataset
        counts = [class_counts(data, self.split, fold) for fold in self.split.folds]
        return {
            "dataset": data.name,
            "source": self.source,
            "features": self.features,
            "split_dir": self.split_dir,
            "split_rule": self.split_rule,
            "normalize": self.normalize,
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
            "published": self.published,
        }

    def _name(self) -> str:
        words = [self.dataset.name]
        if self.published:
            features = self.features or "features as given"
            words = [self.published["dataset"], f"{self.published['split']} split", features]
        elif self.split_dir:
            words.append(f"split {Path(self.split_dir).parent.name}")
        if self.split_rule != "official":
            words.append(f"{self.split_rule} rule")
        if self.gamma != "retention":
            words.append(f"gamma by {self.gamma}")
        if self.normalize:
            words.append(f"normalize {self.normalize}")
        return ", ".join(words)


def name_features(dataset: ZeroShotDataset, features: str | None) -> str | None:
    """Return the name of the features that the files or the user give; it is never guessed."""
    if dataset.encoder:
        return describe_encoder(dataset.encoder)
    of_xlsa17 = any(file.suffix == ".mat" for file in dataset.files)
    return features or (DEFAULT_FEATURES if of_xlsa17 else None)


def class_counts(dataset: ZeroShotDataset, split: GZSLSplit, fold: Fold) -> dict[SplitPart, IndexArray]:
    """Return for each part of a split with one of its folds how many samples each class has in it."""
    parts = {**vars(fold), "test_seen": split.test_seen, "test": split.test_unseen}
    n = len(dataset.class_names)
    return {cast(SplitPart, part): np.bincount(dataset.y[rows], minlength=n) for part, rows in parts.items()}


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
