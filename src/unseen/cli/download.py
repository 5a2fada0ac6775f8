"""``unseen download``: published data sets, by name."""

from __future__ import annotations

from pathlib import Path

import click

from unseen.cli import options


@click.command(epilog=options.example("unseen download xlsa17 CUB AWA2"))
@click.argument("name", metavar="xlsa17")
@click.argument("parts", nargs=-1, metavar="[CUB|AWA1|AWA2|SUN|APY]...")
@click.option(
    "--to",
    "folder",
    type=options.FILE,
    metavar="FOLDER",
    help="Folder for the data. [default: $UNSEEN_DATA, else the user's cache, where DATA is found by name]",
)
@click.option(
    "--mirror",
    "mirrors",
    multiple=True,
    metavar="URL",
    envvar="UNSEEN_MIRROR",
    help="Address of the archive, instead of its authors' server. Several are tried in turn.",
)
@click.option("--sha256", metavar="HEX", help="Checksum that the archive must have.")
@options.quiet
@options.force
def command(
    name: str,
    parts: tuple[str, ...],
    folder: Path | None,
    mirrors: tuple[str, ...],
    sha256: str | None,
    quiet: bool,
    force: bool,
) -> None:
    """Download data sets in the layout of Xian et al. (2017).

    One archive holds ResNet-101 features, attributes and splits of all data sets. Only those that you name
    are unpacked; without names all are. An interrupted download continues where it stopped. Afterwards
    `unseen bench CUB` finds the data by name.
    """
    from unseen.datasets.download import download

    def say(text: str) -> None:
        click.echo(text, err=True)

    done = download(
        name,
        parts,
        folder=folder,
        mirrors=mirrors,
        sha256=sha256,
        force=force,
        quiet=quiet,
        say=(lambda text: None) if quiet else say,
    )
    say(
        f"wrote {len(done.written)} files to {done.folder}: {', '.join(done.parts)}; kept {done.archive} "
        f"(sha256 {done.sha256}), which you may delete"
    )
