"""``unseen add-class``: new classes for a fitted model, by description and perhaps a few samples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unseen._core.files import check_output
from unseen.cli import options
from unseen.errors import UnseenError

if TYPE_CHECKING:
    from unseen._core.blocks import FloatArray
    from unseen._core.labels import LabelArray
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
    help="A few samples of the new classes: a .npz file with X and y, or any data set. [default: none]",
)
@click.option(
    "--recalibrate",
    metavar="DATA",
    help="Choose gamma again for all classes, on samples of the seen classes in DATA.",
)
@options.features
@options.out("File for the larger model. [default: MODEL, which is replaced]")
@options.force
def command(
    model: Path,
    prototypes: tuple[Path, ...],
    text_encoder: str | None,
    samples: str | None,
    recalibrate: str | None,
    features: str,
    out: Path | None,
    force: bool,
) -> None:
    """Add classes to a model by their descriptions, without training.

    With --samples, the mean of a class combines what its description predicts with its samples; the model
    knows how many samples a description is worth. For lda, linear-sv and sae.
    """
    from unseen.datasets.prototypes import align
    from unseen.models.io import is_model, load, read_card, save

    target, inputs = out or model, [*prototypes, text_encoder, samples, recalibrate]
    check_output(target, inputs=inputs, force=force, may_replace=is_model)
    fitted, card = load(model), read_card(model)
    new = align(options.read_descriptions(prototypes, text_encoder), card.get("attributes", ()))
    names = [str(name) for name in new.index]
    X, y = _read_samples(samples, features, names) if samples else (None, None)
    fitted.add_classes(new, X=X, y=y)
    if "classes" in card:
        card["classes"]["unseen"] += names
    counts = Counter(y.tolist()) if y is not None else {}
    if counts:
        card["shots"] = card.get("shots", {}) | counts
    if recalibrate:
        card |= _recalibrate(fitted, recalibrate, features, card)
    save(fitted, target, card=card)
    n_seen = int(fitted.seen_.sum())
    added = [f"{name} ({counts[name]} samples)" if name in counts else name for name in names]
    click.echo(
        f"wrote {target}: added {', '.join(added)}; now {n_seen} seen and "
        f"{len(fitted.classes_) - n_seen} unseen classes",
        err=True,
    )


def _read_samples(source: str, features: str, names: Sequence[str]) -> tuple[FloatArray, LabelArray]:
    """Return samples of the new classes and their labels; samples of other classes are refused."""
    import numpy as np

    from unseen._core.labels import label_positions
    from unseen.models.evaluation import evaluation_data

    data = evaluation_data(source, features)
    y = np.array(data.class_names)[data.y].astype(str)
    label_positions(y, names, source, "is not described in --prototypes")
    return np.asarray(data.X), y


def _recalibrate(model: Model, source: str, features: str, card: Mapping[str, Any]) -> dict[str, Any]:
    """Choose gamma on the training samples of a data set; return what changes on the card."""
    import numpy as np

    from unseen._core.rows import choose_rows
    from unseen.datasets.splits import training_samples
    from unseen.models.card import Card, expect_recalibrated
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
    groups = None if data.groups is None else data.groups[samples]
    model.recalibrate(choose_rows(data.X, samples), names[samples], groups=groups)
    click.echo(f"gamma is {model.gamma_:.4g} now, chosen on {len(samples)} samples", err=True)
    changed: dict[str, Any] = {"gamma": model.gamma_, "gamma_rule": model.gamma_rule_}
    if "confidence" in card:
        T = {"temperature": model.temperature_}
        T["temperature_unseen"] = model.temperature_factor_ * model.temperature_
        changed["confidence"] = {**card["confidence"], **T}
    if "expected" in card:
        expected = expect_recalibrated(model, Card.from_json(card).expected)
        changed["expected"] = asdict(expected)
    return changed
