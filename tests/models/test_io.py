"""Model files: what goes in comes out, bit by bit, and nothing else is accepted."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from problems import LEARNED
from unseen import GZSLClassifierCV, LinearSV
from unseen._core.prototypes import Prototypes
from unseen.base import ZeroShotClassifier
from unseen.datasets import load_dataset
from unseen.errors import UnseenError
from unseen.methods import find_method
from unseen.models.files import FORMAT, VERSION, checksum
from unseen.models.io import load_model, save_model

EXAMPLES = Path(__file__).resolve().parents[1] / "data"


@pytest.fixture(scope="module")
def data():
    return load_dataset(
        "synthetic", n_samples=300, n_features=12, n_classes=12, n_attributes=6, random_state=1
    )


def fitted(name: str, data, **params) -> ZeroShotClassifier:
    kind = find_method(name)
    if kind.stochastic:
        params["random_state"] = 0
    seen = data.seen[data.y]
    return kind(data.prototypes, **params).fit(data.X[seen], data.y[seen])


def chosen(data, named: bool = False, **grid) -> GZSLClassifierCV:
    seen = data.seen[data.y]
    names = np.array(data.class_names)
    S = Prototypes(names, (), data.prototypes) if named else data.prototypes
    y = names[data.y] if named else data.y
    return GZSLClassifierCV(LinearSV(S), grid or None).fit(data.X[seen], y[seen])


@pytest.mark.parametrize("name", LEARNED)
def test_every_method_comes_back_bit_by_bit(tmp_path, data, name):
    model = fitted(name, data, alpha=0.01)
    save_model(model, tmp_path / "m")
    again = load_model(tmp_path / "m")
    assert type(again) is type(model)
    assert {k: v for k, v in again.get_params().items() if k != "prototypes"} == {
        k: v for k, v in model.get_params().items() if k != "prototypes"
    }
    np.testing.assert_array_equal(again.similarity(data.X), model.similarity(data.X))
    assert set(vars(model)) - set(vars(again)) <= {"moments_"}  # the sums stay behind
    # adding a class and fitting again do the same as with the original
    new = np.random.default_rng(3).normal(size=(2, 6))
    np.testing.assert_array_equal(
        again.add_classes(new).similarity(data.X), model.add_classes(new).similarity(data.X)
    )


def test_others_may_read_a_model_as_far_as_the_umask_says(tmp_path, data):
    """Some versions of safetensors make private files."""
    save_model(fitted("eszsl", data), tmp_path / "a.model")
    (tmp_path / "plain").touch()
    assert (tmp_path / "a.model").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_loaded_method_can_be_fitted_again(tmp_path, data):
    model = fitted("linear-vs", data)
    save_model(model, tmp_path / "m")
    again = load_model(tmp_path / "m").fit(data.X[data.seen[data.y]], data.y[data.seen[data.y]])
    np.testing.assert_array_equal(again.coef_, model.coef_)


@pytest.mark.parametrize("named", [False, True])
def test_a_selection_comes_back_whole(tmp_path, data, named):
    model = chosen(data, named)
    model.held_out_.facts |= {"data": "birds", "samples": np.int64(3)}
    save_model(model, tmp_path / "m")
    again = load_model(tmp_path / "m")
    np.testing.assert_array_equal(again.similarity(data.X), model.similarity(data.X))
    np.testing.assert_array_equal(again.predict(data.X), model.predict(data.X))
    np.testing.assert_array_equal(again.classes_, model.classes_)
    np.testing.assert_array_equal(again.intercept_, model.intercept_)
    assert set(vars(model)) - set(vars(again)) <= {"moments_"}  # the sums stay behind
    assert again.gamma_ == model.gamma_ and again.best_params_ == model.best_params_
    np.testing.assert_array_equal(again.predict_proba(data.X), model.predict_proba(data.X))
    np.testing.assert_array_equal(again.predict(data.X, reject=0.2), model.predict(data.X, reject=0.2))
    assert again.held_out_.rejection.auroc == model.held_out_.rejection.auroc
    assert again.curve_.at(again.gamma_) == model.curve_.at(model.gamma_)
    assert again.curve_.ausuc == model.curve_.ausuc
    for name, column in model.cv_results_.items():
        np.testing.assert_array_equal(again.cv_results_[name], column)
    assert again.card() == model.card() and again.card().data == "birds"


class Own(LinearSV):
    """Somebody else's method."""


def test_a_file_cannot_name_code_to_run(tmp_path, data, monkeypatch):
    model = Own(data.prototypes).fit(data.X, data.y)
    save_model(model, tmp_path / "m")
    with pytest.raises(UnseenError, match=r"not part of unseen.*method=ThatClass"):
        load_model(tmp_path / "m")
    assert type(load_model(tmp_path / "m", method=Own)) is Own


