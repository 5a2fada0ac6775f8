"""The samples of a command: features, or images, which first go through the encoder of the model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from unseen.cli import options
from unseen.errors import UnseenError

if TYPE_CHECKING:
    from unseen.datasets import ZeroShotDataset
    from unseen.models.io import Model
    from unseen.models.prediction import Samples


@dataclass(frozen=True)
class Source:
    """MODEL, FEATURES|IMAGES and their options."""

    model: Path
    samples: str
    backbone: str | None
    variant: str | None
    features: str
    label: str | None
    ignore: tuple[str, ...] | None
    quiet: bool

    @property
    def inputs(self) -> list[str | Path | None]:
        """The files that the command reads and must not overwrite."""
        return [self.model, self.samples, self.backbone]

    @contextmanager
    def find(self) -> Iterator[tuple[Model, str | Path]]:
        """Yield the model and the source of the features."""
        from unseen.models.io import facts_of, load_model

        model = load_model(self.model)
        encoder = facts_of(model).get("encoder")
        with features_of(self.samples, self.backbone, self.variant, encoder, self.quiet) as path:
            yield model, path

    @contextmanager
    def labeled(self, split_dir: Path | None) -> Iterator[tuple[Model, ZeroShotDataset]]:
        """Yield the model and labeled samples, under the name that the user gave."""
        from unseen.models.evaluation import evaluation_data

        with self.find() as (model, path):
            data = evaluation_data(
                path, self.features, split_dir, model=model, label=self.label, ignore=self.ignore
            )
            # features of images are in a temporary file
            yield model, data if path == self.samples else replace(data, name=Path(self.samples).name)

    @contextmanager
    def open(self) -> Iterator[tuple[Model, Samples]]:
        """Yield the model and the samples; print notes on them."""
        from unseen.models.prediction import open_samples

        with self.find() as (model, path):
            samples = open_samples(
                path, self.features, model=model, label=self.label, ignore=self.ignore or ()
            )
            for note in samples.notes:
                click.echo(f"note: {note}", err=True)
            yield model, samples


def takes_samples(command: Callable[..., None]) -> Callable[..., None]:
    """Add MODEL, FEATURES|IMAGES and their options to a command, which gets them as one ``Source``."""

    @wraps(command)
    def gather(**values: Any) -> None:
        command(Source(**{name: values.pop(name) for name in Source.__annotations__}), **values)

    own = (
        click.argument("model", type=options.FILE),
        click.argument("samples", metavar="FEATURES|IMAGES"),
        options.backbone("Image network for IMAGES. [default: the one named in the model]"),
        options.variant,
        options.features,
        options.label,
        options.ignore,
        options.quiet,
    )
    for add in reversed(own):
        gather = add(gather)
    return gather


def are_images(source: str) -> bool:
    """Return whether the source is an image or a folder of images."""
    from unseen.encoders.folder import is_image_folder
    from unseen.encoders.images import is_image

    return is_image(Path(source)) or is_image_folder(source)


@contextmanager
def features_of(
    source: str,
    backbone: str | None,
    variant: str | None,
    encoder: Mapping[str, object] | None,
    quiet: bool,
) -> Iterator[str | Path]:
    """Yield the source of the features; those of images are extracted to a temporary file first.

    The network is that of ``--backbone``, else that of the model. Images are preprocessed as in training.
    """
    from unseen.datasets.features import check_same_encoder, read_encoder_card

    if backbone is None and not are_images(source):
        check_same_encoder(read_encoder_card(source), encoder, source)
        yield source
        return

    from unseen.encoders.backbone import reopen_backbone
    from unseen.encoders.extraction import extract

    if backbone is not None:
        network = options.load_backbone(backbone, variant)
        check_same_encoder(network.describe(), encoder, backbone)
        network.use_card(encoder)
    elif encoder is not None:
        network = reopen_backbone(encoder)
    else:
        raise UnseenError(
            f"{source} holds images, and the model does not say which backbone its features come from. "
            "Give it with --backbone."
        )
    with TemporaryDirectory(prefix="unseen-") as folder:
        done = extract(source, network, Path(folder, "features.npz"), quiet=quiet)
        for name, reason in done.unreadable.items():
            click.echo(f"could not read {name}: {reason}", err=True)
        yield done.out
