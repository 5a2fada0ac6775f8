"""The formats of your own data: one ``.npz``, or a folder of ``features.npy`` and CSV tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen._core.blocks import FloatArray
from unseen._core.csv_files import read_csv
from unseen._core.labels import class_mask, label_positions
from unseen._core.npz import map_npy, read_npz, text_array
from unseen.datasets.dataset import Indices, ZeroShotDataset, as_features
from unseen.datasets.features import read_encoder_card
from unseen.datasets.prototypes import read_prototypes
from unseen.errors import UnseenError

ESSENTIAL = ("X", "y", "prototypes")
OPTIONAL = ("class_names", "unseen_classes", "test_seen", "test_unseen", "files")
FOLDER_FILES = ("features.npy", "labels.csv", "prototypes.csv", "splits.csv")
# what splits.csv may say about a sample -> the field of the data set
PARTS = {"train": "trainval", "test_seen": "test_seen", "test_unseen": "test_unseen"}
Content = Mapping[str, Any]


def is_npz(path: Path) -> bool:
    """Tell whether the path names a ``.npz`` file."""
    return path.suffix == ".npz"


def is_folder(path: Path) -> bool:
    """Tell whether the path is a folder with one of our files."""
    return any((path / name).exists() for name in FOLDER_FILES)


def load_npz(
    path: Path, *, prototypes: Any = None, unseen_classes: Sequence[str] | None = None
) -> ZeroShotDataset:
    """Return the data set in an ``.npz`` with ``X``, ``y``, ``prototypes`` and optional names and split."""
    content: dict[str, Any] = {**read_npz(path, (*ESSENTIAL, *OPTIONAL))}
    if not set(ESSENTIAL) & set(content):
        raise UnseenError(f"{path} holds none of {', '.join(ESSENTIAL)}, expected all three.")
    content["encoder"] = read_encoder_card(path)
    return _assemble(path.stem, content, (path,), prototypes, unseen_classes)


def load_folder(
    path: Path, *, prototypes: Any = None, unseen_classes: Sequence[str] | None = None
) -> ZeroShotDataset:
    """Return the data set in a folder with ``features.npy``, ``labels.csv`` and ``prototypes.csv``."""
    content: dict[str, Any] = {"encoder": read_encoder_card(path)}
    if (path / "features.npy").exists():
        content["X"] = map_npy(path / "features.npy")
    if (path / "labels.csv").exists():
        content |= _read_labels(path / "labels.csv")
    if (path / "splits.csv").exists():
        content |= _read_parts(path / "splits.csv", len(content.get("y", ())))
    if prototypes is None and (path / "prototypes.csv").exists():
        prototypes = path / "prototypes.csv"
    files = tuple(path / name for name in FOLDER_FILES if (path / name).exists() and name != "prototypes.csv")
    return _assemble(path.resolve().name, content, files, prototypes, unseen_classes)


# ---- reading files ---------------------------------------------------------------------------------


def _read_labels(path: Path) -> dict[str, NDArray[Any]]:
    """Return the labels from the last column and, where there are two columns, the sample's name."""
    _, rows = read_csv(path)
    content = {"y": text_array((row[-1].strip() for row in rows), str(path))}
    if len(rows[0]) > 1:
        content["files"] = text_array((row[0].strip() for row in rows), str(path))
    return content


def _read_parts(path: Path, n_samples: int) -> dict[str, Indices]:
    """Return the samples of each part from the last column of ``splits.csv``, one line per sample."""
    values = text_array((row[-1].strip() for row in read_csv(path)[1]), str(path))
    unknown = ~np.isin(values, list(PARTS))
    if unknown.any():
        wrong = str(values[unknown][0])
        raise UnseenError(f"{path} names part {wrong!r}, expected one of {', '.join(PARTS)}.")
    if len(values) != n_samples:
        raise UnseenError(
            f"{path} has {len(values)} lines but there are {n_samples} samples, expected one each."
        )
    return {field: np.flatnonzero(values == part) for part, field in PARTS.items()}


# ---- from raw pieces to a data set -----------------------------------------------------------------


def _assemble(
    name: str,
    content: Content,
    files: tuple[Path, ...],
    table: Any,
    unseen_classes: Sequence[str] | None,
) -> ZeroShotDataset:
    """Return the data set made of the pieces, with a list of those that are missing."""
    class_names, attribute_names, S = _classes(content, table)
    y = _label_index(content["y"], content, class_names) if "y" in content else None
    unseen = content.get("unseen_classes") if unseen_classes is None else np.array(unseen_classes)
    sample_names = content.get("files")
    return ZeroShotDataset(
        name=name,
        X=as_features(content["X"]) if "X" in content else None,
        y=y,
        prototypes=S,
        class_names=class_names,
        unseen=_unseen(content, class_names, y, unseen),
        attribute_names=attribute_names,
        trainval=_positions(content, "trainval"),
        test_seen=_positions(content, "test_seen"),
        test_unseen=_positions(content, "test_unseen"),
        sample_names=None if sample_names is None else np.asarray(sample_names).astype(str),
        files=files if table is None or hasattr(table, "columns") else (*files, Path(table)),
        missing=tuple(_missing(content, S)),
        encoder=content["encoder"],
    )


