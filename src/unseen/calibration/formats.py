"""The result of ``calibrate`` as JSON and as a table."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from unseen.calibration.calibrate import Application, Calibration, CalibrationResult
from unseen.calibration.curve import OperatingPoint
from unseen.metrics import Accuracies

# what stands first in the JSON object, for both averages side by side, as ``bench --json`` does
MAIN_NUMBERS = ("gamma", "H", "U", "S", "H_uncalibrated", "ausuc")
_ACCURACIES = ("H", "U", "S", "H_uncalibrated", "U_uncalibrated", "S_uncalibrated")

# the rows of a table: title -> how the numbers of one average are shown
_CHANGES = {
    "accuracy on unseen, A_U->C": "{U_uncalibrated:.1f} -> {U:.1f} %",
    "accuracy on seen, A_S->C": "{S_uncalibrated:.1f} -> {S:.1f} %",
    "harmonic mean, H": "{H_uncalibrated:.1f} -> {H:.1f} %",
}
_ROWS = {
    "gamma": "{gamma:.5g}",
    "  same result between": "{interval[0]:.5g} and {interval[1]:.5g}",
    **_CHANGES,
    "area under the curve, AUSUC": "{ausuc:.4f}",
    "unseen among unseen, A_U->Cu": "{U_alone:.1f} %",
    "seen among seen, A_S->Cs": "{S_alone:.1f} %",
}
_INTERVALS = {
    "95 % interval of H": "{confidence_95[H][0]:.4g} to {confidence_95[H][1]:.4g}",
    "95 % interval of AUSUC": "{confidence_95[ausuc][0]:.4g} to {confidence_95[ausuc][1]:.4g}",
    "95 % interval of gamma": "{confidence_95[gamma][0]:.4g} to {confidence_95[gamma][1]:.4g}",
}

Numbers = dict[str, Any]  # of one average, by JSON key


def result_json(result: CalibrationResult) -> dict[str, object]:
    """Return the JSON object: the main numbers for both averages, then all numbers of each.

    An open end of an interval is null.
    """
    details = {weights.replace("-", "_"): _numbers(found) for weights, found in result.by_weights.items()}
    for numbers in details.values():
        numbers["interval"] = [end if math.isfinite(end) else None for end in numbers["interval"]]
    return {
        "samples": dict(zip(("seen", "unseen"), result.n_samples)),
        "classes": dict(zip(("seen", "unseen"), result.n_classes)),
        "absent_classes": result.absent_classes,
        "warnings": result.warnings,
        **_side_by_side(details, MAIN_NUMBERS),
        "auroc": result.auroc,
        **details,
    }


def application_json(applied: Application) -> dict[str, object]:
    """Return the JSON object for scores that a calibration was applied to; null if y is unknown."""
    details = {weights.replace("-", "_"): _changes(*found) for weights, found in applied.changes.items()}
    return {"samples": len(applied.predicted), "gamma": applied.gamma, **_side_by_side(details, _ACCURACIES)}


def _side_by_side(details: Mapping[str, Numbers], keys: Sequence[str]) -> dict[str, object]:
    return {key: {weights: numbers[key] for weights, numbers in details.items()} or None for key in keys}


def as_table(result: CalibrationResult) -> str:
    """Return the table for the terminal: one column per average."""
    columns = [_numbers(found) for found in result.by_weights.values()]
    rows = _ROWS | _INTERVALS if "confidence_95" in columns[0] else _ROWS
    (seen_samples, unseen_samples), (seen_classes, unseen_classes) = result.n_samples, result.n_classes
    lines = [
        f"{seen_samples} samples of {seen_classes} seen classes, "
        f"{unseen_samples} samples of {unseen_classes} unseen classes",
        "",
        f"{'':<34}" + "".join(f"{weights.replace('-', ' '):>24}" for weights in result.by_weights),
        *_table_rows(rows, columns),
        f"{'AUROC, seen against unseen':<34}{result.auroc:>48.4f}",
    ]
    return "\n".join(lines)


def application_table(applied: Application) -> str:
    """Return the table for scores that a calibration was applied to, or one line if y is unknown."""
    title = f"gamma {applied.gamma:.5g} applied to {len(applied.predicted)} samples"
    columns = [_changes(*found) for found in applied.changes.values()]
    return "\n".join([title, *_table_rows(_CHANGES if columns else {}, columns)])


def _table_rows(rows: Mapping[str, str], columns: Sequence[Numbers]) -> list[str]:
    return [
        f"{title:<34}" + "".join(f"{shown.format_map(numbers):>24}" for numbers in columns)
        for title, shown in rows.items()
    ]


def _numbers(found: Calibration) -> Numbers:
    numbers = {
        "gamma": found.gamma,
        "interval": found.point.interval,
        **_changes(found.uncalibrated, found.point),
        "U_alone": found.curve.unseen_alone,
        "S_alone": found.curve.seen_alone,
        "ausuc": found.curve.ausuc,
    }
    if found.replicates is not None:
        H, ausuc, gamma = (found.replicates.interval(name) for name in ("h", "ausuc", "gamma"))
        numbers["confidence_95"] = {"H": H, "ausuc": ausuc, "gamma": gamma}
    return numbers


def _changes(before: Accuracies, after: Accuracies | OperatingPoint) -> Numbers:
    values = (after.h, after.unseen, after.seen, before.h, before.unseen, before.seen)
    return dict(zip(_ACCURACIES, values, strict=True))
