"""Files that mean harm: bombs that would fill the memory, pickles that would run, names that would escape."""

from __future__ import annotations

import ast
import io
import json
import os
import pickle
import re
import struct
import zipfile
import zlib
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

import small_data as small
from conftest import ROOT
from fuzzing import Reader
from mat5_files import deflated, element, header, huge, variable
from unseen._core import npz
from unseen.calibration.scores import read_scores
from unseen.datasets import load_dataset
from unseen.errors import UnseenError

pytestmark = pytest.mark.xdist_group("processes")

SOURCES = sorted((ROOT / "src").rglob("*.py"))


# ---- bombs: read in a process that may take one gigabyte --------------------------------------------------


def npy(shape: tuple[int, ...], content: bytes = b"") -> bytes:
    """Return an .npy whose header announces a shape, whatever follows it."""
    out = io.BytesIO()
    np.lib.format.write_array_header_1_0(out, {"descr": "<f8", "fortran_order": False, "shape": shape})
    return out.getvalue() + content


def archive(**members: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(f"{name}.npy", content)
    return out.getvalue()


def claimed(content: bytes, size: int) -> bytes:
    """Return an archive whose directory says that its first member has another size."""
    place = content.rindex(b"PK\x01\x02")
    return content[: place + 24] + struct.pack("<I", size) + content[place + 28 :]


def png(side: int) -> bytes:
    """Return an image of side x side black pixels, very well compressed; only its first row is there."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return (
            struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
        )

    head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    chunks = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(bytes(side))) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunks


def hdf5(tmp_path: Path) -> bytes:
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "bomb", "w", userblock_size=512) as file:
        file.create_dataset("features", shape=(10**12, 2048), dtype="f4", chunks=(64, 64), compression="gzip")
        file["labels"] = np.ones((1, 3))
    return (tmp_path / "bomb").read_bytes()


def inflating(n: int) -> bytes:
    """Return a variable of four numbers, deflated together with n zeros that follow it."""
    return header() + deflated(variable("features", np.ones((2, 2))) + bytes(n))


def endless_cells() -> bytes:
    parts = [
        element(6, struct.pack("<II", 1, 0)),
        element(5, struct.pack("<2i", 2**30, 1)),
        element(1, b"att"),
    ]
    return header() + element(14, b"".join(parts))


BOMBS = {
    "mat v5 features: a shape of 10^18": header() + huge(np.ones((2, 2)), (2**30, 2**30)),
    "mat v5 features: 4 GB announced": header() + deflated(struct.pack("<II", 14, 2**32 - 8)),
    "mat v5 features: inflates to more than it says": inflating(10**7),
    "mat v5 splits: cells without end": endless_cells(),
    "npy features: 10^12 rows": npy((10**12, 5), bytes(1000)),
    "npy samples: 10^12 rows": npy((10**12, 5), bytes(1000)),
    "npz data: 10^12 rows": archive(X=npy((10**12, 5), bytes(1000))),
    "npz features: 10^12 rows": archive(X=npy((10**12, 5), bytes(1000))),
    "npz scores: 10^12 rows": archive(scores=npy((10**12, 5), bytes(1000)), y=npy((3,), bytes(24))),
    "npz data: header and directory agree on 4 GB": claimed(archive(X=npy((2**29 - 17,))), 2**32 - 8),
    "csv labels: one name as long as a book": b"class\n" + b"a" * 100_000 + b"\nb" * 50_000,
    "csv prototypes: one name as long as a book": b"class,a\n" + b"a" * 100_000 + b",1" + b"\nb,1" * 50_000,
    "csv scores: one name as long as a book": b"c0,y\n" + b"1," + b"a" * 100_000 + b"\n1,b" * 50_000,
    "safetensors model: a header of 10^12 bytes": struct.pack("<Q", 10**12) + b'{"a": 1}',
    "image: 10^10 pixels": png(100_000),
    "image: 10^8 pixels": png(10_000),
}


@pytest.fixture(scope="module")
def reader():
    if not Path("/proc/self/statm").exists():
        pytest.skip("needs /proc")
    with Reader(sorted({bomb.partition(":")[0] for bomb in BOMBS} | {"mat v7.3 features"})) as process:
        yield process


@pytest.mark.parametrize("bomb", BOMBS)
def test_bombs_are_refused_without_their_memory(reader, tmp_path, bomb):
    target = bomb.partition(":")[0]
    path = tmp_path / f"bomb.{target.split()[0]}"
    path.write_bytes(BOMBS[bomb])
    assert reader.read(target, path) == "refused"


def test_an_hdf5_bomb_is_refused_without_its_memory(reader, tmp_path):
    path = tmp_path / "bomb.mat"
    path.write_bytes(hdf5(tmp_path))
    assert reader.read("mat v7.3 features", path) == "refused"


@pytest.mark.parametrize("order", "<>")
def test_letters_that_do_not_exist_are_refused(tmp_path, order):
    """NumPy takes any number for a letter, in both byte orders, and ends in an internal error on printing."""
    names = np.array(["jay", "owl"], dtype=f"{order}U3")
    np.savez(tmp_path / "names.npz", names=names, none=names.view(f"{'><'[order == '>']}U3"))
    assert npz.read_npz(tmp_path / "names.npz", ["names"])["names"].tolist() == ["jay", "owl"]
    with pytest.raises(UnseenError, match=r"not a whole \.npz file"):
        npz.read_npz(tmp_path / "names.npz", ["none"])


@pytest.mark.parametrize("kind", ["npz", "mat"])
def test_what_the_machine_has_no_memory_for_is_refused_before(tmp_path, monkeypatch, kind):
    folder = small.write_xlsa17(tmp_path / "BIRDS")
    path = folder if kind == "mat" else small.write_npz(tmp_path / "own.npz")
    monkeypatch.setattr(npz, "machine_memory", lambda: 1000)
    with pytest.raises(UnseenError, match="but this machine has 1e-06 GB of memory"):
        load_dataset(path)


# ---- traps: no file runs code ----------------------------------------------------------------------------


class Trap:
    """Pickles to a call that leaves a folder behind."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return (os.mkdir, (str(self.path),))


def trapped_files(folder: Path, trap: np.ndarray) -> dict[str, bytes]:
    """Return files that run code when something unpickles or evaluates them."""
    loose, packed = io.BytesIO(), io.BytesIO()
    np.save(loose, trap, allow_pickle=True)
    np.savez(packed, X=trap, scores=trap, y=trap, class_names=trap, prototypes=trap)
    evil = f"__import__('pathlib').Path({str(folder / 'sprung')!r}).touch()"
    code = b"\x93NUMPY\x01\x00v\x00" + f"{{'descr': {evil}}}".ljust(117).encode() + b"\n"
    return {
        "npy": loose.getvalue(),
        "npz": packed.getvalue(),
        "npy header": code,
        "npz header": archive(X=code, y=code, scores=code),
        "pickle": pickle.dumps(trap),
        "csv": f'class,"{evil}"\n"=cmd|calc",!!python/object/apply:os.system\n'.encode(),
        "yaml": b"!!python/object/apply:os.system ['touch sprung']",
    }


@pytest.mark.parametrize(
    "name", ["own.npz", "features.npy", "labels.csv", "prototypes.csv", "splits.csv", "m"]
)
def test_no_file_runs_code(tmp_path, monkeypatch, name):
    from unseen.models.io import load_model
    from unseen.models.prediction import open_samples

    monkeypatch.chdir(tmp_path)
    folder = small.write_folder(tmp_path / "own")
    for content in trapped_files(tmp_path, np.array([Trap(tmp_path / "sprung")], dtype=object)).values():
        path = folder / name
        path.write_bytes(content)
        for read in (load_dataset, load_model, open_samples, lambda path: read_scores(Path(path))):
            for place in (path, folder):
                with suppress(UnseenError):  # the folder may be fine without the file
                    read(place)
    assert not (tmp_path / "sprung").exists()


def test_the_traps_are_real(tmp_path):
    """Who unpickles them runs their code; else the test above would prove nothing."""
    trap = np.array([Trap(tmp_path / "sprung")], dtype=object)
    for name, content in trapped_files(tmp_path, trap).items():
        if name in ("npy", "npz", "pickle"):
            found = np.load(io.BytesIO(content), allow_pickle=True)
            if name == "npz":
                _ = found["X"]
            (tmp_path / "sprung").rmdir()


FORBIDDEN = {
    "pickle",
    "cPickle",
    "dill",
    "cloudpickle",
    "shelve",
    "marshal",
    "yaml",
    "eval",
    "exec",
    "compile",
}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_the_code_has_no_door_for_code(path):
    """No pickle, no eval, no YAML, no shell, and NumPy is told so each time."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = {alias.name.partition(".")[0] for alias in node.names} | {
                getattr(node, "module", "") or ""
            }
            assert not names & (FORBIDDEN | {"subprocess", "http", "socketserver"})
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            assert called not in FORBIDDEN | {"os.system", "joblib.load", "joblib.dump", "torch.load"}
            assert not called.endswith((".listen", ".bind"))  # nothing waits on a port
            pickles = {ast.unparse(word.value) for word in node.keywords if word.arg == "allow_pickle"}
            assert pickles <= {"False"}
            assert called != "np.load" or pickles


def test_an_hdf5_file_cannot_show_another_file(tmp_path):
    h5py = pytest.importorskip("h5py")
    folder = small.as_hdf5(small.write_xlsa17(tmp_path / "B", dtype=np.float64))
    (tmp_path / "secret").write_bytes(np.arange(450.0).tobytes())
    shape = (90, 5)
    layout = h5py.VirtualLayout(shape=shape, dtype="f8")
    layout[:] = h5py.VirtualSource(str(tmp_path / "other.h5"), "features", shape=shape)
    external = {
        "shape": shape,
        "dtype": "f8",
        "external": [(str(tmp_path / "secret"), 0, h5py.h5f.UNLIMITED)],
    }
    for put in (
        lambda file: file.__setitem__("features", h5py.ExternalLink(str(tmp_path / "other.h5"), "features")),
        lambda file: file.create_dataset("features", **external),
        lambda file: file.create_virtual_dataset("features", layout),
    ):
        with h5py.File(folder / "res101.mat", "r+") as file:
            del file["features"]
            put(file)
        with pytest.raises(UnseenError, match="features is not an array of this file"):
            load_dataset(folder)


# ---- names: nothing is written but what was asked for ----------------------------------------------------


def test_names_in_archives_write_nothing(run, tmp_path):
    image = pytest.importorskip("PIL.Image")
    pytest.importorskip("onnx")
    from onnx_models import mean_backbone

    inside = tmp_path / "inside"
    (inside / "images").mkdir(parents=True)
    image.new("RGB", (8, 8)).save(inside / "images" / "..escaped.png")
    image.new("RGB", (8, 8)).save(inside / "images" / "~escaped.png")
    network = mean_backbone(tmp_path / "network.onnx")
    before = everything(tmp_path)
    done = run("extract", inside / "images", "--backbone", network, "--out", inside / "f.npz")
    assert done.returncode == 0, done.stderr
    assert everything(tmp_path) - before == {inside / "f.npz"}
    with zipfile.ZipFile(inside / "f.npz", "a") as archive:
        archive.writestr("../../../escaped.npy", b"anything")
        archive.writestr("/tmp/escaped.npy", b"anything")
    with pytest.raises(UnseenError):
        load_dataset(inside / "f.npz")
    assert everything(tmp_path) - before == {inside / "f.npz"}


def everything(folder: Path) -> set[Path]:
    return set(folder.rglob("*"))


def test_the_calibration_page_is_only_text_and_loads_nothing(run, tmp_path):
    pytest.importorskip("plotly")
    content = {"scores": np.eye(4), "y": np.arange(4), "seen": np.array([True, True, False, False])}
    path = tmp_path / "<script>alert(1)<" / "img src=x onerror=alert(1)>.npz"
    path.parent.mkdir()
    np.savez(path, **content)
    done = run("calibrate", path, "--plot", tmp_path / "page.html", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["per_class"]["gamma"] is not None
    page = (tmp_path / "page.html").read_text()
    assert "<img src=x" not in page
    assert "Content-Security-Policy" in page
    assert not re.search("<(script|link|img|iframe)[^>]* (src|href)=", page.split("</head>")[0])
