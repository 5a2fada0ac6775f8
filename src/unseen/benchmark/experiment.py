"""What a bench measures on: a data set with its features, cut by one split."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from unseen._core.blocks import IndexArray
from unseen._core.prototypes import Prototypes
from unseen.benchmark.published import recognize
from unseen.benchmark.results import Asked, Description, PublishedPlace, SplitPart
from unseen.benchmark.store import fingerprint
from unseen.datasets import EMBEDDED, ZeroShotDataset, load_dataset
from unseen.datasets.features import describe_encoder, read_encoder_card
from unseen.datasets.prototypes import read_sources
from unseen.datasets.splits import Fold, GZSLSplit, make_split
from unseen.datasets.xlsa17 import is_xlsa17
from unseen.errors import UnseenError

DEFAULT_FEATURES = "res101"  # of an xlsa17 folder
FEATURES_AS_GIVEN = "features as given"  # if neither the file nor the user names them
ReadPrototypes = Callable[[list[str], str | None], Prototypes]


def read_tables(files: list[str], text_encoder: str | None) -> Prototypes:
    """Return the class descriptions in tables of attributes."""
    if text_encoder:
        raise UnseenError(f"Descriptions in words need the text encoder {text_encoder}. Use unseen bench.")
    return read_sources(files)


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
    gamma: str = "retention"

    @property
    def normalize(self) -> str | None:
        """How features are scaled, if the user said so; None for each method's own default."""
        return self.asked["normalize"]

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
        prototypes: str | Sequence[str] | None = None,
        text_encoder: str | None = None,
        unseen_classes: str | None = None,
        label: str | None = None,
        ignore: Sequence[str] | None = None,
        read_prototypes: ReadPrototypes = read_tables,
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
        normalize : {"l2", "standard", "none"}, optional
            As for ``unseen.methods.make_method``.
        prototypes : str or sequence of str, optional
            Files with class descriptions.
        text_encoder : str, optional
            For descriptions in words.
        unseen_classes : str, optional
            Comma-separated names.
        label, ignore : str and sequence of str, optional
            Columns of a table, as for ``unseen.load_dataset``.
        read_prototypes : callable
            From files and text encoder to prototypes; by default tables are read and words rejected.

        Examples
        --------
        >>> Experiment.load("digits").description["n_classes"]
        10
        """
        files = [prototypes] if isinstance(prototypes, str) else list(prototypes or ())
        one_table = len(files) == 1 and not text_encoder  # its file becomes part of the data's checksum
        dataset = load_dataset(
            source,
            features=features or DEFAULT_FEATURES,
            split_dir=split_dir,
            prototypes=files[0] if one_table else read_prototypes(files, text_encoder) if files else None,
            unseen_classes=[name.strip() for name in unseen_classes.split(",")] if unseen_classes else None,
            label=label,
            ignore=ignore,
        )
        asked: Asked = {
            "source": source,
            "features": name_features(source, features),
            "split_dir": split_dir,
            "split_rule": split_rule,
            "prototypes": files[0] if len(files) == 1 else files or None,
            "text_encoder": text_encoder,
            "normalize": normalize,
            "unseen_classes": unseen_classes,
            "label": label,
            "ignore": list(ignore) if ignore else None,
        }
        return cls(dataset, make_split(dataset, rule=split_rule), asked, gamma)

    @cached_property
    def key(self) -> str:
        """A hash of what determines every number: the data, the samples in each part, the rule for gamma."""
        split = split_checksum(self.split)
        parts = {"data": self.dataset.checksum, "split": split, "gamma": self.gamma}
        return fingerprint(parts | {"normalize": self.normalize})

    @cached_property
    def published(self) -> PublishedPlace | None:
        """The paper's experiment that this one repeats, or None."""
        if not self.split.folds:
            return None
        return recognize(
            self.dataset.class_names,
            total=len(self.dataset.y),
            test=len(self.split.test_unseen),
            val_classes=len(np.unique(self.dataset.y[self.split.folds[0].val])),
            crops=10 if "10crop" in (self.asked["features"] or "").lower() else 1,
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
            "published": self.published,
        }

    def _name(self) -> str:
        words = [self.dataset.name]
        if self.published:
            features = self.asked["features"] or FEATURES_AS_GIVEN
            words = [self.published["dataset"], f"{self.published['split']} split", features]
        elif self.asked["split_dir"]:
            words.append(f"split {Path(self.asked['split_dir']).parent.name}")
        if self.asked["split_rule"] != "official":
            words.append(f"{Path(self.asked['split_rule']).name} rule")
        if self.gamma != "retention":
            words.append(f"gamma by {self.gamma}")
        if self.normalize:
            words.append(f"normalize {self.normalize}")
        return ", ".join(words)


def name_features(source: str, features: str | None) -> str | None:
    """Return the name of the features that the files or the user give; it is never guessed."""
    path = Path(source)
    if source in EMBEDDED:
        return features
    if is_xlsa17(path):
        return features or DEFAULT_FEATURES
    card = read_encoder_card(path)
    return describe_encoder(card) if card else features


def class_counts(dataset: ZeroShotDataset, split: GZSLSplit, fold: Fold) -> dict[SplitPart, IndexArray]:
    """Return for each part of a split with one of its folds how many samples each class has in it."""
    parts: dict[SplitPart, IndexArray] = {
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
