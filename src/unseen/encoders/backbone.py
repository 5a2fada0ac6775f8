"""An image network in ONNX format as a function from pixels to features."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unseen._core.blocks import FloatArray
from unseen.encoders._onnx import (
    Node,
    Session,
    find_named,
    find_output,
    open_session,
    run_session,
    signature,
)
from unseen.errors import UnseenError

Floats = NDArray[np.float32]
CHANNEL_AXIS = {"NCHW": 1, "NHWC": 3}


class Backbone:
    """An image network in ONNX format; what it takes and gives is read from the file.

    Parameters
    ----------
    file : path of the ONNX file
    input, output : str, optional
        Names in the model. By default its one input with four dimensions; its first output with two
        dimensions, or else its first output, which is then averaged over positions.
    size : int, optional
        Height and width of the input; needed only where the model leaves them open and 224 is wrong.
    layout : "NCHW" or "NHWC", optional
        Where the channels are; by default the dimension that is 3, NCHW if the model leaves that open.
    provider : str
        Execution provider of ONNX Runtime, as ``"cpu"`` or ``"cuda"``.
    threads : int, optional
        Threads of the computation; ONNX Runtime's own choice by default.
    """

    def __init__(
        self,
        file: str | os.PathLike[str],
        *,
        input: str | None = None,
        output: str | None = None,
        size: int | None = None,
        layout: str | None = None,
        provider: str = "cpu",
        threads: int | None = None,
    ) -> None:
        self.file = Path(file)
        self.session = open_session(self.file, provider, threads)
        entry = _find_input(self.session, input, self.file)
        self.input, self.shape = entry.name, tuple(entry.shape)
        self.dtype = np.float16 if entry.type == "tensor(float16)" else np.float32
        self.output = find_output(self.session, output, self.file)
        self.layout = _find_layout(self.shape, layout, self.file)
        self.size = self._find_size(size)

    def _find_size(self, size: int | None) -> int:
        height, width = self.shape[2:] if self.layout == "NCHW" else self.shape[1:3]
        fixed = {side for side in (height, width) if isinstance(side, int)}
        if len(fixed | ({size} - {None})) > 1:
            wanted = "a square" if size is None else f"{size} x {size}"
            raise UnseenError(f"{self.file.name} takes images of {height} x {width}, expected {wanted}.")
        return fixed.pop() if fixed else size or 224

    def __call__(self, pixels: Floats) -> Floats:
        """Return the features (images, width) of an array (images, 3, size, size)."""
        batch = self.shape[0]
        if not isinstance(batch, int):
            return self._run(pixels)
        rows = [self._run_padded(pixels[i : i + batch], batch) for i in range(0, len(pixels), batch)]
        return np.concatenate(rows)

    def describe(self) -> dict[str, str]:
        """Return what determines the features: name and checksum of the file, input, output and layout."""
        with open(self.file, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        names = {"input": self.input, "output": self.output, "layout": self.layout}
        return {"backbone": self.file.name, "sha256": digest, **names}

    def _run_padded(self, pixels: Floats, batch: int) -> Floats:
        """Run a model with a fixed batch size: pad with black images, drop their rows."""
        missing = batch - len(pixels)
        return self._run(np.pad(pixels, [(0, missing), (0, 0), (0, 0), (0, 0)]))[: len(pixels)]

    def _run(self, pixels: Floats) -> Floats:
        if self.layout == "NHWC":
            pixels = np.ascontiguousarray(pixels.transpose(0, 2, 3, 1))
        fed = {self.input: pixels.astype(self.dtype, copy=False)}
        found = run_session(self.session, self.file, self.output, fed)
        return _pool(found, self.layout).astype(np.float32, copy=False)


def _find_input(session: Session, name: str | None, file: Path) -> Node:
    entries = session.get_inputs()
    if name is not None:
        entries = [find_named(entries, name, f"{file.name} has no input")]
    floats = ("tensor(float)", "tensor(float16)")
    images = [entry for entry in entries if entry.type in floats and len(entry.shape) == 4]
    if len(images) != 1:
        raise UnseenError(
            f"{file.name} takes {signature(entries)}, expected one input for images: floats of shape "
            "(batch, 3, height, width) or (batch, height, width, 3). Give an image backbone."
        )
    return images[0]


def _find_layout(shape: Sequence[int | str | None], layout: str | None, file: Path) -> str:
    """Return where the channels are: the dimension that is 3, else the first one that is open."""
    wanted = [layout] if layout else list(CHANNEL_AXIS)
    certain = [name for name in wanted if shape[CHANNEL_AXIS[name]] == 3]
    possible = [name for name in wanted if not isinstance(shape[CHANNEL_AXIS[name]], int)]
    if not certain + possible:
        raise UnseenError(
            f"{file.name} takes an input of shape {tuple(shape)}, expected three color channels "
            f"as {' or '.join(wanted)}."
        )
    return (certain + possible)[0]


def _pool(found: FloatArray, layout: str) -> FloatArray:
    """Return (batch, width): a map is averaged over its positions, a sequence over its tokens."""
    if found.ndim == 4:
        return np.asarray(found.mean(axis=(2, 3) if layout == "NCHW" else (1, 2)))
    if found.ndim == 3:
        return np.asarray(found.mean(axis=1))
    return found.reshape(len(found), -1)
