"""``unseen suggest``: which unlabeled samples to label next."""

from __future__ import annotations

from pathlib import Path

import click

from unseen.cli import options
from unseen.cli._images import Source, takes_samples


@options.command("unseen suggest birds.model unlabeled.npz --n 20 --out to_label.csv")
@takes_samples
@options.count("--n", default=20, help="Samples to suggest.")
@options.out("FILE.csv. [default: CSV on standard output]")
def command(source: Source, n: int, out: Path | None, force: bool) -> None:
    """Suggest which unlabeled samples to label next.

    FEATURES and IMAGES are those of unseen predict. The samples that are predicted as new classes are drawn
    at random, one of each class in turn. Label them, then add the new classes with
    unseen add-class --samples to the model that does not have them yet.
    """
    from unseen.models.prediction import write_tables
    from unseen.models.suggestion import suggest

    options.check_file(out, source.inputs, force)
    with source.open() as (model, samples):
        found = suggest(model, samples, n)
    with options.open_csv(out) as file:
        write_tables([found], file)
    if out:
        click.echo(f"wrote {out}: {len(found['class'])} samples to label", err=True)
