"""The colors of the methods stay apart for every kind of color vision, on white and on near-black."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from unseen.methods import METHODS, describe_method

# linear RGB as people with full strength of a deficiency see it (Machado, Oliveira and Fernandes, 2009)
VISION = {
    "normal": np.eye(3),
    "protan": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deutan": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritan": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
WHITE = TO_XYZ.sum(axis=1)
COLORS = {name: method.color for name, method in METHODS.items()}


def linear(color):
    value = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)


def lab(rgb):
    t = TO_XYZ @ np.clip(rgb, 0, 1) / WHITE
    f = np.where(t > 0.008856, np.cbrt(t), 7.787 * t + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("vision", VISION)
def test_every_pair_of_methods_is_told_apart(vision):
    seen = {name: lab(VISION[vision] @ linear(color)) for name, color in COLORS.items()}
    nearest = min(np.linalg.norm(seen[a] - seen[b]) for a, b in combinations(seen, 2))
    assert nearest > 26


@pytest.mark.parametrize("page", ["#ffffff", "#171b21"])
def test_every_color_stands_out_from_the_page(page):
    luminance = [linear(color) @ TO_XYZ[1] + 0.05 for color in (page, *COLORS.values())]
    contrast = [max(luminance[0], other) / min(luminance[0], other) for other in luminance[1:]]
    assert min(contrast) > 2


def test_a_method_that_is_not_ours_keeps_its_color():
    assert describe_method("my.module:Mine").color == describe_method("my.module:Mine").color
    assert describe_method("my.module:Mine").color not in COLORS.values()
