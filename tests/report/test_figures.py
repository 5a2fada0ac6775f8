"""The paper's figures from stored runs: what is drawn is what was measured, and the table says the same."""

from __future__ import annotations

import numpy as np
import pytest

from fake_runs import description, result
from unseen.benchmark.bias_variance import measure_bias_variance
from unseen.benchmark.protocol import stored_curve
from unseen.plotting import (
    AttributeErrorDisplay,
    BiasVarianceDisplay,
    LambdaDisplay,
    SeenUnseenDisplay,
    SplitsDisplay,
)

ERROR = {"alpha": [0.1, 1.0, 10.0], "seen": [0.1, 0.2, 0.3], "unseen": [0.5, 0.4, 0.6]}


@pytest.fixture(scope="module")
def parts():
    return measure_bias_variance(np.logspace(-2, 4, 7), n_sets=10)


@pytest.fixture
def displays(parts):
    run = {**result("linear-vs"), "attribute_error": ERROR}
    return {
        "lambda": LambdaDisplay.from_result(run),
        "splits": SplitsDisplay.from_description(description()),
        "attributes": AttributeErrorDisplay.from_result(run),
        "bias": BiasVarianceDisplay(**vars(parts)),
        "curve": SeenUnseenDisplay(stored_curve(run)),
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


def test_other_parameters_stay_as_they_were_chosen():
    run = result("eszsl")
    run["validation"] = {
        "params": [{"alpha": a, "beta": b} for a in (1, 2) for b in (3, 4)],
        "zsl": [1, 2, 3, 4],
        "seen": [5, 6, 7, 8],
        "h": [1, 2, 3, 9],
        "gamma": [0, 0, 0, 0],
        "best": 3,
        "best_zsl": 3,
    }
    display = LambdaDisplay.from_result(run)
    assert (display.alpha, display.zsl, display.seen) == ([1, 2], [2, 4], [6, 8])


def test_a_column_of_the_splits_holds_all_samples_of_a_class(displays):
    plt = pytest.importorskip("matplotlib.pyplot")
    bars = displays["splits"].plot().ax_.patches
    assert sum(bar.get_height() for bar in bars) == 28
    plt.close("all")


def test_the_stored_curve_is_the_curve():
    curve = stored_curve(result("sae"))
    assert curve.at(0.2)[:2] == (20.0, 50.0)
    assert curve.at(-1)[:2] == (0.0, 80.0)


def test_bias_rises_variance_falls_and_both_with_noise_make_the_error(parts):
    assert np.all(np.diff(parts.bias) > -5e-3)
    assert np.all(np.diff(parts.variance) < 1e-3)
    np.testing.assert_allclose(parts.bias + parts.variance + parts.noise, parts.error, rtol=0.05)
    best = parts.error.argmin()
    assert 0 < best < len(parts.alpha) - 1  # a compromise, neither end
