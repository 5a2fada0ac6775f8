"""Data sets by name: downloaded when the user asks for them, verified, unpacked where ``load`` finds them."""

from __future__ import annotations

import filecmp
import os
import shutil
import zipfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from types import ModuleType

from unseen._core.files import atomic_path
from unseen._core.progress import progress
from unseen.errors import UnseenError, did_you_mean, import_extra, one_line

ARCHIVE = "xlsa17"  # one folder per data set; its authors publish no checksum
URL = "https://datasets.d2.mpi-inf.mpg.de/xian/xlsa17.zip"
DATASETS = ("CUB", "AWA2", "SUN", "APY", "AWA1")
ATTEMPTS = 5  # how often a broken connection is resumed
_TIMEOUT = (20, 60)  # seconds to connect, seconds without a byte
Say = Callable[[str], None]


@dataclass(frozen=True)
class Download:
    """What a download did: where the data sets are, the archive and its checksum, and what was written."""

    folder: Path
    archive: Path
    sha256: str
    parts: tuple[str, ...]
    written: tuple[Path, ...]


# ---- where data is ---------------------------------------------------------------------------------


def data_home() -> Path:
    """Return the folder of downloaded data: ``$UNSEEN_DATA``, or else the user's cache."""
    given = os.environ.get("UNSEEN_DATA")
    return Path(given or _load_pooch().os_cache("unseen"))


def find_downloaded(name: str) -> Path | None:
    """Return the folder of a data set such as ``CUB``; None for a name that is not known.

    A known data set that is not there is an error that names the command.
    """
    part = name.upper()
    if part not in DATASETS:
        return None
    home = data_home() / ARCHIVE
    if not (home / part).is_dir():
        raise UnseenError(f"{part} is not in {home}. Download it with: {download_command(part)}")
    return home / part


def download_command(name: str) -> str:
    """Return the command that downloads a data set, or all of the archive for a name that is not known.

    >>> download_command("CUB"), download_command("birds")
    ('unseen download xlsa17 CUB', 'unseen download xlsa17')
    """
    return f"unseen download {ARCHIVE} {name if name in DATASETS else ''}".strip()


# ---- downloading -----------------------------------------------------------------------------------


def download(
    name: str,
    parts: Sequence[str] = (),
    *,
    folder: str | os.PathLike[str] | None = None,
    mirrors: Sequence[str] = (),
    sha256: str | None = None,
    force: bool = False,
    quiet: bool = True,
    say: Say = lambda text: None,
) -> Download:
    """Download an archive and unpack some of its data sets; an interrupted download continues.

    Parameters
    ----------
    name : str
        ``"xlsa17"``.
    parts : names of data sets, optional
        What to unpack, as ``["CUB", "AWA2"]``; all by default.
    folder : path, optional
        Where to put it; by default where ``load`` looks (see ``data_home``).
    mirrors : URLs, optional
        Where to download the archive from, the first that answers, instead of the authors' server.
    sha256 : str, optional
        Checksum that the archive must have.
    force : bool
        Replace files that differ from those in the archive.
    quiet : bool
        Show no progress.
    say : callable, optional
        Gets a line for the user, such as the size, before the download starts.
    """
    _check_name(name, (ARCHIVE,), "archive")
    for part in parts:
        _check_name(part.upper(), DATASETS, "data set")
    chosen = tuple(dict.fromkeys(part.upper() for part in parts)) or DATASETS
    home = Path(folder) if folder is not None else data_home()
    (home / name).mkdir(parents=True, exist_ok=True)
    file = home / f"{name}.zip"
    found = _fetch(file, tuple(mirrors) or (URL,), sha256, quiet, say)
    try:
        written = _unpack(file, chosen, home / name, force)
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError) as error:
        raise UnseenError(
            f"{file} is not a whole zip file ({one_line(error)}). Delete it and run the same command again."
        ) from error
    return Download(home / name, file, found, chosen, written)


def _check_name(name: str, known: Sequence[str], what: str) -> None:
    if name not in known:
        near = did_you_mean(name, known)
        raise UnseenError(f"There is no {what} {name!r}, expected {', '.join(known)}.{near}")


def _fetch(file: Path, urls: Sequence[str], sha256: str | None, quiet: bool, say: Say) -> str:
    """Download the file from the first URL that works, unless it is there, and return its checksum."""
    pooch = _load_pooch()
    pooch.get_logger().setLevel("WARNING")
    failures: list[str] = []
    for url in urls:
        downloader = _Resuming(file, quiet, say)
        try:
            pooch.retrieve(url, known_hash=sha256, fname=file.name, path=file.parent, downloader=downloader)
        except _Broken as error:
            failures.append(str(error))
        except UnseenError:
            raise
        except ValueError as error:  # how pooch reports another checksum
            raise UnseenError(
                f"{url} does not have the checksum {sha256}; the download was removed. Get it from another "
                "mirror, or run the same command again."
            ) from error
        else:
            return str(pooch.file_hash(str(file)))
    raise UnseenError(" ".join(failures))


