"""``unseen fit``: a data set to a calibrated model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from unseen._core.files import check_writable


@click.command(
    epilog="Example: unseen fit birds.npz --prototypes birds.csv --unseen jay,owl --model birds.model"
)
@click.argument("data", default="digits")
@click.option("--model", required=True, type=click.Path(path_type=Path), help="File to write the model to.")
@click.option("--method", default="sje", show_default=True, help="Name, or module:Class for your own.")
@click.option(
    "--prototypes",
    multiple=True,
    metavar="FILE.csv",
    help="Class descriptions for your own data: attributes, or words. Several are combined.",
)
@click.option("--text-encoder", metavar="FILE.onnx", help="Embeds descriptions in words.")
@click.option(
    "--unseen",
    "--unseen-classes",
    "unseen_classes",
    metavar="A,B,...",
    help="Classes to hold out, besides those without samples.",
)
@click.option(
    "--gamma",
    type=click.Choice(["transfer", "paper"]),
    default="transfer",
    show_default=True,
    help="Calibration for the model of all samples: extrapolated to all seen classes, or as on the folds.",
)
@click.option("--features", default="res101", show_default=True, help="Feature file of an xlsa17 folder.")
@click.option("--split-dir", help="Another folder with att_splits.mat and class lists.")
@click.option("--json", "as_json", is_flag=True, help="Print the card as one JSON object.")
@click.option("--quiet", is_flag=True, help="Show no progress.")
def command(
    data: str,
    model: Path,
    method: str,
    prototypes: tuple[str, ...],
    text_encoder: str | None,
    unseen_classes: str | None,
    gamma: str,
    features: str,
    split_dir: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Fit a classifier of all classes of DATA, seen and unseen, and print its card.

    DATA is digits, synthetic, an xlsa17 folder, a .npz file, or a folder with features.npy. Parameters and
    calibration are chosen on classes that are held out in turn; then all samples of the seen classes train
    the model, but for those of the data set's own test sets.
    """
    from unseen.datasets import load
    from unseen.models.io import save
    from unseen.models.training import format_card, train

    check_writable(model)
    dataset = load(
        data,
        features=features,
        split_dir=split_dir,
        prototypes=read_descriptions(prototypes, text_encoder),
        unseen_classes=[name.strip() for name in unseen_classes.split(",")] if unseen_classes else None,
    )
    fitted, card = train(dataset, method, gamma=gamma, verbose=not quiet)
    save(fitted, model, card=card)
    click.echo(json.dumps(card, indent=2) if as_json else format_card(card))
    click.echo(f"wrote {model}", err=True)


def read_descriptions(files: tuple[str, ...], text_encoder: str | None) -> Any:
    """Return the class descriptions in some files, or None where there is none."""
    from unseen.datasets.prototypes import read_sources
    from unseen.encoders.text import TextEncoder

    if not files:
        return None
    return read_sources(files, TextEncoder(text_encoder) if text_encoder else None)
