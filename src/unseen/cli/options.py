"""The options that several commands share, each defined once: the same name means the same everywhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from unseen._core.files import atomic_path, check_output, is_page
from unseen.errors import UnseenError, expect

if TYPE_CHECKING:
    from unseen._core.prototypes import Prototypes

Option = Callable[[Any], Any]  # a decorator that adds an option to a command
Inputs = Iterable[str | Path | None]  # what a command reads and must not overwrite
FILE = click.Path(path_type=Path)
DEFAULT_DATA = "letters"
SCALING_NAMES = ("l2", "sqrt", "standard", "none")


def command(*example: str) -> Callable[[Callable[..., None]], click.Command]:
    """Return the decorator of a command, whose help ends with lines to copy: they are not wrapped."""
    return click.command(epilog="\n".join(["\b", "Example:", *(f"  {line}" for line in example)]))


def together(*chosen: Option) -> Option:
    """Return options that belong together as one decorator; the help lists them in this order."""

    def add(command: Any) -> Any:
        for option in reversed(chosen):
            command = option(command)
        return command

    return add


def split_names(text: str) -> tuple[str, ...]:
    """Return the names in ``A,B,...``; spaces around them do not count."""
    names = tuple(part.strip() for part in text.split(","))
    if not all(names):
        raise click.BadParameter(f"{text!r} has an empty name, expected names separated by commas.")
    return names


def split_scalings(text: str) -> tuple[str, ...]:
    """Return the scalings in ``A,B,...``."""
    return tuple(click.Choice(SCALING_NAMES).convert(name, None, None) for name in split_names(text))


# what an option takes: several names, a file to read or write, a number above 0, percent
name_list = partial(click.option, type=split_names, metavar="A,B,...")
file = partial(click.option, type=FILE, metavar="FILE")
count = partial(click.option, type=click.IntRange(1), metavar="N")
percent = partial(click.option, type=float, metavar="PERCENT")


# ---- data ---------------------------------------------------------------------------------------------

features = click.option(
    "--features", default="res101", metavar="NAME", help="Feature file of an xlsa17 folder."
)
split_dir = file("--split-dir", metavar="FOLDER", help="Another folder with att_splits.mat and class lists.")
split_rule = click.option(
    "--split-rule",
    type=click.Choice(["official", "paper"]),
    default="official",
    help="Origin of the seen test set.",
)


def _confidence(ctx: click.Context, parameter: click.Parameter, given: float | None) -> float:
    """Return the confidence of predictions from a taxonomy; raise if it is given without one."""
    from unseen._core.taxonomy import CONFIDENCE

    if given is None:
        return CONFIDENCE
    if ctx.params["taxonomy"] is None:
        raise UnseenError("--confidence is for predictions of groups. Add --taxonomy FILE.csv.")
    return given


taxonomy = together(
    file(
        "--taxonomy",
        is_eager=True,  # known when --confidence is checked
        metavar="FILE.csv",
        help="Groups of classes: class, genus, ... or child, parent.",
    ),
    click.option(
        "--confidence",
        type=float,
        callback=_confidence,
        metavar="P",
        help="With --taxonomy: predict the finest group that is at least this probable. [default: 0.8]",
    ),
)
label = click.option(
    "--label", metavar="COLUMN", help="Class column of a table. [default: the only text column]"
)
columns = together(label, name_list("--ignore", help="Columns of a table to leave out."))
unseen_classes = name_list(
    "--unseen", "unseen_classes", help="Classes to hold out, besides those without samples."
)


def prototypes(
    help: str = "Class descriptions: attributes, or words. Several files are combined.",
    *,
    required: bool = False,
) -> Option:
    """Return the options ``--prototypes FILE.csv``, which may be given several times, and ``--encoder``."""
    files = file("--prototypes", multiple=True, metavar="FILE.csv", required=required, help=help)
    return together(files, text_encoder())


# ---- encoders -----------------------------------------------------------------------------------------

text_encoder = partial(
    click.option,
    "--encoder",
    "text_encoder",
    metavar="REF",
    help="Text encoder for descriptions in words: ONNX file, folder, or hf:owner/name.",
)
variant = click.option(
    "--variant", metavar="NAME", help="Variant of the ONNX file, such as quantized or fp16."
)
template = click.option(
    "--template",
    "templates",
    multiple=True,
    default=["a photo of a {}."],
    metavar="TEXT",
    help="Sentence with {} for the class name, or a text file of them. Several are averaged.",
)


def read_descriptions(
    files: Sequence[str | Path], text_encoder: str | None, variant: str | None = None, quiet: bool = True
) -> Prototypes:
    """Return the class descriptions in the files of ``--prototypes``."""
    from unseen.datasets.prototypes import read_sources

    if not text_encoder:
        return read_sources(files, None)

    from unseen.encoders.text import TextEncoder

    return read_sources(files, TextEncoder(text_encoder, variant=variant, quiet=quiet))


def backbone(help: str, *, required: bool = False) -> Option:
    """Return the options ``--backbone REF`` and ``--variant NAME``."""
    return together(click.option("--backbone", metavar="REF", required=required, help=help), variant)


# ---- methods ------------------------------------------------------------------------------------------


normalize = click.option(
    "--normalize",
    type=click.Choice(["auto", *SCALING_NAMES]),
    default="auto",
    help="Scaling: samples to unit length (sqrt: after square roots), features to variance 1, none, or what "
    "the folds agree on.",
)
normalize_list = name_list(
    "--normalize",
    type=split_scalings,
    help="Scalings to compare, of l2, sqrt, standard and none. [default: that of each method]",
)
goal = together(
    percent("--min-seen", help="Best unseen accuracy with at least this seen accuracy."),
    percent("--min-unseen", help="Best seen accuracy with at least this unseen accuracy."),
    percent("--unseen-share", help="Best accuracy if this share of samples is unseen."),
)


# ---- output -------------------------------------------------------------------------------------------

as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
quiet = click.option("--quiet", is_flag=True, help="Show no progress.")
force = click.option("--force", is_flag=True, help="Replace a file that exists.")


def out(help: str, *, required: bool = False) -> Option:
    """Return the options ``--out FILE`` and ``--force``."""
    return together(file("--out", required=required, help=help), force)


def check_file(out: Path | None, inputs: Inputs, force: bool, endings: Sequence[str] = (".csv",)) -> None:
    """Reject an output with another ending, or that would overwrite something; None is no output."""
    if out is not None:
        if out.suffix not in endings:
            raise UnseenError(f"Cannot write {str(out)!r}: expected a file ending in {' or '.join(endings)}.")
        check_output(out, inputs=inputs, force=force)


def check_page(html: Path | None, inputs: Inputs, force: bool, out: Path | None = None) -> None:
    """Reject an ``--html`` that would overwrite something else than a page, or what goes to ``--out``."""
    if html is not None:
        expect("--html", str(html), not out or html.resolve() != out.resolve(), "another file than --out")
        check_output(html, inputs=inputs, force=force, may_replace=is_page)


@contextmanager
def open_csv(out: Path | None) -> Iterator[TextIO]:
    """Yield standard output, or a file that gets its name once it is complete."""
    if out is None:
        yield sys.stdout
        return
    with atomic_path(out) as path, open(path, "w", newline="", encoding="utf-8") as file:
        yield file
