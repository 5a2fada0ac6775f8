"""The formats of your own data: one ``.npz``, or a folder of ``features.npy`` and CSV tables."""

from __future__ import annotations

import glob
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unseen._core.blocks import BoolArray, IndexArray
from unseen._core.labels import class_mask, label_positions
from unseen._core.npz import map_npy, npz_names, read_npz
from unseen._core.prototypes import Descriptions, Prototypes, as_prototypes, number_rows, prototype_parts
from unseen._core.rows import Rows
from unseen._core.tables import read_csv
from unseen.datasets.dataset import ZeroShotDataset, as_features, check_class_names
from unseen.datasets.features import ENCODER_KEY, STAMPS_KEY, read_encoder_card
from unseen.datasets.prototypes import read_prototypes
from unseen.errors import UnseenError, did_you_mean, expect

ESSENTIAL = ("X", "y", "prototypes")
OPTIONAL = ("class_names", "attribute_names", "files", "unseen_classes", "test_seen", "test_unseen", "groups")
FOLDER_FILES = ("features.npy", "labels.csv", "prototypes.csv", "splits.csv")
# a word in splits.csv -> the field of the data set
SPLIT_WORDS = {"train": "trainval", "test_seen": "test_seen", "test_unseen": "test_unseen"}
Content = Mapping[str, NDArray[Any]]  # arrays by the names that an .npz gives them, and trainval


def is_npz(path: Path) -> bool:
    """Return whether the path names a ``.npz`` file."""
    return path.suffix == ".npz"


def is_folder(path: Path) -> bool:
    """Return whether the path is a folder with one of our files."""
    return any((path / name).exists() for name in FOLDER_FILES)


# ---- reading files ---------------------------------------------------------------------------------


def load_npz(
    path: Path, *, prototypes: Descriptions | None = None, unseen_classes: Sequence[str] | None = None
) -> ZeroShotDataset:
    """Return the data set in an ``.npz`` with ``X``, ``y``, ``prototypes`` and optional names and split."""
    content, held = read_npz(path, (*ESSENTIAL, *OPTIONAL)), npz_names(path)
    if not set(ESSENTIAL) & set(content):
        problem = f"{path} holds none of {', '.join(ESSENTIAL)}, expected all three. It holds"
        raise UnseenError(f"{problem}: {', '.join(held) or 'nothing'}.")
    known = (*ESSENTIAL, *OPTIONAL, ENCODER_KEY, STAMPS_KEY)
    unused = [
        f"the file also holds {name!r}, which is not used.{did_you_mean(name, set(known) - set(held))}"
        for name in held
        if name not in known
    ]
    card = read_encoder_card(path)
    return assemble(path.stem, content, prototypes, unseen_classes, files=[path], notes=unused, encoder=card)


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
    features, labels, splits = [path / "features.npy"], path / "labels.csv", path / "splits.csv"
    if features_glob:
        features = find_shards(features_glob, path)
        content["X"] = Rows(features)
    elif features[0].exists():
        content["X"] = map_npy(features[0])
    if labels.exists():
        content |= _read_labels(labels, len(content["X"]) if "X" in content else None)
    if splits.exists():
        content |= _read_parts(splits, len(content.get("y", ())))
    if prototypes is None and (path / "prototypes.csv").exists():
        prototypes = path / "prototypes.csv"
    files = [file for file in (*features, labels, splits) if file.exists()]
    name, card = path.resolve().name, read_encoder_card(path)
    return assemble(name, content, prototypes, unseen_classes, labels=str(labels), files=files, encoder=card)


def find_shards(pattern: str, folder: Path) -> list[Path]:
    """Return the ``.npy`` files in a folder that a glob pattern names, part2 before part10."""
    found = [folder / name for name in glob.glob(pattern, root_dir=folder, recursive=True)]
    if not found:
        raise UnseenError(
            f"No file in {folder} matches {pattern!r}. Quote the pattern, such as 'shards/*.npy'."
        )
    words = {path: re.split(r"(\d+)", str(path)) for path in found}
    return sorted(found, key=lambda path: [int(w) if w.isdecimal() else w for w in words[path]])


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
    return {"y": table.labels(header[-1]), **({"files": table.text(header[0])} if len(header) > 1 else {})}


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


# ---- from raw pieces to a data set -----------------------------------------------------------------


