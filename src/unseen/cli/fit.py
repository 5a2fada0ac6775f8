"""``unseen fit``: a data set to a calibrated model."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from unseen._core.files import check_output
from unseen.cli import options
from unseen.errors import UnseenError

if TYPE_CHECKING:
    from unseen.datasets import ZeroShotDataset
    from unseen.datasets.prototypes import Prototypes
    from unseen.encoders.folder import ImageFolder
    from unseen.models.card import Card
    from unseen.selection.search import GZSLClassifierCV


@click.command(
    epilog=options.example(
        "unseen fit birds.npz --prototypes birds.csv --unseen jay,owl \\",
        "    --model birds.model",
    )
)
@options.data
@click.option("--model", required=True, type=options.FILE, metavar="FILE", help="File for the model.")
@options.method(default="auto")
@options.normalize
@options.prototypes()
@options.text_encoder
@options.backbone("Image network for a folder of images: ONNX file, folder, or hf:owner/name.")
@options.variant
@click.option(
    "--classes",
    metavar="FILE|A,B,...",
    help="Further classes of a folder of images: a list, a CSV with descriptions, or names.",
)
@options.template
@options.unseen_classes
@click.option(
    "--gamma",
    type=click.Choice(["retention", "paper"]),
    default="retention",
    show_default=True,
    help="Rule that carries gamma from the folds to the model of all samples.",
)
@options.min_seen
@options.min_unseen
@options.unseen_share
@options.features
@options.features_glob
@options.split_dir
@options.as_json
@options.quiet
@options.force
def command(
    data: str,
    model: Path,
    method: str,
    normalize: str | None,
    prototypes: tuple[Path, ...],
    text_encoder: str | None,
    backbone: str | None,
    variant: str | None,
    classes: str | None,
    templates: tuple[str, ...],
    unseen_classes: tuple[str, ...] | None,
    gamma: str,
    min_seen: float | None,
    min_unseen: float | None,
    unseen_share: float | None,
    features: str,
    features_glob: str | None,
    split_dir: Path | None,
    as_json: bool,
    quiet: bool,
    force: bool,
) -> None:
    """Fit a classifier of seen and unseen classes, and print its card.

    DATA is letters (the default), digits, synthetic, an xlsa17 folder, a .npz file, or a folder with
    features.npy. Method, parameters and calibration are chosen on held-out classes. Then the model is
    trained on all samples of the seen classes, except those in the data set's own test sets.

    DATA may also be a folder with one subfolder of images per class. Then --backbone makes features of the
    images, which are kept beside the folder, and --encoder makes prototypes of the class names. Classes
    named by --classes or by an empty subfolder are unseen.

    A model that exists is replaced; any other file only with --force.
    """
    from unseen.datasets import load
    from unseen.models.card import format_card
    from unseen.models.io import is_model, save
    from unseen.models.training import train

    inputs = [data, *prototypes, text_encoder, backbone, split_dir]
    check_output(model, inputs=inputs, force=force, may_replace=is_model)
    described = options.read_descriptions(prototypes, text_encoder, variant, quiet) if prototypes else None
    photos = None
    if backbone is None:
        _refuse_image_options(data, classes)
        dataset = load(
            data,
            features=features,
            split_dir=split_dir,
            prototypes=described,
            unseen_classes=unseen_classes,
            features_glob=features_glob,
        )
    else:
        photos = _load_images(
            data, backbone, text_encoder, variant, described, classes, templates, unseen_classes, quiet
        )
        dataset = photos.dataset
    late = None if photos is None else photos.late
    if late is not None:  # it is known, but added after the training
        warnings.filterwarnings("ignore", message="No unseen class is known yet")
    fitted, card = train(
        dataset,
        method,
        normalize=normalize,
        gamma=gamma,
        verbose=not quiet,
        min_seen=min_seen,
        min_unseen=min_unseen,
        unseen_share=unseen_share,
    )
    if photos is not None:
        card = replace(card, text_encoder=photos.text_encoder)
    if late is not None:
        card = _add_late(fitted, card, dataset, late, gamma)
    save(fitted, model, card=card.to_json())
    click.echo(json.dumps(card.to_json(), indent=2) if as_json else format_card(card))
    click.echo(f"wrote {model}", err=True)


def _load_images(
    folder: str,
    backbone: str,
    text_encoder: str | None,
    variant: str | None,
    described: Prototypes | None,
    classes: str | None,
    templates: tuple[str, ...],
    unseen_classes: tuple[str, ...] | None,
    quiet: bool,
) -> ImageFolder:
    """Return the data set of a folder of images; report the images that could not be read."""
    from unseen.encoders.descriptions import read_classes, read_templates
    from unseen.encoders.folder import load_image_folder

    further = read_classes(classes) if classes else {}
    encoder = options.open_encoder(text_encoder, variant, quiet) if text_encoder and not described else None
    photos = load_image_folder(
        folder,
        options.open_backbone(backbone, variant),
        encoder,
        prototypes=described,
        classes=further,
        templates=read_templates(templates),
        unseen_classes=unseen_classes,
        quiet=quiet,
    )
    for name, reason in photos.unreadable.items():
        click.echo(f"could not read {name}: {reason}", err=True)
    return photos


def _add_late(
    fitted: GZSLClassifierCV, card: Card, data: ZeroShotDataset, late: Prototypes, gamma: str
) -> Card:
    """Add the only unseen class to the model, and calibrate for it as if it had been there."""
    import numpy as np

    from unseen._core.rows import choose_rows
    from unseen.datasets.splits import training_samples
    from unseen.models.card import expect

    samples = training_samples(data)
    X, y = choose_rows(data.X, samples), np.array(data.class_names)[data.y[samples]]
    fitted.add_classes(late)
    if gamma == "retention":
        fitted.recalibrate(X, y)
    else:
        fitted.cross_fit(X, y)
    return replace(
        card,
        classes={**card.classes, "unseen": late.index.tolist()},
        gamma=fitted.gamma_,
        gamma_rule=fitted.gamma_rule_,
        expected=expect(fitted),
    )


def _refuse_image_options(data: str, classes: str | None) -> None:
    """Say what a folder of images needs, and which option is only for one."""
    from unseen.encoders.folder import is_image_folder

    if is_image_folder(data):
        raise UnseenError(
            f"{data} is a folder of images. Name the networks that make features of them and prototypes of "
            "the class names: --backbone REF --encoder REF."
        )
    if classes is not None:
        raise UnseenError("--classes names classes for a folder of images, which also needs --backbone.")
