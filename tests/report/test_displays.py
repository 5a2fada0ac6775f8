"""Pictures and the tables behind them."""

from __future__ import annotations

import numpy as np
import pytest

from unseen.calibration.curve import SeenUnseenCurve
from unseen.calibration.display import SeenUnseenDisplay, visible_segments
from unseen.report.curve_page import render_curve_page


def make_curve(n: int = 300) -> SeenUnseenCurve:
    rng = np.random.default_rng(0)
    y, seen = np.arange(n) % 10, np.arange(10) < 7
    scores = rng.normal(size=(n, 10))
    scores[np.arange(n), y] += 2
    scores[:, seen] += 1
    return SeenUnseenCurve.from_scores(scores, y, seen)


def test_the_frame_is_the_curve():
    pytest.importorskip("pandas")
    curve = make_curve()
    frame = curve.frame()
    assert list(frame.columns) == ["gamma_low", "gamma_high", "gamma", "unseen", "seen", "h"]
    for row in frame.itertuples():
        assert curve.at(row.gamma) == (row.unseen, row.seen, row.h)
        assert row.gamma_low < row.gamma <= row.gamma_high


def test_the_plot_shows_the_curve_and_both_points():
    plt = pytest.importorskip("matplotlib.pyplot")
    curve = make_curve()
    _, ax = plt.subplots()
    display = curve.plot(ax)
    assert display.ax_ is ax and display.figure_ is ax.figure
    lines = {line.get_label().split(":")[0]: line for line in ax.get_lines()}
    np.testing.assert_array_equal(lines["no calibration"].get_xydata()[0], curve.at(0)[:2])
    np.testing.assert_array_equal(
        lines[f"gamma = {curve.gamma:.4g}"].get_xydata()[0], (curve.unseen, curve.seen)
    )
    plt.close(ax.figure)


def test_a_large_curve_is_thinned_only_below_what_can_be_seen():
    curve = make_curve(20_000)
    shown = visible_segments(curve)
    assert len(shown) < len(curve.h_curve) / 2
    for values in (curve.unseen_curve, curve.seen_curve):
        assert np.abs(np.diff(values[np.append(shown, -1)])).max() < 0.11


def test_the_page_escapes_what_it_is_given():
    pytest.importorskip("plotly")
    page = render_curve_page(SeenUnseenDisplay(make_curve()), "</script><b>scores & more")
    assert "</script><b>" not in page
    assert "&lt;/script&gt;&lt;b&gt;scores &amp; more" in page


@pytest.fixture(scope="module")
def page(browser, tmp_path_factory):
    """The page in a browser without network, and everything that went wrong in it."""
    pytest.importorskip("plotly")
    file = tmp_path_factory.mktemp("page") / "curve.html"
    file.write_text(render_curve_page(SeenUnseenDisplay(make_curve())), "utf-8")
    page = browser.new_context(offline=True).new_page()
    page.problems = []
    page.on("pageerror", lambda error: page.problems.append(str(error)))
    page.on("requestfailed", lambda request: page.problems.append(request.url))
    page.goto(file.as_uri())
    page.wait_for_selector("#over .main-svg")
    yield page
    page.close()


def test_moving_gamma_shows_its_accuracies(page):
    curve = make_curve()
    top = int(page.get_attribute("#slider", "max"))
    assert top == len(curve.breakpoints)
    for k in (0, top // 3, top):
        page.evaluate(f"byId('slider').value = {k}; byId('slider').dispatchEvent(new Event('input'))")
        gamma = float(page.input_value("#gamma"))
        shown = [float(page.inner_text(f"#{name}")) for name in ("U", "S", "H")]
        assert gamma == curve.gammas[k]
        np.testing.assert_allclose(shown, curve.at(gamma), atol=0.051)
    assert page.problems == []


def test_the_page_reads_the_curve_exactly(page):
    curve = make_curve()
    for gamma in [-100.0, 0.0, 0.7, 100.0, *curve.breakpoints[::40]]:
        got = page.evaluate("gamma => { const p = at(gamma); return [p.U, p.S, p.H]; }", float(gamma))
        assert tuple(got) == curve.at(gamma)


def test_buttons_go_to_the_choice_and_to_no_calibration(page):
    curve = make_curve()
    page.click("#none")
    assert float(page.input_value("#gamma")) == 0.0
    page.click("#chosen")
    assert float(page.input_value("#gamma")) == curve.gamma
