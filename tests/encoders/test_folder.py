"""From a folder of images and class names to a model that predicts images, in two commands."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from onnx_models import clip_folder, mean_backbone
from unseen.datasets.features import check_same_encoder, read_encoder_card
from unseen.encoders.backbone import Backbone
from unseen.encoders.extraction import extract
from unseen.encoders.folder import cache_of, load_image_folder
from unseen.encoders.images import is_image_folder
from unseen.errors import UnseenError

COLORS = {
    "blue": (0, 0, 255),
    "brown": (150, 80, 0),
    "blue_bird": (90, 90, 255),
    "brown_bird": (160, 120, 90),
}


def save_color(path: Path, color: tuple[int, int, int], seed: int) -> None:
    """Write an image of one color, with noise."""
    path.parent.mkdir(parents=True, exist_ok=True)
    noise = np.random.default_rng(seed).normal(scale=20, size=(24, 20, 3))
    Image.fromarray((np.array(color) + noise).clip(0, 255).astype(np.uint8)).save(path)


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """Four classes of six images."""
    for name, color in COLORS.items():
        for seed in range(6):
            save_color(tmp_path / "photos" / name / f"{seed}.png", color, seed)
    return tmp_path / "photos"


@pytest.fixture
def clip(tmp_path: Path) -> Path:
    return clip_folder(tmp_path / "clip")


class Counting(Backbone):
    """A backbone that counts the images it has seen."""

    seen = 0

    def __call__(self, pixels):
        self.seen += len(pixels)
        return super().__call__(pixels)


def test_features_are_cached_beside_the_folder_and_reused(photos, clip):
    network = Counting(clip)
    first = extract(photos, network, cache_of(photos))
    assert first.out == cache_of(photos) == photos.parent / "photos.features.npz"
    X = np.load(first.out)["X"]
    assert network.seen == 24
    again = extract(photos, network, cache_of(photos))
    assert network.seen == 24 and again.shape == first.shape and again.n_reused == 24
    # one image changes, one goes, one comes: two are run
    save_color(photos / "blue" / "0.png", (1, 2, 3), 9)
    (photos / "blue" / "1.png").unlink()
    save_color(photos / "brown" / "9.png", (150, 80, 0), 9)
    third = extract(photos, network, cache_of(photos))
    assert network.seen == 26 and third.shape == (24, 6)
    with np.load(third.out) as found:
        files = found["files"].tolist()
        np.testing.assert_array_equal(found["X"][files.index("blue/2.png")], X[2])
        assert "blue/1.png" not in files and files == sorted(files)
        fresh = Backbone(clip)
        rows = fresh(fresh.preprocessing(photos / "blue" / "0.png"))
        np.testing.assert_allclose(found["X"][files.index("blue/0.png")], rows[0], rtol=1e-5)


def test_another_backbone_starts_afresh(photos, clip, tmp_path):
    extract(photos, clip, cache_of(photos))
    network = Backbone(mean_backbone(tmp_path / "m.onnx"), size=8)
    other = extract(photos, network, cache_of(photos))
    assert other.n_reused == 0 and read_encoder_card(other.out)["file"] == "m.onnx"


def test_a_file_of_the_user_is_never_taken_for_the_cache(photos, clip):
    np.savez(cache_of(photos), X=np.eye(3))
    with pytest.raises(UnseenError, match="Move it away"):
        load_image_folder(photos, clip, clip)


def test_classes_come_from_folders_lists_and_names(photos, clip):
    (photos / "bird").mkdir()  # no image: unseen
    data = load_image_folder(photos, clip, clip, classes={"owl": ["brown bird", "bird"]}, templates=["{}"])
    assert data.name == "photos"
    assert set(data.class_names) == {*COLORS, "bird", "owl"}
    assert {name for name, unseen in zip(data.class_names, data.unseen) if unseen} == {"bird", "owl"}
    assert data.encoder["file"] == "vision_model.onnx"
    (photos / "bird").rmdir()
    held_out = load_image_folder(photos, clip, clip, unseen_classes=["brown", "blue"])
    assert {n for n, unseen in zip(held_out.class_names, held_out.unseen) if unseen} == {"brown", "blue"}


def test_a_single_class_may_be_unseen(photos, clip):
    data = load_image_folder(photos, clip, clip, classes=["bird"])
    assert set(data.class_names) == {*COLORS, "bird"}
    assert [name for name, unseen in zip(data.class_names, data.unseen) if unseen] == ["bird"]


def test_what_a_folder_needs(photos, clip, tmp_path):
    with pytest.raises(UnseenError, match="give a text encoder for their names"):
        load_image_folder(photos, clip)
    with pytest.raises(UnseenError, match="names no class"):
        load_image_folder(photos / "blue", clip, clip)
    assert is_image_folder(photos) and is_image_folder(photos / "blue")
    assert not is_image_folder(clip) and not is_image_folder(tmp_path / "nowhere")


# ---- two commands


def test_two_commands_recognize_a_class_without_images(invoke, photos, clip, tmp_path):
    (tmp_path / "names.txt").write_text("bird\n")
    networks = ("--backbone", "clip", "--encoder", "clip")
    options = (
        "--classes",
        "names.txt",
        "--method",
        "eszsl",
        "--gamma",
        "paper",
        "--model",
        "m.model",
        "--json",
    )
    done = invoke("fit", "photos", *networks, *options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    card = json.loads(done.stdout)
    assert card["classes"] == {"seen": sorted(COLORS), "unseen": ["bird"]}
    assert card["encoder"]["name"] == card["text_encoder"]["name"] == "clip"
    assert "Extracting features: 24/24 images" in done.stderr
    assert "kept the features of the images in photos.features.npz, for the next fit" in done.stderr
    again = invoke("fit", "photos", *networks, *options, cwd=tmp_path)
    assert again.returncode == 0 and "Extracting" not in again.stderr
    for seed in range(3):
        save_color(tmp_path / "new" / f"{seed}.png", COLORS["blue"], 50 + seed)
    done = invoke("predict", "m.model", "new", "--top", 5, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [row["file"] for row in rows] == ["0.png", "1.png", "2.png"]
    assert {row["class"] for row in rows} == {"blue"}
    assert all("bird" in row.values() for row in rows)


def test_inspect_describes_images_before_any_network_has_seen_them(invoke, photos, tmp_path):
    done = invoke("inspect", "photos", "--json", cwd=tmp_path)
    found = json.loads(done.stdout)
    assert (found["samples"], found["seen_classes"], found["samples_per_class"]["min"]) == (24, 4, 6)
    assert "--backbone REF" in found["missing"][0] and "--encoder REF" in found["missing"][1]
    one = invoke("inspect", "photos/blue/0.png", cwd=tmp_path)
    assert one.returncode == 0 and one.stderr == "" and "has no class folders" in one.stdout


def test_fit_does_not_write_to_its_list_of_classes(invoke, photos, clip, tmp_path):
    (tmp_path / "names.txt").write_text("bird\n")
    networks = ("--backbone", "clip", "--encoder", "clip")
    options = ("--classes", "names.txt", "--model", "names.txt", "--force")
    done = invoke("fit", "photos", *networks, *options, cwd=tmp_path)
    assert done.returncode == 2 and "never replaces its input" in done.stderr
    assert (tmp_path / "names.txt").read_text() == "bird\n"
    long = ",".join(f"bird {k}" for k in range(200))  # names that are too long for a path
    done = invoke("fit", "photos", *networks, "--classes", long, "--model", "photos/blue/0.png", cwd=tmp_path)
    assert done.returncode == 2 and "never replaces its input" in done.stderr


def test_predict_refuses_features_of_another_encoder_by_name(invoke, photos, clip, tmp_path):
    options = ("--method", "eszsl", "--gamma", "paper", "--quiet", "--model", "m.model")
    invoke("fit", "photos", "--backbone", "clip", "--encoder", "clip", *options, cwd=tmp_path)
    other = clip_folder(tmp_path / "other")
    mean_backbone(other / "onnx" / "vision_model.onnx")  # also six numbers
    assert invoke("extract", "photos", "--backbone", "other", "--out", "o.npz", cwd=tmp_path).returncode == 0
    assert (
        invoke("extract", "photos", "--backbone", "clip", "--out", "same.npz", cwd=tmp_path).returncode == 0
    )
    assert invoke("predict", "m.model", "same.npz", "--quiet", cwd=tmp_path).returncode == 0
    for arguments in (["o.npz"], ["photos", "--backbone", "other"]):
        done = invoke("predict", "m.model", *arguments, cwd=tmp_path)
        assert done.returncode == 2 and done.stderr.count("\n") == 1
        assert "was made by the encoder other (output features), but the model was fitted to" in done.stderr
        assert "features of clip (output image_embeds)" in done.stderr
    # the network named in the model is gone
    (tmp_path / "clip").rename(tmp_path / "moved")
    done = invoke("predict", "m.model", "photos", cwd=tmp_path)
    assert done.returncode == 2 and "clip (output image_embeds), which is not here" in done.stderr
    assert invoke("predict", "m.model", "photos", "--backbone", "moved", cwd=tmp_path).returncode == 0


def test_fit_says_what_a_folder_of_images_needs(invoke, photos, tmp_path):
    done = invoke("fit", "photos", "--model", "m.model", cwd=tmp_path)
    assert done.returncode == 2 and "--backbone REF" in done.stderr and "--encoder REF" in done.stderr
    done = invoke("fit", "digits", "--classes", "a,b", "--model", "m.model", cwd=tmp_path)
    assert done.returncode == 2 and "--classes" in done.stderr


def test_a_model_without_encoder_asks_for_the_backbone(invoke, photos, tmp_path):
    np.savez(
        tmp_path / "d.npz",
        X=np.random.default_rng(0).normal(size=(40, 6)),
        y=np.arange(40) % 5,
        prototypes=np.eye(5),
    )
    invoke(
        "fit", "d.npz", "--method", "eszsl", "--gamma", "paper", "--quiet", "--model", "m.model", cwd=tmp_path
    )
    done = invoke("predict", "m.model", "photos", cwd=tmp_path)
    assert done.returncode == 2 and "Give it with --backbone" in done.stderr


# ---- which encoder made the features


def test_what_is_not_known_is_not_refused():
    card = {"name": "a.onnx", "sha256": "1", "output": "f"}
    check_same_encoder(None, card, "x")
    check_same_encoder(card, None, "x")
    check_same_encoder({**card, "name": "elsewhere/b.onnx"}, card, "x")
    with pytest.raises(UnseenError, match=r"a\.onnx"):
        check_same_encoder({**card, "output": "g"}, card, "x")


@pytest.mark.parametrize("text", ["{", "[]", '{"sha256": "1"}'])
def test_damaged_cards_are_one_error(tmp_path, text):
    np.savez(tmp_path / "f.npz", X=np.eye(2), encoder=np.array(text))
    with pytest.raises(UnseenError, match="does not say which encoder"):
        read_encoder_card(tmp_path / "f.npz")


# ---- real photographs and a real sentence encoder


@pytest.mark.slow
def test_photographs_of_a_bird_that_was_never_shown(run, real_data, tmp_path):
    models = real_data.parent / "models"
    if not (models / "resnet50.onnx").is_file() or not (models / "all-MiniLM-L6-v2").is_dir():
        pytest.skip("no models beside the data")
    (tmp_path / "photos").mkdir()
    for folder in (real_data / "images").iterdir():
        (tmp_path / ("new" if "Mallard" in folder.name else f"photos/{folder.name}")).symlink_to(folder)
    networks = ("--backbone", models / "resnet50.onnx", "--encoder", models / "all-MiniLM-L6-v2")
    options = ("--classes", "names.txt", "--method", "linear-sv", "--gamma", "paper", "--model", "m.model")
    (tmp_path / "names.txt").write_text("Mallard\n")
    done = run("fit", "photos", *networks, *options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    done = run("predict", "m.model", "new", "--top", 1, cwd=tmp_path)
    assert done.stdout.count(",Mallard,") >= 3, done.stdout
