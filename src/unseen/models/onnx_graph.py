"""The linear layer of a model as an ONNX graph, alone or behind the image network that feeds it.

Import this module only if the package ``onnx`` is known to be needed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import onnx
from numpy.typing import ArrayLike
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, compose, helper, numpy_helper

from unseen import __version__
from unseen.errors import UnseenError, one_line
from unseen.models.export import LAYER_FORMAT

if TYPE_CHECKING:
    from unseen.models.export import ImageNetwork, LinearLayer

OLDEST_OPSET = 11  # the operators below mean the same from here on
AXES_AS_INPUT = 18  # from this opset on, reductions take their axes as an input
MOST_BYTES = 2**31 - 1  # of a protocol buffer


class Version(NamedTuple):
    """The version of ONNX that a graph is written in; graphs that are joined must share it."""

    opset: int = OLDEST_OPSET
    ir: int = 6  # the oldest that may hold this opset


def layer_model(layer: LinearLayer, softmax: bool = False) -> ModelProto:
    """Return the layer alone: features (batch, width) to scores (batch, classes) and label (batch,).

    With ``softmax`` there are probabilities (batch, classes), too.
    """
    return _described(_layer(layer, Version(), softmax), layer)


def merged_model(network: ImageNetwork, layer: LinearLayer, softmax: bool = False) -> ModelProto:
    """Return network and layer in one: pixels as the network takes them to what the layer gives."""
    backbone = _read_network(network)
    version = Version(_opset(backbone), backbone.ir_version)
    pixels = _find_value(backbone.graph.input, network.input)
    features = _find_value(backbone.graph.output, network.output)
    _check_width(network, features, layer)
    try:
        # With every name of the network prefixed, no two parts can use the same one.
        backbone = compose.add_prefix(backbone, "backbone/")
        entry = _entry(pixels, version)
        merged = compose.merge_models(entry, backbone, io_map=[("entry", f"backbone/{network.input}")])
        pooling = _pooling(features, network, version)
        io_map = [(f"backbone/{network.output}", "map")]
        merged = compose.merge_models(merged, pooling, io_map=io_map, outputs=["pooled"])
        merged = compose.merge_models(
            merged, _layer(layer, version, softmax), io_map=[("pooled", "features")]
        )
        onnx.checker.check_model(merged)
    except (ValueError, onnx.checker.ValidationError) as error:
        raise UnseenError(
            f"{network.file.name} cannot be joined with a classifier: {one_line(error)}"
        ) from error
    return _described(merged, layer, _pixel_words(network))


# ---- the parts ----------------------------------------------------------------------------------------


def _layer(layer: LinearLayer, version: Version, softmax: bool) -> ModelProto:
    n_classes, n_features = layer.coef.shape
    constants: dict[str, ArrayLike] = {"coef": layer.coef, "intercept": layer.intercept}
    nodes, rows = [], "features"
    if layer.scale is not None and layer.offset is not None:
        nodes += [
            helper.make_node("Mul", [rows, "scale"], ["stretched"]),
            helper.make_node("Add", ["stretched", "offset"], ["shifted"]),
        ]
        constants |= {"scale": layer.scale, "offset": layer.offset}
        rows = "shifted"
    if layer.normalize == "sqrt":
        nodes += _signed_roots(rows)
        rows = "roots"
    if layer.normalize is not None:
        nodes += _unit_length(rows, version)
        constants["tiny"] = float(np.finfo(np.float32).tiny)
        rows = "unit"
    nodes += [
        # scores = x coef' + intercept
        helper.make_node("Gemm", [rows, "coef", "intercept"], ["scores"], transB=1),
        helper.make_node("ArgMax", ["scores"], ["label"], axis=1, keepdims=0),
    ]
    outputs = [
        helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["batch", n_classes]),
        helper.make_tensor_value_info("label", TensorProto.INT64, ["batch"]),
    ]
    if softmax:
        # p = softmax(scores / T)
        nodes += [
            helper.make_node("Div", ["scores", "temperature"], ["logits"]),
            helper.make_node("Softmax", ["logits"], ["probabilities"], axis=1),
        ]
        constants["temperature"] = layer.temperature
        outputs.append(
            helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, ["batch", n_classes])
        )
    return _model(
        nodes,
        [helper.make_tensor_value_info("features", TensorProto.FLOAT, ["batch", n_features])],
        outputs,
        constants,
        version,
    )


def _signed_roots(rows: str) -> list[NodeProto]:
    """Return the nodes sign(x) sqrt(|x|); as ``signed_roots``."""
    return [
        helper.make_node("Sign", [rows], ["sign"]),
        helper.make_node("Abs", [rows], ["size"]),
        helper.make_node("Sqrt", ["size"], ["root of size"]),
        helper.make_node("Mul", ["sign", "root of size"], ["roots"]),
    ]


def _unit_length(rows: str, version: Version) -> list[NodeProto]:
    """Return the nodes x / max|x|, then x / ||x||, where zero rows stay zero; as ``scale_rows``."""
    return [
        helper.make_node("Abs", [rows], ["absolute"]),
        *_reduction("ReduceMax", "absolute", "peak", [1], 1, version),
        helper.make_node("Max", ["peak", "tiny"], ["largest"]),
        helper.make_node("Div", [rows, "largest"], ["bounded"]),
        *_reduction("ReduceL2", "bounded", "length", [1], 1, version),
        helper.make_node("Max", ["length", "tiny"], ["norm"]),
        helper.make_node("Div", ["bounded", "norm"], ["unit"]),
    ]


def _entry(pixels: ValueInfoProto, version: Version) -> ModelProto:
    """Return the graph that only gives the input its name, whatever the network calls it."""
    kind = pixels.type.tensor_type.elem_type
    shape = _shape(pixels)
    return _model(
        [helper.make_node("Identity", ["pixels"], ["entry"])],
        [helper.make_tensor_value_info("pixels", kind, shape)],
        [helper.make_tensor_value_info("entry", kind, shape)],
        {},
        version,
    )


def _pooling(features: ValueInfoProto, network: ImageNetwork, version: Version) -> ModelProto:
    """Return (batch, width) in float32: a map averaged over positions, a sequence pooled over tokens."""
    rank = len(_shape(features))
    axes = {4: [2, 3] if network.layout == "NCHW" else [1, 2], 3: [1]}.get(rank)
    if rank == 3 and network.pooling == "first":
        nodes = [_constant("first", 0), helper.make_node("Gather", ["map", "first"], ["row"], axis=1)]
    elif axes:
        nodes = _reduction("ReduceMean", "map", "row", axes, 0, version)
    else:
        nodes = [helper.make_node("Flatten", ["map"], ["row"], axis=1)]
    kind = features.type.tensor_type.elem_type
    return _model(
        [*nodes, helper.make_node("Cast", ["row"], ["pooled"], to=TensorProto.FLOAT)],
        [helper.make_tensor_value_info("map", kind, _shape(features))],
        [helper.make_tensor_value_info("pooled", TensorProto.FLOAT, [None, None])],
        {},
        version,
    )


def _reduction(
    kind: str, source: str, target: str, axes: list[int], keepdims: int, version: Version
) -> list[NodeProto]:
    """Return the nodes of a reduction over some axes; how they are given depends on the opset."""
    if version.opset < AXES_AS_INPUT:
        return [helper.make_node(kind, [source], [target], axes=axes, keepdims=keepdims)]
    name = f"axes of {target}"
    return [_constant(name, axes), helper.make_node(kind, [source, name], [target], keepdims=keepdims)]


def _constant(name: str, value: int | list[int]) -> NodeProto:
    tensor = numpy_helper.from_array(np.array(value, dtype=np.int64))
    return helper.make_node("Constant", [], [name], value=tensor)


def _model(
    nodes: Sequence[NodeProto],
    inputs: Sequence[ValueInfoProto],
    outputs: Sequence[ValueInfoProto],
    constants: Mapping[str, ArrayLike],
    version: Version,
) -> ModelProto:
    tensors = [
        numpy_helper.from_array(np.asarray(array, dtype=np.float32), name)
        for name, array in constants.items()
    ]
    graph = helper.make_graph(nodes, "unseen", inputs, outputs, tensors)
    return helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", version.opset)], ir_version=version.ir
    )


def _pixel_words(network: ImageNetwork) -> dict[str, str]:
    """Return how an image becomes pixels: size, mean, std, resize, ..., each as JSON."""
    return {name: json.dumps(value) for name, value in asdict(network.preprocessing).items()}


def _described(model: ModelProto, layer: LinearLayer, more: Mapping[str, str] | None = None) -> ModelProto:
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
    helper.set_model_props(model, {**words, **(more or {})})
    return model


# ---- somebody's network -------------------------------------------------------------------------------


def _read_network(network: ImageNetwork) -> ModelProto:
    try:
        return onnx.load(network.file)
    except Exception as error:  # protobuf and the reader of external weights have their own errors
        raise UnseenError(f"{str(network.file)!r} is not an ONNX model: {one_line(error)}") from error


def _opset(model: ModelProto) -> int:
    version = next((entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")), 0)
    if version < OLDEST_OPSET:
        raise UnseenError(
            f"The network uses ONNX opset {version}, expected {OLDEST_OPSET} or later. Export it again."
        )
    return int(version)


def _find_value(values: Sequence[ValueInfoProto], name: str) -> ValueInfoProto:
    return next(value for value in values if value.name == name)


def _shape(value: ValueInfoProto) -> list[int | str | None]:
    """Return the sides of a tensor: a number, a name, or None if the network leaves it open."""
    sides = value.type.tensor_type.shape.dim
    return [side.dim_value if side.HasField("dim_value") else side.dim_param or None for side in sides]


def _check_width(network: ImageNetwork, features: ValueInfoProto, layer: LinearLayer) -> None:
    shape, expected = _shape(features), layer.coef.shape[1]
    channels = 1 if len(shape) == 4 and network.layout == "NCHW" else -1
    width = shape[channels] if len(shape) in (2, 3, 4) else None
    if isinstance(width, int) and width != expected:
        raise UnseenError(
            f"{network.file.name} gives {width} features, but the model takes {expected}. "
            "Give the backbone that the features were extracted with."
        )