def _unpack(file: Path, parts: Sequence[str], folder: Path, force: bool) -> tuple[Path, ...]:
    """Unpack the files of data sets, and return those that were not there; each appears whole."""
    with zipfile.ZipFile(file) as archive:
        members = [info for part in parts for info in _files_of(archive, part)]
    _check_space(folder, sum(info.file_size for info in members))
    written = []
    with TemporaryDirectory(prefix=".unpacking-", dir=folder) as temporary:
        unzip = _load_pooch().Unzip([info.filename for info in members], temporary)
        for source in map(Path, unzip(str(file), "download", None)):
            target = folder / source.parent.name / source.name
            if target.exists() and filecmp.cmp(source, target, shallow=False):
                continue
            if target.exists() and not force:
                raise UnseenError(
                    f"{target} exists and differs from the archive's. Move it away, or add --force."
                )
            target.parent.mkdir(exist_ok=True)
            os.replace(source, target)
            written.append(target)
    return tuple(written)


def _files_of(archive: zipfile.ZipFile, part: str) -> list[zipfile.ZipInfo]:
    """Return the files of a data set: those directly in a folder of its name."""
    files = [(info, PurePosixPath(info.filename)) for info in archive.infolist() if not info.is_dir()]
    found = [info for info, path in files if path.parent.name == part and "__MACOSX" not in path.parts]
    if not found:
        raise UnseenError(f"{archive.filename} holds no folder {part}.")
    return found


# ---- a broken connection ---------------------------------------------------------------------------


def _first_cause(error: Exception) -> str:
    """Return what the system said: requests and urllib3 wrap it several times."""
    while isinstance(error.__context__, Exception):
        error = error.__context__
    return getattr(error, "strerror", None) or one_line(error)


class _Broken(Exception):
    """A server that cannot be reached, or a connection that breaks again and again."""


class _Resuming:
    """A downloader for pooch that keeps what has arrived, and asks only for the rest."""

    def __init__(self, file: Path, quiet: bool, say: Say) -> None:
        self.part = file.with_name(f"{file.name}.part")
        self.tag = file.with_name(f"{file.name}.etag")
        self.quiet, self.say = quiet, say

    def __call__(self, url: str, output_file: str, pooch: object, check_only: bool = False) -> None:
        import requests
        import urllib3

        for attempt in range(ATTEMPTS):
            try:
                self._download(requests, url)
                break
            except requests.HTTPError as error:
                raise _Broken(f"{url} returned {one_line(error)}.") from error
            except (requests.RequestException, urllib3.exceptions.HTTPError) as error:
                if attempt == ATTEMPTS - 1 or isinstance(error, ValueError):  # such as a URL without http:
                    raise _Broken(self._advice(url, error)) from error
        os.replace(self.part, output_file)
        self.tag.unlink(missing_ok=True)

    def _advice(self, url: str, error: Exception) -> str:
        arrived = self.part.stat().st_size if self.part.exists() else 0
        if not arrived:
            return f"{url} cannot be reached: {_first_cause(error)}. Check the network, or give --mirror URL."
        return (
            f"The connection to {url} broke after {arrived / 1e6:.0f} MB. Run the same command again to "
            "continue there."
        )

    def _download(self, requests: ModuleType, url: str) -> None:
        arrived = self.part.stat().st_size if self.part.exists() else 0
        tag = self.tag.read_text() if self.tag.exists() else ""
        # If-Range: the rest only if the file is still the same, else all of it
        rest = {"Range": f"bytes={arrived}-", "If-Range": tag} if arrived and tag else {}
        headers = {"Accept-Encoding": "identity", **rest}
        with requests.get(url, headers=headers, stream=True, timeout=_TIMEOUT) as response:
            response.raise_for_status()
            if response.status_code != 206:
                arrived = 0
            length = response.headers.get("Content-Length")
            total = None if length is None else arrived + int(length)
            self._announce(url, arrived, total)
            with atomic_path(self.tag) as tag_file:
                tag_file.write_text(
                    response.headers.get("ETag") or response.headers.get("Last-Modified") or ""
                )
            self._write(lambda: response.raw.read1(2**20), arrived, total)
        if total is not None and self.part.stat().st_size != total:
            raise requests.ConnectionError(f"{self.part.stat().st_size} of {total} bytes arrived")

    def _announce(self, url: str, arrived: int, total: int | None) -> None:
        size = "of unknown size" if total is None else f"{total / 1e6:.1f} MB"
        there = f", {arrived / 1e6:.1f} MB are here already" if arrived else ""
        self.say(f"downloading {url}: {size}{there}")
        _check_space(self.part.parent, (total or 0) - arrived)

    def _write(self, read: Callable[[], bytes], arrived: int, total: int | None) -> None:
        """Append what arrives, in pieces as small as they come: what is written is not asked for again."""
        with (
            open(self.part, "r+b" if arrived else "wb") as file,
            progress(
                ((total or 0) - arrived) // 10**6, "Downloading", unit="MB", quiet=self.quiet
            ) as advance,
        ):
            file.seek(arrived)
            counted = done = 0
            while chunk := read():
                file.write(chunk)
                done += len(chunk)
                advance(done // 10**6 - counted, "")
                counted = done // 10**6


def _check_space(folder: Path, needed: int) -> None:
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise UnseenError(
            f"{folder} has {free / 1e9:.1f} GB left, but {needed / 1e9:.1f} GB are needed. Free disk "
            "space, or choose another folder."
        )


def _load_pooch() -> ModuleType:
    module: ModuleType = import_extra("pooch", "download", "Downloading data")
    return module
