"""Encoders by name: files, folders in Hugging Face layout, repositories of the hub on a loopback server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import oracle
from conftest import ROOT
from hub_server import COMMIT, serve_hub
from image_files import save_image
from onnx_models import CLIP_CONFIG, clip_folder, clip_vision_model, clip_weights, mean_backbone
from unseen.encoders.backbone import Backbone, open_backbone
from unseen.encoders.references import choose_onnx, find_model
from unseen.errors import UnseenError


@pytest.fixture
def clip(tmp_path: Path) -> Path:
    return clip_folder(tmp_path / "clip")


# ---- files and folders


def test_a_clip_like_model_gives_the_reference_embeddings(clip, tmp_path):
    backbone, weights = Backbone(clip), clip_weights()
    assert backbone.size == 16
    for seed, size in enumerate([(40, 30), (31, 57), (200, 17)]):
        file = save_image(tmp_path / f"{seed}.png", seed, size)
        pixels = oracle.clip_pixels(file, CLIP_CONFIG)
        expected = oracle.clip_image_embedding(pixels, weights["kernels"], weights["projection"])
        np.testing.assert_allclose(backbone(backbone.preprocessing(file))[0], expected, atol=1e-4)


def test_configuration_beside_a_file_counts_and_a_bare_file_is_squashed(clip, tmp_path):
    in_layout = Backbone(clip / "onnx" / "vision_model.onnx").preprocessing
    assert in_layout.resize_mode == "shortest"
    bare = Backbone(clip_vision_model(tmp_path / "v.onnx")).preprocessing
    assert (bare.resize_mode, bare.resample, bare.side) == ("squash", "bilinear", 224)


def test_the_size_of_the_model_beats_the_configuration(clip):
    mean_backbone(clip / "onnx" / "vision_model.onnx", (1, 3, 8, 8))
    assert Backbone(clip).preprocessing.size == 8


@pytest.mark.parametrize(
    ("config", "pooling"),
    [({"model_type": "dinov2"}, "first"), ({"model_type": "clip"}, "mean"), ({}, "mean")],
)
def test_the_first_token_stands_for_the_image_where_it_was_trained_to(clip, config, pooling):
    (clip / "config.json").write_text(json.dumps(config))
    assert Backbone(clip).pooling == pooling


FILES = ["onnx/model.onnx", "onnx/model_fp16.onnx", "onnx/text_model_int8.onnx", "readme.md"]


@pytest.mark.parametrize(
    ("names", "kind", "variant", "expected"),
    [
        (FILES, "image", None, "onnx/model.onnx"),
        (FILES, "image", "fp16", "onnx/model_fp16.onnx"),
        (FILES, "text", None, "onnx/text_model_int8.onnx"),  # the only file of the text part
        (["model.onnx"], "text", None, "model.onnx"),
        (["onnx/model_quantized.onnx"], "image", None, "onnx/model_quantized.onnx"),
        (["model.onnx", "onnx/model.onnx"], "image", None, "onnx/model.onnx"),
    ],
)
def test_choice_of_the_onnx_file(names, kind, variant, expected):
    assert choose_onnx(names, kind, variant, "org/model") == expected


@pytest.mark.parametrize(
    ("names", "variant", "message"),
    [
        ([], None, "org/model has no ONNX file .* optimum-cli export onnx --model org/model"),
        (["onnx/decoder.onnx"], None, "has onnx/decoder.onnx, expected vision_model.onnx or model.onnx"),
        (
            ["model_fp16.onnx", "model_int8.onnx"],
            None,
            "no model.onnx. Choose: --variant fp16, --var",
        ),
        (["model.onnx", "model_fp16.onnx"], "fp61", "no model_fp61.onnx.*Did you mean 'fp16'"),
    ],
)
def test_repositories_without_the_file(names, variant, message):
    with pytest.raises(UnseenError, match=message):
        choose_onnx(names, "image", variant, "hf:org/model")


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("openai/clip-vit-base-patch32", "write hf:openai/clip-vit-base-patch32"),
        ("hf:clip", "expected hf:owner/name"),
        ("hf:../../etc@x y", "expected hf:owner/name"),
        ("nowhere.onnx", "There is no file 'nowhere.onnx'"),
    ],
)
def test_names_that_mean_nothing(reference, message):
    with pytest.raises(UnseenError, match=message):
        Backbone(reference)


# ---- Python callables


def test_a_function_is_a_backbone(tmp_path):
    backbone = open_backbone(lambda pixels: pixels.mean((2, 3)))
    pixels = backbone.preprocessing(save_image(tmp_path / "a.png", 0))
    np.testing.assert_allclose(backbone(pixels), pixels.mean((2, 3)))
    assert pixels.shape == (1, 3, 224, 224)


@pytest.mark.parametrize("function", [lambda pixels: pixels[0], lambda pixels: np.zeros(len(pixels))])
def test_a_function_must_give_one_row_per_image(function):
    with pytest.raises(UnseenError, match="expected one row per image"):
        open_backbone(function)(np.zeros((2, 3, 8, 8), np.float32))


def test_what_is_no_backbone_is_refused():
    with pytest.raises(UnseenError, match="expected a path, hf:owner/name or a callable"):
        open_backbone(7)


# ---- the hub

SCRIPT = """
import json, sys
from unseen.encoders.references import find_model
from unseen.errors import UnseenError
for reference, kind, variant in json.loads(sys.argv[1]):
    try:
        found = find_model(reference, kind, variant)
        print(json.dumps([str(found.model), found.revision, sorted(found.config("config.json"))]))
    except UnseenError as error:
        print(json.dumps(str(error)))
