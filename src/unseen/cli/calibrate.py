"""``unseen calibrate``: remove the seen/unseen bias from the scores of any model."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from unseen._core.csv_files import write_csv
from unseen._core.files import atomic_path
from unseen.cli import options
from unseen.errors import UnseenError

if TYPE_CHECKING:
    from unseen.calibration.calibrate import Application, Calibration, CalibrationResult

FIGURES = (".png", ".svg", ".pdf", ".html")


@options.command("unseen calibrate val.npz --apply test.npz --out predictions.csv")
@click.argument("file", metavar="SCORES", type=options.FILE, required=False)
@options.file("--apply", metavar="OTHER", help="Scores to use the chosen gamma on.")
@options.out("Predictions for OTHER: FILE.csv.")
@click.option("--gamma", type=float, metavar="NUMBER", help="A known gamma, to use instead of choosing one.")
@options.name_list("--seen", help="Seen classes.")
@click.option("--label", metavar="NAME", help="Column with the true class. [default: y]")
@options.goal
@options.count("--bootstrap", help="95 % intervals from N resamplings.")
@options.file("--plot", help=".png, .svg or .pdf; .html to move gamma.")
@options.as_json
def command(
    file: Path | None,
    apply: Path | None,
    out: Path | None,
    gamma: float | None,
    seen: tuple[str, ...] | None,
    label: str | None,
    bootstrap: int | None,
    plot: Path | None,
    force: bool,
    as_json: bool,
    **goals: float | None,
) -> None:
    """Find gamma, to subtract from the scores of the seen classes.

    SCORES is an .npz with `scores` (samples x classes), `y` (true columns) and `seen` (one bool per class) or
    `seen_classes`; or a CSV or Parquet table with a column per class and the true class in column `y`. OTHER
    has the same form; true classes are optional there.

    By default gamma maximizes the harmonic mean of the accuracies on seen and on unseen samples. --min-seen,
    --min-unseen and --unseen-share choose another goal. --gamma uses a number that you know already.
    --plot and --apply use the gamma for accuracies per class.
    """
    from unseen.calibration.calibrate import apply_gamma, calibrate
    from unseen.calibration.goals import Goal
    from unseen.calibration.scores import read_scores

    goal = Goal(**goals)
    if file is None and (gamma is None or apply is None):
        raise click.UsageError("Missing argument 'SCORES'.")
    if gamma is not None and (bootstrap or plot or goal != Goal()):
        raise click.UsageError("--gamma is known already: leave out --bootstrap, --plot and other goals.")
    if out and gamma is None and apply is None:
        raise UnseenError("--out is the file of predictions for --apply OTHER. Name OTHER too.")
    files = [path for path in (file, apply) if path is not None]
    options.check_file(out, files, force)
    options.check_file(plot, files, force, FIGURES)
    read = partial(read_scores, seen=seen, label=label)
    scores = read(files[0])
    other = read(files[1], like=scores) if len(files) == 2 else None
    result = None
    if gamma is None:
        result = calibrate(scores, goal=goal, n_replicates=bootstrap)
        gamma = result.by_weights["per-class"].gamma
    else:
        other = other or scores
    applied = apply_gamma(gamma, other) if other else None
    _show(result, applied, as_json)
    if result and plot:
        _draw(result.by_weights["per-class"], plot, f"Calibration of {files[0].name}")
    if applied and out:
        _write_predictions(applied, out)
    if not applied:
        click.echo(
            "H was measured on the samples that chose gamma, so it is optimistic. For an honest estimate use "
            "--apply OTHER with other samples.",
            err=True,
        )


def _show(result: CalibrationResult | None, applied: Application | None, as_json: bool) -> None:
    from unseen.calibration import formats

    for warning in result.warnings if result else ():
        click.echo(f"warning: {warning}", err=True)
    if as_json:
        content = formats.result_json(result) if result else {}
        if applied:
            content["applied"] = formats.application_json(applied)
        click.echo(json.dumps(content, indent=2))
    else:
        tables = [formats.as_table(result)] if result else []
        if applied:
            tables.append(formats.application_table(applied))
        click.echo("\n\n".join(tables))


def _draw(found: Calibration, path: Path, title: str) -> None:
    from unseen.calibration.display import SeenUnseenDisplay
    from unseen.report.curve_page import render_curve_page

    display = SeenUnseenDisplay(found.curve, found.point)
    with atomic_path(path) as temporary:
        if path.suffix == ".html":
            temporary.write_text(render_curve_page(display, title), "utf-8")
        else:
            display.plot().figure_.savefig(temporary, dpi=150)
    click.echo(f"wrote {path}", err=True)


def _write_predictions(applied: Application, path: Path) -> None:
    """Write the predicted class of every sample."""
    scores, columns = applied.scores, applied.predicted.tolist()
    rows = [
        [sample, scores.name(column), "seen" if scores.seen[column] else "unseen"]
        for sample, column in enumerate(columns)
    ]
    write_csv(path, [["sample", "class", "kind"], *rows])
    click.echo(f"wrote {path}: the classes of {len(rows)} samples", err=True)
