"""The commands fit, predict, add-class and export, and the tutorial that strings them together."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from click.testing import CliRunner, Result
from sklearn.metrics import roc_auc_score

from image_files import save_image
from onnx_models import mean_backbone
from unseen import LinearSV
from unseen._core.prototypes import Prototypes
from unseen.benchmark.store import Store
from unseen.cli import main
from unseen.encoders.backbone import Backbone
from unseen.metrics import accuracy, harmonic_mean
from unseen.models.io import load_model, save_model

ROOT = Path(__file__).resolve().parents[2]
TUTORIAL = ROOT / "docs" / "tutorials" / "images.md"


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    with np.load(path) as file:
        return dict(file)


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
    assert card == load_model(fitted).card().to_json() == load_model(tmp_path / "m").card().to_json()
    assert card["expected"]["samples"]["seen"] == 90  # each sample of a seen class is held out once


def test_fit_takes_embedded_data_by_default(run, tmp_path):
    done = run("fit", "--model", tmp_path / "m", "--method", "linear-vs", "--quiet")
    assert done.returncode == 0 and "letters" in done.stdout
    assert load_model(tmp_path / "m").classes_.tolist() == list("ABCDEFGHIJKLMNOPQRSTUVWXYZ")


def test_predict_writes_to_standard_output(run, birds, fitted):
    done = run("predict", fitted, birds / "f.npz", "--top", 2)
    rows = list(csv.DictReader(done.stdout.splitlines()))
    assert len(rows) == 105
    X = read_arrays(birds / "f.npz")["X"]
    assert [row["class"] for row in rows] == load_model(fitted).predict(X).tolist()
    kinds = {row["class"]: row["kind"] for row in rows}
    assert all(kind == ("unseen" if name in ("crane", "jay") else "seen") for name, kind in kinds.items())
    assert "105 samples" in done.stderr


def test_add_class_needs_no_training(run, birds, fitted, tmp_path):
    (tmp_path / "new.csv").write_text("class,d,a,b,c\nkite,4,1,2,3\n")
    done = run("add-class", fitted, "--prototypes", tmp_path / "new.csv", "--out", tmp_path / "more")
    assert "added kite; now 6 seen and 3 unseen classes" in done.stderr, done.stderr
    model, more = load_model(fitted), load_model(tmp_path / "more")
    expected = model.add_classes(np.array([[1.0, 2.0, 3.0, 4.0]]), ["kite"])
    np.testing.assert_array_equal(more.coef_, expected.coef_)
    assert load_model(tmp_path / "more").card().to_json()["classes"]["unseen"] == ["crane", "jay", "kite"]
    again = run("add-class", tmp_path / "more", "--prototypes", tmp_path / "new.csv")
    assert again.returncode == 2 and "'kite' is already known" in again.stderr


def test_add_class_recalibrates_on_samples(birds, fitted, tmp_path):
    """With the samples that the model was trained on, gamma is the one that Python gives."""
    [duck] = [line for line in (birds / "p.csv").read_text().splitlines() if line.startswith("duck")]
    (tmp_path / "new.csv").write_text(
        f"class,a,b,c,d\n{duck.replace('duck', 'eider')}1\n"
    )  # hardly a difference
    row = [float(value) for value in f"{duck}1".split(",")[1:]]
    arguments = ["--prototypes", tmp_path / "new.csv", "--out", tmp_path / "more"]
    done = invoke("add-class", fitted, *arguments, "--recalibrate", birds / "f.npz")
    assert done.exit_code == 0 and "chosen on 90 samples" in done.stderr, done.output
    arrays, model, more = read_arrays(birds / "f.npz"), load_model(fitted), load_model(tmp_path / "more")
    names = arrays["class_names"][arrays["y"]]
    seen = names != "crane"
    model.add_classes(np.array([row]), ["eider"]).recalibrate(arrays["X"][seen], names[seen])
    assert more.gamma_ == model.gamma_ == load_model(tmp_path / "more").card().to_json()["gamma"]
    assert more.gamma_ != load_model(fitted).gamma_
    np.savez(tmp_path / "other.npz", X=arrays["X"][~seen], y=names[~seen])
    refused = invoke("add-class", fitted, *arguments, "--recalibrate", tmp_path / "other.npz")
    assert refused.exit_code == 2 and "no training samples of the model's seen classes" in refused.stderr


def test_add_class_takes_a_few_samples(birds, tmp_path):
    fitted = tmp_path / "lda"
    options = ["--prototypes", birds / "p.csv", "--unseen", "crane", "--method", "lda", "--quiet"]
    assert invoke("fit", birds / "f.npz", *options, "--model", fitted).exit_code == 0
    arrays = read_arrays(birds / "f.npz")
    names = arrays["class_names"][arrays["y"]]
    kites = arrays["X"][names == "hawk"][:3] + np.float32(0.5)
    np.savez(tmp_path / "kites.npz", X=kites, y=np.array(["kite"] * 3))
    (tmp_path / "new.csv").write_text("class,d,a,b,c\nkite,4,1,2,3\nrook,1,1,2,3\n")
    arguments = ["--prototypes", tmp_path / "new.csv", "--out", tmp_path / "more"]
    done = invoke("add-class", fitted, *arguments, "--samples", tmp_path / "kites.npz")
    assert "added kite (3 samples), rook; now 6 seen and 4 unseen classes" in done.stderr, done.output
    S = np.array([[1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 1.0]])
    expected = load_model(fitted).add_classes(S, ["kite", "rook"], kites, ["kite"] * 3)
    more = load_model(tmp_path / "more")
    np.testing.assert_array_equal(more.coef_, expected.coef_)
    np.testing.assert_array_equal(more.intercept_, expected.intercept_)
    assert load_model(tmp_path / "more").card().to_json()["shots"] == {"kite": 3}
    assert "samples of new    3 of kite" in invoke("inspect", tmp_path / "more").output
    # later recalibration counts the samples in
    (tmp_path / "last.csv").write_text("class,d,a,b,c\ntern,4,1,0,3\n")
    last = ["--prototypes", tmp_path / "last.csv", "--recalibrate", birds / "f.npz"]
    assert invoke("add-class", tmp_path / "more", *last, "--out", tmp_path / "last").exit_code == 0
    seen = names != "crane"
    expected.add_classes(np.array([[1.0, 0.0, 3.0, 4.0]]), ["tern"]).recalibrate(
        arrays["X"][seen], names[seen]
    )
    card = load_model(tmp_path / "last").card().to_json()
    assert load_model(tmp_path / "last").gamma_ == expected.gamma_ == card["gamma"] and card["shots"] == {
        "kite": 3
    }
    right = expected.held_out_.cross_fitted.correct(expected.gamma_)
    y = expected.held_out_.cross_fitted.y
    assert card["expected"]["seen"][0] == pytest.approx(
        100 * np.mean([right[y == c].mean() for c in np.unique(y)]), abs=0.01
    )
    np.savez(tmp_path / "hawks.npz", X=kites, y=np.array(["hawk"] * 3))
    refused = invoke("add-class", fitted, *arguments, "--samples", tmp_path / "hawks.npz")
    assert refused.exit_code == 2 and "'hawk', which is not among the new classes" in refused.stderr


@pytest.mark.parametrize("kind", ["onnx", "npz"])
def test_export_predicts_the_same(run, birds, fitted, tmp_path, kind):
    out = tmp_path / f"layer.{kind}"
    done = run("export", fitted, "--format", kind, "--out", out)
    assert "10 features to 8 classes" in done.stderr, done.stderr
    X, model = read_arrays(birds / "f.npz")["X"], load_model(fitted)
    if kind == "onnx":
        session = onnxruntime.InferenceSession(out, providers=["CPUExecutionProvider"])
        names = json.loads(session.get_modelmeta().custom_metadata_map["classes"])
        found = [names[i] for i in session.run(["label"], {"features": X})[0]]
    else:
        layer = read_arrays(out)
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
        "ending in .csv": ["predict", fitted, birds / "f.npz", "--out", tmp_path / "p.txt"],
        "not a model file": ["predict", table, birds / "f.npz"],
        "Did you mean 'dd'?": [*add, tmp_path / "typo.csv"],
        "--encoder": [*add, tmp_path / "words.csv"],
        "expected a text encoder": [
            *[*add, tmp_path / "words.csv"],
            *["--encoder", tmp_path / "image.onnx"],
        ],
    }
    for message, arguments in wrong.items():
        done = CliRunner().invoke(main, [str(argument) for argument in arguments])
        assert done.exit_code == 2, (arguments, done.output)
        assert message in done.output and done.output.startswith("error: "), done.output
        assert done.output.count("\n") == 1
    assert not (tmp_path / "m").exists()


# ---- labeled data, images, cards


def invoke(*arguments: object) -> Result:
    """Run a command in this process."""
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def test_evaluate_measures_seen_and_unseen_classes(birds, fitted):
    """U, S and H are those of the predictions, whatever the order in which the file names its classes."""
    arrays, model = read_arrays(birds / "f.npz"), load_model(fitted)
    found = json.loads(invoke("evaluate", fitted, birds / "f.npz", "--json").stdout)
    y, predicted = arrays["class_names"][arrays["y"]], model.predict(arrays["X"])
    unseen = y == "crane"
    for key, part in (("U", unseen), ("S", ~unseen)):
        for weights in ("per-class", "per-sample"):
            expected = accuracy(y[part], predicted[part], weights)
            assert found[key][weights.replace("-", "_")] == pytest.approx(expected)
    for weights in ("per_class", "per_sample"):
        assert found["H"][weights] == pytest.approx(harmonic_mean(found["U"][weights], found["S"][weights]))
    assert found["samples"] == {"seen": 90, "unseen": 15}
    assert [row["class"] for row in found["classes"]] == arrays["class_names"].tolist()  # jay has no sample
    for row in found["confusion"]:
        answers = predicted[(y == row["class"]) & (predicted != row["class"])]
        assert row["taken_for"] == {name: int((answers == name).sum()) for name in set(answers)}
    accuracies = [row["accuracy"] for row in found["confusion"]]
    assert accuracies == sorted(accuracies) and all(value < 100 for value in accuracies)


def test_evaluate_says_what_the_numbers_rest_on(birds, fitted, tmp_path):
    arrays = read_arrays(birds / "f.npz")
    done = invoke("evaluate", fitted, birds / "f.npz")
    assert "90 of 6 seen classes, 15 of 1 unseen classes" in done.stdout
    assert "S and H are too high" in done.stderr  # the model was trained on them
    np.savez(tmp_path / "f.npz", **arrays, test_seen=np.arange(20, 30))
    found = json.loads(invoke("evaluate", fitted, tmp_path / "f.npz", "--json").stdout)
    assert found["samples"] == {"seen": 10, "unseen": 0} and found["notes"] == []
    assert found["U"] is None and found["H"] is None and found["S"]["per_class"] > 0
    assert "no samples" in invoke("evaluate", fitted, tmp_path / "f.npz").stdout


def test_evaluate_refuses_what_the_model_does_not_know(birds, fitted, tmp_path):
    X = read_arrays(birds / "f.npz")["X"]
    np.savez(tmp_path / "new.npz", X=X[:2], y=np.array(["kiwi", "kiwi"]))
    np.savez(tmp_path / "narrow.npz", X=X[:2, :4], y=np.array(["crane", "duck"]))
    np.savez(tmp_path / "bare.npz", X=X[:2])
    for name, message in {
        "new": "'kiwi', which the model does not know",
        "narrow": "4 features per sample, but the model takes 10",
        "bare": "There are no labels",
    }.items():
        done = invoke("evaluate", fitted, tmp_path / f"{name}.npz")
        assert done.exit_code == 2 and message in done.stderr, done.output


def test_evaluate_tells_how_unknown_classes_are_told(birds, fitted, tmp_path):
    arrays, model = read_arrays(birds / "f.npz"), load_model(fitted)
    names = arrays["class_names"][arrays["y"]]
    outside = names == "crane"
    y = np.where(outside, "kiwi", names)
    np.savez(tmp_path / "f.npz", X=arrays["X"], y=y)
    found = json.loads(invoke("evaluate", fitted, tmp_path / "f.npz", "--json").stdout)
    sure = model.predict_proba(arrays["X"]).max(axis=1)
    unknown = found["unknown"]
    assert (unknown["classes"], unknown["samples"]) == (["kiwi"], outside.sum())
    assert unknown["auroc"] == pytest.approx(roc_auc_score(~outside, sure))
    rejected = model.predict(arrays["X"], reject=0.05) == "unknown"
    assert unknown["rejected"] == pytest.approx(100 * rejected[outside].mean())
    assert unknown["rejected_known"] == pytest.approx(100 * rejected[~outside].mean())
    assert found["samples"] == {"seen": 90, "unseen": 0}
    text = invoke("evaluate", fitted, tmp_path / "f.npz").stdout
    assert "15 samples of 1 classes that the model does not know: kiwi" in text and "AUROC" in text


def test_predict_rejects(birds, fitted):
    done = invoke("predict", fitted, birds / "f.npz", "--reject", 0.3, "--top", 1)
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    expected = load_model(fitted).predict(read_arrays(birds / "f.npz")["X"], reject=0.3)
    assert [row["class"] for row in rows] == expected.tolist()
    assert f"{(expected == 'unknown').sum()} unknown" in done.stderr
    wrong = invoke("predict", fitted, birds / "f.npz", "--reject", 5)
    assert wrong.exit_code == 2 and "reject=5.0" in wrong.stderr


def test_export_writes_probabilities(birds, fitted, tmp_path):
    X, out = read_arrays(birds / "f.npz")["X"], tmp_path / "layer.onnx"
    assert invoke("export", fitted, "--format", "onnx", "--softmax", "--out", out).exit_code == 0
    session = onnxruntime.InferenceSession(out, providers=["CPUExecutionProvider"])
    (p,) = session.run(["probabilities"], {"features": X})
    np.testing.assert_allclose(p, load_model(fitted).predict_proba(X), rtol=1e-3, atol=1e-6)
    assert invoke("export", fitted, "--format", "npz", "--softmax").exit_code == 2


@pytest.mark.parametrize("ending", ["onnx", "NPZ", "csv"])
def test_export_takes_the_format_from_the_ending(fitted, tmp_path, ending):
    out, expected = tmp_path / f"a.{ending}", tmp_path / f"b.{ending}"
    done = invoke("export", fitted, "--out", out)
    if ending == "csv":
        assert done.exit_code == 2 and "expected a file ending in .onnx or .npz" in done.stderr
        return
    invoke("export", fitted, "--format", ending.lower(), "--out", expected)
    assert done.exit_code == 0 and out.read_bytes() == expected.read_bytes()


def test_inspect_shows_the_card_of_a_model(fitted, tmp_path):
    assert "unseen classes    2: crane, jay" in invoke("inspect", fitted).stdout
    assert json.loads(invoke("inspect", fitted, "--json").stdout) == load_model(fitted).card().to_json()
    save_model(load_model(fitted).estimator_, tmp_path / "bare")
    assert "10 features to 8 classes, without a card" in invoke("inspect", tmp_path / "bare").stdout


def test_predict_takes_images(birds, tmp_path):
    """The same classes as from features that were extracted before."""
    network = mean_backbone(tmp_path / "network.onnx")
    for seed in range(5):
        save_image(tmp_path / "photos" / f"{seed}.png", seed)
    extract = ["extract", tmp_path / "photos", "--backbone", network, "--out", tmp_path / "x.npz", "--quiet"]
    assert invoke(*extract).exit_code == 0
    X = read_arrays(tmp_path / "x.npz")["X"]
    names = np.array(["jay", "owl", "tit"])
    S = Prototypes(names, (), np.random.default_rng(0).normal(size=(3, 2)))
    save_model(LinearSV(S).fit(X, np.resize(names[:2], len(X))), tmp_path / "m")
    direct = invoke("predict", tmp_path / "m", tmp_path / "photos", "--backbone", network, "--quiet")
    assert direct.exit_code == 0, direct.output
    assert direct.stdout == invoke("predict", tmp_path / "m", tmp_path / "x.npz", "--quiet").stdout
    assert direct.stdout.startswith("file,class") and len(direct.stdout.splitlines()) == len(X) + 1
    one = invoke("predict", tmp_path / "m", tmp_path / "photos" / "3.png", "--backbone", network, "--quiet")
    assert one.exit_code == 0, one.output
    assert one.stdout.splitlines() == [direct.stdout.splitlines()[0], direct.stdout.splitlines()[4]]


def test_evaluate_takes_images(tmp_path):
    """The same accuracies as from features that were extracted before."""
    network = mean_backbone(tmp_path / "network.onnx")
    for seed in range(9):
        save_image(tmp_path / "photos" / ("jay", "owl", "tit")[seed % 3] / f"{seed}.png", seed)
    extract = ["extract", tmp_path / "photos", "--backbone", network, "--out", tmp_path / "x.npz", "--quiet"]
    assert invoke(*extract).exit_code == 0
    arrays, names = read_arrays(tmp_path / "x.npz"), np.array(["jay", "owl", "tit"])
    seen = arrays["y"] < 2
    S = Prototypes(names, (), np.random.default_rng(0).normal(size=(3, 2)))
    save_model(LinearSV(S).fit(arrays["X"][seen], names[arrays["y"][seen]]), tmp_path / "m")
    options = ["--backbone", network, "--json", "--quiet"]
    direct = invoke("evaluate", tmp_path / "m", tmp_path / "photos", *options)
    assert direct.exit_code == 0, direct.output
    found, expected = (
        json.loads(done.stdout)
        for done in (direct, invoke("evaluate", tmp_path / "m", tmp_path / "x.npz", "--json"))
    )
    assert found.pop("data") == "photos" and expected.pop("data") == "x"
    assert found == expected and found["samples"] == {"seen": 6, "unseen": 3}


def test_export_joins_backbone_and_classifier(tmp_path):
    network = mean_backbone(tmp_path / "network.onnx")
    X = np.random.default_rng(0).normal(size=(6, 6))
    save_model(LinearSV(np.eye(3)).fit(X, [0, 1] * 3), tmp_path / "m")
    done = invoke("export", tmp_path / "m", "--format", "onnx", "--backbone", network)
    assert "network.onnx and one layer, 6 features to 3 classes" in done.stderr, done.output
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx", providers=["CPUExecutionProvider"])
    assert [entry.name for entry in session.get_inputs()] == ["pixels"]
    words = session.get_modelmeta().custom_metadata_map
    steps = Backbone(network).preprocessing
    assert json.loads(words["size"]) == steps.size
    assert tuple(json.loads(words["mean"])) == steps.mean and tuple(json.loads(words["std"])) == steps.std
    refused = invoke("export", tmp_path / "m", "--format", "npz", "--backbone", network)
    assert refused.exit_code == 2 and "Only onnx holds a backbone" in refused.stderr


def test_method_names_in_any_case(birds, tmp_path):
    arguments = ["--prototypes", birds / "p.csv", "--unseen", "crane", "--method", "Linear-SV", "--quiet"]
    done = invoke("fit", birds / "f.npz", *arguments, "--model", tmp_path / "m", "--json")
    assert json.loads(done.stdout)["method"] == "linear-sv"


# ---- what users have is never lost


@pytest.fixture
def folder(birds, fitted, tmp_path) -> Path:
    """Everything that the commands below read, by the names of the README."""
    for source, name in (
        (birds / "f.npz", "birds.npz"),
        (birds / "p.csv", "birds.csv"),
        (fitted, "birds.model"),
    ):
        shutil.copy(source, tmp_path / name)
    (tmp_path / "kite.csv").write_text("class,d,a,b,c\nkite,4,1,2,3\n")
    (tmp_path / "notes.csv").write_text("mine\n")
    mean_backbone(tmp_path / "network.onnx")
    return tmp_path


FIT = "fit birds.npz --prototypes birds.csv --unseen crane --method linear-sv --quiet --model"
WRITES_TO_AN_INPUT = [
    f"{FIT} birds.npz",
    f"{FIT} birds.csv",
    f"{FIT} ../{{name}}/birds.npz",
    f"{FIT} link",
    "predict birds.model birds.npz --out link.csv",
    "export birds.model --format onnx --out birds.model",
    "export birds.model --format onnx --backbone network.onnx --out network.onnx",
    "add-class birds.model --prototypes kite.csv --out kite.csv",
]
WRITES_TO_A_FILE_OF_THE_USER = [
    f"{FIT} notes.csv",
    "predict birds.model birds.npz --out notes.csv",
    "export birds.model --format npz --out birds.npz",
    "export birds.model --format onnx --out notes.csv",
    "add-class birds.model --prototypes kite.csv --out notes.csv",
]


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.parametrize("force", ["", " --force"])
@pytest.mark.parametrize("line", WRITES_TO_AN_INPUT)
def test_no_command_writes_to_its_input(folder, monkeypatch, line, force):
    monkeypatch.chdir(folder)
    Path("link").symlink_to("birds.npz")
    Path("link.csv").hardlink_to("birds.model")
    before = files_of(folder)
    done = invoke(*shlex.split(line.format(name=folder.name) + force))
    assert done.exit_code == 2 and "never replaces its input" in done.stderr, done.output
    assert files_of(folder) == before


@pytest.mark.parametrize("line", WRITES_TO_A_FILE_OF_THE_USER)
def test_a_file_that_exists_is_replaced_only_with_force(folder, monkeypatch, line):
    monkeypatch.chdir(folder)
    before = files_of(folder)
    done = invoke(*shlex.split(line))
    assert done.exit_code == 2 and "exists already" in done.stderr, done.output
    assert files_of(folder) == before
    assert invoke(*shlex.split(f"{line} --force")).exit_code == 0
    assert files_of(folder) != before


@pytest.mark.parametrize("line", [f"{FIT} birds.model", "add-class birds.model --prototypes kite.csv"])
def test_a_model_is_replaced_by_a_model(folder, monkeypatch, line):
    monkeypatch.chdir(folder)
    assert invoke(*shlex.split(line)).exit_code == 0
    assert load_model("birds.model")


def test_extract_and_report_spare_files_of_the_user(folder, monkeypatch):
    monkeypatch.chdir(folder)
    Path("photos").mkdir()
    before = files_of(folder)
    with Store(Path("run"), create=True):
        pass
    for line, words in {
        "extract photos --backbone network.onnx --out x.txt": "Name a FILE.npz, or a folder",
        "extract photos --backbone network.onnx --out network.onnx": "Name a FILE.npz, or a folder",
        "extract photos --backbone network.onnx --out birds.npz": "exists already",
        "report run --html notes.csv": "exists already",
        "report run --html run/runs.sqlite": "never replaces its input",
    }.items():
        done = invoke(*shlex.split(line))
        assert done.exit_code == 2 and words in done.stderr, done.output
    assert files_of(folder) == before


@pytest.mark.parametrize("options", [[], ["--format", "onnx"], ["--format", "npz"]])
def test_default_names_do_not_meet_those_of_the_readme(folder, monkeypatch, options):
    """birds.npz are the features: the exported layer goes elsewhere."""
    monkeypatch.chdir(folder)
    before = files_of(folder)
    done = invoke("export", "birds.model", *options)
    assert done.exit_code == 0, done.output
    after = files_of(folder)
    assert {name: after[name] for name in before} == before and len(after) == len(before) + 1


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
    os.symlink(model.parent / "all-MiniLM-L6-v2", tmp_path / "all-MiniLM-L6-v2")
    for name, content in re.findall(r'```text title="(\w+\.csv)"\n(.*?)```', TUTORIAL.read_text(), re.DOTALL):
        if name != "predictions.csv":
            (tmp_path / name).write_text(content)
    shown = {}
    for line in [line for block in blocks("console") for line in block.splitlines()]:
        line = line.removeprefix("$ ")
        if line.startswith("unseen "):
            arguments = shlex.split(line)[1:]
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


def test_one_file_is_not_two_outputs(birds, fitted, tmp_path):
    for command in ("explain", "predict"):
        outputs = ["--out", tmp_path / "o.csv", "--html", tmp_path / "o.csv"]
        done = CliRunner().invoke(main, list(map(str, [command, fitted, birds / "f.npz", *outputs])))
        assert done.exit_code == 2 and "expected another file than --out" in done.stderr
        assert not (tmp_path / "o.csv").exists()


def test_as_many_names_as_samples(birds, fitted, tmp_path):
    content = read_arrays(birds / "f.npz")
    np.savez(tmp_path / "few.npz", **content, files=np.array(["a.jpg"]))
    for command in ("explain", "predict", "suggest"):
        done = CliRunner().invoke(main, list(map(str, [command, fitted, tmp_path / "few.npz"])))
        assert done.exit_code == 2 and "files of shape (1,), expected one for each sample" in done.stderr


@pytest.mark.parametrize("name", ["sklearn.svm:SVC", "os:path", "collections:OrderedDict"])
def test_a_method_is_a_zero_shot_classifier(birds, tmp_path, name):
    arguments = ["fit", birds / "f.npz", "--prototypes", birds / "p.csv", "--method", name]
    done = CliRunner().invoke(main, list(map(str, [*arguments, "--model", tmp_path / "m"])))
    assert done.exit_code == 2 and f"{name} is not a method: expected a subclass" in done.stderr
