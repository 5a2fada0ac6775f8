"""``unseen add-class``: new classes for a fitted model, without training."""

from __future__ import annotations

from pathlib import Path

import click

from unseen.cli.fit import read_descriptions


@click.command(name="add-class", epilog="Example: unseen add-class birds.model --prototypes new.csv")
@click.argument("model", type=click.Path(path_type=Path))
@click.option(
    "--prototypes",
    multiple=True,
    required=True,
    metavar="FILE.csv",
    help="Descriptions of the new classes, with the same attributes as those of the model.",
)
@click.option("--text-encoder", metavar="FILE.onnx", help="Embeds descriptions in words.")
@click.option(
    "--out", type=click.Path(path_type=Path), help="File for the larger model. [default: MODEL itself]"
)
def command(model: Path, prototypes: tuple[str, ...], text_encoder: str | None, out: Path | None) -> None:
    """Add classes to a fitted MODEL by their descriptions alone: no samples, no training."""
    from unseen.datasets.prototypes import align
    from unseen.models.io import load, read_card, save

    fitted, card = load(model), read_card(model)
    new = align(read_descriptions(prototypes, text_encoder), card.get("attributes", ()))
    fitted.add_classes(new)
    names = [str(name) for name in new.index]
    if "classes" in card:
        card["classes"]["unseen"] += names
    save(fitted, out or model, card=card)
    n_seen = int(fitted.seen_.sum())
    click.echo(
        f"wrote {out or model}: added {', '.join(names)}; now {n_seen} seen and "
        f"{len(fitted.classes_) - n_seen} unseen classes",
        err=True,
    )
