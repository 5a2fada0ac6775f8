"""What predicts from a model file without its method: the same predictions, and nothing heavy imported."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file

from problems import LEARNED
from unseen import GZSLClassifierCV
from unseen._core import blocks
from unseen._core.prototypes import Prototypes
from unseen.datasets import load_dataset
from unseen.errors import UnseenError
from unseen.methods import make_method
from unseen.models.files import checksum
from unseen.models.io import load_model, save_model
from unseen.models.predictor import Predictor, load_predictor

SCALINGS = ["l2", "sqrt", "standard", None]


@pytest.fixture(scope="module")
def data():
    return load_dataset(
        "synthetic", n_samples=300, n_features=12, n_classes=12, n_attributes=6, random_state=1
    )


def fitted(data, name: str = "lda", normalize: str | None = "l2") -> GZSLClassifierCV:
    names, seen = np.array(data.class_names), data.seen[data.y]
    method = make_method(name, Prototypes(names, (), data.prototypes), 0).set_params(normalize=normalize)
    return GZSLClassifierCV(method, {"alpha": [0.1]}).fit(data.X[seen], names[data.y[seen]])


@pytest.fixture(scope="module")
def model(data):
    return fitted(data)


@pytest.mark.parametrize(
    ("name", "normalize"), [*((n, "l2") for n in LEARNED), *(("lda", s) for s in SCALINGS)]
)
def test_predictions_are_those_of_the_whole_model(tmp_path, data, name, normalize):
    save_model(fitted(data, name, normalize), tmp_path / "m")
    whole, light = load_model(tmp_path / "m"), load_predictor(tmp_path / "m")
    assert isinstance(light, Predictor)
    np.testing.assert_array_equal(light.similarity(data.X), whole.similarity(data.X))
    np.testing.assert_array_equal(light.predict_proba(data.X), whole.predict_proba(data.X))
    np.testing.assert_array_equal(light.predict(data.X, reject=0.2), whole.predict(data.X, reject=0.2))
    np.testing.assert_array_equal(light.predict_set(data.X, 0.8), whole.predict_set(data.X, 0.8))


def test_samples_on_disk_and_integers_are_predicted_as_by_the_whole_model(tmp_path, data, model):
    save_model(model, tmp_path / "m")
    np.save(tmp_path / "x.npy", data.X)
    light, whole = load_predictor(tmp_path / "m"), load_model(tmp_path / "m")
    for X in (tmp_path / "x.npy", np.load(tmp_path / "x.npy", mmap_mode="r"), (9 * data.X).astype(np.int8)):
        np.testing.assert_array_equal(light.predict(X), whole.predict(X))


def test_the_whole_model_is_loaded_if_prediction_needs_it(tmp_path, data, model, monkeypatch):
    save_model(model.estimator_, tmp_path / "bare")
    assert type(load_predictor(tmp_path / "bare")) is type(model.estimator_)
    save_model(model, tmp_path / "m")
    monkeypatch.setattr("unseen.models.predictor.MANY_CLASSES", 11)
    assert blocks.MANY_CLASSES > 11 and type(load_predictor(tmp_path / "m")) is GZSLClassifierCV


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda state, arrays: state["selection"].update(temperature_=0.0), "temperature_"),
        (lambda state, arrays: state["model"]["params"].update(normalize="l3"), "normalize"),
        (lambda state, arrays: state["held_out"]["sets"].update(seen=[0.5]), "not complete"),
        (lambda state, arrays: state["held_out"].pop("facts"), "facts"),
        (
            lambda state, arrays: arrays.update({"model/coef_": arrays["model/coef_"][:, :3].copy()}),
            "coef_ has shape",
        ),
        (lambda state, arrays: arrays.pop("model/intercept_"), "intercept_"),
    ],
)
def test_a_file_that_lies_is_rejected_in_one_line(tmp_path, model, change, message):
    save_model(model, tmp_path / "m")
    with safe_open(tmp_path / "m", framework="numpy") as file:
        header = file.metadata()
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    state = json.loads(header["model"])
    change(state, arrays)
    header["model"] = json.dumps(state)
    save_file(arrays, tmp_path / "m", header | {"sha256": checksum(header["model"], arrays)})
    with pytest.raises(UnseenError, match=message):
        load_predictor(tmp_path / "m")


RUN = """
import sys
import scipy.special  # old versions import scipy.sparse themselves
needed = set(sys.modules)
from unseen.cli import main
main(sys.argv[1:], standalone_mode=False)
slow = {"sklearn", "pandas", "joblib", "scipy.stats", "scipy.sparse"}
print(*sorted(slow & (set(sys.modules) - needed)), file=sys.stderr)
"""


@pytest.mark.parametrize("command", ["predict", "evaluate"])
@pytest.mark.parametrize("form", ["npz", "csv", "npy"])
def test_predict_and_evaluate_start_without_scikit_learn(tmp_path, data, model, command, form):
    if (command, form) == ("evaluate", "npy"):
        pytest.skip("a .npy file has no labels")
    save_model(model, tmp_path / "m")
    X, names = data.X[:20], np.array(data.class_names)[data.y[:20]]
    if form == "csv":
        lines = [",".join([*(f"f{k}" for k in range(12)), "label"])]
        lines += [",".join([*map(repr, row.tolist()), name]) for row, name in zip(X, names)]
        (tmp_path / "x.csv").write_text("\n".join(lines))
    elif form == "npy":
        np.save(tmp_path / "x.npy", X)
    else:
        np.savez(
            tmp_path / "x.npz", X=X, y=data.y[:20], class_names=data.class_names, prototypes=data.prototypes
        )
    done = subprocess.run(
        [sys.executable, "-c", RUN, command, "m", f"x.{form}", "--quiet"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout and done.stderr.splitlines()[-1].strip() == ""
