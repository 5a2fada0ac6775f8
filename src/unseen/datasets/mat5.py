"""MATLAB files of version 5, as far as data sets need them: numbers, text, and cells of either.

It exists because SciPy's reader trusts the file, and some damaged files crash the process. Here every size
that a file announces is checked against what is there before anything is read or allocated.

A file is a header and a sequence of elements: a tag (type, size in bytes), then the content, padded to 8
bytes. A variable is an element of type MATRIX, or a COMPRESSED one that holds it. Its parts are elements too:
flags, dimensions, name, and then the values, or one MATRIX for each cell.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from io import BufferedReader
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen._core.npz import LONGEST, MOST_COMPRESSION, check_fits

HEADER = 128
CHUNK = 2**14  # bytes that are inflated at a time, to at most 1032 times as many
HEAD = 2**12  # bytes in which a variable says its name, of at most 63 letters
MATRIX, COMPRESSED = 14, 15
# how values are stored: type of an element -> NumPy type; text also in UTF-8 and UTF-16
STORED = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
UTF8, UTF16 = 16, 17
STORED[UTF16] = "u2"
# classes of a variable; numbers are stored in the smallest type that holds them, whatever their class is
CELL, CHAR, NUMBERS = 1, 4, range(6, 16)
COMPLEX = 0x800  # flag


def read_mat5(path: Path, names: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Return those of the named variables that the file has; ``ValueError`` or ``zlib.error`` if damaged."""
    found = {}
    with open(path, "rb") as file:
        size = path.stat().st_size
        order = {b"IM": "<", b"MI": ">"}.get(file.read(HEADER)[126:128])
        if order is None:
            raise ValueError("it has no header of version 5")
        while (start := file.tell()) < size:
            kind, length = _tag(file.read(8), order)
            if kind not in (MATRIX, COMPRESSED) or length > size - file.tell():
                raise ValueError(f"it holds {length} bytes of type {kind} at byte {start}")
            read = _read if kind == MATRIX else _inflate
            name = _Variable(read(file, length, order, HEAD), order).name
            if name in names:
                file.seek(start + 8)
                found[name] = _Variable(read(file, length, order), order).values()
            file.seek(start + 8 + length)
    return found


def _tag(content: bytes | bytearray | memoryview, order: str) -> tuple[int, int]:
    """Return (type, size)."""
    if len(content) < 8:
        raise ValueError("it ends too early")
    kind, length = np.frombuffer(content, f"{order}u4", 2).tolist()
    return kind, length


def _read(file: BufferedReader, length: int, order: str, most: int | None = None) -> bytearray:
    """Return the content of the variable that starts here, or only its start."""
    length = min(length, most or length)
    check_fits(length, "A variable in it")
    content = bytearray(length)
    file.readinto(content)
    return content


def _inflate(file: BufferedReader, length: int, order: str, most: int | None = None) -> bytearray:
    """Do the same for a deflated variable, whose checksum is verified at its end."""
    stream, end = zlib.decompressobj(), file.tell() + length
    content = bytearray(stream.decompress(file.read(min(CHUNK, length))))
    kind, size = _tag(content, order)
    if kind != MATRIX or size > MOST_COMPRESSION * length:
        raise ValueError(f"it announces {size} bytes of type {kind}, but only {length} are left")
    check_fits(min(size, most or size), "A variable in it")
    del content[:8]
    while not stream.eof and len(content) < (most or size + 1):
        deflated = file.read(min(CHUNK, end - file.tell()))
        if not deflated:
            raise ValueError("a deflated part of it ends too early")
        content += stream.decompress(deflated)
    if len(content) > size:
        raise ValueError("a deflated part of it has another size than announced")
    if stream.eof and len(content) < size:
        raise ValueError("a deflated part of it ends too early")
    return content


class _Variable:
    """A variable whose head is read: flags, dimensions and name; ``left`` holds its other elements."""

    name: str = ""
    shape: tuple[int, ...] = ()

    def __init__(self, content: bytearray | memoryview, order: str) -> None:
        self.left, self.order = memoryview(content), order
        flags = self._next()[1]
        if len(flags) != 8:
            raise ValueError("a variable has no flags")
        word = int(np.frombuffer(flags, f"{order}u4")[0])
        self.kind = word & (0xFF | COMPLEX)
        if word & 0xFF not in range(1, 16):
            return  # a MATLAB object, which has another layout
        self.shape = tuple(np.frombuffer(self._next()[1], f"{order}i4").tolist())
        self.name = str(self._next()[1], "latin-1")
        if len(self.shape) < 2 or min(self.shape) < 0:
            raise ValueError(f"{self.name} announces shape {self.shape}")

    def _next(self) -> tuple[int, memoryview]:
        """Return (type, content) of the next element; short content is in the tag itself."""
        tag = self._take(8)
        kind, length = _tag(tag, self.order)
        if short := kind >> 16:  # two bytes of size, two of type, four of content
            if short > 4:
                raise ValueError(f"a short part of it has {short} bytes")
            return kind & 0xFFFF, tag[4 : 4 + short]
        content = self._take(length)
        self.left = self.left[-length % 8 :]  # padding, which the last element may lack
        return kind, content

    def _take(self, n: int) -> memoryview:
        if n > len(self.left):
            raise ValueError(f"it announces {n} bytes but {len(self.left)} are left")
        taken, self.left = self.left[:n], self.left[n:]
        return taken

    def values(self) -> NDArray[Any]:
        """Return numbers as an array, text as an array with one str per row, cells as their texts."""
        count = int(np.prod(self.shape, dtype=object))
        if self.kind == CELL:
            if count > len(self.left) // 8:
                raise ValueError(f"{self.name} announces {count} cells in {len(self.left)} bytes")
            return np.array([self._cell() for _ in range(count)], dtype=str)
        if self.kind != CHAR and self.kind not in NUMBERS:
            raise ValueError(f"{self.name} is of class {self.kind}, expected numbers, text or cells")
        values = self._numbers()
        if self.kind == CHAR and not count:
            return np.array([""])
        if len(values) != count:
            raise ValueError(f"{self.name} announces shape {self.shape}, but holds {len(values)} values")
        values = values.reshape(self.shape, order="F")
        if self.kind in NUMBERS:
            return values
        return np.array([decode(row) for row in values.reshape(self.shape[0], -1)])

    def _numbers(self) -> NDArray[Any]:
        """Return the numbers of the next element; text in UTF-8 as the codes of its letters."""
        kind, content = self._next()
        if kind == UTF8:
            return np.array([ord(letter) for letter in str(content, "utf-8")], dtype=np.uint32)
        if kind not in STORED:
            raise ValueError(f"{self.name} holds values of type {kind}")
        return np.frombuffer(content, f"{self.order}{STORED[kind]}")

    def _cell(self) -> str:
        kind, content = self._next()
        if kind != MATRIX:
            raise ValueError(f"a cell is of type {kind}")
        values = _Variable(content, self.order).values() if content else np.empty(0)
        return str(values.ravel()[0]) if values.size else ""


def decode(codes: NDArray[Any]) -> str:
    """Return the text of character codes; ``ValueError`` if they are not text, or too long.

    >>> decode(np.array([98, 105, 114, 100]))
    'bird'
    """
    if len(codes) > LONGEST:
        raise ValueError(f"a name in it has {len(codes)} letters, expected at most {LONGEST}")
    wide = codes.dtype.itemsize > 2
    return codes.astype("<u4" if wide else "<u2").tobytes().decode("utf-32-le" if wide else "utf-16-le")
