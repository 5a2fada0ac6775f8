"""``unseen explain``: why each sample is of its class and not of its rival."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING

import click

from unseen._core.files import atomic_path, check_output, is_page
from unseen.cli import options
from unseen.cli._images import find_features
from unseen.errors import UnseenError

if TYPE_CHECKING:
    from unseen.methods.explanation import Reason
    from unseen.models.io import Model
    from unseen.models.prediction import Samples


@click.command(
    epilog=options.example(
        "unseen explain birds.model new.npz --top 3",
        "unseen explain birds.model new.npz --rival Gadwall --out why.csv",
    )
)
@click.argument("model", type=options.FILE)
@click.argument("samples", metavar="FEATURES|IMAGES")
@options.backbone("Image network for IMAGES. [default: the one named in the model]")
@options.variant
@click.option(
    "--top",
    type=click.IntRange(1),
    default=5,
    show_default=True,
    metavar="N",
    help="Attributes to list for the class, and as many against it.",
)
@click.option("--rival", metavar="CLASS", help="Class to compare with. [default: the second best]")
@options.out("FILE.csv with one line per part. [default: text on standard output, unless --html is given]")
@click.option("--html", type=options.FILE, metavar="FILE", help="Write charts of the samples as one page.")
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
    rival: str | None,
    out: Path | None,
    html: Path | None,
    features: str,
    label: str | None,
    ignore: tuple[str, ...] | None,
    quiet: bool,
    force: bool,
) -> None:
    """Explain why each sample is of its class and not of its closest rival.

    FEATURES and IMAGES are those of unseen predict. For each sample the attributes that spoke for the
    predicted class and against it are listed, with what each contributes to the difference of the two
    scores: how much smaller it would be if the class were described as the rival in this attribute. What
    calibration and, if they count, samples of the classes contribute follows. Prototypes without named
    attributes, such as text embeddings, are explained by the seen classes that a class is combined from.
    """
    from unseen.models.explanation import explain_samples
    from unseen.models.io import facts_of, load_model
    from unseen.models.prediction import open_samples

    _check_outputs(out, html, [model, samples, backbone], force)
    fitted = load_model(model)
    with find_features(samples, backbone, variant, facts_of(fitted).get("encoder"), quiet) as source:
        opened = open_samples(source, features, model=fitted, label=label, ignore=ignore or ())
        reasons = explain_samples(fitted, opened, rival, top)
        if html is not None:
            reasons = _write_page(html, reasons, fitted, samples, opened)
        if out is not None:
            _write_csv(reasons, out)
        elif html is None:
            _print(reasons)


def _check_outputs(out: Path | None, html: Path | None, inputs: list[str | Path | None], force: bool) -> None:
    if out is not None and out.suffix != ".csv":
        raise UnseenError(f"Cannot write {str(out)!r}: expected a file ending in .csv.")
    if out is not None:
        check_output(out, inputs=inputs, force=force)
    if html is not None:
        check_output(html, inputs=inputs, force=force, may_replace=is_page)


def _write_page(
    html: Path, reasons: Iterator[Reason], model: Model, source: str, samples: Samples
) -> Iterator[Reason]:
    """Write the page of the first samples; return all reasons again."""
    from unseen.report.explanation_page import MOST, find_images, write_explanations

    shown = list(islice(reasons, MOST))
    images = find_images(source, samples, len(shown))
    title, total = Path(source).name or source, samples.shape[0]
    write_explanations(shown, html, model=model, title=title, total=total, images=images)
    click.echo(f"wrote {html}", err=True)
    return chain(shown, reasons)


def _write_csv(reasons: Iterator[Reason], out: Path) -> None:
    from unseen.models.explanation import write_csv

    with atomic_path(out) as path, open(path, "w", newline="", encoding="utf-8") as file:
        write_csv(reasons, file)
    click.echo(f"wrote {out}", err=True)


def _print(reasons: Iterator[Reason]) -> None:
    from unseen.models.explanation import format_reason

    for number, reason in enumerate(reasons):
        click.echo(("\n" if number else "") + format_reason(reason))
