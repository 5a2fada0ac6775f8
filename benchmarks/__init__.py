"""Speed, each figure a ratio measured in one run: ``python -m benchmarks``, or one module of it.

A module here has ``run(small=False)``, which returns rows (name, value, unit, demanded); ``demanded`` is a
condition such as ``">= 50"`` or empty.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

Row = tuple[str, float, str, str]
Table = dict[str, list[Row]]  # the rows of each module
KEPT = Path(__file__).parent / "kept.json"  # the last complete run that was worth keeping, without times
SLOWER = 0.15  # of a row that got worse by more than this, the name is printed
SECONDS = ("s", "cpu s", "min", "images/s")  # units that say more about the machine than about the code


def run_module(name: str, small: bool) -> tuple[str, list[Row]]:
    """Return the title of a module and its rows."""
    module = importlib.import_module(f"benchmarks.{name}")
    return (module.__doc__ or name).splitlines()[0], module.run(small=small)


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


def without_times(table: Table) -> Table:
    """Return the rows that another machine can compare."""
    return {module: [row for row in rows if row[2] not in SECONDS] for module, rows in table.items()}


def read_kept() -> Table:
    """Return the kept table."""
    kept: dict[str, list[list[Any]]] = json.loads(KEPT.read_text("utf-8"))
    return {module: [(row[0], row[1], row[2], row[3]) for row in rows] for module, rows in kept.items()}


def keep(table: Table) -> None:
    """Write the kept table, values with four digits; a module that was not run stays as it was."""
    kept = read_kept() if KEPT.exists() else {}
    rounded = {
        module: [(name, float(f"{value:.4g}"), unit, demanded) for name, value, unit, demanded in rows]
        for module, rows in without_times(table).items()
    }
    lines = [
        f' "{module}": [\n' + ",\n".join(f"  {json.dumps(row)}" for row in rows) + "\n ]"
        for module, rows in sorted((kept | rounded).items())
    ]
    KEPT.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def got_slower(now: Table, kept: Table) -> list[str]:
    """Return the rows with a demand that are worse than kept by more than ``SLOWER``, one line each.

    >>> got_slower({"m": [("a", 2.0, "times", "<= 3")]}, {"m": [("a", 1.0, "times", "<= 3")]})
    ['m: a: 2, kept 1 (100 % slower)']
    """
    before = {(module, name): value for module, rows in kept.items() for name, value, _, _ in rows}
    found = []
    for module, rows in without_times(now).items():
        for name, value, _, demanded in rows:
            old = before.get((module, name))
            if old and demanded and (loss := _loss(value, old, demanded)) > SLOWER:
                found.append(f"{module}: {name}: {value:.3g}, kept {old:.3g} ({100 * loss:.0f} % slower)")
    return found


def _loss(value: float, old: float, demanded: str) -> float:
    """Return by how much a value is worse, as a share of what it was."""
    worse, better = (value, old) if demanded.startswith("<=") else (old, value)
    return worse / better - 1 if better > 0 else 0.0