def assemble(
    name: str,
    content: Content,
    prototypes: Descriptions | None = None,
    unseen_classes: Sequence[str] | None = None,
    *,
    labels: str = "y",
    missing: Sequence[str] | None = None,
    files: Sequence[Path] = (),
    notes: Sequence[str] = (),
    **fields: Any,
) -> ZeroShotDataset:
    """Return the data set made of arrays and descriptions.

    Messages say that the labels come from ``labels``. By default what the content lacks is ``missing``. The
    other fields of the data set are passed on.
    """
    described = _describe_classes(content, prototypes)
    y = _class_rows(content["y"], content, described, labels) if "y" in content else None
    parts: dict[str, Any] = {part: _sample_positions(content, part) for part in SPLIT_WORDS.values()}
    chosen = content.get("unseen_classes") if unseen_classes is None else np.array(unseen_classes)
    unseen = None if chosen is None else _class_rows(chosen, content, described, "unseen_classes")
    return ZeroShotDataset(
        name=name,
        X=as_features(content["X"]) if "X" in content else None,
        y=y,
        prototypes=described.values,
        class_names=tuple(map(str, described.index)),
        unseen=_unseen_mask(len(described.index), unseen, y, parts["test_unseen"]),
        attribute_names=described.columns or None,
        **parts,
        groups=np.unique(content["groups"].ravel(), return_inverse=True)[1] if "groups" in content else None,
        sample_names=content["files"].astype(str) if "files" in content else None,
        files=(*files, *described.files),
        missing=tuple(_missing(content, described, notes) if missing is None else missing),
        notes=tuple(notes),
        **fields,
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
    names = _listed_names(content, "class_names")
    check_class_names(names)
    if isinstance(given, Prototypes):
        return given
    if isinstance(given, str | PathLike):
        return read_prototypes(Path(given))
    if prototype_parts(given).labels is not None:  # a DataFrame or a mapping
        found = as_prototypes(given)
        return replace(found, index=found.index.astype(str))
    expected = "a CSV file, a DataFrame indexed by class name, or a mapping from class name to attributes"
    expect("prototypes", type(given).__name__, given is None, expected)
    if "prototypes" in content:
        S = number_rows(prototype_parts(content["prototypes"]))
        index = names or tuple(map(str, range(len(S))))
        return Prototypes(np.array(index), _listed_names(content, "attribute_names"), S)
    if not names and "y" in content:
        names = tuple(np.unique(_label_names(content["y"], content, "y")).tolist())
    return Prototypes(np.array(names, dtype=str), (), np.empty((len(names), 0)))


def _listed_names(content: Content, key: str) -> tuple[str, ...]:
    return tuple(map(str, content[key].ravel().astype(str))) if key in content else ()


def _label_names(given: ArrayLike, content: Content, what: str) -> NDArray[np.str_]:
    """Return labels as names of classes.

    An integer is a position in ``class_names``. A file without ``class_names`` calls its classes 0, 1, 2, ...
    """
    labels = np.asarray(given).ravel()
    if labels.dtype.kind in "US":
        return labels.astype(str)
    if labels.dtype.kind not in "iuf" or not np.array_equal(labels, np.rint(labels)):
        raise UnseenError(f"{what} is of type {labels.dtype}, expected integers or class names.")
    numbers, names = labels.astype(np.intp), _listed_names(content, "class_names")
    if not names:
        return numbers.astype(str)
    return np.array(names)[label_positions(numbers, np.arange(len(names)), what)]


def _class_rows(given: ArrayLike, content: Content, described: Prototypes, what: str) -> IndexArray:
    """Return labels as rows of the prototypes."""
    names, classes = _label_names(given, content, what), described.index.astype(str)
    numbered = [bool(np.char.isdigit(some).all()) for some in (names, classes)]
    strange = len(names) > 0 and not np.isin(names, classes).any()
    if strange and numbered[0] != numbered[1] and "class_names" not in content:
        raise UnseenError(
            f"{what} holds labels such as {str(names[0])!r}, but prototypes describes classes such as "
            f"{str(classes[0])!r}. Write the same names in both. An .npz names the rows of prototypes, and "
            "the classes 0, 1, 2, ... of y, in class_names."
        )
    where = f" in {', '.join(map(str, described.files))}" if described.files else ""
    return label_positions(names, classes, what, f"has no description{where}")


def _unseen_mask(
    n_classes: int, chosen: IndexArray | None, y: IndexArray | None, test: IndexArray | None
) -> BoolArray:
    """Return the unseen classes: those chosen (else those of test_unseen) and all without samples."""
    if chosen is None and y is not None and test is not None:
        chosen = y[test[(test >= 0) & (test < len(y))]]  # the checks of the data set report the others
    mask = class_mask(() if chosen is None else chosen, n_classes)
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
