"""Maxima of the scores of a model, and the scores of some samples, in one pass."""

from __future__ import annotations

import numpy as np
import pytest

from unseen import GZSLClassifierCV, LinearSV, UnseenError
from unseen._core.blocks import BLOCK, MANY_CLASSES
from unseen.calibration.maxima import ScoreMaxima, class_columns, maxima_and_scores, score_maxima


@pytest.mark.parametrize("n_classes", [40, MANY_CLASSES + 5])
def test_one_pass_gives_the_maxima_of_all_and_the_scores_of_some(n_classes):
    rng = np.random.default_rng(0)
    S = rng.normal(size=(n_classes, 6))
    y = rng.integers(0, n_classes // 2, BLOCK + 900)
    X = S[y] @ rng.normal(size=(6, 8)) + rng.normal(size=(len(y), 8))
    model = LinearSV(S).fit(X, y)
    labels = rng.permutation(n_classes)[:-2]
    seen = np.isin(labels, y)
    keep = np.array([0, 7, BLOCK - 1, BLOCK, len(y) - 1])
    maxima, kept = maxima_and_scores(model, X, labels, seen, keep)
    scores = model.similarity(X)[:, labels]
    np.testing.assert_allclose(kept, scores[keep], rtol=1e-9, atol=1e-12)
    expected = ScoreMaxima.from_scores(scores, seen)
    for found in (maxima, score_maxima(model, X, labels, seen)):
        np.testing.assert_array_equal(found.argmax_seen, expected.argmax_seen)
        np.testing.assert_array_equal(found.argmax_unseen, expected.argmax_unseen)
        np.testing.assert_allclose(found.flips, expected.flips, rtol=1e-9, atol=1e-12)


def test_scores_that_are_kept_have_the_type_of_the_samples():
    S, y = np.eye(4), np.tile([0, 1, 2], 5)
    X = S[y].astype(np.float32)
    model = LinearSV(S).fit(X, y)
    _, kept = maxima_and_scores(model, X, np.arange(4), np.arange(4) < 3, np.array([1]))
    assert kept.dtype == np.float32


def test_all_columns_are_a_slice():
    model = LinearSV(np.eye(3)).fit(np.eye(3)[:2], [0, 1])
    assert class_columns(model, np.arange(3)) == slice(None)
    assert class_columns(model, np.array([2, 0])).tolist() == [2, 0]


def test_a_class_without_a_score_is_named():
    message = (
        r"^LinearSV has no score for class '7'\. Use a method that describes every class: "
        r"pass prototypes=\.\.\., one row per class, seen and unseen\.$"
    )
    with pytest.raises(UnseenError, match=message):
        class_columns(LinearSV(np.eye(3)).fit(np.eye(3)[:2], [0, 1]), np.array([0, 7, 8]))


def test_gamma_is_in_the_intercepts_of_a_calibrated_model():
    rng = np.random.default_rng(0)
    S = rng.normal(size=(9, 4))
    y = rng.integers(0, 7, 200)
    X = S[y] @ rng.normal(size=(4, 6)) + rng.normal(size=(200, 6))
    model = GZSLClassifierCV(LinearSV(S), {"alpha": [0.1]}).fit(X, y)
    assert model.gamma_ != 0
    expected = model.estimator_.similarity(X) - model.gamma_ * model.seen_
    linear = model.linear_classifier()
    np.testing.assert_allclose(linear.intercept, model.estimator_.intercept_ - model.gamma_ * model.seen_)
    np.testing.assert_allclose(model.similarity(X), expected, rtol=0, atol=1e-12)
