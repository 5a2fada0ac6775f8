"""Speed, each figure a ratio measured in one run: ``python -m benchmarks``, or one module of it.

A module here has ``run(small=False)``, which returns rows (name, value, unit, demanded); ``demanded`` is a
condition such as ``">= 50"`` or empty.
"""

from __future__ import annotations

from collections.abc import Iterable

Row = tuple[str, float, str, str]


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
