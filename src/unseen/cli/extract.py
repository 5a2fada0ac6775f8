"""``unseen extract``: images to features."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unseen._core.files import check_output
from unseen.cli import options
from unseen.cli._signals import stoppable
from unseen.errors import UnseenError

if TYPE_CHECKING:
    from unseen.encoders.extraction import Extraction
    from unseen.encoders.preprocessing import Preprocessing


def split_channels(text: str) -> tuple[float, float, float]:
    """Return the numbers in ``R,G,B``, one per color channel."""
    try:
        red, green, blue = map(float, text.split(","))
    except ValueError:
        raise click.BadParameter(f"{text!r}, expected three numbers separated by commas.") from None
    return red, green, blue


channels = partial(click.option, type=split_channels, metavar="R,G,B")


@options.command("unseen extract photos --backbone resnet50.onnx --crops 10 --out birds.npz")
@click.argument("images", type=click.Path(path_type=Path))
@options.backbone("Image network: ONNX file, folder, or hf:owner/name.", required=True)
@options.out("FILE.npz, or a folder for features.npy and labels.csv.", required=True)
@click.option("--crops", type=click.Choice([1, 10]), default=1, help="Crops per image.")
@click.option("--resize", type=int, help="Side before cropping. [default: as the backbone says, else --size]")
@click.option("--size", type=int, help="Side of a crop. [default: as the backbone says, else 224]")
@click.option("--output", help="Name of the output to use. [default: the first with two dimensions]")
@channels("--mean", help="Mean per channel, of 0..1. [default: as the backbone says, else ImageNet's]")
@channels("--std", help="Standard deviation per channel. [default: as the backbone says, else ImageNet's]")
@options.count("--threads", help="Threads. [default: one per processor]")
@options.quiet
def command(
    images: Path,
    backbone: str,
    variant: str | None,
    out: Path,
    size: int | None,
    output: str | None,
    threads: int | None,
    quiet: bool,
    force: bool,
    **changes: Any,
) -> None:
    """Turn images into features with an image network.

    IMAGES is a folder of class folders, or a folder of images. The backbone is an ONNX file, a folder in
    Hugging Face layout, or a repository of the hub (hf:owner/name). Its configuration says how images are
    resized, cropped and scaled; without one an image is resized to a square. Run the same command again to
    continue an interrupted extraction, or to add new images.
    """
    from unseen.encoders.backbone import Backbone
    from unseen.encoders.extraction import extract, is_extraction, n_stored

    if out.suffix == ".npz":
        check_output(out, inputs=[images, backbone], force=force, may_replace=is_extraction)
    elif out.suffix and not out.is_dir():
        raise UnseenError(
            f"Cannot write features to {out}: it ends in {out.suffix!r}. Name a FILE.npz, or a folder for "
            "features.npy and labels.csv."
        )
    network = Backbone(backbone, variant=variant, output=output, size=size, threads=threads)
    # crops, resize, mean and std, unless the backbone's own are to be used
    given = {name: value for name, value in changes.items() if value is not None}
    steps = replace(network.preprocessing, **given)
    with stoppable(lambda: f"{n_stored(out)} images are stored; the same command continues."):
        done = extract(images, network, out, preprocessing=steps, threads=threads, quiet=quiet)
    click.echo(_summarize(done, steps), err=True)


def _summarize(done: Extraction, steps: Preprocessing) -> str:
    n, n_classes = done.shape[0], len(done.class_names)
    classes = f" of {n_classes} class{'es' if n_classes > 1 else ''}" if n_classes else ""
    reused = f" ({done.n_reused} of them from an earlier run)" if done.n_reused else ""
    lines = [f"could not read {name}: {reason}" for name, reason in done.unreadable.items()]
    if lines:
        lines.append(f"left out {len(lines)} of {n + len(lines)} images")
    lines.append(f"wrote {done.out}: {n} images{classes}{reused}, {done.shape[1]} features each, {steps}")
    return "\n".join(lines)
