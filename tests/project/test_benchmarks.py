"""The speed benchmarks run, and what they say does not depend on speed."""

from __future__ import annotations

import pytest

from conftest import ROOT


@pytest.fixture(autouse=True)
def _from_root(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))


def test_calibration_is_never_worse_than_a_grid():
    from benchmarks import calibration, met

    rows = calibration.run(small=True)
    better = [row for row in rows if "H exact - H grid" in row[0]]
    assert len(better) == 4
    assert all(met(value, demanded) == "yes" for _, value, _, demanded in better)


def test_conditions_are_read():
    from benchmarks import met, table

    assert (met(5.1, "<= 5"), met(5.0, "<= 5"), met(50, ">= 50"), met(1, "")) == ("NO", "yes", "yes", "")
    assert table([("sorting", 4.0, "times", "<= 5")]).split() == ["sorting", "4", "times", "<=", "5", "yes"]
