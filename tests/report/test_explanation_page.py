"""The page of explanations, as text and in a real browser."""

from __future__ import annotations

import re

import numpy as np
import pytest

from page_checks import check_page, watched
from unseen import LDA
from unseen._core.prototypes import Prototypes
from unseen.datasets import load_dataset
from unseen.models.explanation import explain_samples
from unseen.models.io import save_model
from unseen.models.prediction import open_samples
from unseen.report.explanation_page import describe_bars, draw_samples, write_explanations

EVIL = '<script>window.harm = 1</script><img src=x onerror="window.harm = 1">'


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model of letters, one with an evil name; with evil names of attributes and without; samples."""
    folder, data = tmp_path_factory.mktemp("why"), load_dataset("letters")
    names = np.array([EVIL if name == "H" else name for name in data.class_names])
    train = np.flatnonzero(data.seen[data.y])[::4]
    evil_attributes = tuple(f"{EVIL} {name}" for name in data.attribute_names)
    for file, attributes in (("named", evil_attributes), ("unnamed", ())):
        S = Prototypes(names, attributes, data.prototypes)
        save_model(LDA(S).fit(data.X[train], names[data.y[train]]), folder / file)
    np.savez(folder / "some.npz", X=data.X[::97], files=np.array([f"{EVIL} {i}" for i in range(34)]))
    return folder


@pytest.fixture(scope="module", params=["named", "unnamed"])
def page_file(request, folder, run):
    path = folder / f"{request.param}.html"
    done = run("explain", folder / request.param, folder / "some.npz", "--html", path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", f"wrote {path}\n")
    return path


def test_bars_are_as_long_as_contributions(folder):
    from unseen.models.io import load_model

    model = load_model(folder / "named")
    for reason in explain_samples(model, open_samples(folder / "some.npz")):
        bars = describe_bars(reason)
        values = np.array([part.contribution for part in reason.parts])
        widths = np.array([bar["width"] for bar in bars])
        np.testing.assert_allclose(widths, 50 * np.abs(values) / np.abs(values).max(), atol=0.01)
        assert [bar["start"] >= 50 for bar in bars] == (values > 0).tolist()


def test_images_are_shown_if_there_are_any(folder):
    samples = open_samples(folder / "some.npz")
    images, pixels = draw_samples("some.npz", samples, 3)
    assert pixels and len(images) == 3 and images[0].startswith("data:image/png;base64,")
    rng = np.random.default_rng(0)
    np.save(folder / "noise.npy", rng.normal(size=(5, 256)))
    assert draw_samples("noise.npy", open_samples(folder / "noise.npy"), 3) == ([], False)


def test_a_page_says_how_many_samples_it_shows(folder, tmp_path):
    from unseen.models.io import load_model

    model = load_model(folder / "named")
    reasons = list(explain_samples(model, open_samples(folder / "some.npz")))[:2]
    write_explanations(reasons, tmp_path / "x.html", model=model, title="letters", total=34)
    text = (tmp_path / "x.html").read_text("utf-8")
    assert "Shown are the first 2 of 34" in text and len(re.findall("rather than", text)) == 2


@pytest.mark.xdist_group("browser")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_is_usable_by_everybody(browser, page_file, width, scheme):
    page, troubles = watched(
        browser, page_file, viewport={"width": width, "height": 900}, color_scheme=scheme
    )
    check_page(page, width)
    assert page.evaluate("document.documentElement.dataset.theme") == scheme
    assert page.evaluate("window.harm") is None
    assert page.locator("section.why").count() == 34
    named = page_file.stem == "named"
    assert (page.locator("table.parts th").filter(has_text=f"{EVIL} ").count() > 0) == named
    page.close()
    assert not troubles
