"""Closed forms from blocks, files and Dask arrays: the same answer as from one array in memory."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

import unseen.models.io
from problems import linear_problem
from unseen import ESZSL, SAE, LinearSV, LinearVS, Moments, UnseenError
from unseen.models.export import export

METHODS = [LinearVS, LinearSV, ESZSL, SAE]
PARAMS = [{"alpha": 1e-3}, {"alpha": 1.0}]


def problem(n=90, dtype=np.float32):
    """Samples of classes 0..5; classes 6 and 7 have a description only."""
    return linear_problem(n, features=12, classes=8, seen=6, dtype=dtype)


def same(model, other):
    model.solve()
    assert_array_equal(model.classes_, other.classes_)
    assert_array_equal(model.seen_, other.seen_)
    for name in ("mapping_", "coef_", "intercept_"):
        a, b = getattr(model, name), getattr(other, name)
        assert_allclose(a, b, rtol=1e-10, atol=1e-10 * np.abs(b).max(), err_msg=name)


def cut(X, y, edges=(7, 8, 50)):
    return zip(np.split(X, edges), np.split(y, edges))


@pytest.fixture(params=METHODS, ids=lambda method: method.__name__)
def method(request):
    return request.param


# ---- blocks -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("normalize", ["l2", None])
def test_partial_fit_in_blocks_equals_fit(method, normalize):
    X, y, S = problem()
    model = method(S, alpha=0.1, normalize=normalize)
    for X_block, y_block in cut(X, y):
        model.partial_fit(X_block, y_block)
    same(model, method(S, alpha=0.1, normalize=normalize).fit(X, y))


def test_any_iterable_of_blocks(method):
    X, y, S = problem()
    same(method(S).fit(cut(X, y)), method(S).fit(X, y))
    path = method(S).fit_path(cut(X, y), None, PARAMS)
    for streamed, whole in zip(path, method(S).fit_path(X, y, PARAMS), strict=True):
        assert streamed.alpha == whole.alpha
        same(streamed, whole)


@pytest.fixture
def solved(monkeypatch):
    """A list that grows with every system that LinearVS solves."""
    solved, solve = [], LinearVS._solve_moments
    monkeypatch.setattr(LinearVS, "_solve_moments", lambda *args: solved.append(1) or solve(*args))
    return solved


def test_usable_after_every_block_and_solved_only_when_used(solved):
    X, y, S = problem()
    model = LinearVS(S)
    for X_block, y_block in cut(X, y):
        model.partial_fit(X_block, y_block)
    assert not solved
    model.predict(X)
    model.similarity(X)
    assert len(solved) == 1
    model.partial_fit(X[:1], y[:1]).predict(X)
    assert len(solved) == 2
    model.partial_fit(X[:1], y[:1]).add_classes(S[:1] + 1)
    assert len(solved) == 3


def test_looking_for_an_attribute_solves_nothing(solved):
    X, y, S = problem()
    model = LinearVS(S).partial_fit(X, y)
    for name in ("coef_", "intercept_", "mapping_"):
        assert not hasattr(model, name)
    check_is_fitted(model)
    repr(model)
    model._repr_html_()
    assert not solved
    assert model.solve().solve().coef_.shape == (8, 12)
    assert len(solved) == 1
    with pytest.raises(NotFittedError):
        LinearVS(S).solve()


def test_fit_then_partial_fit_goes_on(method):
    X, y, S = problem()
    first = y < 3  # the later block brings classes that the first had no sample of
    model = method(S).fit(X[first], y[first])
    assert model.seen_.sum() == 3
    same(model.partial_fit(X[~first], y[~first]), method(S).fit(X, y))


def test_fit_forgets_what_partial_fit_has_seen(method):
    X, y, S = problem()
    same(method(S).partial_fit(X + 5, y).fit(X, y), method(S).fit(X, y))


def test_a_class_may_be_described_first_and_seen_later(method):
    X, y, S = problem()
    old = y < 5
    model = method(S[:5]).partial_fit(X[old], y[old]).add_classes(S[5:])
    model.partial_fit(X[~old], y[~old])
    same(model, method(S).fit(X, y))


def test_names_as_labels(method):
    X, y, S = problem()
    names = np.array(list("hgfedcba"))
    frame = pd.DataFrame(S, index=names)
    streamed = method(frame).fit((X_block, names[y_block]) for X_block, y_block in cut(X, y))
    same(streamed, method(frame).fit(X, names[y]))


def test_one_hot_prototypes_need_all_classes_at_once(method):
    X, y, _ = problem()
    with pytest.raises(UnseenError, match=r"pass classes=\[...\]"):
        method().partial_fit(X, y)
    model = method().partial_fit(X[y < 2], y[y < 2], classes=np.arange(6))
    same(model.partial_fit(X[y >= 2], y[y >= 2]), method().fit(X, y))


def test_one_stream_serves_every_scaling(method):
    X, y, S = problem()
    path = [{"normalize": scaling} for scaling in ("l2", "sqrt", "standard", None)]
    for streamed, params in zip(method(S).fit_path(cut(X, y), None, path), path):
        same(streamed, method(S, **params).fit(X, y))


def test_streams_that_cannot_be_used():
    X, y, S = problem(n=6)
    with pytest.raises(UnseenError, match="no block of samples"):
        LinearVS(S).fit(iter([]))
    with pytest.raises(UnseenError, match="y names class 9"):
        LinearVS(S).partial_fit(X, np.full(len(y), 9))
    with pytest.raises(UnseenError, match="class 8"):
        LinearVS(S).partial_fit(X, y, classes=np.arange(9))
    with pytest.raises(UnseenError, match="needs moments"):
        LinearVS(S).fit(X, y).partial_fit(X, y)  # 6 samples, 12 features: there is no Gram matrix


def test_a_streamed_model_is_saved_solved(method, tmp_path):
    X, y, S = problem()
    unseen.save_model(method(S).partial_fit(X, y), tmp_path / "model.safetensors")
    loaded = unseen.load_model(tmp_path / "model.safetensors")
    assert_array_equal(loaded.predict(X), method(S).fit(X, y).predict(X))
    export(method(S).partial_fit(X, y), tmp_path / "model.npz", "npz")
    assert_array_equal(np.load(tmp_path / "model.npz")["coef"], loaded.coef_)
    with pytest.raises(UnseenError, match="needs moments"):
        loaded.partial_fit(X, y)


# ---- files ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_memory_maps_files_and_lists_of_files(method, dtype, tmp_path):
    X, y, S = problem(dtype=dtype)
    whole = method(S).fit(X.astype(np.float32) if dtype == np.float16 else X, y)
    np.save(tmp_path / "whole.npy", X)
    parts = []
    for number, part in enumerate(np.split(X, [20, 21])):
        parts.append(tmp_path / f"{number}.npy")
        np.save(parts[-1], part)
    for source in (np.load(tmp_path / "whole.npy", mmap_mode="r"), tmp_path / "whole.npy", parts):
        same(method(S).fit(source, y), whole)
        for model in method(S).fit_path(source, y, [whole.get_params()]):
            same(model, whole)


def test_files_are_checked_as_they_are_read(tmp_path):
    X, y, S = problem()
    X[77, 3] = np.inf
    np.save(tmp_path / "x.npy", X)
    with pytest.raises(ValueError, match="infinity"):
        LinearVS(S).fit(tmp_path / "x.npy", y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        LinearVS(S).fit(tmp_path / "x.npy", y[:-1])
    with pytest.raises(ValueError, match="y to be passed"):
        LinearVS(S).fit(np.load(tmp_path / "x.npy", mmap_mode="r"))


MEMORY = """
import re, sys
import numpy as np
from unseen import LinearSV, LinearVS

