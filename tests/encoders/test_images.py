"""Pictures to features: which pictures, how they are cut, how the backbone is run, what is written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.io
from onnx import TensorProto, helper
from PIL import Image

import oracle
from onnx_models import map_backbone, mean_backbone, write_model
from unseen.datasets import load
from unseen.encoders.backbone import Backbone
from unseen.encoders.images import Preprocessing, extract, find_pictures, read_picture, stream_features
from unseen.errors import UnseenError


def save_picture(path: Path, seed: int, size: tuple[int, int] = (40, 30)) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.random.default_rng(seed).integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
    Image.fromarray(pixels).save(path)
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Five pictures in two class folders."""
    for seed, name in enumerate(["jay/a.png", "jay/b.jpg", "owl/c.png", "owl/more/d.png", "owl/e.PNG"]):
        save_picture(tmp_path / "pictures" / name, seed)
    (tmp_path / "pictures" / "jay" / "notes.txt").write_text("not a picture")
    return tmp_path / "pictures"


@pytest.fixture
def backbone(tmp_path: Path) -> Backbone:
    return Backbone(mean_backbone(tmp_path / "mean.onnx"), size=16)


# ---- which pictures


def test_class_folders_give_labels(folder):
    found = find_pictures(folder)
    assert found.names == ("jay/a.png", "jay/b.jpg", "owl/c.png", "owl/e.PNG", "owl/more/d.png")
    assert found.class_names == ("jay", "owl")
    assert found.y.tolist() == [0, 0, 1, 1, 1]


def test_links_are_followed_and_hidden_files_are_not(folder, tmp_path):
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "day").symlink_to(folder / "jay", target_is_directory=True)
    save_picture(tmp_path / "links" / ".trash" / "x.png", 0)
    save_picture(tmp_path / "links" / "day" / "._a.png", 0)
    assert find_pictures(tmp_path / "links").names == ("day/a.png", "day/b.jpg")


def test_flat_folder_has_no_labels(folder):
    found = find_pictures(folder / "jay")
    assert found.names == ("a.png", "b.jpg") and found.y is None


def test_list_file_keeps_its_order_and_classes(folder):
    (folder / "list.csv").write_text("owl/c.png,night\njay/a.png,day\n")
    found = find_pictures(folder / "list.csv")
    assert found.names == ("owl/c.png", "jay/a.png")
    assert [found.class_names[i] for i in found.y] == ["night", "day"]
    (folder / "plain.txt").write_text("owl/c.png\n\njay/a.png\n")
    assert find_pictures(folder / "plain.txt").y is None


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: path.mkdir(), "holds no picture"),
        (lambda path: None, "no folder or list file"),
        (lambda path: path.write_text(""), "is empty"),
        (lambda path: path.write_text("a.png,jay,7\n"), "expected path or path,class"),
        (lambda path: path.write_bytes(b"\xff\xd8\xff\xe0\x80"), "not a text file"),
        (lambda path: [save_picture(path / name, 0) for name in ("x.png", "jay/a.png")], "outside of them"),
    ],
)
def test_sources_that_cannot_be_used(tmp_path, make, message):
    make(tmp_path / "source")
    with pytest.raises(UnseenError, match=message):
        find_pictures(tmp_path / "source")


# ---- from a file to numbers


@pytest.mark.parametrize(("crops", "resize"), [(1, 16), (1, 23), (10, 20), (10, None)])
def test_crops_equal_the_literal_ones(tmp_path, crops, resize):
    file = save_picture(tmp_path / "a.png", 7)
    steps = Preprocessing(16, crops, resize, mean=(0.5, 0.4, 0.3), std=(0.2, 0.3, 0.4))
    expected = oracle.crops_of_picture(file, steps.sides[0], 16, crops, steps.mean, steps.std)
    np.testing.assert_allclose(steps(file), expected, rtol=1e-5, atol=1e-6)


