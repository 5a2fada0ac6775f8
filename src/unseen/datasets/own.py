"""The formats of your own data: one ``.npz``, or a folder of ``features.npy`` and CSV tables."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen.base import FloatArray
from unseen.datasets.dataset import Indices, ZeroShotDataset, as_features, class_mask, class_positions
from unseen.datasets.tables import read_csv, read_prototypes
from unseen.errors import UnseenError

PARTS = ("train", "test_seen", "test_unseen")


def is_npz(path: Path) -> bool:
    """Tell whether the path names a ``.npz`` file."""
    return path.suffix == ".npz"


def is_folder(path: Path) -> bool:
    """Tell whether the path is a folder."""
    return path.is_dir()


def load_npz(
    path: Path, *, prototypes: str | Path | None = None, unseen_classes: Sequence[str] | None = None
) -> ZeroShotDataset:
    """Return the data set in an ``.npz`` with ``X``, ``y``, ``prototypes`` and optional names and split."""
    content = _read_npz(path)
    given = {"unseen_classes": unseen_classes} if unseen_classes is not None else {}
    return _assemble(path.stem, content | given, (path,), prototypes)


def load_folder(
    path: Path, *, prototypes: str | Path | None = None, unseen_classes: Sequence[str] | None = None
) -> ZeroShotDataset:
    """Return the data set in a folder with ``features.npy``, ``labels.csv`` and ``prototypes.csv``."""
    content: dict[str, Any] = {}
    files = [path / name for name in ("features.npy", "labels.csv", "splits.csv") if (path / name).exists()]
    if path / "features.npy" in files:
        content["X"] = _map_features(path / "features.npy")
    if path / "labels.csv" in files:
        content["y"] = np.array([row[-1].strip() for row in read_csv(path / "labels.csv")[1]])
    if path / "splits.csv" in files:
        content |= _read_parts(path / "splits.csv")
    if unseen_classes is not None:
        content["unseen_classes"] = unseen_classes
    table = prototypes or (path / "prototypes.csv" if (path / "prototypes.csv").exists() else None)
    return _assemble(path.resolve().name, content, tuple(files), table)


def _read_npz(path: Path) -> dict[str, NDArray[Any]]:
    if not path.exists():
        raise UnseenError(f"{path} is missing.")
    try:
        with np.load(path, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files if name not in ("files",)}
    except (OSError, EOFError, ValueError, zipfile.BadZipFile, KeyError) as error:
        raise UnseenError(f"{path} cannot be read ({error}).") from error


def _map_features(path: Path) -> NDArray[Any]:
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, EOFError, ValueError) as error:
        raise UnseenError(f"{path} cannot be read as an array ({error}).") from error


def _read_parts(path: Path) -> dict[str, Indices]:
    """Return the sample indices of each part from the last column of ``splits.csv``, one line per sample."""
    values = np.array([row[-1].strip() for row in read_csv(path)[1]])
    unknown = ~np.isin(values, PARTS)
    if unknown.any():
        raise UnseenError(f"{path} names part {values[unknown][0]!r}, expected one of {', '.join(PARTS)}.")
    return {part.replace("train", "trainval"): np.flatnonzero(values == part) for part in PARTS}


# ---- from raw pieces to a data set -----------------------------------------------------------------


def _assemble(
    name: str, content: Mapping[str, Any], files: tuple[Path, ...], table: str | Path | None
) -> ZeroShotDataset:
    """Return the data set made of the pieces, with a list of those that are missing."""
    X = as_features(content["X"]) if "X" in content else None
    labels = _labels(content, by_name=table is not None)
    class_names, attribute_names, S = _classes(content, labels, table)
    y = None if labels is None else _label_index(labels, class_names)
    return ZeroShotDataset(
        name=name,
        X=X,
        y=y,
        prototypes=S,
        class_names=class_names,
        unseen=_unseen(content.get("unseen_classes"), class_names, y, content.get("test_unseen")),
        attribute_names=attribute_names,
        files=files if table is None else (*files, Path(table)),
        missing=tuple(_missing(content, S)),
        trainval=_positions(content.get("trainval")),
        test_seen=_positions(content.get("test_seen")),
        test_unseen=_positions(content.get("test_unseen")),
    )


def _labels(content: Mapping[str, Any], by_name: bool) -> NDArray[Any] | None:
    """Return y; by name where a table lists the classes, for its order need not be that of class_names."""
    if "y" not in content:
        return None
    labels = np.asarray(content["y"]).ravel()
    if not (by_name and "class_names" in content and labels.dtype.kind in "iu"):
        return labels
    names = np.asarray(content["class_names"]).ravel()
    if len(labels) and not 0 <= labels.min() <= labels.max() < len(names):
        raise UnseenError(f"y goes up to {labels.max()}, but class_names has {len(names)} names.")
    return names[labels]


def _missing(content: Mapping[str, Any], S: NDArray[Any]) -> list[str]:
    hints = {
        "X": "There are no features: expected X (or features.npy), one row per sample.",
        "y": "There are no labels: expected y (or labels.csv), one class per sample.",
    }
    found = [hint for name, hint in hints.items() if name not in content]
    if S.shape[1] == 0:
        found.append(
            "There are no class descriptions: expected prototypes (classes x attributes), or a CSV with one "
            "line per class, its name first, then its attributes (--prototypes FILE.csv)."
        )
    return found


def _classes(
    content: Mapping[str, Any], labels: NDArray[Any] | None, table: str | Path | None
) -> tuple[tuple[str, ...], tuple[str, ...] | None, FloatArray]:
    """Return (class names, attribute names, prototypes) from a CSV table or from the arrays."""
    if table is not None:
        return read_prototypes(Path(table))
    if "prototypes" in content:
        S = np.asarray(content["prototypes"], dtype=np.float64)
        names = _names(content, len(S))
    else:
        names = _names(content, 0) or tuple(str(name) for name in np.unique([] if labels is None else labels))
        S = np.empty((len(names), 0))
    return names, None, S


def _names(content: Mapping[str, Any], n_classes: int) -> tuple[str, ...]:
    if "class_names" in content:
        return tuple(str(name) for name in np.asarray(content["class_names"]).ravel())
    return tuple(str(number) for number in range(n_classes))


def _label_index(labels: NDArray[Any], class_names: tuple[str, ...]) -> Indices:
    """Return labels as rows of the prototypes: integers as they are, names looked up."""
    if labels.dtype.kind in "iu":
        return labels.astype(np.intp)
    if labels.dtype.kind == "f" and np.array_equal(labels, np.rint(labels)):
        return labels.astype(np.intp)
    values, inverse = np.unique(labels, return_inverse=True)
    return class_positions(map(str, values), class_names, "y")[inverse]


def _unseen(
    given: Any, class_names: tuple[str, ...], y: Indices | None, test_unseen: Any
) -> NDArray[np.bool_]:
    """Return the unseen classes: those given, those of test_unseen, and all that have no sample."""
    mask = np.zeros(len(class_names), dtype=bool)
    if given is not None:
        mask[_label_index(np.asarray(given).ravel(), class_names)] = True
    if y is not None:
        if test_unseen is not None and given is None:
            mask |= class_mask(y[_positions(test_unseen)], len(class_names))
        mask |= np.bincount(y, minlength=len(class_names))[: len(class_names)] == 0
    return mask


def _positions(index: Any) -> Indices | None:
    """Return sample indices from indices or from a mask over all samples."""
    if index is None:
        return None
    index = np.asarray(index).ravel()
    return np.flatnonzero(index) if index.dtype == bool else index.astype(np.intp)
