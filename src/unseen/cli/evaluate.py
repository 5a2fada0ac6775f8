"""``unseen evaluate``: how good a model is on labeled data."""

from __future__ import annotations

import json
from pathlib import Path

import click

from unseen.cli import options
from unseen.cli._images import Source, takes_samples


@options.command("unseen evaluate birds.model birds.npz")
@takes_samples
@options.split_dir
@options.taxonomy
@options.as_json
def command(
    source: Source, split_dir: Path | None, taxonomy: Path | None, confidence: float, as_json: bool
) -> None:
    """Measure a model on labeled data.

    FEATURES is a .npz file with X and y, a folder with features.npy and labels.csv, an xlsa17 folder, a table
    (.csv, .parquet), letters, digits or synthetic. If it has a seen test set, its test samples are used;
    otherwise all samples. IMAGES is a folder with one folder of images per class. Classes and the columns of
    a table are matched by name, and the model predicts among all of its classes. Samples of other classes
    measure how well unknown ones are detected. With --taxonomy, every level has its own line: the
    share of samples predicted there, how many of these are right, the harmonic mean, the calibration error.
    """
    from unseen.models.evaluation import evaluate, format_evaluation

    with source.labeled(split_dir, whole=False) as (model, data):
        found = evaluate(model, data, taxonomy=taxonomy, confidence=confidence)
    click.echo(json.dumps(found.to_json(), indent=2) if as_json else format_evaluation(found))
    for note in found.notes:
        click.echo(f"note: {note}", err=True)
