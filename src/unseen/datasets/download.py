"""Data sets by name: downloaded when the user asks for them, unpacked where ``load_dataset`` finds them."""

from __future__ import annotations

import os
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from types import ModuleType

from unseen._core.progress import progress
from unseen.errors import UnseenError, did_you_mean, import_extra, one_line

ARCHIVE = "xlsa17"  # one folder per data set
URL = "https://datasets.d2.mpi-inf.mpg.de/xian/xlsa17.zip"
DATASETS = ("CUB", "AWA2", "SUN", "APY", "AWA1")
ATTEMPTS = 5  # how often a broken connection is resumed
_TIMEOUT = (20, 60)  # seconds to connect, seconds without a byte
_MB = 10**6


# ---- where data is ---------------------------------------------------------------------------------


def data_home() -> Path:
    """Return the folder of downloaded data: ``$UNSEEN_DATA``, or else the user's cache."""
    given = os.environ.get("UNSEEN_DATA")
    return Path(given or import_extra("pooch", "download", "Finding data").os_cache("unseen"))


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
    mirror: str | None = None,
    quiet: bool = True,
) -> list[Path]:
    """Download an archive, unpack some of its data sets, and return the files that were written.

    An interrupted download continues. Existing files are kept.

    Parameters
    ----------
    name : str
        ``"xlsa17"``.
    parts : names of data sets, optional
        What to unpack, as ``["CUB", "AWA2"]``; all by default.
    folder : path, optional
        Where to put it; by default where ``load_dataset`` looks (see ``data_home``).
    mirror : URL, optional
        Where to download the archive from, instead of the authors' server.
    quiet : bool
        Show no progress.
    """
    chosen = tuple(dict.fromkeys(part.upper() for part in parts)) or DATASETS
    _check_name(name, (ARCHIVE,), "archive")
    for part in chosen:
        _check_name(part, DATASETS, "data set")
    home = Path(folder) if folder is not None else data_home()
    (home / name).mkdir(parents=True, exist_ok=True)
    file = home / f"{name}.zip"
    if not file.exists():
        _fetch(mirror or URL, file, quiet)
    try:
        return _unpack(file, chosen, home / name)
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError) as error:
        raise UnseenError(
            f"{file} is not a whole zip file ({one_line(error)}). Delete it and run the same command again."
        ) from error


def _check_name(name: str, known: Sequence[str], what: str) -> None:
    if name not in known:
        near = did_you_mean(name, known)
        raise UnseenError(f"There is no {what} {name!r}, expected {', '.join(known)}.{near}")


def _unpack(file: Path, parts: Sequence[str], folder: Path) -> list[Path]:
    """Unpack what is not there yet: the files directly in a folder named as a part. Each appears whole."""
    with zipfile.ZipFile(file) as archive:
        paths = [PurePosixPath(info.filename) for info in archive.infolist() if not info.is_dir()]
    found = [path for path in paths if path.parent.name in parts and "__MACOSX" not in path.parts]
    for part in parts:
        if part not in {path.parent.name for path in found}:
            raise UnseenError(f"{file} holds no folder {part}.")
    wanted = [str(path) for path in found if not (folder / path.parent.name / path.name).exists()]
    written = []
    with TemporaryDirectory(prefix=".unpacking-", dir=folder) as temporary:
        unzip = import_extra("pooch", "download", "Downloading data").Unzip(wanted, temporary)
        for source in map(Path, unzip(str(file), "download", None) if wanted else ()):
            target = folder / source.parent.name / source.name
            target.parent.mkdir(exist_ok=True)
            os.replace(source, target)
            written.append(target)
    return written


def _fetch(url: str, file: Path, quiet: bool) -> None:
    """Download a file; what has arrived is kept, and only the rest is asked for."""
    requests = import_extra("requests", "download", "Downloading data")
    import urllib3

    part, tag = file.with_name(f"{file.name}.part"), file.with_name(f"{file.name}.etag")
    for attempt in range(ATTEMPTS):
        try:
            _fetch_rest(requests, url, part, tag, quiet)
            break
        except requests.HTTPError as error:
            raise UnseenError(f"{url} returned {one_line(error)}.") from error
        except (requests.RequestException, urllib3.exceptions.HTTPError) as error:
            if attempt == ATTEMPTS - 1 or isinstance(error, ValueError):  # such as a URL without http:
                raise UnseenError(_advice(url, part, error)) from error
    os.replace(part, file)
    tag.unlink(missing_ok=True)


def _fetch_rest(requests: ModuleType, url: str, part: Path, tag: Path, quiet: bool) -> None:
    arrived = part.stat().st_size if part.exists() else 0
    known = tag.read_text() if tag.exists() else ""
    # If-Range: the rest only if the file is still the same, else all of it
    rest = {"Range": f"bytes={arrived}-", "If-Range": known} if arrived and known else {}
    headers = {"Accept-Encoding": "identity", **rest}
    with requests.get(url, headers=headers, stream=True, timeout=_TIMEOUT) as response:
        response.raise_for_status()
        if response.status_code != 206:
            arrived = 0
        total = arrived + int(response.headers.get("Content-Length", 0))
        tag.write_text(response.headers.get("ETag") or response.headers.get("Last-Modified") or "")
        with (
            open(part, "ab" if arrived else "wb") as file,
            progress((total - arrived) // _MB, f"Downloading {url}", unit="MB", quiet=quiet) as advance,
        ):
            while chunk := response.raw.read1(2**20):  # as it comes: what is written is not asked for again
                file.write(chunk)
                advance((arrived + len(chunk)) // _MB - arrived // _MB, "")
                arrived += len(chunk)


def _advice(url: str, part: Path, error: Exception) -> str:
    if part.exists() and part.stat().st_size:
        return (
            f"The connection to {url} broke after {part.stat().st_size / _MB:.0f} MB. Run the same command "
            "again to continue there."
        )
    while isinstance(error.__context__, Exception):  # requests and urllib3 wrap what the system said
        error = error.__context__
    cause = getattr(error, "strerror", None) or one_line(error)
    return f"{url} cannot be reached: {cause}. Check the network, or give --mirror URL."
