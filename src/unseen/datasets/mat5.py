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
CHUNK = 2**16
MATRIX, COMPRESSED = 14, 15
# how values are stored: type of an element -> NumPy type; the last two are text in UTF-8 and UTF-16
STORED = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
STORED |= {16: "u1", 17: "u2"}
UTF8 = 16
# classes of a variable; numbers are stored in the smallest type that holds them, whatever their class is
CELL, CHAR, NUMBERS = 1, 4, range(6, 16)
COMPLEX = 0x800  # flag


def read_mat5(path: Path, names: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Return those of the named variables that the file has; ``ValueError`` or ``zlib.error`` if damaged."""
    found = {}
    with open(path, "rb") as file:
        size = path.stat().st_size
        header = file.read(HEADER)
        order = {b"IM": "<", b"MI": ">"}.get(header[126:128])
        if order is None:
            raise ValueError("it has no header of version 5")
        while (start := file.tell()) < size:
            kind, length, _ = _Plain(file, size - start).tag(order)
            if kind not in (MATRIX, COMPRESSED) or length > size - file.tell():
                raise ValueError(f"it holds {length} bytes of type {kind} at byte {start}")
            name, value = _variable(file, kind, length, order, names)
            if value is not None:
                found[name] = value
            file.seek(start + 8 + length)
    return found


def _variable(
    file: BufferedReader, kind: int, length: int, order: str, names: Sequence[str]
) -> tuple[str, NDArray[Any] | None]:
    """Return (name, value) of the variable that starts here; no value if its name was not asked for."""
    source: _Source = _Plain(file, length)
    if kind == COMPRESSED:
        source = _Inflated(file, length)
        kind, length, _ = source.tag(order)
        source.keep(length)
    if kind != MATRIX:
        raise ValueError(f"it holds a variable of type {kind}")
    head = _Head(source, order)
    if head.name not in names:
        return head.name, None
    value = _values(source, order, head)
    source.finish()
    return head.name, value


class _Source:
    """Bytes that are read in order, never more than ``left``."""

    left: int

    def read(self, n: int) -> bytearray:
        """Return the next n bytes."""
        if n > self.left:
            raise ValueError(f"it announces {n} bytes but {self.left} are left")
        check_fits(n, "A variable in it")
        self.left -= n
        return self._read(n)

    def _read(self, n: int) -> bytearray:
        raise NotImplementedError

    def keep(self, n: int) -> int:
        """Let no more than n bytes be left; returns how many are left beyond them."""
        if n > self.left:
            raise ValueError(f"it announces {n} bytes but {self.left} are left")
        beyond, self.left = self.left - n, n
        return beyond

    def skip(self) -> None:
        """Pass over what is left."""
        while self.left:
            self.read(min(self.left, CHUNK))

    def finish(self) -> None:
        """Reject content that is not what was written, as far as that can be checked."""

    def tag(self, order: str) -> tuple[int, int, bytearray]:
        """Return (type, bytes, content); short content is in the tag itself, longer content follows."""
        first = self.read(8)
        word = int(np.frombuffer(first, f"{order}u4")[0])
        if word >> 16:  # short: two bytes of size, two of type, four of content
            if word >> 16 > 4:
                raise ValueError(f"a short part of it has {word >> 16} bytes")
            return word & 0xFFFF, word >> 16, first[4:]
        return word, int(np.frombuffer(first, f"{order}u4")[1]), bytearray()

    def part(self, order: str) -> tuple[int, bytearray]:
        """Return (type, content) of the next element, without its padding."""
        kind, length, content = self.tag(order)
        if content:
            return kind, content[:length]
        content = self.read(length)
        self.read(min(-length % 8, self.left))  # the last element may lack it
        return kind, content


class _Plain(_Source):
    """Bytes of a file."""

    def __init__(self, file: BufferedReader, left: int) -> None:
        self.file, self.left = file, left

    def _read(self, n: int) -> bytearray:
        content = bytearray(n)
        if self.file.readinto(content) < n:
            raise ValueError("it ends too early")
        return content


class _Inflated(_Source):
    """Bytes of a deflated part of a file, inflated as they are asked for."""

    def __init__(self, file: BufferedReader, length: int) -> None:
        self.file, self.length = file, length
        self.left = MOST_COMPRESSION * length
        self.stream = zlib.decompressobj()

    def _read(self, n: int) -> bytearray:
        content = bytearray(n)
        done = 0
        while done < n:
            block = self.stream.decompress(self._deflated(), min(n - done, CHUNK))
            if not block and (self.stream.eof or not (self.length or self.stream.unconsumed_tail)):
                raise ValueError("a deflated part of it ends too early")
            content[done : done + len(block)] = block
            done += len(block)
        return content

    def _deflated(self) -> bytes:
        if self.stream.unconsumed_tail:
            return self.stream.unconsumed_tail
        block = self.file.read(min(CHUNK, self.length))
        self.length -= len(block)
        return block

    def finish(self) -> None:
        """Read to the end, where the checksum is."""
        self.skip()
        while not self.stream.eof:
            content = self._deflated()
            if self.stream.decompress(content, CHUNK) or not content:
                raise ValueError("a deflated part of it has another size than announced")


class _Head:
    """The head of a variable: flags, dimensions and name."""

    shape: tuple[int, ...]

    def __init__(self, source: _Source, order: str) -> None:
        flags = source.part(order)[1]
        if len(flags) != 8:
            raise ValueError("a variable has no flags")
        word = int(np.frombuffer(flags, f"{order}u4")[0])
        self.kind, self.complex = word & 0xFF, bool(word & COMPLEX)
        self.shape, self.name, self.count = (), "", 0
        if self.kind not in range(1, 16):
            return  # a MATLAB object, which has another layout
        sizes = source.part(order)[1]
        self.shape = tuple(np.frombuffer(sizes, f"{order}i4").tolist())
        self.name = source.part(order)[1].decode("latin-1")
        if len(self.shape) < 2 or min(self.shape) < 0:
            raise ValueError(f"{self.name} announces shape {self.shape}")
        self.count = int(np.prod(self.shape, dtype=object))


def _values(source: _Source, order: str, head: _Head) -> NDArray[Any]:
    """Return numbers as an array, text as an array of str with one entry per row, cells as their texts."""
    if head.kind == CELL:
        return _cells(source, order, head)
    if head.kind == CHAR:
        return _decoded(source, order, head)
    if head.kind not in NUMBERS or head.complex:
        raise ValueError(f"{head.name} is of class {head.kind}, expected numbers, text or cells")
    kind, content = source.part(order)
    if kind not in STORED:
        raise ValueError(f"{head.name} holds values of type {kind}")
    return _shaped(np.frombuffer(content, f"{order}{STORED[kind]}"), head)


def _shaped(values: NDArray[Any], head: _Head) -> NDArray[Any]:
    if len(values) != head.count:
        raise ValueError(f"{head.name} announces shape {head.shape}, but holds {len(values)} values")
    return values.reshape(head.shape, order="F")


def _decoded(source: _Source, order: str, head: _Head) -> NDArray[np.str_]:
    kind, content = source.part(order)
    if kind == UTF8:
        codes = np.array([ord(letter) for letter in content.decode("utf-8")], dtype=np.uint32)
    elif kind in STORED:
        codes = np.frombuffer(content, f"{order}{STORED[kind]}")
    else:
        raise ValueError(f"{head.name} holds text of type {kind}")
    if not head.count:
        return np.array([""])
    letters = _shaped(codes, head).reshape(head.shape[0], -1)
    return np.array([decode(row) for row in letters])


def decode(codes: NDArray[Any]) -> str:
    """Return the text of character codes; ``ValueError`` if they are not text, or too long.

    >>> decode(np.array([98, 105, 114, 100]))
    'bird'
    """
    if len(codes) > LONGEST:
        raise ValueError(f"a name in it has {len(codes)} letters, expected at most {LONGEST}")
    wide = codes.dtype.itemsize > 2
    return codes.astype("<u4" if wide else "<u2").tobytes().decode("utf-32-le" if wide else "utf-16-le")


def _cells(source: _Source, order: str, head: _Head) -> NDArray[np.str_]:
    """Return the text of every cell, in the order of the file."""
    if head.count > source.left // 8:
        raise ValueError(f"{head.name} announces {head.count} cells in {source.left} bytes")
    return np.array([_cell_array(source, order) for _ in range(head.count)], dtype=str)


def _cell_array(source: _Source, order: str) -> str:
    kind, length, _ = source.tag(order)
    if kind != MATRIX:
        raise ValueError(f"a cell is of type {kind}")
    if not length:
        return ""
    beyond = source.keep(length)
    values = _values(source, order, _Head(source, order))
    source.skip()
    source.left = beyond
    return str(values.ravel()[0]) if values.size else ""