def test_a_picture_taken_sideways_is_turned_upright(tmp_path):
    picture = Image.open(save_picture(tmp_path / "a.png", 3, (30, 30)))
    exif = Image.Exif()
    exif[0x0112] = 6  # the camera was turned by 90 degrees
    picture.transpose(Image.Transpose.ROTATE_90).save(tmp_path / "b.png", exif=exif)
    np.testing.assert_array_equal(read_picture(tmp_path / "a.png", 30), read_picture(tmp_path / "b.png", 30))


@pytest.mark.parametrize("mode", ["L", "P", "RGBA", "LA", "1", "CMYK"])
def test_every_colour_mode_becomes_rgb(tmp_path, mode):
    suffix = "tif" if mode == "CMYK" else "png"
    Image.open(save_picture(tmp_path / "a.png", 3)).convert(mode).save(tmp_path / f"b.{suffix}")
    assert read_picture(tmp_path / f"b.{suffix}", 8).shape == (8, 8, 3)


def test_sixteen_bits_are_scaled_not_cut_off(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 2**16, (8, 8), dtype=np.uint16)
    Image.fromarray(pixels).save(tmp_path / "a.png")
    np.testing.assert_array_equal(read_picture(tmp_path / "a.png", 8)[..., 1], pixels >> 8)


def test_a_disguised_program_is_not_a_picture(tmp_path):
    (tmp_path / "a.png").write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n")
    with pytest.raises(OSError, match="cannot identify"):
        read_picture(tmp_path / "a.png", 8)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"crops": 5}, "Got crops=5, but expected 1 or 10"),
        ({"resize": 200}, "must be at least 224"),
        ({"std": (1.0, 0.0, 1.0)}, "three positive"),
    ],
)
def test_steps_that_make_no_sense(options, message):
    with pytest.raises(UnseenError, match=message):
        Preprocessing(**options)


# ---- the backbone


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


@pytest.mark.parametrize("output", [None, "map", "tokens"])
def test_maps_and_tokens_are_averaged(tmp_path, output):
    x = pixels()
    found = Backbone(map_backbone(tmp_path / "m.onnx"), output=output)(x)
    np.testing.assert_allclose(found, x.mean((2, 3)), rtol=1e-5, atol=1e-6)


def test_size_is_read_from_the_model(tmp_path):
    assert Backbone(mean_backbone(tmp_path / "m.onnx", (1, 3, 96, 96))).size == 96
    assert Backbone(mean_backbone(tmp_path / "n.onnx")).size == 224


def two_pictures(path: Path) -> Path:
    nodes = [helper.make_node("Sub", ["a", "b"], ["map"])]
    kind = (TensorProto.FLOAT, ["batch", 3, 4, 4])
    return write_model(path, nodes, {"a": kind, "b": kind}, {"map": kind[1]})


def takes_words(path: Path) -> Path:
    nodes = [helper.make_node("Cast", ["input_ids"], ["features"], to=TensorProto.FLOAT)]
    kind = (TensorProto.INT64, ["batch", "tokens"])
    return write_model(path, nodes, {"input_ids": kind}, {"features": kind[1]})


def not_a_model(path: Path) -> Path:
    path.write_bytes(b"no model at all")
    return path


