"""From pictures to features: any image backbone in ONNX format, one crop or ten.

The paper describes a picture by the last pooling units of a network trained on ImageNet, for the whole
picture or as the mean over ten crops. Here the network is any ONNX file; decoding runs in threads beside it.
"""

from __future__ import annotations

import csv
import itertools
import os
import time
import warnings
import zipfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import ModuleType
from typing import IO

import numpy as np
from numpy.typing import NDArray

from unseen._core.files import atomic_path
from unseen._core.npz import text_array
from unseen._core.progress import progress
from unseen.encoders._parts import Parts, stored_names
from unseen.encoders.backbone import Backbone, Floats
from unseen.errors import UnseenError, need_extra, one_line

IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)
# ending of a file -> what Pillow may open it as; formats that start other programs are not among them
FORMATS = {
    ".bmp": "BMP",
    ".gif": "GIF",
    ".jpeg": "JPEG",
    ".jpg": "JPEG",
    ".png": "PNG",
    ".ppm": "PPM",
    ".tif": "TIFF",
    ".tiff": "TIFF",
    ".webp": "WEBP",
}


# ---- which pictures ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pictures:
    """Picture files below ``root`` and, where folders or a list name them, their classes."""

    root: Path
    names: tuple[str, ...]  # relative to root, with "/" between folders
    y: NDArray[np.intp] | None = None  # (pictures,), index into class_names
    class_names: tuple[str, ...] = ()

    def path(self, position: int) -> Path:
        """Return where a picture lies."""
        return self.root / self.names[position]

    def identity(self, position: int) -> str:
        """Return a name that changes when the picture does."""
        try:
            status = self.path(position).stat()
        except OSError:
            return self.names[position]
        return f"{self.names[position]} {status.st_size} {status.st_mtime_ns}"


def find_pictures(source: str | os.PathLike[str]) -> Pictures:
    """Return the pictures of a folder of class folders, of a flat folder, or of a list file.

    A list file holds one picture per line, ``path`` or ``path,class``, relative to the list's own folder.
    """
    source = Path(source)
    if source.is_file():
        return _from_list(source)
    if not source.is_dir():
        raise UnseenError(f"There is no folder or list file {str(source)!r}. Give a folder of pictures.")
    # One level by hand: rglob alone would not enter class folders that are links.
    files = (file for top in source.iterdir() for file in (top.rglob("*") if top.is_dir() else [top]))
    names = sorted(file.relative_to(source).as_posix() for file in files if file.suffix.lower() in FORMATS)
    names = [name for name in names if not any(part.startswith(".") for part in name.split("/"))]
    if not names:
        known = " ".join(FORMATS)
        raise UnseenError(f"The folder {str(source)!r} holds no picture (files ending in {known}).")
    return _from_folder(source, names)


def _from_folder(root: Path, names: Sequence[str]) -> Pictures:
    classes = [name.split("/")[0] if "/" in name else "" for name in names]
    if not any(classes):
        return Pictures(root, tuple(names))
    if not all(classes):
        stray = names[classes.index("")]
        raise UnseenError(
            f"{str(root)!r} holds class folders and also the picture {stray!r} outside of them. "
            "Move it into the folder of its class, or give a list file."
        )
    return _labelled(root, names, classes)


def _from_list(file: Path) -> Pictures:
    rows = _list_rows(file)
    if not rows:
        raise UnseenError(f"The list {str(file)!r} is empty. Write one picture per line: path or path,class.")
    wrong = next((row for row in rows if len(row) != len(rows[0]) or len(row) > 2), None)
    if wrong is not None:
        raise UnseenError(f"{str(file)!r} has the line {','.join(wrong)!r}, expected path or path,class.")
    names = text_array((row[0].strip() for row in rows), str(file)).tolist()
    if len(rows[0]) == 1:
        return Pictures(file.parent, tuple(names))
    return _labelled(file.parent, names, [row[1].strip() for row in rows])


def _list_rows(file: Path) -> list[list[str]]:
    try:
        text = file.read_text(encoding="utf-8-sig")
        if "\0" in text:
            raise ValueError("no text")
        return [row for row in csv.reader(text.splitlines()) if row]
    except (ValueError, csv.Error):
        raise UnseenError(
            f"{str(file)!r} is not a text file. Give a folder, or a list of pictures."
        ) from None


def _labelled(root: Path, names: Sequence[str], classes: Sequence[str]) -> Pictures:
    class_names, y = np.unique(text_array(classes, str(root)), return_inverse=True)
    return Pictures(root, tuple(names), y.astype(np.intp), tuple(class_names.tolist()))


