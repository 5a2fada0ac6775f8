"""The page of a model in a real browser: it computes what Python computes, and nothing leaves it."""

from __future__ import annotations

from copy import deepcopy

import numpy as np
import pytest

from page_checks import check_page, watched
from unseen import ALE, ESZSL, LDA, SAE, SJE, DeViSE, GZSLClassifierCV, LinearSV, LinearVS
from unseen.datasets import load_dataset
from unseen.datasets.checks import Check
from unseen.datasets.splits import make_split
from unseen.report.model_page import describe_model, score_samples, write_model_page
from unseen.report.thumbnails import find_pixels
from unseen.report.try_class import describe_try

pytestmark = pytest.mark.xdist_group("browser")

EVIL = '<script>window.harm = 1</script><img src=x onerror="window.harm = 1">'


def fit_letters(method, normalize="l2", gamma="retention"):
    """Fit on every fourth letter of the training set; one letter has a name that tries to be code."""
    import pandas as pd

    data = load_dataset("letters")
    names = np.array([EVIL if name == "H" else name for name in data.class_names])
    S = pd.DataFrame(data.prototypes, index=names, columns=list(data.attribute_names))
    train = make_split(data).train[::4]
    estimator = deepcopy(method).set_params(prototypes=S, normalize=normalize)
    search = GZSLClassifierCV(estimator, [{}], gamma=gamma)
    return search.fit(data.X[train], names[data.y[train]])


# resolves when the page has drawn what was asked; wait_for_function may need eval, which the page forbids
DRAWN = (
    "new Promise(done => (function look() { panels[0].waiting ? requestAnimationFrame(look) : done() })())"
)


@pytest.fixture(scope="module")
def data():
    letters = load_dataset("letters")
    names = tuple(EVIL if name == "H" else name for name in letters.class_names)
    return type(letters)(**{**vars(letters), "class_names": names})


@pytest.fixture(scope="module")
def model():
    return fit_letters(LDA(), "sqrt")


@pytest.fixture(scope="module")
def opened(browser, model, data, tmp_path_factory):
    import pandas as pd

    path = tmp_path_factory.mktemp("model") / "model.html"
    model.held_out_.facts["checks"] = [Check("U001", "warning", EVIL, EVIL, EVIL, (EVIL,)).to_json()]
    groups = pd.DataFrame({"class": data.class_names, EVIL: "letter"})
    write_model_page(model, path, title=EVIL, data=data, pictures=find_pixels(data.X), taxonomy=groups)
    page, troubles = watched(browser, path)
    page.wait_for_selector("[data-chart=over] .main-svg")
    yield page, troubles
    page.close()


@pytest.fixture
def page(opened):
    page, troubles = opened
    page.set_viewport_size({"width": 1280, "height": 900})
    yield page
    assert not troubles


def describe(page, s):
    """Switch the attributes of a description on, by clicks."""
    page.locator("[data-in=like]").select_option("")
    for i in np.flatnonzero(s):
        page.locator("[data-out=attributes] input").nth(int(i)).check(force=True)


def with_class(model, s):
    added = deepcopy(model)
    added.add_classes(np.array([s]), classes=["yours"])
    return added


def embedded(model, data):
    """The samples of the page, as Python chooses them."""
    from unseen.models.suggestion import take_turns
    from unseen.report.try_class import MOST_SAMPLES

    tested = score_samples(model, data)
    in_turn = take_turns(tested.y, np.ones(len(tested.y), dtype=bool))
    return tested.rows[np.sort(in_turn[:MOST_SAMPLES])]


DESCRIPTIONS = [np.arange(16) % 2, np.r_[np.ones(4), np.zeros(12)], np.ones(16)]


@pytest.mark.parametrize("s", DESCRIPTIONS, ids=["odd", "few", "all"])
def test_a_described_class_claims_what_it_would_claim_in_python(page, model, data, s):
    describe(page, s)
    X = data.X[embedded(model, data)].astype(np.float64)
    added = with_class(model, s)
    expected = added.similarity(X)
    got = np.array(page.evaluate("panels[0].attempt.scores()"))
    np.testing.assert_allclose(got, expected[:, -1], atol=1e-4)
    claims = sorted(page.evaluate("panels[0].attempt.claims().map(pair => pair[0])"))
    assert claims == np.flatnonzero(expected.argmax(axis=1) == len(model.classes_)).tolist()
    assert f"claim {len(claims)} of {len(X)} samples" in page.locator("[data-out=claim]").inner_text()
    assert page.locator("[data-out=claimed] img").count() == min(48, len(claims))


def test_like_a_class_is_its_twin_and_a_change_is_named(page, model, data):
    c = model.classes_.tolist().index("P")
    page.locator("[data-in=like]").select_option(str(c))
    assert "It is a twin of P" in page.locator("[data-out=twin]").inner_text()
    page.get_by_role("checkbox", name="lower right diagonal").click(force=True)
    assert page.locator("[data-out=but]").inner_text() == "but: lower right diagonal"
    assert "twin of R" in page.locator("[data-out=twin]").inner_text()
    assert page.locator(".display line.on").count() == int(data.prototypes[c].sum()) + 1


def test_segments_are_switches(page):
    page.locator("[data-in=like]").select_option("")
    page.locator(".display line").first.dispatch_event("click")
    assert page.get_by_role("checkbox", name="top left").is_checked()
    page.get_by_role("checkbox", name="top left").focus()
    page.keyboard.press("Space")
    assert page.locator(".display line.on").count() == 0
    assert "Switch on an attribute" in page.locator("[data-out=claim]").inner_text()


