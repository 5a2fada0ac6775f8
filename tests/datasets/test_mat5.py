"""The reader of MATLAB v5 files against SciPy's, on whatever SciPy can write, and its bounds."""

from __future__ import annotations

import struct
import zlib

import numpy as np
import pytest
import scipy.io
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from mat5_files import deflated, element, header, huge, variable
from unseen.datasets.mat5 import LONGEST, read_mat5

NUMBERS = hnp.arrays(
    st.sampled_from(["f8", "f4", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "?"]),
    hnp.array_shapes(min_dims=2, max_dims=3, max_side=5),
)
TEXTS = st.text(st.characters(codec="utf-16", exclude_characters="\0"), min_size=1, max_size=12)


@pytest.fixture
def written(tmp_path):
    def write(compressed=False, **content):
        scipy.io.savemat(tmp_path / "a.mat", content, do_compression=compressed)
        return tmp_path / "a.mat"

    return write


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(first=NUMBERS, second=NUMBERS, compressed=st.booleans())
def test_numbers_are_those_of_scipy(written, first, second, compressed):
    path = written(compressed, first=first, skipped={"field": 3}, second=second)
    found = read_mat5(path, ["second", "first", "third"])
    assert set(found) == {"first", "second"}
    expected = scipy.io.loadmat(path)
    for name, values in found.items():
        np.testing.assert_array_equal(values, expected[name])
        assert values.shape == expected[name].shape
        assert values.flags.writeable


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(TEXTS, min_size=1, max_size=6), compressed=st.booleans())
def test_cells_of_text_are_those_of_scipy(written, texts, compressed):
    cells = np.array([*texts, "last"], dtype=object)[:, None]
    box = np.empty((1, 1), dtype=object)
    box[0, 0] = cells
    path = written(compressed, names=cells, nested=box)
    expected = [str(cell[0]) for cell in scipy.io.loadmat(path)["names"].ravel()]
    assert read_mat5(path, ["names"])["names"].tolist() == expected
    assert read_mat5(path, ["nested"])["nested"].tolist() == expected[:1]


@pytest.mark.parametrize("compressed", [False, True])
def test_a_matrix_of_letters_has_a_text_in_every_row(written, compressed):
    path = written(compressed, names=np.array(["jay ", "owl ", "tern"]))
    assert read_mat5(path, ["names"])["names"].tolist() == ["jay ", "owl ", "tern"]


def test_empty_variables_and_cells(written):
    cells = np.array(["a", np.zeros((0, 0)), "c"], dtype=object)
    found = read_mat5(written(nothing=np.zeros((0, 3)), cells=cells, text=""), ["nothing", "cells", "text"])
    assert found["nothing"].shape == (0, 3)
    assert found["cells"].tolist() == ["a", "", "c"]
    assert found["text"].tolist() == [""]


def long_name() -> bytes:
    """Return a cell with one long text; an array of text would take its length for every cell."""
    letters = "a" * (LONGEST + 1)
    text = [
        element(6, struct.pack("<II", 4, 0)),
        element(5, struct.pack("<2i", 1, len(letters))),
        element(1, b""),
        element(4, letters.encode("utf-16-le")),
    ]
    cell = [
        element(6, struct.pack("<II", 1, 0)),
        element(5, struct.pack("<2i", 1, 1)),
        element(1, b"x"),
        element(14, b"".join(text)),
    ]
    return element(14, b"".join(cell))


BAD = {
    "no file of version 5": (bytes(200), "no little-endian header"),
    "big-endian": (header()[:126] + b"MI" + variable("x", np.eye(3)), "no little-endian header"),
    "cut": (header() + variable("x", np.eye(3))[:-16], "bytes of type 14"),
    "shape without values": (header() + huge(np.eye(3), (2**30, 2**30)), "array of size 9"),
    "negative shape": (header() + huge(np.eye(3), (-3, -3)), "announces shape"),
    "announces too much": (header() + struct.pack("<II", 14, 2**31) + bytes(64), "type 14"),
    "deflated, announces too much": (header() + deflated(struct.pack("<II", 14, 2**31)), "are left"),
    "deflated and cut": (header() + deflated(variable("x", np.eye(3))[:-20]), "another size"),
    "deflated and too long": (header() + deflated(variable("x", np.eye(3)) + bytes(99)), "another size"),
    "values of no type": (
        header() + variable("x", np.eye(3)).replace(struct.pack("<II", 9, 72), struct.pack("<II", 99, 72)),
        "values of type 99",
    ),
    "a name as long as a book": (header() + long_name(), "letters"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_damaged_is_refused(tmp_path, case):
    content, message = BAD[case]
    (tmp_path / "a.mat").write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read_mat5(tmp_path / "a.mat", ["x"])


def test_a_flipped_bit_in_a_deflated_variable_is_noticed(written):
    path = written(True, x=np.random.default_rng(0).normal(size=(50, 50)))
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises((ValueError, zlib.error)):
        read_mat5(path, ["x"])


def test_a_real_file_is_that_of_scipy(real_data):
    path = real_data / "xlsa17" / "SUN" / "att_splits.mat"
    expected = scipy.io.loadmat(path)
    found = read_mat5(path, ["att", "trainval_loc", "allclasses_names"])
    assert found["allclasses_names"].tolist() == [str(c[0]) for c in expected["allclasses_names"].ravel()]
    for name in ("att", "trainval_loc"):
        np.testing.assert_array_equal(found[name], expected[name])
