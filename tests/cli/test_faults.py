"""Kill it, fill the disk, take the folder away, turn the clock: nothing stored is lost, nothing is half."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import small_data as small
from forks import Done, Fork, Forks
from problems import small_experiment
from unseen.benchmark.store import STORE_FILE, Store
from unseen.benchmark.summary import summarize_store

pytestmark = pytest.mark.xdist_group("processes")

needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")


@pytest.fixture(scope="module")
def image_forks(tmp_path_factory):
    """Another server, without ONNX Runtime: it starts threads, and a fork does not copy them."""
    pytest.importorskip("onnxruntime")
    with Forks(
        tmp_path_factory.mktemp("output"), ["unseen.cli.extract", "unseen.encoders.extraction"]
    ) as server:
        yield server


def one_clear_line(done: Done) -> str:
    """Return what the user reads: one line, no traceback, exit code 2."""
    assert done.returncode == 2, done
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    return done.stderr


# ---- three commands that take long, and what can be seen of them ---------------------------------------


@dataclass(frozen=True)
class Job:
    """A command that writes ``out``, and how to read the numbers in it; what is damaged cannot be read."""

    forks: Forks
    arguments: tuple[object, ...]
    read: Callable[[Path], Any]
    ending: str = ".npz"  # of the name of what is written

    def start(self, out: Path) -> Fork:
        return self.forks.start(*(out if part is OUT else part for part in self.arguments))


OUT = object()


def read_store(folder: Path) -> Any:
    """Return all numbers of a store, once SQLite and the digests of its rows say that it is whole."""
    with closing(sqlite3.connect(folder / STORE_FILE)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    with Store(folder) as store:
        return {run.key: without_times(store.result(run.key)) for run, _ in store.runs()}


def without_times(document: Any) -> Any:
    if isinstance(document, dict):
        return {k: without_times(v) for k, v in document.items() if k != "seconds"}
    return [without_times(v) for v in document] if isinstance(document, list) else document


def read_archive(path: Path) -> dict[str, list[Any]]:
    with np.load(path, allow_pickle=False) as content:
        return {name: content[name].tolist() for name in content.files}


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    image = pytest.importorskip("PIL.Image")
    folder = tmp_path_factory.mktemp("images")
    rng = np.random.default_rng(0)
    for number in range(60):
        pixels = rng.integers(0, 255, (64, 64, 3), dtype=np.uint8)
        image.fromarray(pixels).save(folder / f"{number:02d}.png")
    return folder


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    pytest.importorskip("onnx")
    from onnx_models import mean_backbone

    return mean_backbone(tmp_path_factory.mktemp("network") / "mean.onnx")


# what reads a model and writes a page or a table
PAGES = {
    "gallery": ("predict", "DIGITS", "digits", "--html", OUT, "--quiet"),
    "predictions": ("predict", "MODEL", "TABLE", "--taxonomy", "GROUPS", "--out", OUT, "--quiet"),
    "explanations": ("explain", "MODEL", "BIRDS", "--out", OUT, "--quiet"),
    "explanation page": ("explain", "MODEL", "BIRDS", "--html", OUT, "--quiet"),
    "model page": ("report", "MODEL", "--data", "BIRDS", "--html", OUT, "--quiet"),
    "model of a table": ("fit", "TABLE", "--prototypes", "CLASSES", "--method", "lda", "--model", OUT),
}


@pytest.fixture(scope="module")
def places(forks, birds, tmp_path_factory) -> dict[str, Path]:
    """A model of birds, their samples, descriptions and groups as tables; a model of images."""
    folder = tmp_path_factory.mktemp("places")
    X, y, _ = small.arrays()
    rows = [f"{small.CLASS_NAMES[c]},{','.join(map(str, x))}" for c, x in zip(y, X) if c in small.SEEN]
    (folder / "birds.csv").write_text("\n".join(["bird,a,b,c,d,e", *rows]))
    groups = [f"{name},{'ducks' if name < '005' else 'gulls'}" for name in small.CLASS_NAMES]
    (folder / "groups.csv").write_text("\n".join(["bird,group", *groups]))
    model = folder / "birds.model"
    digits = folder / "digits.model"
    assert forks.run("fit", birds, "--method", "lda", "--model", model).returncode == 0
    assert forks.run("fit", "digits", "--method", "linear-sv", "--model", digits).returncode == 0
    tables = {"TABLE": folder / "birds.csv", "GROUPS": folder / "groups.csv"}
    tables["CLASSES"] = small.write_prototypes(folder / "classes.csv")
    return {"BIRDS": birds, "MODEL": model, "DIGITS": digits, **tables}


@pytest.fixture
def job(request, forks, birds):
    """The job named by the parameter."""
    if request.param == "bench":
        methods = ("--methods", "fake_methods:Chance,linear-vs,linear-sv,sae", "--seeds", 3)
        return Job(forks, ("bench", birds, *methods, "--jobs", 1, "--out", OUT, "--quiet"), read_store)
    if request.param == "fit":
        return Job(forks, ("fit", birds, "--method", "linear-sv", "--model", OUT, "--quiet"), Path.read_bytes)
    if request.param in PAGES:
        pytest.importorskip("jinja2")
        places, command = request.getfixturevalue("places"), PAGES[request.param]
        ending = {"--html": ".html", "--out": ".csv"}.get(command[command.index(OUT) - 1], "")
        return Job(forks, tuple(places.get(part, part) for part in command), Path.read_bytes, ending)
    network, images = request.getfixturevalue("network"), request.getfixturevalue("images")
    options = ("--backbone", network, "--crops", 10, "--size", 64, "--threads", 1, "--quiet", "--out", OUT)
    return Job(request.getfixturevalue("image_forks"), ("extract", images, *options), read_archive)


@pytest.mark.parametrize("n_moments", [4, pytest.param(10, marks=pytest.mark.slow)])
@pytest.mark.parametrize("job", ["bench", "extract", "fit", *PAGES], indirect=True)
def test_killed_at_any_moment_and_started_again_gives_the_same(job, tmp_path, n_moments):
    whole = new_place(tmp_path, job)
    done = job.start(whole).wait()
    assert done.returncode == 0, done.stderr
    expected, moments = job.read(whole), random.Random(n_moments)
    out = new_place(tmp_path, job)
    for number in range(n_moments):
        fork = job.start(out)
        time.sleep(moments.uniform(0, done.seconds))
        ended = fork.kill(sent := (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)[number % 3])
        assert "Traceback" not in ended.stderr
        assert ended.returncode in (0, -sent, 128 + sent)
        if visible(job, out, expected) == expected:
            out = new_place(tmp_path, job)  # all is done there: nothing is left to interrupt
    assert job.start(out).wait().returncode == 0
    assert job.read(out) == expected


def new_place(folder: Path, job: Job) -> Path:
    return Path(tempfile.mkdtemp(dir=folder)) / f"out{job.ending}"


def visible(job: Job, out: Path, expected: Any) -> Any:
    """Return what an interrupted job shows: whole runs in a store, else a whole file or nothing."""
    assert {file.name for file in out.parent.iterdir() if not file.name.startswith(".")} <= {out.name}
    if (out / STORE_FILE).exists():
        found = job.read(out)
        assert found.items() <= expected.items()
        return found
    if not out.is_file():
        return None
    assert job.read(out) == expected
    return expected


# ---- leaving ----------------------------------------------------------------------------------------------


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert condition()


def crowd() -> float:
    """Return how many processes share a core: two seconds are meant for a core of one's own."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def busy_fork(fork: Fork) -> None:
    """Wait until a fork has been computing for a while."""
    ticks = Path(f"/proc/{fork.pid}/stat")
    wait_until(lambda: int(ticks.read_text().split()[13]) > 50)  # hundredths of a second