def _missing(content: Content, S: FloatArray) -> list[str]:
    hints = {
        "X": "There are no features: expected X (in a folder features.npy) with one row per sample.",
        "y": "There are no labels: expected y (in a folder labels.csv) with one class per sample.",
    }
    found = [hint for name, hint in hints.items() if name not in content]
    if not S.shape[1]:
        found.append(
            "There are no class descriptions: expected prototypes, one row per class, seen or unseen. Write "
            "a CSV with the class name in the first column and its attributes after it, and pass it with "
            "--prototypes FILE.csv (in a folder call it prototypes.csv)."
        )
    return found


def _classes(content: Content, table: Any) -> tuple[tuple[str, ...], tuple[str, ...] | None, FloatArray]:
    """Return (class names, attribute names, prototypes) from a table or from the arrays."""
    if hasattr(table, "columns"):  # a DataFrame or Prototypes
        return tuple(map(str, table.index)), tuple(map(str, table.columns)), _numbers(table)
    if table is not None:
        return read_prototypes(Path(table))
    if "prototypes" in content:
        S = _numbers(content["prototypes"])
        return _names(content) or tuple(str(number) for number in range(len(S))), None, S
    names = _names(content) or tuple(np.unique(content.get("y", ())).astype(str))
    return names, None, np.empty((len(names), 0))


def _numbers(prototypes: Any) -> FloatArray:
    try:
        return np.asarray(prototypes, dtype=np.float64)
    except ValueError as error:
        raise UnseenError(f"prototypes must be numbers, one row per class: {error}.") from error


def _names(content: Content) -> tuple[str, ...]:
    return tuple(map(str, np.asarray(content.get("class_names", ())).ravel().astype(str)))


def _label_index(labels: Any, content: Content, class_names: tuple[str, ...], what: str = "y") -> Indices:
    """Return labels as rows of the prototypes: names are looked up, integers count rows.

    Integers beside ``class_names`` count those, so that a CSV of prototypes may list them in any order.
    """
    labels = np.asarray(labels)
    if labels.ndim > 1 and labels.size != len(labels):
        raise UnseenError(f"{what} has shape {labels.shape}, expected one label after the other.")
    labels = labels.ravel()
    if labels.dtype.kind in "US":
        return label_positions(labels.astype(str), class_names, what)
    if labels.dtype.kind not in "iuf" or not np.array_equal(labels, np.rint(labels)):
        raise UnseenError(f"{what} is of type {labels.dtype}, expected integers or class names.")
    index = labels.astype(np.intp)
    own_names = np.array(_names(content))
    if len(own_names) and tuple(own_names) != class_names:
        _check_range(index, len(own_names), f"class_names has {len(own_names)} names but {what}")
        return label_positions(own_names[index], class_names, what)
    _check_range(index, len(class_names), f"prototypes has {len(class_names)} rows but {what}")
    return index


def _check_range(index: Indices, n: int, what: str) -> None:
    wrong = index[(index < 0) | (index >= n)]
    if len(wrong):
        raise UnseenError(
            f"{what} names class {wrong[0]} (labels must be 0..{n - 1}). Pass one prototype row per class."
        )


def _unseen(
    content: Content, class_names: tuple[str, ...], y: Indices | None, given: Any
) -> NDArray[np.bool_]:
    """Return the unseen classes: those given (else those of test_unseen) and all that have no sample."""
    n_classes = len(class_names)
    if given is not None:
        mask = class_mask(_label_index(given, content, class_names, "unseen_classes"), n_classes)
    elif y is not None and "test_unseen" in content:
        test = _positions(content, "test_unseen")
        mask = class_mask(y[test[(test >= 0) & (test < len(y))]], n_classes)
    else:
        mask = np.zeros(n_classes, dtype=bool)
    return mask if y is None else mask | (np.bincount(y, minlength=n_classes) == 0)


def _positions(content: Content, part: str) -> Any:
    """Return sample indices from indices or from a mask over all samples; None when not given."""
    if part not in content:
        return None
    index = np.asarray(content[part]).ravel()
    if index.dtype == bool and len(index) == len(content.get("y", ())):
        return np.flatnonzero(index)
    if index.size and index.dtype.kind not in "iu":
        raise UnseenError(
            f"{part} is of type {index.dtype}, expected sample indices, or a mask over all samples."
        )
    return index.astype(np.intp)
