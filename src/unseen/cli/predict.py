"""``unseen predict``: features or images to classes."""

from __future__ import annotations

import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from unseen._core.files import check_output, is_page
from unseen.cli import options
from unseen.cli._images import find_features
from unseen.errors import UnseenError

if TYPE_CHECKING:
    from unseen.models.io import Model
    from unseen.models.prediction import Samples, Table

    Watch = Callable[[Iterator[Table]], Iterator[Table]]


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
    help="Label as unknown the samples that fit worse than this fraction of known ones, such as 0.05.",
)
@click.option(
    "--coverage",
    type=float,
    metavar="SHARE",
    help="Add the classes that hold the true one for this share of samples, such as 0.9.",
)
@options.taxonomy
@options.confidence
@options.out("FILE.csv or FILE.parquet. [default: CSV on standard output, unless --html is given]")
@click.option("--html", type=options.FILE, metavar="FILE", help="Write a gallery of the images as one page.")
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
    top: int,
    reject: float | None,
    coverage: float | None,
    taxonomy: Path | None,
    confidence: float | None,
    out: Path | None,
    html: Path | None,
    features: str,
    label: str | None,
    ignore: tuple[str, ...] | None,
    quiet: bool,
    force: bool,
) -> None:
    """Predict the class of every sample, among seen and unseen classes.

    FEATURES is a .npy file, a .npz file with X, a table (.csv, .parquet), or a data set. The columns of a
    table are matched by name; .npy and .npz may be larger than memory. Features must come from
    the encoder that the model was fitted with. IMAGES is an image, a folder, or a list file (.txt) with one
    path per line. Each sample gets its best classes with their scores and probabilities, and whether they
    are seen or unseen. With --reject, class and kind are unknown for a sample of no described class.
    With --coverage, the column candidates holds these classes, joined by |, the most probable first.
    With --taxonomy, the columns answer, level and probability are those of the finest group that reaches the
    confidence; samples without one are unknown.

    --html writes a gallery: the images by predicted class, new classes first. It shows IMAGES, the files that
    FEATURES name, or FEATURES that are square gray images themselves, such as letters.
    """
    from unseen._core.progress import progress
    from unseen.models.io import facts_of, load_model
    from unseen.models.prediction import open_samples, predict_tables

    inputs: list[str | Path | None] = [model, samples, backbone, taxonomy]
    _check_out(out, inputs, force)
    if html is not None:
        check_output(html, inputs=inputs, force=force, may_replace=is_page)
    confidence = options.check_confidence(confidence, taxonomy)
    fitted = load_model(model)
    encoder = facts_of(fitted).get("encoder")
    kinds: Counter[str] = Counter()
    with find_features(samples, backbone, variant, encoder, quiet) as source:
        opened = open_samples(source, features, model=fitted, label=label, ignore=ignore or ())
        for note in opened.notes:
            click.echo(f"note: {note}", err=True)
        n = opened.shape[0]
        bar = progress(n, "Predicting", unit="samples", quiet=quiet)
        with _gallery(html, fitted, samples, opened) as watch, bar as advance:

            def counted(tables: Iterable[Table]) -> Iterator[Table]:
                start, done = time.monotonic(), 0
                for table in tables:
                    kinds.update(map(str, table["kind"]))
                    done += len(table["kind"])
                    rate = done / max(time.monotonic() - start, 1e-9)
                    advance(len(table["kind"]), f"{rate:,.0f} samples/s")
                    yield table

            predicted = predict_tables(
                fitted, opened, top, reject, coverage=coverage, taxonomy=taxonomy, confidence=confidence
            )
            tables = watch(counted(predicted))
            if out is None and html is not None:
                deque(tables, maxlen=0)
            else:
                _write(tables, out)
    if not quiet:
        summary = ", ".join(f"{kinds[kind]} as {kind} classes" for kind in ("seen", "unseen"))
        summary += f", {kinds['unknown']} unknown" if reject is not None else ""
        written = "".join(f"; wrote {path}" for path in (out, html) if path is not None)
        click.echo(f"{n} samples: {summary}{written}", err=True)


@contextmanager
def _gallery(html: Path | None, model: Model, source: str, samples: Samples) -> Iterator[Watch]:
    """Give what every table passes; at the end the gallery of ``--html`` is written."""
    if html is None:
        yield lambda tables: tables
        return
    from unseen.report.gallery import Watcher, write_gallery
    from unseen.report.thumbnails import find_pictures

    pictures = find_pictures(source, samples)
    watcher = Watcher(model.classes_)
    yield watcher.watch
    title = Path(source).name or source
    write_gallery(watcher.predictions(samples.labels), samples, pictures, html, model=model, title=title)


def _check_out(out: Path | None, inputs: list[str | Path | None], force: bool) -> None:
    if out is None:
        return
    if out.suffix not in (".csv", ".parquet"):
        raise UnseenError(f"Cannot write {str(out)!r}: expected a file ending in .csv or .parquet.")
    check_output(out, inputs=inputs, force=force)


def _write(tables: Iterator[Table], out: Path | None) -> None:
    from unseen._core.files import atomic_path
    from unseen.models.prediction import write_parquet, write_tables

    if out is None:
        write_tables(tables, sys.stdout)
    elif out.suffix == ".parquet":
        write_parquet(tables, out)
    else:
        with atomic_path(out) as path, open(path, "w", newline="", encoding="utf-8") as file:
            write_tables(tables, file)
