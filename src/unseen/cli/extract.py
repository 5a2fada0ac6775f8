"""``unseen extract``: images to features."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from unseen.cli._signals import stoppable

if TYPE_CHECKING:
    from unseen.encoders.extraction import Extraction
    from unseen.encoders.preprocessing import Preprocessing


def parse_triple(text: str) -> tuple[float, float, float]:
    """Return three numbers separated by commas, one per color channel."""
    try:
        red, green, blue = map(float, text.split(","))
    except ValueError:
        raise click.BadParameter(f"{text!r}, expected three numbers separated by commas.") from None
    return red, green, blue


@click.command(epilog="Example: unseen extract photos --backbone resnet50.onnx --crops 10 --out birds.npz")
@click.argument("images", type=click.Path(path_type=Path))
@click.option(
    "--backbone", required=True, type=click.Path(path_type=Path), help="Image network, ONNX format."
)
@click.option(
    "--out",
    required=True,
    type=click.Path(path_type=Path),
    help="FILE.npz, or a folder for features.npy and labels.csv.",
)
@click.option(
    "--crops", type=click.Choice(["1", "10"]), default="1", show_default=True, help="Crops per image."
)
@click.option(
    "--resize", type=int, help="Both sides before cropping. [default: size; 256/224 of it for ten crops]"
)
@click.option("--size", type=int, help="Side of a crop. [default: as the backbone says, else 224]")
@click.option("--layout", type=click.Choice(["NCHW", "NHWC"]), help="[default: as the backbone says]")
@click.option("--input", help="Name of the backbone's input. [default: as the backbone says]")
@click.option("--output", help="Name of the output to use. [default: the first with two dimensions]")
@click.option(
    "--mean", type=parse_triple, metavar="R,G,B", help="Mean per channel, of 0..1. [default: ImageNet's]"
)
@click.option(
    "--std", type=parse_triple, metavar="R,G,B", help="Standard deviation per channel. [default: ImageNet's]"
)
@click.option("--provider", default="cpu", show_default=True, help="Execution provider of ONNX Runtime.")
@click.option("--threads", type=click.IntRange(1), help="Threads. [default: one per processor]")
@click.option("--strict", is_flag=True, help="Stop at the first image that cannot be read.")
@click.option("--quiet", is_flag=True, help="Show no progress.")
def command(
    images: Path,
    backbone: Path,
    out: Path,
    crops: str,
    resize: int | None,
    size: int | None,
    layout: str | None,
    input: str | None,
    output: str | None,
    mean: tuple[float, float, float] | None,
    std: tuple[float, float, float] | None,
    provider: str,
    threads: int | None,
    strict: bool,
    quiet: bool,
) -> None:
    """Turn images into features with an image network.

    IMAGES is a folder of class folders, a folder of images, or a list file with one `path` or
    `path,class` per line. An image is turned upright, converted to RGB, resized to a square, cropped, and
    scaled with mean and standard deviation. Run the same command again to continue an interrupted extraction.
    """
    from unseen.encoders.backbone import Backbone
    from unseen.encoders.extraction import extract, n_stored
    from unseen.encoders.preprocessing import IMAGENET_MEAN, IMAGENET_STD, Preprocessing

    network = Backbone(
        backbone,
        input=input,
        output=output,
        size=size,
        layout=layout,
        provider=provider,
        threads=threads,
    )
    steps = Preprocessing(network.size, int(crops), resize, mean or IMAGENET_MEAN, std or IMAGENET_STD)
    with stoppable(lambda: f"{n_stored(out)} images are stored; the same command continues."):
        done = extract(images, network, out, preprocessing=steps, threads=threads, strict=strict, quiet=quiet)
    click.echo(_summary(done, steps), err=True)


def _summary(done: Extraction, steps: Preprocessing) -> str:
    crops = "one crop" if steps.crops == 1 else "the mean of ten crops"
    classes = f" of {len(done.class_names)} classes" if done.class_names else ""
    resumed = f" ({done.n_resumed} of them from an earlier run)" if done.n_resumed else ""
    lines = [f"could not read {name}: {reason}" for name, reason in done.unreadable.items()]
    if lines:
        lines.append(f"left out {len(lines)} of {done.shape[0] + len(lines)} images (--strict stops instead)")
    lines.append(
        f"wrote {done.out}: {done.shape[0]} images{classes}{resumed}, {done.shape[1]} features each, "
        f"{crops} of {steps.size} x {steps.size} after resizing to {steps.sides[0]} x {steps.sides[0]}, "
        f"{done.images_per_second:.1f} images/s"
    )
    return "\n".join(lines)
