"""``unseen export``: a fitted model as one linear layer."""

from __future__ import annotations

from pathlib import Path

import click

from unseen._core.files import check_output
from unseen.cli import options

# the ending of the default output: never that of a data set, which may have the name of the model
ENDINGS = {"onnx": ".onnx", "npz": ".layer.npz"}


@options.command("unseen export birds.model --out birds.onnx")
@click.argument("model", type=options.FILE)
@click.option(
    "--format",
    "kind",
    type=click.Choice(list(ENDINGS)),
    help="What to write, see above. [default: by the ending of --out, or onnx]",
)
@options.backbone("Image network to put in front of the classifier (onnx only).")
@click.option("--softmax", is_flag=True, help="Add the output probabilities (onnx only).")
@options.out("File to write. [default: MODEL with the ending .onnx or .layer.npz]")
def command(
    model: Path,
    kind: str | None,
    backbone: str | None,
    variant: str | None,
    softmax: bool,
    out: Path | None,
    force: bool,
) -> None:
    """Write a model as one linear layer.

    Calibration is included.

    \b
    onnx  input: features (batch, width)
          outputs: scores (batch, classes), label (batch)
          A label is a position in the class names, which the
          metadata hold as JSON under "classes".
          With --backbone the input is pixels, as the network takes
          them: one file from images to classes. The metadata say
          how an image becomes pixels: size, mean, std, resize, ...
          With --softmax there is a third output, probabilities
          (batch, classes).
    npz   coef, intercept, classes, seen, normalize, temperature
          scores = X @ coef.T + intercept; scale the rows of X to
          unit length first if normalize is "l2", or replace x by
          sign(x) sqrt(|x|) and then scale if it is "sqrt".
          Probabilities are softmax(scores / temperature).
    """  # noqa: D301 (click reads the backspace)
    from unseen.models.export import export
    from unseen.models.io import load_model
    from unseen.models.predictor import facts_of

    kind = kind or _kind_of(out)
    target = out or model.with_suffix(ENDINGS[kind])
    check_output(target, inputs=[model, backbone], force=force)
    fitted = load_model(model)
    network = None
    if backbone:
        from unseen.encoders.backbone import Backbone

        network = Backbone(backbone, variant=variant)
        network.use_card(facts_of(fitted).get("encoder"))
    export(fitted, target, kind, backbone=network, softmax=softmax)
    n_classes, width = fitted.coef_.shape
    what = f"{network.file.name} and one layer" if network else "one layer"
    click.echo(f"wrote {target}: {what}, {width} features to {n_classes} classes", err=True)


def _kind_of(out: Path | None) -> str:
    """Return the format that the ending of a file stands for; onnx without a file."""
    kind = "onnx" if out is None else out.suffix.lower().removeprefix(".")
    if kind not in ENDINGS:
        raise click.UsageError(
            f"--out is {str(out)!r}, expected a file ending in .onnx or .npz, or --format."
        )
    return kind
