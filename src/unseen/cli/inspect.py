"""``unseen inspect``: what there is to know about a data set before training."""

from __future__ import annotations

import json

import click


@click.command(name="inspect")
@click.argument("data", default="digits")
@click.option("--features", default="res101", show_default=True, help="Feature file of an xlsa17 folder.")
@click.option("--split-dir", help="Another folder with att_splits.mat and class lists.")
@click.option(
    "--split-rule",
    default="official",
    show_default=True,
    metavar="official|paper|FILE.csv",
    help="Where the seen test set and the folds come from.",
)
@click.option("--prototypes", metavar="FILE.csv", help="Class descriptions for your own data.")
@click.option("--unseen-classes", metavar="A,B,...", help="Names of the unseen classes of your own data.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(
    data: str,
    features: str,
    split_dir: str | None,
    split_rule: str,
    prototypes: str | None,
    unseen_classes: str | None,
    as_json: bool,
) -> None:
    r"""Describe DATA: sizes, value ranges, classes, splits, variances, and what is missing.

    DATA is digits, synthetic, an xlsa17 folder, a .npz file, or a folder with features.npy.

    \b
    Examples:
      unseen inspect digits
      unseen inspect xlsa17/data/CUB --split-rule paper
      unseen inspect features.npz --prototypes classes.csv --unseen-classes zebra,okapi
    """
    from unseen.datasets import load
    from unseen.datasets.inspection import describe, format_description

    dataset = load(
        data,
        features=features,
        split_dir=split_dir,
        prototypes=prototypes,
        unseen_classes=unseen_classes.split(",") if unseen_classes else None,
        require_features=False,
    )
    facts = describe(dataset, split_rule)
    click.echo(json.dumps(facts, indent=2) if as_json else format_description(facts))
