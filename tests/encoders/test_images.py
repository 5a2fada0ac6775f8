"""Which images a folder holds, and how one is decoded."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from image_files import save_image
from unseen.encoders.images import find_images, open_image
from unseen.errors import UnseenError

# ---- finding images


def test_class_folders_give_labels(folder):
    found = find_images(folder)
    assert found.names == ("jay/a.png", "jay/b.jpg", "owl/c.png", "owl/e.PNG", "owl/more/d.png")
    assert found.class_names == ("jay", "owl")
    assert found.y.tolist() == [0, 0, 1, 1, 1]


def test_links_are_followed_and_hidden_files_are_not(folder, tmp_path):
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "day").symlink_to(folder / "jay", target_is_directory=True)
    save_image(tmp_path / "links" / ".trash" / "x.png", 0)
    save_image(tmp_path / "links" / "day" / "._a.png", 0)
    assert find_images(tmp_path / "links").names == ("day/a.png", "day/b.jpg")


def test_flat_folder_has_no_labels(folder):
    found = find_images(folder / "jay")
    assert found.names == ("a.png", "b.jpg") and found.y is None


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: path.mkdir(), "holds no image"),
        (lambda path: None, "There is no folder"),
        (lambda path: [save_image(path / name, 0) for name in ("x.png", "jay/a.png")], "outside of them"),
    ],
)
def test_sources_that_cannot_be_used(tmp_path, make, message):
    make(tmp_path / "source")
    with pytest.raises(UnseenError, match=message):
        find_images(tmp_path / "source")


# ---- decoding


def test_a_image_taken_sideways_is_turned_upright(tmp_path):
    image = Image.open(save_image(tmp_path / "a.png", 3, (30, 30)))
    exif = Image.Exif()
    exif[0x0112] = 6  # the camera was turned by 90 degrees
    image.transpose(Image.Transpose.ROTATE_90).save(tmp_path / "b.png", exif=exif)
    np.testing.assert_array_equal(
        np.asarray(open_image(tmp_path / "a.png")), np.asarray(open_image(tmp_path / "b.png"))
    )


@pytest.mark.parametrize("mode", ["L", "P", "RGBA", "LA", "1", "CMYK"])
def test_every_color_mode_becomes_rgb(tmp_path, mode):
    suffix = "tif" if mode == "CMYK" else "png"
    Image.open(save_image(tmp_path / "a.png", 3)).convert(mode).save(tmp_path / f"b.{suffix}")
    assert np.asarray(open_image(tmp_path / f"b.{suffix}")).shape == (30, 40, 3)


def test_sixteen_bits_are_scaled_not_cut_off(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 2**16, (8, 8), dtype=np.uint16)
    Image.fromarray(pixels).save(tmp_path / "a.png")
    np.testing.assert_array_equal(np.asarray(open_image(tmp_path / "a.png"))[..., 1], pixels >> 8)


def test_a_disguised_program_is_not_an_image(tmp_path):
    (tmp_path / "a.png").write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n")
    with pytest.raises(OSError, match="cannot identify"):
        np.asarray(open_image(tmp_path / "a.png"))
