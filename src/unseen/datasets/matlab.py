"""MATLAB files, v5 through SciPy and v7.3 (HDF5) through h5py, read into plain arrays."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UnseenError, need_extra

HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"
HDF5_OFFSET = 512  # MATLAB puts a text of its own in front of the HDF5 part
MOST_COMPRESSION = 1032  # no deflate stream grows by more, so a header that announces more is wrong


def read_mat(path: Path, names: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Return the named variables that the file has, as MATLAB shows them; text becomes arrays of str."""
    read = _read_hdf5 if _is_hdf5(path) else _read_v5
    return {name: _plain(value) for name, value in read(path, names).items()}


def creation_date(path: Path) -> str:
    """Return the date in the header of a MATLAB file, or nothing.

    The published versions of one file differ in it.
    """
    with open(path, "rb") as file:
        head = file.read(116).decode("latin-1")
    return head.partition("Created on: ")[2].partition(" HDF5")[0].strip("\0 ")


def _is_hdf5(path: Path) -> bool:
    with open(path, "rb") as file:
        head = file.read(HDF5_OFFSET + len(HDF5_SIGNATURE))
    return head.startswith(HDF5_SIGNATURE) or head[HDF5_OFFSET:] == HDF5_SIGNATURE


def _unreadable(path: Path, error: Exception) -> UnseenError:
    reason = " ".join(str(error).split()) or type(error).__name__
    return UnseenError(
        f"{path} cannot be read as a MATLAB file: {reason}. Expected v5 or v7.3; it may be truncated or of "
        "another kind, so download it again."
    )


def _read_v5(path: Path, names: Sequence[str]) -> dict[str, NDArray[Any]]:
    from scipy.io import loadmat

    try:
        content = loadmat(path, variable_names=list(names))
    except MemoryError:
        raise
    except Exception as error:  # SciPy raises a different one for every way a file can be broken
        raise _unreadable(path, error) from error
    return {name: content[name] for name in names if name in content}


def _read_hdf5(path: Path, names: Sequence[str]) -> dict[str, NDArray[Any]]:
    try:
        import h5py
    except ImportError as error:
        raise need_extra("h5py", "hdf5", f"{path}, a MATLAB v7.3 file,") from error
    try:
        with h5py.File(path, "r") as file:
            return {name: _read_hdf5_array(file, file[name]) for name in names if name in file}
    except MemoryError:
        raise
    except Exception as error:  # as varied as SciPy's
        raise _unreadable(path, error) from error


def _read_hdf5_array(file: Any, item: Any) -> NDArray[Any]:
    """Return an array as MATLAB shows it (HDF5 holds it transposed), a cell array as an array of text."""
    if item.nbytes > MOST_COMPRESSION * item.id.get_storage_size():
        raise ValueError(f"{item.name} announces shape {item.shape}, more than the file can hold")
    values = item[()]
    if values.dtype.kind != "O":
        return values.T
    texts = ["".join(map(chr, file[reference][()].ravel())) for reference in values.ravel()]
    return np.array(texts, dtype=str)


def _plain(value: NDArray[Any]) -> NDArray[Any]:
    """Return text as a flat array of str, numbers as they are."""
    if value.dtype.kind == "O":
        return np.array([_text(cell) for cell in value.ravel()], dtype=str)
    return np.char.strip(value.ravel()) if value.dtype.kind == "U" else value


def _text(cell: Any) -> str:
    """Return the text in a cell, however deeply it is wrapped."""
    while isinstance(cell, np.ndarray):
        cell = cell.ravel()[0] if cell.size else ""
    return str(cell).strip()
