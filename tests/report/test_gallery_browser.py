"""The gallery in a real browser: filters, one image at a time, keyboard, and nothing leaves the page."""

from __future__ import annotations

import numpy as np
import pytest

from page_checks import check_page, watched
from unseen import LDA, GZSLClassifierCV
from unseen.datasets import load_dataset
from unseen.datasets.prototypes import Prototypes
from unseen.datasets.splits import make_split
from unseen.models.prediction import Samples, predict_tables
from unseen.report.gallery import Predictions, write_gallery
from unseen.report.thumbnails import Files, find_pixels

pytestmark = pytest.mark.xdist_group("browser")

EVIL = '<script>window.harm = 1</script><img src=x onerror="window.harm = 1">'


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """The gallery of every eighth letter, some unknown; a letter, samples and segments have evil names."""
    data = load_dataset("letters")
    split = make_split(data)
    names = np.array([EVIL if name == "H" else name for name in data.class_names])
    S = Prototypes(names, tuple(f"{EVIL} {name}" for name in data.attribute_names), data.prototypes)
    search = GZSLClassifierCV(LDA(S), {"alpha": [0.03]}, cv=split.cv(), gamma="paper")
    model = search.fit(data.X[split.train], names[data.y[split.train]])
    X, y = data.X[::8], names[data.y[::8]]
    samples = Samples(
        "letters", X.shape, lambda: iter([X]), np.array([f"{EVIL} {i}" for i in range(len(X))]), y
    )
    found = Predictions(model.classes_, y)
    list(found.watch(predict_tables(model, samples, reject=0.2)))
    path = tmp_path_factory.mktemp("gallery") / "gallery.html"
    gallery = write_gallery(found, samples, find_pixels(X), path, model=model, title=EVIL)
    return path, gallery


@pytest.fixture(scope="module")
def opened(browser, shown):
    page, troubles = watched(browser, shown[0])
    yield page, troubles
    page.close()


@pytest.fixture
def page(opened):
    page, troubles = opened
    page.set_viewport_size({"width": 1280, "height": 900})
    page.reload()
    yield page
    assert not troubles


def wrong(sample):
    return sample["t"] != sample["c"][0]


def test_new_classes_come_first_and_names_are_only_text(page, shown):
    kinds = page.locator(".group .kind").all_text_contents()
    order = ["new", "unknown", "seen"]
    assert kinds == sorted(kinds, key=order.index) and set(kinds) == set(order)
    assert page.locator("h2").inner_text() == EVIL
    assert EVIL in page.locator(".group h3").all_text_contents()[2]
    assert page.evaluate("window.harm") is None


def test_filters_show_what_they_say(page, shown):
    samples, groups = shown[1]["samples"], {g["label"]: g for g in shown[1]["groups"]}
    page.get_by_text("unknown", exact=True).and_(page.locator(".choose span")).click()
    assert page.locator(".group").count() == 1
    page.get_by_text("new", exact=True).and_(page.locator(".choose span")).click()
    page.locator("[name=most]").fill("80")
    page.locator("[name=wrong]").check()
    expected = [s for s in samples if groups[s["c"][0]]["kind"] == "unseen" and s["p"][0] <= 80 and wrong(s)]
    assert 0 < len(expected) < len(samples)
    assert page.locator("[data-out=found]").inner_text() == f"{len(expected)} of {len(samples)} images"
    page.locator("[name=class]").select_option(index=1)
    expected = [s for s in expected if s["c"][0] == shown[1]["groups"][0]["label"]]
    assert page.locator(".tile").count() == min(12, len(expected))


def test_an_image_opens_by_keyboard_with_its_best_classes(page, shown):
    names, by_name = shown[1]["names"], {s["n"]: s for s in shown[1]["samples"]}
    tile = page.locator(".tile").first
    tile.focus()
    page.keyboard.press("Enter")
    sample = by_name[page.locator("[data-out=name]").inner_text()]
    tops = page.locator("[data-out=top] li > span:first-child").all_inner_texts()
    assert [text.rsplit(None, 1)[0] for text in tops] == [names[c] for c in sample["c"]]
    assert page.locator("[data-out=verdict]").inner_text() == f"Wrong: it is {names[sample['t']]}."
    assert page.locator("[data-out=image]").get_attribute("src") == sample["i"]
    reason = sample["e"]
    heading = page.locator("[data-out=reasons] h4").inner_text()
    assert heading == f"Why {reason['c']} and not {reason['r']}"
    parts = page.locator("[data-out=reasons] li > span:first-child").all_inner_texts()
    assert parts == [part[0] for part in reason["p"]] and parts[0].startswith(f"{EVIL} ")
    assert page.evaluate("window.harm") is None
    page.keyboard.press("ArrowRight")
    assert page.locator("[data-out=name]").inner_text() != sample["n"]
    page.keyboard.press("ArrowLeft")
    assert page.locator("[data-out=name]").inner_text() == sample["n"]
    page.keyboard.press("Escape")
    assert not page.locator("dialog").is_visible()
    assert tile.evaluate("tile => tile === document.activeElement")


def test_wrong_ones_come_first_in_a_group_and_more_are_a_button_away(page, shown):
    part = page.locator(".group").filter(has=page.get_by_role("button", name="Show")).first
    count = part.locator(".tile").count()
    part.get_by_role("button", name="Show").first.click()
    part = page.locator(f"[data-label='{part.get_attribute('data-label')}']")
    assert part.locator(".tile").count() > count
    flags = [("wrong" in tile.get_attribute("class")) for tile in part.locator(".tile").all()]
    assert flags == sorted(flags, reverse=True)


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_is_usable_by_everybody(page, width, scheme):
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 800})
    check_page(page, width)
    page.locator(".tile").first.click()
    check_page(page, width)


@pytest.mark.slow
def test_a_gallery_of_a_whole_data_set_is_bounded_and_opens_quickly(browser, tmp_path):
    """11 788 images of the size of CUB, in 200 classes: the page is full, and is there in three seconds."""
    image = pytest.importorskip("PIL.Image")
    rng = np.random.default_rng(0)
    S = rng.normal(size=(200, 20))
    y = rng.integers(0, 200, 11_788)
    X = S[y] @ rng.normal(size=(20, 64)) + rng.normal(size=(11_788, 64))
    train = (y < 150) & (np.arange(len(y)) % 4 == 0)
    model = LDA(dict(zip([f"bird {c}" for c in range(200)], S)))
    model.fit(X[train], np.array([f"bird {c}" for c in y[train]]))
    photos = [tmp_path / f"{i}.jpg" for i in range(40)]
    for path in photos:
        noise = image.fromarray(rng.integers(0, 255, (12, 16, 3), np.uint8))
        noise.resize((500, 375), image.Resampling.BICUBIC).save(path)
    samples = Samples("birds", X.shape, lambda: iter(np.array_split(X, 12)), None, None)
    found, path = Predictions(model.classes_), tmp_path / "gallery.html"
    list(found.watch(predict_tables(model, samples)))
    pictures = Files([photos[i % 40] for i in range(len(X))])
    shown = write_gallery(found, samples, pictures, path, model=model, title="birds")
    assert path.stat().st_size <= 8_000_000
    assert len(shown["samples"]) > 2000 and all(sample["e"] for sample in shown["samples"])
    page, troubles = watched(browser, path)
    page.wait_for_selector(".tile img")
    assert page.evaluate("performance.now()") < 3000
    page.close()
    assert not troubles
