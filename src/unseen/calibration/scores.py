"""Score files of any model: ``.npz``, or CSV or Parquet tables with one column per class."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen._core.blocks import BoolArray, FloatArray, IndexArray
from unseen._core.csv_files import read_csv
from unseen._core.npz import read_npz, text_array
from unseen.calibration.columns import find_columns
from unseen.errors import UnseenError, need_extra, one_line

LABEL = "y"  # where files keep the true class
_INDEX_NAMES = ("", "Unnamed: 0")  # a first column with this name is the row index that pandas wrote
_PARQUET_INDEX = "__index_level_0__"
_TORCH = (".pt", ".pth", ".ckpt", ".bin")


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of samples for classes, with what is known about both.

    Attributes
    ----------
    scores : ndarray of shape (n_samples, n_classes)
    y : ndarray of shape (n_samples,), or None
        The true column of every sample.
    seen : ndarray of bool, shape (n_classes,)
        Which classes had training samples.
    class_names : tuple of str, optional
    """

    scores: FloatArray
    y: IndexArray | None
    seen: BoolArray
    class_names: tuple[str, ...] | None = None

    def name(self, column: int) -> str:
        """Return the name of a class, or its column number where classes have no names."""
        return str(column) if self.class_names is None else self.class_names[column]


@dataclass
class _Content:
    """What a file holds, before labels are looked up."""

    scores: NDArray[Any]
    y: NDArray[Any] | None
    class_names: NDArray[Any] | None = None
    seen: NDArray[Any] | None = None
    seen_classes: NDArray[Any] | None = None


def read_scores(path: Path, seen: Sequence[str] | None = None, *, label_column: str | None = None) -> Scores:
    """Read scores with the true class of every sample.

    Parameters
    ----------
    path : Path
        ``.npz`` with ``scores``, ``y``, ``seen`` (one bool per class) or ``seen_classes``, and optionally
        ``class_names``; or ``.csv`` or ``.parquet`` with one column per class and the true class in ``y``.
        A first column without a name is the row index of a table that pandas wrote, and is skipped.
    seen : sequence of str, optional
        The seen classes by name (or by column number where there are no names), if the file does not say.
    label_column : str, optional
        The column (or array) with the true class; ``y`` by default.
    """
    content = _read(path, label_column or LABEL)
    if content.y is None:
        raise UnseenError(
            f"{path} has no {label_column or LABEL!r}, expected the true class of every sample there. "
            "If it has another name, pass --label-column."
        )
    return _assemble(path, content, seen, None)


def read_more_scores(
    path: Path, like: Scores, seen: Sequence[str] | None = None, *, label_column: str | None = None
) -> Scores:
    """Read the scores that a calibration is applied to: true classes are optional here.

    Which classes are seen is what ``seen`` or the file says. Otherwise it is taken from ``like``: by name
    where both have class names, else by position.
    """
    return _assemble(path, _read(path, label_column or LABEL), seen, like)


# ---- files ----------------------------------------------------------------------------------------------


def _read(path: Path, label: str) -> _Content:
    readers: dict[str, Callable[[Path, str], _Content]] = {
        ".npz": _read_npz,
        ".csv": _read_csv,
        ".parquet": _read_parquet,
    }
    ending = path.suffix.lower()
    if ending in _TORCH:
        raise UnseenError(
            f"{path} is a PyTorch file, which is never loaded here: it could run any code. Save the scores "
            'with numpy.savez("scores.npz", scores=scores.cpu().numpy(), y=y, seen=seen).'
        )
    if ending not in readers:
        raise UnseenError(f"{path} has the ending {path.suffix!r}, expected one of {', '.join(readers)}.")
    if not path.is_file():
        raise UnseenError(f"{path} is missing.")
    return readers[ending](path, label)


def _read_npz(path: Path, label: str) -> _Content:
    others = ("scores", "seen", "seen_classes", "class_names")
    if label in others:
        raise UnseenError(f"Got label_column={label!r}, but expected the name of the array of true classes.")
    found = read_npz(path, (*others, label))
    if "scores" not in found:
        raise UnseenError(f"{path} has no 'scores', expected the arrays scores, y and seen.")
    y = found.pop(label, None)
    return _Content(y=y, **found)


def _read_csv(path: Path, label: str) -> _Content:
    header, rows = read_csv(path)
    y = None
    if label in header:
        column = header.index(label)
        y = text_array((row[column].strip() for row in rows), str(path))
    classes = _class_columns(path, header, label)
    names = [header[column] for column in classes]
    numbers = _numbers(path, names, [[row[column] for column in classes] for row in rows])
    return _Content(numbers, y, text_array(names, str(path)))


def _class_columns(path: Path, header: Sequence[str], label: str) -> list[int]:
    """Return the columns that are classes: all but the true class and the index that pandas writes."""
    start = 1 if header[0] in _INDEX_NAMES and header[0] != label else 0
    columns = [c for c in range(start, len(header)) if header[c] not in (label, _PARQUET_INDEX)]
    for column in columns:
        if not header[column]:
            raise UnseenError(
                f"{path}, column {column + 1} has no name, expected the name of a class. "
                "Only the first column may be without one: it is the row index."
            )
    return columns


