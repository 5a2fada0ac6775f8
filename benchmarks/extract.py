"""Extraction against a bare ONNX Runtime loop on ready-made tensors, in the same run."""

from __future__ import annotations

import os
import resource
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from benchmarks import Row, table
from unseen.encoders.backbone import Backbone
from unseen.encoders.extraction import extract
from unseen.encoders.images import find_images

DATA = Path(os.environ.get("UNSEEN_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
BATCH = 16


def run(small: bool = False) -> list[Row]:
    """Return rows (name, value, unit, demanded): a vision transformer and, where it is there, a ResNet-50."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        files = _photographs(folder)
        rows = _compare("transformer", write_transformer(folder / "vit.onnx", small), files, folder, small)
        resnet = DATA.parent / "models" / "resnet50.onnx"
        if resnet.is_file() and not small:
            rows += _compare("ResNet-50", resnet, files, folder, small)
        rows += _memory(folder / "vit.onnx", files, folder, 32)
    return rows


def _compare(name: str, model: Path, files: list[Path], folder: Path, small: bool) -> list[Row]:
    backbone = Backbone(model)
    tensors = np.concatenate([backbone.preprocessing(path) for path in files[:BATCH]])
    backbone(tensors)  # warm-up
    n, turns = (64, 1) if small else (128, 3)
    # The two take turns, so that other work on the machine slows both.
    seconds = [(_bare(backbone, tensors, n), _whole(backbone, files, folder, n)) for _ in range(turns)]
    bare, whole = (n / statistics.median(side) for side in zip(*seconds))
    ratio = statistics.median(bare / whole for bare, whole in seconds)
    return [
        (f"{name}: bare ONNX Runtime loop", bare, "images/s", ""),
        (f"{name}: unseen extract", whole, "images/s", ""),
        (f"{name}: extract / bare loop", ratio, "ratio", "" if small else ">= 0.9"),
        (
            f"{name}: processor time, bare / extract, one thread",
            _work(model, files, folder, n // 4),
            "ratio",
            "",
        ),
    ]


def _work(model: Path, files: list[Path], folder: Path, n: int) -> float:
    """Return the share of the network in the work; other programs on the machine hardly change it."""
    backbone = Backbone(model, threads=1)
    tensors = np.concatenate([backbone.preprocessing(path) for path in files[:BATCH]])
    backbone(tensors)  # warm-up
    start = time.process_time()
    _bare(backbone, tensors, n)
    middle = time.process_time()
    extract(_link(folder / "photographs", files, n), backbone, folder / "features.npz", threads=1)
    return (middle - start) / (time.process_time() - middle)


def _bare(backbone: Backbone, tensors: np.ndarray, n: int) -> float:
    start = time.perf_counter()
    for _ in range(n // BATCH):
        backbone.session.run([backbone.output], {backbone.input: tensors})
    return time.perf_counter() - start


def _whole(backbone: Backbone, files: list[Path], folder: Path, n: int) -> float:
    """Extract from JPEG files to an .npz: everything between the call and its return counts."""
    images = _link(folder / "photographs", files, n)
    start = time.perf_counter()
    extract(images, backbone, folder / "features.npz")
    return time.perf_counter() - start


def _memory(model: Path, files: list[Path], folder: Path, n: int) -> list[Row]:
    """Extract n images, then four times as many: the peak of the process must not follow.

    How many images wait for the network depends on what else the machine does, so the least of three
    measurements counts, each in a process of its own.
    """
    ratios = []
    for _ in range(3):
        with ProcessPoolExecutor(1, get_context("spawn")) as process:
            ratios.append(process.submit(_growth, model, files, folder, n).result())
    return [("peak memory, four times the images / once", min(ratios), "ratio", "<= 1.05")]


def _growth(model: Path, files: list[Path], folder: Path, n: int) -> float:
    backbone, peaks = Backbone(model), []
    for factor in (1, 1, 4):  # twice for the memory that stays: libraries, threads, images that wait
        extract(_link(folder / "photographs", files, factor * n), backbone, folder / "features.npz")
        peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    return peaks[2] / peaks[1]


def _link(folder: Path, files: list[Path], n: int) -> Path:
    """Fill a folder with n images; earlier features of the same files would be reused, so those go."""
    (folder.parent / "features.npz").unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for number in range(n):
        file = files[number % len(files)]
        (folder / f"{number:06d}{file.suffix}").symlink_to(file)
    return folder


def _photographs(folder: Path) -> list[Path]:
    """Return real photographs, or else smooth noise of the usual size, as JPEG files."""
    if (DATA / "images").is_dir():
        found = find_images(DATA / "images")
        return [found.path(i).resolve() for i in range(len(found.names))]
    return list(_noise(folder))


def _noise(folder: Path) -> Iterator[Path]:
    from PIL import Image

    rng = np.random.default_rng(0)
    for number in range(24):
        small = rng.integers(0, 256, (30, 40, 3), dtype=np.uint8)
        Image.fromarray(small).resize((500, 375)).save(folder / f"{number}.jpg", quality=90)
        yield folder / f"{number}.jpg"


# ---- a transformer ---------------------------------------------------------------------------------


def write_transformer(path: Path, small: bool = False) -> Path:
    """Write a vision transformer with random weights: patches of 16, 12 layers of width 384 (ViT-S/16)."""
    from onnx import TensorProto, helper, numpy_helper, save

    width, depth, heads = (96, 2, 3) if small else (384, 12, 6)
    rng, tokens = np.random.default_rng(0), 196
    nodes, constants = [], {}

    def constant(name: str, *shape: int, scale: float = 0.02) -> str:
        constants[name] = rng.normal(scale=scale, size=shape).astype(np.float32)
        return name

    def add(kind: str, inputs: list[str], output: str, **options: object) -> str:
        nodes.append(helper.make_node(kind, inputs, [output], **options))
        return output

    def norm(x: str, name: str) -> str:
        constants[f"{name}_g"], constants[f"{name}_b"] = (
            np.ones(width, np.float32),
            np.zeros(width, np.float32),
        )
        return add("LayerNormalization", [x, f"{name}_g", f"{name}_b"], name, axis=-1)

    def linear(x: str, name: str, n_in: int, n_out: int) -> str:
        product = add("MatMul", [x, constant(f"{name}_w", n_in, n_out)], f"{name}_p")
        return add("Add", [product, constant(f"{name}_c", n_out)], name)

    def attention(x: str, name: str) -> str:
        parts = {}
        for part, order in (("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1]), ("v", [0, 2, 1, 3])):
            rows = add("Reshape", [linear(x, f"{name}_{part}", width, width), "heads"], f"{name}_{part}r")
            parts[part] = add("Transpose", [rows], f"{name}_{part}t", perm=order)
        scores = add("Mul", [add("MatMul", [parts["q"], parts["k"]], f"{name}_s"), "scale"], f"{name}_ss")
        mixed = add("MatMul", [add("Softmax", [scores], f"{name}_a", axis=-1), parts["v"]], f"{name}_m")
        flat = add(
            "Reshape", [add("Transpose", [mixed], f"{name}_mt", perm=[0, 2, 1, 3]), "flat"], f"{name}_f"
        )
        return linear(flat, f"{name}_o", width, width)

    def mlp(x: str, name: str) -> str:
        hidden = linear(x, f"{name}_1", width, 4 * width)
        gate = add(
            "Mul", [add("Erf", [add("Mul", [hidden, "root"], f"{name}_e")], f"{name}_f"), hidden], f"{name}_g"
        )
        return linear(add("Add", [gate, hidden], f"{name}_h"), f"{name}_2", 4 * width, width)

    constants["heads"] = np.array([0, tokens, heads, width // heads], dtype=np.int64)
    constants["flat"] = np.array([0, tokens, width], dtype=np.int64)
    constants["rows"] = np.array([0, width, tokens], dtype=np.int64)
    constants["scale"] = np.float32((width // heads) ** -0.5).reshape(1)
    constants["root"] = np.float32(0.5**0.5).reshape(1)
    patches = add("Conv", ["pixel_values", constant("patch", width, 3, 16, 16)], "map", strides=[16, 16])
    x = add("Transpose", [add("Reshape", [patches, "rows"], "columns")], "tokens", perm=[0, 2, 1])
    x = add("Add", [x, constant("positions", tokens, width)], "start")
    for layer in range(depth):
        x = add("Add", [x, attention(norm(x, f"n{layer}"), f"a{layer}")], f"x{layer}")
        x = add("Add", [x, mlp(norm(x, f"o{layer}"), f"m{layer}")], f"y{layer}")
    add("ReduceMean", [norm(x, "end")], "features", axes=[1], keepdims=0)
    graph = helper.make_graph(
        nodes,
        "transformer",
        [helper.make_tensor_value_info("pixel_values", TensorProto.FLOAT, ["batch", 3, 224, 224])],
        [helper.make_tensor_value_info("features", TensorProto.FLOAT, ["batch", width])],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


if __name__ == "__main__":
    print(table(run()))
