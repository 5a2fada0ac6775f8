"""The tables show what the runs gave, what was published, and the difference, in every format."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest
from rich.console import Console

from fake_runs import description, result
from unseen.benchmark.formats import WRITERS, print_tables
from unseen.benchmark.published import scores
from unseen.benchmark.summary import summarize
from unseen.benchmark.tables import chance_levels, paper_tables, regret_table
from unseen.methods import METHODS

PAPER = [name for name, method in METHODS.items() if method.in_paper]

CUB = {
    "name": "CUB, proposed split, res101",
    "published": {"dataset": "CUB", "split": "proposed", "crops": 1},
    "n_classes": 200,
    "n_unseen_classes": 50,
    "counts": {"train": 7057, "test_seen": 1764, "test_unseen": 2967},
}


def published_again(**changes):
    """A summary whose runs give exactly the paper's means on CUB."""
    known = scores("CUB", "proposed")
    steps = ("none", "calibrated", "calibrated+lambda")
    runs = [
        result(
            m, zsl=known[m, "zsl", "per-class"].mean, h=tuple(known[m, s, "per-class"].mean for s in steps)
        )
        for m in PAPER
    ]
    return summarize(description(**CUB, **changes), runs)


def column(table, quantity, source):
    return next(c for c in table.columns if (c.quantity, c.source) == (quantity, source))


def test_mean_and_standard_deviation_over_the_seeds():
    summary = summarize(
        description(), [result("sje", 1, zsl=52.0), result("sje", 0, zsl=48.0), result("sae")]
    )
    assert list(summary["methods"]) == ["sje", "sae"]  # the paper's order
    sje = summary["methods"]["sje"]
    assert sje["zsl"]["per-class"] == {"mean": 50.0, "std": 2.0}
    assert sje["gzsl"]["calibrated+lambda"]["U"]["per-sample"] == {"mean": 36.0, "std": 0.0}
    assert sje["ausuc"]["per-sample"] == {"mean": 0.26, "std": 0.0}
    assert [run["seed"] for run in sje["runs"]] == [0, 1]
    assert sje["seconds"] == 3.0
    assert json.loads(json.dumps(summary)) == summary


def test_averages_beside_the_paper_are_those_it_prints():
    zsl, gzsl, both = paper_tables(published_again())
    for step, average in (("none", 28.5), ("calibrated", 41.1), ("calibrated+lambda", 42.2)):
        assert round(column(gzsl, step, "here").cell("average").mean, 1) == pytest.approx(average, abs=0.11)
        assert column(gzsl, step, "here").cell("average") == column(gzsl, step, "paper").cell("average")
        assert column(gzsl, step, "diff. paper").cell("average").mean == pytest.approx(0)
    assert round(column(gzsl, "none", "xian").cell("average").mean, 1) == 25.9
    # a difference is averaged over the methods that both have
    assert column(gzsl, "none", "diff. xian").cells["linear-vs"] is None
    assert column(zsl, "accuracy", "diff. paper").cells["ale"].mean == 0
    assert {c.source for c in both.columns} == {"here"}  # the paper prints these with ten crops only


def test_the_best_of_every_column_is_marked():
    zsl, gzsl, _ = paper_tables(published_again())
    best = [name for name, cell in column(gzsl, "calibrated+lambda", "here").cells.items() if cell.best]
    assert best == ["sync"]
    assert column(zsl, "accuracy", "xian").cells["sync"].best
    assert not any(cell and cell.best for cell in column(gzsl, "none", "diff. paper").cells.values())


def test_data_of_ones_own_has_no_published_columns():
    tables = paper_tables(summarize(description(), [result("sae"), result("mine.py:Mine")]))
    assert all(column.source == "here" for table in tables for column in table.columns)
    assert tables[0].groups() == [["sae"], ["mine.py:Mine"]]  # an average of one is none


def test_the_papers_methods_come_first_and_the_average_is_theirs():
    runs = [
        result("lda", h=(90.0, 90.0, 90.0)),
        result("sae"),
        result("mine:Mine"),
        result("ale", h=(20, 30, 50)),
    ]
    _, gzsl, _ = paper_tables(summarize(description(), runs))
    assert gzsl.groups() == [["ale", "sae"], ["average"], ["lda", "mine:Mine"]]
    assert column(gzsl, "calibrated+lambda", "here").cell("average").mean == 45.0
    console = Console(file=io.StringIO(), width=100)
    print_tables([gzsl], console)
    assert sum(set(line.strip()) == {"─"} for line in console.file.getvalue().splitlines()) == 3


