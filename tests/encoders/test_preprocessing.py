"""From an image file to the array that a backbone takes."""

from __future__ import annotations

import numpy as np
import pytest

import oracle
from image_files import save_image
from unseen.encoders.preprocessing import Preprocessing
from unseen.errors import UnseenError


@pytest.mark.parametrize(("crops", "resize"), [(1, 16), (1, 23), (10, 20), (10, None)])
def test_crops_equal_the_literal_ones(tmp_path, crops, resize):
    file = save_image(tmp_path / "a.png", 7)
    steps = Preprocessing(16, crops, resize, mean=(0.5, 0.4, 0.3), std=(0.2, 0.3, 0.4))
    expected = oracle.crops_of_image(file, steps.sides[0], 16, crops, steps.mean, steps.std)
    np.testing.assert_allclose(steps(file), expected, rtol=1e-5, atol=1e-6)


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
