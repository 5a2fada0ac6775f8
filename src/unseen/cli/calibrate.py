"""``unseen calibrate``: anybody's scores in, the seen/unseen bias out."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from unseen._core.files import atomic_path, check_writable, write_npz
from unseen.errors import UnseenError

if TYPE_CHECKING:
    from unseen.calibration.bootstrap import Bootstrap
    from unseen.calibration.curve import Goal, OperatingPoint, ScoreMaxima, SeenUnseenCurve
    from unseen.calibration.scores import Scores

WEIGHTS = ("per-class", "per-sample")
PICTURES = (".png", ".svg", ".pdf", ".html")


class Result(NamedTuple):
    """What calibration finds with one way of weighing."""

    curve: SeenUnseenCurve
    point: OperatingPoint
    replicates: Bootstrap | None


@click.command(
    epilog="Example: unseen calibrate scores.npz --min-seen 80 --plot curve.html --apply calibrated.npz"
)
@click.argument("file", metavar="SCORES", type=click.Path(path_type=Path))
@click.option(
    "--seen", help="Seen classes, comma-separated, or @FILE with one per line. [default: as SCORES says]"
)
@click.option(
    "--weights",
    type=click.Choice(list(WEIGHTS)),
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
@click.option(
    "--plot", type=click.Path(path_type=Path), help="FILE.png, .svg or .pdf, or .html to move gamma."
)
@click.option(
    "--apply", type=click.Path(path_type=Path), metavar="OUT.npz", help="Write calibrated predictions."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")
def command(
    file: Path,
    seen: str | None,
    weights: str,
    min_seen: float | None,
    min_unseen: float | None,
    unseen_share: float | None,
    bootstrap: int | None,
    plot: Path | None,
    apply: Path | None,
    as_json: bool,
) -> None:
    """Find how much to take off the scores of seen classes.

    SCORES is an .npz with `scores` (samples x classes), `y` (true columns) and `seen` (one bool per class) or
    `seen_classes`; or a CSV or Parquet table with a column per class and the true class in column `y`.

    The best harmonic mean of both accuracies is sought, unless --min-seen, --min-unseen or --unseen-share
    says what matters more.
    """
    from unseen.calibration.curve import Goal, ScoreMaxima
    from unseen.calibration.scores import read_scores

    goal = Goal(min_seen, min_unseen, unseen_share)
    _check_target("--plot", plot, PICTURES)
    _check_target("--apply", apply, (".npz",))
    given = read_scores(file, _seen_names(seen))
    maxima = ScoreMaxima.from_scores(given.scores, given.seen)
    results = {word: _calibrate(maxima, given, word, goal, bootstrap) for word in WEIGHTS}
    _say_absent(given)
    click.echo(json.dumps(_summary(given, results), indent=2) if as_json else _table(given, results))
    chosen = results[weights]
    if plot:
        _draw(chosen, plot, file.name)
    if apply:
        _write_predictions(maxima, chosen.point.gamma, given, apply)


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


MAIN_NUMBERS = ("gamma", "H", "U", "S", "H_uncalibrated", "ausuc")


def _calibrate(
    maxima: ScoreMaxima, given: Scores, weights: str, goal: Goal, n_replicates: int | None
) -> Result:
    from unseen.calibration.bootstrap import bootstrap
    from unseen.calibration.curve import SeenUnseenCurve

    curve = SeenUnseenCurve.from_maxima(maxima, given.y, given.seen, weights)
    point = curve.best(**vars(goal))
    if n_replicates is None:
        return Result(curve, point, None)
    replicates = bootstrap(maxima, given.y, given.seen, weights=weights, goal=goal, n_replicates=n_replicates)
    return Result(curve, point, replicates)


def _absent(given: Scores) -> list[str]:
    present = set(given.y.tolist())
    return [given.name(c) for c in range(len(given.seen)) if c not in present]


def _say_absent(given: Scores) -> None:
    names = _absent(given)
    if names:
        shown = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
        count = f"{len(names)} of {len(given.seen)} classes"
        click.echo(f"{count} have no sample and are left out of the means: {shown}", err=True)


def _counts(given: Scores) -> dict[str, Any]:
    unseen_samples = int((~given.seen[given.y]).sum())
    return {
        "samples": {"seen": len(given.y) - unseen_samples, "unseen": unseen_samples},
        "classes": {"seen": int(given.seen.sum()), "unseen": int((~given.seen).sum())},
        "absent_classes": _absent(given),
    }


def _summary(given: Scores, results: dict[str, Result]) -> dict[str, Any]:
    """Return the JSON object: the main numbers for both weightings as in ``bench``, then all of each.

    An open end of an interval is null.
    """
    details = {word.replace("-", "_"): _numbers(result) for word, result in results.items()}
    main = {key: {word: numbers[key] for word, numbers in details.items()} for key in MAIN_NUMBERS}
    return _counts(given) | main | details


def _numbers(result: Result) -> dict[str, Any]:
    curve, point, replicates = result
    U, S, H = curve.at(0.0)
    numbers: dict[str, Any] = {
        "gamma": point.gamma,
        "interval": [end if math.isfinite(end) else None for end in point.interval],
        "H": point.h,
        "U": point.unseen,
        "S": point.seen,
        "H_uncalibrated": H,
        "U_uncalibrated": U,
        "S_uncalibrated": S,
        "U_alone": curve.unseen_alone,
        "S_alone": curve.seen_alone,
        "ausuc": curve.ausuc,
    }
    if replicates:
        names = {"H": "h", "ausuc": "ausuc", "gamma": "gamma"}
        numbers["confidence_95"] = {key: list(replicates.interval(name)) for key, name in names.items()}
    return numbers


def _table(given: Scores, results: dict[str, Result]) -> str:
    counts = _counts(given)
    columns = [_column(result) for result in results.values()]
    samples, classes = counts["samples"], counts["classes"]
    lines = [
        f"{samples['seen']} samples of {classes['seen']} seen classes, "
        f"{samples['unseen']} samples of {classes['unseen']} unseen classes",
        "",
        f"{'':<34}" + "".join(f"{word.replace('-', ' '):>24}" for word in results),
    ]
    lines += [f"{name:<34}" + "".join(f"{column[name]:>24}" for column in columns) for name in columns[0]]
    return "\n".join(lines)


def _column(result: Result) -> dict[str, str]:
    """Return the lines of the table for one way of weighing: before -> after."""
    curve, point, replicates = result
    U, S, H = curve.at(0.0)
    column = {
        "gamma": f"{point.gamma:.5g}",
        "  same result between": f"{point.interval[0]:.5g} and {point.interval[1]:.5g}",
        "accuracy on unseen, A_U->C": f"{U:.1f} -> {point.unseen:.1f} %",
        "accuracy on seen, A_S->C": f"{S:.1f} -> {point.seen:.1f} %",
        "harmonic mean, H": f"{H:.1f} -> {point.h:.1f} %",
        "area under the curve, AUSUC": f"{curve.ausuc:.4f}",
        "unseen among unseen, A_U->Cu": f"{curve.unseen_alone:.1f} %",
        "seen among seen, A_S->Cs": f"{curve.seen_alone:.1f} %",
    }
    if replicates:
        for title, name in (("H", "h"), ("AUSUC", "ausuc"), ("gamma", "gamma")):
            low, high = replicates.interval(name)
            column[f"95 % interval of {title}"] = f"{low:.4g} to {high:.4g}"
    return column


def _draw(result: Result, path: Path, title: str) -> None:
    from unseen.calibration.display import SeenUnseenDisplay
    from unseen.report.curve_page import render_curve_page

    display = SeenUnseenDisplay(result.curve, result.point)
    with atomic_path(path) as temporary:
        if path.suffix.lower() == ".html":
            temporary.write_text(render_curve_page(display, f"Calibration of {title}"), "utf-8")
        else:
            display.plot().figure_.savefig(temporary, dpi=150)
    click.echo(f"wrote {path}", err=True)


def _write_predictions(maxima: ScoreMaxima, gamma: float, given: Scores, path: Path) -> None:
    import numpy as np

    content: dict[str, Any] = {"predicted": maxima.predict(gamma), "gamma": np.float64(gamma)}
    if given.class_names is not None:
        content["class_names"] = np.array(given.class_names)
    write_npz(path, **content)
    click.echo(f"wrote {path}: the predicted column of {len(maxima)} samples", err=True)
