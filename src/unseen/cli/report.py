"""``unseen report``: the results of a bench, or a model, as one page to read, share and keep."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from unseen._core.hub import HUB_PREFIX
from unseen.cli import options
from unseen.cli._images import Source
from unseen.errors import UnseenError


@options.command(
    "unseen report runs/letters --html letters.html",
    "unseen report letters.model --data letters --html model.html",
)
@click.argument("run", type=options.FILE, metavar="RUN|MODEL")
@click.option("--data", metavar="DATA|IMAGES", help="Labeled samples to measure a model on.")
@options.file("--html", help="Page to write.  [default: RUN/report.html, or MODEL with the ending .html]")
@options.features
@options.split_dir
@options.taxonomy
@options.columns
@options.quiet
@options.force
def command(
    run: Path,
    data: str | None,
    html: Path | None,
    split_dir: Path | None,
    taxonomy: Path | None,
    confidence: float,
    force: bool,
    **reading: Any,
) -> None:
    """Write a bench or a model as one standalone HTML page.

    RUN is the folder of an `unseen bench`, finished or not: the page shows what is there. MODEL is a file of
    `unseen fit`: the page says what to expect of it, and what calibration costs each class. With --data it
    also measures the model, and lets its readers describe a class that does not exist; with --taxonomy, every
    level has its own line.
    """
    from unseen.benchmark.store import STORE_FILE
    from unseen.models.io import load_model
    from unseen.report import write_report
    from unseen.report.model_page import write_model_page
    from unseen.report.thumbnails import find_pictures

    if taxonomy is not None and data is None:
        raise UnseenError("--taxonomy needs labeled samples of a model to measure. Add --data DATA.")
    if run.is_file() or str(run).startswith(HUB_PREFIX):
        html = html or (run.with_suffix(".html") if run.is_file() else Path(f"{run.name}.html"))
        options.check_page(html, [run, data, taxonomy], force)
        if data is None:
            write_model_page(load_model(run), html, title=run.stem)
        else:
            groups: dict[str, Any] = {"taxonomy": taxonomy, "confidence": confidence}
            source = Source(run, data, backbone=None, variant=None, **reading)
            with source.labeled(split_dir) as (model, labeled):
                pictures = find_pictures(data, labeled.sample_names, labeled.X)
                write_model_page(model, html, title=run.stem, data=labeled, pictures=pictures, **groups)
    elif data is not None or not run.exists():
        raise UnseenError(
            f"There is no model {str(run)!r}. Name a model file or, without --data, the folder that a bench "
            "wrote (--out)."
        )
    else:
        html = html or run / "report.html"
        if html.parent.is_dir():
            options.check_page(html, [run / STORE_FILE], force)
        write_report(run, html)
    click.echo(f"wrote {html} ({html.stat().st_size / 1e6:.1f} MB); open it in a browser", err=True)
