"""Estimators print in one line, whatever they hold."""

from __future__ import annotations

import re
from email.message import Message

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from conftest import ROOT
from unseen import ESZSL, LDA, CalibratedClassifier, GZSLClassifierCV
from unseen._core import representation
from unseen.datasets.splits import GZSLFolds
from unseen.methods import METHODS, find_method, make_method

P = np.zeros((200, 312))
FOLDS = [(np.arange(900), np.arange(900, 1000))] * 3


@pytest.mark.parametrize(
    ("estimator", "expected"),
    [
        (ESZSL(), "ESZSL()"),
        (ESZSL(beta=1.0, alpha=0.1), "ESZSL(alpha=0.1)"),
        (GZSLClassifierCV(ESZSL(), {"alpha": [0.1]}, cv=KFold(3)), "param_grid={'alpha': [0.1]}"),
        (GZSLClassifierCV(ESZSL(P), {"alpha": [0.1]}, cv=GZSLFolds(4)), "cv=GZSLFolds("),
        (LDA(pd.DataFrame(P), kernel="linear"), "LDA(kernel='linear', prototypes="),
        (ESZSL(dict.fromkeys("abcdefghij", P[0])), "ESZSL(prototypes={'a': array("),
        (GZSLClassifierCV(ESZSL(P), {"alpha": [0.1, 1.0]}, cv=FOLDS), "GZSLClassifierCV(cv=[(array("),
        (GZSLClassifierCV(make_pipeline(StandardScaler(), ESZSL(P))), "estimator=Pipeline("),
        (CalibratedClassifier(ESZSL(P), seen=np.arange(150), min_seen=80), "min_seen=80"),
    ],
)
def test_one_line_of_what_differs_from_the_defaults(estimator, expected):
    text = repr(estimator)
    assert expected in text and "\n" not in text and len(text) < 300
    assert str(estimator) == text


@pytest.mark.parametrize("name", METHODS)
def test_every_method_prints_in_one_short_line(name):
    text = repr(find_method(name)(P))
    assert "prototypes=array" in text and "\n" not in text and len(text) < 100


def test_all_parameters_are_shown_where_scikit_learn_is_asked_to():
    with sklearn.config_context(print_changed_only=False):
        assert repr(ESZSL()) == "ESZSL(alpha=1.0, beta=1.0, normalize='l2', prototypes=None, targets='01')"


def test_a_notebook_shows_it():
    assert "ESZSL" in ESZSL(P)._repr_html_()


# ---- links


ESTIMATORS = [*METHODS, "GZSLClassifierCV", "CalibratedClassifier"]


def estimator_of(name: str):
    if name == "GZSLClassifierCV":
        return GZSLClassifierCV(LDA(np.eye(3)))
    if name == "CalibratedClassifier":
        return CalibratedClassifier(LDA(np.eye(3)), seen=[0, 1])
    return make_method(name, np.eye(3), 0)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_repr_in_a_notebook_links_the_page_of_an_estimator(name, monkeypatch):
    """At the address that the package names; the page is one of docs/api and shows the class."""
    urls = Message()
    urls["Project-URL"] = "Homepage, https://project.example"
    urls["Project-URL"] = "Documentation, https://docs.example/unseen/"
    monkeypatch.setattr(representation, "metadata", {"unseen": urls}.get)
    estimator = estimator_of(name)
    kind = f"{type(estimator).__module__}.{type(estimator).__qualname__}"
    address, page, anchor = re.fullmatch(r"(.*)/api/(\w+)\.html#(.*)", estimator._get_doc_link()).groups()
    assert (address, anchor) == ("https://docs.example/unseen", kind)
    assert f"::: {kind}\n" in (ROOT / "docs" / "api" / f"{page}.md").read_text("utf-8") + "\n"
    assert f'href="{estimator._get_doc_link()}"' in estimator._repr_html_()


def test_without_an_address_there_is_no_link(monkeypatch):
    monkeypatch.setattr(representation, "metadata", {"unseen": Message()}.get)
    for name in ESTIMATORS:
        assert estimator_of(name)._get_doc_link() == ""


class Own(LDA):
    """Somebody else's method: its documentation is elsewhere."""


def test_a_method_of_somebody_else_has_no_link():
    assert Own(np.eye(3))._get_doc_link() == ""
