"""What image backbones and text encoders share: opening an ONNX file and running it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from unseen._core.blocks import FloatArray
from unseen.errors import UnseenError, did_you_mean, import_extra, one_line

if TYPE_CHECKING:
    from onnxruntime import InferenceSession, NodeArg


def open_session(file: Path, threads: int | None = None) -> InferenceSession:
    """Return an ONNX Runtime session for a model file."""
    onnxruntime = import_extra("onnxruntime", "images", "Running an ONNX model")
    if not file.is_file():
        raise UnseenError(f"There is no file {str(file)!r}. Give the path of a model in ONNX format.")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4  # errors are raised, no need to print them as well
    options.intra_op_num_threads = threads or 0
    try:
        session = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
        signature([*session.get_inputs(), *session.get_outputs()])  # fails if a name is not valid text
        if not session.get_outputs():
            raise ValueError("it has no output")
        return session
    except Exception as error:  # ONNX Runtime has one exception class per status code
        raise UnseenError(f"{str(file)!r} is not a model that can be run: {one_line(error)}") from error


def run_session(
    session: InferenceSession, file: Path, output: str, fed: Mapping[str, NDArray[np.generic]]
) -> FloatArray:
    """Return one output of a model; lack of memory is a ``MemoryError``, anything else an ``UnseenError``."""
    try:
        found: FloatArray = session.run([output], fed)[0]
        return found
    except Exception as error:  # one exception class per status code
        if "alloc" in str(error):
            raise MemoryError(str(error)) from error
        shapes = ", ".join(f"{name} {array.shape}" for name, array in fed.items())
        raise UnseenError(f"{file.name} cannot run on {shapes}: {one_line(error)}") from error


def find_output(session: InferenceSession, name: str | None, file: Path) -> str:
    """Return the output of this name; by default the first with two dimensions, or else the first."""
    shapes: dict[str, list[object]] = {entry.name: entry.shape for entry in session.get_outputs()}
    if name is None:
        return next((known for known, shape in shapes.items() if len(shape) == 2), next(iter(shapes)))
    if name not in shapes:
        near = did_you_mean(name, shapes)
        raise UnseenError(f"{file.name} has no output {name!r}, only {', '.join(shapes)}.{near}")
    return name


def find_batch(entry: NodeArg, file: Path) -> int | None:
    """Return how many images or texts a model takes at once; None if that is open.

    A dynamically quantized model gets one: it scales its activations by all that it sees together.
    """
    size = entry.shape[0]
    if isinstance(size, int) and size > 0:
        return size
    with open(file, "rb") as opened, mmap(opened.fileno(), 0, access=ACCESS_READ) as content:
        return 1 if content.find(b"DynamicQuantize") >= 0 else None  # in the names of such operators


def signature(entries: Iterable[NodeArg]) -> str:
    """Return names, types and shapes of inputs or outputs, for messages."""
    return ", ".join(f"{entry.name} ({entry.type}, shape {tuple(entry.shape)})" for entry in entries)
