"""Speed, each figure a ratio measured in one run: ``python -m benchmarks``, or one module of it.

A module here has ``run(small=False)``, which returns rows (name, value, unit, demanded); ``demanded`` is a
condition such as ``">= 50"`` or empty.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

Row = tuple[str, float, str, str]
KEPT = Path(__file__).parent / "kept.json"  # the ratios of the last complete run that was worth keeping
SLOWER = 0.15  # of a ratio that got worse by more than this, the name is printed


def met(value: float, demanded: str) -> str:
    """Say whether a value meets a condition: "yes", "NO", or nothing where nothing is demanded."""
    if not demanded:
        return ""
    sign, number = demanded.split()
    return "yes" if {"<=": value <= float(number), ">=": value >= float(number)}[sign] else "NO"


def table(rows: Iterable[Row]) -> str:
    """Return the rows as text, one line each."""
    return "\n".join(
        f"{name:<58}{value:>12.4g} {unit:<12}{demanded:<10}{met(value, demanded)}".rstrip()
        for name, value, unit, demanded in rows
    )


def ratios(module: str, rows: Iterable[Row]) -> dict[str, float]:
    """Return the rows that another machine can compare: ratios of which more, or less, is demanded."""
    return {
        f"{module}: {name}": value
        for name, value, unit, demanded in rows
        if demanded and unit in ("times", "")
    }


def got_slower(now: Mapping[str, float], kept: Mapping[str, float], demands: Mapping[str, str]) -> list[str]:
    """Return what is worse than in the kept table by more than ``SLOWER``, one line each.

    >>> got_slower({"a": 2.0, "b": 2.0}, {"a": 1.0, "b": 1.0}, {"a": "<= 3", "b": ">= 1"})
    ['a: 2, kept 1 (100 % slower)']
    """
    found = []
    for name in [name for name in now if name in kept]:
        less_is_better = demands[name].startswith("<=")
        loss = (now[name] / kept[name] if less_is_better else kept[name] / now[name]) - 1
        if loss > SLOWER:
            found.append(f"{name}: {now[name]:.3g}, kept {kept[name]:.3g} ({100 * loss:.0f} % slower)")
    return found
