"""From images to features: decoding in threads beside the backbone, in batches, resumable.

The paper describes an image by the last pooling units of a network trained on ImageNet, for the whole
image or as the mean over ten crops.
"""

from __future__ import annotations

import itertools
import json
import os
import time
import zipfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO

import numpy as np

from unseen._core.blocks import IndexArray, row_blocks
from unseen._core.csv_files import write_csv
from unseen._core.files import atomic_path
from unseen._core.npz import Member, read_npz
from unseen._core.progress import progress
from unseen.datasets.features import ENCODER_FILE, ENCODER_KEY, EncoderCard, encoder_array, read_encoder_card
from unseen.encoders._parts import Parts, stored_names
from unseen.encoders.backbone import AnyBackbone, open_backbone
from unseen.encoders.images import ImageFiles, find_images, reject_bombs
from unseen.encoders.preprocessing import Floats, Preprocessing
from unseen.errors import UnseenError, one_line

CROPS_AT_ONCE = 16  # crops that go through the backbone together

# ---- images through the backbone -------------------------------------------------------------------


def _run_backbone(backbone: Callable[[Floats], Floats], pixels: Floats) -> Floats:
    """Return the features of crops, those of one half after the other if memory runs out."""
    try:
        return backbone(pixels)
    except MemoryError as error:
        if len(pixels) == 1:
            raise UnseenError("There is not enough memory for a single image.") from error
    half = len(pixels) // 2
    return np.concatenate([_run_backbone(backbone, part) for part in (pixels[:half], pixels[half:])])


def stream_features(
    files: Iterable[str | os.PathLike[str]],
    backbone: Callable[[Floats], Floats],
    preprocessing: Preprocessing,
    *,
    on_error: Callable[[int, Exception], None],
    threads: int | None = None,
) -> Iterator[tuple[list[int], Floats]]:
    """Yield (positions in ``files``, their features) in order while the next images are decoded.

    An image that cannot be read goes to ``on_error(position, error)``, which may raise.
    """
    ready: list[tuple[int, Floats]] = []
    for position, crops in _decode_ahead(files, preprocessing, threads):
        if isinstance(crops, Exception):
            on_error(position, crops)
            continue
        ready.append((position, crops))
        if len(ready) * preprocessing.crops >= CROPS_AT_ONCE:
            yield _mean_over_crops(ready, backbone)
            ready = []
    if ready:
        yield _mean_over_crops(ready, backbone)


def _mean_over_crops(
    ready: Sequence[tuple[int, Floats]], backbone: Callable[[Floats], Floats]
) -> tuple[list[int], Floats]:
    positions, crops = zip(*ready)
    rows = _run_backbone(backbone, np.concatenate(crops))  # (images * crops, width)
    return list(positions), rows.reshape(len(ready), -1, rows.shape[1]).mean(axis=1)


def _decode_ahead(
    files: Iterable[str | os.PathLike[str]], preprocessing: Preprocessing, threads: int | None
) -> Iterator[tuple[int, Floats | Exception]]:
    """Yield (position, crops or the error) in order; about two batches of decoded arrays wait."""
    from joblib import cpu_count

    waiting: deque[tuple[int, Future[Floats]]] = deque()
    pool = ThreadPoolExecutor(threads or cpu_count(), thread_name_prefix="decode")
    with pool:
        try:
            for position, file in enumerate(files):
                waiting.append((position, pool.submit(preprocessing, file)))
                while len(waiting) * preprocessing.crops > 2 * CROPS_AT_ONCE and len(waiting) > 1:
                    yield _outcome(*waiting.popleft())
            while waiting:
                yield _outcome(*waiting.popleft())
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _outcome(position: int, future: Future[Floats]) -> tuple[int, Floats | Exception]:
    error = future.exception()
    # Decoders raise anything on a broken file; a missing package is not the fault of the image.
    if isinstance(error, UnseenError) or (error is not None and not isinstance(error, Exception)):
        raise error
    return position, error if error is not None else future.result()


