"""``unseen describe``: class names or sentences to prototypes."""

from __future__ import annotations

from pathlib import Path

import click

from unseen.cli import options


@options.command(
    "unseen describe names.txt --encoder all-MiniLM-L6-v2 \\",
    "    --template 'a photo of a {}.' --out prototypes.csv",
)
@click.argument("classes")
@options.text_encoder(required=True)
@options.variant
@options.template
@options.out("FILE.csv or FILE.npz.", required=True)
@options.quiet
def command(
    classes: str,
    text_encoder: str,
    variant: str | None,
    templates: tuple[str, ...],
    out: Path,
    quiet: bool,
    force: bool,
) -> None:
    """Turn class names or descriptions into prototypes.

    CLASSES is a text file with one name per line, a CSV with the columns class and description (several
    lines per class are averaged), a folder with one subfolder per class, or names separated by
    commas. A name goes into every template, and the unit embeddings are averaged. Leading numbers
    and underscores in names are left out of the sentences.
    """
    from unseen.encoders.descriptions import describe_classes, read_classes, read_templates, write_prototypes
    from unseen.encoders.text import TextEncoder

    options.check_file(out, [classes, text_encoder], force, [".csv", ".npz"])
    named, sentences = read_classes(classes), read_templates(templates)
    encoder = TextEncoder(text_encoder, variant=variant, quiet=quiet)
    found = describe_classes(named, encoder, templates=sentences)
    write_prototypes(out, found, encoder.describe())
    n_texts = sum(len(said) or len(sentences) for said in named.values())
    click.echo(
        f"wrote {out}: {len(found)} classes, {n_texts} texts, {found.values.shape[1]} numbers each", err=True
    )
