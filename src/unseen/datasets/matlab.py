"""MATLAB files, versions 5 and 7.3, read into plain arrays."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen._core.npz import MOST_COMPRESSION, check_fits
from unseen.datasets.mat5 import decode, read_mat5
from unseen.errors import import_extra, rephrase_errors

HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"
HDF5_OFFSET = 512  # MATLAB puts a text of its own in front of the HDF5 part


def read_mat(path: Path, names: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Return those of the named variables that the file has, as MATLAB shows them; text as arrays of str."""
    read = _read_hdf5 if _is_hdf5(path) else read_mat5
    expected = "Expected version 5 or 7.3; it may be truncated or another kind of file"
    advice = f"{expected}, so delete it and download it again."
    with rephrase_errors(f"{path} cannot be read as a MATLAB file", advice):
        found = read(path, names)
    texts = {name: np.char.strip(value.ravel()) for name, value in found.items() if value.dtype.kind == "U"}
    return found | texts


def _is_hdf5(path: Path) -> bool:
    with open(path, "rb") as file:
        head = file.read(HDF5_OFFSET + len(HDF5_SIGNATURE))
    return head.startswith(HDF5_SIGNATURE) or head[HDF5_OFFSET:] == HDF5_SIGNATURE


def _read_hdf5(path: Path, names: Sequence[str]) -> dict[str, NDArray[Any]]:
    h5py = import_extra("h5py", "hdf5", f"{path}, a MATLAB v7.3 file,")
    with h5py.File(path, "r") as file:
        return {name: _read_hdf5_array(file, _own(h5py, file, name)) for name in names if name in file}


def _own(h5py: Any, file: Any, name: str) -> Any:
    """Return an array that is stored in the file itself: HDF5 can also point to any other file."""
    item = file[name] if isinstance(file.get(name, getlink=True), h5py.HardLink) else None
    if not isinstance(item, h5py.Dataset) or item.external or item.is_virtual:
        raise ValueError(f"{name} is not an array of this file")
    return item


def _read_hdf5_array(file: Any, item: Any) -> NDArray[Any]:
    """Return an array as MATLAB shows it (HDF5 holds it transposed), a cell array as an array of text."""
    values = _content(item)
    if values.dtype.kind != "O":
        return values.T
    return np.array([decode(_content(file[cell]).ravel()) for cell in values.ravel()], dtype=str)


def _content(item: Any) -> NDArray[Any]:
    """Return the content of an array, unless it announces more than the file or the machine can hold."""
    if item.nbytes > MOST_COMPRESSION * item.id.get_storage_size():
        raise ValueError(f"{item.name} announces shape {item.shape}, more than the file can hold")
    check_fits(item.nbytes, item.name)
    content: NDArray[Any] = item[()]
    return content
