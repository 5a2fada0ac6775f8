"""Small CSV tables: class descriptions, labels, sample assignments."""

from __future__ import annotations

import csv
from pathlib import Path

from unseen.errors import UnseenError


def read_csv(path: Path) -> tuple[list[str], list[list[str]]]:
    """Return (header, rows) of a CSV file; every row is as long as the header."""
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            lines = [row for row in csv.reader(file) if row]
    except (UnicodeDecodeError, csv.Error) as error:
        raise UnseenError(f"{path} is not a CSV file ({error}).") from error
    if len(lines) < 2:
        raise UnseenError(f"{path} has no rows, expected a header and one line per row.")
    header, *rows = lines
    for number, row in enumerate(rows, start=2):
        if len(row) != len(header):
            raise UnseenError(
                f"{path}, line {number} has {len(row)} columns, expected {len(header)} as in the header."
            )
    return [name.strip() for name in header], rows
