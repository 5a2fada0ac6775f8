"""The pages from the command: a gallery of predictions, and the page of a model."""

from __future__ import annotations

import numpy as np
import pytest
from click.testing import CliRunner

from unseen import LinearSV
from unseen.cli import main
from unseen.datasets import load_dataset
from unseen.datasets.prototypes import Prototypes
from unseen.datasets.splits import make_split
from unseen.models.io import load_model, save_model
from unseen.selection.search import GZSLClassifierCV


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A model of the digits, which are square gray images."""
    data = load_dataset("digits")
    split, names = make_split(data), np.array(data.class_names)
    S = Prototypes(names, data.attribute_names or (), data.prototypes)
    search = GZSLClassifierCV(LinearSV(S), {"alpha": [0.1]}, cv=split.cv(), gamma="paper")
    path = tmp_path_factory.mktemp("model") / "digits.model"
    save_model(search.fit(data.X[split.train], names[data.y[split.train]]), path)
    return path


def run(*words):
    return CliRunner().invoke(main, [str(word) for word in words])


def test_predict_writes_a_gallery_instead_of_a_table(model, tmp_path):
    pytest.importorskip("jinja2")
    result = run("predict", model, "digits", "--html", tmp_path / "gallery.html")
    assert result.exit_code == 0 and result.stdout == ""
    assert f"wrote {tmp_path / 'gallery.html'}" in result.stderr
    assert "Gallery of predictions" in (tmp_path / "gallery.html").read_text("utf-8")


def test_predict_writes_both_if_both_are_asked_for(model, tmp_path):
    pytest.importorskip("jinja2")
    page, table = tmp_path / "gallery.html", tmp_path / "predictions.csv"
    assert run("predict", model, "digits", "--html", page, "--out", table, "--top", 1).exit_code == 0
    assert page.exists() and table.read_text().startswith("sample,class,score,probability,kind\n")


def test_features_that_are_not_images_are_a_clear_error(model, tmp_path):
    np.save(tmp_path / "noise.npy", np.random.default_rng(0).random((50, 64)))
    result = run("predict", model, tmp_path / "noise.npy", "--html", tmp_path / "gallery.html")
    assert result.exit_code == 2 and "holds no images" in result.stderr
    assert not (tmp_path / "gallery.html").exists()


def test_report_writes_the_page_of_a_model(model, tmp_path):
    pytest.importorskip("plotly")
    page = tmp_path / "model.html"
    assert run("report", model, "--data", "digits", "--html", page).exit_code == 0
    text = page.read_text("utf-8")
    assert "Model card" in text and "measured on digits" in text
    assert run("report", model, "--html", page).exit_code == 0  # an older page is replaced
    assert "measured on digits" not in page.read_text("utf-8")


def test_no_page_replaces_another_file(model, tmp_path):
    notes = tmp_path / "notes.txt"
    notes.write_text("mine")
    for command in (("predict", model, "digits"), ("report", model)):
        result = run(*command, "--html", notes)
        assert result.exit_code == 2 and "exists already" in result.stderr
        assert run(*command, "--html", model).exit_code == 2
    assert notes.read_text() == "mine"


def test_report_shows_the_levels_of_a_taxonomy(model, tmp_path):
    pytest.importorskip("plotly")
    groups, page = tmp_path / "groups.csv", tmp_path / "model.html"
    groups.write_text("class,parity\n" + "".join(f"{n},{'odd' if n % 2 else 'even'}\n" for n in range(10)))
    options = ("--taxonomy", groups, "--confidence", 0.6, "--html", page)
    assert run("report", model, "--data", "digits", *options).exit_code == 0
    text = page.read_text("utf-8")
    assert "Levels of the taxonomy" in text and "reaches 0.6" in text and ">parity</th>" in text
    result = run("report", model, *options)
    assert result.exit_code == 2 and "Add --data DATA" in result.stderr
    result = run("report", model, "--data", "digits", "--confidence", 0.6, "--html", page)
    assert result.exit_code == 2 and "Add --taxonomy" in result.stderr
    assert run("report", model, "--data", "digits", "--taxonomy", groups, "--html", groups).exit_code == 2
    assert groups.read_text().startswith("class,parity")


def test_what_is_neither_a_model_nor_a_run_is_one_line(model, tmp_path):
    result = run("report", tmp_path / "absent.model")
    assert result.exit_code == 2 and "There is no model" in result.stderr
    result = run("report", tmp_path, "--data", "digits")
    assert result.exit_code == 2 and "Name a model file or, without --data, the folder" in result.stderr


def test_a_model_of_the_hub_has_a_page_in_this_folder(model, tmp_path, monkeypatch):
    pytest.importorskip("plotly")
    fitted, asked = load_model(model), []
    monkeypatch.setattr("unseen.models.io.load_model", lambda name: asked.append(str(name)) or fitted)
    monkeypatch.chdir(tmp_path)
    assert run("report", "hf:owner/birds-1.0").exit_code == 0
    assert asked == ["hf:owner/birds-1.0"] and (tmp_path / "birds-1.0.html").exists()
