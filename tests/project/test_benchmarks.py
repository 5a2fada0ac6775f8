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


def test_the_limit_of_regret_knows_all_choices_of_unseen_classes_but_its_own():
    from benchmarks.regret import COARSE, FEWEST, informed

    def row(seed, cliff):
        """H on test falls with the distance from a retention of 0.7."""
        h = 60 - 100 * np.abs(COARSE - 0.7)
        unseen = np.where(cliff >= COARSE, 80.0, 0.0)  # nothing is won before so much is given up
        return {
            "group": "g",
            "method": "m",
            "seed": seed,
            "alone": 90.0,
            "best": 60.0,
            "h_at": h,
            "unseen_at": unseen,
        }

    rows = [row(seed, 0.5) for seed in range(FEWEST)]
    assert informed(rows[0], rows) is None  # four others
    asked = row(FEWEST, 0.9)
    loss = informed(asked, [*rows, asked])
    assert loss == informed({**asked, "unseen_at": rows[0]["unseen_at"]}, [*rows, asked])
    assert 20 <= loss <= 23  # the others' best retention is 0.5, with a plateau below


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


def test_the_page_of_speed_holds_the_kept_table(monkeypatch):
    import benchmarks
    from benchmarks.__main__ import SPEED

    monkeypatch.syspath_prepend(str(ROOT / "docs" / "scripts"))
    import performance

    kept, page = benchmarks.read_kept(), performance.PAGE.read_text("utf-8")
    assert set(kept) <= set(SPEED)
    assert all(f"<!-- {module}: begin -->" in page for module in SPEED)
    assert performance.fill(page, kept) == page
    changed = {module: [(name, 77.0, *rest) for name, _, *rest in rows] for module, rows in kept.items()}
    assert performance.fill(page, changed).count("| 77") == sum(
        performance.module_table(rows).count("| 77") for rows in changed.values()
    )