"""


def ask(*references, **environment: str):
    """Return what find_model says in a fresh process: huggingface_hub reads its environment once."""
    wanted = json.dumps([[*reference, None][:3] for reference in references])
    clean = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
    env = {**clean, "PYTHONPATH": str(ROOT / "src"), "HF_HUB_DISABLE_PROGRESS_BARS": "1", **environment}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, wanted], env=env, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture
def hub():
    with serve_hub() as server:
        yield server


def test_a_repository_is_fetched_once_by_the_files_it_needs(hub, clip, tmp_path):
    (clip / "pytorch_model.bin").write_bytes(b"not asked for")
    (clip / "onnx" / "vision_model_fp16.onnx").write_bytes(b"another variant")
    (clip / "onnx" / "vision_model.onnx_data").write_bytes(b"weights")
    hub.add("org/clip", clip, branches=("main", "v1"))
    where = {"HF_ENDPOINT": hub.url, "HF_HOME": str(tmp_path / "hf")}
    [(model, revision, config)] = ask(("hf:org/clip", "image"), **where)
    assert Path(model).read_bytes() == (clip / "onnx" / "vision_model.onnx").read_bytes()
    assert revision == COMMIT and config == ["model_type"]
    assert sorted(hub.downloads) == [
        "config.json",
        "onnx/vision_model.onnx",
        "onnx/vision_model.onnx_data",
        "preprocessor_config.json",
    ]
    hub.downloads.clear()
    again = ask(
        ("hf:org/clip", "image"), (f"hf:org/clip@{COMMIT}", "image"), ("hf:org/clip@v1", "text"), **where
    )
    assert [found[1] for found in again] == [COMMIT] * 3
    assert sorted(hub.downloads) == ["onnx/text_model.onnx", "tokenizer.json", "tokenizer_config.json"]
    # afterwards neither the hub nor the network is needed
    hub.downloads.clear()
    [offline] = ask(("hf:org/clip", "image"), **where, HF_HUB_OFFLINE="1")
    [no_network] = ask(("hf:org/clip", "image"), HF_ENDPOINT="http://127.0.0.1:9", HF_HOME=where["HF_HOME"])
    assert offline[0] == no_network[0] == model and hub.downloads == []


def test_each_problem_of_the_hub_is_one_clear_line(hub, clip, tmp_path):
    hub.add("org/clip", clip)
    hub.add("org/gated", clip, gated=True)
    hub.add("org/spoiled", clip, spoiled={"onnx/vision_model.onnx"})
    hub.add("org/config", clip, spoiled={"preprocessor_config.json"})
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "config.json").write_text("{}")
    hub.add("org/weights", tmp_path / "empty")
    where = {"HF_ENDPOINT": hub.url, "HF_HOME": str(tmp_path / "hf")}
    expected = {
        ("hf:org/gated", "image"): "is gated: accept its conditions at",
        ("hf:org/nothing", "image"): "There is no model 'org/nothing'",
        ("hf:org/clip@v9", "image"): "has no revision 'v9'",
        ("hf:org/weights", "image"): "hf:org/weights has no ONNX file",
        ("hf:org/clip", "image", "int8"): "has no vision_model_int8.onnx",
        ("hf:org/spoiled", "image"): "does not have the checksum",
        ("hf:org/config", "image"): "preprocessor_config.json of hf:org/config does not have the checksum",
    }
    for message, found in zip(expected.values(), ask(*expected, **where)):
        assert message in found and "\n" not in found
    # what was spoiled is not left in the cache
    hub.repositories["org/spoiled"].spoiled.clear()
    [(model, _, _)] = ask(("hf:org/spoiled", "image"), **where)
    assert Path(model).read_bytes() == (clip / "onnx" / "vision_model.onnx").read_bytes()


def test_a_missing_network_is_one_clear_line(tmp_path):
    home = str(tmp_path)
    [found] = ask(("hf:org/clip", "image"), HF_ENDPOINT="http://127.0.0.1:9", HF_HOME=home)
    assert "is not in the cache and http://127.0.0.1:9 cannot be reached. Run it once with network" in found
    [found] = ask(("hf:org/clip", "image"), HF_HUB_OFFLINE="1", HF_HOME=home)
    assert "is not in the cache and HF_HUB_OFFLINE is set" in found


def test_without_the_package_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(UnseenError, match=r"needs the package huggingface_hub.*\[hub\]"):
        find_model("hf:org/clip", "image")
