"""Accuracies, the harmonic mean, and what they do with classes that have no sample."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from unseen.errors import UnseenError
from unseen.metrics import accuracy, class_weights, gzsl_accuracies, harmonic_mean, seen_unseen_auroc


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
    with pytest.raises(UnseenError, match="Did you mean 'per-class'"):
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
def test_auroc_is_that_of_scikit_learn(decimals):
    rng = np.random.default_rng(0)
    is_seen = rng.random(300) < 0.4
    flips = (rng.normal(size=300) + is_seen).round(decimals)  # without decimals there are many ties
    assert seen_unseen_auroc(flips, is_seen) == pytest.approx(roc_auc_score(is_seen, flips), abs=1e-12)


def test_samples_are_seen_or_unseen_by_their_true_class():
    y, predicted = np.array(["ant", "ant", "bee", "cow"]), np.array(["ant", "cow", "bee", "ant"])
    assert gzsl_accuracies(y, predicted, ["ant", "bee"]) == (0.0, 75.0, 0.0)
    assert gzsl_accuracies(y, predicted, ["ant", "bee"], "per-sample") == pytest.approx((0.0, 200 / 3, 0.0))
    with pytest.raises(UnseenError, match="No sample belongs to unseen classes"):
        gzsl_accuracies(y, predicted, ["ant", "bee", "cow"])
