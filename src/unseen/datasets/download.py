"""Data sets by name: downloaded when the user asks for them, verified, unpacked where ``load`` finds them."""

from __future__ import annotations

import json
import os
import shutil
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePosixPath
from types import ModuleType

from unseen._core.files import atomic_path
from unseen._core.progress import progress
from unseen.errors import UnseenError, did_you_mean, need_extra, one_line

Say = Callable[[str], None]
ATTEMPTS = 5  # how often a broken connection is resumed
_CHUNK = 2**20
_TIMEOUT = (20, 60)  # seconds to connect, seconds without a byte


@dataclass(frozen=True)
class Archive:
    """A zip file on the web with one folder per data set.

    ``sha256`` is None where the authors publish no checksum: then the length, the CRC-32 of every unpacked
    file and the checksum of an earlier download are compared.
    """

    url: str
    parts: tuple[str, ...]
    sha256: str | None = None


ARCHIVES: Mapping[str, Archive] = {
    "xlsa17": Archive(
        "https://datasets.d2.mpi-inf.mpg.de/xian/xlsa17.zip", ("CUB", "AWA2", "SUN", "APY", "AWA1")
    ),
}


@dataclass(frozen=True)
class Receipt:
    """What was downloaded: stored beside the data."""

    url: str
    sha256: str
    size: int


@dataclass
class Download:
    """What a download did: where the data sets are, and which files were written."""

    folder: Path
    archive: Path
    receipt: Receipt
    parts: tuple[str, ...]
    written: list[Path] = field(default_factory=list)


# ---- where data is ---------------------------------------------------------------------------------


def data_home() -> Path:
    """Return the folder of downloaded data: ``$UNSEEN_DATA``, or else the user's cache."""
    if given := os.environ.get("UNSEEN_DATA"):
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "unseen"


def find_downloaded(name: str) -> Path | None:
    """Return the folder of a data set such as ``CUB``; None for a name that is not known.

    A known data set that is not there is an error that names the command.
    """
    for archive, known in ARCHIVES.items():
        for part in known.parts:
            if name.upper() == part:
                folder = data_home() / archive / part
                if folder.is_dir():
                    return folder
                raise UnseenError(
                    f"{part} is not in {data_home() / archive}. Download it with: "
                    f"{download_command(part, archive)}"
                )
    return None


def download_command(name: str, archive: str = "xlsa17") -> str:
    """Return the command that downloads a data set, or all of the archive for a name that is not known.

    >>> download_command("CUB"), download_command("birds")
    ('unseen download xlsa17 CUB', 'unseen download xlsa17')
    """
    known = f" {name}" if name in ARCHIVES[archive].parts else ""
    return f"unseen download {archive}{known}"


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
    known = _find_archive(name)
    chosen = _choose_parts(known, parts)
    home = Path(folder) if folder is not None else data_home()
    (home / name).mkdir(parents=True, exist_ok=True)
    file = home / f"{name}.zip"
    receipt = _fetch(file, tuple(mirrors) or (known.url,), sha256 or known.sha256, quiet, say)
    _check_receipt(home / name / "download.json", receipt, force)
    result = Download(home / name, file, receipt, chosen)
    with _opened(file) as archive:
        _check_names(archive, file)
        members = {part: _members(archive, part, file) for part in chosen}
        _check_space(home, sum(info.file_size for found in members.values() for info in found))
        for part, found in members.items():
            result.written += _unpack(archive, found, home / name / part, force, quiet)
    with atomic_path(home / name / "download.json") as path:
        path.write_text(json.dumps(asdict(receipt), indent=2) + "\n")
    return result


def _find_archive(name: str) -> Archive:
    if name not in ARCHIVES:
        near = did_you_mean(name, ARCHIVES)
        raise UnseenError(f"There is no archive {name!r}, only {', '.join(ARCHIVES)}.{near}")
    return ARCHIVES[name]


def _choose_parts(archive: Archive, parts: Sequence[str]) -> tuple[str, ...]:
    for part in parts:
        if part.upper() not in archive.parts:
            near = did_you_mean(part.upper(), archive.parts)
            raise UnseenError(
                f"Got the data set {part!r}, but expected one of {', '.join(archive.parts)}.{near}"
            )
    return tuple(dict.fromkeys(part.upper() for part in parts)) or archive.parts