def peak():
    # not getrusage, which starts with the memory of the process that has started this one
    return int(re.search("VmHWM:\\s*([0-9]+)", open("/proc/self/status").read())[1])

rng = np.random.default_rng(0)
S = rng.normal(size=(20, 8))
y = np.arange(200_000) % 15
for method in (LinearVS, LinearSV):
    method(S).fit(np.ones((200, 256), np.float32), y[:200])  # what any fit needs
before = peak()
for method in (LinearVS, LinearSV):
    for model in method(S).fit_path(sys.argv[1], y, [{"alpha": 0.1}, {"alpha": 1.0}]):
        pass
    model.predict(np.load(sys.argv[1], mmap_mode="r"))
    print((peak() - before) / 1024)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_stays_at_a_few_blocks(tmp_path):
    """A file of 195 MB is fitted and predicted on; a copy of it, or its pages, would show."""
    X = np.lib.format.open_memmap(tmp_path / "x.npy", mode="w+", dtype=np.float32, shape=(200_000, 256))
    rng = np.random.default_rng(0)
    for start in range(0, len(X), 10_000):
        X[start : start + 10_000] = rng.random((10_000, 256), dtype=np.float32)
    X.flush()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", MEMORY, tmp_path / "x.npy"], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr
    assert max(map(float, done.stdout.split())) < 70  # MB


