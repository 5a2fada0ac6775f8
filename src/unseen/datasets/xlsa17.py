"""The layout of Xian et al. (2017), "Zero-shot learning: the good, the bad and the ugly" (xlsa17).

A folder per data set holds ``res101.mat`` (features, labels), ``att_splits.mat`` (class descriptions and
the split, counted from 1) and lists of class names for the validation folds.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen._core.blocks import BoolArray, FloatArray, IndexArray
from unseen._core.labels import class_mask, label_positions
from unseen.datasets.dataset import ClassFolds, ZeroShotDataset, as_features
from unseen.datasets.download import download_command
from unseen.datasets.matlab import read_mat
from unseen.errors import UnseenError

SPLIT_FILE = "att_splits.mat"
_LOCS = ("trainval_loc", "test_seen_loc", "test_unseen_loc", "train_loc", "val_loc")
_SPLIT_VARIABLES = ("att", "original_att", "allclasses_names", *_LOCS)
_FEATURE_VARIABLES = ("features", "labels", "image_files")
_UNKNOWN_ATTRIBUTE = -1  # in original_att


def is_xlsa17(path: Path) -> bool:
    """Return whether the path is a folder with MATLAB files."""
    return path.is_dir() and any(path.glob("*.mat"))


def load_xlsa17(
    path: Path, *, features: str = "res101", split_dir: str | Path | None = None
) -> ZeroShotDataset:
    """Return the data set in a folder; without the feature file, what the other files say."""
    folder = Path(split_dir) if split_dir else path
    splits = _read_splits(folder / SPLIT_FILE)
    feature_file = path / f"{features.removesuffix('.mat')}.mat"
    samples = _read_features(feature_file) if feature_file.exists() else {}
    y = samples.get("labels")
    S = _prototypes(splits)
    names = _named_classes(splits, folder)
    return ZeroShotDataset(
        name=path.resolve().name,
        X=samples.get("features"),
        y=y,
        prototypes=S,
        class_names=names or tuple(str(number + 1) for number in range(len(S))),
        unseen=_unseen_mask(splits.get("test_unseen_loc"), y, len(S), _listed_test_classes(folder, names)),
        trainval=splits.get("trainval_loc"),
        test_seen=splits.get("test_seen_loc"),
        test_unseen=splits.get("test_unseen_loc"),
        class_folds=_listed_folds(folder, names) or _located_folds(splits, y),
        sample_names=samples.get("image_files"),
        files=tuple(file for file in (folder / SPLIT_FILE, feature_file) if file.exists()),
        missing=() if samples else (_download_hint(path, feature_file),),
        notes=tuple(_split_notes(splits, names)),
    )


def _read_splits(path: Path) -> dict[str, NDArray[Any]]:
    if not path.exists():
        raise UnseenError(
            f"{path} is missing. Download one with: {download_command(path.resolve().parent.name)}, and put "
            "it there."
        )
    splits = read_mat(path, _SPLIT_VARIABLES)
    descriptions = splits.get("att", splits.get("original_att"))
    if descriptions is None or descriptions.ndim != 2 or descriptions.dtype.kind not in "fiu":
        raise UnseenError(
            f"{path} holds no class descriptions: expected a matrix 'att', attributes x classes."
        )
    return splits | {name: _from_one(splits[name]) for name in _LOCS if name in splits}


def _read_features(path: Path) -> dict[str, NDArray[Any]]:
    content = read_mat(path, _FEATURE_VARIABLES)
    for name in ("features", "labels"):
        if name not in content:
            raise UnseenError(f"{path} holds no variable {name!r}, expected 'features' and 'labels'.")
    # MATLAB stores columns one after the other, so the transpose is C-contiguous without a copy
    X = as_features(content["features"].T).astype(np.float32, copy=False)  # (samples, features)
    return content | {"features": X, "labels": _from_one(content["labels"])}


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


def _prototypes(splits: Mapping[str, NDArray[Any]]) -> FloatArray:
    """Return ``att`` as published, or ``original_att`` scaled to unit length per class, as ``att`` is."""
    if "att" in splits:
        return np.ascontiguousarray(splits["att"].T, dtype=np.float64)  # (classes, attributes)
    S = np.ascontiguousarray(splits["original_att"].T, dtype=np.float64)
    norm = np.linalg.norm(S, axis=1, keepdims=True)
    return S / np.where(norm == 0, 1, norm)


def _named_classes(splits: Mapping[str, NDArray[Any]], folder: Path) -> tuple[str, ...]:
    """Return the names in the order of the labels; empty if no file has them."""
    if "allclasses_names" in splits:
        return tuple(map(str, splits["allclasses_names"]))
    return tuple(_read_list(folder / "allclasses.txt"))


def _listed_test_classes(folder: Path, names: tuple[str, ...]) -> IndexArray:
    listed = _read_list(folder / "testclasses.txt") if names else []
    return label_positions(listed, names, str(folder / "testclasses.txt"))


def _unseen_mask(
    test: IndexArray | None, y: IndexArray | None, n_classes: int, listed: IndexArray
) -> BoolArray:
    """Return the unseen classes: those of the test samples, or else those listed."""
    if y is None or test is None:
        return class_mask(listed, n_classes)
    inside = y[test[(test >= 0) & (test < len(y))]]  # the checks of the data set report the others
    return class_mask(inside[(inside >= 0) & (inside < n_classes)], n_classes)


def _listed_folds(folder: Path, names: tuple[str, ...]) -> ClassFolds | None:
    """Return the folds of ``trainclasses1.txt``, ``valclasses1.txt`` and so on."""
    folds: list[tuple[IndexArray, IndexArray]] = []
    while names:
        files = [folder / f"{part}classes{len(folds) + 1}.txt" for part in ("train", "val")]
        if not all(file.exists() for file in files):
            break
        train, val = (np.sort(label_positions(_read_list(file), names, str(file))) for file in files)
        folds.append((train, val))
    return tuple(folds) or None


def _located_folds(splits: Mapping[str, NDArray[Any]], y: IndexArray | None) -> ClassFolds | None:
    """Return the one fold of ``train_loc`` and ``val_loc``.

    Only their classes count: the samples include those of ``test_seen_loc``.
    """
    if y is None or "train_loc" not in splits or "val_loc" not in splits:
        return None
    return ((np.unique(y[splits["train_loc"]]), np.unique(y[splits["val_loc"]])),)


def _read_list(path: Path) -> list[str]:
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [line.strip() for line in lines if line.strip()]


def _split_notes(splits: Mapping[str, NDArray[Any]], names: tuple[str, ...]) -> list[str]:
    notes = [_split_form(splits)]
    unknown = int(np.count_nonzero(splits.get("original_att", np.empty(0)) == _UNKNOWN_ATTRIBUTE))
    if unknown:
        notes.append(
            f"{unknown} attribute value(s) are unknown (-1 in original_att); att is used as published"
        )
    if not names:
        notes.append("the files hold no class names: classes are numbered from 1")
    return notes


def _split_form(splits: Mapping[str, NDArray[Any]]) -> str:
    """Return which published form the split has: version 2.0 dropped train_loc and val_loc."""
    if "test_seen_loc" not in splits:
        return "split without a seen test set (standard split): a share of the seen samples is drawn for it"
    if "train_loc" in splits:
        return "split with train_loc and val_loc, the form of the proposed split version 1"
    return "split without train_loc and val_loc, the form of the proposed split version 2.0"