# ---- from a file to the numbers that a backbone takes ----------------------------------------------


@dataclass(frozen=True)
class Preprocessing:
    """How a picture becomes an array: RGB, both sides to ``resize``, crop(s) of ``size``, mean and std.

    Parameters
    ----------
    size : int
        Height and width of what the backbone sees.
    crops : 1 or 10
        The centre; or the four corners, the centre and their mirror images.
    resize : int, optional
        Both sides of the picture before cropping (bilinear). By default ``size`` for one crop, which is
        then the whole picture, and 256 / 224 of ``size`` for ten.
    mean, std : three numbers
        Per channel, for values between 0 and 1; ImageNet's by default.

    Examples
    --------
    >>> Preprocessing(crops=10).sides
    (256, 224)
    """

    size: int = 224
    crops: int = 1
    resize: int | None = None
    mean: tuple[float, float, float] = IMAGENET_MEAN
    std: tuple[float, float, float] = IMAGENET_STD

    def __post_init__(self) -> None:
        if self.crops not in (1, 10):
            raise UnseenError(f"Got crops={self.crops}, but expected 1 or 10.")
        resize, size = self.sides
        if not 0 < size <= resize:
            raise UnseenError(
                f"Got resize={resize}, but the backbone sees crops of {size} x {size}: resize must be "
                f"at least {size}."
            )
        if min(self.std) <= 0:
            raise UnseenError(f"Got std={self.std}, but expected three positive numbers.")

    @property
    def sides(self) -> tuple[int, int]:
        """Return (side of the resized picture, side of a crop)."""
        if self.resize is not None:
            return self.resize, self.size
        return (self.size if self.crops == 1 else round(self.size * 256 / 224)), self.size

    def __call__(self, file: str | os.PathLike[str]) -> Floats:
        """Return the crops of a picture file as an array (crops, 3, size, size)."""
        resize, _ = self.sides
        pixels = read_picture(file, resize).astype(np.float32)  # (resize, resize, 3)
        # x = (p / 255 - mean) / std
        mean, std = np.array(self.mean, np.float32), np.array(self.std, np.float32)
        pixels = (pixels / np.float32(255) - mean) / std
        return self._crop(pixels.transpose(2, 0, 1))

    def _crop(self, pixels: Floats) -> Floats:
        resize, size = self.sides
        end, middle = resize - size, (resize - size) // 2
        corners = [(0, 0), (0, end), (end, 0), (end, end)] if self.crops == 10 else []
        crops = [pixels[:, y : y + size, x : x + size] for y, x in [*corners, (middle, middle)]]
        if self.crops == 10:
            crops += [crop[:, :, ::-1] for crop in crops]
        return np.stack(crops)  # (crops, 3, size, size)


def read_picture(file: str | os.PathLike[str], side: int) -> NDArray[np.uint8]:
    """Return a picture upright, in RGB and resized to ``side`` x ``side``: an array (side, side, 3)."""
    pillow = _pillow()
    with pillow.Image.open(file, formats=sorted(set(FORMATS.values()))) as image:
        # A camera held sideways writes how to turn the picture beside the pixels.
        upright = pillow.ImageOps.exif_transpose(image)
    if upright.mode.startswith("I"):  # 16 bits, which Pillow would cut off at 255
        upright = pillow.Image.fromarray((np.asarray(upright) >> 8).astype(np.uint8))
    return np.asarray(upright.convert("RGB").resize((side, side), pillow.Image.Resampling.BILINEAR))


def _pillow() -> ModuleType:
    try:
        import PIL.Image
        import PIL.ImageOps
    except ImportError:
        raise need_extra("pillow", "images", "Reading pictures") from None
    return PIL


# ---- pictures through the backbone -----------------------------------------------------------------


