"""The linear layer of a model as an ONNX graph, alone or behind the image network that feeds it.

Import this module only if the package ``onnx`` is known to be needed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, compose
from onnx.helper import (
    make_graph,
    make_model,
    make_node,
    make_opsetid,
    make_tensor_value_info,
    set_model_props,
)
from onnx.numpy_helper import from_array

from unseen import __version__
from unseen.errors import UnseenError, rephrase_errors
from unseen.models.export import LAYER_FORMAT

if TYPE_CHECKING:
    from unseen.models.export import ImageNetwork, LinearLayer

OLDEST_OPSET = 11  # the operators below mean the same from here on
OLDEST_IR = 6  # the oldest that may hold this opset
AXES_AS_INPUT = 18  # from this opset on, reductions take their axes as an input
MOST_BYTES = 2**31 - 1  # of a protocol buffer


def layer_model(layer: LinearLayer, softmax: bool = False) -> ModelProto:
    """Return the layer alone: features (batch, width) to scores (batch, classes) and label (batch,).

    With ``softmax`` there are probabilities (batch, classes), too.
    """
    features = make_tensor_value_info("features", TensorProto.FLOAT, ["batch", layer.coef.shape[1]])
    nodes = _layer(layer, OLDEST_OPSET, softmax)
    graph = make_graph(nodes, "unseen", [features], _outputs(layer, softmax))
    opset = make_opsetid("", OLDEST_OPSET)
    return _described(make_model(graph, opset_imports=[opset], ir_version=OLDEST_IR), layer, {})


def merged_model(network: ImageNetwork, layer: LinearLayer, softmax: bool = False) -> ModelProto:
    """Return network and layer in one: pixels as the network takes them to what the layer gives."""
    with rephrase_errors(f"{str(network.file)!r} is not an ONNX model"):
        backbone = onnx.load(network.file)
    opset = _opset(backbone)
    output = next(value for value in backbone.graph.output if value.name == network.output)
    shape = [side.dim_value or None for side in output.type.tensor_type.shape.dim]  # None: left open
    _check_width(network, shape, layer)
    with rephrase_errors(f"{network.file.name} cannot be joined with a classifier"):
        # With every name of the network prefixed, no other part can use the same one.
        merged = compose.add_prefix(backbone, "backbone/")
        source, features = f"backbone/{network.input}", f"backbone/{network.output}"
        graph = merged.graph
        next(value for value in graph.input if value.name == source).name = "pixels"
        graph.node.insert(0, make_node("Identity", ["pixels"], [source]))
        graph.node.extend([*_pooling(features, shape, network, opset), *_layer(layer, opset, softmax)])
        del graph.output[:]
        graph.output.extend(_outputs(layer, softmax))
        onnx.checker.check_model(merged)
    # how an image becomes pixels: size, mean, std, resize, ...
    pixels = {name: json.dumps(value) for name, value in asdict(network.preprocessing).items()}
    return _described(merged, layer, pixels)


def _described(model: ModelProto, layer: LinearLayer, more: dict[str, str]) -> ModelProto:
    """Return the model with its maker and what its inputs and outputs mean."""
    if model.ByteSize() > MOST_BYTES:
        raise UnseenError("The network is larger than 2 GB, more than one ONNX file can hold.")
    model.producer_name, model.producer_version = "unseen", __version__
    words = {
        "format": str(LAYER_FORMAT),
        "classes": json.dumps(layer.classes.tolist()),
        "seen": json.dumps(layer.seen.tolist()),
        "normalize": layer.normalize or "",
        "temperature": json.dumps(layer.temperature),
    }
    set_model_props(model, words | more)
    return model


# ---- the parts ----------------------------------------------------------------------------------------


def _outputs(layer: LinearLayer, softmax: bool) -> list[ValueInfoProto]:
    by_class: list[str | int] = ["batch", len(layer.classes)]
    return [
        make_tensor_value_info("scores", TensorProto.FLOAT, by_class),
        make_tensor_value_info("label", TensorProto.INT64, ["batch"]),
        *([make_tensor_value_info("probabilities", TensorProto.FLOAT, by_class)] if softmax else []),
    ]


def _layer(layer: LinearLayer, opset: int, softmax: bool) -> list[NodeProto]:
    """Return the nodes from features to scores and label."""
    nodes, rows = [], "features"
    if layer.normalize == "sqrt":
        nodes += _signed_roots(rows)
        rows = "roots"
    if layer.normalize is not None:
        nodes += _unit_length(rows, opset)
        rows = "unit"
    nodes += [
        _constant("coef", layer.coef),
        _constant("intercept", layer.intercept),
        # scores = x coef' + intercept
        make_node("Gemm", [rows, "coef", "intercept"], ["scores"], transB=1),
        make_node("ArgMax", ["scores"], ["label"], axis=1, keepdims=0),
    ]
    if softmax:
        nodes += [
            _constant("temperature", layer.temperature),
            # p = softmax(scores / T)
            make_node("Div", ["scores", "temperature"], ["logits"]),
            make_node("Softmax", ["logits"], ["probabilities"], axis=1),
        ]
    return nodes


def _signed_roots(rows: str) -> list[NodeProto]:
    """Return the nodes sign(x) sqrt(|x|); as ``signed_roots``."""
    return [
        make_node("Sign", [rows], ["sign"]),
        make_node("Abs", [rows], ["size"]),
        make_node("Sqrt", ["size"], ["root of size"]),
        make_node("Mul", ["sign", "root of size"], ["roots"]),
    ]


def _unit_length(rows: str, opset: int) -> list[NodeProto]:
    """Return the nodes x / max|x|, then x / ||x||, where zero rows stay zero; as ``scale_rows``."""
    return [
        _constant("tiny", np.finfo(np.float32).tiny),
        make_node("Abs", [rows], ["absolute"]),
        *_reduction("ReduceMax", "absolute", "peak", [1], 1, opset),
        make_node("Max", ["peak", "tiny"], ["largest"]),
        make_node("Div", [rows, "largest"], ["bounded"]),
        *_reduction("ReduceL2", "bounded", "length", [1], 1, opset),
        make_node("Max", ["length", "tiny"], ["norm"]),
        make_node("Div", ["bounded", "norm"], ["unit"]),
    ]


def _pooling(source: str, shape: Sequence[Any], network: ImageNetwork, opset: int) -> list[NodeProto]:
    """Return the nodes to (batch, width) in float32: a map is averaged over positions, tokens are pooled."""
    axes = {4: [2, 3] if network.layout == "NCHW" else [1, 2], 3: [1]}.get(len(shape))
    if len(shape) == 3 and network.pooling == "first":
        nodes = [_constant("first", 0, np.int64), make_node("Gather", [source, "first"], ["pooled"], axis=1)]
    elif axes:
        nodes = _reduction("ReduceMean", source, "pooled", axes, 0, opset)
    else:
        nodes = [make_node("Flatten", [source], ["pooled"], axis=1)]
    return [*nodes, make_node("Cast", ["pooled"], ["features"], to=TensorProto.FLOAT)]


def _reduction(
    kind: str, source: str, target: str, axes: list[int], keepdims: int, opset: int
) -> list[NodeProto]:
    """Return the nodes of a reduction over some axes; how they are given depends on the opset."""
    if opset < AXES_AS_INPUT:
        return [make_node(kind, [source], [target], axes=axes, keepdims=keepdims)]
    name = f"axes of {target}"
    return [_constant(name, axes, np.int64), make_node(kind, [source, name], [target], keepdims=keepdims)]


def _constant(name: str, value: Any, dtype: type = np.float32) -> NodeProto:
    return make_node("Constant", [], [name], value=from_array(np.asarray(value, dtype=dtype)))


# ---- somebody's network -------------------------------------------------------------------------------


def _opset(model: ModelProto) -> int:
    version = next((entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")), 0)
    if version < OLDEST_OPSET:
        raise UnseenError(
            f"The network uses ONNX opset {version}, expected {OLDEST_OPSET} or later. Export it again."
        )
    return int(version)


def _check_width(network: ImageNetwork, shape: Sequence[int | None], layer: LinearLayer) -> None:
    expected = layer.coef.shape[1]
    channels = 1 if len(shape) == 4 and network.layout == "NCHW" else -1
    width = shape[channels] if len(shape) in (2, 3, 4) else None
    if width is not None and width != expected:
        problem = f"{network.file.name} gives {width} features, but the model takes {expected}"
        raise UnseenError(f"{problem}. Give the backbone that the features were extracted with.")
