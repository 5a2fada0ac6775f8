"""The result of ``calibrate`` as JSON and as a table."""

from __future__ import annotations

import math
from typing import Literal

from unseen.calibration.bootstrap import Bootstrap
from unseen.calibration.calibrate import Calibration, CalibrationResult

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
    details = {weights.replace("-", "_"): _numbers(found) for weights, found in result.by_weights.items()}
    main = {key: {weights: numbers[key] for weights, numbers in details.items()} for key in MAIN_NUMBERS}
    return {
        "samples": dict(zip(("seen", "unseen"), result.n_samples)),
        "classes": dict(zip(("seen", "unseen"), result.n_classes)),
        "absent_classes": result.absent_classes,
        **main,
        **details,
    }


def _numbers(found: Calibration) -> dict[str, object]:
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
    return numbers


def as_table(result: CalibrationResult) -> str:
    """Return the table for the terminal: one column per average."""
    columns = [_column(found) for found in result.by_weights.values()]
    (seen_samples, unseen_samples), (seen_classes, unseen_classes) = result.n_samples, result.n_classes
    lines = [
        f"{seen_samples} samples of {seen_classes} seen classes, "
        f"{unseen_samples} samples of {unseen_classes} unseen classes",
        "",
        f"{'':<34}" + "".join(f"{weights.replace('-', ' '):>24}" for weights in result.by_weights),
    ]
    lines += [f"{title:<34}" + "".join(f"{column[title]:>24}" for column in columns) for title in columns[0]]
    return "\n".join(lines)


def _column(found: Calibration) -> dict[str, str]:
    """Return the entries of the table for one average, by title: before -> after calibration."""
    point, before, curve = found.point, found.uncalibrated, found.curve
    column = {
        "gamma": f"{point.gamma:.5g}",
        "  same result between": f"{point.interval[0]:.5g} and {point.interval[1]:.5g}",
        "accuracy on unseen, A_U->C": f"{before.unseen:.1f} -> {point.unseen:.1f} %",
        "accuracy on seen, A_S->C": f"{before.seen:.1f} -> {point.seen:.1f} %",
        "harmonic mean, H": f"{before.h:.1f} -> {point.h:.1f} %",
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