@pytest.mark.parametrize("style", ["table", "markdown"])
def test_a_spread_is_shown_only_where_something_varies(style):
    runs = [result("sje", 0, zsl=48.0), result("sje", 1, zsl=52.0), result("sae")]
    tables = paper_tables(summarize(description(), runs))
    text = rendered(tables[:1], style)
    assert text.count("±") == 1
    assert "±0.0" not in text.replace(" ", "")
    assert "±" not in rendered(tables[1:2], style)


def rendered(tables, style):
    if style != "table":
        return WRITERS[style](tables)
    console = Console(file=io.StringIO(), width=200)
    print_tables(tables, console)
    return console.file.getvalue()


@pytest.mark.parametrize("style", ["table", *WRITERS])
def test_results_at_chance_are_marked(style):
    """Ten unseen classes: guessing is right in one of ten cases, and by luck in a few more."""
    counts = {"train": 1000, "test_seen": 1000, "test_unseen": 1000}
    classes = {"n_classes": 20, "n_unseen_classes": 10, "counts": counts}
    runs = [result("sae", zsl=10.0), result("ale", zsl=11.5), result("sje", zsl=13.0)]
    zsl, gzsl, _ = paper_tables(summarize(description(**classes), runs))
    marked = {name for name, cell in column(zsl, "accuracy", "here").cells.items() if cell.at_chance}
    assert marked == {"sae", "ale"}
    text = rendered([zsl], style)
    mark = ",yes," if style == "csv" else "†"
    assert text.count(mark) == 2 + (style != "csv")  # with the note below
    assert not gzsl.notes
    assert ("guessing gives 10.0 %" in text) == (style != "csv")


def test_the_harmonic_mean_of_guessing_is_its_best():
    levels = chance_levels(description(n_classes=10, n_unseen_classes=3))
    q = np.linspace(0.001, 0.999, 9999)
    U, S = q / 3, (1 - q) / 7
    assert levels["gzsl"].level == pytest.approx(100 * np.max(2 * U * S / (U + S)), abs=1e-4)


def test_ten_crops_stand_beside_ten_crops():
    ten = {"dataset": "CUB", "split": "proposed", "crops": 10}
    _, gzsl, both = paper_tables(summarize(description(published=ten), [result("ale")]))
    assert column(both, "AUSUC p.s.", "paper").cells["ale"].mean == 0.347
    assert column(gzsl, "calibrated+lambda", "paper").cells["ale"].mean == 49.2
    assert {c.source for c in gzsl.columns if c.quantity == "none"} == {"here"}


@pytest.mark.parametrize("width", [60, 80, 100, 200])
def test_the_terminal_shows_everything_and_fits(width):
    console = Console(file=io.StringIO(), width=width)
    print_tables(paper_tables(published_again()), console)
    text = console.file.getvalue()
    assert "47.6 " in text
    assert "±" not in text  # one run each, so nothing varies
    assert "25.9" in text
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= width
    assert all(name in text for name in ("Linear V->S", "SynC", "average"))
    assert "Published with ResNet-101" in " ".join(text.split())


def test_markdown_is_a_table_with_bold_best():
    text = WRITERS["markdown"](paper_tables(published_again()))
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert "**47.6**" in text
    widths = {line.count(" | ") for line in rows[: len(PAPER) + 3]}
    assert len(widths) == 1
    assert text.count("Published with ResNet-101 features, here: res101") == 3


def test_csv_is_tidy_and_exact():
    rows = list(csv.DictReader(io.StringIO(WRITERS["csv"](paper_tables(published_again())))))
    cell = next(
        r for r in rows if r["method"] == "sync" and r["quantity"] == "none" and r["source"] == "paper"
    )
    assert (float(cell["mean"]), float(cell["std"])) == (33.2, 1.0)
    assert {r["source"] for r in rows} == {"here", "paper", "diff. paper", "xian", "diff. xian"}


@pytest.mark.parametrize("style", ["table", *WRITERS])
def test_every_table_says_what_its_numbers_rest_on(style):
    text = rendered(paper_tables(summarize(description(), [result("sje", seed) for seed in (0, 1)])), style)
    experiment = description()
    for word in ("split_rule", "gamma", "checksum", "split_checksum"):
        assert experiment[word] in text
    assert "seeds 0, 1" in text
    assert f"unseen {result('sje')['version']}" in text


def test_the_regret_table_tells_what_gamma_lost_and_the_time_it_took():
    table = regret_table(summarize(description(), [result("sje", 0), result("sje", 1), result("sae")]))
    assert column(table, "regret calibrated+lambda", "here").cells["sje"].mean == 1.0
    assert column(table, "seconds", "here").cells["sje"].mean == 3.0
