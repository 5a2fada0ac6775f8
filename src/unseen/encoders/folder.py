"""From a folder of images and class names to a data set: features cached beside the folder, and reused."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from unseen._core.prototypes import Descriptions, Encoder, Prototypes
from unseen.datasets import ZeroShotDataset, load_dataset
from unseen.datasets.own import assemble
from unseen.encoders.backbone import AnyBackbone
from unseen.encoders.descriptions import TEMPLATE, describe_classes, read_classes
from unseen.encoders.extraction import extract, is_extraction
from unseen.encoders.images import find_images
from unseen.errors import UnseenError


def list_image_folder(
    folder: str | os.PathLike[str],
    *,
    prototypes: Descriptions | None = None,
    unseen_classes: Sequence[str] | None = None,
) -> ZeroShotDataset:
    """Return what is known of a folder of images before any network has seen them.

    Every subfolder is a class, an empty one too. Features are missing, and descriptions if there are none.
    """
    images = find_images(folder)
    content: dict[str, Any] = {"files": np.array(images.names)}
    needed = [
        "There are no features yet: --backbone REF extracts them from the images (unseen fit, extract)."
    ]
    if images.y is None:
        needed = [f"{folder} has no class folders: put the images of each class into one of its own."]
    else:
        content["y"] = np.array(images.class_names)[images.y]
        content["class_names"] = np.array(list(read_classes(folder)))
    if prototypes is None:
        needed.append("There are no class descriptions: --encoder REF makes them from the class names.")
    name = Path(folder).resolve().name
    return assemble(name, content, prototypes, unseen_classes, missing=needed, labels=str(folder))


def cache_of(folder: str | os.PathLike[str]) -> Path:
    """Return where the features of an image folder are cached: beside it.

    >>> cache_of("data/photos").as_posix()
    'data/photos.features.npz'
    """
    folder = Path(os.path.abspath(folder)) if Path(folder).name in ("", "..") else Path(folder)
    return folder.parent / f"{folder.name}.features.npz"


def load_image_folder(
    folder: str | os.PathLike[str],
    backbone: AnyBackbone,
    encoder: str | os.PathLike[str] | Encoder | None = None,
    *,
    prototypes: Prototypes | None = None,
    classes: Mapping[str, Sequence[str]] | Sequence[str] = (),
    templates: Sequence[str] = (TEMPLATE,),
    unseen_classes: Sequence[str] | None = None,
    quiet: bool = True,
) -> ZeroShotDataset:
    """Return the data set of a folder of class folders with images, and of the names of further classes.

    Every subfolder is a class, an empty one too. Its prototype is the embedding of its name in the
    templates, or of its descriptions. Classes without images are unseen. Images that cannot be read are left
    out, and named in ``notes``. Features are kept beside the folder: next time only images that are new or
    have changed are run through the backbone.

    Parameters
    ----------
    folder : path
    backbone : str, path or callable
        Image network, see ``unseen.encoders.backbone.open_backbone``.
    encoder : str, path or callable, optional
        Text encoder, see ``unseen.encoders.descriptions.describe_classes``; not needed with ``prototypes``.
    prototypes : Prototypes, optional
        Descriptions of all classes instead, such as attributes.
    classes : names, or mapping from name to descriptions
        Further classes, or descriptions of those that have images.
    templates : sequence of str
        Sentences with ``{}`` for the class name; they are averaged.
    unseen_classes : names, optional
        Classes to hold out, besides those without images.
    quiet : bool
        Show no progress.

    Examples
    --------
    Photographs of known classes, and the name of a new one::

        photos = load_image_folder("photos", "hf:org/clip", "hf:org/clip", classes=["okapi"])
        model, card = train(photos)
    """
    if prototypes is None:
        if encoder is None:
            raise UnseenError(
                "Classes need descriptions: give a text encoder for their names (--encoder), or --prototypes."
            )
        further = classes if isinstance(classes, Mapping) else dict.fromkeys(classes, ())
        named = {**read_classes(folder), **dict.fromkeys(unseen_classes or (), ()), **further}
        prototypes = describe_classes(named, encoder, templates=templates)
    cache = cache_of(folder)
    if cache.exists() and not is_extraction(cache):
        raise UnseenError(f"{cache} is where features are cached, but it is another file. Move it away.")
    done = extract(folder, backbone, cache, quiet=quiet)
    if not done.class_names:
        raise UnseenError(f"{folder} has no class folders. Put the images of each class into one of its own.")
    data = load_dataset(done.out, prototypes=prototypes, unseen_classes=unseen_classes or None)
    left_out = [f"could not read {name}: {reason}" for name, reason in done.unreadable.items()]
    return replace(data, name=Path(folder).name, notes=(*data.notes, *left_out))
