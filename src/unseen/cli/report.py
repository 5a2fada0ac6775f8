"""``unseen report``: the results of a bench as one page to read, share and keep."""

from __future__ import annotations

from pathlib import Path

import click

from unseen._core.files import check_output
from unseen.cli import options


@click.command(epilog=options.example("unseen report runs/letters --html letters.html"))
@click.argument("run", type=options.FILE)
@click.option("--html", type=options.FILE, metavar="FILE", help="Where to write.  [default: RUN/report.html]")
@options.force
def command(run: Path, html: Path | None, force: bool) -> None:
    """Write the results in folder RUN as one HTML file that opens anywhere, without a network.

    RUN is the folder of an `unseen bench`, finished or not: the page shows what is there.
    """
    from unseen.benchmark.store import FILE_NAME
    from unseen.report import write_report

    html = html or run / "report.html"
    if html.parent.is_dir():
        check_output(html, inputs=[run / FILE_NAME], force=force, may_replace=is_page)
    path = write_report(run, html)
    click.echo(f"wrote {path} ({path.stat().st_size / 1e6:.1f} MB); open it in a browser", err=True)


def is_page(path: Path) -> bool:
    """Return whether a file is an HTML page, as an older report is."""
    with open(path, "rb") as file:
        return file.read(15).lower().startswith(b"<!doctype html")
