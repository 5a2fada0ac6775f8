"""What is damaged and how it is read: every kind of file that users hand to the package."""

from __future__ import annotations

import functools
import io
import json
import os
import random
import shutil
import signal
import struct
import tempfile
import time
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io

import small_data as small
from fuzzing import mutate

Maker = Callable[[random.Random | None], bytes]  # a damaged file; a whole one without a random number
FORMATS = ("PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP", "PPM")


# ---- whole files, damaged outside or inside of their wrapping --------------------------------------------


def damaged(whole: bytes) -> Maker:
    return lambda rng: mutate(whole, rng) if rng else whole


def mat5(content: dict[str, Any]) -> list[Maker]:
    """Plain and deflated files, and deflated ones whose damage lies below the deflation."""
    plain, deflated = io.BytesIO(), io.BytesIO()
    scipy.io.savemat(plain, content)
    scipy.io.savemat(deflated, content, do_compression=True)

    def inside(rng: random.Random) -> bytes:
        whole = plain.getvalue()
        return whole[:128] + b"".join(_deflate(mutate(part, rng)) for part in _elements(whole))

    return [damaged(plain.getvalue()), damaged(deflated.getvalue()), inside]


def _elements(whole: bytes) -> list[bytes]:
    parts, place = [], 128
    while place < len(whole):
        length = struct.unpack_from("<I", whole, place + 4)[0]
        parts.append(whole[place : place + 8 + length])
        place += 8 + length
    return parts


def _deflate(content: bytes) -> bytes:
    packed = zlib.compress(content)
    return struct.pack("<II", 15, len(packed)) + packed


def npz(content: dict[str, Any]) -> list[Maker]:
    """Plain and deflated archives, and ones with a damaged array under a right checksum."""
    plain, deflated = io.BytesIO(), io.BytesIO()
    np.savez(plain, **content)
    np.savez_compressed(deflated, **content)

    def inside(rng: random.Random) -> bytes:
        out, hurt = io.BytesIO(), rng.choice(list(content))
        with zipfile.ZipFile(plain) as whole, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            for name in whole.namelist():
                member = whole.read(name)
                archive.writestr(name, mutate(member, rng) if name == f"{hurt}.npy" else member)
        return out.getvalue()

    return [damaged(plain.getvalue()), damaged(deflated.getvalue()), inside]


def npy() -> list[Maker]:
    out = io.BytesIO()
    np.save(out, small.arrays()[0])
    return [damaged(out.getvalue())]


@functools.cache
def own_folder() -> Path:
    """A whole folder with features.npy and tables."""
    return small.write_folder(Path(tempfile.mkdtemp()) / "own")


@functools.cache
def xlsa17_folder(hdf5: bool = False) -> Path:
    folder = small.write_xlsa17(Path(tempfile.mkdtemp()) / "BIRDS", dtype=np.float64)
    return small.as_hdf5(folder) if hdf5 else folder


@functools.cache
def model_file() -> bytes:
    """A model as ``unseen fit`` writes it."""
    from unseen.datasets import load_dataset
    from unseen.models.io import save_model
    from unseen.models.training import train

    with tempfile.TemporaryDirectory() as folder:
        data = load_dataset(small.write_npz(Path(folder) / "own.npz"))
        with warnings.catch_warnings(action="ignore"):  # so few samples show little
            save_model(train(data, "lda")[0], Path(folder) / "m")
        return (Path(folder) / "m").read_bytes()


def models() -> list[Maker]:
    """Damaged files, and damaged descriptions under a right checksum."""
    from safetensors.numpy import load, save

    from unseen.models.files import checksum

    whole = model_file()
    length = struct.unpack_from("<Q", whole)[0]
    metadata = json.loads(whole[8 : 8 + length])["__metadata__"]
    tensors = load(whole)

    def sealed(rng: random.Random) -> bytes:
        text = metadata["model"]
        while text == metadata["model"]:
            text = mutate(text.encode(), rng).decode("utf-8", "replace")
        return save(tensors, {**metadata, "model": text, "sha256": checksum(text, tensors)})

    def other_tensors(rng: random.Random) -> bytes:
        hurt = {name: _other_tensor(tensor, rng) for name, tensor in tensors.items() if rng.random() < 0.95}
        return save(hurt, {**metadata, "sha256": checksum(metadata["model"], hurt)})

    def other_values(rng: random.Random) -> bytes:
        state = json.loads(metadata["model"])
        for _ in range(rng.choice((1, 1, 2))):
            _replace_value(state, rng)
        text = json.dumps(state)
        return save(tensors, {**metadata, "model": text, "sha256": checksum(text, tensors)})

    return [damaged(whole), sealed, other_tensors, other_values]


