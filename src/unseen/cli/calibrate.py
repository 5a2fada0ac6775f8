"""``unseen calibrate``: remove the seen/unseen bias from the scores of any model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from unseen._core.csv_files import write_csv
from unseen._core.files import atomic_path, check_output, write_npz
from unseen.cli import options
from unseen.errors import UnseenError

if TYPE_CHECKING:
    from unseen.calibration.calibrate import Application, Calibration
    from unseen.metrics import Averaging

FIGURES = (".png", ".svg", ".pdf", ".html")
PREDICTIONS = (".csv", ".npz")


@click.command(epilog="Example: unseen calibrate val.npz --apply test.npz --out predictions.csv")
@click.argument("file", metavar="SCORES", type=options.FILE, required=False)
@click.option("--apply", type=options.FILE, metavar="OTHER", help="Scores to use the chosen gamma on.")
@options.out("Predictions for OTHER: FILE.csv or FILE.npz.")
@click.option("--gamma", type=float, metavar="NUMBER", help="A known gamma, to use instead of choosing one.")
@click.option("--seen", help="Seen classes, comma-separated, or @FILE with one per line.")
@click.option("--label-column", metavar="NAME", help="Column with the true class. [default: y]")
@click.option(
    "--weights",
    type=click.Choice(["per-class", "per-sample"]),
    default="per-class",
    show_default=True,
    help="Average whose gamma --plot and --apply use.",
)
@options.min_seen
@options.min_unseen
@options.unseen_share
@click.option(
    "--folds", type=click.IntRange(2), metavar="K", help="Measure H on held-out samples, in K folds."
)
@click.option("--bootstrap", type=click.IntRange(1), metavar="N", help="95 % intervals from N resamplings.")
@click.option("--plot", type=options.FILE, metavar="FILE", help=".png, .svg or .pdf; .html to move gamma.")
@options.force
@options.as_json
def command(
    file: Path | None,
    apply: Path | None,
    out: Path | None,
    gamma: float | None,
    seen: str | None,
    label_column: str | None,
    weights: Averaging,
    min_seen: float | None,
    min_unseen: float | None,
    unseen_share: float | None,
    folds: int | None,
    bootstrap: int | None,
    plot: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Find the number gamma to subtract from the scores of the seen classes.

    SCORES is an .npz with `scores` (samples x classes), `y` (true columns) and `seen` (one bool per class) or
    `seen_classes`; or a CSV or Parquet table with a column per class and the true class in column `y`. OTHER
    has the same form; true classes are optional there.

    By default gamma maximizes the harmonic mean of the accuracies on seen and on unseen samples. --min-seen,
    --min-unseen and --unseen-share choose another goal. --gamma uses a number that you know already.
    """
    from unseen.calibration import formats
    from unseen.calibration.calibrate import apply_gamma, calibrate
    from unseen.calibration.goals import Goal
    from unseen.calibration.scores import read_more_scores, read_scores

    goal, seen_names = Goal(min_seen, min_unseen, unseen_share), _seen_names(seen)
    if gamma is not None:
        chosen: dict[str, object] = {"--folds": folds, "--bootstrap": bootstrap, "--plot": plot}
        chosen["a goal"] = None if goal == Goal() else goal
        _use_gamma(gamma, file, apply, out, seen_names, label_column, chosen, force, as_json)
        return
    if file is None:
        raise click.UsageError("Missing argument 'SCORES'.")
    if out and not apply:
        raise UnseenError("--out is the file of predictions for --apply OTHER. Name OTHER too.")
    _check_target("--plot", plot, FIGURES, (file, apply), force)
    _check_target("--out", out, PREDICTIONS, (file, apply), force)
    scores = read_scores(file, seen_names, label_column=label_column)
    other = read_more_scores(apply, scores, seen_names, label_column=label_column) if apply else None
    result = calibrate(scores, goal=goal, n_replicates=bootstrap, folds=folds)
    applied = apply_gamma(result.by_weights[weights].gamma, other) if other else None
    for warning in result.warnings:
        click.echo(f"warning: {warning}", err=True)
    if as_json:
        content = formats.as_json(result)
        if applied:
            content["applied"] = formats.application_json(applied)
        click.echo(json.dumps(content, indent=2))
    else:
        click.echo(formats.as_table(result))
        if applied:
            click.echo("\n" + formats.application_table(applied))
    if plot:
        _draw(result.by_weights[weights], plot, file.name)
    if applied and out:
        _write_predictions(applied, out)
    if not (apply or folds):
        click.echo(
            "H was measured on the samples that chose gamma, so it is optimistic. For an honest estimate use "
            "--folds 5, or --apply OTHER with other samples.",
            err=True,
        )


