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
    from unseen.encoders.backbone import Backbone
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
    def find(self, whole: bool) -> Iterator[tuple[Any, str | Path]]:
        """Yield the model and the source of the features; those of images are first extracted to a file.

        Unless the ``whole`` model is needed, only what predicts is loaded.
        """
        from unseen.datasets.features import check_same_encoder, read_encoder_card
        from unseen.models.predictor import facts_of, load_predictor

        model = self._load_whole() if whole else load_predictor(self.model)
        encoder = facts_of(model).get("encoder")
        if self.backbone is None and not are_images(self.samples):
            check_same_encoder(read_encoder_card(self.samples), encoder, self.samples)
            yield model, self.samples
            return

        from unseen.encoders.extraction import extract

        network = self._open_backbone(encoder)
        with TemporaryDirectory(prefix="unseen-") as folder:
            done = extract(self.samples, network, Path(folder, "features.npz"), quiet=self.quiet)
            for name, reason in done.unreadable.items():
                click.echo(f"could not read {name}: {reason}", err=True)
            yield model, done.out

    def _load_whole(self) -> Model:
        from unseen.models.io import load_model

        return load_model(self.model)

    def _open_backbone(self, encoder: Mapping[str, object] | None) -> Backbone:
        """Return the network of ``--backbone``, else that of the model; it preprocesses as in training."""
        from unseen.datasets.features import check_same_encoder
        from unseen.encoders.backbone import Backbone, reopen_backbone

        if self.backbone is not None:
            network = Backbone(self.backbone, variant=self.variant)
            check_same_encoder(network.describe(), encoder, self.backbone)
            network.use_card(encoder)
            return network
        if encoder is None:
            raise UnseenError(
                f"{self.samples} holds images, and the model does not say which backbone its features come "
                "from. Give it with --backbone."
            )
        return reopen_backbone(encoder)

    @contextmanager
    def labeled(self, split_dir: Path | None, *, whole: bool = True) -> Iterator[tuple[Any, ZeroShotDataset]]:
        """Yield the model and labeled samples, under the name that the user gave."""
        from unseen.models.evaluation import evaluation_data

        with self.find(whole) as (model, path):
            reading = {"features": self.features, "label": self.label, "ignore": self.ignore}
            data = evaluation_data(path, model, split_dir=split_dir, **reading)
            # features of images are in a temporary file
            yield model, data if path == self.samples else replace(data, name=Path(self.samples).name)

    @contextmanager
    def open(self, *, whole: bool = True) -> Iterator[tuple[Any, Samples]]:
        """Yield the model and the samples; print notes on them."""
        from unseen.models.prediction import open_samples

        with self.find(whole) as (model, path):
            samples = open_samples(
                path, self.features, model=model, label=self.label, ignore=self.ignore or ()
            )
            for note in samples.notes:
                click.echo(f"note: {note}", err=True)
            yield model, samples


def takes_samples(command: Callable[..., None]) -> Any:
    """Add MODEL, FEATURES|IMAGES and their options to a command, which gets them as one ``Source``."""

    @click.argument("model", type=options.FILE)
    @click.argument("samples", metavar="FEATURES|IMAGES")
    @options.backbone("Image network for IMAGES. [default: the one named in the model]")
    @options.features
    @options.columns
    @options.quiet
    @wraps(command)
    def gather(**values: Any) -> None:
        command(Source(**{name: values.pop(name) for name in Source.__annotations__}), **values)

    return gather


def are_images(source: str) -> bool:
    """Return whether the source is an image or a folder of images."""
    from unseen.encoders.images import is_image, is_image_folder

    return is_image(Path(source)) or is_image_folder(source)
