"""The layout of Xian et al. (2017), "Zero-shot learning: the good, the bad and the ugly" (xlsa17).

A folder per data set holds ``res101.mat`` (features, labels), ``att_splits.mat`` (class descriptions and
the split, counted from 1) and lists of class names for the validation folds.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen.datasets.dataset import (
    ClassFolds,
    Indices,
    ZeroShotDataset,
    as_features,
    class_mask,
    class_positions,
)
from unseen.datasets.matlab import read_mat
from unseen.errors import UnseenError

SPLIT_FILE = "att_splits.mat"
DOWNLOAD = "https://www.mpi-inf.mpg.de/zsl-benchmark"
_SPLIT_VARIABLES = ("att", "allclasses_names", "trainval_loc", "test_seen_loc", "test_unseen_loc")
_FEATURE_VARIABLES = ("features", "labels", "image_files")


def is_xlsa17(path: Path) -> bool:
    """Tell whether the folder holds splits or features as MATLAB files."""
    return path.is_dir() and any(path.glob("*.mat"))


def load_xlsa17(
    path: Path, *, features: str = "res101", split_dir: str | Path | None = None
) -> ZeroShotDataset:
    """Return the data set in a folder; without its feature file, what the other files tell."""
    folder = Path(split_dir) if split_dir else path
    splits = _read_splits(folder / SPLIT_FILE)
    class_names = _class_names(splits, folder)
    trainval, test_seen, test_unseen = (
        _indices(splits.get(name)) for name in ("trainval_loc", "test_seen_loc", "test_unseen_loc")
    )
    feature_file = path / f"{features.removesuffix('.mat')}.mat"
    samples = _read_features(feature_file) if feature_file.exists() else {}
    y = samples.get("labels")
    return ZeroShotDataset(
        name=path.resolve().name,
        X=samples.get("features"),
        y=y,
        prototypes=np.ascontiguousarray(splits["att"].T, dtype=np.float64),
        class_names=class_names,
        unseen=_unseen(folder, class_names, y, test_unseen),
        trainval=trainval,
        test_seen=test_seen,
        test_unseen=test_unseen,
        class_folds=_class_folds(folder, class_names),
        sample_names=samples.get("image_files"),
        files=tuple(file for file in (folder / SPLIT_FILE, feature_file) if file.exists()),
        missing=() if samples else (_download_hint(feature_file),),
    )


def _read_splits(path: Path) -> dict[str, NDArray[Any]]:
    if not path.exists():
        raise UnseenError(f"{path} is missing. It is part of the xlsa17 archive, {DOWNLOAD}: put it there.")
    splits = read_mat(path, _SPLIT_VARIABLES)
    if "att" not in splits or splits["att"].ndim != 2:
        raise UnseenError(f"{path} holds no matrix 'att' (attributes x classes), expected the xlsa17 layout.")
    return splits


def _read_features(path: Path) -> dict[str, NDArray[Any]]:
    content = read_mat(path, _FEATURE_VARIABLES)
    for name in ("features", "labels"):
        if name not in content:
            raise UnseenError(f"{path} holds no variable {name!r}, expected 'features' and 'labels'.")
    # MATLAB stores columns one after the other, so the transpose is C-contiguous without a copy
    X = as_features(content["features"].T)  # (samples, features)
    content["features"] = X.astype(np.float32, copy=False)
    labels = _indices(content["labels"])
    assert labels is not None
    return content | {"labels": labels}


def _download_hint(path: Path) -> str:
    return (
        f"{path} is missing. Download the xlsa17 archive of Xian et al. ({DOWNLOAD}, ResNet-101 features are "
        f"in res101.mat) and put the file there, or name another feature file with --features."
    )


def _indices(values: NDArray[Any] | None) -> Indices | None:
    """Return MATLAB's indices, counted from 1, counted from 0."""
    return None if values is None else values.ravel().astype(np.intp) - 1


def _class_names(splits: dict[str, NDArray[Any]], folder: Path) -> tuple[str, ...]:
    """Return the names in the order of the labels; numbers from 1 where the files have no names."""
    if "allclasses_names" in splits:
        return tuple(str(name) for name in splits["allclasses_names"].ravel())
    return tuple(str(number + 1) for number in range(splits["att"].shape[1]))


def _unseen(
    folder: Path, class_names: tuple[str, ...], y: Indices | None, test_unseen: Indices | None
) -> NDArray[np.bool_]:
    """Return the unseen classes: those of the test samples, or of the list of test classes."""
    if y is not None and test_unseen is not None:
        return class_mask(y[test_unseen], len(class_names))
    return class_mask(_read_list(folder / "testclasses.txt", class_names), len(class_names))


def _class_folds(folder: Path, class_names: tuple[str, ...]) -> ClassFolds | None:
    folds: list[tuple[Indices, Indices]] = []
    while (folder / f"trainclasses{len(folds) + 1}.txt").exists():
        number = len(folds) + 1
        train = _read_list(folder / f"trainclasses{number}.txt", class_names)
        folds.append((train, _read_list(folder / f"valclasses{number}.txt", class_names)))
    return tuple(folds) or None


def _read_list(path: Path, class_names: tuple[str, ...]) -> Indices:
    lines = path.read_text().splitlines() if path.exists() else []
    names = [line.strip() for line in lines if line.strip()]
    return np.sort(class_positions(names, class_names, str(path)))
