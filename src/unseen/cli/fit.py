"""``unseen fit``: a data set to a calibrated model."""

from __future__ import annotations

import json
from pathlib import Path

import click

from unseen._core.files import check_output
from unseen.cli import options


@click.command(
    epilog=options.example(
        "unseen fit birds.npz --prototypes birds.csv --unseen jay,owl \\",
        "    --model birds.model",
    )
)
@options.data
@click.option("--model", required=True, type=options.FILE, metavar="FILE", help="File for the model.")
@options.method(default="lda")
@options.prototypes()
@options.text_encoder
@options.unseen_classes
@click.option(
    "--gamma",
    type=click.Choice(["retention", "paper"]),
    default="retention",
    show_default=True,
    help="Rule that carries gamma from the folds to the model of all samples.",
)
@options.features
@options.split_dir
@options.as_json
@options.quiet
@options.force
def command(
    data: str,
    model: Path,
    method: str,
    prototypes: tuple[Path, ...],
    text_encoder: str | None,
    unseen_classes: tuple[str, ...] | None,
    gamma: str,
    features: str,
    split_dir: Path | None,
    as_json: bool,
    quiet: bool,
    force: bool,
) -> None:
    """Fit a classifier of seen and unseen classes, and print its card.

    DATA is digits, synthetic, an xlsa17 folder, a .npz file, or a folder with features.npy. Parameters and
    calibration are chosen on held-out classes. Then the model is trained on all samples of the seen
    classes, except those in the data set's own test sets.

    A model that exists is replaced; any other file only with --force.
    """
    from unseen.datasets import load
    from unseen.models.card import format_card
    from unseen.models.io import is_model, save
    from unseen.models.training import train

    inputs = [data, *prototypes, text_encoder, split_dir]
    check_output(model, inputs=inputs, force=force, may_replace=is_model)
    dataset = load(
        data,
        features=features,
        split_dir=split_dir,
        prototypes=options.read_descriptions(prototypes, text_encoder) if prototypes else None,
        unseen_classes=unseen_classes,
    )
    fitted, card = train(dataset, method, gamma=gamma, verbose=not quiet)
    save(fitted, model, card=card.to_json())
    click.echo(json.dumps(card.to_json(), indent=2) if as_json else format_card(card))
    click.echo(f"wrote {model}", err=True)
