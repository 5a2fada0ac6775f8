"""From an image file to the array that a backbone takes, the way the backbone was trained."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unseen.encoders.images import open_image
from unseen.errors import UnseenError, expect, one_line, rephrase_errors

if TYPE_CHECKING:
    from PIL.Image import Image

Floats = NDArray[np.float32]
Triple = tuple[float, float, float]
IMAGENET_MEAN: Triple = (0.485, 0.456, 0.406)
IMAGENET_STD: Triple = (0.229, 0.224, 0.225)
LARGEST_SIDE = 10_000  # pixels of a side: a configuration file may say anything
# in the order of Pillow's numbers, which configuration files use
RESAMPLE = ("nearest", "lanczos", "bilinear", "bicubic", "box", "hamming")


@dataclass(frozen=True)
class Preprocessing:
    """How an image becomes an array: RGB, resized, cropped to ``size``, scaled with mean and std.

    Parameters
    ----------
    size : int
        Height and width of what the backbone sees.
    crops : 1 or 10
        The center; or the four corners, the center and their mirror images.
    resize : int, optional
        Side before cropping. By default ``size`` for one crop, and 256 / 224 of ``size`` for ten.
    mean, std : three numbers
        Per channel, for values from 0 to 1; ImageNet's by default.
    resize_mode : {"squash", "shortest"}
        Whether both sides become ``resize``, or the shorter one does and the aspect ratio is kept.
    resample : str
        Pillow's filter: "bilinear", "bicubic", "nearest", "lanczos", "box" or "hamming".

    Examples
    --------
    >>> Preprocessing(crops=10).side
    256
    """

    size: int = 224
    crops: int = 1
    resize: int | None = None
    mean: Triple = IMAGENET_MEAN
    std: Triple = IMAGENET_STD
    resize_mode: str = "squash"
    resample: str = "bilinear"

    def __post_init__(self) -> None:
        """Check every field: files of any origin say what they are."""
        expect("crops", self.crops, self.crops in (1, 10), "1 or 10")
        _check_side("size", self.size)
        _check_side("resize", self.side)
        least = f"at least {self.size}: the backbone sees crops of {self.size} x {self.size}"
        expect("resize", self.side, self.side >= self.size, least)
        _triple("mean", self.mean)
        expect("std", self.std, min(_triple("std", self.std)) > 0, "three positive numbers")
        modes = ("squash", "shortest")
        expect("resize_mode", self.resize_mode, self.resize_mode in modes, f"one of {', '.join(modes)}")
        expect("resample", self.resample, self.resample in RESAMPLE, f"one of {', '.join(RESAMPLE)}")

    @property
    def side(self) -> int:
        """Return the side of the resized image."""
        usual = self.size if self.crops == 1 else round(self.size * 256 / 224)
        return usual if self.resize is None else self.resize

    def __str__(self) -> str:
        crops = "one crop" if self.crops == 1 else "the mean of ten crops"
        squashed = f"to {self.side} x {self.side}"
        resized = squashed if self.resize_mode == "squash" else f"the shorter side to {self.side}"
        return f"{crops} of {self.size} x {self.size} after resizing {resized} ({self.resample})"

    def __call__(self, file: str | os.PathLike[str]) -> Floats:
        """Return the crops of an image file as an array (crops, 3, size, size)."""
        image = self._resize(open_image(file))
        # (n, size, size, 3)
        crops = np.stack([np.asarray(image.crop(box)) for box in self._boxes(*image.size)])
        # x = (p / 255 - mean) / std, as one product and one sum per channel
        scale = np.array([1 / 255 / s for s in self.std], np.float32)
        shift = np.array([-m / s for m, s in zip(self.mean, self.std)], np.float32)
        # transposed as bytes: a quarter of the memory to move
        planes = np.ascontiguousarray(crops.transpose(0, 3, 1, 2))
        pixels = np.multiply(planes, scale[:, None, None], dtype=np.float32)
        pixels += shift[:, None, None]
        return np.concatenate([pixels, pixels[..., ::-1]]) if self.crops == 10 else pixels

    def _resize(self, image: Image) -> Image:
        width = height = self.side
        if self.resize_mode == "shortest":
            width, height = (int(self.side * length / min(image.size)) for length in image.size)
        return image.resize((width, height), RESAMPLE.index(self.resample))

    def _boxes(self, width: int, height: int) -> list[tuple[int, int, int, int]]:
        """Return (left, top, right, bottom) of the center crop, after those of the corners for ten crops."""
        size = self.size
        right, bottom = width - size, height - size
        corners = [(0, 0), (right, 0), (0, bottom), (right, bottom)] if self.crops == 10 else []
        return [(x, y, x + size, y + size) for x, y in [*corners, (right // 2, bottom // 2)]]


def _check_side(name: str, value: object) -> None:
    valid = isinstance(value, int) and 0 < value <= LARGEST_SIDE
    expect(name, value, valid, f"a side in pixels, at most {LARGEST_SIDE}")


def _triple(name: str, value: Any) -> Triple:
    """Return one number per color channel."""
    numbers = isinstance(value, Sequence) and [type(v) in (int, float) for v in value] == [True] * 3
    expect(name, value, numbers and np.isfinite(value).all(), "three finite numbers")
    red, green, blue = map(float, value)
    return red, green, blue


# ---- what files say --------------------------------------------------------------------------------


def from_transformers(config: Mapping[str, Any]) -> Preprocessing:
    """Return what a ``preprocessor_config.json`` of transformers says.

    Examples
    --------
    >>> clip = {"size": {"shortest_edge": 224}, "crop_size": 224, "resample": 3}
    >>> print(from_transformers(clip))
    one crop of 224 x 224 after resizing the shorter side to 224 (bicubic)
    """
    try:
        size, resize, mode = _transformers_sides(config)
        resample = config.get("resample", 3 if _is_clip(config) else 2)
        normalize = config.get("do_normalize", True)
        white = 255 * config.get("rescale_factor", 1 / 255) if config.get("do_rescale", True) else 255
        mean = _triple("image_mean", config.get("image_mean", IMAGENET_MEAN) if normalize else (0, 0, 0))
        std = _triple("image_std", config.get("image_std", IMAGENET_STD) if normalize else (1, 1, 1))
        return Preprocessing(
            size=size,
            resize=None if resize == size else resize,
            mean=(mean[0] / white, mean[1] / white, mean[2] / white),
            std=(std[0] / white, std[1] / white, std[2] / white),
            resize_mode=mode,
            resample=RESAMPLE[resample] if resample in range(len(RESAMPLE)) else resample,
        )
    except (TypeError, ValueError, ArithmeticError) as error:
        raise UnseenError(f"preprocessor_config.json cannot be used: {one_line(error)}") from error


def _is_clip(config: Mapping[str, Any]) -> bool:
    return "CLIP" in str(config.get("image_processor_type") or config.get("feature_extractor_type"))


def _transformers_sides(config: Mapping[str, Any]) -> tuple[int, int, str]:
    """Return (side of a crop, side before cropping, resize mode)."""
    if config.get("do_resize") is False:
        raise UnseenError("do_resize is false, but a batch needs images of one size.")
    size = config.get("size", 224)
    # a bare number is the shorter side for CLIP, and both sides for others
    named = "image_processor_type" in config or "feature_extractor_type" in config
    bare = isinstance(size, int) and (_is_clip(config) or ("crop_size" in config and not named))
    shortest = bare or (isinstance(size, Mapping) and "shortest_edge" in size)
    resize = crop = _side(size)
    # CLIP crops by default; most others do so only if they say it
    cropped = config.get("do_center_crop", _is_clip(config) or "crop_size" in config)
    if cropped and "crop_size" in config:
        crop = _side(config["crop_size"])
    elif shortest and config.get("crop_pct") and resize < 384:  # ConvNeXt
        resize = int(resize / config["crop_pct"])
    elif shortest and not cropped:
        raise UnseenError("it resizes the shorter side and does not crop: images would differ in size.")
    return crop, resize, "shortest" if shortest else "squash"


def _side(value: Any) -> Any:
    """Return the side of a square given as 224, [224, 224], {shortest_edge} or {height, width}."""
    keys = ("shortest_edge", "height", "width")
    sides = [value[key] for key in keys if key in value] if isinstance(value, Mapping) else value
    square = isinstance(sides, list) and sides and sides == sides[:1] * len(sides)
    return sides[0] if square else value


def from_card(stored: Mapping[str, Any]) -> Preprocessing:
    """Return the preprocessing that a features file or a model stores, checked like one of the user."""
    with rephrase_errors("The stored preprocessing cannot be used"):
        triples = {name: _triple(name, stored[name]) for name in ("mean", "std")}
        return Preprocessing(**{**stored, **triples})
