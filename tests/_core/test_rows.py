"""Rows stay on disk until they are read, whichever way they are put together."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from unseen import UnseenError
from unseen._core.rows import Rows, as_rows, choose_rows, release_pages


def numbers(n, width=3, dtype=np.float32):
    return np.arange(n * width, dtype=dtype).reshape(n, width)


@pytest.fixture
def files(tmp_path):
    """Three files and the array that they are when put together."""
    whole = numbers(10)
    for name, part in zip("abc", np.split(whole, [4, 5])):
        np.save(tmp_path / f"{name}.npy", part)
    return [tmp_path / f"{name}.npy" for name in "abc"], whole


@settings(max_examples=60, deadline=None)
@given(
    cuts=st.lists(st.integers(0, 12), max_size=3).map(sorted),
    chosen=st.lists(st.integers(0, 11), max_size=15),
    rows=st.slices(15),
)
def test_indexing_is_that_of_the_whole_array(cuts, chosen, rows):
    whole = numbers(12)
    parts = Rows(np.split(whole, cuts))
    assert_array_equal(parts[rows], whole[rows])
    index = np.array(chosen, dtype=np.intp)
    assert_array_equal(parts[index], whole[index])
    assert_array_equal(parts.choose(index)[rows], whole[index][rows])


def test_files_memory_maps_and_lists_of_them(files):
    paths, whole = files
    assert_array_equal(as_rows(paths)[:], whole)
    assert_array_equal(as_rows([np.load(path, mmap_mode="r") for path in paths])[:], whole)
    assert_array_equal(as_rows(str(paths[0]))[:], whole[:4])
    assert as_rows(whole) is whole
    assert as_rows(whole.tolist()) == whole.tolist()


def test_choosing_rows_of_a_map_reads_nothing(files):
    paths, whole = files
    index = np.array([3, 1])
    chosen = choose_rows(np.load(paths[0], mmap_mode="r"), index)
    assert isinstance(chosen, Rows)
    assert_array_equal(chosen[:], whole[index])
    assert isinstance(choose_rows(whole, index), np.ndarray)


@pytest.mark.parametrize(
    ("dtype", "read"),
    [(np.float16, np.float32), (np.float32, np.float32), (np.float64, np.float64), (np.int64, np.float64)],
)
def test_everything_is_read_as_floating_point(dtype, read):
    assert Rows([numbers(2, dtype=dtype)])[:].dtype == read


def test_nan_is_found_when_it_is_read():
    X = numbers(4)
    X[3, 1] = np.nan
    rows = Rows([X])
    assert len(rows[:3]) == 3
    with pytest.raises(ValueError, match="NaN"):
        rows[3:]


@pytest.mark.parametrize("mode", ["r", "r+", "c"])
def test_released_pages_keep_their_content(tmp_path, mode):
    np.save(tmp_path / "x.npy", numbers(5))
    X = np.load(tmp_path / "x.npy", mmap_mode=mode)
    expected = numbers(5)
    if mode != "r":
        X[2] = expected[2] = 7  # in a copy-on-write map this exists in memory only
    release_pages(X)
    release_pages(X[1:3])
    assert_array_equal(X, expected)


def test_bad_parts(tmp_path):
    with pytest.raises(UnseenError, match=r"shapes \(2, 3\), \(2, 4\)"):
        Rows([np.ones((2, 3)), np.ones((2, 4))])
    with pytest.raises(UnseenError, match="nothing"):
        Rows([])
    (tmp_path / "x.npy").write_bytes(b"no array")
    with pytest.raises(UnseenError, match="cannot be memory-mapped"):
        Rows([tmp_path / "x.npy"])