# ---- a whole extraction, to a file -----------------------------------------------------------------


@dataclass
class Extraction:
    """What an extraction did: where the features are, their shape, and the images left out."""

    out: Path
    encoder: EncoderCard
    shape: tuple[int, int] = (0, 0)
    class_names: tuple[str, ...] = ()
    n_resumed: int = 0
    images_per_second: float = 0.0
    unreadable: dict[str, str] = field(default_factory=dict)  # name -> reason
    stamps: list[str] | None = field(default=None, repr=False)  # identities of the images, for reuse


def extract(
    source: str | os.PathLike[str],
    backbone: AnyBackbone,
    out: str | os.PathLike[str],
    *,
    preprocessing: Preprocessing | None = None,
    threads: int | None = None,
    strict: bool = False,
    quiet: bool = True,
    reuse: bool = False,
) -> Extraction:
    """Write the features of all images of ``source`` to ``out``; continue what was interrupted.

    Parameters
    ----------
    source : folder or list file
        See ``find_images``.
    backbone : str, path, callable or Backbone
        See ``open_backbone``.
    out : path
        A file ending in ``.npz`` with ``X``, ``y``, ``class_names``, ``files``, ``encoder``; or else a folder
        with ``features.npy``, ``labels.csv`` and ``encoder.json``. Without class names there is no ``y``.
    preprocessing : Preprocessing, optional
        By default what the configuration beside the backbone says, or else the whole image, squashed.
    threads : int, optional
        Threads that decode images; one per processor by default.
    strict : bool
        Stop at the first image that cannot be read, instead of leaving it out.
    quiet : bool
        Show no progress.
    reuse : bool
        Take features from ``out``, where an earlier extraction by the same backbone wrote them, of images
        that have not changed since.
    """
    out, images = Path(out), find_images(source)
    backbone = open_backbone(backbone, threads=threads)
    preprocessing = preprocessing or backbone.preprocessing
    card: EncoderCard = {**backbone.describe(), "preprocessing": asdict(preprocessing)}
    result = Extraction(out, card, class_names=images.class_names)
    names = [images.identity(i) for i in range(len(images))]

    def leave_out(position: int, error: Exception) -> None:
        name = images.names[todo[position]]
        if strict:
            raise UnseenError(f"Cannot read the image {name!r}: {one_line(error)}")
        result.unreadable[name] = one_line(error)

    out.parent.mkdir(parents=True, exist_ok=True)
    stored = _read_stored(out, card) if reuse else None
    if stored is not None and stored.stamps == names:
        result.shape, result.n_resumed = stored.shape, len(names)
        return result
    with reject_bombs(), Parts(_parts_folder(out), card) as parts:
        if stored is not None:
            stored.copy_rows(parts, set(names))
        todo = [i for i, name in enumerate(names) if name not in parts]
        result.n_resumed = len(names) - len(todo)
        files = [images.path(i) for i in todo]
        stream = stream_features(files, backbone, preprocessing, on_error=leave_out, threads=threads)
        for positions, rows in _with_progress(stream, len(todo), result, quiet):
            parts.add([names[todo[i]] for i in positions], rows)
    kept = [i for i, name in enumerate(names) if name in parts]
    result.stamps = [names[i] for i in kept] if reuse else None
    _write_result(images, kept, names, parts, result)
    parts.remove()
    return result


def n_stored(out: str | os.PathLike[str]) -> int:
    """Return how many images an interrupted extraction to ``out`` has stored."""
    return sum(len(names) for _, names in stored_names(_parts_folder(Path(out))))


def _parts_folder(out: Path) -> Path:
    return out.parent / f".{out.name}.parts"


def _with_progress(
    stream: Iterator[tuple[list[int], Floats]], total: int, result: Extraction, quiet: bool
) -> Iterator[tuple[list[int], Floats]]:
    start, done = time.perf_counter(), 0
    with progress(total, "Extracting features", unit="images", quiet=quiet) as advance:
        for positions, rows in stream:
            yield positions, rows
            done += len(positions)
            result.images_per_second = done / (time.perf_counter() - start)
            advance(len(positions), f"{result.images_per_second:.1f} images/s")