@needs_proc
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_does_not_wait_for_a_long_call(forks, birds, tmp_path, number):
    fork = forks.start("bench", birds, "--methods", "fake_methods:Deaf", "--jobs", 1, "--out", tmp_path)
    busy_fork(fork)
    done = fork.interrupt() if number == signal.SIGINT else fork.kill(number)
    assert done.seconds < 2 * crowd()
    assert done.returncode == 128 + number
    assert f"interrupted: 0 of 1 runs are stored in {tmp_path}; the same command continues." in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_import_is_no_missing_package(forks, tmp_path, number):
    fork = forks.start("bench", "--methods", "fake_import:Method", "--out", tmp_path)
    wait_until(lambda: "importing" in fork.stdout())
    done = fork.kill(number)
    assert done.returncode == 128 + number
    assert done.stderr == "\ninterrupted: no file was written.\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_extraction_leaves_with_a_summary(image_forks, images, network, tmp_path, number):
    options = ("--crops", 10, "--size", 896, "--threads", 1, "--quiet", "--out", tmp_path / "f.npz")
    fork = image_forks.start("extract", images, "--backbone", network, *options)
    wait_until(lambda: (tmp_path / ".f.npz.parts" / "settings.json").exists())
    time.sleep(0.1)  # of one to two seconds
    done = fork.kill(number)
    assert done.seconds < 2 * crowd()
    assert done.returncode == 128 + number
    assert "images are stored; the same command continues." in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "f.npz").exists()