def test_parameters_that_are_no_words_or_numbers(tmp_path, data):
    model = LinearSV(data.prototypes).fit(data.X, data.y).set_params(alpha=object())
    with pytest.raises(UnseenError, match="Cannot save alpha="):
        save_model(model, tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


# ---- what is refused


def test_a_pipeline_is_refused_with_what_to_do_instead(tmp_path, data):
    seen = data.seen[data.y]
    pipeline = make_pipeline(StandardScaler(), LinearSV(data.prototypes))
    model = GZSLClassifierCV(pipeline, {"linearsv__alpha": [0.1]}).fit(data.X[seen], data.y[seen])
    with pytest.raises(UnseenError, match=r'not a Pipeline.*normalize="standard" instead'):
        save_model(model, tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def rewrite(path: Path, **header: str | None) -> None:
    """Change the header of a model file."""
    with safe_open(path, framework="numpy") as file:
        metadata = {**file.metadata(), **header}
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    save_file(tensors, path, {name: value for name, value in metadata.items() if value is not None})


class Danger:
    """A pickle that would leave a trace if anybody opened it."""

    def __reduce__(self):
        return Path.touch, (Path("trace"),)


def test_a_pickle_is_not_opened(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("m").write_bytes(pickle.dumps(Danger()))
    with pytest.raises(UnseenError, match="not a model file"):
        load_model("m")
    assert not Path("trace").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda path: path.unlink(), "There is no model file"),
        (lambda path: path.write_bytes(b""), "not a model file"),
        (lambda path: path.write_bytes(path.read_bytes()[:-100]), "not a model file"),
        (lambda path: path.write_bytes(b"PK\x03\x04" + bytes(200)), "not a model file"),
        (lambda path: save_file({"a": np.eye(2)}, path), "not a model of unseen"),
        (lambda path: rewrite(path, version="3"), "format 3, expected 2"),
        (lambda path: rewrite(path, version="new"), "format new, expected 2"),
        (lambda path: rewrite(path, model='{"model": {}}'), "damaged"),
        (lambda path: rewrite(path, sha256=None), "damaged"),
    ],
)
def test_anything_else_is_refused(tmp_path, data, change, message):
    path = tmp_path / "m"
    save_model(fitted("linear-sv", data), path)
    change(path)
    with pytest.raises(UnseenError, match=message):
        load_model(path)


def test_an_incomplete_model_is_refused(tmp_path):
    text = json.dumps({"model": {"method": "sae", "params": {"lambda": 3}, "fitted": {}}})
    save_file(
        {},
        tmp_path / "m",
        {"format": FORMAT, "version": str(VERSION), "model": text, "sha256": checksum(text, {})},
    )
    with pytest.raises(UnseenError, match=r"not a complete model.*lambda"):
        load_model(tmp_path / "m")


def test_a_flipped_bit_is_noticed(tmp_path, data):
    path = tmp_path / "m"
    save_model(fitted("linear-sv", data), path)
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(UnseenError, match="damaged"):
        load_model(path)


# ---- files of every version keep loading


def test_what_a_later_version_adds_is_ignored(tmp_path, data):
    """Further entries in the header and in the description change nothing: they are not needed here."""
    model = chosen(data)
    save_model(model, tmp_path / "m")
    with safe_open(tmp_path / "m", framework="numpy") as file:
        header, text = file.metadata(), json.loads(file.metadata()["model"])
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    text["selection"]["mood_"] = "good"
    text["history"] = ["fitted", "shown around"]
    header |= {"model": json.dumps(text), "license": "none"}
    header["sha256"] = checksum(header["model"], tensors)
    save_file(tensors, tmp_path / "m", header)
    np.testing.assert_array_equal(load_model(tmp_path / "m").similarity(data.X), model.similarity(data.X))


def test_what_an_earlier_version_lacks_gets_its_default(tmp_path, data):
    model = fitted("linear-sv", data)
    save_model(model, tmp_path / "m")
    with safe_open(tmp_path / "m", framework="numpy") as file:
        header, text = file.metadata(), json.loads(file.metadata()["model"])
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    del text["model"]["params"]["normalize"]
    header["model"] = json.dumps(text)
    header["sha256"] = checksum(header["model"], tensors)
    save_file(tensors, tmp_path / "m", header)
    assert load_model(tmp_path / "m").normalize == LinearSV().normalize


def test_files_of_another_version_are_rejected_in_one_line(tmp_path, data):
    save_model(fitted("linear-sv", data), tmp_path / "m")
    with safe_open(tmp_path / "m", framework="numpy") as file:
        header = file.metadata()
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    for version in (VERSION - 1, VERSION + 1):
        save_file(tensors, tmp_path / "m", header | {"version": str(version)})
        with pytest.raises(UnseenError, match=f"format {version}, expected {VERSION}: .* Load it with that"):
            load_model(tmp_path / "m")


def test_infinite_parameters_survive_a_file(data, tmp_path):
    model = GZSLClassifierCV(find_method("lda")(data.prototypes), {"kappa": [np.inf]})
    seen = data.seen[data.y]
    model.fit(data.X[seen], data.y[seen])
    save_model(model, tmp_path / "m")
    loaded = load_model(tmp_path / "m")
    assert loaded.best_params_ == {"kappa": np.inf}
    assert json.loads(json.dumps(loaded.card().to_json(), allow_nan=False))["params"] == {"kappa": "inf"}
