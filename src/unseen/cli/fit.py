"""``unseen fit``: a data set to a calibrated model."""

from __future__ import annotations

import json
import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unseen._core.files import check_output
from unseen.cli import options
from unseen.errors import UnseenError
from unseen.methods import METHODS, method_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from unseen._core.checks import Check
    from unseen.base import ZeroShotClassifier
    from unseen.datasets import ZeroShotDataset
    from unseen.encoders.backbone import Backbone


NO_CARD = "default parameters, not calibrated: no class could be held out, so there is no card"


def gamma_rule(text: str) -> str | float:
    """Return the rule, or gamma itself."""
    try:
        return text if text in ("retention", "paper") else float(text)
    except ValueError:
        raise click.BadParameter(f"Got {text!r}, but expected retention, paper or a number.") from None


@options.command(
    "unseen fit birds.npz --prototypes birds.csv --unseen jay,owl \\",
    "    --model birds.model",
)
@click.argument("data", default=options.DEFAULT_DATA)
@options.file("--model", required=True, help="File for the model.")
@click.option(
    "--method",
    default="auto",
    metavar="NAME",
    callback=lambda ctx, parameter, name: method_name(name),
    help="auto (LDA; also cosine if features are as wide as descriptions), "
    f"{', '.join(METHODS)}; or module:Class for your own.",
)
@options.normalize
@options.prototypes()
@options.columns
@options.backbone("Image network for a folder of images: ONNX file, folder, or hf:owner/name.")
@click.option(
    "--classes",
    metavar="FILE|A,B,...",
    help="Further classes of a folder of images: a list, a CSV with descriptions, or names.",
)
@options.template
@options.unseen_classes
@click.option(
    "--gamma",
    type=gamma_rule,
    default="retention",
    metavar="retention|paper|NUMBER",
    help="Rule that carries gamma from held-out classes to the model of all samples, or gamma itself.",
)
@options.goal
@options.features
@click.option(
    "--features-glob", metavar="PATTERN", help="Features of a folder in shards, such as 'shards/*.npy'."
)
@options.split_dir
@options.as_json
@options.quiet
@options.force
def command(
    data: str,
    model: Path,
    method: str,
    normalize: str,
    prototypes: tuple[Path, ...],
    text_encoder: str | None,
    backbone: str | None,
    variant: str | None,
    classes: str | None,
    templates: tuple[str, ...],
    unseen_classes: tuple[str, ...] | None,
    gamma: str | float,
    min_seen: float | None,
    min_unseen: float | None,
    unseen_share: float | None,
    as_json: bool,
    quiet: bool,
    force: bool,
    **reading: Any,
) -> None:
    """Fit a classifier of seen and unseen classes.

    DATA is letters (the default), digits, synthetic, an xlsa17 folder, a .npz file, a folder with
    features.npy, or a table (.csv, .parquet) with a column of classes and numeric features. Scaling,
    parameters and calibration are chosen on held-out classes. Then the model is trained on all samples of the
    seen classes, except those in the data set's own test sets, and its card is printed.

    DATA may also be a folder with one subfolder of images per class. Then --backbone turns the images into
    features, cached beside the folder in DATA.features.npz, and --encoder turns class names into prototypes.
    Classes named by --classes or by an empty subfolder are unseen.

    A model that exists is replaced; any other file only with --force.
    """
    from unseen.datasets import load_dataset
    from unseen.datasets.splits import FEWEST_CLASSES
    from unseen.models.files import is_model
    from unseen.models.io import save_model
    from unseen.models.training import train, train_uncalibrated

    files = [text for text in (classes, *templates) if text and os.path.exists(text)]  # others are words
    inputs = [data, *prototypes, text_encoder, backbone, reading["split_dir"], *files]
    check_output(model, inputs=inputs, force=force, may_replace=is_model)
    described = options.read_descriptions(prototypes, text_encoder, variant, quiet) if prototypes else None
    given: dict[str, Any] = {"prototypes": described, "unseen_classes": unseen_classes}
    namer = None  # text encoder of the class names
    if backbone is None:
        _reject_image_options(data, classes)
        dataset = load_dataset(data, **given, **reading)
    else:
        from unseen.encoders.backbone import Backbone
        from unseen.encoders.text import TextEncoder

        if text_encoder and described is None:
            namer = TextEncoder(text_encoder, variant=variant, quiet=quiet)
        network = Backbone(backbone, variant=variant)
        dataset = _load_images(data, network, classes, templates, encoder=namer, quiet=quiet, **given)
    for note in dataset.notes:
        click.echo(f"note: {note}", err=True)
    if gamma == 0 and dataset.seen.sum() < FEWEST_CLASSES:
        # too few seen classes to hold any out: the method with its default parameters
        plain = train_uncalibrated(dataset, method, normalize=normalize)
        save_model(plain, model)
        _report(_describe(plain), NO_CARD, dataset.checks(), as_json)
    else:
        warnings.filterwarnings("ignore", message=r"U\d{3} ")  # printed with the card
        goal: dict[str, Any] = {"min_seen": min_seen, "min_unseen": min_unseen, "unseen_share": unseen_share}
        fitted, _ = train(dataset, method, normalize=normalize, gamma=gamma, verbose=not quiet, **goal)
        if namer is not None:
            fitted.held_out_.facts["text_encoder"] = namer.describe()
        save_model(fitted, model)
        card = fitted.card()
        _report(card.to_json(), str(card), card.checks, as_json)
    click.echo(f"wrote {model}", err=True)


def _describe(model: ZeroShotClassifier) -> dict[str, Any]:
    """Return what is printed instead of a card if nothing was held out."""
    seen, unseen = model.classes_[model.seen_].tolist(), model.classes_[~model.seen_].tolist()
    name = type(model).__name__.lower()
    return {"method": name, "params": {}, "gamma": 0.0, "classes": {"seen": seen, "unseen": unseen}}


def _report(facts: dict[str, Any], words: str, checks: Sequence[Check], as_json: bool) -> None:
    """Print the card, and what may be wrong with data and model as lines on standard error."""
    from unseen._core.checks import in_lines

    click.echo(json.dumps(facts, indent=2) if as_json else words)
    for severity in ("warning", "note"):
        for line in in_lines([check for check in checks if check.severity == severity]):
            click.echo(f"{severity}: {line}", err=True)


def _load_images(
    folder: str, backbone: Backbone, classes: str | None, templates: tuple[str, ...], **reading: Any
) -> ZeroShotDataset:
    """Return the data set of a folder of images."""
    from unseen.encoders.descriptions import read_classes, read_templates
    from unseen.encoders.folder import cache_of, load_image_folder

    further, sentences = read_classes(classes) if classes else {}, read_templates(templates)
    dataset = load_image_folder(folder, backbone, classes=further, templates=sentences, **reading)
    click.echo(f"kept the features of the images in {cache_of(folder)}, for the next fit", err=True)
    return dataset


def _reject_image_options(data: str, classes: str | None) -> None:
    """Say what a folder of images needs, and which option is only for one."""
    from unseen.encoders.images import is_image_folder

    if is_image_folder(data):
        raise UnseenError(
            f"{data} is a folder of images. Add --backbone REF, which turns them into features, and "
            "--encoder REF, which turns class names into prototypes."
        )
    if classes is not None:
        raise UnseenError("--classes names classes for a folder of images, which also needs --backbone.")
