"""The paper's figures from stored runs: what is drawn is what was measured, and the table says the same."""

from __future__ import annotations

import numpy as np
import pytest

from fake_runs import description, result
from unseen.benchmark.bias_variance import measure_bias_variance
from unseen.benchmark.protocol import restore_curve
from unseen.errors import UnseenError
from unseen.plotting import (
    AttributeErrorDisplay,
    BiasVarianceDisplay,
    LambdaDisplay,
    SeenUnseenDisplay,
    SplitsDisplay,
    selection_figure,
)
from unseen.report.figures import split_figure

ERROR = {"alpha": [0.1, 1.0, 10.0], "seen": [0.1, 0.2, 0.3], "unseen": [0.5, 0.4, 0.6]}


@pytest.fixture
def displays():
    run = {**result("linear-vs"), "attribute_error": ERROR}
    return {
        "lambda": LambdaDisplay.from_result(run),
        "splits": SplitsDisplay.from_description(description()),
        "attributes": AttributeErrorDisplay.from_result(run),
        "bias": BiasVarianceDisplay(**measure_bias_variance([1e-2, 1.0, 1e2], n_sets=3)),
        "curve": SeenUnseenDisplay(restore_curve(run["curve"], 0.2)),
    }


@pytest.mark.parametrize("name", ["lambda", "splits", "attributes", "bias", "curve"])
def test_every_display_draws_and_has_a_table(displays, name):
    plt = pytest.importorskip("matplotlib.pyplot")
    display = displays[name].plot()
    assert display.ax_.get_legend()
    assert display.ax_.figure is display.figure_
    _, ax = plt.subplots()
    assert display.plot(ax).ax_ is ax
    plt.close("all")
    pytest.importorskip("pandas")
    assert len(display.frame()) >= 2


def lines(display):
    return {line.get_label(): line for line in display.plot().ax_.get_lines()}


def test_both_optima_are_marked(displays):
    plt = pytest.importorskip("matplotlib.pyplot")
    found = lines(displays["lambda"])
    assert found["λ for ZSL"].get_xdata()[0] == 1.0
    assert found["λ for GZSL"].get_xdata()[0] == 0.1
    np.testing.assert_array_equal(found["seen among seen, A_S→Cs"].get_xydata(), [(0.1, 70), (1, 60)])
    plt.close("all")


def two_parameters():
    """A run whose two optima have different values of the further parameter, as ESZSL has on digits."""
    run = result("eszsl")
    run["grid"] = {"alpha": [1.0, 10.0], "beta": [3, 4]}
    run["validation"] = {
        "params": [{"alpha": a, "beta": b} for a in (1.0, 10.0) for b in (3, 4)],
        "zsl": [9, 2, 3, 4],
        "seen": [5, 6, 7, 8],
        "h": [1, 2, 3, 9],
        "gamma": [0, 0, 0, 0],
        "best": 3,
        "best_zsl": 0,
    }
    return run


def test_both_optima_lie_on_their_lines_when_there_are_two_parameters():
    display = LambdaDisplay.from_result(two_parameters())
    assert display.alpha == [1.0, 10.0]
    assert display.zsl[display.alpha.index(display.best_zsl)] == max(display.zsl) == 9
    assert display.h[display.alpha.index(display.best)] == max(display.h) == 9


def test_the_report_draws_the_same_lines():
    run = two_parameters()
    display, figure = LambdaDisplay.from_result(run), selection_figure(run)
    assert (display.alpha, display.zsl, display.seen, display.h) == tuple(
        figure[name] for name in ("x", "zsl", "seen", "h")
    )


def test_a_method_without_parameters_has_no_such_figure():
    with pytest.raises(UnseenError, match="no parameter"):
        LambdaDisplay.from_result(result("cosine") | {"grid": {}})
    with pytest.raises(UnseenError, match="Only linear-vs predicts attributes"):
        AttributeErrorDisplay.from_result(result("sae"))


def test_classes_are_in_the_order_of_the_report(displays):
    plt = pytest.importorskip("matplotlib.pyplot")
    counts = description()["class_counts"][0] | {"train": [6, 9, 0]}
    bars = SplitsDisplay(counts, "abc").plot().ax_.patches
    assert [bar.get_height() for bar in bars[:3]] == [9, 6, 0]
    (fold,) = split_figure(description(class_counts=[counts]))["folds"]
    assert fold["parts"]["train"] == [9, 6, 0]
    plt.close("all")


def test_a_column_of_the_splits_holds_all_samples_of_a_class(displays):
    plt = pytest.importorskip("matplotlib.pyplot")
    bars = displays["splits"].plot().ax_.patches
    assert sum(bar.get_height() for bar in bars) == 28
    plt.close("all")


def test_the_stored_curve_is_the_curve():
    curve = restore_curve(result("sae")["curve"], 0.2)
    assert curve.at(0.2)[:2] == (20.0, 50.0)
    assert curve.at(-1)[:2] == (0.0, 80.0)
