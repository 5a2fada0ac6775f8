"""``unseen add-class``: new classes for a fitted model, by description and perhaps a few samples."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import click

from unseen._core.files import check_output
from unseen.cli import options


@options.command("unseen add-class birds.model --prototypes kingfisher.csv")
@click.argument("model", type=options.FILE)
@options.prototypes(
    required=True, help="Descriptions of the new classes, with the attributes of the model, in any order."
)
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
@options.columns
@options.features
@options.out("File for the larger model. [default: MODEL, which is replaced]")
def command(
    model: Path,
    prototypes: tuple[Path, ...],
    text_encoder: str | None,
    samples: str | None,
    recalibrate: str | None,
    out: Path | None,
    force: bool,
    **reading: Any,
) -> None:
    """Add classes to a model by their descriptions, without training.

    With --samples, the mean of a class combines what its description predicts with its samples. Only for LDA.
    """
    import numpy as np

    from unseen.models.evaluation import evaluation_data
    from unseen.models.files import is_model
    from unseen.models.io import load_model, save_model
    from unseen.models.prediction import matched_features, selected
    from unseen.models.predictor import facts_of
    from unseen.models.training import recalibrate_on

    target, inputs = out or model, [*prototypes, text_encoder, samples, recalibrate]
    check_output(target, inputs=inputs, force=force, may_replace=is_model)
    fitted: Any = load_model(model)
    new = options.read_descriptions(prototypes, text_encoder)
    names = [str(name) for name in new.index]
    counts: Counter[str] = Counter()
    with matched_features():
        if samples:
            data = evaluation_data(samples, fitted, **reading)
            y = np.array(data.class_names)[data.y].astype(str)
            fitted.add_classes(new, X=np.asarray(data.X), y=y)
            counts.update(y.tolist())
            facts_of(fitted)["shots"] = {**facts_of(fitted).get("shots", {}), **counts}
        else:
            fitted.add_classes(new)
        if recalibrate:
            n = recalibrate_on(selected(fitted), evaluation_data(recalibrate, fitted, **reading))
            click.echo(f"gamma is {fitted.gamma_:.4g} now, chosen on {n} samples", err=True)
    save_model(fitted, target)
    n_seen = int(fitted.seen_.sum())
    added = [f"{name} ({counts[name]} samples)" if counts[name] else name for name in names]
    click.echo(
        f"wrote {target}: added {', '.join(added)}; now {n_seen} seen and "
        f"{len(fitted.classes_) - n_seen} unseen classes",
        err=True,
    )
