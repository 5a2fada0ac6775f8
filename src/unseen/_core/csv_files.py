"""CSV files as people and spreadsheets write them: rows of text, each with its line."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TextIO

from unseen._core.files import atomic_path
from unseen.errors import UnseenError, rephrase_errors

LONGEST_LINE = 2**24  # characters, enough for a million numbers
SEPARATORS = ("\t", "|", ";", ",")  # of two that fit equally, the one that is rarer in names
DECIMAL_COMMA = re.compile(r"\s*[+-]?\d*,\d+(e[+-]?\d+)?\s*", re.IGNORECASE)


def iterate_csv(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield (line, cells) of the header, and then of every row; empty rows are skipped.

    Columns are separated by the one of comma, semicolon, tab and bar that makes most columns of the header.
    With semicolons numbers may have a decimal comma, as spreadsheets write them in many countries. Every row
    is as long as the header, and there is at least one.
    """
    if not path.is_file():
        raise UnseenError(f"There is no file {path}.")
    broken = rephrase_errors(f"{path} is not a CSV file in UTF-8", "Save it as CSV UTF-8.")
    with open(path, newline="", encoding="utf-8-sig") as file, broken:
        separator = _separator(next((line for line in _lines(file) if line.strip()), ""))
        file.seek(0)
        yield from _checked_rows(path, file, separator)


def _lines(file: TextIO) -> Iterator[str]:
    """Yield the lines of a file; one that is too long is an error before it fills the memory."""
    while line := file.readline(LONGEST_LINE + 1):
        if len(line) > LONGEST_LINE:
            raise ValueError(f"a line has more than {LONGEST_LINE} characters")
        yield line


def _checked_rows(path: Path, file: TextIO, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the header, then the rows with decimal points; a row of another length is an error."""
    reader = csv.reader(_lines(file), delimiter=separator)
    header: list[str] = []
    n_rows, following = 0, 1
    for row in reader:
        line, following = following, reader.line_num + 1  # a quoted cell may have several lines
        if not any(cell.strip() for cell in row):
            continue
        if not header:
            header = [name.strip() for name in row]
            yield line, header
            continue
        if len(row) != len(header):
            hint = f" Put values that contain {separator!r} in double quotes." if row[len(header) :] else ""
            got = f"{path}, line {line} has {len(row)} columns"
            raise UnseenError(f"{got}, expected {len(header)} as in the header.{hint}")
        n_rows += 1
        yield line, [_with_point(cell) for cell in row] if separator == ";" else row
    if not n_rows:
        raise UnseenError(f"{path} has no rows, expected a header and one line per row.")


def _separator(header: str) -> str:
    """Return the separator that makes most columns of the header.

    >>> _separator("class;red, or nearly;big"), _separator("class,red")
    (';', ',')
    """
    return max(SEPARATORS, key=lambda mark: len(next(csv.reader([header], delimiter=mark), [])))


def _with_point(cell: str) -> str:
    """Return a number with a decimal point instead of a comma; other text does not change.

    >>> _with_point("-0,25"), _with_point("1,5,2"), _with_point("red, big")
    ('-0.25', '1,5,2', 'red, big')
    """
    return cell.replace(",", ".") if DECIMAL_COMMA.fullmatch(cell) else cell


def csv_text(rows: Iterable[Iterable[object]]) -> str:
    r"""Return rows as the text of a CSV file.

    >>> csv_text([["class", "blue"], ["jay, blue", 1]])
    'class,blue\n"jay, blue",1\n'
    """
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()


def write_csv(path: Path, rows: Iterable[Iterable[object]]) -> None:
    """Write rows as a CSV file, whole or not at all."""
    with atomic_path(path) as temporary:
        temporary.write_text(csv_text(rows), encoding="utf-8", newline="\n")
