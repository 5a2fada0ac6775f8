"""From an image file to the array that a backbone takes."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np

from unseen.encoders.backbone import Floats
from unseen.encoders.images import load_pillow, open_image
from unseen.errors import UnseenError

IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)


@dataclass(frozen=True)
class Preprocessing:
    """How an image becomes an array: RGB, both sides to ``resize``, crop(s) of ``size``, mean and std.

    Parameters
    ----------
    size : int
        Height and width of what the backbone sees.
    crops : 1 or 10
        The center; or the four corners, the center and their mirror images.
    resize : int, optional
        Both sides of the image before cropping (bilinear). By default ``size`` for one crop, which is
        then the whole image, and 256 / 224 of ``size`` for ten.
    mean, std : three numbers
        Per channel, for values between 0 and 1; ImageNet's by default.

    Examples
    --------
    >>> Preprocessing(crops=10).sides
    (256, 224)
    """

    size: int = 224
    crops: int = 1
    resize: int | None = None
    mean: tuple[float, float, float] = IMAGENET_MEAN
    std: tuple[float, float, float] = IMAGENET_STD

    def __post_init__(self) -> None:
        if self.crops not in (1, 10):
            raise UnseenError(f"Got crops={self.crops}, but expected 1 or 10.")
        resize, size = self.sides
        if not 0 < size <= resize:
            raise UnseenError(
                f"Got resize={resize}, but the backbone sees crops of {size} x {size}: resize must be "
                f"at least {size}."
            )
        if min(self.std) <= 0:
            raise UnseenError(f"Got std={self.std}, but expected three positive numbers.")

    @property
    def sides(self) -> tuple[int, int]:
        """Return (side of the resized image, side of a crop)."""
        if self.resize is not None:
            return self.resize, self.size
        return (self.size if self.crops == 1 else round(self.size * 256 / 224)), self.size

    def __call__(self, file: str | os.PathLike[str]) -> Floats:
        """Return the crops of an image file as an array (crops, 3, size, size)."""
        side, _ = self.sides
        image = open_image(file).resize((side, side), load_pillow().Image.Resampling.BILINEAR)
        pixels = np.asarray(image).astype(np.float32)  # (side, side, 3)
        # x = (p / 255 - mean) / std
        mean, std = np.array(self.mean, np.float32), np.array(self.std, np.float32)
        pixels = (pixels / np.float32(255) - mean) / std
        return self._crop(pixels.transpose(2, 0, 1))

    def _crop(self, pixels: Floats) -> Floats:
        resize, size = self.sides
        end, middle = resize - size, (resize - size) // 2
        corners = [(0, 0), (0, end), (end, 0), (end, end)] if self.crops == 10 else []
        crops = [pixels[:, y : y + size, x : x + size] for y, x in [*corners, (middle, middle)]]
        if self.crops == 10:
            crops += [crop[:, :, ::-1] for crop in crops]
        return np.stack(crops)  # (crops, 3, size, size)
