"""The format of model files: arrays in safetensors, everything else as JSON in the header.

Reading one executes no code and imports no method.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen import __version__
from unseen._core.files import atomic_path
from unseen._core.hub import HUB_PREFIX
from unseen.errors import UnseenError, rephrase_errors

FORMAT = "unseen model"
VERSION = 2  # of the format; files of version 1, from before the first release, are rejected
Tensors = dict[str, NDArray[Any]]
State = dict[str, Any]  # JSON values


def write_file(state: State, tensors: Tensors, path: str | PathLike[str]) -> None:
    """Write JSON values and arrays as a model file."""
    from safetensors import SafetensorError
    from safetensors.numpy import save_file

    text = json.dumps(state)
    tensors = {name: np.ascontiguousarray(array) for name, array in tensors.items()}
    header = {"format": FORMAT, "version": str(VERSION), "written_by": f"unseen {__version__}"}
    header |= {"model": text, "sha256": checksum(text, tensors)}
    with atomic_path(path) as temporary:
        try:
            save_file(tensors, temporary, header)
        except SafetensorError as error:  # a full disk, for instance
            raise OSError(str(error)) from error


@contextmanager
def read_file(path: str | PathLike[str]) -> Iterator[tuple[State, Tensors]]:
    """Yield the JSON values and the arrays of a model file, or of ``hf:owner/name[@revision]``.

    Whatever goes wrong with them is an error of the file.
    """
    if str(path).startswith(HUB_PREFIX):
        from unseen.models.hub import fetch_model

        path = fetch_model(str(path))
    text, tensors = _read(Path(path))
    with rephrase_errors(f"{str(path)!r} is not a complete model"):
        yield json.loads(text), tensors


def is_model(path: str | PathLike[str]) -> bool:
    """Return whether a file is a model of this package, of any version; only its header is read."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as file:
            return (file.metadata() or {}).get("format") == FORMAT
    except (SafetensorError, OSError):
        return False


def _read(path: Path) -> tuple[str, Tensors]:
    """Return the JSON and the arrays of a model file after checking that it is one and not damaged."""
    from safetensors import safe_open

    if not path.is_file():
        raise UnseenError(
            f"There is no model file {str(path)!r}. Write one with: unseen fit DATA --model {path}"
        )
    not_a_model = rephrase_errors(f"{str(path)!r} is not a model file of unseen")
    with not_a_model, safe_open(path, framework="numpy") as file:
        header = file.metadata() or {}
        _check_header(header, path)
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    text = header.get("model", "")
    if header.get("sha256") != checksum(text, tensors):
        raise UnseenError(f"{str(path)!r} is damaged: its checksum does not match. Write the model again.")
    return text, tensors


def _check_header(header: Mapping[str, str], path: Path) -> None:
    if header.get("format") != FORMAT:
        raise UnseenError(f"{str(path)!r} is a safetensors file, but not a model of unseen.")
    if header.get("version") != str(VERSION):
        raise UnseenError(
            f"{str(path)!r} has format {header.get('version')}, expected {VERSION}: it is a file of "
            f"{header.get('written_by')}, not {__version__}. Load it with that version, or fit it again."
        )


def checksum(text: str, tensors: Tensors) -> str:
    """Return the sha256 of everything in a model file that determines the model."""
    digest = hashlib.sha256(text.encode())
    for name in sorted(tensors):
        array = tensors[name]
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


# ---- what a fitted method holds --------------------------------------------------------------------------


def fitted_attributes(state: State, tensors: Tensors) -> dict[str, Any]:
    """Return the fitted attributes of a method by name; raise if they do not fit together."""
    fitted = {name: np.array(v) if isinstance(v, list) else v for name, v in state["fitted"].items()}
    fitted |= {n.removeprefix("model/"): v for n, v in tensors.items() if n.startswith("model/")}
    strange = [name for name in fitted if not is_fitted_name(name)]
    if strange:
        raise ValueError(f"{strange[0]} is not a fitted attribute")
    n_classes, n_attributes = len(fitted["classes_"]), fitted["prototypes_"].shape[-1]
    shapes = {
        "classes_": (n_classes,),
        "seen_": (n_classes,),
        "prototypes_": (n_classes, n_attributes),
        "coef_": (n_classes, fitted["n_features_in_"]),
        "intercept_": (n_classes,),
    }
    if "attribute_names_" in fitted:
        shapes["attribute_names_"] = (n_attributes,)
    for name, shape in shapes.items():
        array = fitted[name]
        if array.shape != shape or 0 in shape:
            raise ValueError(f"{name} has shape {array.shape}, expected {shape}")
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise ValueError(f"{name} holds values that are not finite")
    if fitted["seen_"].dtype != bool:
        raise ValueError("seen_ does not say which classes were seen")
    return fitted


def is_fitted_name(name: str) -> bool:
    """Return whether an attribute of this name is fitted."""
    return name.endswith("_") and not name.startswith("_")


def number_arrays(state: State, length: int, *names: str) -> list[Any]:
    """Return some arrays of numbers, all of one length."""
    found = [np.array(state[name]) for name in names]
    if any(array.shape != (length,) or array.dtype.kind not in "if" for array in found):
        raise ValueError("the held-out figures are not complete")
    return found