def test_a_signal_that_comes_while_something_is_deleted_is_not_lost():
    """Python drops what is raised in a ``__del__``, and would print a traceback of it."""
    program = """
import os, signal, time
from unseen.cli._signals import stoppable

class Deleted:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.01)

with stoppable(lambda: "all is stored"):
    Deleted()
    time.sleep(60)
"""
    began = time.monotonic()
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=50)
    assert (ended.returncode, ended.stderr) == (128 + signal.SIGTERM, "\ninterrupted: all is stored\n")
    assert time.monotonic() - began < 20


@pytest.mark.parametrize("n_done", [0, 1])
def test_workers_do_not_outlive_a_killed_bench(forks, birds, tmp_path, n_done):
    """Neither at work nor before their first run, when they wait for what nobody will send."""
    psutil = pytest.importorskip("psutil")
    methods = ("--methods", "fake_methods:Slow", "--seeds", 60, "--jobs", 2)
    fork = forks.start("bench", birds, *methods, "--out", tmp_path, "--quiet")
    process = psutil.Process(fork.pid)
    wait_until(lambda: n_runs(tmp_path) >= n_done and len(loky_workers(process)) == 2)
    workers = process.children(recursive=True)
    assert fork.kill(signal.SIGKILL).returncode == -signal.SIGKILL
    _, alive = psutil.wait_procs(workers, timeout=20)
    assert alive == []


def loky_workers(process: Any) -> list[Any]:
    """The workers of a bench; it has other children, which may end while they are looked at."""
    import psutil

    workers = []
    for child in process.children():
        with suppress(psutil.NoSuchProcess):
            if "LokyProcess" in " ".join(child.cmdline()):
                workers.append(child)
    return workers


def n_runs(folder: Path) -> int:
    if not (folder / STORE_FILE).exists():
        return 0
    with Store(folder) as store:
        return len(store.runs())


