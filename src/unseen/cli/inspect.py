"""``unseen inspect``: what there is to know about a data set or a model."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unseen._core.hub import HUB_PREFIX
from unseen.cli import options
from unseen.cli._images import are_images

if TYPE_CHECKING:
    from unseen.datasets import ZeroShotDataset


@options.command(
    "unseen inspect letters",
    "unseen inspect birds.npz --prototypes birds.csv --unseen jay,owl",
    "unseen inspect birds.model",
)
@click.argument("data", metavar="[DATA|MODEL]", default=options.DEFAULT_DATA)
@options.features
@options.split_dir
@options.split_rule
@options.prototypes()
@options.label
@options.unseen_classes
@options.name_list(
    "--ignore", metavar="A,U003,...", help="Columns of a table, and codes of checks, to leave out."
)
@options.as_json
def command(
    data: str,
    split_rule: str,
    prototypes: tuple[Path, ...],
    text_encoder: str | None,
    unseen_classes: tuple[str, ...] | None,
    ignore: tuple[str, ...] | None,
    as_json: bool,
    **reading: Any,
) -> None:
    """Describe data or a model: sizes, classes, splits, checks.

    DATA is letters (the default), digits, synthetic, an xlsa17 folder, a .npz file, a folder with
    features.npy, or a table (.csv, .parquet) with a column of classes and numeric features.
    DATA may also be a folder with one subfolder of images per class. MODEL is a file written by unseen fit:
    its card is shown.
    """
    codes = [name for name in ignore or () if re.fullmatch(r"U\d+", name)]
    from unseen.datasets import load_dataset
    from unseen.datasets.inspection import describe, format_description
    from unseen.encoders.folder import list_image_folder
    from unseen.models.files import is_model

    if data.startswith(HUB_PREFIX) or is_model(data):
        _show_model(data, codes, as_json)
        return
    described = options.read_descriptions(prototypes, text_encoder) if prototypes else None
    if are_images(data):
        dataset = list_image_folder(data, prototypes=described, unseen_classes=unseen_classes)
    else:
        reading["ignore"] = [name for name in ignore or () if name not in codes] or None
        dataset = load_dataset(
            data, prototypes=described, unseen_classes=unseen_classes, require_features=False, **reading
        )
    facts = describe(dataset, split_rule, codes, _same_width(dataset))
    click.echo(json.dumps(facts, indent=2) if as_json else format_description(facts))


def _same_width(dataset: ZeroShotDataset) -> list[str]:
    """Say which methods compare samples with descriptions directly, if both have one width."""
    from unseen.methods import METHODS

    width = dataset.prototypes.shape[1]
    if dataset.X is None or dataset.X.shape[1] != width:
        return []
    names = [name for name, method in METHODS.items() if method.shared_space]
    return [
        f"Features and descriptions both have {width} numbers. If one model made both, as CLIP does, "
        f"{' and '.join(names)} compare them directly; --method auto tries them too."
    ]


def _show_model(path: str, ignore: Sequence[str], as_json: bool) -> None:
    """Print the card of a model and its checks; or only its sizes, if it has no card."""
    from unseen._core.checks import in_lines, select
    from unseen.models.io import load_model
    from unseen.selection.search import GZSLClassifierCV

    model = load_model(path)
    if not isinstance(model, GZSLClassifierCV):
        n_classes, width = model.coef_.shape
        facts = {"method": type(model).__name__, "features": width, "classes": n_classes}
        text = f"{type(model).__name__}: {width} features to {n_classes} classes, without a card"
        click.echo(json.dumps(facts) if as_json else text)
        return
    card = model.card()
    card = replace(card, checks=select(card.checks, ignore))
    lines = [f"- {line}" for line in in_lines(card.checks)]
    text = "\n".join([str(card), *(["", "Checks (docs/checks.md)", *lines] if lines else [])])
    click.echo(json.dumps(card.to_json(), indent=2) if as_json else text)
