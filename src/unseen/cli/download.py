"""``unseen download``: published data sets, by name."""

from __future__ import annotations

import click

from unseen.cli import options


@options.command("unseen download xlsa17 CUB AWA2")
@click.argument("name", metavar="xlsa17")
@click.argument("parts", nargs=-1, metavar="[CUB|AWA1|AWA2|SUN|APY]...")
@click.option("--mirror", metavar="URL", help="Address of the archive, instead of its authors' server.")
@options.quiet
def command(name: str, parts: tuple[str, ...], mirror: str | None, quiet: bool) -> None:
    """Download data sets in the layout of Xian et al. (2017).

    One archive holds ResNet-101 features, attributes and splits of all data sets. Only those that you name
    are unpacked; without names all are. An interrupted download continues where it stopped, and existing
    files are kept. They go to the folder $UNSEEN_DATA, or else to the user's cache, where `unseen bench CUB`
    finds them by name.
    """
    from unseen.datasets.download import data_home, download

    home = data_home()
    written = download(name, parts, folder=home, mirror=mirror, quiet=quiet)
    click.echo(f"wrote {len(written)} files to {home / name}; you may delete {home / name}.zip", err=True)
