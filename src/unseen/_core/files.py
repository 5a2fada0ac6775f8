"""Files that are either whole or not there."""

from __future__ import annotations

import io
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from unseen.errors import UnseenError


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary path beside ``path`` that takes its name once the block has succeeded.

    Readers see the old file or the new one, never a part: written, fsynced, renamed. The temporary name
    keeps the suffix of ``path``, because writers such as ``numpy.savez`` look at it.
    """
    path = Path(path)
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.stem}-", suffix=path.suffix, dir=path.parent)
        os.close(handle)
        temporary = Path(name)
        try:
            yield temporary
            os.chmod(temporary, 0o666 & ~_umask())  # mkstemp makes private files
            with open(temporary, "rb+") as file:
                os.fsync(file.fileno())
            os.replace(temporary, path)
        finally:
            with suppress(FileNotFoundError):
                temporary.unlink()
    except OSError as error:
        reason = error.strerror or str(error)
        raise UnseenError(f"Cannot write {path}: {reason}. Nothing was changed.") from error


def write_npz(path: str | os.PathLike[str], **arrays: Any) -> None:
    """Write arrays to an ``.npz``, whole or not at all."""
    import numpy as np

    # in memory first: an archive that cannot be finished complains a second time when it is thrown away
    content = io.BytesIO()
    np.savez(content, **arrays)
    with atomic_path(path) as temporary:
        temporary.write_bytes(content.getbuffer())


def check_writable(path: str | os.PathLike[str]) -> None:
    """Refuse a path that cannot be written, before the work that it is for."""
    path = Path(path)
    if path.is_dir():
        raise UnseenError(f"Cannot write {path}: it is a folder. Name a file.")
    try:
        with tempfile.NamedTemporaryFile(prefix=f".{path.stem}-", dir=path.parent):
            pass
    except OSError as error:
        raise UnseenError(f"Cannot write {path}: {error.strerror or error}. Name another place.") from error


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
