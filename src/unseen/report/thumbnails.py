"""Small images that travel inside a page: of image files, and of samples whose features are the pixels."""

from __future__ import annotations

import base64
import io
import math
import os
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen._core.blocks import FloatArray
from unseen.datasets import ZeroShotDataset
from unseen.encoders.images import IMAGE_FORMATS, load_pillow, reject_bombs
from unseen.errors import UnseenError
from unseen.models.prediction import Samples

SIDE = 128  # pixels of the longer side of a thumbnail
QUALITY = 60  # of WebP, of 100
_SIDES = range(6, 65)  # of images whose pixels are the features
_LOOK = 1000  # samples that say whether features are pixels
_ALIKE = 0.2  # how much more neighbors correlate than pixels half an image apart; other features: about 0


@dataclass(frozen=True)
class Pixels:
    """Gray images whose pixels are the features, row by row."""

    side: int
    low: float  # the gray of the background
    high: float  # the gray of the strongest ink

    def thumbnail(self, position: int, row: FloatArray) -> str | None:
        """Return a sample as a data URI: dark ink on white."""
        ink = np.clip((np.asarray(row, np.float64) - self.low) / (self.high - self.low), 0, 1)
        return data_uri("png", encode_png((255 - np.rint(255 * ink)).reshape(self.side, self.side)))


@dataclass(frozen=True)
class Files:
    """Image files, one per sample."""

    paths: Sequence[Path]

    def thumbnail(self, position: int, row: FloatArray) -> str | None:
        """Return a small form of the image as a data URI; None for one that cannot be read."""
        return shrink(self.paths[position])


Pictures = Pixels | Files


def find_pictures(source: str | os.PathLike[str], samples: Samples) -> Pictures:
    """Return how to show the samples of a source as images.

    Parameters
    ----------
    source : folder of images, list of images, feature file or name of a data set
        What the samples were read from. Files that a feature file names are looked for beside it.
    samples : Samples
    """
    found = find_files(source, samples.names) or find_pixels(next(samples.blocks(), np.empty((0, 0))))
    if found is None:
        raise UnseenError(
            f"{source} holds no images, which a page of images needs. Expected a folder or a list of images, "
            "features that name image files beside them, or features that are square gray images."
        )
    return found


def find_dataset_pictures(source: str | os.PathLike[str], data: ZeroShotDataset) -> Pictures | None:
    """Return how to show the samples of a data set as images, if they are images."""
    return find_files(source, data.sample_names) or find_pixels(np.asarray(data.X[:_LOOK]))


def find_files(source: str | os.PathLike[str], names: Sequence[object] | NDArray[Any] | None) -> Files | None:
    """Return the image files that samples are called after, if they are in the source or beside it."""
    path = Path(source)
    if names is None or not len(names):
        return None
    for root in (path if path.is_dir() else path.parent, path.parent / path.stem):
        if (root / str(names[0])).is_file():
            return Files([root / str(name) for name in names])
    return None


def find_pixels(X: NDArray[np.generic]) -> Pixels | None:
    """Return how the rows of X are square gray images; None if they are not.

    They are if the number of features is a square, no value is negative, and neighbors are more alike
    than others.

    >>> from unseen.datasets import load_dataset
    >>> find_pixels(load_dataset("letters").X).side
    16
    >>> find_pixels(np.random.default_rng(0).random((100, 256))) is None
    True
    """
    side = math.isqrt(X.shape[1])
    if side * side != X.shape[1] or side not in _SIDES or not len(X) or X.min() < 0 or X.max() <= 0:
        return None
    images = np.asarray(X[:_LOOK], np.float64).reshape(-1, side, side)
    if min(_correlation(images, k, 1) - _correlation(images, k, side // 2) for k in (1, 2)) < _ALIKE:
        return None
    high = float(X.max())
    border = np.concatenate([images[:, 0], images[:, -1], images[:, :, 0], images[:, :, -1]], axis=1)
    return Pixels(side, 0.0, high) if border.mean() < high / 2 else Pixels(side, high, 0.0)


def _correlation(images: FloatArray, axis: int, lag: int) -> float:
    """Return the mean correlation over samples of pixels that are ``lag`` apart along an axis."""
    centered = images - images.mean(axis=0)
    scaled = centered / (np.sqrt((centered**2).sum(axis=0)) + 1e-300)  # (samples, side, side)
    n = images.shape[axis] - lag
    near, far = (np.take(scaled, np.arange(start, start + n), axis=axis) for start in (0, lag))
    varies = (near.any(axis=0)) & (far.any(axis=0))
    return float((near * far).sum(axis=0)[varies].mean()) if varies.any() else 0.0


def shrink(path: str | os.PathLike[str]) -> str | None:
    """Return an image file as a small data URI, upright; None for one that cannot be read."""
    pillow = load_pillow()
    try:
        with reject_bombs(), pillow.Image.open(path, formats=sorted(set(IMAGE_FORMATS.values()))) as image:
            image.draft("RGB", (2 * SIDE, 2 * SIDE))  # JPEG is decoded at a smaller size
            small = pillow.ImageOps.exif_transpose(image)
            small.thumbnail((SIDE, SIDE))
            content = io.BytesIO()
            small.convert("RGB").save(content, "WEBP", quality=QUALITY)
    except Exception:  # decoders raise anything on a broken file
        return None
    return data_uri("webp", content.getvalue())


def data_uri(kind: str, content: bytes) -> str:
    """Return an image as text that a page can hold.

    >>> data_uri("png", b"unseen")
    'data:image/png;base64,dW5zZWVu'
    """
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"


def encode_png(gray: FloatArray) -> bytes:
    """Return a gray image, (height, width) from 0 to 255, as a PNG."""
    pixels = np.asarray(gray, np.uint8)
    height, width = pixels.shape
    rows = np.hstack([np.zeros((height, 1), np.uint8), pixels])  # each row starts with its filter: none
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes(), 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, content) for name, content in chunks)


def _chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
