"""The page of one curve: moving gamma shows its accuracies, exactly."""

from __future__ import annotations

import numpy as np
import pytest

from unseen.calibration.curve import SeenUnseenCurve
from unseen.calibration.display import SeenUnseenDisplay
from unseen.report.curve_page import render_curve_page


def make_curve(n: int = 300) -> SeenUnseenCurve:
    rng = np.random.default_rng(0)
    y, seen = np.arange(n) % 10, np.arange(10) < 7
    scores = rng.normal(size=(n, 10))
    scores[np.arange(n), y] += 2
    scores[:, seen] += 1
    return SeenUnseenCurve.from_scores(scores, y, seen)


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
