"""The commands fit, predict, add-class and export, and the tutorial that strings them together."""

from __future__ import annotations

import csv
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from click.testing import CliRunner

from onnx_models import mean_backbone
from unseen.cli import main
from unseen.models.io import load, read_card

ROOT = Path(__file__).resolve().parents[2]
TUTORIAL = ROOT / "docs" / "tutorials" / "pictures.md"


@pytest.fixture(scope="module")
def birds(tmp_path_factory) -> Path:
    """A folder with features of seven classes, a table that describes eight, and a fitted model."""
    folder = tmp_path_factory.mktemp("birds")
    rng = np.random.default_rng(0)
    names = ["crane", "duck", "eagle", "finch", "goose", "hawk", "ibis"]
    S = rng.normal(size=(8, 4)).round(3)
    y = np.repeat(np.arange(7), 15)
    X = S[y] @ rng.normal(size=(4, 10)) + 0.3 * rng.normal(size=(105, 10))
    np.savez(folder / "f.npz", X=X.astype(np.float32), y=y, class_names=np.array(names))
    rows = [[name, *row] for name, row in zip([*names, "jay"], S.tolist())]
    with open(folder / "p.csv", "w", newline="") as file:
        csv.writer(file).writerows([["class", "a", "b", "c", "d"], *rows])
    return folder


@pytest.fixture(scope="module")
def fitted(run, birds) -> Path:
    arguments = ["--prototypes", birds / "p.csv", "--unseen", "crane", "--method", "linear-sv"]
    done = run("fit", birds / "f.npz", *arguments, "--model", birds / "m")
    assert done.returncode == 0, done.stderr
    assert "unseen classes    2: crane, jay" in done.stdout and "linear-sv (alpha" in done.stdout
    assert "wrote" in done.stderr
    return birds / "m"


def test_fit_prints_its_card_as_json(run, birds, fitted, tmp_path):
    arguments = ["--prototypes", birds / "p.csv", "--unseen", "crane", "--method", "linear-sv"]
    done = run("fit", birds / "f.npz", *arguments, "--model", tmp_path / "m", "--json", "--quiet")
    card = json.loads(done.stdout)
    assert card == read_card(fitted) == read_card(tmp_path / "m")
    assert card["expected"]["samples"]["unseen"] == 90


def test_fit_takes_embedded_data_by_default(run, tmp_path):
    done = run("fit", "--model", tmp_path / "m", "--method", "linear-vs", "--quiet")
    assert done.returncode == 0 and "digits" in done.stdout
    assert load(tmp_path / "m").classes_.tolist() == [str(i) for i in range(10)]


def test_predict_writes_to_standard_output(run, birds, fitted):
    done = run("predict", fitted, birds / "f.npz", "--top", 2)
    rows = list(csv.DictReader(done.stdout.splitlines()))
    assert len(rows) == 105
    X = np.load(birds / "f.npz")["X"]
    assert [row["class"] for row in rows] == load(fitted).predict(X).tolist()
    kinds = {row["class"]: row["kind"] for row in rows}
    assert all(kind == ("unseen" if name in ("crane", "jay") else "seen") for name, kind in kinds.items())
    assert "105 samples" in done.stderr


def test_add_class_needs_no_training(run, birds, fitted, tmp_path):
    (tmp_path / "new.csv").write_text("class,d,a,b,c\nkite,4,1,2,3\n")
    done = run("add-class", fitted, "--prototypes", tmp_path / "new.csv", "--out", tmp_path / "more")
    assert "added kite; now 6 seen and 3 unseen classes" in done.stderr, done.stderr
    model, more = load(fitted), load(tmp_path / "more")
    expected = model.add_classes(np.array([[1.0, 2.0, 3.0, 4.0]]), ["kite"])
    np.testing.assert_array_equal(more.coef_, expected.coef_)
    assert read_card(tmp_path / "more")["classes"]["unseen"] == ["crane", "jay", "kite"]
    again = run("add-class", tmp_path / "more", "--prototypes", tmp_path / "new.csv")
    assert again.returncode == 2 and "'kite' is already known" in again.stderr


