"""The speed benchmarks run, and what they say does not depend on speed."""

from __future__ import annotations

import numpy as np
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


def test_pooled_calibration_errors_are_those_of_all_samples_together():
    from benchmarks.sure import pooled

    from unseen.metrics import reliability

    rng = np.random.default_rng(0)
    sure, right = rng.random(300), rng.random(300) < 0.5
    parts = [reliability(sure[rows], right[rows]) for rows in (slice(0, 100), slice(100, 300))]
    rows = [
        {"seen": {"after": {"bins": [p.samples.tolist(), p.confidence.tolist(), p.accuracy.tolist()]}}}
        for p in parts
    ]
    assert pooled(rows, "seen", "after") == pytest.approx(reliability(sure, right).ece)


def test_what_got_slower_is_named():
    from benchmarks import got_slower, ratios

    rows = [
        ("a", 1.0, "times", ">= 1"),
        ("b", 1.0, "", "<= 2"),
        ("c", 9.0, "s", "<= 9"),
        ("d", 1.0, "times", ""),
    ]
    kept = ratios("m", rows)
    assert kept == {"m: a": 1.0, "m: b": 1.0}  # seconds say more about the machine
    demands = {f"m: {name}": demanded for name, _, _, demanded in rows}
    assert got_slower({"m: a": 0.9, "m: b": 1.1, "m: new": 5.0}, kept, demands) == []
    assert got_slower({"m: a": 0.8, "m: b": 0.5}, kept, demands) == ["m: a: 0.8, kept 1 (25 % slower)"]
    assert got_slower({"m: a": 3.0, "m: b": 1.2}, kept, demands) == ["m: b: 1.2, kept 1 (20 % slower)"]
