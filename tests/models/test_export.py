"""Exported layers give the same predictions without this package."""

from __future__ import annotations

import json
import sys

import numpy as np
import onnx
import onnx.version_converter
import onnxruntime
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from onnx_models import map_backbone, mean_backbone, small_network
from unseen import ESZSL, LDA, GZSLClassifierCV, LinearSV
from unseen.datasets import load_dataset
from unseen.encoders.backbone import Backbone
from unseen.errors import UnseenError
from unseen.models.export import export


@pytest.fixture(scope="module")
def data():
    return load_dataset(
        "synthetic", n_samples=300, n_features=12, n_classes=12, n_attributes=6, random_state=1
    )


NAMES = ["plain", "unit", "roots", "standard", "calibrated"]


@pytest.fixture(scope="module")
def models(data):
    """Return fitted models of every kind that can be exported, by name."""
    seen = data.seen[data.y]
    X, y = data.X[seen], data.y[seen]
    return {
        "plain": LinearSV(data.prototypes, normalize=None).fit(X, y),
        "unit": ESZSL(data.prototypes).fit(X, y),
        "roots": LDA(data.prototypes, normalize="sqrt").fit(X, y),
        "standard": LDA(data.prototypes, normalize="standard").fit(X, y),
        "calibrated": GZSLClassifierCV(LinearSV(data.prototypes), {"alpha": [0.1]}).fit(X, y),
        "float32": ESZSL(data.prototypes).fit(X.astype(np.float32), y),
    }


def hard_rows(data) -> np.ndarray:
    """Samples, and rows that are zero, huge and tiny."""
    extreme = np.array([np.zeros(12), np.full(12, 1e30), np.full(12, -1e-30)])
    return np.vstack([data.X, extreme]).astype(np.float32)


@pytest.mark.parametrize("name", [*NAMES, "float32"])
def test_onnx_runtime_predicts_the_same(tmp_path, data, name, models):
    model = models[name]
    export(model, tmp_path / "m.onnx", "onnx")
    onnx.checker.check_model(tmp_path / "m.onnx", full_check=True)
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx", providers=["CPUExecutionProvider"])
    X = hard_rows(data)
    scores, label = session.run(["scores", "label"], {"features": X})
    np.testing.assert_allclose(scores, model.similarity(X), rtol=1e-4, atol=1e-5)
    words = session.get_modelmeta().custom_metadata_map
    classes = np.array(json.loads(words["classes"]))
    np.testing.assert_array_equal(classes[label], model.predict(X))
    assert json.loads(words["seen"]) == data.seen.tolist()
    assert words["normalize"] == {"roots": "sqrt", "plain": "", "standard": ""}.get(name, "l2")


@pytest.mark.parametrize("name", NAMES)
def test_three_lines_of_numpy_predict_the_same(tmp_path, data, name, models):
    model = models[name]
    export(model, tmp_path / "m.npz", "npz")
    layer = np.load(tmp_path / "m.npz", allow_pickle=False)
    samples = data.X.astype(np.float64)
    X = np.sign(samples) * np.abs(samples) ** 0.5 if layer["normalize"] == "sqrt" else samples
    X = X / np.linalg.norm(X, axis=1, keepdims=True) if layer["normalize"] in ("l2", "sqrt") else X
    scores = X @ layer["coef"].T + layer["intercept"]
    np.testing.assert_allclose(scores, model.similarity(samples), rtol=1e-8, atol=1e-10)
    np.testing.assert_array_equal(layer["classes"][scores.argmax(axis=1)], model.predict(samples))


def test_what_is_not_a_layer_is_refused(tmp_path, data, models):
    with pytest.raises(UnseenError, match="LinearSV is not a fitted method"):
        export(LinearSV(), tmp_path / "m.onnx", "onnx")
    scaled = make_pipeline(StandardScaler(), LinearSV(data.prototypes)).fit(data.X, data.y)
    with pytest.raises(UnseenError, match=r'Pipeline is not a fitted method.*normalize="standard" instead'):
        export(scaled, tmp_path / "m.onnx", "onnx")
    with pytest.raises(UnseenError, match="expected one of onnx, npz"):
        export(models["plain"], tmp_path / "m", "pickle")
    assert list(tmp_path.iterdir()) == []


