"""From an image file to the array that a backbone takes."""

from __future__ import annotations

import numpy as np
import pytest

import oracle
from image_files import save_image
from onnx_models import CLIP_CONFIG
from unseen.encoders.preprocessing import Preprocessing, from_transformers
from unseen.errors import UnseenError


@pytest.mark.parametrize(("crops", "resize"), [(1, 16), (1, 23), (10, 20), (10, None)])
def test_crops_equal_the_literal_ones(tmp_path, crops, resize):
    file = save_image(tmp_path / "a.png", 7)
    steps = Preprocessing(16, crops, resize, mean=(0.5, 0.4, 0.3), std=(0.2, 0.3, 0.4))
    expected = oracle.crops_of_image(file, steps.side, 16, crops, steps.mean, steps.std)
    np.testing.assert_allclose(steps(file), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"crops": 5}, "Got crops=5, but expected 1 or 10"),
        ({"resize": 200}, "expected at least 224"),
        ({"resize": 10**6}, "at most 10000"),
        ({"std": (1.0, 0.0, 1.0)}, "three positive"),
    ],
)
def test_steps_that_make_no_sense(options, message):
    with pytest.raises(UnseenError, match=message):
        Preprocessing(**options)


# ---- as the configuration of a model says


@pytest.mark.parametrize("size", [(40, 30), (31, 57), (16, 16), (200, 17)])
def test_clip_preprocessing_equals_the_reference(tmp_path, size):
    file = save_image(tmp_path / "a.png", 7, size)
    found = from_transformers(CLIP_CONFIG)(file)
    np.testing.assert_allclose(found[0], oracle.clip_pixels(file, CLIP_CONFIG), atol=1e-5)


def test_the_squash_differs_from_the_reference(tmp_path):
    """The fault that reading the configuration mends."""
    file = save_image(tmp_path / "a.png", 7, (40, 30))
    squashed = Preprocessing(16, mean=tuple(CLIP_CONFIG["image_mean"]), std=tuple(CLIP_CONFIG["image_std"]))
    assert np.abs(squashed(file)[0] - oracle.clip_pixels(file, CLIP_CONFIG)).max() > 0.1


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"size": 224, "crop_size": 224, "resample": 3}, {"resize_mode": "shortest", "resample": "bicubic"}),
        ({"size": 224}, {"resize_mode": "squash", "resample": "bilinear"}),
        ({"size": {"height": 384, "width": 384}, "resample": 3}, {"size": 384, "resize_mode": "squash"}),
        (
            {"size": {"shortest_edge": 256}, "crop_size": {"height": 224, "width": 224}},
            {"resize": 256, "size": 224},
        ),
        (
            {"size": {"shortest_edge": 224}, "crop_pct": 0.875},
            {"resize": 256, "size": 224, "resize_mode": "shortest"},
        ),
        ({"do_normalize": False}, {"mean": (0, 0, 0), "std": (1, 1, 1)}),
        ({"do_rescale": False, "do_normalize": False}, {"mean": (0, 0, 0), "std": (1 / 255,) * 3}),
        ({"rescale_factor": 2 / 255, "image_mean": [1, 1, 1], "image_std": [1, 1, 1]}, {"mean": (0.5,) * 3}),
        ({"image_mean": [0.5] * 3, "image_std": [0.25] * 3}, {"mean": (0.5,) * 3, "std": (0.25,) * 3}),
        (
            {"size": 224, "crop_size": 224, "image_processor_type": "DeiTImageProcessor"},
            {"resize_mode": "squash"},
        ),
    ],
)
def test_configurations_of_transformers(config, expected):
    steps = from_transformers(config)
    assert {name: getattr(steps, name) for name in expected} == expected


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"size": {"longest_edge": 224}}, "cannot be used: Got size=.*longest_edge"),
        ({"size": {"shortest_edge": 224}}, "does not crop"),
        ({"size": {"height": 224, "width": 160}}, "expected a side in pixels"),
        ({"size": 10**9}, "expected a side in pixels"),
        ({"image_mean": 0.5}, "image_mean=0.5, but expected three finite numbers"),
        ({"image_std": [0.5, None, 0.5]}, "expected three finite numbers"),
        ({"image_std": [0.5, 0, 0.5]}, "expected three positive numbers"),
        ({"resample": 17}, "resample=17, but expected one of nearest"),
        ({"do_resize": False}, "do_resize"),
        ({"rescale_factor": "x"}, "preprocessor_config.json cannot be used"),
        ({"rescale_factor": 0}, "preprocessor_config.json cannot be used"),
    ],
)
def test_configurations_that_cannot_be_followed(config, message):
    with pytest.raises(UnseenError, match=message):
        from_transformers(config)


def test_ten_crops_of_an_image_that_keeps_its_shape(tmp_path):
    file = save_image(tmp_path / "a.png", 7, (40, 30))
    steps = Preprocessing(16, crops=10, resize=20, resize_mode="shortest")
    crops = steps(file)
    assert crops.shape == (10, 3, 16, 16)
    np.testing.assert_array_equal(crops[5:], crops[:5, :, :, ::-1])
    assert steps._boxes(26, 20)[3] == (10, 4, 26, 20)