COMMAND = """
import re, sys
from unseen.cli import main

try:
    main(["fit", sys.argv[1], "--method", "linear-sv", "--model", sys.argv[1] + "/model", "--quiet"])
finally:
    print(int(re.search("VmHWM:\\s*([0-9]+)", open("/proc/self/status").read())[1]) / 1024)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_command_fit_leaves_features_on_disk(tmp_path):
    """Choosing parameters on folds of 307 MB of features takes less memory than one copy of them."""
    rng = np.random.default_rng(0)
    X = np.lib.format.open_memmap(
        tmp_path / "features.npy", mode="w+", dtype=np.float32, shape=(150_000, 512)
    )
    for start in range(0, len(X), 7500):
        X[start : start + 7500] = rng.random((7500, 512), dtype=np.float32)
    X.flush()
    labels = rng.integers(0, 12, len(X))
    (tmp_path / "labels.csv").write_text("label\n" + "\n".join(f"c{label}" for label in labels) + "\n")
    rows = (f"c{c},{c % 2},{c % 3},{c % 5}" for c in range(14))
    (tmp_path / "prototypes.csv").write_text("class,a,b,c\n" + "\n".join(rows) + "\n")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", COMMAND, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout.split()[-1]) < 480  # MB, of which the interpreter and its libraries take 200


# ---- Dask -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("chunks", [(90, 12), (13, 12), (13, 5), (1, 12)])
@pytest.mark.parametrize("labels_in_dask", [True, False])
def test_dask_arrays_give_the_in_memory_result(method, chunks, labels_in_dask):
    dask_array = pytest.importorskip("dask.array")
    X, y, S = problem()
    X_dask = dask_array.from_array(X, chunks=chunks)
    y_dask = dask_array.from_array(y, chunks=17) if labels_in_dask else y
    same(method(S).fit(X_dask, y_dask), method(S).fit(X, y))
    for streamed, whole in zip(
        method(S).fit_path(X_dask, y_dask, PARAMS), method(S).fit_path(X, y, PARAMS), strict=True
    ):
        same(streamed, whole)


def test_moments_of_a_dask_array():
    dask_array = pytest.importorskip("dask.array")
    X, y, _ = problem()
    moments = Moments.from_dask(dask_array.from_array(X, chunks=(4, 12)), y, 6)
    whole = Moments.of(X, y, 6)
    assert_array_equal(moments.count, whole.count)
    assert_allclose(moments.total, whole.total, rtol=1e-12)
    assert_allclose(moments.gram, whole.gram, rtol=1e-12)


def test_dask_chunks_are_reduced_where_they_are():
    """No task ever holds more samples than one chunk."""
    dask_array = pytest.importorskip("dask.array")
    X, y, S = problem()
    largest = []

    def watch(block):
        largest.append(len(block))
        return block

    source = dask_array.from_array(X, chunks=(10, 12)).map_blocks(watch, dtype=X.dtype)
    LinearVS(S).fit(source, y)
    assert max(largest) == 10


def test_bad_dask_values_are_refused():
    dask_array = pytest.importorskip("dask.array")
    X, y, S = problem()
    X[5, 2] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        LinearVS(S).fit(dask_array.from_array(X, chunks=(10, 12)), y)
    with pytest.raises(UnseenError, match="y names class 8"):
        LinearVS(S).fit(dask_array.from_array(X, chunks=(10, 12)), np.full(len(y), 8))
