"""The command and Python have the same defaults: the same parameters and gamma from the same samples."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from numpy.testing import assert_array_equal

from problems import linear_problem
from unseen import GZSLClassifierCV
from unseen.cli import main
from unseen.methods import make_method
from unseen.models.io import load_model

NAMES = np.array([f"machine {c}" for c in "abcdefghijklmn"])


@pytest.fixture(scope="module")
def machines(tmp_path_factory):
    """A file as in the tutorial, and its arrays; the last two classes have no samples."""
    X, y, S = linear_problem(240, features=10, attributes=6, classes=14, seen=12, dtype=np.float32, seed=5)
    path = tmp_path_factory.mktemp("machines") / "machines.npz"
    np.savez(path, X=X, y=NAMES[y], prototypes=S, class_names=NAMES)
    return path, X, NAMES[y], S


def fit_by_command(path, tmp_path, *arguments):
    model = tmp_path / "machines.model"
    options = ["--model", str(model), "--json", "--normalize", "l2"]
    ran = CliRunner().invoke(main, ["fit", str(path), *options, *arguments])
    assert ran.exit_code == 0, ran.stderr
    return json.loads(ran.stdout), load_model(model)


@pytest.mark.parametrize(
    ("name", "gamma"),
    [("eszsl", None), ("eszsl", "paper"), ("lda", None), ("linear-sv", None), ("sje", None)],
)
def test_the_same_parameters_and_gamma(machines, tmp_path, name, gamma):
    path, X, y, S = machines
    options = {} if gamma is None else {"gamma": gamma}
    arguments = [f"--{option}={value}" for option, value in options.items()]
    card, model = fit_by_command(path, tmp_path, "--method", name, *arguments)
    frame = pd.DataFrame(S, index=NAMES)
    search = GZSLClassifierCV(make_method(name, frame, 0), **options).fit(X, y)
    assert search.best_params_ == card["params"]
    assert search.gamma_ == card["gamma"]
    assert search.held_out_.rule == card["gamma_rule"]
    assert_array_equal(search.predict(X), model.predict(X))


def test_test_classes_of_the_file_are_left_out_in_python(machines, tmp_path):
    """With samples of unseen classes in the file, Python gets those of the seen classes."""
    _, X, y, S = machines
    other = tmp_path / "tested.npz"
    unseen = NAMES[[2, 5, 13]]
    np.savez(other, X=X, y=y, prototypes=S, class_names=NAMES, unseen_classes=unseen)
    card, _ = fit_by_command(other, tmp_path, "--method", "eszsl")
    seen = ~np.isin(y, unseen)
    search = GZSLClassifierCV(make_method("eszsl", pd.DataFrame(S, index=NAMES), 0)).fit(X[seen], y[seen])
    assert (search.best_params_, search.gamma_) == (card["params"], card["gamma"])