def draw(page, *strokes):
    canvas = page.locator("[data-out=canvas]")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    for stroke in strokes:
        points = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in stroke]
        page.mouse.move(*points[0])
        page.mouse.down()
        for point in points[1:]:
            page.mouse.move(*point, steps=5)
        page.mouse.up()


def test_a_drawn_letter_has_the_probabilities_of_python(page, model):
    page.get_by_role("button", name="Clear").click()
    page.locator("[data-in=like]").select_option("")
    draw(page, [(0.3, 0.15), (0.3, 0.85), (0.7, 0.85)])
    x = np.array([list(page.evaluate("Array.from(panels[0].attempt.drawing.x)"))])
    assert x.max() <= 1 and x[0].reshape(16, 16)[:, -2:].sum() < 0.3 * x.sum()
    for s in (None, DESCRIPTIONS[1]):
        if s is not None:
            describe(page, s)
        classifier = model if s is None else with_class(model, s)
        expected = classifier.predict_proba(x)[0]
        script = "panels[0].attempt.probabilities(panels[0].attempt.drawing.x)"
        got = dict(page.evaluate(script))
        order = [*range(len(model.classes_)), *([None] if s is not None else [])]
        np.testing.assert_allclose([got[c] for c in order], expected, atol=1e-4)
    first = page.locator("[data-out=drawn] li").first.inner_text()
    assert first.startswith(("L", "the class you describe"))
    page.get_by_role("button", name="Clear").click()
    assert page.locator("[data-out=drawn] li").count() == 0


def test_the_slider_moves_classes_and_claims(page, model, data):
    document = describe_model(model, "m", data)
    held = document["explorer"]["models"]["held"]
    describe(page, DESCRIPTIONS[0])
    page.get_by_text("expected, on held-out samples").click()
    for k in (5, len(held["gammas"]) - 5):
        page.locator("[data-in=slider]").fill(str(k))
        page.evaluate(DRAWN)
        heading = page.get_by_role("rowheader", name="A", exact=True)
        row = page.locator("table.classes tbody tr").filter(has=heading)
        c = document["names"].index("A")
        expected = [held["by_class"][kind][k][c] for kind in ("seen", "new")]
        assert [float(t) for t in row.locator("td.bar").all_inner_texts()[:2]] == expected
        gamma = held["gammas"][k]
        claims = page.evaluate("panels[0].attempt.claims().length")
        scores = with_class(model, DESCRIPTIONS[0]).similarity(data.X[embedded(model, data)].astype(float))
        scores[:, :-1] += (model.gamma_ - gamma) * model.seen_
        assert claims == int((scores.argmax(axis=1) == len(model.classes_)).sum())
    page.get_by_role("button", name="As fitted").click()
    assert page.evaluate("panels[0].explorer.gamma") == model.gamma_


def test_lists_name_who_gains_and_who_loses(page, model, data):
    page.get_by_text("measured on letters").click()
    page.evaluate(DRAWN)
    document = describe_model(model, "m", data)
    measured = document["explorer"]["models"]["measured"]
    table, gammas = measured["by_class"]["seen"], measured["gammas"]
    before, after = np.array(table[gammas.index(0.0)]), np.array(table[gammas.index(model.gamma_)])
    worst = document["names"][int(np.argmin(after - before))]
    assert page.locator("[data-out=lose] .who").first.inner_text() == worst
    page.get_by_text("expected, on held-out samples").click()


def test_names_are_only_text(page):
    assert page.locator("h2").inner_text() == EVIL
    assert EVIL in page.locator("table.classes tbody th").all_inner_texts()
    assert page.locator(".checks dt").first.inner_text() == f"U001 {EVIL}"
    assert page.locator("[aria-labelledby=levels] tbody th").nth(1).inner_text() == EVIL
    assert page.evaluate("window.harm") is None


def test_a_class_is_found_by_a_part_of_its_name(page):
    page.locator("[data-in=find-class]").fill("q")
    assert page.locator("table.classes tbody tr:visible").count() == 1
    page.locator("[data-in=find-class]").fill("")


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_is_usable_by_everybody(page, width, scheme):
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 800})
    page.wait_for_selector(f"html[data-theme={scheme}]")
    check_page(page, width)


OTHERS = {
    "lda, linear": (LDA(kernel="linear", alpha=0.1), "l2"),
    "lda, standard": (LDA(), "standard"),
    "linear-vs": (LinearVS(alpha=0.1), "l2"),
    "linear-sv": (LinearSV(alpha=0.1), None),
    "eszsl": (ESZSL(), "standard"),
    "sae": (SAE(), "sqrt"),
    "ale": (ALE(alpha=0.01), "l2"),
    "devise": (DeViSE(alpha=0.01), "l2"),
    "sje": (SJE(alpha=0.01), "l2"),
}
SCORE = """([data, s, x]) => {
  const form = new RowForm(data), row = form.row(s), z = numbers(data.z);
  const samples = data.true.map((_, i) => dot(z, i * form.size, row.k) + row.intercept);
  const drawn = new Recognizer(data.drawing, form).scores(x, row);
  return [samples, drawn.classes, drawn.described];
}"""


@pytest.mark.parametrize("method", OTHERS)
def test_every_method_scores_as_in_python(page, data, method):
    model = fit_letters(*OTHERS[method], gamma=0.5)
    attempt = describe_try(model, data, score_samples(model, data), find_pixels(data.X))
    s, x = DESCRIPTIONS[0], data.X[5].astype(np.float64)
    samples, classes, described = page.evaluate(SCORE, [attempt, s.tolist(), x.tolist()])
    added = with_class(model, s).estimator_
    np.testing.assert_allclose(
        samples, added.similarity(data.X[embedded(model, data)].astype(float))[:, -1], atol=1e-4
    )
    np.testing.assert_allclose([*classes, described], added.similarity(x[None])[0], atol=1e-4)