# ---- no room, no folder, no memory, no time --------------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path):
    """A folder on a disk of its own that is nearly full; only root can make one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", folder], capture_output=True
    )
    if mounted.returncode:
        pytest.skip("a small disk needs the right to mount one")
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_a_file_that_cannot_grow_keeps_the_stored_runs(forks, birds, tmp_path):
    options = (birds, "--jobs", 1, "--out", tmp_path, "--quiet")
    assert forks.run("bench", "--methods", "linear-sv", *options).returncode == 0
    before = read_store(tmp_path)
    line = one_clear_line(forks.run("bench", "--methods", "linear-vs,sae", *options, RLIMIT_FSIZE=20_000))
    assert "Stored results are safe; free disk space" in line
    assert read_store(tmp_path) == before
    assert forks.run("bench", "--methods", "linear-sv,linear-vs,sae", *options).returncode == 0
    assert len(read_store(tmp_path)) == 3


def test_a_full_disk_keeps_the_stored_runs(forks, small_disk):
    options = ("--methods", "fake_methods:Chance", "--seeds", 60, "--jobs", 1, "--out", small_disk, "--quiet")
    line = one_clear_line(forks.run("bench", "digits", *options))
    assert "full" in line or "disk I/O" in line
    assert 0 < len(read_store(small_disk)) < 60


@pytest.mark.parametrize("limit", [1_000, 3_000])
def test_a_full_disk_leaves_the_old_model(forks, birds, tmp_path, limit):
    model = tmp_path / "model"
    model.write_text("the old one")
    line = one_clear_line(
        forks.run(
            "fit",
            birds,
            "--method",
            "linear-sv",
            "--model",
            model,
            "--force",
            "--quiet",
            RLIMIT_FSIZE=limit,
        )
    )
    assert f"Cannot write {model}" in line
    assert model.read_text() == "the old one"
    assert list(tmp_path.iterdir()) == [model]


@pytest.mark.parametrize("job", PAGES, indirect=True)
def test_a_full_disk_leaves_the_old_page(job, tmp_path):
    out = tmp_path / f"out{job.ending}"
    out.write_text("the old one")
    arguments = [out if part is OUT else part for part in job.arguments]
    line = one_clear_line(job.forks.run(*arguments, "--force", "--quiet", RLIMIT_FSIZE=1_000))
    assert f"Cannot write {out}" in line
    assert out.read_text() == "the old one"
    assert list(tmp_path.iterdir()) == [out]


def test_a_full_disk_stops_an_extraction(image_forks, images, network, small_disk):
    rest = small_disk / "rest"
    rest.write_bytes(bytes(295_000))
    command = ("extract", images, "--backbone", network, "--quiet", "--out", small_disk / "f.npz")
    assert "No space left" in one_clear_line(image_forks.run(*command))
    rest.unlink()
    assert image_forks.run(*command).returncode == 0
    assert len(read_archive(small_disk / "f.npz")["X"]) == 60


@pytest.mark.parametrize("kind", ["a file", "read-only"])
@pytest.mark.parametrize("command", ["bench", "fit", "predict", "export", "calibrate"])
def test_a_folder_that_cannot_be_written_is_one_line(forks, tmp_path, command, kind):
    place = tmp_path / "place"
    if kind == "a file":
        place.write_text("not a folder")
    elif os.geteuid() == 0:
        place = Path("/proc/self")  # root may write into any folder but this
    else:
        place.mkdir(mode=0o500)
    # a method that ends the process and a file that cannot be read: any work would end in something else
    model, features = model_and_features(tmp_path)
    empty = tmp_path / "empty.npz"
    empty.write_bytes(b"")
    arguments = {
        "bench": ["digits", "--methods", "fake_methods:Dying", "--jobs", 1, "--out", place / "run"],
        "fit": ["digits", "--method", "fake_methods:Dying", "--model", place / "model"],
        "predict": [model, features, "--out", place / "p.csv"],
        "export": [model, "--format", "npz", "--out", place / "m.npz"],
        "calibrate": [empty, "--apply", empty, "--out", place / "a.csv"],
    }
    line = one_clear_line(forks.run(command, *arguments[command]))
    assert str(place) in line


def model_and_features(folder: Path) -> tuple[Path, Path]:
    """Write a small model and features that it takes."""
    from unseen import LinearSV
    from unseen.models.io import save_model

    X = np.random.default_rng(0).normal(size=(6, 3))
    save_model(LinearSV(np.eye(3)).fit(X, [0, 1, 0, 1, 0, 1]), folder / "small.model")
    np.save(folder / "small.npy", X)
    return folder / "small.model", folder / "small.npy"


@pytest.mark.slow
def test_a_killed_worker_is_reported_and_the_rest_goes_on(forks, tmp_path):
    methods = "fake_methods:Killed,fake_methods:Hungry,linear-sv,sae"
    done = forks.run(
        "bench", "digits", "--methods", methods, "--jobs", 2, "--out", tmp_path, "--json", "--quiet"
    )
    assert done.returncode == 1
    assert set(json.loads(done.stdout)["methods"]) == {"linear-sv", "sae"}
    killed, hungry, total = sorted(done.stderr.splitlines(), key=lambda line: "runs failed" in line)
    if "Hungry" in killed:
        killed, hungry = hungry, killed
    assert killed.startswith("failed: fake_methods:Killed seed 0: The process of this run was killed")
    assert "memory ran out" in killed
    assert "fake_methods:Hungry seed 0: MemoryError" in hungry.replace("_ArrayMemoryError", "MemoryError")
    assert total == "2 of 4 runs failed; the same command tries them again."


@needs_proc
def test_memory_that_is_not_there_is_one_line(forks, tmp_path):
    path = tmp_path / "features.npz"
    X = np.zeros((100_000, 1000), dtype=np.uint8)  # 400 MB once they are float32
    np.savez_compressed(path, X=X, y=np.zeros(len(X)), prototypes=np.eye(3))
    limit = forks.address_space() + 300 * 2**20
    assert "not enough memory" in one_clear_line(forks.run("inspect", path, RLIMIT_AS=limit))


def test_a_clock_that_jumps_changes_nothing(tmp_path, monkeypatch):
    """Wall-clock time goes back by years between any two looks at it."""
    from unseen.benchmark import store as module
    from unseen.benchmark.runner import plan, run_bench

    class Clock(datetime):
        year_now = 2030

        @classmethod
        def now(cls, tz=None):
            Clock.year_now -= 1
            return datetime(Clock.year_now, 1, 1, tzinfo=tz)

    tasks = plan([small_experiment()], ["linear-sv", "fake_methods:Chance"], 2)
    found = []
    for folder, jumping in (("steady", False), ("jumping", True)):
        if jumping:
            monkeypatch.setattr(module, "datetime", Clock)
            monkeypatch.setattr(time, "time", lambda: Clock.now().timestamp())
        with Store(tmp_path / folder, create=True) as store:
            assert run_bench(tasks[:2], store, jobs=1, quiet=True).done == 2
            assert run_bench(tasks, store, jobs=1, quiet=True).found == 2
            results = [store.result(run.key) for run, _ in store.runs()]
            found.append(without_times(results))
            assert all(value >= 0 for result in results for value in result["seconds"].values())
            summarize_store(store)
    assert Clock.year_now < 2028
    assert found[0] == found[1]