@dataclass
class _Batches:
    """The batch size: doubles while that makes the backbone faster, halves when memory runs out."""

    backbone: Callable[[Floats], Floats]
    size: int = 8
    largest: int = 128
    speed: float = 0.0
    settled: bool = False

    def run(self, pixels: Floats) -> Floats:
        start = time.perf_counter()
        rows = self._halving(pixels)
        if not self.settled and len(pixels) >= self.size:
            self._learn(len(pixels) / (time.perf_counter() - start))
        return rows

    def _learn(self, speed: float) -> None:
        if speed > 1.05 * self.speed and 2 * self.size <= self.largest:
            self.speed, self.size = speed, 2 * self.size
        else:
            self.size, self.settled = max(1, self.size // 2), True

    def _halving(self, pixels: Floats) -> Floats:
        try:
            return self.backbone(pixels)
        except MemoryError as error:
            if len(pixels) == 1:
                raise UnseenError("There is not enough memory for a single picture.") from error
        half = len(pixels) // 2
        self.size, self.settled = half, True
        return np.concatenate([self._halving(pixels[:half]), self._halving(pixels[half:])])


def stream_features(
    files: Iterable[str | os.PathLike[str]],
    backbone: Callable[[Floats], Floats],
    preprocessing: Preprocessing,
    *,
    on_error: Callable[[int, Exception], None],
    threads: int | None = None,
) -> Iterator[tuple[list[int], Floats]]:
    """Yield (positions in ``files``, their features), in order, while the next pictures are being decoded.

    A picture that cannot be read goes to ``on_error(position, error)``, which may raise.
    """
    batches = _Batches(backbone)
    ready: list[tuple[int, Floats]] = []
    for position, crops in _decode_ahead(files, preprocessing, threads, lambda: 2 * batches.size):
        if isinstance(crops, Exception):
            on_error(position, crops)
            continue
        ready.append((position, crops))
        if len(ready) * preprocessing.crops >= batches.size:
            yield _mean_over_crops(ready, batches)
            ready = []
    if ready:
        yield _mean_over_crops(ready, batches)


def _mean_over_crops(ready: Sequence[tuple[int, Floats]], batches: _Batches) -> tuple[list[int], Floats]:
    positions, crops = zip(*ready)
    rows = batches.run(np.concatenate(crops))  # (pictures * crops, width)
    return list(positions), rows.reshape(len(ready), -1, rows.shape[1]).mean(axis=1)


def _decode_ahead(
    files: Iterable[str | os.PathLike[str]],
    preprocessing: Preprocessing,
    threads: int | None,
    ahead: Callable[[], int],
) -> Iterator[tuple[int, Floats | Exception]]:
    """Yield (position, crops or the error) in order; about ``ahead()`` arrays wait decoded."""
    from joblib import cpu_count

    waiting: deque[tuple[int, Future[Floats]]] = deque()
    pool = ThreadPoolExecutor(threads or cpu_count(), thread_name_prefix="decode")
    with pool:
        try:
            for item in enumerate(files):
                waiting.append((item[0], pool.submit(preprocessing, item[1])))
                while len(waiting) * preprocessing.crops > ahead() and len(waiting) > 1:
                    yield _outcome(*waiting.popleft())
            while waiting:
                yield _outcome(*waiting.popleft())
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _outcome(position: int, future: Future[Floats]) -> tuple[int, Floats | Exception]:
    error = future.exception()
    # Decoders fail with whatever they please on a broken file; a missing package is not the picture's fault.
    if isinstance(error, UnseenError) or (error is not None and not isinstance(error, Exception)):
        raise error
    return position, error if error is not None else future.result()


# ---- a whole extraction, to a file -----------------------------------------------------------------


@dataclass
class Extraction:
    """What an extraction did: where the features are, their shape, and the pictures left out."""

    out: Path
    shape: tuple[int, int] = (0, 0)
    class_names: tuple[str, ...] = ()
    n_resumed: int = 0
    pictures_per_second: float = 0.0
    unreadable: dict[str, str] = field(default_factory=dict)  # name -> reason


def extract(
    source: str | os.PathLike[str],
    backbone: Backbone,
    out: str | os.PathLike[str],
    *,
    preprocessing: Preprocessing | None = None,
    threads: int | None = None,
    strict: bool = False,
    quiet: bool = True,
) -> Extraction:
    """Write the features of all pictures of ``source`` to ``out``, resuming what was interrupted.

    Parameters
    ----------
    source : folder or list file
        See ``find_pictures``.
    backbone : Backbone
    out : path
        A file ending in ``.npz`` with ``X``, ``y``, ``class_names``, ``files``; or else a folder with
        ``features.npy`` and ``labels.csv``. Without class names there is no ``y``.
    preprocessing : Preprocessing, optional
        By default one crop of the backbone's size: the whole picture.
    threads : int, optional
        Threads that decode; one per processor by default.
    strict : bool
        Stop at the first picture that cannot be read, instead of leaving it out.
    quiet : bool
        Show no progress.
    """
    out, pictures = Path(out), find_pictures(source)
    preprocessing = preprocessing or Preprocessing(size=backbone.size)
    result = Extraction(out, class_names=pictures.class_names)
    settings = {**asdict(preprocessing), **backbone.describe()}
    names = [pictures.identity(i) for i in range(len(pictures.names))]

    def leave_out(position: int, error: Exception) -> None:
        name = pictures.names[todo[position]]
        if strict:
            raise UnseenError(f"Cannot read the picture {name!r}: {one_line(error)}")
        result.unreadable[name] = one_line(error)

    out.parent.mkdir(parents=True, exist_ok=True)
    with _no_bombs(), Parts(_parts_folder(out), settings) as parts:
        todo = [i for i, name in enumerate(names) if name not in parts]
        result.n_resumed = len(names) - len(todo)
        files = [pictures.path(i) for i in todo]
        stream = stream_features(files, backbone, preprocessing, on_error=leave_out, threads=threads)
        for positions, rows in _with_progress(stream, len(todo), result, quiet):
            parts.add([names[todo[i]] for i in positions], rows)
    _write(pictures, [i for i, name in enumerate(names) if name in parts], names, parts, result)
    parts.remove()
    return result


def n_stored(out: str | os.PathLike[str]) -> int:
    """Return how many pictures an interrupted extraction to ``out`` has stored."""
    return sum(len(names) for _, names in stored_names(_parts_folder(Path(out))))


def _parts_folder(out: Path) -> Path:
    return out.parent / f".{out.name}.parts"


@contextmanager
def _no_bombs() -> Iterator[None]:
    """Make Pillow refuse what it would only warn of: a small file that claims to be gigabytes of pixels."""
    with warnings.catch_warnings():
        warnings.filterwarnings("error", category=_pillow().Image.DecompressionBombWarning)
        yield


def _with_progress(
    stream: Iterator[tuple[list[int], Floats]], total: int, result: Extraction, quiet: bool
) -> Iterator[tuple[list[int], Floats]]:
    start, done = time.perf_counter(), 0
    with progress(total, "Extracting features", unit="pictures", quiet=quiet) as advance:
        for positions, rows in stream:
            yield positions, rows
            done += len(positions)
            result.pictures_per_second = done / (time.perf_counter() - start)
            advance(len(positions), f"{result.pictures_per_second:.1f} pictures/s")


def _write(
    pictures: Pictures, kept: list[int], names: Sequence[str], parts: Parts, result: Extraction
) -> None:
    if not kept:
        name, reason = next(iter(result.unreadable.items()))
        raise UnseenError(f"None of the {len(names)} pictures can be read, the first {name!r}: {reason}")
    rows = parts.blocks([names[i] for i in kept])
    first = next(rows)
    result.shape = (len(kept), first.shape[1])
    files = [pictures.names[i] for i in kept]
    y = None if pictures.y is None else pictures.y[kept]
    write = _write_npz if result.out.suffix == ".npz" else _write_folder
    write(result, itertools.chain([first], rows), files, y)


def _write_npz(
    result: Extraction, rows: Iterable[Floats], files: Sequence[str], y: NDArray[np.intp] | None
) -> None:
    arrays = {"files": np.array(files)}
    if y is not None:
        arrays |= {"y": y.astype(np.int64), "class_names": np.array(result.class_names)}
    with atomic_path(result.out) as path, zipfile.ZipFile(path, "w") as archive:
        with archive.open("X.npy", "w", force_zip64=True) as member:
            _write_npy(member, result.shape, rows)
        for key, array in arrays.items():
            with archive.open(f"{key}.npy", "w") as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


def _write_folder(
    result: Extraction, rows: Iterable[Floats], files: Sequence[str], y: NDArray[np.intp] | None
) -> None:
    result.out.mkdir(exist_ok=True)
    with atomic_path(result.out / "features.npy") as path, open(path, "wb") as file:
        _write_npy(file, result.shape, rows)
    columns = {"file": files} if y is None else {"file": files, "class": [result.class_names[i] for i in y]}
    with (
        atomic_path(result.out / "labels.csv") as path,
        open(path, "w", newline="", encoding="utf-8") as file,
    ):
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*columns.values()))


def _write_npy(file: IO[bytes], shape: tuple[int, int], rows: Iterable[Floats]) -> None:
    """Write an array block by block: it may be larger than memory."""
    header = {"descr": "<f4", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)
    for block in rows:
        file.write(np.ascontiguousarray(block, dtype="<f4").tobytes())
