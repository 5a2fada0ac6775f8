"""Small images that travel inside a page: of image files, and of samples whose features are the pixels."""

from __future__ import annotations

import base64
import io
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unseen._core.blocks import FloatArray
from unseen.encoders.images import IMAGE_FORMATS, load_pillow, reject_bombs
from unseen.errors import UnseenError
from unseen.models.prediction import Samples

if TYPE_CHECKING:
    from PIL.Image import Image

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
        gray = (255 - np.rint(255 * ink)).reshape(self.side, self.side).astype(np.uint8)
        return data_uri(load_pillow().Image.fromarray(gray), "png")


@dataclass(frozen=True)
class Files:
    """Image files, one per sample."""

    paths: Sequence[Path]

    def thumbnail(self, position: int, row: FloatArray) -> str | None:
        """Return a small form of the image as a data URI; None for one that cannot be read."""
        return shrink(self.paths[position])


Pictures = Pixels | Files


def find_pictures(
    source: str | os.PathLike[str], names: Sequence[object] | NDArray[Any] | None, X: NDArray[Any]
) -> Pictures | None:
    """Return how to show samples as images; None if they are not images.

    Parameters
    ----------
    source : image, folder of images, feature file or name of a data set
        What the samples were read from.
    names : sequence, optional
        Of the samples. Files of these names are looked for in the source and beside it.
    X : array of shape (n_samples, n_features)
        The first samples, which may be square gray images themselves.
    """
    path = Path(source)
    for root in (path if path.is_dir() else path.parent, path.parent / path.stem):
        if names is not None and len(names) and (root / str(names[0])).is_file():
            return Files([root / str(name) for name in names])
    return find_pixels(X)


def need_pictures(source: str | os.PathLike[str], samples: Samples) -> Pictures:
    """Return how to show samples as images; raise if they are not images."""
    found = find_pictures(source, samples.names, next(samples.blocks(), np.empty((0, 0))))
    if found is None:
        raise UnseenError(
            f"{source} holds no images, which a page of images needs. Expected an image, a folder of images, "
            "features that name image files beside them, or features that are square gray images."
        )
    return found


def find_pixels(X: NDArray[Any]) -> Pixels | None:
    """Return how the rows of X are square gray images; None if they are not.

    They are if the number of features is a square, no value is negative, and neighbors are more alike
    than others.

    >>> from unseen.datasets import load_dataset
    >>> find_pixels(load_dataset("letters").X).side
    16
    >>> find_pixels(np.random.default_rng(0).random((100, 256))) is None
    True
    """
    X, side = np.asarray(X[:_LOOK], np.float64), math.isqrt(X.shape[1])
    if side * side != X.shape[1] or side not in _SIDES or not len(X) or X.min() < 0 or X.max() <= 0:
        return None
    images = X.reshape(-1, side, side)
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
        with reject_bombs(), pillow.Image.open(path, formats=IMAGE_FORMATS) as image:
            image.draft("RGB", (2 * SIDE, 2 * SIDE))  # JPEG is decoded at a smaller size
            small = pillow.ImageOps.exif_transpose(image)
            small.thumbnail((SIDE, SIDE))
            return data_uri(small.convert("RGB"), "webp", quality=QUALITY)
    except Exception:  # decoders raise anything on a broken file
        return None


def data_uri(image: Image, kind: str, **options: object) -> str:
    """Return a Pillow image as text that a page can hold."""
    content = io.BytesIO()
    image.save(content, kind, **options)
    return f"data:image/{kind};base64,{base64.b64encode(content.getvalue()).decode()}"
