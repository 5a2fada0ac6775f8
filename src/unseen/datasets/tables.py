"""Small CSV tables: class descriptions, labels, sample assignments."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from unseen.base import FloatArray
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


def read_prototypes(path: Path) -> tuple[tuple[str, ...], tuple[str, ...], FloatArray]:
    """Return (class names, attribute names, prototypes) of a CSV with the class name in the first column."""
    if not path.exists():
        raise UnseenError(f"{path} is missing, expected one line per class: its name, then its attributes.")
    header, rows = read_csv(path)
    S = np.empty((len(rows), len(header) - 1))
    for number, row in enumerate(rows):
        for column, text in enumerate(row[1:]):
            try:
                S[number, column] = float(text)
            except ValueError:
                place = f"{path}, line {number + 2}, column {header[column + 1]!r}"
                raise UnseenError(f"{place} is {text!r}, expected a number.") from None
    return tuple(row[0].strip() for row in rows), tuple(header[1:]), S
