"""Small data sets and the files that hold them, in every format that ``load`` reads."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.io

N_CLASSES, PER_CLASS, N_FEATURES, N_ATTRIBUTES = 9, 10, 5, 4
UNSEEN = (1, 4, 7)
CLASS_NAMES = tuple(f"{number:03d}.bird" for number in range(N_CLASSES, 0, -1))  # not in sorted order
SEEN = tuple(c for c in range(N_CLASSES) if c not in UNSEEN)
FOLDS = (((0, 2, 3, 5), (6, 8)), ((3, 5, 6, 8), (0, 2)))


def arrays(dtype=np.float32, seed=0):
    """Return X, y, prototypes; X is linear in the attributes, the samples of a class are spread over X."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat(np.arange(N_CLASSES), PER_CLASS))
    S = rng.random((N_CLASSES, N_ATTRIBUTES)) + 0.1
    X = S[y] @ rng.normal(size=(N_ATTRIBUTES, N_FEATURES)) + 0.1 * rng.normal(size=(len(y), N_FEATURES))
    return X.astype(dtype), y, S


def locations(y):
    """Return trainval, test_seen, test_unseen as indices from 0; two samples per seen class are for test."""
    test_unseen = np.flatnonzero(np.isin(y, UNSEEN))
    test_seen = np.sort(np.concatenate([np.flatnonzero(y == c)[:2] for c in SEEN]))
    trainval = np.setdiff1d(np.flatnonzero(np.isin(y, SEEN)), test_seen)
    return trainval, test_seen, test_unseen


def split_variables(y, S):
    """Return the content of att_splits.mat as published."""
    trainval, test_seen, test_unseen = locations(y)
    return {
        "att": S.T,
        "original_att": 100 * S.T,
        "allclasses_names": np.array(CLASS_NAMES, dtype=object)[:, None],
        "trainval_loc": trainval[:, None] + 1.0,
        "test_seen_loc": test_seen[:, None] + 1.0,
        "test_unseen_loc": test_unseen[:, None] + 1.0,
    }


def feature_variables(dtype=np.float32):
    """Return the content of res101.mat as published."""
    X, y, _ = arrays(dtype)
    files = np.array([f"{row}.jpg" for row in range(len(y))], dtype=object)[:, None]
    return {"features": X.T, "labels": y[:, None] + 1.0, "image_files": files}


def write_xlsa17(folder: Path, *, dtype=np.float32, lists=True, drop=(), **changes) -> Path:
    """Write a whole xlsa17 folder; ``drop`` and ``changes`` alter att_splits.mat."""
    _, y, S = arrays(dtype)
    folder.mkdir(exist_ok=True)
    splits = {k: v for k, v in (split_variables(y, S) | changes).items() if k not in drop}
    scipy.io.savemat(folder / "att_splits.mat", splits)
    scipy.io.savemat(folder / "res101.mat", feature_variables(dtype))
    if lists:
        write_lists(folder)
    return folder


def as_hdf5(folder: Path) -> Path:
    """Write the folder's MATLAB files again as v7.3."""
    h5py = pytest.importorskip("h5py")
    for path in folder.glob("*.mat"):
        content = {k: v for k, v in scipy.io.loadmat(path).items() if not k.startswith("__")}
        with h5py.File(path, "w", userblock_size=512) as file:
            for name, value in content.items():
                if value.dtype.kind != "O":
                    file[name] = value.T
                    continue
                texts = [str(cell.ravel()[0]) for cell in value.ravel()]
                cells = [
                    file.create_dataset(f"#refs#/{name}{i}", data=[[ord(c)] for c in t])
                    for i, t in enumerate(texts)
                ]
                file.create_dataset(name, data=[[cell.ref for cell in cells]], dtype=h5py.ref_dtype)
    return folder


def write_lists(folder: Path) -> None:
    """Write the lists of class names for the test classes and two folds."""
    contents = {"testclasses": UNSEEN, "trainvalclasses": SEEN}
    for number, (train, val) in enumerate(FOLDS, start=1):
        contents |= {f"trainclasses{number}": train, f"valclasses{number}": val}
    for name, classes in contents.items():
        (folder / f"{name}.txt").write_text("\n".join(CLASS_NAMES[c] for c in classes) + "\n")


def npz_content() -> dict[str, np.ndarray]:
    """Return the arrays of a complete ``.npz``."""
    X, y, S = arrays()
    return {
        "X": X,
        "y": y,
        "prototypes": S,
        "class_names": np.array(CLASS_NAMES),
        "unseen_classes": np.array([CLASS_NAMES[c] for c in UNSEEN]),
    }


def write_npz(path: Path, drop=(), **changes) -> Path:
    """Write a ``.npz``; ``drop`` and ``changes`` alter it."""
    np.savez(path, **{k: v for k, v in (npz_content() | changes).items() if k not in drop})
    return path


def write_prototypes(path: Path, classes=range(N_CLASSES)) -> Path:
    """Write prototypes.csv with the classes in the given order."""
    S = arrays()[2]
    lines = [",".join([CLASS_NAMES[c], *map(repr, S[c].tolist())]) for c in classes]
    path.write_text("\n".join(["class,red,blue,big,small", *lines]) + "\n")
    return path


def write_folder(folder: Path, dtype=np.float32) -> Path:
    """Write a folder with features.npy, labels.csv, prototypes.csv and splits.csv."""
    X, y, _ = arrays(dtype)
    folder.mkdir(exist_ok=True)
    np.save(folder / "features.npy", X)
    rows = [f"{row}.jpg,{CLASS_NAMES[c]}" for row, c in enumerate(y)]
    (folder / "labels.csv").write_text("\n".join(["file,class", *rows]))
    part = np.full(len(y), "test_unseen", dtype=object)
    trainval, test_seen, _ = locations(y)
    part[trainval], part[test_seen] = "train", "test_seen"
    (folder / "splits.csv").write_text("\n".join(["split", *part]))
    write_prototypes(folder / "prototypes.csv")
    return folder
