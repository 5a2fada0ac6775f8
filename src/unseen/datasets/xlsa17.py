"""The layout of Xian et al. (2017), "Zero-shot learning: the good, the bad and the ugly" (xlsa17).

A folder per data set holds ``res101.mat`` (features, labels), ``att_splits.mat`` (class descriptions and
the split, counted from 1) and lists of class names for the validation folds.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen._core.blocks import IndexArray
from unseen._core.files import read_lines
from unseen._core.labels import label_positions
from unseen.datasets.dataset import ClassFolds, ZeroShotDataset, as_features
from unseen.datasets.download import download_command
from unseen.datasets.matlab import read_mat
from unseen.datasets.own import assemble
from unseen.errors import UnseenError

SPLIT_FILE = "att_splits.mat"
# a variable of the split file -> the field of the data set
_LOCATIONS = {"trainval_loc": "trainval", "test_seen_loc": "test_seen", "test_unseen_loc": "test_unseen"}


def is_xlsa17(path: Path) -> bool:
    """Return whether the path is a folder with MATLAB files."""
    return path.is_dir() and any(path.glob("*.mat"))


def load_xlsa17(
    path: Path, *, features: str = "res101", split_dir: str | Path | None = None
) -> ZeroShotDataset:
    """Return the data set in a folder; without the feature file, what the other files say."""
    folder = Path(split_dir) if split_dir else path
    content = _read_splits(folder / SPLIT_FILE)
    names = content["class_names"].tolist() if "class_names" in content else []
    files, missing = [folder / SPLIT_FILE], []
    feature_file = path / f"{features.removesuffix('.mat')}.mat"
    if feature_file.exists():
        content |= _read_features(feature_file)
        files.append(feature_file)
    else:
        missing.append(_download_hint(path, feature_file))
        test_classes = folder / "testclasses.txt"
        listed = read_lines(test_classes) if names and test_classes.exists() else []
        content["unseen_classes"] = np.array(listed, dtype=str)
    name, labels = path.resolve().name, str(feature_file)
    folds = _listed_folds(folder, names) if names else None
    return assemble(name, content, labels=labels, missing=missing, files=files, class_folds=folds)


def _read_splits(path: Path) -> dict[str, NDArray[Any]]:
    if not path.exists():
        raise UnseenError(
            f"{path} is missing. Download one with: {download_command(path.resolve().parent.name)}, and put "
            "it there."
        )
    splits = read_mat(path, ("att", "allclasses_names", *_LOCATIONS))
    S = splits.get("att")
    if S is None or S.ndim != 2 or S.dtype.kind not in "fiu":
        raise UnseenError(
            f"{path} holds no class descriptions: expected a matrix 'att', attributes x classes."
        )
    content = {"prototypes": np.ascontiguousarray(S.T, dtype=np.float64)}  # (classes, attributes)
    if "allclasses_names" in splits:
        content["class_names"] = splits["allclasses_names"].astype(str)
    return content | {part: _from_one(splits[name]) for name, part in _LOCATIONS.items() if name in splits}


def _read_features(path: Path) -> dict[str, NDArray[Any]]:
    found = read_mat(path, ("features", "labels", "image_files"))
    for name in ("features", "labels"):
        if name not in found:
            raise UnseenError(f"{path} holds no variable {name!r}, expected 'features' and 'labels'.")
    # MATLAB stores columns one after the other, so the transpose is C-contiguous without a copy
    X = as_features(found["features"].T).astype(np.float32, copy=False)  # (samples, features)
    files = {"files": found["image_files"]} if "image_files" in found else {}
    return {"X": X, "y": _from_one(found["labels"]), **files}


def _from_one(values: NDArray[Any]) -> IndexArray:
    """Return indices or labels that MATLAB counts from 1, counted from 0."""
    if values.dtype.kind not in "iuf":
        raise UnseenError(f"Indices and labels are of type {values.dtype}, expected numbers from 1.")
    return values.ravel().astype(np.intp) - 1


def _download_hint(folder: Path, feature_file: Path) -> str:
    others = sorted(file.stem for file in folder.glob("*.mat") if file.name != SPLIT_FILE)
    there = f" Or choose what is there with --features: {', '.join(others)}." if others else ""
    return (
        f"{feature_file} is missing. Download ResNet-101 features (res101.mat) with: "
        f"{download_command(folder.resolve().name)}, and put {folder.resolve().name}/{feature_file.name} "
        f"there.{there}"
    )


def _listed_folds(folder: Path, names: list[str]) -> ClassFolds | None:
    """Return the folds of ``trainclasses1.txt``, ``valclasses1.txt`` and so on."""
    folds: list[tuple[IndexArray, IndexArray]] = []
    while True:
        files = [folder / f"{part}classes{len(folds) + 1}.txt" for part in ("train", "val")]
        if not all(file.exists() for file in files):
            return tuple(folds) or None
        train, val = (np.sort(label_positions(read_lines(file), names, str(file))) for file in files)
        folds.append((train, val))
