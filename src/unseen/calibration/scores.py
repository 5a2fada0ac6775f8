"""Score files of any model: ``.npz``, or CSV or Parquet tables with one column per class."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen._core.blocks import BoolArray, FloatArray, IndexArray
from unseen._core.labels import class_mask
from unseen._core.npz import read_npz, text_array
from unseen._core.tables import INDEX_NAMES, read_table
from unseen.calibration.columns import check_mask, find_columns
from unseen.errors import UnseenError

LABEL = "y"  # where files keep the true class
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
        """Return the name of a class, or its column number if classes have no names."""
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
        The seen classes by name (or by column number if there are no names), if the file does not say.
    label_column : str, optional
        The column (or array) with the true class; ``y`` by default.
    """
    content = _read_content(path, label_column or LABEL)
    if content.y is None:
        raise UnseenError(
            f"{path} has no {label_column or LABEL!r}, expected the true class of every sample there. "
            "If it has another name, pass --label-column."
        )
    return _assemble(path, content, seen, None)


def read_more_scores(
    path: Path,
    like: Scores | None = None,
    seen: Sequence[str] | None = None,
    *,
    label_column: str | None = None,
) -> Scores:
    """Read the scores that a calibration is applied to: true classes are optional here.

    Which classes are seen is what ``seen`` or the file says. Otherwise it is taken from ``like``: by name
    if both have class names, else by position.
    """
    return _assemble(path, _read_content(path, label_column or LABEL), seen, like)


# ---- files ----------------------------------------------------------------------------------------------


def _read_content(path: Path, label: str) -> _Content:
    readers: dict[str, Callable[[Path, str], _Content]] = {
        ".npz": _read_npz,
        ".csv": _read_table,
        ".parquet": _read_table,
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


def _read_table(path: Path, label: str) -> _Content:
    """Read a table: every column is a class, but for the true class and the index that pandas writes."""
    table = read_table(path, text=[label])
    y = table.text(label) if label in table.columns else None
    names = [name for name in table.columns if name != label and name not in INDEX_NAMES]
    advice = "Every column is a class, except that of the true class (--label-column)."
    return _Content(table.numbers(names, advice), y, text_array(names, str(path)))


# ---- what they hold -------------------------------------------------------------------------------------


def _assemble(path: Path, content: _Content, seen: Sequence[str] | None, like: Scores | None) -> Scores:
    scores = content.scores
    if scores.ndim != 2 or 0 in scores.shape:
        raise UnseenError(f"scores has shape {scores.shape}, expected (samples, classes).")
    n_classes = scores.shape[1]
    names = _distinct_names(content.class_names, n_classes)
    y = None if content.y is None else _label_columns(content.y, names, n_classes, "y")
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
        return check_mask(content.seen, n_classes, "Save class indices or names as seen_classes.")
    if listed is not None:
        return class_mask(_label_columns(listed, names, n_classes, "seen_classes"), n_classes)
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


def _distinct_names(names: NDArray[Any] | None, n_classes: int) -> tuple[str, ...] | None:
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


def _label_columns(
    labels: NDArray[Any], names: tuple[str, ...] | None, n_classes: int, what: str
) -> IndexArray:
    """Return the column of every label; in a file, column numbers may be text."""
    if names is None and labels.dtype.kind in "US":
        names = tuple(str(column) for column in range(n_classes))
    return find_columns(labels, None if names is None else np.array(names), n_classes, what)