# ---- features of an earlier extraction ---------------------------------------------------------------


@dataclass(frozen=True)
class _Stored:
    """Features in an ``.npz``, and the identities of the images that they belong to."""

    X: Member
    stamps: list[str]

    @property
    def shape(self) -> tuple[int, int]:
        return self.X.shape[0], self.X.shape[1]

    def copy_rows(self, parts: Parts, wanted: set[str]) -> None:
        """Add the rows of the images that are still wanted."""
        slices = list(row_blocks(self.shape[0]))
        for block, rows in zip(slices, self.X.blocks(slices)):
            names = self.stamps[block]
            kept = [i for i, name in enumerate(names) if name in wanted and name not in parts]
            parts.add([names[i] for i in kept], rows[kept])
        parts.flush()


def is_cache(path: Path) -> bool:
    """Return whether an extraction that can be reused wrote this file."""
    with suppress(UnseenError, OSError):
        return Member.find(path, "stamps") is not None
    return False


def _read_stored(out: Path, card: EncoderCard) -> _Stored | None:
    """Return what an earlier extraction left in ``out``; None if another encoder made it."""
    with suppress(UnseenError):
        if out.is_file() and read_encoder_card(out) == json.loads(json.dumps(card)):
            stamps, X = read_npz(out, ["stamps"]).get("stamps"), Member.find(out, "X")
            if stamps is not None and X is not None and X.dtype == np.float32 and len(stamps) == X.shape[0]:
                return _Stored(X, stamps.tolist())
    return None


# ---- features to files -----------------------------------------------------------------------------


def _write_result(
    images: ImageFiles, kept: list[int], names: Sequence[str], parts: Parts, result: Extraction
) -> None:
    if not kept:
        name, reason = next(iter(result.unreadable.items()))
        raise UnseenError(f"None of the {len(names)} images can be read, the first {name!r}: {reason}")
    rows = parts.blocks([names[i] for i in kept])
    first = next(rows)
    result.shape = (len(kept), first.shape[1])
    files = [images.names[i] for i in kept]
    y = None if images.y is None else images.y[kept]
    write = _write_npz if result.out.suffix == ".npz" else _write_folder
    write(result, itertools.chain([first], rows), files, y)


def _write_npz(
    result: Extraction, rows: Iterable[Floats], files: Sequence[str], y: IndexArray | None
) -> None:
    arrays = {"files": np.array(files), ENCODER_KEY: encoder_array(result.encoder)}
    if result.stamps is not None:
        arrays["stamps"] = np.array(result.stamps)
    if y is not None:
        arrays |= {"y": y.astype(np.int64), "class_names": np.array(result.class_names)}
    with atomic_path(result.out) as path, zipfile.ZipFile(path, "w") as archive:
        with archive.open("X.npy", "w", force_zip64=True) as member:
            _write_npy(member, result.shape, rows)
        for key, array in arrays.items():
            with archive.open(f"{key}.npy", "w") as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


def _write_folder(
    result: Extraction, rows: Iterable[Floats], files: Sequence[str], y: IndexArray | None
) -> None:
    result.out.mkdir(exist_ok=True)
    with atomic_path(result.out / "features.npy") as path, open(path, "wb") as file:
        _write_npy(file, result.shape, rows)
    with atomic_path(result.out / ENCODER_FILE) as path:
        path.write_text(json.dumps(result.encoder, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    columns = {"file": files} if y is None else {"file": files, "class": [result.class_names[i] for i in y]}
    write_csv(result.out / "labels.csv", [list(columns), *zip(*columns.values())])


def _write_npy(file: IO[bytes], shape: tuple[int, int], rows: Iterable[Floats]) -> None:
    """Write an array block by block: it may be larger than memory."""
    header = {"descr": "<f4", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)
    for block in rows:
        file.write(np.ascontiguousarray(block, dtype="<f4").tobytes())
