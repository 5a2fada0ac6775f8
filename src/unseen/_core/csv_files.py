"""Small CSV tables: class descriptions, labels, sample assignments."""

from __future__ import annotations

import csv
import re
from pathlib import Path

from unseen.errors import UnseenError

LONGEST = 4096  # characters of a name: NumPy gives every name as much memory as the longest one
SEPARATORS = (",", ";", "\t", "|")
DECIMAL_COMMA = re.compile(r"\s*[+-]?\d*,\d+(e[+-]?\d+)?\s*", re.IGNORECASE)


def read_csv(path: Path) -> tuple[list[str], list[list[str]]]:
    """Return (header, rows) of a CSV file; every row is as long as the header, and empty ones are skipped.

    Columns are separated by commas, or by semicolons, tabs or bars where the header has no comma. With
    semicolons numbers may have a decimal comma, as spreadsheets write them in many countries.
    """
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            separator = _separator(next((line for line in file if line.strip()), ""))
            file.seek(0)
            reader = csv.reader(file, delimiter=separator)
            lines = [row for row in reader if any(cell.strip() for cell in row)]
    except UnicodeDecodeError as error:
        raise UnseenError(f"{path} is not a CSV file in UTF-8 ({error}). Save it as CSV UTF-8.") from error
    except csv.Error as error:
        raise UnseenError(f"{path} is not a CSV file ({error}).") from error
    if len(lines) < 2:
        raise UnseenError(f"{path} has no rows, expected a header and one line per row.")
    header, *rows = lines
    _check_rows(path, header, rows, separator)
    if separator == ";":
        rows = [[_with_point(cell) for cell in row] for row in rows]
    return [name.strip() for name in header], rows


def _separator(header: str) -> str:
    """Return the first separator that makes several columns of the header; the comma if none does.

    >>> _separator("class;red, or nearly;big"), _separator("class;red;big")
    (',', ';')
    """
    several = (mark for mark in SEPARATORS if len(next(csv.reader([header], delimiter=mark), [])) > 1)
    return next(several, ",")


def _check_rows(path: Path, header: list[str], rows: list[list[str]], separator: str) -> None:
    for number, row in enumerate(rows, start=2):
        if len(row[0]) > LONGEST:
            raise UnseenError(
                f"{path}, line {number} begins with {len(row[0])} characters, "
                f"expected a name of at most {LONGEST}."
            )
        if len(row) != len(header):
            hint = f" Put values that contain {separator!r} in double quotes."
            raise UnseenError(
                f"{path}, line {number} has {len(row)} columns, "
                f"expected {len(header)} as in the header.{hint if len(row) > len(header) else ''}"
            )


def _with_point(cell: str) -> str:
    """Return a number with a decimal point instead of a comma, and any other text as it is.

    >>> _with_point("-0,25"), _with_point("1,5,2"), _with_point("red, big")
    ('-0.25', '1,5,2', 'red, big')
    """
    return cell.replace(",", ".") if DECIMAL_COMMA.fullmatch(cell) else cell
