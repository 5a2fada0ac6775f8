"""What image backbones and text encoders share: opening an ONNX file and finding its inputs by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from unseen._core.blocks import FloatArray
from unseen.errors import UnseenError, did_you_mean, import_extra, one_line

Tensor = NDArray[np.generic]


class Node(Protocol):
    """An input or output of a model; an open dimension of its shape is a name or None."""

    name: str
    type: str
    shape: Sequence[int | str | None]


class Session(Protocol):
    """A model that ONNX Runtime has loaded."""

    def get_inputs(self) -> Sequence[Node]: ...

    def get_outputs(self) -> Sequence[Node]: ...

    def run(self, names: Sequence[str], fed: Mapping[str, Tensor]) -> Sequence[FloatArray]: ...


def open_session(file: Path, provider: str = "cpu", threads: int | None = None) -> Session:
    """Return an ONNX Runtime session for a model file."""
    onnxruntime = import_extra("onnxruntime", "images", "Running an ONNX model")
    if not file.is_file():
        raise UnseenError(f"There is no file {str(file)!r}. Give the path of a model in ONNX format.")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4  # errors are raised, no need to print them as well
    options.intra_op_num_threads = threads or 0
    name = _find_provider(provider, onnxruntime.get_available_providers())
    try:
        session: Session = onnxruntime.InferenceSession(
            str(file), options, providers=[name], enable_fallback=0
        )
        signature([*session.get_inputs(), *session.get_outputs()])  # fails if a name is not valid text
        if not session.get_outputs():
            raise ValueError("it has no output")
        return session
    except Exception as error:  # ONNX Runtime has one exception class per status code
        raise UnseenError(f"{str(file)!r} is not a model that can be run: {one_line(error)}") from error


def run_session(session: Session, file: Path, output: str, fed: Mapping[str, Tensor]) -> FloatArray:
    """Return one output of a model; lack of memory is a ``MemoryError``, anything else an ``UnseenError``."""
    try:
        return session.run([output], fed)[0]
    except Exception as error:  # one exception class per status code
        if "alloc" in str(error):
            raise MemoryError(str(error)) from error
        shapes = ", ".join(f"{name} {array.shape}" for name, array in fed.items())
        raise UnseenError(f"{file.name} cannot run on {shapes}: {one_line(error)}") from error


def find_output(session: Session, name: str | None, file: Path) -> str:
    """Return the output of this name; by default the first with two dimensions, or else the first."""
    entries = session.get_outputs()
    if name is not None:
        return find_named(entries, name, f"{file.name} has no output").name
    return next((entry for entry in entries if len(entry.shape) == 2), entries[0]).name


def find_named(entries: Iterable[Node], name: str, problem: str) -> Node:
    """Return the input or output of this name."""
    known = {entry.name: entry for entry in entries}
    if name not in known:
        raise UnseenError(f"{problem} {name!r}, only {', '.join(known)}.{did_you_mean(name, known)}")
    return known[name]


def signature(entries: Iterable[Node]) -> str:
    """Return names, types and shapes of inputs or outputs, for messages."""
    return ", ".join(f"{entry.name} ({entry.type}, shape {tuple(entry.shape)})" for entry in entries)


def _find_provider(name: str, available: Sequence[str]) -> str:
    short = {full.removesuffix("ExecutionProvider").lower(): full for full in available}
    wanted = name.lower().removesuffix("executionprovider")
    if wanted not in short:
        raise UnseenError(
            f"Unknown execution provider {name!r}: this ONNX Runtime has {', '.join(short)}."
            f"{did_you_mean(wanted, short)}"
        )
    return short[wanted]
