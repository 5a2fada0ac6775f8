"""Text encoders: padding, truncation and pooling as the model was trained, batches, Python callables."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper

import oracle
from onnx_models import (
    CLIP_TOKENS,
    CLIP_WIDTH,
    WORDS,
    clip_folder,
    clip_text_model,
    clip_weights,
    token_encoder,
    write_model,
    write_tokenizer,
)
from unseen._core.prototypes import Prototypes
from unseen.encoders.descriptions import describe_classes
from unseen.encoders.text import TextEncoder
from unseen.errors import UnseenError

TEXTS = ["blue bird", "brown", "brown blue brown bird"]


@pytest.fixture
def clip(tmp_path: Path) -> Path:
    return clip_folder(tmp_path / "clip")


def expected(texts: list[str], length: int | None = CLIP_TOKENS, pad_id: int = 1) -> np.ndarray:
    """The embeddings of a CLIP-like model, padded and cut by hand."""
    weights = clip_weights()
    rows = []
    for text in texts:
        ids = [WORDS.get(word, 0) for word in text.split()][:CLIP_TOKENS]
        ids += [pad_id] * ((length or 0) - len(ids))
        rows.append(oracle.clip_text_embedding(ids, weights["tokens"], weights["positions"]))
    return np.array(rows)


# ---- padding


def test_the_padding_of_the_tokenizer_is_kept(clip):
    encoder = TextEncoder(clip)
    np.testing.assert_allclose(encoder(TEXTS), expected(TEXTS), atol=1e-5)
    for text in TEXTS:  # an embedding does not depend on the texts beside it
        np.testing.assert_allclose(encoder([text]), expected([text]), atol=1e-5)


def test_without_stored_padding_no_text_is_padded(clip):
    write_tokenizer(clip)
    np.testing.assert_allclose(TextEncoder(clip)(TEXTS), expected(TEXTS, length=None), atol=1e-5)


def test_padding_to_the_longest_does_not_depend_on_the_batch(clip):
    write_tokenizer(clip, {"pad_id": 1, "pad_token": "blue"})
    np.testing.assert_allclose(TextEncoder(clip)(TEXTS), expected(TEXTS, length=None), atol=1e-5)


def test_padding_to_a_multiple(clip):
    write_tokenizer(clip, {"pad_id": 1, "pad_token": "blue", "pad_to_multiple_of": 4})
    np.testing.assert_allclose(TextEncoder(clip)(TEXTS), expected(TEXTS, length=4), atol=1e-5)


def test_a_model_with_a_fixed_length_is_padded_to_it(clip):
    clip_text_model(clip / "onnx" / "text_model.onnx", tokens=CLIP_TOKENS, batch=2)
    write_tokenizer(clip)
    (clip / "tokenizer_config.json").write_text(json.dumps({"pad_token": "bird"}))
    long = " ".join(["brown"] * 20)
    with pytest.warns(UserWarning, match="1 of 4 texts .* cut to 8 tokens"):
        found = TextEncoder(clip)([*TEXTS, long])
    np.testing.assert_allclose(found, expected([*TEXTS, long], pad_id=WORDS["bird"]), atol=1e-5)


def test_siglip_is_padded_to_its_full_length(clip):
    write_tokenizer(clip)
    (clip / "config.json").write_text(json.dumps({"model_type": "siglip"}))
    (clip / "tokenizer_config.json").write_text(
        json.dumps({"model_max_length": CLIP_TOKENS, "pad_token": {"content": "blue"}})
    )
    np.testing.assert_allclose(TextEncoder(clip)(TEXTS), expected(TEXTS), atol=1e-5)


# ---- truncation


LONG = " ".join(["brown", "blue"] * 10)


@pytest.mark.parametrize("place", ["tokenizer.json", "tokenizer_config.json", "config.json", "text_config"])
def test_long_texts_are_cut_where_the_model_ends(clip, place):
    (clip / "tokenizer_config.json").unlink()
    write_tokenizer(clip, limit=CLIP_TOKENS if place == "tokenizer.json" else None)
    positions: dict[str, object] = {"max_position_embeddings": CLIP_TOKENS}
    if place == "tokenizer_config.json":
        (clip / place).write_text(json.dumps({"model_max_length": CLIP_TOKENS}))
    elif place in ("config.json", "text_config"):
        config = positions if place == "config.json" else {"text_config": positions}
        (clip / "config.json").write_text(json.dumps(config))
    with pytest.warns(UserWarning, match="1 of 2 texts are too long .* cut to 8 tokens"):
        found = TextEncoder(clip)(["blue bird", LONG])
    np.testing.assert_allclose(found, expected(["blue bird", LONG], length=None), atol=1e-5)


def test_texts_that_fit_are_not_reported_as_cut(clip):
    TextEncoder(clip)(TEXTS)  # a warning would be an error here


def test_without_any_limit_the_model_itself_complains(clip):
    (clip / "tokenizer_config.json").unlink()
    write_tokenizer(clip)
    with pytest.raises(UnseenError, match=r"text_model.onnx cannot run on input_ids \(1, 20\)"):
        TextEncoder(clip)([LONG])


# ---- batches


def test_many_texts_run_in_batches_of_one_length_and_keep_their_order(clip, monkeypatch):
    write_tokenizer(clip)
    rng = np.random.default_rng(0)
    words = np.array(["blue", "brown", "bird"])
    texts = [" ".join(rng.choice(words, size=rng.integers(1, 7))) for _ in range(500)]
    encoder, shapes = TextEncoder(clip), []
    embed = encoder._embed
    monkeypatch.setattr(
        encoder, "_embed", lambda texts: shapes.append((len(texts), len(texts[0].ids))) or embed(texts)
    )
    np.testing.assert_allclose(encoder(texts), expected(texts, length=None), atol=1e-5)
    assert max(n for n, _ in shapes) <= 64 and len(shapes) < 20


def test_progress_is_shown_unless_quiet(clip, capfd):
    TextEncoder(clip, quiet=False)(TEXTS)
    assert "Embedding texts: 3/3 texts" in capfd.readouterr().err
    TextEncoder(clip)(TEXTS)
    assert capfd.readouterr().err == ""


def test_no_text_is_an_error(clip):
    with pytest.raises(UnseenError, match="no text"):
        TextEncoder(clip)([])


# ---- pooling of sentence encoders


@pytest.mark.parametrize(("mode", "pooled"), [("mean_tokens", [0.5, 0.5]), ("cls_token", [1, 0])])
def test_the_pooling_of_a_sentence_encoder_is_read(tmp_path, mode, pooled):
    token_encoder(tmp_path).rename(tmp_path / "model.onnx")
    write_tokenizer(tmp_path)
    (tmp_path / "1_Pooling").mkdir()
    modes = {"pooling_mode_cls_token": False, "pooling_mode_mean_tokens": False, f"pooling_mode_{mode}": True}
    (tmp_path / "1_Pooling" / "config.json").write_text(json.dumps({"word_embedding_dimension": 2, **modes}))
    np.testing.assert_allclose(TextEncoder(tmp_path)(["blue brown"]), [pooled])


def test_the_pooling_of_a_sentence_encoder_is_preferred_to_another_output(tmp_path):
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["last_hidden_state"]),
        helper.make_node("ReduceMax", ["last_hidden_state"], ["pooler_output"], axes=[1], keepdims=0),
    ]
    outputs = {"last_hidden_state": ["batch", "tokens", CLIP_WIDTH], "pooler_output": ["batch", CLIP_WIDTH]}
    inputs = {"input_ids": (TensorProto.INT64, ["batch", "tokens"])}
    table = clip_weights()["tokens"]
    write_model(tmp_path / "model.onnx", nodes, inputs, outputs, {"table": table})
    write_tokenizer(tmp_path)
    assert TextEncoder(tmp_path).output == "pooler_output"
    (tmp_path / "1_Pooling").mkdir()
    (tmp_path / "1_Pooling" / "config.json").write_text('{"pooling_mode_mean_tokens": true}')
    found = TextEncoder(tmp_path)(["blue brown bird"])
    np.testing.assert_allclose(found, [table[1:4].mean(axis=0)], atol=1e-6)


def test_unknown_pooling_is_refused(tmp_path):
    token_encoder(tmp_path).rename(tmp_path / "model.onnx")
    (tmp_path / "1_Pooling").mkdir()
    (tmp_path / "1_Pooling" / "config.json").write_text('{"pooling_mode_lasttoken": true}')
    with pytest.raises(UnseenError, match="pools by lasttoken, expected mean or cls"):
        TextEncoder(tmp_path)


@pytest.mark.parametrize("content", ["[1, 2]", "{", "[" * 100_000])
def test_broken_configuration_is_one_error(tmp_path, content):
    token_encoder(tmp_path).rename(tmp_path / "model.onnx")
    (tmp_path / "config.json").write_text(content)
    write_tokenizer(tmp_path)
    with pytest.raises(UnseenError, match=r"config\.json"):
        TextEncoder(tmp_path)(["blue"])


# ---- Python callables


class Sentences:
    """What a sentence-transformers model offers: a method ``encode``."""

    def encode(self, texts):
        return np.array([[len(text), text.count("b")] for text in texts], dtype=np.float32)


class Tensor:
    """What matters of a torch tensor that needs gradients: it must be detached before NumPy takes it."""

    def __init__(self, values, attached=True):
        self.values, self.attached, self.dtype = np.asarray(values), attached, "torch.float32"

    def detach(self):
        return Tensor(self.values, attached=False)

    def cpu(self):
        return self

    def __array__(self, dtype=None, copy=None):
        if self.attached:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad")
        return self.values


@pytest.mark.parametrize(
    "wrap", [Sentences, lambda: Sentences().encode, lambda: lambda t: Tensor(Sentences().encode(t))]
)
def test_python_objects_work_wherever_a_name_does(wrap):
    found = describe_classes({"jay": ["blue bird"]}, wrap())
    np.testing.assert_allclose(found.values, [np.array([9, 2]) / np.sqrt(85)])


# ---- a real sentence encoder


def test_a_real_sentence_encoder(real_data):
    folder = real_data.parent / "models" / "all-MiniLM-L6-v2"
    if not folder.is_dir():
        pytest.skip("no models/all-MiniLM-L6-v2 beside the data")
    encoder = TextEncoder(folder)
    assert encoder.file.name == "model_quantized.onnx"
    names = ["sports car", "truck", "zebra", "horse", "cardinal bird"]
    rows = Prototypes.from_text({name: name for name in names}, encoder).values
    similarity = {(a, b): float(rows[i] @ rows[j]) for i, a in enumerate(names) for j, b in enumerate(names)}
    assert similarity["sports car", "truck"] == pytest.approx(0.49, abs=0.03)
    assert similarity["zebra", "horse"] == pytest.approx(0.46, abs=0.03)
    assert similarity["sports car", "cardinal bird"] == pytest.approx(0.18, abs=0.03)
