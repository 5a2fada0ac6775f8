"""The formats of your own data: one ``.npz``, or a folder of ``features.npy`` and CSV tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unseen._core.blocks import BoolArray, IndexArray
from unseen._core.labels import (
    advise_on_range,
    attribute_names,
    class_mask,
    is_labeled,
    label_positions,
    prototype_rows,
    split_prototypes,
)
from unseen._core.npz import map_npy, npz_names, read_npz
from unseen._core.prototypes import Descriptions, Prototypes
from unseen._core.tables import read_csv
from unseen.datasets.dataset import ClassFolds, ZeroShotDataset, as_features, check_class_names
from unseen.datasets.features import ENCODER_KEY, EncoderCard, read_encoder_card
from unseen.datasets.prototypes import read_prototypes
from unseen.datasets.shards import find_shards, open_shards
from unseen.errors import UnseenError, did_you_mean

ESSENTIAL = ("X", "y", "prototypes")
NAMES = ("class_names", "attribute_names", "files")
OPTIONAL = (*NAMES, "unseen_classes", "test_seen", "test_unseen", "folds", "groups")
FOLDER_FILES = ("features.npy", "labels.csv", "prototypes.csv", "splits.csv")
# a word in splits.csv -> the field of the data set
SPLIT_WORDS = {"train": "trainval", "test_seen": "test_seen", "test_unseen": "test_unseen"}
Content = Mapping[str, NDArray[Any]]


def is_npz(path: Path) -> bool:
    """Return whether the path names a ``.npz`` file."""
    return path.suffix == ".npz"


def is_folder(path: Path) -> bool:
    """Return whether the path is a folder with one of our files."""
    return any((path / name).exists() for name in FOLDER_FILES)


@dataclass(frozen=True)
class Pieces:
    """What files hold of a data set, and what messages call it."""

    name: str
    content: Content
    files: tuple[Path, ...]
    encoder: EncoderCard | None = None
    notes: tuple[str, ...] = ()
    labels: str = "y"  # where the labels come from
    feature_names: tuple[str, ...] | None = None


def load_npz(
    path: Path, *, prototypes: Descriptions | None = None, unseen_classes: Sequence[str] | None = None
) -> ZeroShotDataset:
    """Return the data set in an ``.npz`` with ``X``, ``y``, ``prototypes`` and optional names and split."""
    content = read_npz(path, (*ESSENTIAL, *OPTIONAL))
    held = npz_names(path)
    if not set(ESSENTIAL) & set(content):
        raise UnseenError(
            f"{path} holds none of {', '.join(ESSENTIAL)}, expected all three. It holds: "
            f"{', '.join(held) or 'nothing'}."
        )
    pieces = Pieces(path.stem, content, (path,), read_encoder_card(path), tuple(_unused_arrays(held)))
    return assemble(pieces, prototypes, unseen_classes)


def load_folder(
    path: Path,
    *,
    prototypes: Descriptions | None = None,
    unseen_classes: Sequence[str] | None = None,
    features_glob: str | None = None,
) -> ZeroShotDataset:
    """Return the data set in a folder with ``features.npy``, ``labels.csv`` and ``prototypes.csv``.

    A glob pattern, relative to the folder, names the shards of the features instead of ``features.npy``.
    """
    content: dict[str, Any] = {}
    shards = find_shards(features_glob, path) if features_glob else []
    if shards:
        content["X"] = open_shards(shards)
    elif (path / "features.npy").exists():
        content["X"] = map_npy(path / "features.npy")
    if (path / "labels.csv").exists():
        content |= _read_labels(path / "labels.csv", len(content["X"]) if "X" in content else None)
    if (path / "splits.csv").exists():
        content |= _read_parts(path / "splits.csv", len(content.get("y", ())))
    if prototypes is None and (path / "prototypes.csv").exists():
        prototypes = path / "prototypes.csv"
    unused = ("prototypes.csv", "features.npy") if shards else ("prototypes.csv",)
    names = [name for name in FOLDER_FILES if (path / name).exists() and name not in unused]
    files = (*shards, *(path / name for name in names))
    pieces = Pieces(
        path.resolve().name, content, files, read_encoder_card(path), labels=str(path / "labels.csv")
    )
    return assemble(pieces, prototypes, unseen_classes)


# ---- reading files ---------------------------------------------------------------------------------


def _read_labels(path: Path, n_samples: int | None) -> dict[str, NDArray[Any]]:
    """Return the labels in the last column and, if there are two columns, the sample names in the first."""
    table = read_csv(path)
    header = list(table.columns)
    labels = table.text(header[-1])
    if n_samples == len(labels) + 1 and header[-1] in labels:
        raise UnseenError(
            f"{path} has no header: its first line {','.join(header)!r} is a label. Write a line such as "
            "file,class above it."
        )
    if "" in labels:
        row = int((labels == "").argmax())
        raise UnseenError(f"{table.place(row, header[-1])} is empty: every sample needs a label.")
    return {"y": labels, **({"files": table.text(header[0])} if len(header) > 1 else {})}


def _read_parts(path: Path, n_samples: int) -> dict[str, IndexArray]:
    """Return the samples of each part from the last column of ``splits.csv``, one line per sample."""
    table = read_csv(path)
    values = table.text(list(table.columns)[-1])
    unknown = ~np.isin(values, list(SPLIT_WORDS))
    if unknown.any():
        wrong = str(values[unknown][0])
        raise UnseenError(f"{path} names part {wrong!r}, expected one of {', '.join(SPLIT_WORDS)}.")
    if len(values) != n_samples:
        raise UnseenError(
            f"{path} has {len(values)} lines but there are {n_samples} samples, expected one line per sample."
        )
    return {field: np.flatnonzero(values == part) for part, field in SPLIT_WORDS.items()}


def _unused_arrays(held: Sequence[str]) -> list[str]:
    """Return which arrays of a file are not used; a misspelled name would go unnoticed."""
    known = (*ESSENTIAL, *OPTIONAL, ENCODER_KEY)
    return [
        f"the file also holds {name!r}, which is not used.{did_you_mean(name, set(known) - set(held))}"
        for name in held
        if name not in known
    ]


# ---- from raw pieces to a data set -----------------------------------------------------------------


def assemble(
    pieces: Pieces, prototypes: Descriptions | None, unseen_classes: Sequence[str] | None
) -> ZeroShotDataset:
    """Return the data set made of the pieces, with a list of those that are missing."""
    content = pieces.content
    described = _describe_classes(content, prototypes)
    class_names = tuple(map(str, described.index))
    y = None
    if "y" in content:
        y = _positions_of(content["y"], content, described, pieces.labels)
    unseen = content.get("unseen_classes") if unseen_classes is None else np.array(unseen_classes)
    mask = _unseen(content, described, y, unseen)
    return ZeroShotDataset(
        name=pieces.name,
        X=as_features(content["X"]) if "X" in content else None,
        y=y,
        prototypes=described.values,
        class_names=class_names,
        unseen=mask,
        attribute_names=described.columns or None,
        feature_names=pieces.feature_names,
        trainval=_sample_positions(content, "trainval"),
        test_seen=_sample_positions(content, "test_seen"),
        test_unseen=_sample_positions(content, "test_unseen"),
        class_folds=_class_folds(content, described, mask),
        groups=_group_numbers(content),
        sample_names=content["files"].astype(str) if "files" in content else None,
        files=(*pieces.files, *described.files),
        missing=tuple(_missing(content, described, pieces.notes)),
        notes=pieces.notes,
        encoder=pieces.encoder,
    )


def _missing(content: Content, described: Prototypes, notes: Sequence[str]) -> list[str]:
    """Return what is missing; an array that is not used may be what is meant."""
    hints = {
        "X": "There are no features: expected X (in a folder features.npy) with one row per sample.",
        "y": "There are no labels: expected y (in a folder labels.csv) with one class per sample.",
    }
    unused = "".join(f" {note[:1].upper()}{note[1:]}" for note in notes)
    found = [f"{hint}{unused}" for name, hint in hints.items() if name not in content]
    if not described.values.shape[1]:
        found.append(
            "There are no class descriptions: expected prototypes, one row per class, seen or unseen. Write "
            "a CSV with the class name in the first column and its attributes after it, and pass it with "
            "--prototypes FILE.csv (in a folder call it prototypes.csv)."
        )
    return found


def _describe_classes(content: Content, given: Descriptions | None) -> Prototypes:
    """Return the classes and their descriptions from what is given, else from the arrays."""
    check_class_names(_listed_names(content, "class_names"))
    if isinstance(given, Prototypes):
        return given
    if isinstance(given, str | PathLike):
        return read_prototypes(Path(given))
    if is_labeled(given):  # a DataFrame or a mapping
        classes, S = split_prototypes(given, np.empty(0))
        return Prototypes(classes.astype(str), tuple(attribute_names(given) or ()), S)
    if given is not None:
        raise UnseenError(
            f"Got prototypes of type {type(given).__name__}, expected a CSV file, a DataFrame indexed by "
            "class name, or a mapping from class name to attributes."
        )
    if "prototypes" in content:
        S = prototype_rows(content["prototypes"])
        names = _listed_names(content, "class_names") or tuple(map(str, range(len(S))))
        return Prototypes(np.array(names), _listed_names(content, "attribute_names"), S)
    found = np.unique(_label_names(content.get("y", np.empty(0, dtype=int)), content, "y"))
    names = _listed_names(content, "class_names") or tuple(found.tolist())
    return Prototypes(np.array(names, dtype=str), (), np.empty((len(names), 0)))


def _listed_names(content: Content, key: str) -> tuple[str, ...]:
    return tuple(map(str, content[key].ravel().astype(str))) if key in content else ()


def _label_names(given: ArrayLike, content: Content, what: str) -> NDArray[np.str_]:
    """Return labels as names of classes.

    An integer is a position in ``class_names``. A file without ``class_names`` calls its classes 0, 1, 2, ...
    """
    labels = np.asarray(given)
    if labels.ndim > 1 and labels.size != len(labels):
        raise UnseenError(f"{what} has shape {labels.shape}, expected one label per sample.")
    labels = labels.ravel()
    if labels.dtype.kind in "US":
        return labels.astype(str)
    if labels.dtype.kind not in "iuf" or not np.array_equal(labels, np.rint(labels)):
        raise UnseenError(f"{what} is of type {labels.dtype}, expected integers or class names.")
    numbers, names = labels.astype(np.intp), np.array(_listed_names(content, "class_names"), dtype=str)
    if not len(names):
        return numbers.astype(str)
    wrong = numbers[(numbers < 0) | (numbers >= len(names))]
    if len(wrong):
        n = len(names)
        raise UnseenError(
            f"class_names has {n} names but {what} names class {wrong[0]} (labels must be 0..{n - 1}). "
            f"{advise_on_range(numbers, n)}"
        )
    return names[numbers]


def _positions_of(given: ArrayLike, content: Content, described: Prototypes, what: str) -> IndexArray:
    """Return labels as rows of the prototypes."""
    names, classes = _label_names(given, content, what), described.index.astype(str)
    _check_named(names, content, classes, what)
    where = f" in {', '.join(map(str, described.files))}" if described.files else ""
    return label_positions(names, classes, what, f"has no description{where}")


def _check_named(names: NDArray[np.str_], content: Content, classes: NDArray[np.str_], what: str) -> None:
    """Reject names beside numbers, if nothing says which number is which name."""
    if "class_names" in content or np.isin(names, classes).any():
        return
    numbered = np.array_equal(classes, np.arange(len(classes)).astype(str))
    if numbered and not np.char.isdigit(names).all():
        raise UnseenError(
            f"{what} holds names such as {str(names[0])!r}, but the file does not say which row of "
            "prototypes is which class. Save class_names beside them, one name per row."
        )
    if np.char.isdigit(names).all() and not np.char.isdigit(classes).any():
        of_array = "Save class_names beside them: the names of classes 0, 1, 2, ..."
        advice = of_array if what == "y" else "Write the same names in both."
        raise UnseenError(
            f"{what} holds numbers such as {names[0]}, but the classes have names such as "
            f"{str(classes[0])!r}. {advice}"
        )


def _unseen(
    content: Content, described: Prototypes, y: IndexArray | None, given: ArrayLike | None
) -> BoolArray:
    """Return the unseen classes: those given (else those of test_unseen) and all without samples."""
    n_classes = len(described.index)
    test = _sample_positions(content, "test_unseen")
    if given is not None:
        mask = class_mask(_positions_of(given, content, described, "unseen_classes"), n_classes)
    elif y is not None and test is not None:
        mask = class_mask(y[test[(test >= 0) & (test < len(y))]], n_classes)
    else:
        mask = np.zeros(n_classes, dtype=bool)
    return mask if y is None else mask | (np.bincount(y, minlength=n_classes) == 0)


def _sample_positions(content: Content, part: str) -> IndexArray | None:
    """Return sample indices from indices or from a mask over all samples; None if not given."""
    if part not in content:
        return None
    index = np.asarray(content[part]).ravel()
    if index.dtype == bool and len(index) == len(content.get("y", ())):
        return np.flatnonzero(index)
    if index.size and index.dtype.kind not in "iu":
        raise UnseenError(
            f"{part} is of type {index.dtype}, expected sample indices, or a mask over all samples."
        )
    return np.asarray(index, dtype=np.intp)


def _group_numbers(content: Content) -> IndexArray | None:
    """Return the number of each sample's group; groups may be called by anything."""
    if "groups" not in content:
        return None
    return np.unique(content["groups"].ravel(), return_inverse=True)[1].astype(np.intp)


def _class_folds(content: Content, described: Prototypes, unseen: BoolArray) -> ClassFolds | None:
    """Return (train classes, validation classes) per fold from ``folds``.

    One number per class says in which fold it is held out for validation, -1 for never; or a mask of shape
    (folds, classes) says it for every fold.
    """
    if "folds" not in content:
        return None
    folds, n_classes = content["folds"], len(described.index)
    forms = {(1, "i"), (1, "u"), (2, "b")}
    if folds.shape[-1:] != (n_classes,) or (folds.ndim, folds.dtype.kind) not in forms:
        raise UnseenError(
            f"folds has shape {folds.shape} and type {folds.dtype}, expected one integer for each of the "
            f"{n_classes} classes (the fold that validates on it, -1 for none), or a mask (folds, classes)."
        )
    numbers = np.unique(folds[folds >= 0]) if folds.ndim == 1 else np.empty(0)
    held_out = folds if folds.ndim == 2 else folds == numbers[:, None]  # (folds, classes) of the file
    row = _positions_of(np.arange(n_classes), content, described, "folds")  # of each class of the file
    held_out = held_out[:, np.argsort(row)]
    return tuple((np.flatnonzero(~val & ~unseen), np.flatnonzero(val)) for val in held_out)
