"""The paper's figures from stored runs: what is drawn is what was measured, and the table says the same."""

from __future__ import annotations

import pytest

from fake_runs import description, result
from unseen.benchmark.protocol import restore_curve
from unseen.calibration.display import SeenUnseenDisplay
from unseen.report.figures import split_figure


def test_a_display_draws_and_has_a_table():
    plt = pytest.importorskip("matplotlib.pyplot")
    display = SeenUnseenDisplay(restore_curve(result("linear-vs")["curve"], 0.2)).plot()
    assert display.ax_.get_legend()
    assert display.ax_.figure is display.figure_
    _, ax = plt.subplots()
    assert display.plot(ax).ax_ is ax
    plt.close("all")
    pytest.importorskip("pandas")
    assert len(display.frame()) >= 2


def test_classes_are_in_the_order_of_their_parts():
    counts = description()["class_counts"][0] | {"train": [6, 9, 0]}
    (fold,) = split_figure(description(class_counts=[counts]))["folds"]
    assert fold["parts"]["train"] == [9, 6, 0]


def test_the_stored_curve_is_the_curve():
    curve = restore_curve(result("sae")["curve"], 0.2)
    assert curve.at(0.2)[:2] == (20.0, 50.0)
    assert curve.at(-1)[:2] == (0.0, 80.0)
