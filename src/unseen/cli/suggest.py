"""``unseen suggest``: which unlabeled samples to label next."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from unseen._core.files import atomic_path, check_output
from unseen.cli import options
from unseen.cli._images import find_features
from unseen.errors import UnseenError


@click.command(epilog=options.example("unseen suggest birds.model unlabeled.npz --n 20 --out to_label.csv"))
@click.argument("model", type=options.FILE)
@click.argument("samples", metavar="FEATURES|IMAGES")
@options.backbone("Image network for IMAGES. [default: the one named in the model]")
@options.variant
@click.option(
    "--n", type=click.IntRange(1), default=20, show_default=True, metavar="N", help="Samples to suggest."
)
@click.option("--seed", type=int, default=0, show_default=True, help="Of the random draw.")
@options.out("FILE.csv. [default: CSV on standard output]")
@options.features
@options.label
@options.ignore
@options.quiet
@options.force
def command(
    model: Path,
    samples: str,
    backbone: str | None,
    variant: str | None,
    n: int,
    seed: int,
    out: Path | None,
    features: str,
    label: str | None,
    ignore: tuple[str, ...] | None,
    quiet: bool,
    force: bool,
) -> None:
    """Suggest which unlabeled samples to label next, for the sake of new classes.

    FEATURES and IMAGES are those of unseen predict. The samples that are predicted as new classes are drawn
    at random, one of each class in turn. Label them, then add the new classes again to the model that does
    not know them yet, with unseen add-class --samples.
    """
    from unseen.models.io import facts_of, load_model
    from unseen.models.prediction import open_samples, write_tables
    from unseen.models.suggestion import suggest

    if out is not None:
        if out.suffix != ".csv":
            raise UnseenError(f"Cannot write {str(out)!r}: expected a file ending in .csv.")
        check_output(out, inputs=[model, samples, backbone], force=force)
    fitted = load_model(model)
    with find_features(samples, backbone, variant, facts_of(fitted).get("encoder"), quiet) as source:
        opened = open_samples(source, features, model=fitted, label=label, ignore=ignore or ())
        found = suggest(fitted, opened, n, seed)
    if out is None:
        write_tables([found], sys.stdout)
    else:
        with atomic_path(out) as path, open(path, "w", newline="", encoding="utf-8") as file:
            write_tables([found], file)
