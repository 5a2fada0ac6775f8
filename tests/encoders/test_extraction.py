"""Images to features: batches, what is written, what is resumed, what is left out."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.io
from PIL import Image

from image_files import save_image
from onnx_models import takes_words
from unseen.datasets import load_dataset
from unseen.encoders.backbone import Backbone
from unseen.encoders.extraction import extract, stream_features
from unseen.encoders.images import find_images
from unseen.encoders.preprocessing import Preprocessing
from unseen.errors import UnseenError


def read(path) -> dict[str, np.ndarray]:
    with np.load(path, allow_pickle=False) as file:
        return dict(file)


# ---- images through the backbone


def test_batches_halve_when_memory_runs_out(folder):
    def small_machine(x: np.ndarray) -> np.ndarray:
        if len(x) > 3:
            raise MemoryError
        return x.mean((2, 3))

    steps = Preprocessing(16, 10)
    files = [find_images(folder).path(i) for i in range(5)]
    found = list(stream_features(files, small_machine, steps, on_error=pytest.fail))
    assert [i for positions, _ in found for i in positions] == [0, 1, 2, 3, 4]
    expected = [steps(file).mean((0, 2, 3)) for file in files]
    np.testing.assert_allclose(np.concatenate([rows for _, rows in found]), expected, rtol=1e-4, atol=1e-6)


def test_no_memory_for_one_image_is_an_error(folder):
    def no_memory(x: np.ndarray) -> np.ndarray:
        raise MemoryError

    with pytest.raises(UnseenError, match="not enough memory"):
        list(stream_features([folder / "jay/a.png"], no_memory, Preprocessing(16), on_error=pytest.fail))


@pytest.mark.parametrize("crops", [1, 10])
def test_extraction_writes_features_labels_and_names(folder, backbone, tmp_path, crops):
    steps = Preprocessing(16, crops)
    done = extract(folder, backbone, tmp_path / "new" / "f.npz", preprocessing=steps)
    found, images = read(done.out), find_images(folder)
    assert sorted(found) == ["X", "class_names", "encoder", "files", "stamps", "y"]
    assert found["X"].shape == done.shape == (5, 6) and found["X"].dtype == np.float32
    assert found["files"].tolist() == list(images.names)
    assert found["y"].tolist() == images.y.tolist()
    expected = [backbone(steps(images.path(i))).mean(axis=0) for i in range(5)]
    np.testing.assert_allclose(found["X"], expected, rtol=1e-5, atol=1e-6)
    assert [path.name for path in done.out.parent.iterdir()] == ["f.npz"]  # no trace of the parts


def test_extraction_to_a_folder_holds_the_same(folder, backbone, tmp_path):
    extract(folder, backbone, tmp_path / "f.npz")
    extract(folder, backbone, tmp_path / "f")
    np.testing.assert_array_equal(np.load(tmp_path / "f" / "features.npy"), read(tmp_path / "f.npz")["X"])
    lines = (tmp_path / "f" / "labels.csv").read_text().splitlines()
    assert lines[:2] == ["file,class", "jay/a.png,jay"] and len(lines) == 6


@pytest.mark.parametrize("out", ["f.npz", "f"])
def test_what_is_written_loads_as_a_data_set(backbone, tmp_path, out):
    for seed, name in enumerate("cab"):
        save_image(tmp_path / "images" / name / "1.png", seed)
    (tmp_path / "p.csv").write_text("class,long,red\nb,1,0\na,0,1\nd,1,1\nc,0,0\ne,2,2\n")
    extract(tmp_path / "images", backbone, tmp_path / out)
    data = load_dataset(tmp_path / out, prototypes=tmp_path / "p.csv")
    assert [data.class_names[i] for i in data.y] == ["a", "b", "c"]
    assert [name for name, unseen in zip(data.class_names, data.unseen) if unseen] == ["d", "e"]


def test_without_classes_there_is_no_y(folder, backbone, tmp_path):
    extract(folder / "jay", backbone, tmp_path / "f.npz")
    assert sorted(read(tmp_path / "f.npz")) == ["X", "encoder", "files", "stamps"]


class Interrupted(Backbone):
    """A backbone that is interrupted after some batches, and counts the images it has seen."""

    left = 10**6
    seen = 0

    def __call__(self, pixels):
        if self.left == 0:
            raise KeyboardInterrupt
        self.left -= 1
        self.seen += len(pixels)
        return super().__call__(pixels)


def test_an_interrupted_extraction_continues(backbone, tmp_path):
    for seed in range(40):
        save_image(tmp_path / "images" / f"{seed:02d}.png", seed, (8, 8))
    network = Interrupted(backbone.file, size=16)
    network.left = 2
    with pytest.raises(KeyboardInterrupt):
        extract(tmp_path / "images", network, tmp_path / "f.npz")
    assert not (tmp_path / "f.npz").exists()
    first, network.left = network.seen, 10**6
    save_image(tmp_path / "images" / "00.png", 99, (8, 8))  # an image changes in between
    done = extract(tmp_path / "images", network, tmp_path / "f.npz")
    assert 0 < first < 40 and done.n_reused == first - 1
    assert network.seen == 40 + 1
    extract(tmp_path / "images", backbone, tmp_path / "whole.npz")
    np.testing.assert_allclose(read(tmp_path / "f.npz")["X"], read(tmp_path / "whole.npz")["X"], rtol=1e-6)


def test_other_settings_start_anew(folder, backbone, tmp_path):
    extract(folder, backbone, tmp_path / "f.npz")
    done = extract(folder, backbone, tmp_path / "f.npz", preprocessing=Preprocessing(16, resize=20))
    assert done.n_reused == 0


def test_unreadable_images_are_named_and_left_out(folder, backbone, tmp_path):
    whole = (folder / "jay" / "b.jpg").read_bytes()
    (folder / "jay" / "b.jpg").write_bytes(whole[: len(whole) // 2])
    done = extract(folder, backbone, tmp_path / "f.npz")
    assert list(done.unreadable) == ["jay/b.jpg"] and done.shape == (4, 6)
    assert "jay/b.jpg" not in read(tmp_path / "f.npz")["files"]
    assert read(tmp_path / "f.npz")["y"].tolist() == [0, 1, 1, 1]


def test_nothing_readable_is_an_error(backbone, tmp_path):
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "a.png").write_bytes(b"broken")
    with pytest.raises(UnseenError, match=r"None of the 1 images.*'a.png'"):
        extract(tmp_path / "p", backbone, tmp_path / "f.npz")


@pytest.mark.parametrize("limit", [700, 1000])  # Pillow raises above twice the limit, and warns before
def test_decompression_bombs_are_unreadable(folder, backbone, tmp_path, monkeypatch, limit):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", limit)
    for file in (folder / "owl").rglob("*.*"):
        file.unlink()
    save_image(folder / "owl" / "small.png", 1, (5, 5))
    done = extract(folder, backbone, tmp_path / "f.npz")
    assert sorted(done.unreadable) == ["jay/a.png", "jay/b.jpg"]
    assert "decompression bomb" in done.unreadable["jay/a.png"]


# ---- the command


def test_command_says_what_it_did(run, folder, backbone, tmp_path):
    (folder / "owl" / "z.png").write_bytes(b"broken")
    arguments = ["--backbone", backbone.file, "--size", 16, "--crops", 10, "--out", tmp_path / "f.npz"]
    done = run("extract", folder, *arguments)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert "could not read owl/z.png" in done.stderr
    assert "5 images of 2 classes, 6 features each, the mean of ten crops" in done.stderr
    assert "left out 1 of 6 images" in done.stderr
    again = run("extract", folder, *arguments)
    assert "5 images of 2 classes (5 of them from an earlier run)" in again.stderr


def test_command_refuses_in_one_line(run, folder, backbone, tmp_path):
    (tmp_path / "empty").mkdir()
    words = takes_words(tmp_path / "words.onnx")
    for arguments in (
        [tmp_path / "empty", "--backbone", backbone.file],
        [folder, "--backbone", words],
        [folder, "--backbone", backbone.file, "--resize", 5],
    ):
        done = run("extract", *arguments, "--out", tmp_path / "f.npz")
        assert done.returncode == 2
        assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1
    done = run("extract", folder, "--backbone", backbone.file, "--mean", "1,2", "--out", tmp_path / "f.npz")
    assert done.returncode == 2 and "three numbers" in done.stderr


# ---- the real backbone on real photographs


@pytest.mark.slow
@pytest.mark.parametrize(("crops", "name"), [(1, "res50.mat"), (10, "res50_10crop.mat")])
def test_features_equal_the_published_rows(run, real_data, tmp_path, crops, name):
    model = real_data.parent / "models" / "resnet50.onnx"
    if not model.is_file():
        pytest.skip("no models/resnet50.onnx beside the data")
    images, out = real_data / "images", tmp_path / "f.npz"
    if crops == 10:  # ten times the work: a few images are enough
        for file in sorted(images.glob("*/*.jpg"))[::6]:
            (tmp_path / "few" / file.parent.name).mkdir(parents=True, exist_ok=True)
            (tmp_path / "few" / file.parent.name / file.name).symlink_to(file)
        images = tmp_path / "few"
    resize = ["--resize", 224] if crops == 1 else []
    done = run("extract", images, "--backbone", model, "--crops", crops, *resize, "--out", out)
    assert done.returncode == 0, done.stderr
    found, mat = read(out), scipy.io.loadmat(real_data / "xlsa17" / "CUB" / name)
    row = {"/".join(str(file[0][0]).split("/")[-2:]): i for i, file in enumerate(mat["image_files"])}
    rows = [row["/".join(str(file).split("/")[-2:])] for file in found["files"]]
    np.testing.assert_allclose(found["X"], mat["features"].T[rows], atol=0.02)
    if crops == 1:
        assert found["X"].shape == (24, 2048)
        assert [found["class_names"][i] for i in found["y"]] == [f.split("/")[0] for f in found["files"]]
