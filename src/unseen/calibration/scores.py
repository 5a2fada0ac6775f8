"""Score files of any model: ``.npz``, or CSV or Parquet tables with one column per class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen._core.blocks import BoolArray, FloatArray, IndexArray
from unseen._core.npz import read_npz, text_array
from unseen._core.tables import INDEX_NAMES, is_table, read_table
from unseen.calibration.columns import find_columns, seen_columns
from unseen.errors import UnseenError

_SAVE = 'Save the scores with numpy.savez("scores.npz", scores=scores, y=y, seen=seen).'
_SAY_SEEN = "Pass --seen with all seen classes, or save seen (one bool per class) or seen_classes."


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
        """Return the name of a class, or its column number if classes have no names."""
        return str(column) if self.class_names is None else self.class_names[column]


def read_scores(
    path: Path, seen: Sequence[str] | None = None, *, label: str | None = None, like: Scores | None = None
) -> Scores:
    """Read scores, with the true class of every sample if the file has it.

    Parameters
    ----------
    path : Path
        ``.npz`` with ``scores``, ``y``, ``seen`` (one bool per class) or ``seen_classes``, and optionally
        ``class_names``; or ``.csv`` or ``.parquet`` with one column per class and the true class in ``y``.
        A first column without a name is the row index of a table that pandas wrote, and is skipped.
    seen : sequence of str, optional
        The seen classes by name (or by column number if there are no names), if the file does not say.
    label : str, optional
        The column (or array) with the true class; ``y`` by default.
    like : Scores, optional
        Other scores of this model, which say what is seen if neither ``seen`` nor the file does.
    """
    label = label or "y"
    found = _read_arrays(path, label)
    table, y, names = found["scores"], found.get("y"), found.get("class_names")
    if table.ndim != 2 or 0 in table.shape:
        raise UnseenError(f"scores has shape {table.shape}, expected (samples, classes).")
    n_classes = table.shape[1]
    labels = np.arange(n_classes).astype(str) if names is None else names.astype(str)
    if labels.shape != (n_classes,) or len(set(labels)) < n_classes:
        raise UnseenError(f"class_names has shape {labels.shape}, expected {n_classes} different names.")
    if y is not None:
        y = find_columns(y, labels, f"{path}, column {label!r}," if is_table(path) else "y")
        if len(y) != len(table):
            raise UnseenError(f"y has shape {y.shape}, expected the class of each of {len(table)} samples.")
    class_names = None if names is None else tuple(labels.tolist())
    says = found.get("seen", found.get("seen_classes"))
    if seen is not None and like is not None:
        mask = np.isin(labels, list(seen))  # the file may hold only some of the seen classes
    elif seen is not None or says is not None:
        mask = seen_columns(says if seen is None else np.array(seen), labels)
    elif like is not None:
        mask = _seen_like(path, class_names, n_classes, like)
    else:
        raise UnseenError(f"{path} does not say which classes were seen in training. {_SAY_SEEN}")
    return Scores(table, y, mask, class_names)


def _read_arrays(path: Path, label: str) -> dict[str, NDArray[Any]]:
    """Return the arrays of a file; the true class is ``y``, whatever its name there."""
    if is_table(path):
        return _read_table(path, label)
    if path.suffix.lower() != ".npz":
        raise UnseenError(f"{path} ends in {path.suffix!r}, expected one of .npz, .csv, .parquet. {_SAVE}")
    arrays = read_npz(path, ("scores", "seen", "seen_classes", "class_names", label))
    found = {"y" if name == label else name: array for name, array in arrays.items()}
    if "scores" not in found:
        raise UnseenError(f"{path} has no 'scores', expected the arrays scores, y and seen.")
    return found


def _read_table(path: Path, label: str) -> dict[str, NDArray[Any]]:
    """Read a table: every column is a class, but for the true class and the index that pandas writes."""
    table = read_table(path, text=[label])
    if label not in table.columns and "y" in table.columns:
        raise UnseenError(f"{path} has no column {label!r}, but a column 'y'. Name it with --label y.")
    names = [name for name in table.columns if name != label and name not in INDEX_NAMES]
    advice = "Every column is a class, except that of the true class (--label)."
    found = {"scores": table.numbers(names, advice), "class_names": text_array(names, str(path))}
    return found | ({"y": table.labels(label)} if label in table.columns else {})


def _seen_like(path: Path, names: tuple[str, ...] | None, n_classes: int, like: Scores) -> BoolArray:
    """Return which classes are seen in ``like``: by name if both have names, else by position."""
    if names is None or like.class_names is None:
        if n_classes != len(like.seen):
            differs = f"{path} has {n_classes} classes, but gamma was chosen with {len(like.seen)}."
            raise UnseenError(f"{differs} {_SAY_SEEN}")
        return like.seen
    known = dict(zip(like.class_names, like.seen, strict=True))
    new = [name for name in names if name not in known]
    if new:
        raise UnseenError(f"{path} has class {new[0]!r}, which the scores that chose gamma lack. {_SAY_SEEN}")
    return np.array([known[name] for name in names])
