"""The page of one curve: moving gamma shows its accuracies, exactly."""

from __future__ import annotations

import html
import re

import numpy as np
import pytest

from problems import small_curve
from unseen.calibration.display import SeenUnseenDisplay
from unseen.report.curve_page import render_curve_page

pytestmark = pytest.mark.xdist_group("browser")


def test_the_page_escapes_what_it_is_given():
    pytest.importorskip("plotly")
    page = render_curve_page(SeenUnseenDisplay(small_curve()), "</script><b>scores & more")
    assert "</script><b>" not in page
    assert "&lt;/script&gt;&lt;b&gt;scores &amp; more" in page


def test_no_script_runs_but_those_of_the_page():
    pytest.importorskip("plotly")
    page = render_curve_page(SeenUnseenDisplay(small_curve()))
    policy = html.unescape(re.search('http-equiv="Content-Security-Policy" content="([^"]*)"', page)[1])
    scripts = policy.split("script-src ")[1].split(";")[0].split()
    assert policy.startswith("default-src 'none'")
    assert len(scripts) == 2 and all(hash.startswith("'sha256-") for hash in scripts)


@pytest.fixture(scope="module")
def page(browser, tmp_path_factory):
    """The page in a browser without network, and everything that went wrong in it."""
    pytest.importorskip("plotly")
    file = tmp_path_factory.mktemp("page") / "curve.html"
    file.write_text(render_curve_page(SeenUnseenDisplay(small_curve())), "utf-8")
    page = browser.new_context(offline=True).new_page()
    page.problems = []
    page.on(
        "console", lambda message: message.type in ("error", "warning") and page.problems.append(message.text)
    )
    page.on("pageerror", lambda error: page.problems.append(str(error)))
    page.on("requestfailed", lambda request: page.problems.append(request.url))
    page.goto(file.as_uri())
    page.wait_for_selector("[data-chart=over] .main-svg")
    yield page
    page.close()


def numbers(page):
    return [float(page.inner_text(f"[data-out={name}]")) for name in ("U", "S", "H")]


def test_moving_gamma_shows_its_accuracies(page):
    curve = small_curve()
    top = int(page.get_attribute("[data-in=slider]", "max"))
    assert top == len(curve.breakpoints)
    for k in (0, top // 3, top):
        page.locator("[data-in=slider]").fill(str(k))
        assert float(page.input_value("[data-in=gamma]")) == pytest.approx(curve.gammas[k], rel=1e-5)
        np.testing.assert_allclose(numbers(page), curve.at(curve.gammas[k]), atol=0.051)
    assert page.problems == []


def test_the_page_reads_the_curve_exactly(page):
    curve = small_curve()
    for gamma in [-100.0, 0.0, 0.7, 100.0, *curve.breakpoints[::40]]:
        script = "gamma => { const p = curveAt(panels[0].model, gamma); return [p.U, p.S, p.H]; }"
        got = page.evaluate(script, float(gamma))
        assert tuple(got[:2]) == curve.at(gamma)[:2]
        assert got[2] == pytest.approx(curve.at(gamma)[2], rel=1e-14)


def test_buttons_go_to_the_choice_and_to_no_calibration(page):
    curve = small_curve()
    page.get_by_role("button", name="No calibration").click()
    assert page.evaluate("panels[0].gamma") == 0.0
    page.get_by_role("button", name="Chosen").click()
    assert page.evaluate("panels[0].gamma") == curve.gamma
    assert page.get_by_role("button", name="Chosen").get_attribute("aria-pressed") == "true"


def test_dark_mode_follows_the_system_and_the_button(page):
    page.emulate_media(color_scheme="dark")
    page.wait_for_selector("html[data-theme=dark]")
    page.get_by_role("button", name="Light").click()
    page.wait_for_selector("html[data-theme=light]")
    assert page.problems == []
