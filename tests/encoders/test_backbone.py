"""Image networks in ONNX format: layouts, batches, outputs, and models that do not fit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper

from onnx_models import map_backbone, mean_backbone, takes_words, write_model
from unseen.encoders.backbone import Backbone
from unseen.errors import UnseenError


def pixels(n: int = 5, side: int = 8) -> np.ndarray:
    return np.random.default_rng(1).normal(size=(n, 3, side, side)).astype(np.float32)


@pytest.mark.parametrize(
    "shape",
    [
        ("batch", 3, "height", "width"),
        ("batch", "height", "width", 3),
        (2, 3, 8, 8),
        (1, 8, 8, 3),
        (None, 3, None, None),
    ],
)
def test_layouts_and_fixed_batches_give_the_same(tmp_path, shape):
    x = pixels()
    found = Backbone(mean_backbone(tmp_path / "m.onnx", shape))(x)
    np.testing.assert_allclose(found, np.hstack([x.mean((2, 3)), x.max((2, 3))]), rtol=1e-5, atol=1e-6)


def test_quantized_features_do_not_depend_on_the_batch(tmp_path):
    nodes = [
        helper.make_node("DynamicQuantizeLinear", ["pixels"], ["whole", "scale", "zero"]),
        helper.make_node("DequantizeLinear", ["whole", "scale", "zero"], ["rounded"]),
        helper.make_node("ReduceMean", ["rounded"], ["features"], axes=[2, 3], keepdims=0),
    ]
    inputs = {"pixels": (TensorProto.FLOAT, ["batch", 3, "height", "width"])}
    backbone = Backbone(write_model(tmp_path / "m.onnx", nodes, inputs, {"features": ["batch", 3]}))
    x = pixels() * np.arange(1, 6, dtype=np.float32)[:, None, None, None]
    np.testing.assert_array_equal(backbone(x), np.concatenate([backbone(row[None]) for row in x]))


@pytest.mark.parametrize("output", [None, "map", "tokens"])
def test_maps_and_tokens_are_averaged(tmp_path, output):
    x = pixels()
    found = Backbone(map_backbone(tmp_path / "m.onnx"), output=output)(x)
    np.testing.assert_allclose(found, x.mean((2, 3)), rtol=1e-5, atol=1e-6)


def test_size_is_read_from_the_model(tmp_path):
    assert Backbone(mean_backbone(tmp_path / "m.onnx", (1, 3, 96, 96))).size == 96
    assert Backbone(mean_backbone(tmp_path / "n.onnx")).size == 224


def two_images(path: Path) -> Path:
    nodes = [helper.make_node("Sub", ["a", "b"], ["map"])]
    kind = (TensorProto.FLOAT, ["batch", 3, 4, 4])
    return write_model(path, nodes, {"a": kind, "b": kind}, {"map": kind[1]})


def not_a_model(path: Path) -> Path:
    path.write_bytes(b"no model at all")
    return path


@pytest.mark.parametrize(
    ("make", "options", "message"),
    [
        (takes_words, {}, r"input_ids \(tensor\(int64\).*expected one input for images"),
        (two_images, {}, "expected one input for images"),
        (mean_backbone, {"output": "feature"}, "Did you mean 'features'"),
        (lambda path: mean_backbone(path, (1, 3, 8, 9)), {}, "expected a square"),
        (lambda path: mean_backbone(path, (1, 3, 8, 8)), {"size": 9}, "8 x 8, expected 9 x 9"),
        (lambda path: mean_backbone(path, (1, 4, 8, 8)), {}, "expected three color"),
        (not_a_model, {}, "is not a model"),
        (lambda path: path, {}, "There is no file"),
    ],
)
def test_models_that_do_not_fit(tmp_path, make, options, message):
    with pytest.raises(UnseenError, match=message):
        Backbone(make(tmp_path / "m.onnx"), **options)


def test_a_model_that_fails_says_on_what(tmp_path):
    with pytest.raises(UnseenError, match=r"m.onnx cannot run on pixels \(1, 3, 7, 7\)"):
        Backbone(mean_backbone(tmp_path / "m.onnx", ("batch", 3, 8, 8)))(pixels(1, 7))
