"""CSV files as people and spreadsheets write them: rows of text, each with its line."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from unseen._core.files import atomic_path
from unseen.errors import UnseenError

LONGEST_CELL = 4096  # characters at the start of a row: NumPy gives every name as much memory as the longest
LONGEST_LINE = 2**24  # characters, enough for a million numbers
SEPARATORS = (",", ";", "\t", "|")
DECIMAL_COMMA = re.compile(r"\s*[+-]?\d*,\d+(e[+-]?\d+)?\s*", re.IGNORECASE)


@dataclass(frozen=True)
class CsvFile:
    """A small CSV file in memory: its header, its rows, and the line of each row."""

    path: Path
    header: list[str]
    rows: list[list[str]]
    lines: list[int]

    def column(self, number: int) -> list[str]:
        """Return the cells of a column, without spaces around them."""
        return [row[number].strip() for row in self.rows]

    def place(self, row: int, column: int) -> str:
        """Return where a cell is, for messages."""
        return f"{self.path}, line {self.lines[row]}, column {self.header[column]!r}"


def read_csv(path: Path) -> CsvFile:
    """Return a whole CSV file, see ``iterate_csv``."""
    numbered = list(iterate_csv(path))
    (_, header), rows = numbered[0], numbered[1:]
    return CsvFile(path, header, [row for _, row in rows], [line for line, _ in rows])


def iterate_csv(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield (line, cells) of the header, and then of every row; empty rows are skipped.

    Columns are separated by commas, or by semicolons, tabs or bars if the header has no comma. With
    semicolons numbers may have a decimal comma, as spreadsheets write them in many countries. Every row is
    as long as the header, and there is at least one.
    """
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            separator = _separator(next((line for line in _lines(path, file) if line.strip()), ""))
            file.seek(0)
            yield from _checked(path, separator, csv.reader(_lines(path, file), delimiter=separator))
    except FileNotFoundError:
        raise UnseenError(f"There is no file {path}.") from None
    except UnicodeDecodeError as error:
        raise UnseenError(f"{path} is not a CSV file in UTF-8 ({error}). Save it as CSV UTF-8.") from error
    except csv.Error as error:
        raise UnseenError(f"{path} is not a CSV file ({error}).") from error


def _lines(path: Path, file: TextIO) -> Iterator[str]:
    """Yield the lines of a file; one that is too long is an error before it fills the memory."""
    while line := file.readline(LONGEST_LINE + 1):
        if len(line) > LONGEST_LINE:
            raise UnseenError(f"{path} is not a CSV file (a line has more than {LONGEST_LINE} characters).")
        yield line


def _checked(path: Path, separator: str, reader: Iterator[list[str]]) -> Iterator[tuple[int, list[str]]]:
    """Yield the header, then the rows with decimal points; a row of another length is an error."""
    header: list[str] | None = None
    n_rows = 0
    for line, row in _numbered(reader):
        if header is None:
            header = [name.strip() for name in row]
            yield line, header
            continue
        _check_row(path, line, row, header, separator)
        n_rows += 1
        yield line, [_with_point(cell) for cell in row] if separator == ";" else row
    if not n_rows:
        raise UnseenError(f"{path} has no rows, expected a header and one line per row.")


def _numbered(reader: Iterator[list[str]]) -> Iterator[tuple[int, list[str]]]:
    """Yield (line, row) for every row that is not empty; a quoted cell may have several lines."""
    start = 1
    for row in reader:
        if any(cell.strip() for cell in row):
            yield start, row
        start = getattr(reader, "line_num", start) + 1


def _separator(header: str) -> str:
    """Return the first separator that makes several columns of the header; the comma if none does.

    >>> _separator("class;red, or nearly;big"), _separator("class;red;big")
    (',', ';')
    """
    several = (mark for mark in SEPARATORS if len(next(csv.reader([header], delimiter=mark), [])) > 1)
    return next(several, ",")


def _check_row(path: Path, line: int, row: list[str], header: Sequence[str], separator: str) -> None:
    if len(row[0]) > LONGEST_CELL:
        raise UnseenError(
            f"{path}, line {line} begins with {len(row[0])} characters, expected at most {LONGEST_CELL}."
        )
    if len(row) != len(header):
        hint = f" Put values that contain {separator!r} in double quotes."
        raise UnseenError(
            f"{path}, line {line} has {len(row)} columns, "
            f"expected {len(header)} as in the header.{hint if len(row) > len(header) else ''}"
        )


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
