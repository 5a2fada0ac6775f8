"""Accuracies, the harmonic mean, and what they do with classes that have no sample."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_curve
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from unseen import ESZSL
from unseen.datasets import load_dataset
from unseen.datasets.splits import make_split
from unseen.errors import UnseenError
from unseen.metrics import (
    accuracy,
    auroc,
    class_weights,
    false_positive_rate,
    gzsl_accuracies,
    gzsl_scorer,
    harmonic_mean,
    reliability,
)


def test_every_present_class_weighs_the_same():
    y = np.array([0, 0, 0, 0, 3, 7, 7])
    predicted = np.array([0, 0, 0, 1, 3, 0, 0])
    assert accuracy(y, predicted) == pytest.approx((75 + 100 + 0) / 3)
    assert accuracy(y, predicted, weights="per-sample") == pytest.approx(100 * 4 / 7)


def test_all_right_is_exactly_one_hundred():
    y = np.repeat(np.arange(7), np.arange(1, 8))  # thirds and sevenths, which floats cannot add up exactly
    assert accuracy(y, y) == 100.0
    assert accuracy(y, y, weights="per-sample") == 100.0


def test_labels_may_be_names():
    assert accuracy(["cat", "cat", "dog"], ["cat", "dog", "dog"]) == 75.0


def test_no_sample_is_an_error_not_nan():
    with pytest.raises(UnseenError, match="got no sample"):
        accuracy([], [])


def test_a_wrong_word_is_answered_with_the_right_one():
    with pytest.raises(UnseenError, match="but expected 'per-class' or 'per-sample'"):
        accuracy([0], [0], weights="perclass")


def test_a_class_without_a_sample_weighs_nothing():
    count = np.array([3, 0, 7])
    for weights in ("per-class", "per-sample"):
        assert class_weights(count, weights)[1] == 0
    assert not class_weights(np.zeros(3, dtype=int)).any()


def test_harmonic_mean_of_nothing_is_zero():
    assert harmonic_mean(0.0, 0.0) == 0.0
    np.testing.assert_allclose(harmonic_mean(np.array([0.0, 50.0]), np.array([80.0, 50.0])), [0.0, 50.0])


@pytest.mark.parametrize("decimals", [0, 9])
def test_auroc_counts_the_pairs_in_order_and_half_of_the_ties(decimals):
    rng = np.random.default_rng(0)
    is_seen = rng.random(300) < 0.4
    flips = (rng.normal(size=300) + is_seen).round(decimals)  # without decimals there are many ties
    flips[:2] = np.inf, -np.inf
    larger, smaller = flips[is_seen][:, None], flips[~is_seen]
    pairs = (larger > smaller) + (larger == smaller) / 2
    assert auroc(flips[is_seen], flips[~is_seen]) == pytest.approx(pairs.mean(), abs=1e-12)


def test_samples_are_seen_or_unseen_by_their_true_class():
    y, predicted = np.array(["ant", "ant", "bee", "cow"]), np.array(["ant", "cow", "bee", "ant"])
    assert gzsl_accuracies(y, predicted, ["ant", "bee"]) == (0.0, 75.0, 0.0)
    assert gzsl_accuracies(y, predicted, ["ant", "bee"], "per-sample") == pytest.approx((0.0, 200 / 3, 0.0))
    with pytest.raises(UnseenError, match="No sample belongs to unseen classes"):
        gzsl_accuracies(y, predicted, ["ant", "bee", "cow"])


@pytest.fixture(scope="module")
def split_digits():
    data = load_dataset("digits")
    return data, make_split(data)


def test_the_scorer_is_the_harmonic_mean_of_predictions(split_digits):
    data, split = split_digits
    model = ESZSL(data.prototypes).fit(data.X[split.train], data.y[split.train])
    U, S = (
        accuracy(data.y[rows], model.predict(data.X[rows])) for rows in (split.test_unseen, split.test_seen)
    )
    rows = np.concatenate([split.test_unseen, split.test_seen])
    assert gzsl_scorer(model, data.X[rows], data.y[rows]) == harmonic_mean(U, S)
    pipeline = make_pipeline(FunctionTransformer(), ESZSL(data.prototypes))
    pipeline.fit(data.X[split.train], data.y[split.train])
    assert gzsl_scorer(pipeline, data.X[rows], data.y[rows]) == harmonic_mean(U, S)


def test_the_scorer_works_in_model_selection(split_digits):
    pd = pytest.importorskip("pandas")
    data, split = split_digits
    X, y = data.X[split.train], data.y[split.train]
    cv = list(split.cv())
    found = cross_validate(ESZSL(data.prototypes), X, y, scoring=gzsl_scorer, cv=cv, error_score="raise")
    assert len(found["test_score"]) == len(cv)
    for score, (train, validation) in zip(found["test_score"], cv, strict=True):
        model = ESZSL(data.prototypes).fit(X[train], y[train])
        assert score == pytest.approx(
            gzsl_accuracies(y[validation], model.predict(X[validation]), np.unique(y[train])).h
        )
    search = GridSearchCV(
        ESZSL(data.prototypes), {"alpha": [0.01, 1e6]}, scoring=gzsl_scorer, cv=cv, error_score="raise"
    )
    search.fit(X, pd.Series(y))
    assert 0 < search.best_score_ <= 100
    assert search.cv_results_["mean_test_score"].argmax() == search.best_index_


def test_the_scorer_takes_classes_for_seen_where_nothing_else_is_said():
    model = LogisticRegression().fit([[0.0], [1.0]], ["ant", "bee"])
    assert gzsl_scorer(model, [[0.0], [1.0], [2.0]], ["ant", "bee", "cow"]) == 0.0
    with pytest.raises(UnseenError, match="No sample belongs to unseen classes"):
        gzsl_scorer(model, [[0.0], [1.0]], ["ant", "bee"])


def test_reliability_equals_its_definition():
    rng = np.random.default_rng(0)
    sure, right = rng.random(500), rng.random(500) < 0.6
    ece = 0.0
    for low in np.arange(15) / 15:
        chosen = (sure >= low) & (sure < low + 1 / 15)
        ece += abs(right[chosen].sum() - sure[chosen].sum()) / 500
    found = reliability(sure, right)
    assert found.ece == pytest.approx(ece) and found.samples.sum() == 500
    assert reliability([1.0], [True]).ece == 0  # the end belongs to the last bin


def test_the_false_positive_rate_keeps_its_share():
    rng = np.random.default_rng(0)
    positive, negative = rng.normal(size=1000) + 1, rng.normal(size=400)
    fpr, tpr, _ = roc_curve(np.repeat([1, 0], [1000, 400]), np.concatenate([positive, negative]))
    expected = fpr[np.searchsorted(tpr, 0.95)]
    assert false_positive_rate(positive, negative) == pytest.approx(expected, abs=0.01)


def test_seen_classes_are_labels_and_no_mask():
    y = np.array([0, 1, 2, 2])
    with pytest.raises(UnseenError, match="expected a list of class labels"):
        gzsl_accuracies(y, y, seen=np.array([True, True, False]))
    assert gzsl_accuracies(y == 0, y == 0, seen=[True]).h == 100
