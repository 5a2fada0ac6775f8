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
from unseen._core.labels import shortened
from unseen._core.npz import text_array
from unseen.errors import UnseenError, import_extra, rephrase_errors

INDEX_NAMES = ("", "Unnamed: 0", "__index_level_0__")  # what pandas calls a row index without a name
Values = NDArray[Any]  # (rows,), numbers or text


def is_table(path: Path) -> bool:
    """Return whether the path ends as the file of a table does."""
    return path.suffix.lower() in (".csv", ".parquet")


@dataclass(frozen=True, eq=False)
class Table:
    """The columns of a file by name: numbers, or text if some cell is not a number."""

    path: Path
    columns: dict[str, Values]
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

    def labels(self, name: str) -> NDArray[np.str_]:
        """Return a column of classes; an empty cell is an error that names its line."""
        labels = self.text(name)
        empty = np.flatnonzero(labels == "")
        if len(empty):
            lines = empty if self.lines is None else self.lines[empty]
            more = f" (so are lines {shortened(list(map(str, lines[1:])), 8)})" if len(lines) > 1 else ""
            cell = f"{self.place(empty[0], name)} is empty{more}"
            raise UnseenError(f"{cell}: every sample needs a label. Fill it in, or delete these lines.")
        return labels

    def numbers(self, names: Sequence[str], advice: str = "") -> NDArray[np.floating]:
        """Return columns as one matrix, (rows, columns); the first cell that is not a number is an error.

        The advice may have ``{}`` for the name of the column.
        """
        for name in names:
            column = self.columns[name]
            if _is_text(column):
                row = int(_not_numbers(column).argmax())
                what = repr(column[row]) if column[row] else "empty"
                message = f"{self.place(row, name)} is {what}, expected a number. {advice.format(name)}"
                raise UnseenError(message.rstrip())
        kinds = [self.columns[name].dtype for name in names]
        found = np.empty((len(self), len(names)), dtype=np.result_type(np.float32, *kinds))
        for number, name in enumerate(names):
            found[:, number] = self.columns[name]
        return found


def read_table(path: Path, text: Collection[str] = ()) -> Table:
    """Return the table in a CSV or Parquet file.

    Parameters
    ----------
    path : Path
    text : names of columns
        These stay text even if all of their cells are numbers: ``007`` is not ``7``.
    """
    return _read_parquet(path, text) if path.suffix.lower() == ".parquet" else read_csv(path, text)


def read_csv(path: Path, text: Collection[str] | None = None) -> Table:
    """Return the table in a CSV file; by default all columns are text.

    It is read in blocks of rows, so that the text of numbers exists only while it is needed.
    """
    rows = iterate_csv(path)
    _, header = next(rows)
    parts: list[list[Values]] = [[] for _ in header]
    lines: list[int] = []
    while block := list(islice(rows, BLOCK)):
        lines += [line for line, _ in block]
        for name, part, cells in zip(header, parts, zip(*(row for _, row in block))):
            part.append(_as_text(cells) if text is None or name in text else _as_numbers(cells))
    mixed = [name for name, part in zip(header, parts) if len(set(map(_is_text, part))) > 1]
    if mixed and text is not None:  # numbers in one block and text in another: all of it is text
        return read_csv(path, [*text, *mixed])
    columns = list(map(np.concatenate, parts))
    # spreadsheets leave empty columns at the end
    kept = [n for n, name in enumerate(header) if name or (columns[n] != "").any()]
    _check_names(path, header, kept)
    return Table(path, {header[n]: columns[n] for n in kept}, np.array(lines))


def _check_names(path: Path, header: Sequence[str], kept: Sequence[int]) -> None:
    """Reject columns without a name of their own; the first may be without one, as a row index is."""
    for number in kept:
        name = header[number]
        if not name and number:
            raise UnseenError(f"{path}, column {number + 1} has no name. Only the first may be without one.")
        if header.index(name) < number:
            hint = " Does the file have a header?" if is_number(name) else ""
            raise UnseenError(f"{path} has two columns {name!r}. Give every column its own name.{hint}")


def _as_text(cells: Sequence[str]) -> Values:
    return np.array([cell.strip() for cell in cells], dtype=object)


def _as_numbers(cells: Sequence[str]) -> Values:
    """Return the cells as numbers, if all of them are."""
    try:
        return np.array(list(map(float, cells)))
    except ValueError:
        return _as_text(cells)


def _read_parquet(path: Path, text: Collection[str]) -> Table:
    parquet = import_extra("pyarrow.parquet", "pandas", "Reading Parquet")
    if not path.is_file():
        raise UnseenError(f"There is no file {path}.")
    with rephrase_errors(f"{path} cannot be read as Parquet"):
        table = parquet.read_table(path)
        columns = zip(table.column_names, table.columns)
        found = {name: _from_arrow(column, name in text) for name, column in columns}
    if not found or not table.num_rows:
        raise UnseenError(f"{path} has no rows, expected one row per sample or class.")
    return Table(path, found)


def _from_arrow(column: Any, text: bool) -> Values:
    """Return a column of pyarrow as numbers or text; missing text is empty. Text may have to stay text."""
    values: Values = column.to_numpy()
    if values.dtype.kind in "fiub":
        return values
    cells = ["" if cell is None else str(cell) for cell in column.to_pylist()]
    return _as_text(cells) if text else _as_numbers(cells)


def _is_text(column: Values) -> bool:
    return column.dtype.kind == "O"  # as wide as its own cells, not as the longest one


def _not_numbers(cells: Values) -> BoolArray:
    return np.array([not is_number(cell) for cell in cells.tolist()], dtype=bool)


def counts_up(names: Sequence[str]) -> bool:
    """Return whether names are rising whole numbers, as those that pandas gives to columns without names."""
    numbers = [float(name) for name in names]
    return all(number.is_integer() for number in numbers) and bool(np.all(np.diff(numbers) > 0))


def is_number(cell: Any) -> bool:
    """Return whether a cell holds a number, or the text of one."""
    try:
        float(cell)
    except (TypeError, ValueError):
        return False
    return True
