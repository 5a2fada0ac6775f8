"""``unseen calibrate``: remove the seen/unseen bias from the scores of any model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unseen._core.files import atomic_path, check_writable, write_npz
from unseen.cli import options
from unseen.errors import UnseenError

if TYPE_CHECKING:
    from unseen.calibration.calibrate import Calibration, CalibrationResult
    from unseen.metrics import Weights

FIGURES = (".png", ".svg", ".pdf", ".html")


@click.command(
    epilog="Example: unseen calibrate scores.npz --min-seen 80 --plot curve.html --apply calibrated.npz"
)
@click.argument("file", metavar="SCORES", type=options.FILE)
@click.option(
    "--seen", help="Seen classes, comma-separated, or @FILE with one per line. [default: as SCORES says]"
)
@click.option(
    "--weights",
    type=click.Choice(["per-class", "per-sample"]),
    default="per-class",
    show_default=True,
    help="Whose gamma --plot and --apply use.",
)
@click.option(
    "--min-seen", type=float, help="Best unseen accuracy with at least this seen accuracy (percent)."
)
@click.option(
    "--min-unseen", type=float, help="Best seen accuracy with at least this unseen accuracy (percent)."
)
@click.option(
    "--unseen-share", type=float, help="Best accuracy when this share (0 to 1) of the samples is unseen."
)
@click.option("--bootstrap", type=click.IntRange(1), metavar="N", help="95 % intervals from N resamplings.")
@click.option("--plot", type=options.FILE, help="FILE.png, .svg or .pdf, or .html to move gamma.")
@click.option("--apply", type=options.FILE, metavar="OUT.npz", help="Write calibrated predictions.")
@options.as_json
def command(
    file: Path,
    seen: str | None,
    weights: Weights,
    min_seen: float | None,
    min_unseen: float | None,
    unseen_share: float | None,
    bootstrap: int | None,
    plot: Path | None,
    apply: Path | None,
    as_json: bool,
) -> None:
    """Find the number to subtract from the scores of the seen classes.

    SCORES is an .npz with `scores` (samples x classes), `y` (true columns) and `seen` (one bool per class) or
    `seen_classes`; or a CSV or Parquet table with a column per class and the true class in column `y`.

    By default gamma maximizes the harmonic mean of both accuracies; --min-seen, --min-unseen and
    --unseen-share choose another goal.
    """
    from unseen.calibration import report
    from unseen.calibration.calibrate import calibrate
    from unseen.calibration.goals import Goal
    from unseen.calibration.scores import read_scores

    goal = Goal(min_seen, min_unseen, unseen_share)
    _check_target("--plot", plot, FIGURES)
    _check_target("--apply", apply, (".npz",))
    result = calibrate(read_scores(file, _seen_names(seen)), goal=goal, n_replicates=bootstrap)
    _say_absent(result)
    click.echo(json.dumps(report.as_json(result), indent=2) if as_json else report.as_table(result))
    if plot:
        _draw(result.by_weights[weights], plot, file.name)
    if apply:
        _write_predictions(result, result.by_weights[weights].gamma, apply)


def _check_target(option: str, path: Path | None, endings: tuple[str, ...]) -> None:
    """Refuse a file that cannot be written before any work is done."""
    if path is None:
        return
    if path.suffix.lower() not in endings:
        raise UnseenError(f"{option} {path} has the ending {path.suffix!r}, expected {', '.join(endings)}.")
    if not path.parent.is_dir():
        raise UnseenError(f"{option} {path}: there is no folder {path.parent}. Make it first.")
    check_writable(path)


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


def _say_absent(result: CalibrationResult) -> None:
    names = result.absent_classes
    if names:
        shown = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
        count = f"{len(names)} of {len(result.scores.seen)} classes"
        click.echo(f"{count} have no sample and are ignored in the averages: {shown}", err=True)


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


def _write_predictions(result: CalibrationResult, gamma: float, path: Path) -> None:
    import numpy as np

    content: dict[str, Any] = {"predicted": result.maxima.predict(gamma), "gamma": np.float64(gamma)}
    if result.scores.class_names is not None:
        content["class_names"] = np.array(result.scores.class_names)
    write_npz(path, **content)
    click.echo(f"wrote {path}: the predicted column of {len(result.maxima)} samples", err=True)
