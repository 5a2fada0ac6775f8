"""MATLAB v5 files written byte by byte, whole or wrong."""

from __future__ import annotations

import struct
import zlib

import numpy as np


def deflated(content: bytes) -> bytes:
    packed = zlib.compress(content)
    return struct.pack("<II", 15, len(packed)) + packed


def element(kind: int, content: bytes) -> bytes:
    return struct.pack("<II", kind, len(content)) + content + bytes(-len(content) % 8)


def header() -> bytes:
    return bytes(124) + struct.pack("<H", 0x0100) + b"IM"


def huge(values: np.ndarray, shape: tuple[int, int]) -> bytes:
    """Return a variable whose dimensions say more than it holds."""
    return variable("x", values).replace(struct.pack("<2i", *values.shape), struct.pack("<2i", *shape), 1)


def variable(name: str, values: np.ndarray) -> bytes:
    """Return an element with a variable of doubles."""
    parts = [
        element(6, struct.pack("<II", 6, 0)),
        element(5, struct.pack(f"<{values.ndim}i", *values.shape)),
        element(1, name.encode()),
        element(9, values.astype("<f8").tobytes(order="F")),
    ]
    return element(14, b"".join(parts))
