"""Write the kept table of the benchmarks into docs/performance.md: ``python docs/scripts/performance.py``."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from unseen._core.files import atomic_path

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks import Row, Table, read_kept

PAGE = Path(__file__).parents[1] / "performance.md"
_PLACE = re.compile(r"(<!-- (\w+): begin -->\n).*?(<!-- \2: end -->)", re.DOTALL)


def module_table(rows: list[Row]) -> str:
    """Return the rows of a module in Markdown; rows such as ``CUB: a`` and ``AwA2: a`` become one line.

    >>> print(module_table([("CUB: a", 2.0, "times", ">= 1"), ("AwA2: a", 3.0, "times", ">= 1")]))
    | | CUB | AwA2 | demanded |
    |---|---:|---:|---:|
    | a | 2 times | 3 times | ≥ 1 |
    """
    groups = list(dict.fromkeys(_split(name)[0] for name, _, _, _ in rows))
    lines: dict[str, dict[str, Row]] = {}
    for row in rows:
        group, what = _split(row[0])
        lines.setdefault(what, {})[group] = row
    header = f"| | {' | '.join(groups)} | demanded |\n|---|{'---:|' * (len(groups) + 1)}"
    return "\n".join([header, *(_line(what, groups, found) for what, found in lines.items())])


def _split(name: str) -> tuple[str, str]:
    """Return the group of a row and what it says.

    >>> _split("CUB: ale, epoch of ten / one"), _split("report")
    (('CUB', 'ale, epoch of ten / one'), ('measured', 'report'))
    """
    group, colon, what = name.partition(": ")
    return (group, what) if colon else ("measured", name)


def _line(what: str, groups: list[str], found: dict[str, Row]) -> str:
    cells = [_cell(found[group]) if group in found else "" for group in groups]
    demands = dict.fromkeys(row[3] for row in found.values())
    demanded = ", ".join(demands).replace(">=", "≥").replace("<=", "≤")
    return f"| {what} | {' | '.join(cells)} | {demanded} |"


def _cell(row: Row) -> str:
    _, value, unit, _ = row
    shown = f"{value:.0f}" if abs(value) >= 100 else f"{value:.2g}"
    return shown if unit == "ratio" else f"{shown} {unit}".strip()


def fill(page: str, kept: Table) -> str:
    """Return the page with the table of each module between its two marks."""

    def place(found: re.Match[str]) -> str:
        begin, module, end = found.groups()
        return f"{begin}\n{module_table(kept[module])}\n\n{end}" if module in kept else found[0]

    return _PLACE.sub(place, page)


def main() -> None:
    """Fill in the page."""
    text = fill(PAGE.read_text("utf-8"), read_kept())
    with atomic_path(PAGE) as temporary:
        temporary.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
