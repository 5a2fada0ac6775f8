"""``unseen report``: the results of a bench as one page to read, share and keep."""

from __future__ import annotations

from pathlib import Path

import click


@click.command(epilog="Example: unseen report runs/letters --html letters.html")
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--html", type=click.Path(path_type=Path), help="Where to write. [default: RUN/report.html]")
def command(run: Path, html: Path | None) -> None:
    """Write the results in folder RUN as one HTML file that opens anywhere, without a network.

    RUN is the folder of an `unseen bench`, finished or not: the page shows what is there.
    """
    from unseen.report import write_report

    path = write_report(run, html)
    click.echo(f"wrote {path} ({path.stat().st_size / 1e6:.1f} MB); open it in a browser", err=True)
