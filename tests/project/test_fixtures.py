"""Files that released versions wrote are read, and predict what they predicted then."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from conftest import ROOT
from unseen import load_model
from unseen.card import Card
from unseen.errors import UnseenError
from unseen.models.files import VERSION

RELEASES = sorted(path.parent for path in (ROOT / "tests" / "data").glob("*/expected.json"))
MODELS = ("linear-vs", "linear-sv", "eszsl", "sae", "lda", "cosine", "sje")
pytestmark = pytest.mark.parametrize("release", RELEASES, ids=lambda path: path.name)


def expected(release: Path) -> dict:
    return json.loads((release / "expected.json").read_text("utf-8"))


def samples(release: Path, name: str) -> tuple[np.ndarray, dict]:
    wanted = expected(release)
    found = wanted["models"][name]
    return np.array(wanted["X"])[:, : found["columns"]], found


@pytest.mark.parametrize("name", MODELS)
def test_models_predict_what_they_predicted(release, name):
    X, wanted = samples(release, name)
    model = load_model(release / f"{name}.model")
    assert model.predict(X).tolist() == wanted["predictions"]
    scores = np.array(wanted["scores"])
    np.testing.assert_allclose(model.decision_function(X), scores, atol=1e-6 * np.abs(scores).max())
    if "probabilities" in wanted:
        assert model.gamma_ == pytest.approx(wanted["gamma"])
        np.testing.assert_allclose(model.predict_proba(X), wanted["probabilities"], atol=1e-6)


def test_models_can_be_used_on(release, tmp_path):
    """A new class, and the card, of a model from then."""
    model = load_model(release / "sje.model")
    model.add_classes({"ten": model.estimator_.prototypes_[0]})
    assert "ten" in model.classes_.tolist()


def test_the_card_is_that_of_the_model(release):
    document = json.loads((release / "card.json").read_text("utf-8"))
    card = Card.from_json(document)
    assert card.to_json() == document and card.method == "sje"
    assert str(card)
    assert load_model(release / "sje.model").card().expected == card.expected


def test_the_arrays_of_a_layer_give_the_scores(release):
    X, wanted = samples(release, "sje")
    with np.load(release / "layer.npz", allow_pickle=False) as layer:
        assert layer["format"] == 1
        assert layer["normalize"] == "l2"
        scores = X / np.linalg.norm(X, axis=1, keepdims=True) @ layer["coef"].T + layer["intercept"]
        assert layer["classes"][scores.argmax(axis=1)].tolist() == wanted["predictions"]
        logits = scores / layer["temperature"]
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    np.testing.assert_allclose(odds / odds.sum(axis=1, keepdims=True), wanted["probabilities"], atol=1e-5)


def test_the_onnx_layer_runs(release):
    runtime = pytest.importorskip("onnxruntime")
    X, wanted = samples(release, "sje")
    session = runtime.InferenceSession(release / "layer.onnx", providers=["CPUExecutionProvider"])
    _, label, probabilities = session.run(None, {"features": X.astype(np.float32)})
    words = session.get_modelmeta().custom_metadata_map
    classes = json.loads(words["classes"])
    assert [classes[position] for position in label] == wanted["predictions"] and words["format"] == "1"
    np.testing.assert_allclose(probabilities, wanted["probabilities"], atol=1e-4)


def test_the_onnx_layer_is_of_the_stated_opset(release):
    onnx = pytest.importorskip("onnx")
    model = onnx.load(release / "layer.onnx")
    assert [(entry.domain, entry.version) for entry in model.opset_import] == [("", 11)]
    assert model.ir_version == 6
    stability = (ROOT / "docs" / "stability.md").read_text("utf-8")
    assert "opset 11 with IR version 6" in stability


def test_the_store_is_read(release, run, tmp_path):
    """Another bench finds its run, or at least leaves it there; the report shows it."""
    from unseen.benchmark.store import Store

    shutil.copytree(release / "run", tmp_path / "run")
    with Store(tmp_path / "run") as store:
        [key] = store.experiments()
        [result] = store.results(key)
        assert [found.method for found, _ in store.runs()] == ["linear-sv"]
    wanted = expected(release)["bench"]["methods"]["linear-sv"]
    assert result["gamma"] == pytest.approx(
        wanted["gamma"]["mean"] if isinstance(wanted["gamma"], dict) else wanted["gamma"]
    )
    done = run("report", tmp_path / "run", "--html", tmp_path / "page.html")
    assert done.returncode == 0, done.stderr


def test_files_are_small(release):
    assert all(path.stat().st_size < 200_000 for path in release.rglob("*"))


def test_formats_of_other_versions_are_one_line(release, tmp_path):
    """A file from before 1.0, one from the future, a card from the future."""
    content = (release / "lda.model").read_bytes()
    mark = f'"version":"{VERSION}"'.encode()
    assert content.count(mark) == 1
    for version in (VERSION - 1, 9):
        (tmp_path / "m.model").write_bytes(content.replace(mark, f'"version":"{version}"'.encode()))
        with pytest.raises(UnseenError, match="Load it with that version") as caught:
            load_model(tmp_path / "m.model")
        assert "\n" not in str(caught.value)
    document = json.loads((release / "card.json").read_text("utf-8"))
    with pytest.raises(UnseenError, match="The card has format 9"):
        Card.from_json({**document, "format": 9})
