"""The formats of your own data: one ``.npz``, or a folder of ``features.npy`` and CSV tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unseen._core.blocks import BoolArray
from unseen._core.csv_files import read_csv
from unseen._core.labels import (
    advise_on_range,
    class_labels,
    class_mask,
    is_labeled,
    label_positions,
    prototype_rows,
)
from unseen._core.npz import map_npy, npz_names, read_npz, text_array
from unseen.datasets.dataset import (
    ClassFolds,
    Indices,
    ZeroShotDataset,
    as_features,
    check_class_names,
)
from unseen.datasets.features import ENCODER_KEY, EncoderCard, read_encoder_card
from unseen.datasets.prototypes import Descriptions, Prototypes, read_prototypes
from unseen.datasets.shards import find_shards, open_shards
from unseen.errors import UnseenError, did_you_mean

ESSENTIAL = ("X", "y", "prototypes")
OPTIONAL = (
    "class_names",
    "attribute_names",
    "unseen_classes",
    "test_seen",
    "test_unseen",
    "folds",
    "groups",
    "files",
)
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
    encoder = read_encoder_card(path)
    return _assemble(path.stem, content, (path,), prototypes, unseen_classes, encoder, _notes(held))


def load_folder(
    path: Path,
    *,
    prototypes: Descriptions | None = None,
    unseen_classes: Sequence[str] | None = None,
    features_glob: str | None = None,
) -> ZeroShotDataset:
    """Return the data set in a folder with ``features.npy``, ``labels.csv`` and ``prototypes.csv``.

    A glob pattern names the shards of the features instead of ``features.npy``.
    """
    content: dict[str, Any] = {}
    shards = find_shards(features_glob) if features_glob else []
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
    encoder = read_encoder_card(path)
    return _assemble(path.resolve().name, content, files, prototypes, unseen_classes, encoder)


# ---- reading files ---------------------------------------------------------------------------------


def _read_labels(path: Path, n_samples: int | None) -> dict[str, NDArray[Any]]:
    """Return the labels in the last column and, if there are two columns, the sample names in the first."""
    header, rows = read_csv(path)
    if n_samples == len(rows) + 1 and header[-1] in {row[-1].strip() for row in rows}:
        raise UnseenError(
            f"{path} has no header: its first line {','.join(header)!r} is a label. Write a line such as "
            "file,class above it."
        )
    content = {"y": text_array((row[-1].strip() for row in rows), str(path))}
    if len(header) > 1:
        content["files"] = text_array((row[0].strip() for row in rows), str(path))
    return content


def _read_parts(path: Path, n_samples: int) -> dict[str, Indices]:
    """Return the samples of each part from the last column of ``splits.csv``, one line per sample."""
    values = text_array((row[-1].strip() for row in read_csv(path)[1]), str(path))
    unknown = ~np.isin(values, list(SPLIT_WORDS))
    if unknown.any():
        wrong = str(values[unknown][0])
        raise UnseenError(f"{path} names part {wrong!r}, expected one of {', '.join(SPLIT_WORDS)}.")
    if len(values) != n_samples:
        raise UnseenError(
            f"{path} has {len(values)} lines but there are {n_samples} samples, expected one line per sample."
        )
    return {field: np.flatnonzero(values == part) for part, field in SPLIT_WORDS.items()}


def _notes(held: Sequence[str]) -> list[str]:
    """Return which arrays of a file are not used; a misspelled name would go unnoticed."""
    known = (*ESSENTIAL, *OPTIONAL, ENCODER_KEY)
    return [
        f"the file also holds {name!r}, which is not used.{did_you_mean(name, set(known) - set(held))}"
        for name in held
        if name not in known
    ]


# ---- from raw pieces to a data set -----------------------------------------------------------------


def _assemble(
    name: str,
    content: Content,
    files: tuple[Path, ...],
    given: Descriptions | None,
    unseen_classes: Sequence[str] | None,
    encoder: EncoderCard | None,
    notes: Sequence[str] = (),
) -> ZeroShotDataset:
    """Return the data set made of the pieces, with a list of those that are missing."""
    described = _describe_classes(content, given)
    class_names = tuple(map(str, described.index))
    y = _label_index(content["y"], content, class_names) if "y" in content else None
    unseen = content.get("unseen_classes") if unseen_classes is None else np.array(unseen_classes)
    mask = _unseen(content, class_names, y, unseen)
    return ZeroShotDataset(
        name=name,
        X=as_features(content["X"]) if "X" in content else None,
        y=y,
        prototypes=described.values,
        class_names=class_names,
        unseen=mask,
        attribute_names=described.columns or None,
        trainval=_positions(content, "trainval"),
        test_seen=_positions(content, "test_seen"),
        test_unseen=_positions(content, "test_unseen"),
        class_folds=_class_folds(content, class_names, mask),
        groups=_group_numbers(content),
        sample_names=content["files"].astype(str) if "files" in content else None,
        files=(*files, *described.files),
        missing=tuple(_missing(content, described, notes)),
        notes=tuple(notes),
        encoder=encoder,
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
    check_class_names(_names(content, "class_names"))
    if isinstance(given, Prototypes):
        return given
    if isinstance(given, str | PathLike):
        return read_prototypes(Path(given))
    if is_labeled(given):  # a DataFrame or a mapping
        columns = tuple(map(str, getattr(given, "columns", ())))
        return Prototypes(np.array(list(map(str, class_labels(given)))), columns, prototype_rows(given))
    if given is not None:
        raise UnseenError(
            f"Got prototypes of type {type(given).__name__}, expected a CSV file, a DataFrame indexed by "
            "class name, or a mapping from class name to attributes."
        )
    if "prototypes" in content:
        S = prototype_rows(content["prototypes"])
        names = _names(content, "class_names") or tuple(str(number) for number in range(len(S)))
        return Prototypes(np.array(names), _names(content, "attribute_names"), S)
    names = _names(content, "class_names") or tuple(np.unique(content.get("y", np.empty(0))).astype(str))
    return Prototypes(np.array(names, dtype=str), (), np.empty((len(names), 0)))


def _names(content: Content, key: str) -> tuple[str, ...]:
    return tuple(map(str, content[key].ravel().astype(str))) if key in content else ()


def _label_index(
    given: ArrayLike, content: Content, class_names: tuple[str, ...], what: str = "y"
) -> Indices:
    """Return labels as rows of the prototypes: names are looked up, integers count rows.

    Integers beside ``class_names`` count those, so that a CSV of prototypes may list the classes in any
    order. If the classes themselves are called by numbers, as in a CSV with classes 1 to 20, integers are
    names.
    """
    labels = np.asarray(given)
    if labels.ndim > 1 and labels.size != len(labels):
        raise UnseenError(f"{what} has shape {labels.shape}, expected one label per sample.")
    labels = labels.ravel()
    if labels.dtype.kind in "US":
        _check_named(labels, content, class_names, what)
        return label_positions(labels.astype(str), class_names, what)
    if labels.dtype.kind not in "iuf" or not np.array_equal(labels, np.rint(labels)):
        raise UnseenError(f"{what} is of type {labels.dtype}, expected integers or class names.")
    index = labels.astype(np.intp)
    own_names = np.array(_names(content, "class_names"))
    if len(own_names) and tuple(own_names) != class_names:
        _check_range(index, len(own_names), f"class_names has {len(own_names)} names but {what}")
        return label_positions(own_names[index], class_names, what)
    if not len(own_names) and all(name.isdigit() for name in class_names) and not _counts_rows(class_names):
        return label_positions(index.astype(str), class_names, what)
    _check_range(index, len(class_names), f"prototypes has {len(class_names)} rows but {what}")
    return index


def _counts_rows(class_names: tuple[str, ...]) -> bool:
    return class_names == tuple(str(number) for number in range(len(class_names)))


def _check_named(labels: NDArray[Any], content: Content, class_names: tuple[str, ...], what: str) -> None:
    """Refuse names of classes where only their numbers are known."""
    unnamed = "prototypes" in content and "class_names" not in content and _counts_rows(class_names)
    unknown = np.setdiff1d(labels.astype(str), class_names)
    if unnamed and len(unknown) and not unknown[0].isdigit():
        raise UnseenError(
            f"{what} holds names such as {str(unknown[0])!r}, but the file does not say which row of "
            "prototypes is which class. Save class_names beside them, one name per row."
        )


def _check_range(index: Indices, n: int, what: str) -> None:
    wrong = index[(index < 0) | (index >= n)]
    if len(wrong):
        raise UnseenError(
            f"{what} names class {wrong[0]} (labels must be 0..{n - 1}). {advise_on_range(index, n)}"
        )


def _unseen(
    content: Content, class_names: tuple[str, ...], y: Indices | None, given: ArrayLike | None
) -> BoolArray:
    """Return the unseen classes: those given (else those of test_unseen) and all without samples."""
    n_classes = len(class_names)
    test = _positions(content, "test_unseen")
    if given is not None:
        mask = class_mask(_label_index(given, content, class_names, "unseen_classes"), n_classes)
    elif y is not None and test is not None:
        mask = class_mask(y[test[(test >= 0) & (test < len(y))]], n_classes)
    else:
        mask = np.zeros(n_classes, dtype=bool)
    return mask if y is None else mask | (np.bincount(y, minlength=n_classes) == 0)


def _positions(content: Content, part: str) -> Indices | None:
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


def _group_numbers(content: Content) -> Indices | None:
    """Return the number of each sample's group; groups may be called by anything."""
    if "groups" not in content:
        return None
    return np.unique(content["groups"].ravel(), return_inverse=True)[1].astype(np.intp)


def _class_folds(content: Content, class_names: tuple[str, ...], unseen: BoolArray) -> ClassFolds | None:
    """Return (train classes, validation classes) per fold from ``folds``.

    One number per class says in which fold it is held out for validation, -1 for never; or a mask of shape
    (folds, classes) says it for every fold.
    """
    if "folds" not in content:
        return None
    folds, n_classes = content["folds"], len(class_names)
    forms = {(1, "i"), (1, "u"), (2, "b")}
    if folds.shape[-1:] != (n_classes,) or (folds.ndim, folds.dtype.kind) not in forms:
        raise UnseenError(
            f"folds has shape {folds.shape} and type {folds.dtype}, expected one integer for each of the "
            f"{n_classes} classes (the fold that validates on it, -1 for none), or a mask (folds, classes)."
        )
    numbers = np.unique(folds[folds >= 0]) if folds.ndim == 1 else np.empty(0)
    held_out = folds if folds.ndim == 2 else folds == numbers[:, None]  # (folds, classes) of the file
    row = _label_index(np.arange(n_classes), content, class_names, "folds")  # of each class of the file
    held_out = held_out[:, np.argsort(row)]
    return tuple((np.flatnonzero(~val & ~unseen), np.flatnonzero(val)) for val in held_out)
