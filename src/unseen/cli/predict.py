"""``unseen predict``: features or images to classes."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from unseen._core.files import check_output
from unseen.cli import options
from unseen.cli._images import are_images, extracted
from unseen.errors import UnseenError

if TYPE_CHECKING:
    from unseen.models.prediction import Samples, Table


@click.command(epilog=options.example("unseen predict birds.model birds.npz --top 2 --out predictions.csv"))
@click.argument("model", type=options.FILE)
@click.argument("samples", metavar="FEATURES|IMAGES")
@options.backbone("Image network for IMAGES. [default: the one named in the model]")
@options.variant
@click.option(
    "--top", type=click.IntRange(1), default=3, show_default=True, metavar="N", help="Classes per sample."
)
@click.option(
    "--reject",
    type=float,
    metavar="SHARE",
    help="Answer unknown where a sample fits worse than this share of known ones, such as 0.05.",
)
@options.out("FILE.csv or FILE.parquet. [default: CSV on standard output]")
@options.features
@options.quiet
@options.force
def command(
    model: Path,
    samples: str,
    backbone: str | None,
    variant: str | None,
    top: int,
    reject: float | None,
    out: Path | None,
    features: str,
    quiet: bool,
    force: bool,
) -> None:
    """Predict the class of every sample, among seen and unseen classes.

    FEATURES is a .npy file, a .npz file with X, or a data set; files larger than memory are streamed. They
    must come from the encoder that the model was fitted with. IMAGES is a folder, or a list file (.txt) with
    one path per line. Each sample gets its best classes with their scores and probabilities, and whether they
    are seen or unseen. With --reject, class and kind are unknown for a sample of no described class.
    """
    from unseen._core.progress import progress
    from unseen.models.io import load, read_card
    from unseen.models.prediction import predict_tables

    _check_out(out, [model, samples, backbone], force)
    fitted, encoder = load(model), read_card(model).get("encoder")
    kinds: Counter[str] = Counter()
    with _open(samples, features, backbone, variant, encoder, quiet) as opened:
        n = opened.shape[0]
        with progress(n, "Predicting", unit="samples", quiet=quiet) as advance:

            def counted(tables: Iterable[Table]) -> Iterator[Table]:
                start, done = time.monotonic(), 0
                for table in tables:
                    kinds.update(map(str, table["kind"]))
                    done += len(table["kind"])
                    rate = done / max(time.monotonic() - start, 1e-9)
                    advance(len(table["kind"]), f"{rate:,.0f} samples/s")
                    yield table

            _write(counted(predict_tables(fitted, opened, top, reject)), out)
    if not quiet:
        summary = ", ".join(f"{kinds[kind]} as {kind} classes" for kind in ("seen", "unseen"))
        summary += f", {kinds['unknown']} unknown" if reject is not None else ""
        click.echo(f"{n} samples: {summary}" + (f"; wrote {out}" if out else ""), err=True)


def _check_out(out: Path | None, inputs: list[str | Path | None], force: bool) -> None:
    if out is None:
        return
    if out.suffix not in (".csv", ".parquet"):
        raise UnseenError(f"Cannot write {str(out)!r}: expected a file ending in .csv or .parquet.")
    check_output(out, inputs=inputs, force=force)


@contextmanager
def _open(
    source: str,
    features: str,
    backbone: str | None,
    variant: str | None,
    encoder: Mapping[str, object] | None,
    quiet: bool,
) -> Iterator[Samples]:
    """Give the samples of a feature file; those of images are extracted to a temporary one first."""
    from unseen.datasets.features import check_same_encoder, read_encoder_card
    from unseen.models.prediction import open_samples

    if backbone is None and not are_images(source):
        check_same_encoder(read_encoder_card(source), encoder, source)
        yield open_samples(source, features)
        return
    with extracted(source, backbone, variant, encoder, quiet) as path:
        yield open_samples(path)


def _write(tables: Iterator[Table], out: Path | None) -> None:
    from unseen._core.files import atomic_path
    from unseen.models.prediction import write_csv, write_parquet

    if out is None:
        write_csv(tables, sys.stdout)
    elif out.suffix == ".parquet":
        write_parquet(tables, out)
    else:
        with atomic_path(out) as path, open(path, "w", newline="", encoding="utf-8") as file:
            write_csv(tables, file)