# ---- one file of backbone and classifier


def convert(path, opset):
    """Rewrite a network for another opset: axes of reductions are an input from 18 on."""
    network = onnx.version_converter.convert_version(onnx.load(path), opset)
    onnx.save(network, path)


NETWORKS = {
    "features": lambda path: small_network(path),
    "channels last": lambda path: mean_backbone(path, ("batch", 16, 16, 3)),
    "fixed batch": lambda path: mean_backbone(path, (4, 3, 16, 16)),
    "weights in another file": lambda path: small_network(path, "weights.bin"),
    "map": lambda path: map_backbone(path),
    "tokens": lambda path: map_backbone(path),
    "first token": lambda path: map_backbone(path),
}


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("opset", [17, 21])
def test_backbone_and_classifier_in_one_file(tmp_path, name, opset):
    NETWORKS[name](tmp_path / "network.onnx")
    convert(tmp_path / "network.onnx", opset)
    output = {"map": "map", "tokens": "tokens", "first token": "tokens"}.get(name)
    if name == "first token":
        (tmp_path / "config.json").write_text('{"model_type": "vit"}')
    backbone = Backbone(tmp_path / "network.onnx", size=16, output=output)
    assert backbone.pooling == ("first" if name == "first token" else "mean")
    rng = np.random.default_rng(0)
    pixels = rng.normal(size=(4, 3, 16, 16)).astype(np.float32)
    X = backbone(pixels)
    model = ESZSL(rng.normal(size=(5, 4)), alpha=1.0).fit(X, [0, 1, 2, 0])
    export(model, tmp_path / "whole.onnx", "onnx", backbone=backbone)
    (tmp_path / "network.onnx").unlink()  # nothing else is needed
    session = onnxruntime.InferenceSession(tmp_path / "whole.onnx", providers=["CPUExecutionProvider"])
    fed = pixels.transpose(0, 2, 3, 1) if backbone.layout == "NHWC" else pixels
    scores, label = session.run(["scores", "label"], {"pixels": fed})
    np.testing.assert_allclose(scores, model.similarity(X), rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(label, model.predict(X))
    assert [entry.name for entry in session.get_outputs()] == ["scores", "label"]
    assert json.loads(session.get_modelmeta().custom_metadata_map["classes"]) == [0, 1, 2, 3, 4]


def test_a_backbone_that_does_not_fit_is_refused(tmp_path, data, models):
    backbone = Backbone(small_network(tmp_path / "network.onnx"))
    model = models["plain"]
    with pytest.raises(UnseenError, match="gives 6 features, but the model takes 12"):
        export(model, tmp_path / "m.onnx", "onnx", backbone=backbone)
    with pytest.raises(UnseenError, match="Only onnx holds a backbone or a softmax"):
        export(model, tmp_path / "m.npz", "npz", backbone=backbone)
    old = onnx.load(tmp_path / "network.onnx")
    old.opset_import[0].version = 9
    onnx.save(old, tmp_path / "network.onnx")
    with pytest.raises(UnseenError, match="opset 9, expected 11 or later"):
        export(model, tmp_path / "m.onnx", "onnx", backbone=backbone)
    assert [path.name for path in tmp_path.iterdir()] == ["network.onnx"]


def test_without_the_package_onnx_a_message_says_what_to_install(tmp_path, data, monkeypatch, models):
    monkeypatch.setitem(sys.modules, "onnx", None)
    monkeypatch.delitem(sys.modules, "unseen.models.onnx_graph", raising=False)
    with pytest.raises(UnseenError, match=r"Writing ONNX needs the package onnx\. Install it with: pip"):
        export(models["plain"], tmp_path / "m.onnx", "onnx")
    export(models["plain"], tmp_path / "m.npz", "npz")
