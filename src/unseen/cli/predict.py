"""``unseen predict``: features or images to classes."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from unseen.cli import options
from unseen.cli._images import Source, takes_samples

if TYPE_CHECKING:
    from unseen.models.prediction import Columns

share = partial(click.option, type=float, metavar="SHARE")


@options.command("unseen predict birds.model birds.npz --top 2 --out predictions.csv")
@takes_samples
@options.count("--top", default=3, help="Classes per sample.")
@share("--reject", help="Label as unknown what fits worse than this share of known samples, such as 0.05.")
@share("--coverage", help="Add the classes that hold the true one for this share of samples, such as 0.9.")
@options.taxonomy
@options.out("FILE.csv. [default: CSV on standard output, unless --html is given]")
@options.file("--html", help="Write a gallery of the images as one page.")
def command(
    source: Source,
    top: int,
    reject: float | None,
    coverage: float | None,
    taxonomy: Path | None,
    confidence: float,
    out: Path | None,
    html: Path | None,
    force: bool,
) -> None:
    """Predict the class of every sample.

    FEATURES is a .npy file, a .npz file with X, a table (.csv, .parquet), or a data set. The columns of a
    table are matched by name; .npy and .npz may be larger than memory. Features must come from the encoder
    that the model was fitted with. IMAGES is an image or a folder of images. Each sample gets its best
    classes, seen and unseen ones, with their scores and probabilities.

    With --reject, class and kind are unknown for a sample of no described class. With --coverage, the column
    candidates lists the possible classes, joined by |, the most probable first. With --taxonomy, the columns
    answer, level and probability are those of the finest group that reaches the confidence; samples without
    one are unknown.

    --html writes a gallery: the images by predicted class, new classes first. It shows IMAGES, the files that
    FEATURES name, or FEATURES that are square gray images themselves, such as letters.
    """
    from unseen.models.prediction import predict_tables, write_tables

    inputs = [*source.inputs, taxonomy]
    options.check_file(out, inputs, force)
    options.check_page(html, inputs, force, out)
    kinds: Counter[str] = Counter()
    with source.open(whole=html is not None) as (model, samples):  # the gallery explains
        tables = predict_tables(
            model, samples, top, reject, coverage=coverage, taxonomy=taxonomy, confidence=confidence
        )
        tables = _counted(tables, kinds, samples.shape[0], source.quiet)
        if html is not None:
            from unseen.report.gallery import Predictions, write_gallery
            from unseen.report.thumbnails import need_pictures

            pictures = need_pictures(source.samples, samples)
            shown = Predictions(model.classes_, samples.labels)
            tables = shown.watch(tables)
        if out is None and html is not None:
            deque(tables, maxlen=0)
        else:
            with options.open_csv(out) as file:
                write_tables(tables, file)
        if html is not None:
            title = Path(source.samples).name or source.samples
            write_gallery(shown, samples, pictures, html, model=model, title=title)
    if not source.quiet:
        summary = ", ".join(f"{kinds[kind]} as {kind} classes" for kind in ("seen", "unseen"))
        summary += f", {kinds['unknown']} unknown" if reject is not None else ""
        written = "".join(f"; wrote {path}" for path in (out, html) if path is not None)
        click.echo(f"{kinds.total()} samples: {summary}{written}", err=True)


def _counted(tables: Iterable[Columns], kinds: Counter[str], n: int, quiet: bool) -> Iterator[Columns]:
    """Yield the tables, count the kinds of their samples, and show progress."""
    from unseen._core.progress import progress

    start = time.monotonic()
    with progress(n, "Predicting", unit="samples", quiet=quiet) as advance:
        for table in tables:
            kinds.update(map(str, table["kind"]))
            rate = kinds.total() / max(time.monotonic() - start, 1e-9)
            advance(len(table["kind"]), f"{rate:,.0f} samples/s")
            yield table
