"""Tiny ONNX models whose output is known by arithmetic, written when a test needs one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from onnx import TensorProto, helper, load, numpy_helper, save

FLOAT = TensorProto.FLOAT
WORDS = {"[PAD]": 0, "blue": 1, "brown": 2, "bird": 3}


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


def small_network(path: Path, weights: str | None = None) -> Path:
    """A convolution, a mean over places and a linear layer; weights in another file where one is named."""
    rng = np.random.default_rng(0)
    constants = {"kernels": rng.normal(size=(8, 3, 3, 3)), "matrix": rng.normal(size=(8, 6))}
    nodes = [
        helper.make_node("Conv", ["pixels", "kernels"], ["maps"], strides=[2, 2]),
        helper.make_node("Relu", ["maps"], ["positive"]),
        helper.make_node("GlobalAveragePool", ["positive"], ["pooled"]),
        helper.make_node("Flatten", ["pooled"], ["flat"]),
        helper.make_node("MatMul", ["flat", "matrix"], ["features"]),
    ]
    inputs, outputs = {"pixels": (FLOAT, ["batch", 3, "height", "width"])}, {"features": ["batch", 6]}
    write_model(path, nodes, inputs, outputs, {k: v.astype(np.float32) for k, v in constants.items()})
    if weights:
        save(load(path), path, save_as_external_data=True, location=weights, size_threshold=0)
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


def takes_words(path: Path) -> Path:
    """A model of token numbers, not of images."""
    nodes = [helper.make_node("Cast", ["input_ids"], ["features"], to=TensorProto.FLOAT)]
    kind = (TensorProto.INT64, ["batch", "tokens"])
    return write_model(path, nodes, {"input_ids": kind}, {"features": kind[1]})


def token_encoder(folder: Path, mask: bool = True) -> Path:
    """Embeds token i as row i of a table; the output is a sequence (batch, tokens, 2)."""
    embeddings = np.array([[9, 9], [1, 0], [0, 1], [1, 1]], dtype=np.float32)
    nodes = [helper.make_node("Gather", ["embeddings", "input_ids"], ["last_hidden_state"])]
    kind = (TensorProto.INT64, ["batch", "tokens"])
    inputs = {"input_ids": kind, "attention_mask": kind} if mask else {"input_ids": kind}
    outputs = {"last_hidden_state": ["batch", "tokens", 2]}
    return write_model(folder / "text.onnx", nodes, inputs, outputs, {"embeddings": embeddings})


def write_tokenizer(folder: Path, padding: dict[str, Any] | None = None, limit: int | None = None) -> None:
    """Words are tokens; padding and truncation are stored in the file where they are given."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace

    tokenizer = Tokenizer(WordLevel(WORDS, unk_token="[PAD]"))
    tokenizer.pre_tokenizer = Whitespace()
    if padding is not None:
        tokenizer.enable_padding(**padding)
    if limit is not None:
        tokenizer.enable_truncation(limit)
    tokenizer.save(str(folder / "tokenizer.json"))


# ---- a model like CLIP, in Hugging Face layout -------------------------------------------------------------

CLIP_SIDE, CLIP_TOKENS, CLIP_WIDTH = 16, 8, 6
CLIP_CONFIG = {
    "crop_size": {"height": CLIP_SIDE, "width": CLIP_SIDE},
    "do_center_crop": True,
    "do_normalize": True,
    "do_rescale": True,
    "do_resize": True,
    "image_mean": [0.48145466, 0.4578275, 0.40821073],
    "image_processor_type": "CLIPImageProcessor",
    "image_std": [0.26862954, 0.26130258, 0.27577711],
    "resample": 3,
    "rescale_factor": 0.00392156862745098,
    "size": {"shortest_edge": CLIP_SIDE},
}


def clip_weights() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(3)
    shapes = {
        "kernels": (8, 3, 4, 4),
        "projection": (128, CLIP_WIDTH),
        "tokens": (len(WORDS), CLIP_WIDTH),
        "positions": (CLIP_TOKENS, CLIP_WIDTH),
    }
    return {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}


def clip_vision_model(path: Path) -> Path:
    """Patches of 4 x 4 and a projection of all of them: a shift by one pixel changes the embedding."""
    nodes = [
        helper.make_node("Conv", ["pixel_values", "kernels"], ["patches"], strides=[4, 4]),
        helper.make_node("Tanh", ["patches"], ["units"]),
        helper.make_node("Flatten", ["units"], ["flat"]),
        helper.make_node("MatMul", ["flat", "projection"], ["image_embeds"]),
    ]
    inputs = {"pixel_values": (FLOAT, ["batch", 3, "height", "width"])}
    constants = {name: clip_weights()[name] for name in ("kernels", "projection")}
    return write_model(path, nodes, inputs, {"image_embeds": ["batch", CLIP_WIDTH]}, constants)


def clip_text_model(path: Path, tokens: int | str = "tokens", batch: int | str = "batch") -> Path:
    """The mean over all tokens, padding included; more tokens than positions are an error."""
    nodes = [
        helper.make_node("Gather", ["tokens", "input_ids"], ["words"]),
        helper.make_node("Shape", ["input_ids"], ["length"], start=1, end=2),
        helper.make_node("Slice", ["positions", "zero", "length"], ["places"]),
        helper.make_node("Add", ["words", "places"], ["hidden"]),
        helper.make_node("Tanh", ["hidden"], ["units"]),
        helper.make_node("ReduceMean", ["units"], ["text_embeds"], axes=[1], keepdims=0),
    ]
    constants = {name: clip_weights()[name] for name in ("tokens", "positions")}
    constants["zero"] = np.array([0], dtype=np.int64)
    inputs = {"input_ids": (TensorProto.INT64, [batch, tokens])}
    return write_model(path, nodes, inputs, {"text_embeds": [batch, CLIP_WIDTH]}, constants)


def clip_folder(folder: Path) -> Path:
    """Both models, the tokenizer with padding to 8 by token 1, and the configuration."""
    (folder / "onnx").mkdir(parents=True)
    clip_vision_model(folder / "onnx" / "vision_model.onnx")
    clip_text_model(folder / "onnx" / "text_model.onnx")
    write_tokenizer(folder, {"length": CLIP_TOKENS, "pad_id": 1, "pad_token": "blue"})
    (folder / "preprocessor_config.json").write_text(json.dumps(CLIP_CONFIG))
    (folder / "tokenizer_config.json").write_text(json.dumps({"model_max_length": CLIP_TOKENS}))
    (folder / "config.json").write_text(json.dumps({"model_type": "clip"}))
    return folder
