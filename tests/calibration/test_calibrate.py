"""Held-out estimates against a literal loop, and what looks wrong with scores."""

from __future__ import annotations

import numpy as np
import pytest

from unseen.calibration.bootstrap import bootstrap
from unseen.calibration.calibrate import _assign_folds, apply_gamma, calibrate, measure_held_out
from unseen.calibration.checks import find_warnings
from unseen.calibration.curve import Goal, ScoreMaxima, SeenUnseenCurve
from unseen.calibration.scores import Scores
from unseen.errors import UnseenError
from unseen.metrics import accuracy, harmonic_mean

SEEN = np.array([True, True, True, False, False])


def problem(n: int = 200, seed: int = 0) -> Scores:
    rng = np.random.default_rng(seed)
    y = np.append(np.arange(5), rng.integers(0, 5, n - 5))
    scores = rng.normal(size=(n, 5))
    scores[np.arange(n), y] += 1.5
    scores[:, SEEN] += 1
    return Scores(scores, y, SEEN)


@pytest.mark.parametrize("weights", ["per-class", "per-sample"])
def test_every_sample_is_predicted_by_a_gamma_of_the_others(weights):
    given = problem(60)
    maxima = ScoreMaxima.from_scores(given.scores, SEEN)
    fold = _assign_folds(given.y, SEEN, 4, 0)
    predicted = np.full(60, -1)
    for number in range(4):
        inside = fold == number
        gamma = SeenUnseenCurve.from_scores(given.scores[~inside], given.y[~inside], SEEN, weights).gamma
        predicted[inside] = (given.scores[inside] - gamma * SEEN).argmax(axis=1)
    is_seen = SEEN[given.y]
    U, S = (accuracy(given.y[rows], predicted[rows], weights) for rows in (~is_seen, is_seen))
    found = measure_held_out(maxima, given.y, SEEN, weights=weights, folds=4)
    assert found == pytest.approx((U, S, harmonic_mean(U, S)))


def test_folds_hold_as_many_samples_of_every_class_as_possible():
    y = np.repeat(np.arange(5), [7, 12, 1, 3, 20])
    fold = _assign_folds(y, SEEN, 3, 0)
    for c in range(5):
        count = np.bincount(fold[y == c], minlength=3)
        assert count.max() - count.min() <= 1
    assert (fold != _assign_folds(y, SEEN, 3, 1)).any()


def test_held_out_accuracies_are_nearer_to_new_samples():
    """On the samples that chose gamma, H is too good; on held-out samples it is right on average."""
    optimistic, honest, new = [], [], []
    for seed in range(150):
        found = calibrate(problem(40, seed), folds=5).by_weights["per-class"]
        optimistic.append(found.point.h)
        honest.append(found.held_out.h)
        new.append(apply_gamma(found.gamma, problem(4000, 1000 + seed)).calibrated["per-class"].h)
    assert np.mean(optimistic) > np.mean(new) + 2
    assert abs(np.mean(honest) - np.mean(new)) < np.mean(optimistic) - np.mean(new)


def test_intervals_and_folds_are_those_of_a_seed():
    given = problem(60)
    maxima = ScoreMaxima.from_scores(given.scores, SEEN)
    for seed in (0, 3):
        found = calibrate(given, n_replicates=20, folds=4, random_state=seed)
        for weights, chosen in found.by_weights.items():
            alone = bootstrap(maxima, given.y, SEEN, weights=weights, n_replicates=20, random_state=seed)
            np.testing.assert_array_equal(chosen.replicates.h, alone.h)
            held_out = measure_held_out(maxima, given.y, SEEN, weights=weights, folds=4, random_state=seed)
            assert chosen.held_out == held_out
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
    assert (found.calibrated is not None) == (found.uncalibrated is not None) == known


@pytest.mark.parametrize("percent", [0, 1.5, 2, 100])
def test_percent_is_taken(percent):
    assert Goal(min_seen=percent).min_seen == percent


@pytest.mark.parametrize("share", [-1, 1, 0.6, 100.5])
def test_a_share_or_more_than_all_is_no_percent(share):
    with pytest.raises(UnseenError, match="but expected percent"):
        Goal(min_seen=share)


def test_the_goal_is_kept_in_every_fold():
    found = calibrate(problem(400), goal=Goal(min_seen=60), folds=5).by_weights["per-sample"]
    assert found.held_out.seen == pytest.approx(60, abs=5)


def test_too_many_folds_are_refused():
    with pytest.raises(UnseenError, match="folds=200, but expected 2 to"):
        calibrate(problem(), folds=200)
    with pytest.raises(UnseenError, match="at least two samples"):
        calibrate(Scores(np.eye(5)[[0, 4]], np.array([0, 4]), SEEN), folds=2)


def test_scores_without_true_classes_cannot_choose():
    with pytest.raises(UnseenError, match="no true classes"):
        calibrate(Scores(np.eye(5), None, SEEN))


def test_a_sample_without_a_candidate_is_refused():
    with pytest.raises(UnseenError, match="sample 1"):
        apply_gamma(0.0, Scores(np.array([[0.0] * 5, [-np.inf] * 5]), None, SEEN))


def with_column(column: np.ndarray) -> Scores:
    given = problem()
    scores = np.column_stack([given.scores, column])
    return Scores(scores, given.y, np.append(SEEN, True), ("a", "b", "c", "d", "e", "id"))


def test_nothing_wrong_is_no_warning():
    assert calibrate(problem()).warnings == []


def test_a_class_that_wins_everything_is_named():
    winner = [w for w in calibrate(with_column(np.full(200, 50.0))).warnings if "highest" in w]
    assert winner == ["class id has the highest score for every sample. Check that its column holds scores."]


@pytest.mark.parametrize(("share", "warned"), [(0.5, True), (0.52, False)])
def test_a_class_that_is_rightly_predicted_is_not_named(share, warned):
    """Nearly every sample is predicted as one class; that is strange unless more than half belong to it."""
    y = np.where(np.arange(200) < 200 * share, 0, 1 + np.arange(200) % 4)
    scores = np.tile([50.0, 1.0, 1.0, 1.0, 1.0], (200, 1))
    found = [line for line in calibrate(Scores(scores, y, SEEN)).warnings if "highest score" in line]
    assert bool(found) == warned


def test_two_large_columns_of_ten_are_no_exception():
    scores = np.random.default_rng(0).uniform(1, 2, (30, 10))
    scores[:, :2] *= 1000
    given = Scores(scores, np.arange(30) % 10, np.arange(10) < 7)
    assert not any("typical" in line for line in calibrate(given).warnings)


def test_a_side_without_scores_has_no_scale():
    given = problem()
    given.scores[:, ~SEEN] = -np.inf
    assert not any(
        "another scale" in line for line in find_warnings(given, ScoreMaxima.from_scores(given.scores, SEEN))
    )


def test_a_column_of_row_numbers_is_named():
    absent, winner = calibrate(with_column(10.0 * np.arange(200))).warnings
    assert absent == "1 of 6 classes has no sample and is ignored in the averages: id"
    assert winner.startswith("class id has the highest score for nearly every sample.")


def test_sides_of_another_scale_are_told():
    given = problem()
    given.scores[:, SEEN] *= 1000
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
