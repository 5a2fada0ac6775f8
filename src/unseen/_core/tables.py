"""Tables in CSV and Parquet files: columns of numbers, and columns of text."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen._core.blocks import BLOCK, BoolArray, IndexArray
from unseen._core.csv_files import iterate_csv
from unseen._core.npz import text_array
from unseen.errors import UnseenError, import_extra, one_line

TABLES = (".csv", ".parquet")
INDEX_NAMES = ("", "Unnamed: 0", "__index_level_0__")  # what pandas calls a row index without a name
Column = NDArray[Any]  # (rows,), numbers or text


def is_table(path: Path) -> bool:
    """Return whether the path ends as the file of a table does."""
    return path.suffix.lower() in TABLES


@dataclass(frozen=True, eq=False)
class Table:
    """The columns of a file by name: numbers, or text if some cell is not a number."""

    path: Path
    columns: dict[str, Column]
    lines: IndexArray | None = None  # (rows,), of a CSV file

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def place(self, row: int, name: str) -> str:
        """Return where a cell is, for messages."""
        where = f"row {row}" if self.lines is None else f"line {self.lines[row]}"
        return f"{self.path}, {where}, column {name!r}"

    def is_empty(self, name: str) -> bool:
        """Return whether a column has no content."""
        column = self.columns[name]
        return not len(column) or bool((column == "").all() if _is_text(column) else np.isnan(column).all())

    def is_text(self, name: str) -> bool:
        """Return whether a column holds text: fewer than half of its cells are numbers."""
        column = self.columns[name]
        if not _is_text(column):
            return False
        filled = column[column != ""]
        return bool(2 * np.count_nonzero(_not_numbers(filled)) > len(filled))

    def text(self, name: str) -> NDArray[np.str_]:
        """Return a column as text; the names of classes may be whole numbers."""
        column = self.columns[name]
        if _is_text(column):
            return text_array(column.tolist(), f"{self.path}, column {name!r},")
        whole = column.dtype.kind == "f" and not np.any(column[np.isfinite(column)] % 1)
        names = [str(int(value) if whole else value) if np.isfinite(value) else "" for value in column]
        return np.array(names, dtype=str)

    def numbers(self, names: Sequence[str], advice: str = "") -> NDArray[np.floating]:
        """Return columns as one matrix, (rows, columns); the first cell that is not a number is an error.

        The advice may have ``{}`` for the name of the column.
        """
        for name in names:
            column = self.columns[name]
            if _is_text(column):
                self._reject_text(name, _not_numbers(column), advice)
        kinds = [self.columns[name].dtype for name in names]
        found = np.empty((len(self), len(names)), dtype=np.result_type(np.float32, *kinds))
        for number, name in enumerate(names):
            found[:, number] = self.columns[name]
        return found

    def _reject_text(self, name: str, wrong: BoolArray, advice: str) -> None:
        row, count = int(wrong.argmax()), np.count_nonzero(wrong)
        cell = str(self.columns[name][row])
        what = f"is {cell!r}" if cell else "is empty"
        more = f" ({count} such cells in this column)" if count > 1 else ""
        raise UnseenError(
            f"{self.place(row, name)} {what}, expected a number{more}. {advice.format(name)}".rstrip()
        )


def read_table(path: Path, text: Collection[str] = ()) -> Table:
    """Return the table in a CSV or Parquet file.

    Parameters
    ----------
    path : Path
    text : names of columns
        These stay text even if all of their cells are numbers: ``007`` is not ``7``.
    """
    if not path.is_file():
        raise UnseenError(f"There is no file {path}.")
    return _read_parquet(path) if path.suffix.lower() == ".parquet" else _read_csv(path, frozenset(text))


def _is_text(column: Column) -> bool:
    return column.dtype.kind == "O"  # as wide as its own cells, not as the longest one


def _not_numbers(cells: Column) -> BoolArray:
    return np.array([not is_number(cell) for cell in cells.tolist()], dtype=bool)


def counts_up(names: Sequence[str]) -> bool:
    """Return whether names are rising whole numbers, as those that pandas gives to columns without names."""
    numbers = [float(name) for name in names]
    return all(number.is_integer() for number in numbers) and bool(np.all(np.diff(numbers) > 0))


def is_number(text: str) -> bool:
    """Return whether a cell holds a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


# ---- CSV -------------------------------------------------------------------------------------------------


def _read_csv(path: Path, text: frozenset[str]) -> Table:
    """Read a CSV in blocks of rows, so that text exists only while it is needed."""
    rows = iterate_csv(path)
    _, header = next(rows)
    parts: list[list[Column]] = [[] for _ in header]
    lines: list[int] = []
    while block := list(islice(rows, BLOCK)):
        lines += [line for line, _ in block]
        for name, part, cells in zip(header, parts, zip(*(row for _, row in block))):
            part.append(_as_text(cells) if name in text else _as_numbers(cells))
    mixed = {
        name
        for name, part in zip(header, parts)
        if name not in text and len(part) > 1 and any(map(_is_text, part))
    }
    if mixed:  # numbers in one block and text in another: all of it is text
        return _read_csv(path, text | mixed)
    columns = {number: np.concatenate(part) for number, part in enumerate(parts)}
    named = _named(path, header, columns)
    return Table(path, {header[number]: columns[number] for number in named}, np.array(lines))


def _as_text(cells: Sequence[str]) -> Column:
    return np.array([cell.strip() for cell in cells], dtype=object)


def _as_numbers(cells: Sequence[str]) -> Column:
    """Return the cells as numbers, if all of them are."""
    try:
        return np.array(list(map(float, cells)))
    except ValueError:
        return _as_text(cells)


def _named(path: Path, header: Sequence[str], columns: dict[int, Column]) -> list[int]:
    """Return the columns to keep: each has a name of its own. Spreadsheets leave empty ones at the end."""
    kept = [n for n in columns if header[n] or not _is_text(columns[n]) or (columns[n] != "").any()]
    for number in kept:
        if not header[number] and number:
            raise UnseenError(
                f"{path}, column {number + 1} has no name. Only the first column may be without one: it is "
                "the row index."
            )
        if header.index(header[number]) < number:
            hint = " Or has the file no header?" if is_number(header[number]) else ""
            raise UnseenError(
                f"{path} has two columns {header[number]!r}. Give every column its own name.{hint}"
            )
    return kept


# ---- Parquet -----------------------------------------------------------------------------------------------


def _read_parquet(path: Path) -> Table:
    parquet = import_extra("pyarrow.parquet", "pandas", "Reading Parquet")
    try:
        table = parquet.read_table(path)
        found = {name: _numbers_or_text(column) for name, column in zip(table.column_names, table.columns)}
    except MemoryError:
        raise
    except Exception as error:  # every kind of damage has its own error
        raise UnseenError(f"{path} cannot be read as Parquet ({one_line(error)}).") from error
    if not found or not table.num_rows:
        raise UnseenError(f"{path} has no rows, expected one row per sample or class.")
    return Table(path, found)


def _numbers_or_text(column: Any) -> Column:
    """Return a column of pyarrow as numbers or text; what is missing is NaN or empty."""
    values: Column = column.to_numpy()
    if values.dtype.kind in "fiub":
        return values
    cells = column.to_pylist()
    try:
        numbers = np.array([np.nan if cell is None else cell for cell in cells], dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.empty(0)
    if numbers.shape == values.shape:
        return numbers
    return np.array(["" if cell is None else str(cell).strip() for cell in cells], dtype=object)
