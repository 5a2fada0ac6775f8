"""Anybody's scores from a file: ``.npz``, or CSV or Parquet with a column per class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen._core.csv_files import read_csv
from unseen._core.labels import label_positions
from unseen._core.npz import read_npz, text_array
from unseen.errors import UnseenError, need_extra, one_line

LABEL = "y"  # the column of a table that holds the true class


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores, true columns and seen classes, as ``SeenUnseenCurve.from_scores`` takes them."""

    scores: NDArray[Any]  # (samples, classes)
    y: NDArray[np.intp]  # (samples,)
    seen: NDArray[np.bool_]  # (classes,)
    class_names: tuple[str, ...] | None = None

    def name(self, column: int) -> str:
        """Return what to call a class."""
        return str(column) if self.class_names is None else self.class_names[column]


def read_scores(path: Path, seen: Sequence[str] | None = None) -> Scores:
    """Read scores from a file.

    Parameters
    ----------
    path : Path
        ``.npz`` with ``scores``, ``y``, ``seen`` (one bool per class) or ``seen_classes``, and optionally
        ``class_names``; or ``.csv`` or ``.parquet`` with one column per class and the true class in ``y``.
    seen : sequence of str, optional
        The seen classes by name (or column number where there are no names), when the file does not say.
    """
    readers = {".npz": _read_npz, ".csv": _read_csv, ".parquet": _read_parquet}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise UnseenError(f"{path} has the ending {path.suffix!r}, expected one of {', '.join(readers)}.")
    if not path.is_file():
        raise UnseenError(f"{path} is missing.")
    content = reader(path)
    if seen is not None:
        content["seen_classes"] = np.array(seen, dtype=str)
        content.pop("seen", None)
    return _assemble(path, content)


def _read_npz(path: Path) -> dict[str, NDArray[Any]]:
    keys = ("scores", "y", "seen", "seen_classes", "class_names")
    content = read_npz(path, keys)
    missing = [key for key in ("scores", "y") if key not in content]
    if missing:
        raise UnseenError(f"{path} has no {missing[0]!r}, expected the arrays scores, y and seen.")
    return content


def _read_csv(path: Path) -> dict[str, NDArray[Any]]:
    header, rows = read_csv(path)
    label = _label_column(path, header)
    y = text_array((row.pop(label).strip() for row in rows), str(path))
    del header[label]
    return {"scores": _numbers(path, header, rows), "y": y, "class_names": text_array(header, str(path))}


def _numbers(path: Path, header: list[str], rows: list[list[str]]) -> NDArray[np.float64]:
    try:
        return np.array(rows, dtype=np.float64)
    except ValueError:
        pass
    for number, row in enumerate(rows, start=2):
        for name, text in zip(header, row, strict=True):
            try:
                float(text)
            except ValueError:
                raise UnseenError(
                    f"{path}, line {number}, column {name!r} is {text!r}, expected a number. "
                    f"Every column but {LABEL!r} is a class."
                ) from None
    raise UnseenError(f"{path} holds no table of numbers.")


def _read_parquet(path: Path) -> dict[str, NDArray[Any]]:
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise need_extra("pyarrow", "pandas", "Reading Parquet") from error
    try:
        table = parquet.read_table(path)
        names, columns = table.column_names, [column.to_numpy() for column in table.columns]
    except MemoryError:
        raise
    except Exception as error:  # as many as there are ways to damage it
        raise UnseenError(f"{path} cannot be read as Parquet ({one_line(error)}).") from error
    label = _label_column(path, names)
    y = text_array(map(str, columns.pop(label)), str(path))
    del names[label]
    for name, column in zip(names, columns, strict=True):
        if column.dtype.kind not in "fiu":
            raise UnseenError(
                f"{path}, column {name!r} is of type {table.schema.field(name).type}, expected numbers. "
                f"Every column but {LABEL!r} is a class."
            )
    scores = np.array(columns).T.reshape(len(y), len(columns))
    return {"scores": scores, "y": y, "class_names": text_array(names, str(path))}


def _label_column(path: Path, names: list[str]) -> int:
    if LABEL not in names:
        raise UnseenError(f"{path} has no column {LABEL!r}, expected the true class of every row there.")
    return names.index(LABEL)


def _assemble(path: Path, content: dict[str, NDArray[Any]]) -> Scores:
    scores = content["scores"]
    if scores.ndim != 2 or 0 in scores.shape:
        raise UnseenError(f"scores has shape {scores.shape}, expected (samples, classes).")
    n_classes = scores.shape[1]
    names = _class_names(content.get("class_names"), n_classes)
    y = _columns(content["y"], names, n_classes, "y")
    if "seen" in content:
        return Scores(scores, y, _mask(content["seen"], n_classes), names)
    if "seen_classes" not in content:
        raise UnseenError(
            f"{path} does not say which classes were seen in training. Pass --seen, or save seen (one bool "
            "per class) or seen_classes in the file."
        )
    seen = np.zeros(n_classes, dtype=bool)
    seen[_columns(content["seen_classes"], names, n_classes, "seen_classes")] = True
    return Scores(scores, y, seen, names)


def _class_names(names: NDArray[Any] | None, n_classes: int) -> tuple[str, ...] | None:
    if names is None:
        return None
    if names.shape != (n_classes,):
        raise UnseenError(
            f"class_names has shape {names.shape}, expected one name per class: ({n_classes},)."
        )
    known = tuple(map(str, names))
    if len(set(known)) < n_classes:
        raise UnseenError("class_names holds a name twice. Give every class a name of its own.")
    return known


def _mask(seen: NDArray[Any], n_classes: int) -> NDArray[np.bool_]:
    if seen.shape != (n_classes,) or not np.isin(seen, (0, 1)).all():
        raise UnseenError(
            f"seen has shape {seen.shape} and type {seen.dtype}, expected one bool per class: "
            f"({n_classes},). Save class indices or names as seen_classes."
        )
    return seen.astype(bool)


def _columns(
    labels: NDArray[Any], names: tuple[str, ...] | None, n_classes: int, what: str
) -> NDArray[np.intp]:
    """Return the column of every label: a name where classes have names, else a column number."""
    if labels.ndim != 1 or labels.dtype.kind not in "iuUSO":
        raise UnseenError(
            f"{what} has shape {labels.shape} and type {labels.dtype}, expected a list of class "
            f"{'names or ' if names else ''}column numbers."
        )
    by_number = labels.dtype.kind in "iu" or names is None
    classes = np.arange(n_classes).astype(str) if by_number else np.array(names)
    first, last = classes[0], classes[-1]
    return label_positions(
        labels.astype(str), classes, what, f"is none of the {n_classes} classes {first} .. {last}"
    )
