"""Extraction against a bare ONNX Runtime loop on ready-made tensors, in the same run."""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks import Row, table
from unseen.encoders.backbone import Backbone
from unseen.encoders.extraction import extract
from unseen.encoders.images import find_images
from unseen.encoders.preprocessing import Preprocessing

DATA = Path(os.environ.get("UNSEEN_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
BATCH = 16


def run(small: bool = False) -> list[Row]:
    """Return rows (name, value, unit, demanded); no row where images and backbone are absent."""
    file, images = DATA.parent / "models" / "resnet50.onnx", DATA / "images"
    if not (file.is_file() and images.is_dir()):
        return []
    backbone = Backbone(file)
    files = [find_images(images).path(i).resolve() for i in range(24)]
    tensors = np.concatenate([Preprocessing()(path) for path in files[:BATCH]])
    backbone(tensors)  # warm-up
    # The two take turns, so that other work on the machine slows both.
    turns = [(_bare(backbone, tensors, n), _whole(backbone, files, n)) for n in ([48] if small else [96] * 4)]
    bare, whole = (statistics.median(side) for side in zip(*turns))
    ratio = statistics.median(w / b for b, w in turns)
    return [
        ("bare ONNX Runtime loop", bare, "images/s", ""),
        ("unseen extract", whole, "images/s", ""),
        ("extract / bare loop", ratio, "ratio", "" if small else ">= 0.8"),
    ]


def _bare(backbone: Backbone, tensors: np.ndarray, n: int) -> float:
    start = time.perf_counter()
    for _ in range(n // BATCH):
        backbone.session.run(None, {backbone.input: tensors})
    return n / (time.perf_counter() - start)


def _whole(backbone: Backbone, files: list[Path], n: int) -> float:
    """Extract from JPEG files to an .npz: everything between the call and its return counts."""
    with tempfile.TemporaryDirectory() as folder:
        listed = Path(folder) / "list.txt"
        listed.write_text("\n".join(str(files[i % len(files)]) for i in range(n)))
        start = time.perf_counter()
        extract(listed, backbone, Path(folder) / "features.npz")
        return n / (time.perf_counter() - start)


if __name__ == "__main__":
    print(table(run()))