@pytest.mark.parametrize("kind", ["onnx", "npz"])
def test_export_predicts_the_same(run, birds, fitted, tmp_path, kind):
    out = tmp_path / f"layer.{kind}"
    done = run("export", fitted, "--format", kind, "--out", out)
    assert "10 features to 8 classes" in done.stderr, done.stderr
    X, model = np.load(birds / "f.npz")["X"], load(fitted)
    if kind == "onnx":
        session = onnxruntime.InferenceSession(out, providers=["CPUExecutionProvider"])
        names = json.loads(session.get_modelmeta().custom_metadata_map["classes"])
        found = [names[i] for i in session.run(["label"], {"features": X})[0]]
    else:
        layer = np.load(out)
        rows = X / np.linalg.norm(X, axis=1, keepdims=True)
        found = layer["classes"][(rows @ layer["coef"].T + layer["intercept"]).argmax(axis=1)].tolist()
    assert found == model.predict(X).tolist()


def test_what_users_get_wrong_is_one_line(birds, fitted, tmp_path):
    table = birds / "p.csv"
    np.save(tmp_path / "narrow.npy", np.ones((3, 9)))
    (tmp_path / "typo.csv").write_text("class,a,b,c,dd\nkite,1,2,3,4\n")
    (tmp_path / "words.csv").write_text("class,description\nkite,a bird of prey\n")
    mean_backbone(tmp_path / "image.onnx")
    fit = ["fit", birds / "f.npz", "--model", tmp_path / "m", "--prototypes"]
    add = ["add-class", fitted, "--prototypes"]
    wrong = {
        "Did you mean 'crane'?": [*fit, table, "--unseen", "crame"],
        "Did you mean 'sje'?": [*fit, table, "--unseen", "crane", "--method", "sjee"],
        "no class descriptions": ["fit", birds / "f.npz", "--model", tmp_path / "m"],
        "9 features per sample": ["predict", fitted, tmp_path / "narrow.npy"],
        "ending in .csv or .parquet": ["predict", fitted, birds / "f.npz", "--out", tmp_path / "p.txt"],
        "not a model file": ["predict", table, birds / "f.npz"],
        "Did you mean 'dd'?": [*add, tmp_path / "typo.csv"],
        "--text-encoder": [*add, tmp_path / "words.csv"],
        "expected a text encoder": [
            *[*add, tmp_path / "words.csv"],
            *["--text-encoder", tmp_path / "image.onnx"],
        ],
    }
    for message, arguments in wrong.items():
        done = CliRunner().invoke(main, [str(argument) for argument in arguments])
        assert done.exit_code == 2, (arguments, done.output)
        assert message in done.output and done.output.startswith("error: "), done.output
        assert done.output.count("\n") == 1
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize("name", ["extract", "fit", "predict", "add-class", "export"])
def test_help_has_an_example(run, name):
    done = run(name, "--help")
    assert done.returncode == 0 and f"Example: unseen {name} " in " ".join(done.stdout.split())


# ---- the tutorial


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", TUTORIAL.read_text(), flags=re.DOTALL)


@pytest.mark.slow
def test_the_tutorial_does_what_it_says(run, real_data, tmp_path):
    model = real_data.parent / "models" / "resnet50.onnx"
    if not model.is_file():
        pytest.skip("no models/resnet50.onnx beside the data")
    os.symlink(real_data / "images", tmp_path / "images")
    os.symlink(model, tmp_path / "resnet50.onnx")
    for name, content in re.findall(r'```text title="(\w+\.csv)"\n(.*?)```', TUTORIAL.read_text(), re.DOTALL):
        if name != "predictions.csv":
            (tmp_path / name).write_text(content)
    shown = {}
    for line in [line for block in blocks("console") for line in block.splitlines()]:
        program, *arguments = shlex.split(line)
        if program == "unseen":
            done = run(*arguments, cwd=tmp_path)
            assert done.returncode == 0, done.stderr
            shown[arguments[0]] = done.stdout + done.stderr
    assert "24 images of 6 classes, 2048 features each" in shown["extract"]
    assert "unseen classes    2: 073.Blue_Jay, 087.Mallard" in shown["fit"]
    assert "now 4 seen and 3 unseen classes" in shown["add-class"]
    rows = list(csv.DictReader((tmp_path / "predictions.csv").read_text().splitlines()))
    held_out = [row for row in rows if row["file"].split("/")[0] in ("073.Blue_Jay", "087.Mallard")]
    right = sum(row["class"] == row["file"].split("/")[0] for row in held_out)
    assert len(held_out) == 8 and right >= 5
    # the Python at the end of the page runs as it stands
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    for code in blocks("python"):
        subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, check=True)