def _use_gamma(
    gamma: float,
    file: Path | None,
    other: Path | None,
    out: Path | None,
    seen: list[str] | None,
    label_column: str | None,
    chosen: Mapping[str, object],
    force: bool,
    as_json: bool,
) -> None:
    """Apply a known gamma to OTHER, or else to SCORES, and print what it gains."""
    from unseen.calibration import formats
    from unseen.calibration.calibrate import apply_gamma
    from unseen.calibration.scores import read_more_scores

    for name, value in chosen.items():
        if value is not None:
            raise click.UsageError(f"--gamma and {name} are mutually exclusive: gamma is known already.")
    target = other or file
    if target is None:
        raise click.UsageError("--gamma needs scores to use it on: SCORES, or --apply OTHER.")
    _check_target("--out", out, PREDICTIONS, (file, other), force)
    like = read_more_scores(file, None, seen, label_column=label_column) if file and other else None
    applied = apply_gamma(gamma, read_more_scores(target, like, seen, label_column=label_column))
    if as_json:
        click.echo(json.dumps({"applied": formats.application_json(applied)}, indent=2))
    else:
        click.echo(formats.application_table(applied))
    if out:
        _write_predictions(applied, out)


def _check_target(
    option: str, path: Path | None, endings: tuple[str, ...], inputs: tuple[Path | None, ...], force: bool
) -> None:
    """Reject a file that cannot or must not be written, before any work is done."""
    if path is None:
        return
    if path.suffix.lower() not in endings:
        raise UnseenError(f"{option} {path} has the ending {path.suffix!r}, expected {', '.join(endings)}.")
    if not path.parent.is_dir():
        raise UnseenError(f"{option} {path}: there is no folder {path.parent}. Make it first.")
    check_output(path, inputs=inputs, force=force)


def _seen_names(seen: str | None) -> list[str] | None:
    """Return the names in ``a,b,c`` or, one per line, in the file of ``@FILE``."""
    if seen is None:
        return None
    if not seen.startswith("@"):
        return [name.strip() for name in seen.split(",")]
    try:
        lines = Path(seen[1:]).read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UnseenError(f"--seen {seen} cannot be read ({error}).") from error
    return [line.strip() for line in lines if line.strip()]


def _draw(found: Calibration, path: Path, title: str) -> None:
    from unseen.calibration.display import SeenUnseenDisplay
    from unseen.report.curve_page import render_curve_page

    display = SeenUnseenDisplay(found.curve, found.point)
    with atomic_path(path) as temporary:
        if path.suffix.lower() == ".html":
            temporary.write_text(render_curve_page(display, f"Calibration of {title}"), "utf-8")
        else:
            display.plot().figure_.savefig(temporary, dpi=150)
    click.echo(f"wrote {path}", err=True)


def _write_predictions(applied: Application, path: Path) -> None:
    """Write the predicted class of every sample."""
    import numpy as np

    scores, predicted = applied.scores, applied.predicted
    if path.suffix.lower() == ".npz":
        names = {} if scores.class_names is None else {"class_names": np.array(scores.class_names)}
        write_npz(path, predicted=predicted, gamma=np.float64(applied.gamma), **names)
    else:
        kinds = np.where(scores.seen, "seen", "unseen")[predicted].tolist()
        classes = [scores.name(column) for column in predicted.tolist()]
        write_csv(path, [["sample", "class", "kind"], *zip(range(len(classes)), classes, kinds)])
    click.echo(f"wrote {path}: the classes of {len(predicted)} samples", err=True)
