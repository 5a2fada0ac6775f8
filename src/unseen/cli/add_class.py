"""``unseen add-class``: new classes for a fitted model, without training."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unseen._core.files import check_output
from unseen.cli import options
from unseen.errors import UnseenError

if TYPE_CHECKING:
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
    "--recalibrate",
    metavar="DATA",
    help="Choose gamma anew for all classes, on samples of the seen classes in DATA.",
)
@options.features
@options.out("File for the larger model. [default: MODEL, which is replaced]")
@options.force
def command(
    model: Path,
    prototypes: tuple[Path, ...],
    text_encoder: str | None,
    recalibrate: str | None,
    features: str,
    out: Path | None,
    force: bool,
) -> None:
    """Add classes to a model by their descriptions: no samples, no training."""
    from unseen.datasets.prototypes import align
    from unseen.models.io import is_model, load, read_card, save

    target, inputs = out or model, [*prototypes, text_encoder, recalibrate]
    check_output(target, inputs=inputs, force=force, may_replace=is_model)
    fitted, card = load(model), read_card(model)
    new = align(options.read_descriptions(prototypes, text_encoder), card.get("attributes", ()))
    fitted.add_classes(new)
    names = [str(name) for name in new.index]
    if "classes" in card:
        card["classes"]["unseen"] += names
    if recalibrate:
        card |= _recalibrate(fitted, recalibrate, features)
    save(fitted, target, card=card)
    n_seen = int(fitted.seen_.sum())
    click.echo(
        f"wrote {target}: added {', '.join(names)}; now {n_seen} seen and "
        f"{len(fitted.classes_) - n_seen} unseen classes",
        err=True,
    )


def _recalibrate(model: Model, source: str, features: str) -> dict[str, Any]:
    """Choose gamma on the training samples of a data set; return what changes on the card."""
    import numpy as np

    from unseen._core.rows import choose_rows
    from unseen.datasets.splits import training_samples
    from unseen.models.evaluation import evaluation_data
    from unseen.selection.search import GZSLClassifierCV

    if not isinstance(model, GZSLClassifierCV):
        raise UnseenError(f"{type(model).__name__} has no calibration. Fit the model with unseen fit.")
    data = evaluation_data(source, features)
    names = np.array(data.class_names)[data.y]
    samples = training_samples(data)
    samples = samples[np.isin(names[samples], model.classes_[model.seen_])]
    if not len(samples):
        raise UnseenError(f"{data.name} holds no training samples of the model's seen classes.")
    model.recalibrate(choose_rows(data.X, samples), names[samples])
    click.echo(f"gamma is {model.gamma_:.4g} now, chosen on {len(samples)} samples", err=True)
    return {"gamma": model.gamma_, "gamma_rule": model.gamma_rule_}
