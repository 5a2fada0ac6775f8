"""Small CSV tables: class descriptions, labels, sample assignments."""

from __future__ import annotations

import csv
from pathlib import Path

from unseen.errors import UnseenError

LONGEST = 4096  # characters of a name: NumPy gives every name as much memory as the longest one
SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars"}  # of tables that are not CSV


def read_csv(path: Path) -> tuple[list[str], list[list[str]]]:
    """Return (header, rows) of a CSV file; every row is as long as the header, and empty ones are skipped."""
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            lines = [row for row in csv.reader(file) if any(cell.strip() for cell in row)]
    except (UnicodeDecodeError, csv.Error) as error:
        raise UnseenError(f"{path} is not a CSV file ({error}).") from error
    if len(lines) < 2:
        raise UnseenError(f"{path} has no rows, expected a header and one line per row.")
    header, *rows = lines
    _check_separator(path, header)
    for number, row in enumerate(rows, start=2):
        if len(row[0]) > LONGEST:
            raise UnseenError(
                f"{path}, line {number} begins with {len(row[0])} characters, "
                f"expected a name of at most {LONGEST}."
            )
        if len(row) != len(header):
            hint = " Put values that contain a comma in double quotes." if len(row) > len(header) else ""
            raise UnseenError(
                f"{path}, line {number} has {len(row)} columns, "
                f"expected {len(header)} as in the header.{hint}"
            )
    return [name.strip() for name in header], rows


def _check_separator(path: Path, header: list[str]) -> None:
    for letter, name in SEPARATORS.items():
        if len(header) == 1 and letter in header[0]:
            raise UnseenError(
                f"{path} is separated by {name}, expected commas: its first line is {header[0]!r}. "
                "Save it as CSV with commas between the columns and a point in numbers."
            )
