"""Fitting on arrays warns of what ``inspect`` finds in a data set."""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from unseen import LDA, GZSLClassifierCV, load_dataset
from unseen.models.training import train


@pytest.fixture(scope="module")
def flawed():
    """Two classes alike, an attribute that is constant and one that is too large, features far apart."""
    data = load_dataset(
        "synthetic", n_samples=400, n_features=12, n_classes=14, n_attributes=6, random_state=1
    )
    X, S = data.X.astype(np.float64), data.prototypes.copy()
    X[:, 3] *= 1e5
    S[1], S[:, 2], S[:, 4] = S[0], 1.0, 1e5 * S[:, 4]
    S[:2, 4] = 7e5
    names = tuple(f"class {c}" for c in range(14))
    features = tuple(f"x{k}" for k in range(12))
    return replace(
        data, X=X, prototypes=S, class_names=names, attribute_names=tuple("abcdef"), feature_names=features
    )


def fit(data, wrap=lambda method: method, **params):
    """Fit on DataFrames of the training samples; return the model and the warnings that are checks."""
    names, rows = np.array(data.class_names), np.flatnonzero(data.seen[data.y])
    P = pd.DataFrame(data.prototypes, index=names, columns=data.attribute_names)
    X = pd.DataFrame(data.X[rows], columns=data.feature_names)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = GZSLClassifierCV(wrap(LDA(P, **params))).fit(X, names[data.y[rows]])
    return model, [str(warning.message) for warning in caught]


def test_a_fit_on_arrays_warns_of_what_a_data_set_says(flawed):
    model, lines = fit(flawed)
    expected = [str(check) for check in flawed.checks() if check.severity == "warning"]
    assert [line[:4] for line in expected] == ["U001", "U003", "U006", "U012"]
    # the data set counts the samples of unseen classes, too
    assert [line for line in lines if line[:4] not in ("U006", "U009")] == [
        line for line in expected if line[:4] != "U006"
    ]
    (scales,) = (line for line in lines if line.startswith("U006"))
    assert "'x3'" in scales and 'normalize="standard"' in scales
    codes = {check.code for check in model.card().checks}
    assert {line[:4] for line in lines} <= codes
    assert ("U009" in codes) == bool(model.card().lost)


def test_features_that_are_scaled_anyway_may_differ(flawed):
    for options in (
        {"normalize": "standard"},
        {"wrap": lambda method: make_pipeline(StandardScaler(), method)},
    ):
        _, lines = fit(flawed, **options)
        assert [line[:4] for line in lines if line[:4] != "U009"] == ["U001", "U003", "U012"]


def test_a_sound_fit_is_silent():
    data = load_dataset("letters")
    rows = np.flatnonzero(data.seen[data.y])[::4]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message="U009 ")  # of the model, not of the data
        GZSLClassifierCV(LDA(data.prototypes), {"alpha": [1.0]}).fit(data.X[rows], data.y[rows])


def test_training_on_a_data_set_warns_once(flawed):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        train(flawed, "lda", normalize="l2")
    lines = Counter(str(warning.message) for warning in caught)
    assert {line[:4] for line in lines} >= {"U001", "U003", "U006", "U012"}
    assert set(lines.values()) == {1}


@pytest.mark.parametrize("form", [np.asarray, pd.DataFrame])
def test_the_samples_are_read_once(flawed, form, monkeypatch):
    """The scales of all features take one pass, whatever the samples are kept in."""
    from unseen.datasets import checks

    read, blocks = [], checks.feature_blocks
    monkeypatch.setattr(checks, "feature_blocks", lambda X: read.append(len(X)) or blocks(X))
    found = checks.check_training(replace(flawed, X=form(flawed.X)))
    assert "U006" in [check.code for check in found] and read == [len(flawed.X)]
