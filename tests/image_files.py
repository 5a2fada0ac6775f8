"""Small image files for tests."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image


def save_image(path: Path, seed: int, size: tuple[int, int] = (40, 30)) -> Path:
    """Write an image of random pixels, width x height."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.random.default_rng(seed).integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
    Image.fromarray(pixels).save(path)
    return path
