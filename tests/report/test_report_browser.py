"""The report in a real browser: what people see follows what they do, and nothing leaves the page."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from problems import small_experiment
from unseen.benchmark.experiment import Experiment
from unseen.benchmark.protocol import ScoredModel, evaluate_run, make_run
from unseen.benchmark.protocol import TestSamples as Samples
from unseen.benchmark.store import Store
from unseen.methods import find_method
from unseen.report import write_report
from unseen.selection.search import GZSLClassifierCV

pytestmark = pytest.mark.xdist_group("browser")

EVIL = '<script>window.harm = 1</script><img src=x onerror="window.harm = 1">'
METHODS = ("linear-vs", "eszsl", "sae")


@pytest.fixture(scope="module")
def experiment():
    return Experiment.load("digits")


@pytest.fixture(scope="module")
def path(experiment, tmp_path_factory):
    """The report of three methods on digits, where a class carries a name that tries to be code."""
    names = [EVIL, *experiment.description["class_names"][1:]]
    runs = {method: evaluate_run(experiment, method, 0) for method in METHODS}
    return report_of(tmp_path_factory.mktemp("run"), experiment, runs, class_names=names)


def report_of(folder, experiment, runs, **description):
    with Store(folder, create=True) as store:
        store.add_experiment(experiment.key, {**experiment.description, **description})
        for method, run in runs.items():
            store.add_result(make_run(experiment, method, 0), run | {"threads": 1, "warnings": []})
    return write_report(folder)


@pytest.fixture(scope="module")
def opened(browser, path: Path):
    """The open report, loaded once, and everything that went wrong in it."""
    page = browser.new_page()
    troubles: list[str] = []
    page.on("console", lambda message: message.type in ("error", "warning") and troubles.append(message.text))
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("request", lambda request: request.url != path.as_uri() and troubles.append(request.url))
    page.goto(path.as_uri())
    page.wait_for_selector("[data-chart=gain] .main-svg")
    yield page, troubles
    page.close()


@pytest.fixture
def page(opened):
    """The report as the test before left it; afterwards: no error in the console, no request to anywhere."""
    page, troubles = opened
    page.set_viewport_size({"width": 1200, "height": 900})
    page.evaluate("scrollTo({top: 0, behavior: 'instant'})")
    yield page
    assert not troubles


@pytest.fixture(scope="module")
def curve(experiment):
    """The seen-unseen curve of ESZSL, computed in Python, and its score maxima."""
    data, train = experiment.dataset, experiment.split.train
    model = GZSLClassifierCV(find_method("eszsl")(data.prototypes), cv=experiment.split.cv())
    samples = Samples(experiment)
    scored = ScoredModel(model.fit(data.X[train], data.y[train]).estimator_, model.gamma_, samples)
    return scored.curves["per-class"], scored.maxima.flips, samples.kinds["seen"]


def choose(page, name):
    page.get_by_text(name, exact=True).and_(page.locator(".choose span")).click()
    page.locator("[data-chart=trade]").scroll_into_view_if_needed()
    page.wait_for_selector("[data-chart=trade] .main-svg")


def shown(page, *names):
    return [page.locator(f"[data-out='{name}']").inner_text() for name in names]


def point(page):
    return page.evaluate(
        "() => { const last = document.querySelector('[data-chart=trade]').data.at(-1);"
        " return [last.x[0], last.y[0]]; }"
    )


def set_slider(page, k):
    page.locator("[data-in=slider]").fill(str(k))
    return float(page.locator("[data-in=gamma]").input_value())


def test_the_slider_shows_the_numbers_of_the_python_curve(page, curve):
    curve, flips, is_seen = curve
    choose(page, "ESZSL")
    for k in np.linspace(0, len(curve.breakpoints), 9).astype(int):
        gamma = set_slider(page, k)
        expected = curve.at(gamma)
        assert [float(text) for text in shown(page, "U", "S", "H")] == pytest.approx(expected, abs=0.0501)
        assert point(page) == pytest.approx(expected[:2], abs=1e-3)
        unseen = [int(np.sum(flips[rows] < gamma)) for rows in (is_seen, ~is_seen)]
        cells = shown(page, "seen-unseen", "unseen-unseen")
        assert [int(cell.split()[0].replace(",", "")) for cell in cells] == unseen


def test_the_arrow_keys_move_gamma_step_by_step(page):
    choose(page, "SAE")
    before = point(page)
    page.locator("[data-in=slider]").focus()
    page.keyboard.press("ArrowRight")
    assert point(page) != before
    page.keyboard.press("ArrowLeft")
    assert point(page) == before
    assert "harmonic mean" in page.locator("[data-in=slider]").get_attribute("aria-valuetext")


def test_a_typed_gamma_and_the_buttons_move_the_point(page, curve):
    curve = curve[0]
    choose(page, "ESZSL")
    page.locator("[data-in=gamma]").fill("0.1")
    assert float(shown(page, "H")[0]) == pytest.approx(curve.at(0.1)[2], abs=0.0501)
    page.get_by_role("button", name="Best on these samples").click()
    assert float(shown(page, "H")[0]) == pytest.approx(curve.h, abs=0.0501)


@pytest.mark.parametrize("method", ["ESZSL", "SAE", "Linear V→S"])
def test_the_named_points_show_the_numbers_of_the_table(page, method):
    choose(page, method)
    row = page.locator("figure:nth-of-type(2) tbody tr").filter(has_text=method)
    table = [float(text.split()[0].rstrip("†")) for text in row.locator("td").all_inner_texts()]
    for name, expected in zip(("No calibration", "Calibrated", "Calibrated + λ"), table, strict=True):
        page.get_by_role("button", name=name, exact=True).click()
        assert float(shown(page, "H")[0]) == expected
        pressed = page.locator("[data-point][aria-pressed=true]").all_inner_texts()
        assert name in pressed


def test_the_switch_shows_both_lambdas(page):
    choose(page, "SAE")
    for value, name in (("zsl", "Calibrated"), ("gzsl", "Calibrated + λ")):
        page.locator(f"[data-lambda][value={value}]").check(force=True)
        assert page.get_by_role("button", name=name, exact=True).get_attribute("aria-pressed") == "true"
    assert "alpha" in shown(page, "params-zsl")[0]


def test_a_class_is_found_by_a_part_of_its_name(page):
    page.locator("[data-in=find]").fill(" 7 ")
    rows = page.locator("table.classes tbody tr:visible")
    assert rows.count() == 1
    assert shown(page, "found") == ["1 of 10 classes"]
    page.locator("[data-in=find]").fill("")
    assert rows.count() == 10


def test_the_hardest_classes_show_what_they_are_taken_for(page):
    page.locator("[data-chart=hardest]").scroll_into_view_if_needed()
    page.wait_for_selector("[data-chart=hardest] .main-svg")
    labels = page.evaluate("document.querySelector('[data-chart=hardest]').layout.yaxis.ticktext")
    hardest = page.locator("table.classes tbody tr th").first.inner_text()
    assert labels[-1].rstrip(" *…") == hardest[: len(labels[-1].rstrip(" *…"))]


def test_how_sure_is_drawn_against_how_right(page, experiment):
    choose(page, "ESZSL")
    stored = evaluate_run(experiment, "eszsl", 0)["reliability"]
    note = page.locator("[data-out=reliability-note]").inner_text()
    for kind in ("seen", "unseen"):
        place = f"[data-chart=sure-{kind}]"
        page.locator(place).scroll_into_view_if_needed()
        page.wait_for_selector(f"{place} .main-svg")
        _, before, after = page.evaluate(
            f"document.querySelector('{place}').data.map(d => [d.x, d.y, d.customdata])"
        )
        for when, (sure, right, samples) in (("before", before), ("after", after)):
            bins = stored[when][kind]
            filled = np.array(bins["samples"]) > 0
            assert samples == np.array(bins["samples"])[filled].tolist()
            assert sure == pytest.approx(100 * np.array(bins["confidence"])[filled])
            assert right == pytest.approx(100 * np.array(bins["accuracy"])[filled])
        assert f"{kind} {stored['before'][kind]['ece']:.3f} → {stored['after'][kind]['ece']:.3f}" in note


def test_bars_of_the_split_are_named(page):
    page.locator("[data-chart=splits]").scroll_into_view_if_needed()
    page.wait_for_selector("[data-chart=splits] .main-svg")
    names = page.locator("[data-chart=splits] .xaxislayer-above text").all_text_contents()
    assert {"1", "2", "3"} <= set(names)


@pytest.mark.parametrize("width", [1280, 390])
def test_the_first_chart_has_its_axis(page, width):
    page.set_viewport_size({"width": width, "height": 800})
    page.reload()
    page.wait_for_selector("[data-chart=gain] .main-svg")
    inside = """() => {
      const chart = document.querySelector("[data-chart=gain]"), box = chart.getBoundingClientRect();
      return Array.from(chart.querySelectorAll(".xaxislayer-above text, .g-xtitle text")).every(text => {
        const place = text.getBoundingClientRect();
        return place.height > 0 && place.bottom <= box.bottom + 1 && place.right <= box.right + 1;
      });
    }"""
    assert page.evaluate(inside)


def test_a_chart_is_saved_by_a_button_outside_of_it(page):
    page.wait_for_selector("[data-save=gain]")
    with page.expect_download() as download:
        page.locator("[data-save=gain]").click()
    assert download.value.suggested_filename == "unseen-gain.svg"
    assert page.locator(".modebar").count() == 0


def column(page, table, index):
    return page.locator(f"{table} tbody tr > :nth-child({index})").all_inner_texts()


def numbers(page, table):
    """The first number of every method, without the average."""
    return [float(text.split()[0].rstrip("†")) for text in column(page, table, 2)[:-1]]


def test_tables_sort_by_number_and_by_name_and_keep_the_average_below(page):
    table = "figure:nth-of-type(1) table"
    page.locator(f"{table} thead button").nth(1).click()
    values = numbers(page, table)
    assert values == sorted(values, reverse=True)
    assert page.locator(f"{table} thead th").nth(1).get_attribute("aria-sort") == "descending"
    page.locator(f"{table} thead button").nth(1).press("Enter")
    assert numbers(page, table) == values[::-1]
    page.locator(f"{table} thead button").first.click()
    assert column(page, table, 1) == ["ESZSL", "Linear V→S", "SAE", "average"]


def test_classes_come_with_the_worst_first_and_their_names_are_only_text(page):
    accuracies = [float(text) for text in column(page, "table.classes", 4)]
    assert accuracies == sorted(accuracies)
    assert EVIL in column(page, "table.classes", 1)
    assert page.evaluate("window.harm") is None


def test_a_table_is_copied_in_the_format_of_the_button(page):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy Markdown").first.click()
    page.wait_for_selector("#said:not(:empty)", state="attached")
    assert "| --- |" in page.evaluate("navigator.clipboard.readText()")
    for name in ("Copy Markdown", "Copy CSV"):
        for button in page.get_by_role("button", name=name).all():
            button.click()
            page.wait_for_timeout(50)
            copied = page.evaluate("navigator.clipboard.readText()")
            assert not re.search(r"±\W{0,3}0\.0\b", copied)  # nothing varies in a closed form


def test_a_phone_never_scrolls_sideways(page):
    page.set_viewport_size({"width": 360, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth") == 360


def test_dark_mode_follows_the_system_and_the_button(page):
    page.emulate_media(color_scheme="dark")
    page.wait_for_selector("html[data-theme=dark]")
    page.get_by_role("button", name="Light").click()
    page.wait_for_selector("html[data-theme=light]")


DRAWN = "Array.from(document.querySelectorAll('[data-chart]'), place => Boolean(place.data))"


def open_unscrolled(browser, path, script=""):
    page = browser.new_page(viewport={"width": 1200, "height": 900})
    page.add_init_script(script)
    page.goto(path.as_uri())
    page.wait_for_selector("[data-chart=gain] .main-svg")
    return page


def test_every_chart_is_drawn_for_an_image_of_the_whole_page(browser, path):
    page = open_unscrolled(browser, path)
    for place in page.locator("[data-chart]").all():
        place.locator(".main-svg").first.wait_for()
    assert all(page.evaluate(DRAWN)) and page.evaluate("scrollY") == 0
    page.close()


def test_printing_draws_every_chart(browser, path):
    page = open_unscrolled(browser, path, "window.requestIdleCallback = () => {};")
    assert not all(page.evaluate(DRAWN))
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert all(page.evaluate(DRAWN))
    page.close()


def test_thousands_of_classes_are_one_shape_for_each_part_of_the_split(browser, tmp_path):
    """A bar for each would take the browser a minute at 20 000 classes."""
    experiment = small_experiment(n_samples=6600, n_classes=1100)
    path = report_of(tmp_path, experiment, {"linear-sv": evaluate_run(experiment, "linear-sv", 0)})
    page = open_unscrolled(browser, path)
    page.locator("[data-chart=splits] .main-svg").first.wait_for()
    traces = page.evaluate(
        "Array.from(document.querySelector('[data-chart=splits]').data, ({type, y}) => ({type, y}))"
    )
    assert {trace["type"] for trace in traces} == {"scatter"}
    by_class = np.sum([trace["y"] for trace in traces], axis=0)
    assert sorted(by_class) == sorted(np.bincount(experiment.dataset.y))
    page.close()