def _replace_value(state: Any, rng: random.Random) -> None:
    """Put another value, or nothing, in one place of a JSON document."""
    key = rng.choice(list(state) if isinstance(state, dict) else range(len(state)))
    if isinstance(state[key], dict | list) and state[key] and rng.random() < 0.8:
        _replace_value(state[key], rng)
    elif rng.random() < 0.2:
        del state[key]
    else:
        state[key] = rng.choice((None, True, -1, 0, 2**70, 0.5, np.nan, np.inf, "", "text", [], [1.0], {}))


def _other_tensor(tensor: np.ndarray, rng: random.Random) -> np.ndarray:
    choices: list[Callable[[], np.ndarray]] = [
        lambda: tensor,
        lambda: tensor,
        lambda: tensor,
        lambda: np.ascontiguousarray(tensor[: rng.randrange(len(tensor) + 1)]),
        lambda: np.ascontiguousarray(tensor[..., None]),
        lambda: tensor.astype(rng.choice([np.float32, np.int64, np.bool_, np.uint8])),
        lambda: np.full_like(tensor, np.nan if tensor.dtype.kind == "f" else 1),
        lambda: np.zeros((0,), tensor.dtype),
    ]
    return rng.choice(choices)()


def images() -> list[Maker]:
    from PIL import Image

    pixels = np.random.default_rng(0).integers(0, 255, (40, 30, 3), dtype=np.uint8)
    whole = []
    for name in FORMATS:
        out = io.BytesIO()
        Image.fromarray(pixels).save(out, name)
        whole.append(damaged(out.getvalue()))
    return whole


def scores() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 6, 40)
    names = np.array([f"c{i}" for i in range(6)])
    return {"scores": rng.normal(size=(40, 6)), "y": y, "seen": np.arange(6) < 3, "class_names": names}


def score_table() -> list[Maker]:
    content = scores()
    lines = [",".join([*content["class_names"], "y"])]
    for row, label in zip(content["scores"], content["y"]):
        lines.append(",".join([*(f"{value:.3f}" for value in row), f"c{label}"]))
    return [damaged("\n".join(lines).encode())]


def parquet() -> list[Maker]:
    import pyarrow
    from pyarrow import parquet as pq

    content = scores()
    columns = {name: content["scores"][:, i] for i, name in enumerate(content["class_names"])}
    out = io.BytesIO()
    pq.write_table(pyarrow.table({**columns, "y": [f"c{c}" for c in content["y"]]}), out)
    return [damaged(out.getvalue())]


@functools.cache
def store_file() -> bytes:
    """A run folder's file with one run."""
    from unseen.benchmark.experiment import Experiment
    from unseen.benchmark.runner import plan, run_bench
    from unseen.benchmark.store import Store

    folder = Path(tempfile.mkdtemp())
    small.write_npz(folder / "own.npz")
    with Store(folder, create=True) as store:
        run_bench(
            plan([Experiment.load(str(folder / "own.npz"))], ["linear-sv"], 1), store, jobs=1, quiet=True
        )
    return store.path.read_bytes()


@functools.cache
def network_folder() -> Path:
    """A network in one file, and one whose weights lie beside it."""
    from onnx_models import small_network

    folder = Path(tempfile.mkdtemp())
    small_network(folder / "whole.onnx")
    small_network(folder / "network.onnx", "weights.bin")
    return folder


@functools.cache
def encoder_folder() -> Path:
    """A text encoder that takes token numbers, with its tokenizer."""
    from onnx_models import token_encoder, write_tokenizer

    folder = Path(tempfile.mkdtemp())
    write_tokenizer(folder)
    return token_encoder(folder).parent


def sample_table() -> bytes:
    """A table of samples with labels, as ``--prototypes`` describes them in another."""
    X, y, _ = small.arrays()
    rows = [",".join([small.CLASS_NAMES[c], *(f"{v:.3f}" for v in row)]) for row, c in zip(X, y)]
    return "\n".join(["bird,a,b,c,d,e", *rows]).encode()


def parquet_samples() -> list[Maker]:
    import pyarrow.csv
    from pyarrow import parquet as pq

    out = io.BytesIO()
    pq.write_table(pyarrow.csv.read_csv(io.BytesIO(sample_table())), out)
    return [damaged(out.getvalue())]


