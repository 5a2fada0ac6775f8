"""``unseen add-class``: new classes for a fitted model, without training."""

from __future__ import annotations

from pathlib import Path

import click

from unseen._core.files import check_output
from unseen.cli import options


@click.command(
    name="add-class", epilog=options.example("unseen add-class birds.model --prototypes kingfisher.csv")
)
@click.argument("model", type=options.FILE)
@options.prototypes(
    required=True, help="Descriptions of the new classes, with the attributes of the model, in any order."
)
@options.text_encoder
@options.out("File for the larger model. [default: MODEL, which is replaced]")
@options.force
def command(
    model: Path, prototypes: tuple[Path, ...], text_encoder: str | None, out: Path | None, force: bool
) -> None:
    """Add classes to a model by their descriptions: no samples, no training."""
    from unseen.datasets.prototypes import align
    from unseen.models.io import is_model, load, read_card, save

    target = out or model
    check_output(target, inputs=[*prototypes, text_encoder], force=force, may_replace=is_model)
    fitted, card = load(model), read_card(model)
    new = align(options.read_descriptions(prototypes, text_encoder), card.get("attributes", ()))
    fitted.add_classes(new)
    names = [str(name) for name in new.index]
    if "classes" in card:
        card["classes"]["unseen"] += names
    save(fitted, target, card=card)
    n_seen = int(fitted.seen_.sum())
    click.echo(
        f"wrote {target}: added {', '.join(names)}; now {n_seen} seen and "
        f"{len(fitted.classes_) - n_seen} unseen classes",
        err=True,
    )
