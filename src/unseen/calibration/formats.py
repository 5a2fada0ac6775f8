"""The result of ``calibrate`` as JSON and as a table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from unseen.calibration.bootstrap import Bootstrap
from unseen.calibration.calibrate import Application, Calibration, CalibrationResult
from unseen.metrics import Accuracies

# what stands first in the JSON object, for both averages side by side, as ``bench --json`` does
MAIN_NUMBERS = ("gamma", "H", "U", "S", "H_uncalibrated", "ausuc")

# JSON key -> title and values of the replicates
_INTERVALS: dict[str, tuple[str, Literal["h", "ausuc", "gamma"]]] = {
    "H": ("H", "h"),
    "ausuc": ("AUSUC", "ausuc"),
    "gamma": ("gamma", "gamma"),
}


def as_json(result: CalibrationResult) -> dict[str, object]:
    """Return the JSON object: the main numbers for both averages, then all numbers of each.

    An open end of an interval is null.
    """
    details = {
        weights.replace("-", "_"): _numbers(found, result.folds)
        for weights, found in result.by_weights.items()
    }
    main = {key: {weights: numbers[key] for weights, numbers in details.items()} for key in MAIN_NUMBERS}
    return {
        "samples": dict(zip(("seen", "unseen"), result.n_samples)),
        "classes": dict(zip(("seen", "unseen"), result.n_classes)),
        "absent_classes": result.absent_classes,
        "warnings": result.warnings,
        **main,
        "auroc": result.auroc,
        **details,
    }


def application_json(applied: Application) -> dict[str, object]:
    """Return the JSON object for scores that a calibration was applied to; null if y is unknown."""
    numbers: dict[str, object] = {"samples": len(applied.predicted), "gamma": applied.gamma}
    for ending, accuracies in (("", applied.calibrated), ("_uncalibrated", applied.uncalibrated)):
        for letter, name in (("H", "h"), ("U", "unseen"), ("S", "seen")):
            numbers[letter + ending] = accuracies and {
                weights.replace("-", "_"): getattr(values, name) for weights, values in accuracies.items()
            }
    return numbers


def _numbers(found: Calibration, folds: int | None) -> dict[str, object]:
    point, before, curve = found.point, found.uncalibrated, found.curve
    numbers: dict[str, object] = {
        "gamma": point.gamma,
        "interval": [end if math.isfinite(end) else None for end in point.interval],
        "H": point.h,
        "U": point.unseen,
        "S": point.seen,
        "H_uncalibrated": before.h,
        "U_uncalibrated": before.unseen,
        "S_uncalibrated": before.seen,
        "U_alone": curve.unseen_alone,
        "S_alone": curve.seen_alone,
        "ausuc": curve.ausuc,
    }
    if found.replicates:
        numbers["confidence_95"] = {
            key: list(found.replicates.interval(name)) for key, (_, name) in _INTERVALS.items()
        }
    if found.held_out:
        U, S, H = found.held_out
        numbers["held_out"] = {"folds": folds, "H": H, "U": U, "S": S}
    return numbers


def as_table(result: CalibrationResult) -> str:
    """Return the table for the terminal: one column per average."""
    columns = [_table_column(found, result.folds) for found in result.by_weights.values()]
    columns[0]["AUROC, seen against unseen"] = ""
    columns[1]["AUROC, seen against unseen"] = f"{result.auroc:.4f}"
    (seen_samples, unseen_samples), (seen_classes, unseen_classes) = result.n_samples, result.n_classes
    lines = [
        f"{seen_samples} samples of {seen_classes} seen classes, "
        f"{unseen_samples} samples of {unseen_classes} unseen classes",
        "",
        f"{'':<34}" + "".join(f"{weights.replace('-', ' '):>24}" for weights in result.by_weights),
    ]
    return "\n".join([*lines, *_table_rows(columns)])


def application_table(applied: Application) -> str:
    """Return the table for scores that a calibration was applied to, or one line if y is unknown."""
    title = f"gamma {applied.gamma:.5g} applied to {len(applied.predicted)} samples"
    if applied.calibrated is None or applied.uncalibrated is None:
        return title
    columns = [
        _changes(applied.uncalibrated[weights], applied.calibrated[weights]) for weights in applied.calibrated
    ]
    return "\n".join([title, *_table_rows(columns)])


def _table_rows(columns: Sequence[dict[str, str]]) -> list[str]:
    return [
        (f"{title:<34}" + "".join(f"{column[title]:>24}" for column in columns)).rstrip()
        for title in columns[0]
    ]


def _changes(before: Accuracies, after: Accuracies) -> dict[str, str]:
    return {
        "accuracy on unseen, A_U->C": f"{before.unseen:.1f} -> {after.unseen:.1f} %",
        "accuracy on seen, A_S->C": f"{before.seen:.1f} -> {after.seen:.1f} %",
        "harmonic mean, H": f"{before.h:.1f} -> {after.h:.1f} %",
    }


def _table_column(found: Calibration, folds: int | None) -> dict[str, str]:
    """Return the entries of the table for one average, by title: before -> after calibration."""
    point, curve = found.point, found.curve
    column = {
        "gamma": f"{point.gamma:.5g}",
        "  same result between": f"{point.interval[0]:.5g} and {point.interval[1]:.5g}",
        **_changes(found.uncalibrated, Accuracies(point.unseen, point.seen, point.h)),
    }
    if found.held_out:
        column[f"  H on held-out samples, {folds} folds"] = f"{found.held_out.h:.1f} %"
    column |= {
        "area under the curve, AUSUC": f"{curve.ausuc:.4f}",
        "unseen among unseen, A_U->Cu": f"{curve.unseen_alone:.1f} %",
        "seen among seen, A_S->Cs": f"{curve.seen_alone:.1f} %",
    }
    return column | (_interval_lines(found.replicates) if found.replicates else {})


def _interval_lines(replicates: Bootstrap) -> dict[str, str]:
    lines = {}
    for title, name in _INTERVALS.values():
        low, high = replicates.interval(name)
        lines[f"95 % interval of {title}"] = f"{low:.4g} to {high:.4g}"
    return lines
