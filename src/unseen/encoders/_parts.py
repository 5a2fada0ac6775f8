"""Rows that are computed over hours and survive a kill.

It exists because an ``.npz`` cannot be appended to, and extraction must resume after a power cut.
"""

from __future__ import annotations

import itertools
import json
import shutil
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

import numpy as np

from unseen._core.blocks import FloatArray
from unseen._core.files import atomic_path, write_npz
from unseen._core.npz import read_npz
from unseen.errors import UnseenError

FLUSH_SECONDS = 5.0  # work that a power cut may lose


def stored_names(folder: Path) -> Iterator[tuple[Path, list[str]]]:
    """Yield every part in a folder with the names of its rows; a damaged part is skipped."""
    for part in sorted(folder.glob("part-*.npz")):
        with suppress(OSError, KeyError, UnseenError):
            yield part, read_npz(part, ["names"])["names"].tolist()


class Parts:
    """Rows under names, stored in a folder as they arrive; found again when opened with the same settings.

    Every part is a small ``.npz``, written atomically. With other settings the rows would differ, so the
    folder is emptied.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp()) / "parts"
    >>> with Parts(folder, {"crops": 1}) as parts:
    ...     parts.add(["b", "a"], np.array([[1.0, 2.0], [3.0, 4.0]]))
    >>> again = Parts(folder, {"crops": 1})
    >>> np.concatenate(list(again.blocks(["a", "b"])))
    array([[3., 4.],
           [1., 2.]])
    >>> "a" in Parts(folder, {"crops": 10})
    False
    """

    def __init__(self, folder: Path, settings: Mapping[str, object]) -> None:
        text, stored = json.dumps(settings, sort_keys=True), folder / "settings.json"
        if folder.exists() and not (stored.is_file() and stored.read_text() == text):
            shutil.rmtree(folder)
        folder.mkdir(parents=True, exist_ok=True)
        with atomic_path(stored) as path:
            path.write_text(text)
        self.folder = folder
        self._places: dict[str, tuple[Path, int]] = {}  # name -> (part, row)
        for part, names in stored_names(folder):
            self._note(part, names)
        self._names: list[str] = []
        self._rows: list[FloatArray] = []
        self._flushed = time.monotonic()

    def _note(self, part: Path, names: Sequence[str]) -> None:
        self._places.update((name, (part, row)) for row, name in enumerate(names))

    def __contains__(self, name: str) -> bool:
        return name in self._places

    def add(self, names: Sequence[str], rows: FloatArray) -> None:
        """Store these rows; they are on disk after a few seconds, or when the ``with`` block ends."""
        self._names.extend(names)
        self._rows.append(rows)
        if time.monotonic() - self._flushed > FLUSH_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Write the rows held in memory as the next part."""
        if self._names:
            # a unique name: two extractions to the same file never overwrite each other's rows
            part = self.folder / f"part-{uuid.uuid4().hex}.npz"
            write_npz(part, names=np.array(self._names), rows=np.concatenate(self._rows))
            self._note(part, self._names)
        self._names, self._rows, self._flushed = [], [], time.monotonic()

    def blocks(self, names: Sequence[str]) -> Iterator[FloatArray]:
        """Yield the rows of these names in their order, one part in memory at a time."""
        places = (self._places[name] for name in names)
        for part, group in itertools.groupby(places, key=lambda place: place[0]):
            rows = read_npz(part, ["rows"])["rows"]
            yield rows[[row for _, row in group]]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.flush()
