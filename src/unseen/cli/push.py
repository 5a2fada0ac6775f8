"""``unseen push``: a model and its card on the Hugging Face hub."""

from __future__ import annotations

from pathlib import Path

import click

from unseen.cli import options


@options.command("unseen push birds.model hf:owner/birds --license cc-by-4.0")
@click.argument("model", type=options.FILE)
@click.argument("reference", metavar="hf:OWNER/NAME[@BRANCH]")
@click.option(
    "--license",
    required=True,
    metavar="NAME",
    help="License for users of the model, by the hub's identifier: cc-by-4.0, mit, other, ...",
)
@click.option("--private", is_flag=True, help="If the repository is new, make it private.")
def command(model: Path, reference: str, license: str, private: bool) -> None:
    """Upload a model and its card to the Hugging Face hub.

    The repository gets two files: the model, and the card as README.md. Log in with `hf auth login`, or set
    HF_TOKEN. Every command that takes a model takes hf:OWNER/NAME[@REVISION], too.
    """
    from unseen.models.hub import push_model

    click.echo(push_model(model, reference, license=license, private=private or None))