def taxonomy_tables() -> list[Maker]:
    """Groups in columns, and pairs of child and parent."""
    genera = {name: f"genus {int(name[:3]) // 3}" for name in small.CLASS_NAMES}
    groups = "\n".join(f"{name},{genus},bird" for name, genus in genera.items())
    pairs = "\n".join(f"{name},{genus}" for name, genus in genera.items())
    return [damaged(f"class,genus,family\n{groups}\n".encode()), damaged(f"child,parent\n{pairs}".encode())]


def files_of(folder: Callable[[], Path], name: str) -> Callable[[], list[Maker]]:
    return lambda: [damaged((folder() / name).read_bytes())]


WRITERS: dict[str, Callable[[], list[Maker]]] = {
    "mat v5 splits": lambda: mat5(small.split_variables(*small.arrays()[1:])),
    "mat v5 features": lambda: mat5(small.feature_variables()),
    "mat v7.3 splits": files_of(lambda: xlsa17_folder(True), "att_splits.mat"),
    "mat v7.3 features": files_of(lambda: xlsa17_folder(True), "res101.mat"),
    "npz data": lambda: npz(small.npz_content()),
    "npz features": lambda: npz({"X": small.arrays()[0], "files": np.array(["a"] * 90)}),
    "npz scores": lambda: npz(scores()),
    "npy features": npy,
    "npy samples": npy,
    "csv labels": files_of(own_folder, "labels.csv"),
    "csv prototypes": files_of(own_folder, "prototypes.csv"),
    "csv splits": files_of(own_folder, "splits.csv"),
    "csv scores": score_table,
    "csv samples": lambda: [damaged(sample_table())],
    "parquet samples": parquet_samples,
    "csv taxonomy": taxonomy_tables,
    "parquet scores": parquet,
    "safetensors model": models,
    "sqlite store": lambda: [damaged(store_file())],
    "image": images,
    "onnx backbone": files_of(network_folder, "whole.onnx"),
    "onnx split backbone": files_of(network_folder, "network.onnx"),
    "bin weights": files_of(network_folder, "weights.bin"),
    "onnx encoder": files_of(encoder_folder, "text.onnx"),
    "json tokenizer": files_of(encoder_folder, "tokenizer.json"),
}


# ---- reading, as the commands do ------------------------------------------------------------------------


def in_folder(
    folder: Callable[[], Path], name: str, reader: Callable[[Path], None] | None = None
) -> Callable[[Path], None]:
    """Read a folder in which one file is the damaged one."""

    def read(path: Path) -> None:
        with tempfile.TemporaryDirectory() as place:
            copy = Path(place) / "data"
            shutil.copytree(folder(), copy)
            shutil.copy(path, copy / name)
            (reader or read_data)(copy)

    return read


def read_data(path: Path) -> None:
    from unseen.benchmark.experiment import Experiment
    from unseen.datasets import load_dataset
    from unseen.datasets.inspection import describe

    json.dumps(describe(load_dataset(path, require_features=False)))
    _ = Experiment.load(str(path)).description


def read_samples(path: Path) -> None:
    from unseen.models.io import load_model
    from unseen.models.prediction import open_samples, predict_tables

    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "m").write_bytes(model_file())
        for _ in predict_tables(load_model(Path(place) / "m"), open_samples(path)):
            pass


def read_table(path: Path) -> None:
    from unseen.datasets import load_dataset
    from unseen.datasets.inspection import describe

    data = load_dataset(path, label="bird", prototypes=own_folder() / "prototypes.csv")
    json.dumps(describe(data))
    read_samples(path)


def read_taxonomy(path: Path) -> None:
    from unseen._core.taxonomy import Taxonomy

    p = np.full((1, small.N_CLASSES), 1 / small.N_CLASSES)
    Taxonomy.from_table(path, np.array(small.CLASS_NAMES)).answer(p, 0.5)


def read_scores(path: Path) -> None:
    from unseen.calibration.curve import SeenUnseenCurve
    from unseen.calibration.scores import read_scores

    given = read_scores(path, ["c0", "c1", "c2"] if path.suffix != ".npz" else None)
    _ = SeenUnseenCurve.from_scores(given.scores, given.y, given.seen).h


def load_predictor_or_reject(path: Path) -> None:
    """Predict without the method, which has fewer things to check than the whole model."""
    from unseen.errors import UnseenError
    from unseen.models.prediction import Samples, predict_tables
    from unseen.models.predictor import load_predictor

    with suppress(UnseenError):  # then the whole model is rejected, too
        model = load_predictor(path)
        X = np.random.default_rng(0).normal(size=(3, model.coef_.shape[1]))
        list(predict_tables(model, Samples("X", X.shape, lambda: iter([X])), 3))


