"""MATLAB files, v5 through SciPy and v7.3 (HDF5) through h5py, read into plain arrays."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UnseenError, need_extra

HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"


def read_mat(path: Path, names: Iterable[str]) -> dict[str, NDArray[Any]]:
    """Return the named variables that the file has; cells of text become arrays of str."""
    variables = _read_hdf5(path, names) if _is_hdf5(path) else _read_v5(path, names)
    return {name: _plain(value) for name, value in variables.items()}


def _is_hdf5(path: Path) -> bool:
    """Tell v7.3 from v5: MATLAB puts a block of 512 bytes in front of the HDF5 signature."""
    with open(path, "rb") as file:
        head = file.read(512 + len(HDF5_SIGNATURE))
    return head.startswith(HDF5_SIGNATURE) or head[512:] == HDF5_SIGNATURE


def _read_v5(path: Path, names: Iterable[str]) -> dict[str, NDArray[Any]]:
    from scipy.io import loadmat

    try:
        content = loadmat(path, variable_names=list(names))
    except Exception as error:  # SciPy raises a different one for every way a file can be broken
        raise UnseenError(
            f"{path} cannot be read as a MATLAB file ({error}). It may be truncated or of another kind: "
            "download it again."
        ) from error
    return {name: value for name, value in content.items() if not name.startswith("__")}


def _read_hdf5(path: Path, names: Iterable[str]) -> dict[str, NDArray[Any]]:
    try:
        import h5py
    except ImportError as error:
        raise need_extra("h5py", "hdf5", f"{path} (MATLAB v7.3)") from error
    try:
        with h5py.File(path, "r") as file:
            return {name: _dereference(file, file[name]) for name in names if name in file}
    except OSError as error:
        raise UnseenError(f"{path} cannot be read ({error}). Download it again.") from error


def _dereference(file: Any, item: Any) -> NDArray[Any]:
    """Return a data set as MATLAB shows it (HDF5 stores it transposed), cells as arrays of str."""
    values = item[()]
    if values.dtype.kind != "O":
        return values.T
    texts = ["".join(map(chr, file[reference][()].ravel())) for reference in values.ravel()]
    return np.array(texts, dtype=str)


def _plain(value: NDArray[Any]) -> NDArray[Any]:
    """Return text cells as an array of str, numbers as they are."""
    if value.dtype.kind != "O":
        return value
    return np.array([str(np.asarray(cell).ravel()[0]) if np.size(cell) else "" for cell in value.ravel()])