def _fetch(file: Path, urls: Sequence[str], sha256: str | None, quiet: bool, say: Say) -> Receipt:
    """Return the receipt of an archive, downloaded from the first URL that serves it whole."""
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
            return Receipt(url, pooch.file_hash(str(file)), file.stat().st_size)
    raise UnseenError(" ".join(failures))


def _check_receipt(path: Path, receipt: Receipt, force: bool) -> None:
    """Refuse an archive that differs from the one that was downloaded before."""
    try:
        before = json.loads(path.read_text())["sha256"]
    except (OSError, ValueError, KeyError, TypeError):
        return
    if before != receipt.sha256 and not force:
        raise UnseenError(
            f"{receipt.url} has the checksum {receipt.sha256}, but an earlier download had {before}. "
            "If that is expected, add --force."
        )


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
                raise _Broken(f"{url} answers with {one_line(error)}.") from error
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
            self._write(lambda: response.raw.read1(_CHUNK), arrived, total)
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
            f"{folder} has {free / 1e9:.1f} GB left, but {needed / 1e9:.1f} GB are needed. Make room, or "
            "choose another folder."
        )


def _load_pooch() -> ModuleType:
    try:
        import pooch
    except ImportError:
        raise need_extra("pooch", "download", "Downloading data") from None
    module: ModuleType = pooch
    return module


# ---- unpacking -------------------------------------------------------------------------------------


@contextmanager
def _opened(file: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(file) as archive:
            yield archive
    except UnseenError:
        raise
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError) as error:
        raise UnseenError(
            f"{file} is not a whole zip file ({one_line(error)}). Delete it and run the same command again."
        ) from error


def _check_names(archive: zipfile.ZipFile, file: Path) -> None:
    """Refuse an archive that tries to leave its folder; nothing of it is unpacked then."""
    for info in archive.infolist():
        path = PurePosixPath(info.filename.replace("\\", "/"))
        is_link = stat.S_ISLNK(info.external_attr >> 16)
        if path.is_absolute() or ".." in path.parts or ":" in info.filename or is_link:
            raise UnseenError(
                f"{file} holds {info.filename!r}, which tries to leave its folder. Nothing was unpacked; "
                "delete the file and get it from another mirror."
            )


def _members(archive: zipfile.ZipFile, part: str, file: Path) -> list[zipfile.ZipInfo]:
    """Return the files of a data set: those directly in a folder of its name."""
    found = [
        info
        for info in archive.infolist()
        if not info.is_dir()
        and PurePosixPath(info.filename).parent.name == part
        and PurePosixPath(info.filename).suffix in (".mat", ".txt")
        and "__MACOSX" not in info.filename
    ]
    if not found:
        raise UnseenError(f"{file} holds no folder {part} with .mat files.")
    return found


def _unpack(
    archive: zipfile.ZipFile, members: Sequence[zipfile.ZipInfo], folder: Path, force: bool, quiet: bool
) -> list[Path]:
    """Write the files that are not there yet; the CRC-32 of each is checked on the way."""
    todo = [
        info for info in members if not _is_there(folder / PurePosixPath(info.filename).name, info, force)
    ]
    folder.mkdir(exist_ok=True)
    written = []
    megabytes = sum(info.file_size for info in todo) // 10**6
    with progress(megabytes, f"Unpacking {folder.name}", unit="MB", quiet=quiet) as advance:
        for info in todo:
            target = folder / PurePosixPath(info.filename).name
            with archive.open(info) as source, atomic_path(target) as path, open(path, "wb") as file:
                shutil.copyfileobj(source, file, _CHUNK)  # raises BadZipFile where the CRC-32 differs
            advance(info.file_size // 10**6, target.name)
            written.append(target)
    return written


def _is_there(target: Path, info: zipfile.ZipInfo, force: bool) -> bool:
    """Return whether the file is there and the same; another file is replaced only with ``force``."""
    if not target.exists():
        return False
    if target.stat().st_size == info.file_size and _crc32(target) == info.CRC:
        return True
    if not force:
        raise UnseenError(f"{target} exists and differs from the archive's. Move it away, or add --force.")
    return False


def _crc32(path: Path) -> int:
    value = 0
    with open(path, "rb") as file:
        while chunk := file.read(_CHUNK):
            value = zlib.crc32(chunk, value)
    return value