def read_model(path: Path) -> None:
    from unseen.models.io import load_model
    from unseen.models.prediction import Samples, predict_tables
    from unseen.models.predictor import load_predictor
    from unseen.report.model_page import describe_model, render_model_page
    from unseen.selection.search import GZSLClassifierCV

    load_predictor_or_reject(path)
    model = load_model(path)
    width = model.coef_.shape[1]
    X = np.random.default_rng(0).normal(size=(3, width))
    samples, options = Samples("X", X.shape, lambda: iter([X])), {}
    if isinstance(model, GZSLClassifierCV):
        json.dumps(model.card().to_json())
        render_model_page(describe_model(model, "model"))
        options = {"reject": 0.05, "coverage": 0.9}
    expected = list(predict_tables(model, samples, 3, **options))
    assert list(predict_tables(load_predictor(path), samples, 3, **options)) == expected
    attributes = getattr(model, "estimator_", model).prototypes_.shape[1]
    model.add_classes(np.ones((1, attributes)), ["new"])


def read_image(path: Path) -> None:
    from unseen.encoders.extraction import stream_features
    from unseen.encoders.images import reject_bombs
    from unseen.encoders.preprocessing import Preprocessing
    from unseen.errors import UnseenError

    def refuse(position: int, error: Exception) -> None:
        if isinstance(error, MemoryError):
            raise error
        raise UnseenError(" ".join(str(error).split()))

    with reject_bombs():
        list(stream_features([path], lambda pixels: pixels.mean((2, 3)), Preprocessing(16), on_error=refuse))


def read_store(path: Path) -> None:
    from unseen.benchmark.store import STORE_FILE, Store
    from unseen.benchmark.summary import summarize_store

    with tempfile.TemporaryDirectory() as place:
        shutil.copy(path, Path(place) / STORE_FILE)
        with Store(place) as store:
            summarize_store(store)
            store.failures()
            store.commands()


def read_backbone(folder: Path) -> None:
    from unseen.encoders.backbone import Backbone

    network = Backbone(folder / "network.onnx", threads=1)
    json.dumps(network.describe())
    network(np.ones((2, 3, network.size, network.size), dtype=np.float32))


def read_encoder(folder: Path) -> None:
    from unseen._core.prototypes import Prototypes
    from unseen.encoders.text import TextEncoder

    Prototypes.from_text({"jay": ["a blue bird", "blue"], "owl": "brown"}, TextEncoder(folder / "text.onnx"))


READERS: dict[str, Callable[[Path], None]] = {
    "mat v5 splits": in_folder(xlsa17_folder, "att_splits.mat"),
    "mat v5 features": in_folder(xlsa17_folder, "res101.mat"),
    "mat v7.3 splits": in_folder(lambda: xlsa17_folder(True), "att_splits.mat"),
    "mat v7.3 features": in_folder(lambda: xlsa17_folder(True), "res101.mat"),
    "npz data": read_data,
    "npz features": read_samples,
    "npz scores": read_scores,
    "npy features": in_folder(own_folder, "features.npy"),
    "npy samples": read_samples,
    "csv labels": in_folder(own_folder, "labels.csv"),
    "csv prototypes": in_folder(own_folder, "prototypes.csv"),
    "csv splits": in_folder(own_folder, "splits.csv"),
    "csv scores": read_scores,
    "csv samples": read_table,
    "parquet samples": read_table,
    "csv taxonomy": read_taxonomy,
    "parquet scores": read_scores,
    "safetensors model": read_model,
    "sqlite store": read_store,
    "image": read_image,
    "onnx backbone": in_folder(network_folder, "network.onnx", read_backbone),
    "onnx split backbone": in_folder(network_folder, "network.onnx", read_backbone),
    "bin weights": in_folder(network_folder, "weights.bin", read_backbone),
    "onnx encoder": in_folder(encoder_folder, "text.onnx", read_encoder),
    "json tokenizer": in_folder(encoder_folder, "tokenizer.json", read_encoder),
}


# what must be noticed if a reader ever does it
FAULTS: dict[str, Callable[[Path], Any]] = {
    "crash": lambda path: os.kill(os.getpid(), signal.SIGSEGV),
    "hang": lambda path: time.sleep(60),
    "eat": lambda path: np.ones(2**40, dtype=np.uint8),
    "fail": lambda path: {}["nothing"],
}


def warm_up(targets: Iterable[str]) -> None:
    """Read a whole file for each target, so that every package is loaded before memory is counted."""
    with tempfile.TemporaryDirectory() as place:
        for target in targets:
            path = Path(place) / f"case.{target.split()[0]}"
            path.write_bytes(WRITERS[target]()[0](None))
            READERS[target](path)
