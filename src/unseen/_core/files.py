"""Atomic writes: a file is complete or absent, and no other file is overwritten by accident."""

from __future__ import annotations

import hashlib
import io
import os
import secrets
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from unseen.errors import UnseenError


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path beside ``path``, which gets its name once the block has succeeded.

    Readers see the old file or the new one, never a part: written, fsynced, renamed. The temporary name
    keeps the suffix of ``path``, because writers such as ``numpy.savez`` look at it.
    """
    path = Path(path)
    temporary = path.with_name(f".{path.stem}-{secrets.token_hex(4)}{path.suffix}")
    try:
        temporary.touch()
        mode = temporary.stat().st_mode  # what the umask leaves; some writers make private files
        yield temporary
        temporary.chmod(mode)
        with open(temporary, "rb+") as file:
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        raise UnseenError(f"Cannot write {path}: {error.strerror or error}. Nothing was changed.") from error
    finally:
        with suppress(OSError):
            temporary.unlink()


def read_lines(path: Path) -> list[str]:
    """Return the lines of a list of class names or templates, without empty ones."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise UnseenError(f"{str(path)!r} is not a text file. Write one class name per line.") from None
    return [line.strip() for line in text.splitlines() if line.strip()]


def file_sha256(path: str | os.PathLike[str]) -> str:
    """Return the checksum of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_npz(path: str | os.PathLike[str], **arrays: Any) -> None:
    """Write arrays to an ``.npz``, whole or not at all."""
    import numpy as np

    # in memory first: an archive that could not be finished raises a second error when it is deleted
    content = io.BytesIO()
    np.savez(content, **arrays)
    with atomic_path(path) as temporary:
        temporary.write_bytes(content.getbuffer())


def check_output(
    path: str | os.PathLike[str],
    *,
    inputs: Iterable[str | os.PathLike[str] | None] = (),
    force: bool = False,
    may_replace: Callable[[Path], bool] | None = None,
) -> None:
    """Reject an output path that would overwrite something of value, before the work begins.

    A command never writes to one of its inputs, by whatever name or link, ``force`` or not. Any other file
    that exists is replaced only with ``force``, or if ``may_replace`` recognizes it as an older version of
    what is about to be written. An empty file holds nothing to lose.

    Parameters
    ----------
    path : where the command is going to write
    inputs : paths that the command reads
        A folder stands for all files in it. None, and names that are not paths, are skipped.
    force : bool
        Replace a file that exists.
    may_replace : callable, optional
        Called with an existing file; returns whether it may be replaced without ``force``.
    """
    path = Path(path)
    try:
        with tempfile.NamedTemporaryFile(prefix=f".{path.stem}-", dir=path.parent):
            pass
    except OSError as error:
        raise UnseenError(f"Cannot write {path}: {error.strerror or error}. Choose another path.") from error
    if not path.exists():
        return
    if not path.is_file():
        raise UnseenError(f"Cannot write {path}: it is a folder or a device. Name another file.")
    for source in inputs:
        if source is not None and _holds(Path(source), path):
            raise UnseenError(f"Cannot write {path}: a command never replaces its input. Name another file.")
    if force or not path.stat().st_size or (may_replace is not None and may_replace(path)):
        return
    raise UnseenError(f"{path} exists already. Name another file, or replace it with --force.")


def _holds(source: Path, path: Path) -> bool:
    """Return whether ``source`` is the same file as ``path``, or a folder that holds it."""
    if source.resolve() in path.resolve().parents:
        return True
    files = source.iterdir() if os.path.isdir(source) else [source]
    return any(os.path.isfile(file) and file.samefile(path) for file in files)


def is_page(path: Path) -> bool:
    """Return whether a file is an HTML page, as earlier reports and galleries are."""
    with open(path, "rb") as file:
        return file.read(15).lower().startswith(b"<!doctype html")
