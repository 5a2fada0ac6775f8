"""Damaged files by the thousand: read or refused in one line, within ten seconds and a bounded memory."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from fuzz_targets import READERS
from fuzzing import Reader, fuzz, mutate

for package in ("h5py", "onnxruntime", "PIL", "pyarrow"):
    pytest.importorskip(package)
pytestmark = [
    pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc"),
    pytest.mark.xdist_group("processes"),
]


@pytest.mark.parametrize("per_kind", [20, pytest.param(-(-12_000 // len(READERS)), marks=pytest.mark.slow)])
def test_a_damaged_file_is_read_or_refused(tmp_path, per_kind):
    n = per_kind * len(READERS)
    ends, bad = fuzz(dict.fromkeys(READERS, per_kind), tmp_path, seed=n)
    assert not bad, "\n".join(bad)
    assert sum(ends.values()) == n
    assert ends["refused"] > n / 2  # the damage is real
    assert ends["read"] > n / 20  # and not so large that only the first check is ever reached


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setenv("FUZZING_SECONDS", "1")


@pytest.mark.usefixtures("impatient")
def test_a_reader_that_dies_hangs_or_eats_is_noticed(tmp_path):
    with Reader() as reader:
        assert reader.read("crash", tmp_path) == "ended the process with code -11"
        assert reader.read("hang", tmp_path) == "took longer than 1 s"
        assert reader.read("eat", tmp_path).startswith("MemoryError")
        assert reader.read("fail", tmp_path).startswith("KeyError at")


def test_damage_repeats_with_its_seed():
    whole = bytes(range(256)) * 4
    first, second = ([mutate(whole, random.Random(seed)) for seed in range(50)] for _ in range(2))
    assert first == second
    assert sum(content != whole for content in first) > 40
