"""From images to features: decoding in threads beside the backbone, in batches, resumable.

The paper describes an image by the last pooling units of a network trained on ImageNet, for the whole
image or as the mean over ten crops.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from unseen._core.blocks import row_blocks
from unseen._core.csv_files import write_csv
from unseen._core.files import atomic_path
from unseen._core.npz import npz_names, read_npz
from unseen._core.progress import progress
from unseen._core.rows import read_ahead
from unseen.datasets.features import (
    ENCODER_FILE,
    ENCODER_KEY,
    STAMPS_KEY,
    EncoderCard,
    encoder_array,
    read_encoder_card,
)
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
    files: Sequence[str | os.PathLike[str]],
    backbone: Callable[[Floats], Floats],
    preprocessing: Preprocessing,
    *,
    on_error: Callable[[int, Exception], None],
    threads: int | None = None,
) -> Iterator[tuple[list[int], Floats]]:
    """Yield (positions in ``files``, their features) in order while the next images are decoded.

    An image that cannot be read goes to ``on_error(position, error)``, which may raise.
    """
    from joblib import cpu_count

    def decode(file: str | os.PathLike[str]) -> Floats | Exception:
        try:
            return preprocessing(file)
        except UnseenError:  # a missing package is not the fault of the image
            raise
        except Exception as error:  # decoders raise anything on a broken file
            return error

    blocks = list(row_blocks(len(files), -(-CROPS_AT_ONCE // preprocessing.crops)))
    pool = ThreadPoolExecutor(threads or cpu_count(), thread_name_prefix="decode")
    try:
        batches = read_ahead(lambda block: list(pool.map(decode, files[block])), blocks)
        for block, batch in zip(blocks, batches):
            ready: dict[int, Floats] = {}
            for position, crops in enumerate(batch, start=block.start):
                if isinstance(crops, Exception):
                    on_error(position, crops)
                else:
                    ready[position] = crops
            if ready:
                rows = _run_backbone(backbone, np.concatenate([*ready.values()]))  # (images * crops, width)
                yield list(ready), rows.reshape(len(ready), -1, rows.shape[1]).mean(axis=1)
    finally:
        pool.shutdown(cancel_futures=True)


# ---- a whole extraction, to a file -----------------------------------------------------------------


@dataclass
class Extraction:
    """What an extraction did: where the features are, their shape, and the images left out."""

    out: Path
    encoder: EncoderCard
    class_names: tuple[str, ...]
    shape: tuple[int, int] = (0, 0)
    n_reused: int = 0
    unreadable: dict[str, str] = field(default_factory=dict)  # name -> reason


def extract(
    source: str | os.PathLike[str],
    backbone: AnyBackbone,
    out: str | os.PathLike[str],
    *,
    preprocessing: Preprocessing | None = None,
    threads: int | None = None,
    quiet: bool = True,
) -> Extraction:
    """Write the features of all images of ``source`` to ``out``; continue what was interrupted.

    Features that the same ONNX model has written to ``out`` before are kept for images that have not changed
    since.

    Parameters
    ----------
    source : folder or image
        See ``find_images``.
    backbone : str, path, callable or Backbone
        See ``open_backbone``.
    out : path
        A file ending in ``.npz`` with ``X``, ``y``, ``class_names``, ``files``, ``stamps``, ``encoder``; or
        else a folder with ``features.npy``, ``labels.csv`` and ``encoder.json``, for features larger than
        memory. Without class folders there is no ``y``.
    preprocessing : Preprocessing, optional
        By default what the configuration beside the backbone says, or else the whole image, squashed.
    threads : int, optional
        Threads that decode images; one per processor by default.
    quiet : bool
        Show no progress.
    """
    out, images = Path(out), find_images(source)
    backbone = open_backbone(backbone, threads=threads)
    preprocessing = preprocessing or backbone.preprocessing
    card: EncoderCard = {**backbone.describe(), "preprocessing": asdict(preprocessing)}
    result = Extraction(out, card, images.class_names)
    stamps = [images.stamp(i) for i in range(len(images.names))]

    def leave_out(position: int, error: Exception) -> None:
        result.unreadable[images.names[todo[position]]] = one_line(error)

    out.parent.mkdir(parents=True, exist_ok=True)
    earlier = _read_earlier(out, card)
    if list(earlier) == stamps:
        result.shape, result.n_reused = (len(stamps), len(earlier[stamps[0]])), len(stamps)
        return result
    with reject_bombs(), Parts(_parts_folder(out), card) as parts:
        kept = [stamp for stamp in stamps if stamp in earlier and stamp not in parts]
        parts.add(kept, np.array([earlier[stamp] for stamp in kept]))
        parts.flush()
        todo = [i for i, stamp in enumerate(stamps) if stamp not in parts]
        result.n_reused = len(stamps) - len(todo)
        files = [images.path(i) for i in todo]
        stream = stream_features(files, backbone, preprocessing, on_error=leave_out, threads=threads)
        with progress(len(todo), "Extracting features", unit="images", quiet=quiet) as advance:
            for positions, rows in stream:
                parts.add([stamps[todo[i]] for i in positions], rows)
                advance(len(positions), "")
    _write_result(images, stamps, parts, result)
    shutil.rmtree(parts.folder)
    return result


def n_stored(out: str | os.PathLike[str]) -> int:
    """Return how many images an interrupted extraction to ``out`` has stored."""
    return sum(len(names) for _, names in stored_names(_parts_folder(Path(out))))


def is_extraction(path: Path) -> bool:
    """Return whether an extraction wrote this file."""
    with suppress(UnseenError, OSError):
        return STAMPS_KEY in npz_names(path)
    return False


def _parts_folder(out: Path) -> Path:
    return out.parent / f".{out.name}.parts"


def _read_earlier(out: Path, card: EncoderCard) -> dict[str, Floats]:
    """Return the features in ``out`` by the stamp of their image; none if another model made them."""
    with suppress(KeyError, ValueError):
        if "sha256" in card and out.is_file() and read_encoder_card(out) == json.loads(json.dumps(card)):
            content = read_npz(out, [STAMPS_KEY, "X"])
            return dict(zip(content[STAMPS_KEY].tolist(), content["X"], strict=True))
    return {}


# ---- features to files -----------------------------------------------------------------------------


def _write_result(images: ImageFiles, stamps: Sequence[str], parts: Parts, result: Extraction) -> None:
    kept = [i for i, stamp in enumerate(stamps) if stamp in parts]
    if not kept:
        name, reason = next(iter(result.unreadable.items()))
        raise UnseenError(f"None of the {len(stamps)} images can be read, the first {name!r}: {reason}")
    kept_stamps = [stamps[i] for i in kept]
    rows = parts.blocks(kept_stamps)
    first = next(rows)
    result.shape = (len(kept), first.shape[1])
    arrays = {"files": np.array([images.names[i] for i in kept]), STAMPS_KEY: np.array(kept_stamps)}
    if images.y is not None:
        arrays |= {"y": images.y[kept].astype(np.int64), "class_names": np.array(images.class_names)}
    write = _write_npz if result.out.suffix == ".npz" else _write_folder
    write(result, itertools.chain([first], rows), arrays)


def _write_npz(result: Extraction, rows: Iterable[Floats], arrays: Mapping[str, NDArray[Any]]) -> None:
    with atomic_path(result.out) as path, zipfile.ZipFile(path, "w") as archive:
        with archive.open("X.npy", "w", force_zip64=True) as member:
            _write_npy(member, result.shape, rows)
        for key, array in {**arrays, ENCODER_KEY: encoder_array(result.encoder)}.items():
            with archive.open(f"{key}.npy", "w") as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


def _write_folder(result: Extraction, rows: Iterable[Floats], arrays: Mapping[str, NDArray[Any]]) -> None:
    columns = {"file": arrays["files"]}
    if "y" in arrays:
        columns["class"] = arrays["class_names"][arrays["y"]]
    result.out.mkdir(exist_ok=True)
    with atomic_path(result.out / "features.npy") as path, open(path, "wb") as file:
        _write_npy(file, result.shape, rows)
    with atomic_path(result.out / ENCODER_FILE) as path:
        path.write_text(json.dumps(result.encoder, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    write_csv(result.out / "labels.csv", [columns, *zip(*columns.values())])


def _write_npy(file: IO[bytes], shape: tuple[int, int], rows: Iterable[Floats]) -> None:
    """Write an array block by block: it may be larger than memory."""
    header = {"descr": "<f4", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)
    for block in rows:
        file.write(np.ascontiguousarray(block, dtype="<f4").tobytes())
