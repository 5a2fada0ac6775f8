"""From an image file to the array that a backbone takes, the way the backbone was trained."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from unseen.encoders.images import load_pillow, open_image
from unseen.errors import UnseenError, did_you_mean, one_line

if TYPE_CHECKING:
    from PIL.Image import Image

Floats = NDArray[np.float32]
Triple = tuple[float, float, float]
IMAGENET_MEAN: Triple = (0.485, 0.456, 0.406)
IMAGENET_STD: Triple = (0.229, 0.224, 0.225)
CLIP_MEAN: Triple = (0.48145466, 0.4578275, 0.40821073)
CLIP_STD: Triple = (0.26862954, 0.26130258, 0.27577711)
RESIZE_MODES = ("squash", "shortest")
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
        Per channel, for rescaled values; ImageNet's by default.
    resize_mode : {"squash", "shortest"}
        Whether both sides become ``resize``, or the shorter one does and the aspect ratio is kept.
    resample : str
        Pillow's filter: "bilinear", "bicubic", "nearest", "lanczos", "box" or "hamming".
    rescale : float
        Factor from 0..255 to the range of ``mean`` and ``std``.
    rounded_center : bool
        Where the center is if it falls between two pixels: rounded, as torchvision does, or to the left
        and top, as Hugging Face does.

    Examples
    --------
    >>> Preprocessing(crops=10).sides
    (256, 224)
    """

    size: int = 224
    crops: int = 1
    resize: int | None = None
    mean: Triple = IMAGENET_MEAN
    std: Triple = IMAGENET_STD
    resize_mode: str = "squash"
    resample: str = "bilinear"
    rescale: float = 1 / 255
    rounded_center: bool = False

    def __post_init__(self) -> None:
        if self.crops not in (1, 10):
            raise UnseenError(f"Got crops={self.crops}, but expected 1 or 10.")
        resize, size = self.sides
        if not 0 < size <= resize <= LARGEST_SIDE:
            raise UnseenError(
                f"Got resize={resize}, but the backbone sees crops of {size} x {size}: resize must be "
                f"at least {size}, and at most {LARGEST_SIDE}."
            )
        for name, values in (("mean", self.mean), ("std", self.std)):
            if len(values) != 3 or not np.isfinite(values).all():
                raise UnseenError(f"Got {name}={values}, but expected three finite numbers.")
        if min(self.std) <= 0:
            raise UnseenError(f"Got std={self.std}, but expected three positive numbers.")
        _check_choice("resize_mode", self.resize_mode, RESIZE_MODES)
        _check_choice("resample", self.resample, RESAMPLE)

    @property
    def sides(self) -> tuple[int, int]:
        """Return (side of the resized image, side of a crop)."""
        if self.resize is not None:
            return self.resize, self.size
        return (self.size if self.crops == 1 else round(self.size * 256 / 224)), self.size

    def __str__(self) -> str:
        crops = "one crop" if self.crops == 1 else "the mean of ten crops"
        side, size = self.sides
        resized = f"to {side} x {side}" if self.resize_mode == "squash" else f"the shorter side to {side}"
        return f"{crops} of {size} x {size} after resizing {resized} ({self.resample})"

    def __call__(self, file: str | os.PathLike[str]) -> Floats:
        """Return the crops of an image file as an array (crops, 3, size, size)."""
        image = self._resize(open_image(file))
        crops = np.stack(
            [np.asarray(image.crop(box)) for box in self._boxes(*image.size)]
        )  # (n, size, size, 3)
        # x = (p rescale - mean) / std, as one product and one sum per channel
        scale = np.array([self.rescale / s for s in self.std], np.float32)
        shift = np.array([-m / s for m, s in zip(self.mean, self.std)], np.float32)
        planes = np.ascontiguousarray(
            crops.transpose(0, 3, 1, 2)
        )  # as bytes: a quarter of the memory to move
        pixels = np.multiply(planes, scale[:, None, None], dtype=np.float32)
        pixels += shift[:, None, None]
        return np.concatenate([pixels, pixels[..., ::-1]]) if self.crops == 10 else pixels

    def _resize(self, image: Image) -> Image:
        side, _ = self.sides
        width, height = image.size
        if self.resize_mode == "shortest":
            shorter = min(width, height)
            target = (int(side * width / shorter), int(side * height / shorter))
        else:
            target = (side, side)
        resampling = load_pillow().Image.Resampling
        return image.resize(target, resampling(RESAMPLE.index(self.resample)))

    def _boxes(self, width: int, height: int) -> list[tuple[int, int, int, int]]:
        """Return (left, top, right, bottom) of the center crop, after those of the corners for ten crops."""
        size = self.size
        right, bottom = width - size, height - size
        middle = (round(right / 2), round(bottom / 2)) if self.rounded_center else (right // 2, bottom // 2)
        corners = [(0, 0), (right, 0), (0, bottom), (right, bottom)] if self.crops == 10 else []
        return [(x, y, x + size, y + size) for x, y in [*corners, middle]]


def _check_choice(name: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        near = did_you_mean(str(value), known)
        raise UnseenError(f"Got {name}={value!r}, but expected one of {', '.join(known)}.{near}")


# ---- what the configuration of a model says --------------------------------------------------------


def from_transformers(config: Mapping[str, object]) -> Preprocessing:
    """Return what a ``preprocessor_config.json`` of transformers says.

    Examples
    --------
    >>> clip = {"size": {"shortest_edge": 224}, "crop_size": 224, "resample": 3}
    >>> print(from_transformers(clip))
    one crop of 224 x 224 after resizing the shorter side to 224 (bicubic)
    """
    where = "preprocessor_config.json"
    if config.get("do_resize") is False:
        raise UnseenError(f"{where} says do_resize: false, but a batch needs images of one size.")
    kind = str(config.get("image_processor_type") or config.get("feature_extractor_type") or "")
    resize, mode = _transformers_resize(config, kind, where)
    size = resize
    # CLIP crops by default; most others do so only if they say it
    crops = config.get("do_center_crop", "CLIP" in kind or "crop_size" in config)
    if crops and "crop_size" in config:
        size = _square(config["crop_size"], "crop_size", where)
    crop_pct = config.get("crop_pct")  # ConvNeXt
    if crop_pct is not None and mode == "shortest" and resize < 384:
        size, resize = resize, int(resize / _number(crop_pct, "crop_pct", where))
    elif mode == "shortest" and not crops:
        raise UnseenError(
            f"{where} resizes the shorter side and does not crop: images would differ in size. Use the "
            "options of unseen.encoders.preprocessing.Preprocessing."
        )
    normalize, rescaled = config.get("do_normalize", True), config.get("do_rescale", True)
    factor = _number(config.get("rescale_factor", 1 / 255), "rescale_factor", where)
    return Preprocessing(
        size=size,
        resize=None if resize == size else resize,
        mean=_triple(config.get("image_mean", IMAGENET_MEAN), "image_mean", where)
        if normalize
        else (0, 0, 0),
        std=_triple(config.get("image_std", IMAGENET_STD), "image_std", where) if normalize else (1, 1, 1),
        resize_mode=mode,
        resample=_resample(config.get("resample", 3 if "CLIP" in kind else 2), where),
        rescale=factor if rescaled else 1.0,
    )


def _transformers_resize(config: Mapping[str, object], kind: str, where: str) -> tuple[int, str]:
    """Return (side, resize mode); a bare number is the shorter side for CLIP, and both sides for others."""
    size = config.get("size", 224)
    if isinstance(size, Mapping) and "shortest_edge" in size:
        return _whole(size["shortest_edge"], "size", where), "shortest"
    like_clip = "CLIP" in kind or (not kind and "crop_size" in config)
    mode = "shortest" if isinstance(size, int) and like_clip else "squash"
    return _square(size, "size", where), mode


def from_open_clip(config: Mapping[str, object]) -> Preprocessing:
    """Return what an ``open_clip_config.json`` says; its defaults are those of the first CLIP."""
    where = "open_clip_config.json"
    said = config.get("preprocess_cfg", config)
    said = said if isinstance(said, Mapping) else {}
    size = said.get("size")
    if size is None:
        size = _nested(config, "model_cfg", "vision_cfg").get("image_size", 224)
    return Preprocessing(
        size=_square(size, "size", where),
        mean=_triple(said.get("mean", CLIP_MEAN), "mean", where),
        std=_triple(said.get("std", CLIP_STD), "std", where),
        resize_mode=_mode(said.get("resize_mode", "shortest"), where),
        resample=_resample(said.get("interpolation", "bicubic"), where),
        rounded_center=True,
    )


def from_timm(config: Mapping[str, object]) -> Preprocessing:
    """Return what the ``pretrained_cfg`` of a timm model says."""
    where = "pretrained_cfg"
    size = _square(config.get("input_size", (3, 224, 224)), "input_size", where)
    resize = int(size / _number(config.get("crop_pct") or 0.875, "crop_pct", where))
    mode = {"center": "shortest", "squash": "squash"}.get(str(config.get("crop_mode", "center")))
    return Preprocessing(
        size=size,
        resize=None if resize == size else resize,
        mean=_triple(config.get("mean", IMAGENET_MEAN), "mean", where),
        std=_triple(config.get("std", IMAGENET_STD), "std", where),
        resize_mode=_mode(mode or config.get("crop_mode"), where),
        resample=_resample(config.get("interpolation", "bilinear"), where),
        rounded_center=True,
    )


def _nested(config: Mapping[str, object], *keys: str) -> Mapping[str, object]:
    for key in keys:
        inner = config.get(key)
        config = inner if isinstance(inner, Mapping) else {}
    return config


def _square(value: object, name: str, where: str) -> int:
    """Return the side of a square given as 224, [224, 224], [3, 224, 224] or {height, width}."""
    if isinstance(value, Mapping) and {"height", "width"} <= set(value):
        value = [value["height"], value["width"]]
    if isinstance(value, Sequence) and not isinstance(value, str):
        sides = list(value)[-2:]
        if len(sides) == 2 and sides[0] == sides[1]:
            value = sides[0]
    return _whole(value, name, where)


def _whole(value: object, name: str, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= LARGEST_SIDE:
        raise UnseenError(f"{where} says {name}: {value!r}, expected the side of a square in pixels.")
    return value


def _number(value: object, name: str, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < np.inf:
        raise UnseenError(f"{where} says {name}: {value!r}, expected a positive number.")
    return float(value)


def _triple(value: object, name: str, where: str) -> Triple:
    if not isinstance(value, Sequence) or [type(v) in (int, float) for v in value] != [True] * 3:
        raise UnseenError(f"{where} says {name}: {value!r}, expected three numbers.")
    red, green, blue = map(float, value)
    return red, green, blue


def _mode(value: object, where: str) -> str:
    if value not in RESIZE_MODES:
        raise UnseenError(f"{where} resizes by {value!r}, expected one of {', '.join(RESIZE_MODES)}.")
    return str(value)


def _resample(value: object, where: str) -> str:
    """Return the name of a filter given as Pillow's number or as a name."""
    if type(value) is int and 0 <= value < len(RESAMPLE):
        return RESAMPLE[value]
    name = {"random": "bicubic"}.get(str(value).lower(), str(value).lower())
    if name not in RESAMPLE:
        raise UnseenError(f"{where} resamples by {value!r}, expected one of {', '.join(RESAMPLE)}.")
    return name


def from_card(stored: Mapping[str, object]) -> Preprocessing:
    """Return the preprocessing that a features file or a model stores, checked like one of the user."""
    known = {field.name: stored[field.name] for field in fields(Preprocessing) if field.name in stored}
    for name in ("mean", "std"):
        if name in known:
            known[name] = _triple(known[name], name, "The stored preprocessing")
    try:
        return Preprocessing(**known)  # type: ignore[arg-type]
    except (TypeError, ValueError) as error:
        raise UnseenError(f"The stored preprocessing cannot be used: {one_line(error)}") from error
