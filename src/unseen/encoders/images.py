"""Image files: which ones a folder holds, and how one is decoded."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from unseen._core.blocks import IndexArray
from unseen.errors import UnseenError, import_extra

if TYPE_CHECKING:
    from PIL.Image import Image

IMAGE_SUFFIXES = (".bmp", ".gif", ".jpeg", ".jpg", ".png", ".ppm", ".tif", ".tiff", ".webp")
# what Pillow may open; formats that start other programs are not among them
IMAGE_FORMATS = ("BMP", "GIF", "JPEG", "PNG", "PPM", "TIFF", "WEBP")


# ---- finding images --------------------------------------------------------------------------------


@dataclass(frozen=True)
class ImageFiles:
    """Image files below ``root`` and, if they are in class folders, their classes."""

    root: Path
    names: tuple[str, ...]  # relative to root, with "/" between folders
    y: IndexArray | None = None  # (images,), index into class_names
    class_names: tuple[str, ...] = ()

    def path(self, position: int) -> Path:
        """Return the path of an image."""
        return self.root / self.names[position]

    def stamp(self, position: int) -> str:
        """Return a name that changes when the file does."""
        try:
            status = self.path(position).stat()
        except OSError:  # a link to nowhere; reading the image will say so
            return self.names[position]
        return f"{self.names[position]} {status.st_size} {status.st_mtime_ns}"


def is_image(path: Path) -> bool:
    """Return whether the path ends as an image file does."""
    return path.suffix.lower() in IMAGE_SUFFIXES


def is_image_folder(path: str | os.PathLike[str]) -> bool:
    """Return whether the path is a folder of class folders with images, or of images."""
    path = Path(path)
    if not path.is_dir():
        return False
    places = [path, *(entry for entry in path.iterdir() if entry.is_dir())]
    return any(is_image(file) for place in places for file in place.iterdir())


def find_images(source: str | os.PathLike[str]) -> ImageFiles:
    """Return the images of a folder of class folders or of a flat folder; or one image."""
    source = Path(source)
    if is_image(source) and source.is_file():
        return ImageFiles(source.parent, (source.name,))
    if not source.is_dir():
        raise UnseenError(f"There is no folder {str(source)!r}. Give a folder of images.")
    # One level by hand: rglob alone would not enter class folders that are links.
    files = (file for top in source.iterdir() for file in (top.rglob("*") if top.is_dir() else [top]))
    names = sorted(file.relative_to(source).as_posix() for file in files if is_image(file))
    names = [name for name in names if not any(part.startswith(".") for part in name.split("/"))]
    if not names:
        known = " ".join(IMAGE_SUFFIXES)
        raise UnseenError(f"The folder {str(source)!r} holds no image (files ending in {known}).")
    stray = [name for name in names if "/" not in name]
    if len(stray) == len(names):
        return ImageFiles(source, tuple(names))
    if stray:
        problem = f"{str(source)!r} holds class folders and also the image {stray[0]!r} outside of them"
        raise UnseenError(f"{problem}. Move it into the folder of its class.")
    class_names, y = np.unique([name.split("/")[0] for name in names], return_inverse=True)
    return ImageFiles(source, tuple(names), y.astype(np.intp), tuple(class_names.tolist()))


# ---- decoding --------------------------------------------------------------------------------------


def open_image(file: str | os.PathLike[str]) -> Image:
    """Return the decoded image, upright and in RGB."""
    pillow = load_pillow()
    with pillow.Image.open(file, formats=IMAGE_FORMATS) as image:
        # A camera held sideways stores the rotation in the EXIF data, beside the pixels.
        upright = pillow.ImageOps.exif_transpose(image)
    if upright.mode.startswith("I"):  # 16 bits per pixel, which convert() would clip at 255
        upright = pillow.Image.fromarray((np.asarray(upright) >> 8).astype(np.uint8))
    rgb: Image = upright.convert("RGB")
    return rgb


@contextmanager
def reject_bombs() -> Iterator[None]:
    """Make Pillow reject decompression bombs, small files that claim gigabytes of pixels, not only warn."""
    with warnings.catch_warnings():
        warnings.filterwarnings("error", category=load_pillow().Image.DecompressionBombWarning)
        yield


def load_pillow() -> ModuleType:
    """Return the package PIL with the modules in use."""
    import_extra("PIL.ImageOps", "images", "Reading images", "pillow")  # which imports PIL.Image
    return sys.modules["PIL"]
