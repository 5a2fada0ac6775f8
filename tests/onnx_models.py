"""Tiny ONNX models whose output is known by arithmetic, written when a test needs one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save

FLOAT = TensorProto.FLOAT


def write_model(
    path: Path,
    nodes: Sequence[Any],
    inputs: dict[str, tuple[int, Sequence[Any]]],
    outputs: dict[str, Sequence[Any]],
    constants: dict[str, np.ndarray] | None = None,
) -> Path:
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info(name, *kind) for name, kind in inputs.items()],
        [helper.make_tensor_value_info(name, FLOAT, shape) for name, shape in outputs.items()],
        [numpy_helper.from_array(array, name) for name, array in (constants or {}).items()],
    )
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)], ir_version=8
    )
    save(model, path)
    return path


def mean_backbone(path: Path, shape: Sequence[Any] = ("batch", 3, "height", "width")) -> Path:
    """Features = mean and largest value of each channel: six numbers, channels first or last."""
    axes = [2, 3] if shape[1] == 3 else [1, 2]
    nodes = [
        helper.make_node("ReduceMean", ["pixels"], ["mean"], axes=axes, keepdims=0),
        helper.make_node("ReduceMax", ["pixels"], ["max"], axes=axes, keepdims=0),
        helper.make_node("Concat", ["mean", "max"], ["features"], axis=1),
    ]
    return write_model(path, nodes, {"pixels": (FLOAT, shape)}, {"features": [shape[0], 6]})


def map_backbone(path: Path) -> Path:
    """Two outputs: the pixels themselves as a map, and as a sequence of tokens (batch, places, 3)."""
    nodes = [
        helper.make_node("Identity", ["pixels"], ["map"]),
        helper.make_node("Reshape", ["pixels", "flat"], ["rows"]),
        helper.make_node("Transpose", ["rows"], ["tokens"], perm=[0, 2, 1]),
    ]
    shape = ["batch", 3, "height", "width"]
    return write_model(
        path,
        nodes,
        {"pixels": (FLOAT, shape)},
        {"map": shape, "tokens": ["batch", "places", 3]},
        {"flat": np.array([0, 3, -1], dtype=np.int64)},
    )
