"""MATLAB v5 files written byte by byte, whole or wrong."""

from __future__ import annotations

import struct
import zlib

import numpy as np


def deflated(content: bytes) -> bytes:
    packed = zlib.compress(content)
    return struct.pack("<II", 15, len(packed)) + packed


def element(kind: int, content: bytes, order: str) -> bytes:
    return struct.pack(f"{order}II", kind, len(content)) + content + bytes(-len(content) % 8)


def header(order: str = "<") -> bytes:
    return bytes(124) + struct.pack(f"{order}H", 0x0100) + (b"IM" if order == "<" else b"MI")


def huge(values: np.ndarray, shape: tuple[int, int]) -> bytes:
    """Return a variable whose dimensions say more than it holds."""
    return variable("x", values).replace(struct.pack("<2i", *values.shape), struct.pack("<2i", *shape), 1)


def variable(name: str, values: np.ndarray, order: str = "<") -> bytes:
    """Return an element with a variable of doubles."""
    parts = [
        element(6, struct.pack(f"{order}II", 6, 0), order),
        element(5, struct.pack(f"{order}{values.ndim}i", *values.shape), order),
        element(1, name.encode(), order),
        element(9, values.astype(f"{order}f8").tobytes(order="F"), order),
    ]
    return element(14, b"".join(parts), order)
