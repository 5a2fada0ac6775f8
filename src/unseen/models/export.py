"""A fitted model as what it is, one linear layer: for ONNX runtimes or plain arrays, without this package."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from unseen import __version__
from unseen._core.blocks import FloatArray
from unseen._core.files import atomic_path, write_npz
from unseen.errors import UnseenError


@dataclass(frozen=True, eq=False)
class LinearLayer:
    """The classifier of a fitted model: ``scores = scaled(X) @ coef.T + intercept``, gamma included.

    ``normalize`` says how samples are scaled first: ``"l2"`` to unit length, ``None`` not at all.
    """

    coef: FloatArray  # (classes, features)
    intercept: FloatArray  # (classes,)
    classes: NDArray[Any]  # (classes,)
    seen: NDArray[np.bool_]  # (classes,)
    normalize: str | None

    @classmethod
    def of(cls, model: Any) -> Self:
        """Return the layer of a fitted method or of a fitted GZSLClassifierCV."""
        estimator = getattr(model, "estimator_", model)
        if not hasattr(estimator, "coef_"):
            raise UnseenError(
                f"{type(estimator).__name__} is not a fitted linear model: only those are exported."
            )
        return cls(model.coef_, model.intercept_, model.classes_, model.seen_, estimator.normalize)


def export(model: Any, path: str | PathLike[str], format: str) -> None:
    """Write the calibrated classifier as a layer that needs nothing of this package.

    Parameters
    ----------
    model : fitted method or fitted GZSLClassifierCV
    path : path
    format : {"onnx", "npz"}
        ``onnx``: input ``features`` (batch, features), outputs ``scores`` (batch, classes) and ``label``
        (batch,), the position in the class names, which are in the metadata under ``classes`` as JSON.
        ``npz``: arrays ``coef``, ``intercept``, ``classes``, ``seen`` and ``normalize`` ("l2" or "").
    """
    writers = {"onnx": _write_onnx, "npz": _write_npz}
    if format not in writers:
        raise UnseenError(f"Got format={format!r}, but expected one of {', '.join(writers)}.")
    writers[format](LinearLayer.of(model), Path(path))


def _write_npz(layer: LinearLayer, path: Path) -> None:
    write_npz(
        path,
        coef=layer.coef,
        intercept=layer.intercept,
        classes=layer.classes,
        seen=layer.seen,
        normalize=np.array(layer.normalize or ""),
    )


# ---- ONNX ----------------------------------------------------------------------------------------------
# An ONNX file is a protocol buffer. The one graph that is needed here takes fewer lines than depending on
# a package for it: a message is a row of fields, a field is its number, its kind and its value.

FLOAT, INT64 = 1, 7  # ONNX element types
IR_VERSION, OPSET = 8, 17


def _write_onnx(layer: LinearLayer, path: Path) -> None:
    words = {
        "classes": json.dumps(layer.classes.tolist()),
        "seen": json.dumps(layer.seen.tolist()),
        "normalize": layer.normalize or "",
    }
    with atomic_path(path) as temporary:
        temporary.write_bytes(_model(_graph(layer), words))


def _graph(layer: LinearLayer) -> bytes:
    n_classes, n_features = layer.coef.shape
    scaled = "features" if layer.normalize is None else "unit"
    nodes = [
        *([] if layer.normalize is None else _unit_length()),
        # scores = x coef' + intercept
        _node("Gemm", [scaled, "coef", "intercept"], "scores", transB=1),
        _node("ArgMax", ["scores"], "label", axis=1, keepdims=0),
    ]
    constants = {
        "coef": layer.coef,
        "intercept": layer.intercept,
        "tiny": np.finfo(np.float32).tiny,
    }
    return b"".join(
        [
            *(_field(1, node) for node in nodes),
            _field(2, "unseen"),
            *(_field(5, _tensor(name, array)) for name, array in constants.items()),
            _field(11, _value("features", FLOAT, ["batch", n_features])),
            _field(12, _value("scores", FLOAT, ["batch", n_classes])),
            _field(12, _value("label", INT64, ["batch"])),
        ]
    )


def _unit_length() -> list[bytes]:
    """Return the nodes x / max|x|, then x / ||x||, where zero rows stay zero; as ``base.scale_rows``."""
    return [
        _node("Abs", ["features"], "absolute"),
        _node("ReduceMax", ["absolute"], "peak", axes=[1], keepdims=1),
        _node("Max", ["peak", "tiny"], "largest"),
        _node("Div", ["features", "largest"], "bounded"),
        _node("ReduceL2", ["bounded"], "length", axes=[1], keepdims=1),
        _node("Max", ["length", "tiny"], "norm"),
        _node("Div", ["bounded", "norm"], "unit"),
    ]


def _model(graph: bytes, words: Mapping[str, str]) -> bytes:
    entries = [_field(14, _field(1, key) + _field(2, value)) for key, value in words.items()]
    opset = _field(1, "") + _field(2, OPSET)
    producer = _field(2, "unseen") + _field(3, __version__)
    return b"".join([_field(1, IR_VERSION), producer, _field(7, graph), _field(8, opset), *entries])


def _node(kind: str, inputs: Sequence[str], output: str, **attributes: int | list[int]) -> bytes:
    ends = b"".join(_field(1, name) for name in inputs) + _field(2, output) + _field(4, kind)
    return ends + b"".join(_field(5, _attribute(name, value)) for name, value in attributes.items())


def _attribute(name: str, value: int | list[int]) -> bytes:
    if isinstance(value, int):
        return _field(1, name) + _field(3, value) + _field(20, 2)
    return _field(1, name) + b"".join(_field(8, item) for item in value) + _field(20, 7)


def _tensor(name: str, array: Any) -> bytes:
    array = np.asarray(array, dtype="<f4")
    dims = b"".join(_field(1, side) for side in array.shape)
    return dims + _field(2, FLOAT) + _field(8, name) + _field(9, array.tobytes())


def _value(name: str, kind: int, shape: Sequence[int | str]) -> bytes:
    sides = [_field(1, _field(1 if isinstance(side, int) else 2, side)) for side in shape]
    tensor = _field(1, kind) + _field(2, b"".join(sides))
    return _field(1, name) + _field(2, _field(1, tensor))


def _field(number: int, value: int | str | bytes) -> bytes:
    """Return one field of a protocol buffer: integers as varints, everything else with its length."""
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    content = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    """Return an integer in groups of seven bits, the lowest first; the top bit says that more follow.

    >>> _varint(300).hex()
    'ac02'
    """
    groups = []
    while value > 0x7F:
        groups.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*groups, value])
