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


def test_plain_sets_are_the_smallest_that_add_up():
    from benchmarks.sets import plain_sets

    p = np.random.default_rng(0).dirichlet(np.full(6, 0.5), size=50)
    for row, chosen in zip(p, plain_sets(p, 0.9)):
        assert row[chosen].sum() >= 0.9 - 1e-9 > row[chosen].sum() - row[chosen].min()
        assert row[chosen].min() >= row[~chosen].max(initial=0)


def test_what_got_slower_is_named():
    from benchmarks import got_slower

    def table(a, b, c=9.0):
        rows = [
            ("a", a, "times", ">= 1"),
            ("b", b, "", "<= 2"),
            ("c", c, "s", "<= 9"),
            ("d", a, "times", ""),
        ]
        return {"m": rows}

    kept = table(1.0, 1.0)
    assert got_slower(table(0.9, 1.1, c=99.0), kept) == []  # seconds say more about the machine
    assert got_slower(table(0.8, 0.5), kept) == ["m: a: 0.8, kept 1 (25 % slower)"]
    assert got_slower(table(3.0, 1.2), kept) == ["m: b: 1.2, kept 1 (20 % slower)"]
    assert got_slower({"new": table(0.1, 9.0)["m"]}, kept) == []


def test_a_kept_table_is_read_as_it_was_written(tmp_path, monkeypatch):
    import benchmarks

    monkeypatch.setattr(benchmarks, "KEPT", tmp_path / "kept.json")
    first, second = [("a", 1.23456, "times", "<= 2"), ("b", 3.0, "s", "")], [("c", 0.5, "GiB", "")]
    benchmarks.keep({"m": first})
    benchmarks.keep({"n": second})
    assert benchmarks.read_kept() == {"m": [("a", 1.235, "times", "<= 2")], "n": second}
