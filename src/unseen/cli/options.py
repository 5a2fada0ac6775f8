"""The options that several commands share, each defined once: the same name means the same everywhere."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

Decorated = TypeVar("Decorated", bound=Callable[..., Any])
Option = Callable[[Decorated], Decorated]
FILE = click.Path(path_type=Path)
DEFAULT_DATA = "digits"
DEFAULT_FEATURES = "res101"


def split_names(ctx: click.Context, parameter: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    """Return the names in ``A,B,...``; spaces around them do not count."""
    if value is None:
        return None
    names = tuple(part.strip() for part in value.split(","))
    if not all(names):
        raise click.BadParameter(f"{value!r} has an empty name, expected names separated by commas.")
    return names


# ---- data ---------------------------------------------------------------------------------------------

data = click.argument("data", default=DEFAULT_DATA)
features = click.option(
    "--features",
    default=DEFAULT_FEATURES,
    show_default=True,
    metavar="NAME",
    help="Feature file of an xlsa17 folder.",
)
split_dir = click.option(
    "--split-dir", type=FILE, metavar="FOLDER", help="Another folder with att_splits.mat and class lists."
)
split_rule = click.option(
    "--split-rule",
    default="official",
    show_default=True,
    metavar="official|paper|FILE.csv",
    help="Where the seen test set and the folds come from.",
)
prototypes = click.option(
    "--prototypes",
    multiple=True,
    type=FILE,
    metavar="FILE.csv",
    help="Class descriptions: attributes, or words. Several files are combined.",
)
text_encoder = click.option(
    "--text-encoder", metavar="REF", help="ONNX file of a text encoder that embeds descriptions in words."
)
unseen_classes = click.option(
    "--unseen",
    "--unseen-classes",
    "unseen_classes",
    callback=split_names,
    metavar="A,B,...",
    help="Classes to hold out, besides those without samples.",
)

# ---- output -------------------------------------------------------------------------------------------

as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
quiet = click.option("--quiet", is_flag=True, help="Show no progress.")
force = click.option("--force", is_flag=True, help="Replace a file that exists.")


def out(help: str, *, required: bool = False) -> Option[Decorated]:
    """Return the option ``--out FILE`` with its help."""
    return click.option("--out", type=FILE, metavar="FILE", required=required, help=help)
