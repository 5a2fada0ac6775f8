"""``unseen export``: a fitted model as one linear layer."""

from __future__ import annotations

from pathlib import Path

import click


@click.command(epilog="Example: unseen export birds.model --format onnx --out birds.onnx")
@click.argument("model", type=click.Path(path_type=Path))
@click.option("--format", "kind", required=True, type=click.Choice(["onnx", "npz"]))
@click.option(
    "--out", type=click.Path(path_type=Path), help="File to write. [default: MODEL with the format's ending]"
)
def command(model: Path, kind: str, out: Path | None) -> None:
    r"""Write MODEL as one linear layer, calibration included, for use without this package.

    \b
    onnx: input features (batch, width); outputs scores (batch, classes) and label (batch), the position in
          the class names, which the metadata hold as JSON under "classes".
    npz:  coef, intercept, classes, seen, normalize; scores = X @ coef.T + intercept, with rows of X scaled
          to unit length first where normalize is "l2".
    """
    from unseen.models.export import export
    from unseen.models.io import load

    fitted, target = load(model), out or model.with_suffix(f".{kind}")
    export(fitted, target, kind)
    n_classes, width = fitted.coef_.shape
    click.echo(f"wrote {target}: one layer, {width} features to {n_classes} classes", err=True)
