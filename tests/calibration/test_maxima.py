"""Maxima of the scores of a model, and the scores of some samples, in one pass."""

from __future__ import annotations

import numpy as np
import pytest

from unseen import LinearSV
from unseen._core.blocks import BLOCK, MANY_CLASSES
from unseen.calibration.maxima import ScoreMaxima, maxima_and_scores, score_maxima


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
