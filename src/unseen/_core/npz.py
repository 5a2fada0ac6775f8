"""NumPy files from any source: nothing is unpickled, and any damage is one clear error.

``numpy.load`` trusts the sizes that a file announces. This reader checks them against the file and the
machine before it allocates anything, and streams arrays that are larger than memory.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UnseenError, rephrase_errors

MOST_COMPRESSION = 1032  # deflate shrinks data by no larger factor, so a header that announces more is wrong
LONGEST = 1024  # letters of a name: an array of text takes as much for every entry as for the longest
_PLAIN = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


# ---- what any reader checks ----------------------------------------------------------------------------


def check_fits(nbytes: int, what: str) -> None:
    """Reject an array that this machine has no memory for, before it is allocated."""
    memory = machine_memory()
    if nbytes > memory:
        problem = f"{what} takes {nbytes / 1e9:.3g} GB, but this machine has {memory / 1e9:.3g} GB of memory"
        raise UnseenError(f"{problem}. Features in a folder as features.npy are read in place.")


def machine_memory() -> float:
    """Return the bytes of memory of this machine; infinity if that is unknown."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return float("inf")


def text_array(texts: Iterable[str], where: str) -> NDArray[np.str_]:
    """Return an array of text; overlong entries are rejected, as NumPy gives every entry the same size."""
    listed = list(texts)
    longest = max(map(len, listed), default=0)
    if longest > LONGEST:
        raise UnseenError(f"{where} holds a name of {longest} letters, expected at most {LONGEST}.")
    return np.array(listed, dtype=str)


# ---- arrays in files -----------------------------------------------------------------------------------


def map_npy(path: Path) -> NDArray[Any]:
    """Return the array in an ``.npy``, left on disk."""
    with rephrase_errors(f"{path} cannot be memory-mapped as an array"):
        return np.lib.format.open_memmap(path, mode="r")


def read_npz(path: Path, names: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Return those of the named arrays that the file has; text is always of type str."""
    members = [Member.find(path, name) for name in names]
    return {member.name: member.read() for member in members if member is not None}


def npz_names(path: Path) -> list[str]:
    """Return the names of all arrays in a file."""
    with _opened(path) as archive:
        return [name.removesuffix(".npy") for name in archive.namelist()]


@dataclass(frozen=True)
class Member:
    """An array in an ``.npz``, known by its header."""

    path: Path
    name: str
    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype[Any]

    @classmethod
    def find(cls, path: Path, name: str) -> Member | None:
        """Return the member of this name, if the file has it; one that announces too much is rejected."""
        with _opened(path) as archive:
            if f"{name}.npy" not in archive.namelist():
                return None
            info = archive.getinfo(f"{name}.npy")
            with archive.open(info) as file:
                shape, fortran, dtype = _read_header(file)
                size = info.file_size - file.tell()
            if dtype.hasobject:
                raise UnseenError(
                    f"{path} holds {name} as pickled objects, which are never loaded: they could run code. "
                    "Save plain numbers or text, for instance with numpy.array(..., dtype=str)."
                )
            possible = MOST_COMPRESSION * info.compress_size if info.compress_type in _PLAIN else 0
            if size != dtype.itemsize * int(np.prod(shape, dtype=object)) or info.file_size > possible:
                raise ValueError(f"{name} announces shape {shape}, but there are {info.compress_size} bytes")
        return cls(path, name, shape, fortran, dtype)

    def read(self) -> NDArray[Any]:
        """Return the array."""
        check_fits(self.dtype.itemsize * int(np.prod(self.shape)), f"{self.name} in {self.path}")
        with _opened(self.path) as archive, archive.open(f"{self.name}.npy") as file:
            values = np.lib.format.read_array(file, allow_pickle=False)
            return _checked_text(values) if values.dtype.kind in "US" else values

    def blocks(self, rows: Iterable[slice]) -> Iterator[NDArray[Any]]:
        """Yield rows of a matrix in C order, read as a stream; the slices cover it in order."""
        width = self.shape[1] * self.dtype.itemsize
        with _opened(self.path) as archive, archive.open(f"{self.name}.npy") as file:
            _read_header(file)
            for block in rows:
                n = block.stop - block.start
                yield np.frombuffer(file.read(n * width), self.dtype).reshape(n, self.shape[1])


@contextmanager
def _opened(path: Path) -> Iterator[zipfile.ZipFile]:
    """Open an archive; whatever is wrong with it becomes our error."""
    if not path.exists():
        raise UnseenError(f"{path} is missing.")
    broken = rephrase_errors(f"{path} is not a whole .npz file", "Write it again with numpy.savez.")
    with broken, zipfile.ZipFile(path) as archive:
        yield archive


def _read_header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    version = np.lib.format.read_magic(file)
    if version not in _HEADERS:
        raise ValueError(f"format version {version} is unknown")
    return _HEADERS[version](file)


def _checked_text(values: NDArray[Any]) -> NDArray[np.str_]:
    """Return text of type str; ``ValueError`` if it is not text."""
    if values.dtype.kind == "S":
        return np.char.decode(values, "utf-8")
    text = values.astype(values.dtype.newbyteorder("<"))
    text.tobytes().decode("utf-32-le")  # NumPy itself accepts any number as a character
    return text