@pytest.mark.parametrize(
    ("make", "options", "message"),
    [
        (takes_words, {}, r"input_ids \(tensor\(int64\).*expected one input for pictures"),
        (two_pictures, {}, "expected one input for pictures"),
        (mean_backbone, {"input": "pixel"}, "no input 'pixel'.*Did you mean 'pixels'"),
        (mean_backbone, {"output": "feature"}, "Did you mean 'features'"),
        (mean_backbone, {"provider": "cpuu"}, "Did you mean 'cpu'"),
        (lambda path: mean_backbone(path, (1, 3, 8, 9)), {}, "expected a square"),
        (lambda path: mean_backbone(path, (1, 3, 8, 8)), {"size": 9}, "8 x 8, expected 9 x 9"),
        (lambda path: mean_backbone(path, (1, 3, 8, 8)), {"layout": "NHWC"}, "expected three colour"),
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


# ---- pictures through it


def test_batches_halve_when_memory_runs_out(folder):
    def small_machine(x: np.ndarray) -> np.ndarray:
        if len(x) > 3:
            raise MemoryError
        return x.mean((2, 3))

    steps = Preprocessing(16, 10)
    files = [find_pictures(folder).path(i) for i in range(5)]
    found = list(stream_features(files, small_machine, steps, on_error=pytest.fail))
    assert [i for positions, _ in found for i in positions] == [0, 1, 2, 3, 4]
    expected = [steps(file).mean((0, 2, 3)) for file in files]
    np.testing.assert_allclose(np.concatenate([rows for _, rows in found]), expected, rtol=1e-4, atol=1e-6)


def test_no_memory_for_one_picture_is_an_error(folder):
    def no_memory(x: np.ndarray) -> np.ndarray:
        raise MemoryError

    with pytest.raises(UnseenError, match="not enough memory"):
        list(stream_features([folder / "jay/a.png"], no_memory, Preprocessing(16), on_error=pytest.fail))


@pytest.mark.parametrize("crops", [1, 10])
def test_extraction_writes_features_labels_and_names(folder, backbone, tmp_path, crops):
    steps = Preprocessing(16, crops)
    done = extract(folder, backbone, tmp_path / "new" / "f.npz", preprocessing=steps)
    found, pictures = np.load(done.out, allow_pickle=False), find_pictures(folder)
    assert sorted(found) == ["X", "class_names", "files", "y"]
    assert found["X"].shape == done.shape == (5, 6) and found["X"].dtype == np.float32
    assert found["files"].tolist() == list(pictures.names)
    assert found["y"].tolist() == pictures.y.tolist()
    expected = [backbone(steps(pictures.path(i))).mean(axis=0) for i in range(5)]
    np.testing.assert_allclose(found["X"], expected, rtol=1e-5, atol=1e-6)
    assert [path.name for path in done.out.parent.iterdir()] == ["f.npz"]  # no trace of the parts


def test_extraction_to_a_folder_holds_the_same(folder, backbone, tmp_path):
    extract(folder, backbone, tmp_path / "f.npz")
    extract(folder, backbone, tmp_path / "f")
    np.testing.assert_array_equal(np.load(tmp_path / "f" / "features.npy"), np.load(tmp_path / "f.npz")["X"])
    lines = (tmp_path / "f" / "labels.csv").read_text().splitlines()
    assert lines[:2] == ["file,class", "jay/a.png,jay"] and len(lines) == 6


@pytest.mark.parametrize("out", ["f.npz", "f"])
def test_what_is_written_loads_as_a_data_set(backbone, tmp_path, out):
    for seed, name in enumerate("cab"):
        save_picture(tmp_path / "pictures" / name / "1.png", seed)
    (tmp_path / "p.csv").write_text("class,long,red\nb,1,0\na,0,1\nd,1,1\nc,0,0\ne,2,2\n")
    extract(tmp_path / "pictures", backbone, tmp_path / out)
    data = load(tmp_path / out, prototypes=tmp_path / "p.csv")
    assert [data.class_names[i] for i in data.y] == ["a", "b", "c"]
    assert [name for name, unseen in zip(data.class_names, data.unseen) if unseen] == ["d", "e"]


def test_without_classes_there_is_no_y(folder, backbone, tmp_path):
    extract(folder / "jay", backbone, tmp_path / "f.npz")
    assert sorted(np.load(tmp_path / "f.npz")) == ["X", "files"]


class Interrupted(Backbone):
    """A backbone that is interrupted after some batches, and counts the pictures it has seen."""

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
        save_picture(tmp_path / "pictures" / f"{seed:02d}.png", seed, (8, 8))
    network = Interrupted(backbone.file, size=16)
    network.left = 2
    with pytest.raises(KeyboardInterrupt):
        extract(tmp_path / "pictures", network, tmp_path / "f.npz")
    assert not (tmp_path / "f.npz").exists()
    first, network.left = network.seen, 10**6
    save_picture(tmp_path / "pictures" / "00.png", 99, (8, 8))  # a picture changes in between
    done = extract(tmp_path / "pictures", network, tmp_path / "f.npz")
    assert 0 < first < 40 and done.n_resumed == first - 1
    assert network.seen == 40 + 1
    extract(tmp_path / "pictures", backbone, tmp_path / "whole.npz")
    np.testing.assert_allclose(
        np.load(tmp_path / "f.npz")["X"], np.load(tmp_path / "whole.npz")["X"], rtol=1e-6
    )


def test_other_settings_start_anew(folder, backbone, tmp_path):
    network = Interrupted(backbone.file, size=16)
    (folder / "jay" / "z.png").write_bytes(b"broken")
    with pytest.raises(UnseenError, match="jay/z"):
        extract(folder, network, tmp_path / "f.npz", strict=True)
    done = extract(folder, network, tmp_path / "f.npz", preprocessing=Preprocessing(16, resize=20))
    assert done.n_resumed == 0


def test_unreadable_pictures_are_named_and_left_out(folder, backbone, tmp_path):
    whole = (folder / "jay" / "b.jpg").read_bytes()
    (folder / "jay" / "b.jpg").write_bytes(whole[: len(whole) // 2])
    done = extract(folder, backbone, tmp_path / "f.npz")
    assert list(done.unreadable) == ["jay/b.jpg"] and done.shape == (4, 6)
    assert "jay/b.jpg" not in np.load(tmp_path / "f.npz")["files"]
    assert np.load(tmp_path / "f.npz")["y"].tolist() == [0, 1, 1, 1]


def test_nothing_readable_is_an_error(backbone, tmp_path):
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "a.png").write_bytes(b"broken")
    with pytest.raises(UnseenError, match=r"None of the 1 pictures.*'a.png'"):
        extract(tmp_path / "p", backbone, tmp_path / "f.npz")


@pytest.mark.parametrize("limit", [700, 1000])  # Pillow raises above twice the limit, and warns before
def test_decompression_bombs_are_unreadable(folder, backbone, tmp_path, monkeypatch, limit):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", limit)
    for file in (folder / "owl").rglob("*.*"):
        file.unlink()
    save_picture(folder / "owl" / "small.png", 1, (5, 5))
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
    assert "5 pictures of 2 classes, 6 features each, the mean of ten crops" in done.stderr
    strict = run("extract", folder, *arguments, "--strict")
    assert strict.returncode == 2 and strict.stderr.startswith("error: Cannot read the picture 'owl/z.png'")


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
    if crops == 10:  # ten times the work: a few pictures are enough
        (tmp_path / "list.txt").write_text("\n".join(str(p) for p in sorted(images.glob("*/*.jpg"))[::6]))
        images = tmp_path / "list.txt"
    resize = ["--resize", 224] if crops == 1 else []
    done = run("extract", images, "--backbone", model, "--crops", crops, *resize, "--out", out)
    assert done.returncode == 0, done.stderr
    found, mat = np.load(out), scipy.io.loadmat(real_data / "xlsa17" / "CUB" / name)
    row = {"/".join(str(file[0][0]).split("/")[-2:]): i for i, file in enumerate(mat["image_files"])}
    rows = [row["/".join(str(file).split("/")[-2:])] for file in found["files"]]
    np.testing.assert_allclose(found["X"], mat["features"].T[rows], atol=0.02)
    if crops == 1:
        assert found["X"].shape == (24, 2048)
        assert [found["class_names"][i] for i in found["y"]] == [f.split("/")[0] for f in found["files"]]
