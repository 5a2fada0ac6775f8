"""The options --taxonomy, --confidence and --coverage of predict and evaluate."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from unseen import GZSLClassifierCV, LinearSV
from unseen.cli import main
from unseen.models.io import load_model, save_model
from unseen.models.prediction import join_candidates

NAMES = np.array(["crane", "duck", "eagle", "finch", "goose", "hawk", "ibis", "jay"])


@pytest.fixture(scope="module")
def birds(tmp_path_factory) -> Path:
    """A folder with features of eight classes, the first and the last unseen."""
    folder = tmp_path_factory.mktemp("birds")
    rng = np.random.default_rng(0)
    S = rng.normal(size=(8, 4))
    y = np.repeat(np.arange(8), 15)
    X = S[y] @ rng.normal(size=(4, 10)) + rng.normal(size=(120, 10))
    seen = (y > 0) & (y < 7)
    np.savez(folder / "f.npz", X=X.astype(np.float32), y=y, class_names=NAMES)
    model = GZSLClassifierCV(LinearSV(dict(zip(NAMES, S))), {"alpha": [1.0]})
    save_model(model.fit(X[seen], NAMES[y[seen]]), folder / "m")
    return folder


@pytest.fixture(scope="module")
def fitted(birds) -> Path:
    return birds / "m"


@pytest.fixture
def groups(birds) -> Path:
    path = birds / "groups.csv"
    rows = ["crane,long legs", "duck,swims", "eagle,hunts", "finch,sings", "goose,swims", "hawk,hunts"]
    path.write_text("\n".join(["class,habit", *rows, "ibis,long legs", "jay,sings"]), encoding="utf-8")
    return path


def test_predict_answers_groups_of_a_taxonomy(birds, fitted, groups):
    with np.load(birds / "f.npz") as file:
        X = file["X"]
    arguments = ["predict", fitted, birds / "f.npz", "--taxonomy", groups, "--confidence", "0.7"]
    done = CliRunner().invoke(main, [*map(str, arguments), "--quiet"])
    assert done.exit_code == 0, done.output
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert list(rows[0])[:4] == ["sample", "answer", "level", "probability"]
    habit = dict(line.split(",") for line in groups.read_text("utf-8").splitlines())
    model = load_model(fitted)
    p = model.predict_proba(X)
    of_group = np.array([habit[name] for name in model.classes_])
    assert {row["level"] for row in rows} >= {"class", "habit"}
    for row, of_class in zip(rows, p):
        best, probability = float(row["class_probability"]), float(row["probability"])
        assert best == pytest.approx(of_class.max(), rel=1e-4)
        if row["level"] == "class":
            assert row["answer"] == row["class"] and probability == best >= 0.7
        elif row["level"] == "habit":
            assert probability == pytest.approx(of_class[of_group == row["answer"]].sum(), rel=1e-4)
            assert probability >= 0.7 > best
        else:
            assert row["answer"] == row["level"] == "unknown"


def test_rejected_samples_have_no_group(birds, fitted, groups):
    arguments = ["predict", fitted, birds / "f.npz", "--taxonomy", groups, "--reject", "0.5", "--quiet"]
    done = CliRunner().invoke(main, list(map(str, arguments)))
    rows = [row for row in csv.DictReader(io.StringIO(done.stdout)) if row["class"] == "unknown"]
    assert rows and {row["answer"] for row in rows} == {row["level"] for row in rows} == {"unknown"}


def test_evaluate_measures_every_level_of_a_taxonomy(birds, fitted, groups):
    arguments = list(map(str, ["evaluate", fitted, birds / "f.npz", "--taxonomy", groups]))
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 0, done.output
    assert re.search(r"^confidence 0\.8 +answered +right +H +ECE$", done.stdout, re.MULTILINE)
    found = json.loads(CliRunner().invoke(main, [*arguments, "--json"]).stdout)
    fine, coarse, none = found["levels"]
    assert [level["level"] for level in found["levels"]] == ["class", "habit", "unknown"]
    assert fine["H"] == pytest.approx(found["H"]["per_class"]) and fine["H"] <= coarse["H"]
    for kind in ("seen", "unseen"):
        assert sum(level["answered"][kind] for level in found["levels"]) == pytest.approx(100)
    assert none["right"] == {"seen": None, "unseen": None} and found["confidence"] == 0.8


def test_a_broken_taxonomy_is_one_line(birds, fitted, groups, tmp_path):
    broken = tmp_path / "broken.csv"
    text = groups.read_text("utf-8")
    for command in ("predict", "evaluate"):
        for content, message in (
            (text.replace("jay,", "jai,"), "Did you mean 'jai'?"),
            (text + "\njay,hunts", "puts 'jay' in 'sings' and in 'hunts'"),
        ):
            broken.write_text(content, encoding="utf-8")
            arguments = [command, fitted, birds / "f.npz", "--taxonomy", broken]
            done = CliRunner().invoke(main, list(map(str, arguments)))
            assert done.exit_code == 2 and message in done.stderr and done.stderr.count("\n") == 1
        done = CliRunner().invoke(main, [command, str(fitted), str(birds / "f.npz"), "--confidence", "0.9"])
        assert done.exit_code == 2 and "Add --taxonomy FILE.csv" in done.stderr


def test_predict_writes_candidates(birds, fitted, tmp_path):
    arguments = ["predict", fitted, birds / "f.npz", "--coverage", "0.97", "--quiet"]
    done = CliRunner().invoke(main, list(map(str, arguments)))
    assert done.exit_code == 0, done.output
    with np.load(birds / "f.npz") as file:
        X = file["X"]
    model, rows = load_model(fitted), list(csv.DictReader(io.StringIO(done.stdout)))
    for row, p, expected in zip(rows, model.predict_proba(X), model.predict_set(X, 0.97)):
        names = row["candidates"].split("|") if row["candidates"] else []
        place = np.searchsorted(NAMES, names)
        assert set(names) == set(NAMES[expected])
        assert (np.diff(p[place]) <= 0).all()
    assert len({row["candidates"].count("|") for row in rows}) > 1
    done = CliRunner().invoke(main, ["predict", str(fitted), str(birds / "f.npz"), "--coverage", "90"])
    assert done.exit_code == 2 and "Got coverage=90.0, but expected a share of samples" in done.stderr


def test_bars_in_names_are_marked():
    p, names = np.array([[0.3, 0.5, 0.2]]), np.array(["a|b", "c", "d\\e"])
    assert join_candidates(p, np.full(3, 0.1), names) == ["c|a\\|b|d\\\\e"]
    assert join_candidates(p, np.ones(3), names) == [""]