def _numbers(path: Path, names: Sequence[str], rows: list[list[str]]) -> NDArray[np.float64]:
    try:
        return np.array(rows, dtype=np.float64)
    except ValueError:
        pass
    for number, row in enumerate(rows, start=2):
        for name, text in zip(names, row, strict=True):
            try:
                float(text)
            except ValueError:
                raise UnseenError(
                    f"{path}, line {number}, column {name!r} is {text!r}, expected a number. "
                    "Every column is a class, except that of the true class (--label-column)."
                ) from None
    raise UnseenError(f"{path} is not a table of numbers.")


def _read_parquet(path: Path, label: str) -> _Content:
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise need_extra("pyarrow", "pandas", "Reading Parquet") from error
    try:
        table = parquet.read_table(path)
        header, columns = table.column_names, [column.to_numpy() for column in table.columns]
    except MemoryError:
        raise
    except Exception as error:  # every kind of damage has its own error
        raise UnseenError(f"{path} cannot be read as Parquet ({one_line(error)}).") from error
    y = text_array(map(str, columns[header.index(label)]), str(path)) if label in header else None
    classes = _class_columns(path, header, label)
    for column in classes:
        if columns[column].dtype.kind not in "fiu":
            raise UnseenError(
                f"{path}, column {header[column]!r} is of type {table.schema.types[column]}, expected "
                "numbers. Every column is a class, except that of the true class (--label-column)."
            )
    scores = np.array([columns[column] for column in classes]).T.reshape(table.num_rows, len(classes))
    return _Content(scores, y, text_array((header[column] for column in classes), str(path)))


# ---- what they hold -------------------------------------------------------------------------------------


def _assemble(path: Path, content: _Content, seen: Sequence[str] | None, like: Scores | None) -> Scores:
    scores = content.scores
    if scores.ndim != 2 or 0 in scores.shape:
        raise UnseenError(f"scores has shape {scores.shape}, expected (samples, classes).")
    n_classes = scores.shape[1]
    names = _class_names(content.class_names, n_classes)
    y = None if content.y is None else _columns(content.y, names, n_classes, "y")
    if y is not None and len(y) != len(scores):
        raise UnseenError(f"y has shape {y.shape}, expected the class of each of {len(scores)} samples.")
    return Scores(scores, y, _seen_mask(path, content, names, seen, like), names)


def _seen_mask(
    path: Path,
    content: _Content,
    names: tuple[str, ...] | None,
    given: Sequence[str] | None,
    like: Scores | None,
) -> BoolArray:
    """Return the mask of seen classes: as given, else as the file says, else as in ``like``."""
    n_classes = content.scores.shape[1]
    if given is not None and like is not None:
        labels = names or [str(column) for column in range(n_classes)]
        return np.isin(labels, list(given))  # the file may hold only some of the seen classes
    listed = content.seen_classes if given is None else np.array(given, dtype=str)
    if given is None and content.seen is not None:
        return _mask(content.seen, n_classes)
    if listed is not None:
        mask = np.zeros(n_classes, dtype=bool)
        mask[_columns(listed, names, n_classes, "seen_classes")] = True
        return mask
    if like is not None:
        return _mask_like(path, names, n_classes, like)
    raise UnseenError(
        f"{path} does not say which classes were seen in training. Pass --seen, or save seen (one bool "
        "per class) or seen_classes in the file."
    )


def _mask_like(path: Path, names: tuple[str, ...] | None, n_classes: int, like: Scores) -> BoolArray:
    if names is None or like.class_names is None:
        if n_classes != len(like.seen):
            raise UnseenError(
                f"{path} has {n_classes} classes, but gamma was chosen with {len(like.seen)}, and without "
                "class names in both files they cannot be matched. Save seen or class_names in the file."
            )
        return like.seen
    known = dict(zip(like.class_names, like.seen, strict=True))
    new = [name for name in names if name not in known]
    if new:
        raise UnseenError(
            f"{path} has class {new[0]!r}, which the scores that chose gamma lack. "
            "Pass --seen with all seen classes, or save seen in the file."
        )
    return np.array([known[name] for name in names])


def _class_names(names: NDArray[Any] | None, n_classes: int) -> tuple[str, ...] | None:
    if names is None:
        return None
    if names.shape != (n_classes,):
        raise UnseenError(
            f"class_names has shape {names.shape}, expected one name per class: ({n_classes},)."
        )
    known = tuple(map(str, names))
    if len(set(known)) < n_classes:
        raise UnseenError("class_names holds a name twice. Give every class its own name.")
    return known


def _mask(seen: NDArray[Any], n_classes: int) -> BoolArray:
    if seen.shape != (n_classes,) or not np.isin(seen, (0, 1)).all():
        raise UnseenError(
            f"seen has shape {seen.shape} and type {seen.dtype}, expected one bool per class: "
            f"({n_classes},). Save class indices or names as seen_classes."
        )
    return seen.astype(bool)


def _columns(labels: NDArray[Any], names: tuple[str, ...] | None, n_classes: int, what: str) -> IndexArray:
    """Return the column of every label; in a file, column numbers may be text."""
    if names is None and labels.dtype.kind in "US":
        names = tuple(str(column) for column in range(n_classes))
    return find_columns(labels, None if names is None else np.array(names), n_classes, what)
