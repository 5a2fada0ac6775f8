"""Calibration of arrays of scores, and what looks wrong with them."""

from __future__ import annotations

import numpy as np
import pytest

from unseen.calibration.bootstrap import bootstrap
from unseen.calibration.calibrate import apply_gamma, calibrate
from unseen.calibration.curve import Goal, ScoreMaxima
from unseen.calibration.scores import Scores
from unseen.errors import UnseenError
from unseen.metrics import gzsl_accuracies

SEEN = np.array([True, True, True, False, False])


def problem(n: int = 200, seed: int = 0) -> Scores:
    rng = np.random.default_rng(seed)
    y = np.append(np.arange(5), rng.integers(0, 5, n - 5))
    scores = rng.normal(size=(n, 5))
    scores[np.arange(n), y] += 1.5
    scores[:, SEEN] += 1
    return Scores(scores, y, SEEN)


def test_intervals_are_those_of_a_seed():
    given = problem(60)
    maxima = ScoreMaxima.from_scores(given.scores, SEEN)
    for seed in (0, 3):
        found = calibrate(given, n_replicates=20, random_state=seed)
        for weights, chosen in found.by_weights.items():
            alone = bootstrap(maxima, given.y, SEEN, weights=weights, n_replicates=20, random_state=seed)
            np.testing.assert_array_equal(chosen.replicates.h, alone.h)
        goal = Goal(unseen_share=30)  # every replicate can meet it
        found = calibrate(given, goal=goal, n_replicates=20, random_state=seed).by_weights["per-class"]
        alone = bootstrap(maxima, given.y, SEEN, goal=goal, n_replicates=20, random_state=seed)
        np.testing.assert_array_equal(found.replicates.gamma, alone.gamma)
    by_default, first = (calibrate(given, n_replicates=20, **o) for o in ({}, {"random_state": 0}))
    for weights, chosen in first.by_weights.items():
        np.testing.assert_array_equal(by_default.by_weights[weights].replicates.h, chosen.replicates.h)


@pytest.mark.parametrize(
    ("kind", "known"), [("both", True), ("seen", False), ("unseen", False), ("no", False)]
)
def test_accuracies_need_true_classes_of_both_kinds(kind, known):
    given = problem()
    rows = {"both": SEEN[given.y] | True, "seen": SEEN[given.y], "unseen": ~SEEN[given.y]}.get(kind)
    chosen = np.flatnonzero(rows) if rows is not None else np.arange(3)
    y = None if kind == "no" else given.y[chosen]
    found = apply_gamma(0.5, Scores(given.scores[chosen], y, SEEN))
    assert list(found.changes) == (["per-class", "per-sample"] if known else [])
    for weights, pair in found.changes.items():
        predicted = given.scores.argmax(axis=1), found.predicted
        assert pair == tuple(gzsl_accuracies(y, p, np.flatnonzero(SEEN), weights) for p in predicted)


@pytest.mark.parametrize("percent", [0, 1.5, 2, 100])
def test_percent_is_taken(percent):
    assert Goal(min_seen=percent).min_seen == percent


@pytest.mark.parametrize("share", [-1, 1, 0.6, 100.5])
def test_a_share_or_more_than_all_is_no_percent(share):
    with pytest.raises(UnseenError, match="but expected percent"):
        Goal(min_seen=share)


def test_scores_without_true_classes_cannot_choose():
    with pytest.raises(UnseenError, match="no true classes"):
        calibrate(Scores(np.eye(5), None, SEEN))


def test_a_sample_without_a_candidate_is_refused():
    with pytest.raises(UnseenError, match="sample 1"):
        apply_gamma(0.0, Scores(np.array([[0.0] * 5, [-np.inf] * 5]), None, SEEN))


def test_nothing_wrong_is_no_warning():
    assert calibrate(problem()).warnings == []


def test_a_side_without_scores_has_no_scale():
    given = problem()
    given.scores[:, ~SEEN] = -np.inf
    assert calibrate(given).warnings == []


def test_a_column_of_row_numbers_is_named():
    given, names = problem(), ("a", "b", "c", "d", "e", "id")
    scores = np.column_stack([given.scores, 10.0 * np.arange(200)])
    absent, scale = calibrate(Scores(scores, given.y, np.append(SEEN, True), names)).warnings
    assert absent == "1 of 6 classes has no sample and is ignored in the averages: id"
    assert scale.startswith("the scores of seen classes reach 1.99e+03, those of unseen classes")


@pytest.mark.parametrize("side", [SEEN, ~SEEN])
def test_sides_of_another_scale_are_told(side):
    given = problem()
    given.scores[:, side] *= 1000
    (warning,) = calibrate(given).warnings
    assert warning.startswith("the scores of seen classes reach") and "cannot correct another" in warning


def test_softmax_scores_with_absent_classes_are_not_called_strange():
    given = problem()
    scores = np.column_stack([20 * given.scores, np.zeros((200, 15))])
    scores = np.exp(scores - scores.max(axis=1, keepdims=True))
    scores /= scores.sum(axis=1, keepdims=True)
    found = calibrate(Scores(scores, given.y, np.append(SEEN, np.zeros(15, bool)))).warnings
    assert len(found) == 2 and "are probabilities" in found[1]
    assert found[0].startswith("15 of 20 classes have no sample and are ignored in the averages")


def test_rows_that_sum_to_one_are_no_probabilities_if_some_are_negative():
    given = problem()
    scores = given.scores + (1 - given.scores.sum(axis=1, keepdims=True)) / 5
    assert calibrate(Scores(scores, given.y, SEEN)).warnings == []
