"""Images in place of features: they go through the encoder of the model first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

from unseen.cli import options
from unseen.errors import UnseenError

if TYPE_CHECKING:
    from unseen.encoders.backbone import Backbone


def are_images(source: str) -> bool:
    """Return whether the source is an image, a folder of images or a list of them."""
    from unseen.encoders.folder import is_image_folder
    from unseen.encoders.images import is_image

    return Path(source).suffix == ".txt" or is_image(Path(source)) or is_image_folder(source)


@contextmanager
def find_features(
    source: str,
    backbone: str | None,
    variant: str | None,
    encoder: Mapping[str, object] | None,
    quiet: bool,
) -> Iterator[str | Path]:
    """Give the source of the features; those of images are extracted to a temporary file first."""
    from unseen.datasets.features import check_same_encoder, read_encoder_card

    if backbone is None and not are_images(source):
        check_same_encoder(read_encoder_card(source), encoder, source)
        yield source
        return
    with extracted(source, backbone, variant, encoder, quiet) as path:
        yield path


@contextmanager
def extracted(
    source: str, backbone: str | None, variant: str | None, encoder: Mapping[str, object] | None, quiet: bool
) -> Iterator[Path]:
    """Give a temporary file with the features of images."""
    from unseen.encoders.extraction import extract

    network = _open_network(source, backbone, variant, encoder)
    with TemporaryDirectory(prefix="unseen-") as folder:
        done = extract(source, network, Path(folder, "features.npz"), quiet=quiet)
        for name, reason in done.unreadable.items():
            click.echo(f"could not read {name}: {reason}", err=True)
        yield done.out


def _open_network(
    source: str, backbone: str | None, variant: str | None, encoder: Mapping[str, object] | None
) -> Backbone:
    """Return the network of ``--backbone`` or of the model; its preprocessing is that of the training."""
    from unseen.datasets.features import check_same_encoder
    from unseen.encoders.backbone import reopen_backbone, use_stored_preprocessing

    if backbone is None and encoder is None:
        raise UnseenError(
            f"{source} holds images, and the model does not say which backbone its features come from. "
            "Give it with --backbone."
        )
    if backbone is None and encoder is not None:
        return reopen_backbone(encoder)
    network = options.load_backbone(str(backbone), variant)
    if encoder is not None:
        check_same_encoder(network.describe(), encoder, str(backbone))
        use_stored_preprocessing(network, encoder)
    return network
