"""``unseen explain``: why each sample is of its class and not of its rival."""

from __future__ import annotations

from itertools import chain, islice
from pathlib import Path

import click

from unseen.cli import options
from unseen.cli._images import Source, takes_samples


@options.command(
    "unseen explain birds.model new.npz --top 3",
    "unseen explain birds.model new.npz --rival Gadwall --out why.csv",
)
@takes_samples
@options.count("--top", default=5, help="Attributes to list for the class, and as many against it.")
@click.option("--rival", metavar="CLASS", help="Class to compare with. [default: the second best]")
@options.out("FILE.csv with one line per part. [default: text on standard output, unless --html is given]")
@options.file("--html", help="Write charts of the samples as one page.")
def command(
    source: Source, top: int, rival: str | None, out: Path | None, html: Path | None, force: bool
) -> None:
    """Explain why each sample is of its class and not of a rival.

    FEATURES and IMAGES are those of unseen predict. Each sample is listed with the attributes that speak
    for the predicted class and against it, and with what each contributes to the difference of the two
    scores: how much smaller it would be if the class were described as the rival in this attribute.
    Calibration and, for LDA, samples of the classes have their own lines. Prototypes without named
    attributes, such as text embeddings, are explained by the seen classes that a class is combined from.
    """
    from unseen.models.explanation import explain_samples, format_reason, write_reasons

    options.check_file(out, source.inputs, force)
    options.check_page(html, source.inputs, force, out)
    with source.open() as (model, samples):
        reasons = explain_samples(model, samples, rival, top)
        if html is not None:
            from unseen.report.explanation_page import MOST_EXPLAINED, write_explanations

            shown = list(islice(reasons, MOST_EXPLAINED))
            write_explanations(shown, html, model=model, source=source.samples, samples=samples)
            click.echo(f"wrote {html}", err=True)
            reasons = chain(shown, reasons)
        if out is not None:
            with options.open_csv(out) as file:
                write_reasons(reasons, file)
            click.echo(f"wrote {out}", err=True)
        elif html is None:
            for number, reason in enumerate(reasons):
                click.echo(("\n" if number else "") + format_reason(reason))
