"""``unseen evaluate``: how good a model is on labeled data."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import click

from unseen.cli import options
from unseen.cli._images import are_images, find_features


@click.command(epilog=options.example("unseen evaluate birds.model birds.npz"))
@click.argument("model", type=options.FILE)
@click.argument("data", metavar="DATA|IMAGES")
@options.backbone("Image network for IMAGES. [default: the one named in the model]")
@options.variant
@options.features
@options.split_dir
@options.taxonomy
@options.confidence
@options.label
@options.ignore
@options.as_json
@options.quiet
def command(
    model: Path,
    data: str,
    backbone: str | None,
    variant: str | None,
    features: str,
    split_dir: Path | None,
    taxonomy: Path | None,
    confidence: float | None,
    label: str | None,
    ignore: tuple[str, ...] | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Measure a model on labeled data: accuracies, their harmonic mean, hardest classes.

    DATA is a .npz file with X and y, a folder with features.npy and labels.csv, an xlsa17 folder, a table
    (.csv, .parquet), letters, digits or synthetic. If it has a seen test set, its test samples are used;
    otherwise all samples. IMAGES is a folder with one folder of images per class. Classes and the columns of
    a table are matched by name, and the model predicts among all of its classes. Samples of other classes
    measure how well unknown ones are detected. With --taxonomy, every level has its own line: samples
    answered there, how many of them are right, the harmonic mean, and the calibration error.
    """
    from unseen.models.evaluation import evaluate, evaluation_data, format_evaluation
    from unseen.models.io import facts_of, load_model

    confidence = options.check_confidence(confidence, taxonomy)
    fitted = load_model(model)
    measure = partial(evaluate, fitted, taxonomy=taxonomy, confidence=confidence)
    if backbone is None and not are_images(data):
        found = measure(evaluation_data(data, features, split_dir, label=label, ignore=ignore))
    else:
        with find_features(data, backbone, variant, facts_of(fitted).get("encoder"), quiet) as path:
            found = measure(replace(evaluation_data(path), name=Path(data).name))
    click.echo(json.dumps(found.as_json(), indent=2) if as_json else format_evaluation(found))
    for note in found.notes:
        click.echo(f"note: {note}", err=True)
