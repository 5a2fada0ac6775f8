"""``unseen inspect``: what there is to know about a data set or a model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from unseen.cli import options


@click.command(
    name="inspect",
    epilog=options.example(
        "unseen inspect letters",
        "unseen inspect birds.npz --prototypes birds.csv --unseen jay,owl",
        "unseen inspect birds.model",
    ),
)
@click.argument("data", metavar="[DATA|MODEL]", default=options.DEFAULT_DATA)
@options.features
@options.split_dir
@options.split_rule
@options.prototypes()
@options.text_encoder
@options.unseen_classes
@options.as_json
def command(
    data: str,
    features: str,
    split_dir: Path | None,
    split_rule: str,
    prototypes: tuple[Path, ...],
    text_encoder: str | None,
    unseen_classes: tuple[str, ...] | None,
    as_json: bool,
) -> None:
    """Describe data or a model: sizes, ranges, classes, splits, what is missing.

    DATA is letters (the default), digits, synthetic, an xlsa17 folder, a .npz file, or a folder with
    features.npy. MODEL is a file written by unseen fit: its card is shown.
    """
    if Path(data).is_file() and _show_model(Path(data), as_json):
        return
    from unseen.benchmark.published import find_variances
    from unseen.datasets import load
    from unseen.datasets.inspection import Variance, describe, format_description

    dataset = load(
        data,
        features=features,
        split_dir=split_dir,
        prototypes=options.read_descriptions(prototypes, text_encoder) if prototypes else None,
        unseen_classes=unseen_classes,
        require_features=False,
    )
    printed = find_variances(dataset.class_names)
    facts = describe(dataset, split_rule, Variance(*printed) if printed else None)
    click.echo(json.dumps(facts.as_json(), indent=2) if as_json else format_description(facts))


def _show_model(path: Path, as_json: bool) -> bool:
    """Print the card of a model; return whether the file is one."""
    from unseen.models.io import is_model, read_card

    if not is_model(path):
        return False
    card = read_card(path)
    if as_json:
        click.echo(json.dumps(card, indent=2))
    else:
        click.echo(_format_card(card) if card else _format_model(path))
    return True


def _format_card(card: dict[str, Any]) -> str:
    from unseen.models.card import Card, format_card

    try:
        return format_card(Card.from_json(card))
    except (KeyError, TypeError, ValueError):  # of another version, or the user's own: as it is
        return "\n".join(f"{name:<17} {json.dumps(value)}" for name, value in card.items())


def _format_model(path: Path) -> str:
    """Return what a model without a card says about itself."""
    from unseen.models.io import load

    model = load(path)
    n_classes, width = model.coef_.shape
    return f"{type(model).__name__}: {width} features to {n_classes} classes, without a card"
