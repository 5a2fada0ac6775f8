"""``unseen predict``: features to classes."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from unseen.models.prediction import Table


@click.command(epilog="Example: unseen predict birds.model birds.npz --top 2 --out predictions.csv")
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("samples", metavar="FEATURES")
@click.option("--top", type=click.IntRange(1), default=3, show_default=True, help="Classes per sample.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="FILE.csv or FILE.parquet. [default: CSV on standard output]",
)
@click.option("--features", default="res101", show_default=True, help="Feature file of an xlsa17 folder.")
@click.option("--quiet", is_flag=True, help="Show no progress.")
def command(model: Path, samples: str, top: int, out: Path | None, features: str, quiet: bool) -> None:
    """Predict the class of every sample in FEATURES, among seen and unseen classes.

    FEATURES is a .npy file, a .npz file with X, or a data set; files larger than memory are streamed. Each
    sample gets its best classes with their scores, and whether they are seen or unseen.
    """
    from unseen._core.progress import progress
    from unseen.models.io import load
    from unseen.models.prediction import open_samples, predict_tables

    fitted, opened = load(model), open_samples(samples, features)
    kinds: Counter[str] = Counter()
    with progress(opened.shape[0], "Predicting", unit="samples", quiet=quiet) as advance:

        def counted(tables: Iterable[Table]) -> Iterator[Table]:
            for table in tables:
                kinds.update(table["kind"])
                advance(len(table["kind"]), "")
                yield table

        _write(counted(predict_tables(fitted, opened, top)), out)
    if not quiet:
        summary = ", ".join(f"{kinds[kind]} as {kind} classes" for kind in ("seen", "unseen"))
        click.echo(f"{opened.shape[0]} samples: {summary}" + (f"; wrote {out}" if out else ""), err=True)


def _write(tables: Iterator[Table], out: Path | None) -> None:
    from unseen._core.files import atomic_path
    from unseen.errors import UnseenError
    from unseen.models.prediction import write_csv, write_parquet

    if out is None:
        write_csv(tables, sys.stdout)
    elif out.suffix == ".parquet":
        write_parquet(tables, out)
    elif out.suffix == ".csv":
        with atomic_path(out) as path, open(path, "w", newline="", encoding="utf-8") as file:
            write_csv(tables, file)
    else:
        raise UnseenError(f"Cannot write {str(out)!r}: expected a file ending in .csv or .parquet.")
