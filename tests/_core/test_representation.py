"""Estimators print in one line, whatever they hold."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from unseen import ESZSL, LDA, CalibratedClassifier, GZSLClassifierCV
from unseen.datasets.splits import GZSLFolds
from unseen.methods import METHODS, find_method

P = np.zeros((200, 312))
FOLDS = [(np.arange(900), np.arange(900, 1000))] * 3


@pytest.mark.parametrize(
    ("estimator", "expected"),
    [
        (ESZSL(), "ESZSL()"),
        (ESZSL(P, alpha=0.1), "ESZSL(prototypes=array 200x312, alpha=0.1)"),
        (ESZSL(P, alpha=np.float64(0.1), beta=1.0), "ESZSL(prototypes=array 200x312, alpha=0.1)"),
        (LDA(pd.DataFrame(P), kernel="linear"), "LDA(prototypes=DataFrame 200x312, kernel='linear')"),
        (ESZSL(dict.fromkeys("abcdefghij", P[0])), "ESZSL(prototypes=dict of 10)"),
        (ESZSL({"owl": P[0], "jay": [1, 2]}), "ESZSL(prototypes={'owl': array 312, 'jay': [1, 2]})"),
        (
            GZSLClassifierCV(ESZSL(P), {"alpha": [0.1, 1.0]}, cv=FOLDS),
            "GZSLClassifierCV(estimator=ESZSL(prototypes=array 200x312), param_grid={'alpha': [0.1, 1.0]}, "
            "cv=3 folds)",
        ),
        (
            GZSLClassifierCV(ESZSL(P), {"alpha": np.logspace(-3, 3)}, cv=GZSLFolds(4), gamma="paper"),
            "GZSLClassifierCV(estimator=ESZSL(prototypes=array 200x312), param_grid={'alpha': array 50}, "
            "cv=GZSLFolds(n_splits=4), gamma='paper')",
        ),
        (
            GZSLClassifierCV(make_pipeline(StandardScaler(), ESZSL(P)), cv=KFold(3)),
            "GZSLClassifierCV(estimator=Pipeline(steps=[('standardscaler', StandardScaler()), "
            "('eszsl', ESZSL(prototypes=array 200x312))]), "
            "cv=KFold(n_splits=3, random_state=None, shuffle=False))",
        ),
        (
            CalibratedClassifier(ESZSL(P), seen=list(range(150)), min_seen=80),
            "CalibratedClassifier(estimator=ESZSL(prototypes=array 200x312), seen=list of 150, min_seen=80)",
        ),
    ],
)
def test_one_line(estimator, expected):
    assert repr(estimator) == expected
    assert str(estimator) == expected


@pytest.mark.parametrize("name", METHODS)
def test_every_method_prints_in_one_short_line(name):
    text = repr(find_method(name)(P))
    assert "prototypes=array 200x312" in text and "\n" not in text and len(text) < 100


def test_all_parameters_are_shown_where_scikit_learn_is_asked_to():
    with sklearn.config_context(print_changed_only=False):
        text = repr(ESZSL(P))
    assert text == ("ESZSL(prototypes=array 200x312, alpha=1.0, beta=1.0, targets='01', normalize='l2')")


def test_a_notebook_shows_it():
    assert "array 200x312" in ESZSL(P)._repr_html_()
