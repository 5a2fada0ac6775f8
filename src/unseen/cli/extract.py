"""``unseen extract``: images to features."""

from __future__ import annotations

from dataclasses import replace
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

BACKBONE_SAYS = "[default: as the backbone says]"


def parse_triple(text: str) -> tuple[float, float, float]:
    """Return three numbers separated by commas, one per color channel."""
    try:
        red, green, blue = map(float, text.split(","))
    except ValueError:
        raise click.BadParameter(f"{text!r}, expected three numbers separated by commas.") from None
    return red, green, blue


@click.command(epilog="Example: unseen extract photos --backbone resnet50.onnx --crops 10 --out birds.npz")
@click.argument("images", type=click.Path(path_type=Path))
@options.backbone("Image network: ONNX file, folder, or hf:owner/name.", required=True)
@options.variant
@options.out("FILE.npz, or a folder for features.npy and labels.csv.", required=True)
@click.option(
    "--crops", type=click.Choice(["1", "10"]), default="1", show_default=True, help="Crops per image."
)
@click.option("--resize", type=int, help="Side before cropping. [default: as the backbone says, else --size]")
@click.option(
    "--resize-mode",
    type=click.Choice(["squash", "shortest"]),
    help="Resize both sides, or the shorter one. [default: as the backbone says, else squash]",
)
@click.option(
    "--resample",
    type=click.Choice(["nearest", "lanczos", "bilinear", "bicubic", "box", "hamming"]),
    help="Filter for resizing. [default: as the backbone says, else bilinear]",
)
@click.option("--size", type=int, help="Side of a crop. [default: as the backbone says, else 224]")
@click.option("--layout", type=click.Choice(["NCHW", "NHWC"]), help=BACKBONE_SAYS)
@click.option("--input", help=f"Name of the backbone's input. {BACKBONE_SAYS}")
@click.option("--output", help="Name of the output to use. [default: the first with two dimensions]")
@click.option(
    "--mean",
    type=parse_triple,
    metavar="R,G,B",
    help="Mean per channel, of 0..1. [default: as the backbone says, else ImageNet's]",
)
@click.option(
    "--std",
    type=parse_triple,
    metavar="R,G,B",
    help="Standard deviation per channel. [default: as the backbone says, else ImageNet's]",
)
@click.option("--provider", default="cpu", show_default=True, help="Execution provider of ONNX Runtime.")
@click.option("--threads", type=click.IntRange(1), help="Threads. [default: one per processor]")
@click.option("--strict", is_flag=True, help="Stop at the first image that cannot be read.")
@options.quiet
@options.force
def command(
    images: Path,
    backbone: str,
    variant: str | None,
    out: Path,
    crops: str,
    resize: int | None,
    resize_mode: str | None,
    resample: str | None,
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
    force: bool,
) -> None:
    """Turn images into features with an image network.

    IMAGES is a folder of class folders, a folder of images, or a list file with one `path` or
    `path,class` per line. The backbone is an ONNX file, a folder in Hugging Face layout, or a repository of
    the hub (hf:owner/name). Its configuration says how images are resized, cropped and scaled; without one
    an image is resized to a square. Run the same command again to continue an interrupted extraction.
    """
    from unseen.encoders.backbone import Backbone
    from unseen.encoders.extraction import extract, n_stored

    _check_features_file(out, images, backbone, force)
    network = Backbone(
        backbone,
        variant=variant,
        input=input,
        output=output,
        size=size,
        layout=layout,
        provider=provider,
        threads=threads,
    )
    given = {"resize": resize, "resize_mode": resize_mode, "resample": resample, "mean": mean, "std": std}
    steps = change_steps(network.preprocessing, {**given, "crops": int(crops)})
    with stoppable(lambda: f"{n_stored(out)} images are stored; the same command continues."):
        done = extract(images, network, out, preprocessing=steps, threads=threads, strict=strict, quiet=quiet)
    click.echo(_summarize(done, steps), err=True)


def _check_features_file(out: Path, images: Path, backbone: str, force: bool) -> None:
    """Reject an output that is neither a .npz nor a folder, or that would overwrite another file."""
    if out.suffix not in ("", ".npz") and not out.is_dir():
        raise UnseenError(
            f"Cannot write features to {out}: it ends in {out.suffix!r}. Name a FILE.npz, or a folder for "
            "features.npy and labels.csv."
        )
    if out.suffix == ".npz":
        check_output(out, inputs=[images, backbone], force=force, may_replace=_is_extraction)


def _is_extraction(path: Path) -> bool:
    """Return whether a file holds features that an earlier extraction wrote."""
    from unseen._core.npz import npz_names

    try:
        return {"X", "files"} <= set(npz_names(path))
    except UnseenError:
        return False


def change_steps(steps: Preprocessing, given: dict[str, Any]) -> Preprocessing:
    """Return the preprocessing with the options that the user gave."""
    return replace(steps, **{name: value for name, value in given.items() if value is not None})


def _summarize(done: Extraction, steps: Preprocessing) -> str:
    n = len(done.class_names)
    classes = f" of {n} class{'es'[: 2 * (n != 1)]}" if n else ""
    resumed = f" ({done.n_resumed} of them from an earlier run)" if done.n_resumed else ""
    lines = [f"could not read {name}: {reason}" for name, reason in done.unreadable.items()]
    if lines:
        lines.append(f"left out {len(lines)} of {done.shape[0] + len(lines)} images (--strict stops instead)")
    lines.append(
        f"wrote {done.out}: {done.shape[0]} images{classes}{resumed}, {done.shape[1]} features each, "
        f"{steps}, {done.images_per_second:.1f} images/s"
    )
    return "\n".join(lines)
