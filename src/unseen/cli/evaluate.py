"""``unseen evaluate``: how good a model is on labeled data."""

from __future__ import annotations

import json
from pathlib import Path

import click

from unseen.cli import options


@click.command(epilog=options.example("unseen evaluate birds.model birds.npz"))
@click.argument("model", type=options.FILE)
@click.argument("data")
@options.features
@options.split_dir
@options.as_json
def command(model: Path, data: str, features: str, split_dir: Path | None, as_json: bool) -> None:
    """Measure a model on labeled data: accuracies, their harmonic mean, hardest classes.

    DATA is a .npz file with X and y, a folder with features.npy and labels.csv, an xlsa17 folder, letters,
    digits or synthetic. If it has a seen test set, its test samples are used; otherwise all samples. Classes
    are matched by name, and the model predicts among all of its classes. For samples of other classes it is
    measured how well they are told as unknown.
    """
    from unseen.models.evaluation import evaluate, evaluation_data, format_evaluation
    from unseen.models.io import load, read_card

    found = evaluate(load(model), evaluation_data(data, features, split_dir), read_card(model))
    click.echo(json.dumps(found.as_json(), indent=2) if as_json else format_evaluation(found))
    for note in found.notes:
        click.echo(f"note: {note}", err=True)
