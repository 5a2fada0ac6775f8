"""MATLAB files of version 5, as far as data sets need them: numbers, text, and cells of either.

It exists because SciPy's reader trusts the file, and some damaged files crash the process. Here every size
that a file announces is checked against what is there before anything is read or allocated.

A file is a header and a sequence of elements: a tag (type, size in bytes), then the content, padded to 8
bytes. A variable is an element of type MATRIX, or a COMPRESSED one that holds it. Its parts are elements too:
flags, dimensions, name, and then the values, or one MATRIX for each cell.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from io import BufferedReader
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen._core.npz import LONGEST, MOST_COMPRESSION, check_fits

HEADER = 128
CHUNK = 2**14  # bytes that are inflated at a time, to at most 1032 times as many
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
        if file.read(HEADER)[126:128] != b"IM":  # "MI" in files of the big-endian machines of the past
            raise ValueError("it has no little-endian header of version 5")
        while (start := file.tell()) < size:
            kind, length = _tag(file.read(8))
            if kind not in (MATRIX, COMPRESSED) or length > size - file.tell():
                raise ValueError(f"it holds {length} bytes of type {kind} at byte {start}")
            variable = _Variable(_read(file, length) if kind == MATRIX else _inflate(file, length))
            if variable.name in names:
                found[variable.name] = variable.values()
    return found


def _tag(content: bytes | bytearray | memoryview) -> tuple[int, int]:
    """Return (type, size)."""
    if len(content) < 8:
        raise ValueError("it ends too early")
    kind, length = np.frombuffer(content, "<u4", 2).tolist()
    return kind, length


def _read(file: BufferedReader, length: int) -> bytearray:
    """Return the content of the variable that starts here."""
    check_fits(length, "A variable in it")
    content = bytearray(length)
    file.readinto(content)
    return content


def _inflate(file: BufferedReader, length: int) -> bytearray:
    """Do the same for a deflated variable, whose checksum is verified at its end."""
    stream, end = zlib.decompressobj(), file.tell() + length
    content = bytearray(stream.decompress(file.read(min(CHUNK, length))))
    kind, size = _tag(content)
    if kind != MATRIX or size > MOST_COMPRESSION * length:
        raise ValueError(f"it announces {size} bytes of type {kind}, but only {length} are left")
    check_fits(size, "A variable in it")
    del content[:8]
    while file.tell() < end and len(content) <= size:
        content += stream.decompress(file.read(min(CHUNK, end - file.tell())))
    if len(content) != size or not stream.eof:
        raise ValueError("a deflated part of it has another size than announced")
    return content


def _elements(content: memoryview) -> Iterator[tuple[int, memoryview]]:
    """Yield (type, content) of each element; to ask for more than there are is a ``ValueError``."""
    while True:
        kind, length = _tag(content)
        start, end = 8, 8 + length
        if short := kind >> 16:  # two bytes of size, two of type, four of content: all in the tag itself
            kind, start, end = kind & 0xFFFF, 4, 4 + short
        if end > (8 if short else len(content)):
            raise ValueError(f"it announces {end - start} bytes, more than are left")
        yield kind, content[start:end]
        content = content[end + -end % 8 :]  # padding, which the last element may lack


class _Variable:
    """A variable whose head is read: flags, dimensions and name; ``elements`` yields its others."""

    name: str = ""

    def __init__(self, content: bytearray | memoryview) -> None:
        self.elements = _elements(memoryview(content))
        _, flags = next(self.elements)
        word = int.from_bytes(flags[:4], "little")
        self.kind = word & (0xFF | COMPLEX)
        if word & 0xFF not in range(1, 16):
            return  # a MATLAB object, which has another layout
        _, dimensions = next(self.elements)
        self.shape = tuple(np.frombuffer(dimensions, "<i4").tolist())
        self.name = str(next(self.elements)[1], "latin-1")
        if len(self.shape) < 2 or min(self.shape) < 0:
            raise ValueError(f"{self.name} announces shape {self.shape}")

    def values(self) -> NDArray[Any]:
        """Return numbers as an array, text as an array with one str per row, cells as their texts."""
        if self.kind == CELL:
            return np.array([_cell(next(self.elements)[1]) for _ in range(prod(self.shape))], dtype=str)
        if self.kind != CHAR and self.kind not in NUMBERS:
            raise ValueError(f"{self.name} is of class {self.kind}, expected numbers, text or cells")
        values = _stored(*next(self.elements))
        if self.kind == CHAR and 0 in self.shape:
            return np.array([""])
        values = values.reshape(self.shape, order="F")
        if self.kind in NUMBERS:
            return values
        return np.array([decode(row) for row in values.reshape(self.shape[0], -1)])


def _stored(kind: int, content: memoryview) -> NDArray[Any]:
    """Return the numbers in an element; text in UTF-8 as the codes of its letters."""
    if kind == UTF8:
        return np.array([ord(letter) for letter in str(content, "utf-8")], dtype=np.uint32)
    if kind not in STORED:
        raise ValueError(f"it holds values of type {kind}")
    return np.frombuffer(content, f"<{STORED[kind]}")


def _cell(content: memoryview) -> str:
    """Return the text of a cell; the first one, if it holds several."""
    values = _Variable(content).values() if content else np.empty(0)
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
