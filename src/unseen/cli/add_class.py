"""``unseen add-class``: new classes for a fitted model, by description and perhaps a few samples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from unseen._core.files import check_output
from unseen.cli import options
from unseen.errors import UnseenError

if TYPE_CHECKING:
    from unseen._core.blocks import FloatArray
    from unseen._core.labels import LabelArray
    from unseen.datasets import ZeroShotDataset
    from unseen.models.io import Model


@click.command(
    name="add-class", epilog=options.example("unseen add-class birds.model --prototypes kingfisher.csv")
)
@click.argument("model", type=options.FILE)
@options.prototypes(
    required=True, help="Descriptions of the new classes, with the attributes of the model, in any order."
)
@options.text_encoder
@click.option(
    "--samples",
    metavar="DATA",
    help="A few samples of the new classes: a table, a .npz file with X and y, or any data set.",
)
@click.option(
    "--recalibrate",
    metavar="DATA",
    help="Choose gamma again for all classes, on samples of the seen classes in DATA.",
)
@options.label
@options.ignore
@options.features
@options.out("File for the larger model. [default: MODEL, which is replaced]")
@options.force
def command(
    model: Path,
    prototypes: tuple[Path, ...],
    text_encoder: str | None,
    samples: str | None,
    recalibrate: str | None,
    label: str | None,
    ignore: tuple[str, ...] | None,
    features: str,
    out: Path | None,
    force: bool,
) -> None:
    """Add classes to a model by their descriptions, without training.

    With --samples, the mean of a class combines what its description predicts with its samples. For lda.
    """
    from unseen.models.evaluation import evaluation_data
    from unseen.models.io import facts_of, is_model, load_model, save_model
    from unseen.models.prediction import matched_features

    target, inputs = out or model, [*prototypes, text_encoder, samples, recalibrate]
    check_output(target, inputs=inputs, force=force, may_replace=is_model)
    fitted, new = load_model(model), options.read_descriptions(prototypes, text_encoder)
    names = [str(name) for name in new.index]
    read = partial(evaluation_data, features=features, model=fitted, label=label, ignore=ignore)
    X, y = _samples_of(read(samples), names) if samples else (None, None)
    with matched_features():
        fitted.add_classes(new, X=X, y=y)
    counts = Counter(y.tolist()) if y is not None else {}
    if counts:
        facts_of(fitted)["shots"] = {**facts_of(fitted).get("shots", {}), **counts}
    if recalibrate:
        _recalibrate(fitted, read(recalibrate))
    save_model(fitted, target)
    n_seen = int(fitted.seen_.sum())
    added = [f"{name} ({counts[name]} samples)" if name in counts else name for name in names]
    click.echo(
        f"wrote {target}: added {', '.join(added)}; now {n_seen} seen and "
        f"{len(fitted.classes_) - n_seen} unseen classes",
        err=True,
    )


def _samples_of(data: ZeroShotDataset, names: Sequence[str]) -> tuple[FloatArray, LabelArray]:
    """Return samples of the new classes and their labels; samples of other classes are rejected."""
    import numpy as np

    from unseen._core.labels import label_positions

    y = np.array(data.class_names)[data.y].astype(str)
    label_positions(y, names, data.name, "is not described in --prototypes")
    return np.asarray(data.X), y


def _recalibrate(model: Model, data: ZeroShotDataset) -> None:
    from unseen.models.prediction import matched_features
    from unseen.models.training import recalibrate_on
    from unseen.selection.search import GZSLClassifierCV

    if not isinstance(model, GZSLClassifierCV):
        raise UnseenError(f"{type(model).__name__} has no calibration. Fit the model with unseen fit.")
    with matched_features():
        n = recalibrate_on(model, data)
    click.echo(f"gamma is {model.gamma_:.4g} now, chosen on {n} samples", err=True)
