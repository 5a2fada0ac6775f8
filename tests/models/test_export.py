"""Exported layers give the same predictions without this package."""

from __future__ import annotations

import json

import numpy as np
import onnx
import onnxruntime
import pytest

from unseen import ESZSL, GZSLClassifierCV, LinearSV
from unseen.datasets import load
from unseen.errors import UnseenError
from unseen.models.export import export


@pytest.fixture(scope="module")
def data():
    return load("synthetic", n_samples=300, n_features=12, n_classes=12, n_attributes=6, random_state=1)


def models(data):
    seen = data.seen[data.y]
    X, y = data.X[seen], data.y[seen]
    return {
        "plain": LinearSV(data.prototypes, normalize=None).fit(X, y),
        "unit": ESZSL(data.prototypes).fit(X, y),
        "calibrated": GZSLClassifierCV(LinearSV(data.prototypes), {"alpha": [0.1]}).fit(X, y),
        "float32": ESZSL(data.prototypes).fit(X.astype(np.float32), y),
    }


def hard_rows(data) -> np.ndarray:
    """Samples, and rows that are zero, huge and tiny."""
    extreme = np.array([np.zeros(12), np.full(12, 1e30), np.full(12, -1e-30)])
    return np.vstack([data.X, extreme]).astype(np.float32)


@pytest.mark.parametrize("name", ["plain", "unit", "calibrated", "float32"])
def test_onnx_runtime_predicts_the_same(tmp_path, data, name):
    model = models(data)[name]
    export(model, tmp_path / "m.onnx", "onnx")
    onnx.checker.check_model(tmp_path / "m.onnx", full_check=True)
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx", providers=["CPUExecutionProvider"])
    X = hard_rows(data)
    scores, label = session.run(["scores", "label"], {"features": X})
    np.testing.assert_allclose(scores, model.similarity(X), rtol=1e-4, atol=1e-5)
    words = session.get_modelmeta().custom_metadata_map
    classes = np.array(json.loads(words["classes"]))
    np.testing.assert_array_equal(classes[label], model.predict(X))
    assert json.loads(words["seen"]) == model.seen_.tolist()


@pytest.mark.parametrize("name", ["plain", "unit", "calibrated"])
def test_three_lines_of_numpy_predict_the_same(tmp_path, data, name):
    model = models(data)[name]
    export(model, tmp_path / "m.npz", "npz")
    layer = np.load(tmp_path / "m.npz", allow_pickle=False)
    samples = data.X.astype(np.float64)
    X = samples / np.linalg.norm(samples, axis=1, keepdims=True) if layer["normalize"] == "l2" else samples
    scores = X @ layer["coef"].T + layer["intercept"]
    np.testing.assert_allclose(scores, model.similarity(samples), rtol=1e-10, atol=1e-12)
    np.testing.assert_array_equal(layer["classes"][scores.argmax(axis=1)], model.predict(samples))


def test_what_is_not_a_layer_is_refused(tmp_path, data):
    with pytest.raises(UnseenError, match="not a fitted linear model"):
        export(LinearSV(), tmp_path / "m.onnx", "onnx")
    with pytest.raises(UnseenError, match="expected one of onnx, npz"):
        export(models(data)["plain"], tmp_path / "m", "pickle")
    assert list(tmp_path.iterdir()) == []
