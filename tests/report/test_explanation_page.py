"""The page of explanations, as text and in a real browser."""

from __future__ import annotations

import re
from itertools import islice

import numpy as np
import pytest

from page_checks import check_page, watched
from unseen import LDA
from unseen._core.prototypes import Prototypes
from unseen.datasets import load_dataset
from unseen.models.explanation import explain_samples
from unseen.models.io import save_model
from unseen.models.prediction import open_samples
from unseen.report.explanation_page import describe_bars, write_explanations

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
    rng = np.random.default_rng(0)
    np.save(folder / "noise.npy", rng.normal(size=(5, 256)))
    assert write_first(folder, "some.npz", 3).count('src="data:image/png;base64,') == 3
    assert "<img" not in write_first(folder, "noise.npy", 3)


def test_a_page_says_how_many_samples_it_shows(folder):
    text = write_first(folder, "some.npz", 2)
    assert "Shown are the first 2 of 34" in text and len(re.findall("rather than", text)) == 2


def write_first(folder, source, n):
    """Return the page of the first n samples of a file."""
    from unseen.models.io import load_model

    model, samples = load_model(folder / "named"), open_samples(folder / source)
    reasons = list(islice(explain_samples(model, samples), n))
    path = folder / f"first of {source}.html"
    return write_explanations(reasons, path, model=model, source=source, samples=samples).read_text("utf-8")


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
