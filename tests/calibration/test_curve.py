"""The exact curve against counting predictions one gamma at a time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import oracle
from unseen.calibration.curve import ScoreMaxima, SeenUnseenCurve, mean_curve
from unseen.errors import UnseenError
from unseen.metrics import accuracy


@st.composite
def problems(draw: st.DrawFn, samples: int | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw (scores, y, seen): few distinct scores, so many ties; some infinite; both kinds of sample."""
    n_seen, n_unseen = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    seen = np.array(draw(st.permutations([True] * n_seen + [False] * n_unseen)))
    n = samples or draw(st.integers(2, 8))
    score = st.sampled_from([-np.inf, -2.0, -1.0, -0.5, 0.0, 0.25, 0.5, 1.0, 3.0, np.inf])
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    scores = draw(hnp.arrays(dtype, (n, len(seen)), elements=score))
    y = np.array(draw(st.lists(st.integers(0, len(seen) - 1), min_size=n, max_size=n)))
    y[0], y[1] = seen.argmax(), (~seen).argmax()
    return scores, y, seen


weightings = st.sampled_from(["per-class", "per-sample"])


@settings(max_examples=500, deadline=None)
@given(problems(), weightings)
def test_the_curve_equals_brute_force(problem, weights):
    curve = SeenUnseenCurve.from_scores(*problem, weights=weights)
    best, intervals, area = oracle.seen_unseen_curve(*problem, weights)
    assert curve.h == pytest.approx(best, abs=1e-12)
    assert any(low < curve.gamma <= high for low, high in intervals)
    assert np.isfinite(curve.gamma)
    assert curve.ausuc == pytest.approx(area, abs=1e-12)
    assert (curve.unseen, curve.seen, curve.h) == pytest.approx(
        oracle.gzsl_accuracies(*problem, curve.gamma, weights), abs=1e-12
    )


@settings(max_examples=100, deadline=None)
@given(problems(), weightings, st.sampled_from([-np.inf, -3.0, -0.25, 0.0, 0.5, 1.0, np.inf]))
def test_at_any_gamma_equals_brute_force(problem, weights, gamma):
    curve = SeenUnseenCurve.from_scores(*problem, weights=weights)
    assert curve.at(gamma) == pytest.approx(oracle.gzsl_accuracies(*problem, gamma, weights), abs=1e-12)


@settings(max_examples=200, deadline=None)
@given(
    problems(),
    weightings,
    st.sampled_from(["min_seen", "min_unseen", "unseen_share"]),
    st.sampled_from([0, 10, 30, 50, 80, 100]),
)
def test_every_goal_equals_brute_force(problem, weights, name, goal):
    curve = SeenUnseenCurve.from_scores(*problem, weights=weights)
    points = oracle.all_operating_points(*problem, weights)
    expected = oracle.best_value(points, name, goal)
    if expected is None:
        with pytest.raises(UnseenError, match=f"No gamma gives {name}"):
            curve.best(**{name: goal})
        return
    point = curve.best(**{name: goal})
    got = oracle.gzsl_accuracies(*problem, point.gamma, weights)
    assert (point.unseen, point.seen, point.h) == pytest.approx(got, abs=1e-12)
    assert oracle.best_value([got], name, goal) == pytest.approx(expected, abs=1e-12)


@settings(max_examples=100, deadline=None)
@given(problems(), weightings, st.randoms(use_true_random=False))
def test_order_and_offsets_change_nothing(problem, weights, random):
    scores, y, seen = problem
    scores = np.where(scores == np.inf, 5.0, scores.astype(float))
    scores += 2.0 ** -np.arange(12.0, 12 + len(seen))  # no ties within a side, where the first column wins
    before = SeenUnseenCurve.from_scores(scores, y, seen, weights)
    rows, columns = (np.array(random.sample(range(n), n)) for n in scores.shape)
    offset = np.array([random.choice([-4.0, 0.0, 0.5, 8.0]) for _ in rows])
    moved = (scores + offset[:, None])[rows][:, columns]
    after = SeenUnseenCurve.from_scores(moved, columns.argsort()[y[rows]], seen[columns], weights)
    for name in ("breakpoints", "unseen_curve", "seen_curve", "h_curve"):
        np.testing.assert_array_equal(getattr(before, name), getattr(after, name))
    assert before.best() == after.best()
    assert before.ausuc == after.ausuc


def test_ends_of_the_curve_are_the_accuracies_of_each_side_alone():
    scores = np.array([[3.0, 1.0, 0.0, 2.0], [5.0, 0.0, 1.0, 0.0], [0.0, 0.0, 9.0, 1.0]])
    curve = SeenUnseenCurve.from_scores(scores, [1, 2, 2], np.array([True, True, False, False]))
    assert curve.seen_alone == 0.0
    assert curve.unseen_alone == 100.0


def test_scores_of_both_kinds_apart_have_the_same_maxima():
    rng = np.random.default_rng(0)
    scores, seen = rng.normal(size=(30, 6)).round(1), np.array([False, True, True, False, True, False])
    whole, parts = (
        ScoreMaxima.from_scores(scores, seen),
        ScoreMaxima.from_parts(scores[:, seen], scores[:, ~seen], seen),
    )
    for name in ("best_seen", "best_unseen", "argmax_seen", "argmax_unseen"):
        np.testing.assert_array_equal(getattr(parts, name), getattr(whole, name))


@pytest.mark.parametrize("kind", [np.int8, np.uint64])
def test_a_mask_may_be_zeros_and_ones(kind):
    scores, seen = np.eye(3), np.array([True, False, True])
    found = ScoreMaxima.from_scores(scores, seen.astype(kind))
    np.testing.assert_array_equal(found.argmax_unseen, ScoreMaxima.from_scores(scores, seen).argmax_unseen)
    for wrong in ([0, 1, 3], [0.5, 1.0, 1.0]):
        with pytest.raises(UnseenError):
            ScoreMaxima.from_scores(scores, np.array(wrong))


def test_blocks_give_the_same_curve():
    rng = np.random.default_rng(0)
    scores, y, seen = rng.normal(size=(100, 9)), rng.integers(0, 9, 100), np.arange(9) < 6
    blocks = [ScoreMaxima.from_scores(scores[i : i + 7], seen) for i in range(0, 100, 7)]
    fed = SeenUnseenCurve.from_maxima(ScoreMaxima.concatenate(blocks), y, seen)
    whole = SeenUnseenCurve.from_scores(scores, y, seen)
    np.testing.assert_array_equal(fed.breakpoints, whole.breakpoints)
    assert fed.gamma == whole.gamma


@settings(max_examples=100, deadline=None)
@given(st.lists(problems(), min_size=1, max_size=3), weightings)
def test_mean_curve_equals_the_mean_at_every_gamma(problems, weights):
    curves = [SeenUnseenCurve.from_scores(*problem, weights=weights) for problem in problems]
    mean = mean_curve(curves)
    for gamma in [*mean.gammas, *mean.breakpoints, mean.gamma]:
        expected = np.mean([curve.at(gamma) for curve in curves], axis=0)
        np.testing.assert_allclose(mean.at(gamma), expected, rtol=0, atol=1e-12)
        assert mean.h >= expected[2] - 1e-11 or np.isinf(gamma)
    assert mean.ausuc == pytest.approx(np.mean([curve.ausuc for curve in curves]), abs=1e-12)


def test_a_mean_of_no_curve_is_refused():
    with pytest.raises(UnseenError, match=r"^mean_curve got no curve\. Pass at least one\.$"):
        mean_curve([])


def test_all_scores_equal():
    curve = SeenUnseenCurve.from_scores(np.zeros((4, 3)), [0, 1, 2, 2], [True, True, False])
    assert curve.breakpoints.tolist() == [0.0]
    assert curve.at(0.0) == (0.0, 50.0, 0.0)  # a tie goes to the first seen class
    assert curve.at(1e-300) == (100.0, 0.0, 0.0)
    assert np.isfinite(curve.gamma)


def test_nothing_to_win_or_lose_is_no_calibration():
    scores = np.array([[0.0, 1.0, 0.0, 1.0], [0.0, 1.0, 0.0, 1.0]])
    curve = SeenUnseenCurve.from_scores(scores, [0, 2], [True, True, False, False])
    assert (curve.gamma, curve.interval, curve.h, curve.ausuc) == (0.0, (-np.inf, np.inf), 0.0, 0.0)


def test_excluded_classes_are_never_predicted():
    scores = np.array([[-np.inf, -np.inf], [-np.inf, 0.0], [0.0, -np.inf]])
    maxima = ScoreMaxima.from_scores(scores, [True, False])
    for gamma in (-1e300, 0.0, 1e300):
        assert maxima.predict(gamma).tolist() == [-1, 1, 0]
    curve = SeenUnseenCurve.from_maxima(maxima, [0, 1, 0], np.array([True, False]))
    assert (curve.unseen, curve.seen) == (100.0, 50.0)
    assert curve.gamma == 0.0


@pytest.mark.parametrize("scale", [1e-300, 1e-30, 1.0, 1e30, 1e307])
def test_scores_of_any_size(scale):
    scores = scale * np.array([[4.0, 1.0], [3.0, 1.0], [2.0, 1.0], [2.5, 1.0]])
    curve = SeenUnseenCurve.from_scores(scores, [0, 0, 1, 1], [True, False])
    assert curve.interval == pytest.approx((1.5 * scale, 2 * scale))
    assert curve.interval[0] < curve.gamma < curve.interval[1]
    assert curve.h == 100.0


@st.composite
def rounded_problems(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw scores of one decimal plus an offset: many d are equal up to rounding, but not equal.

    The classes of a sample never are: which of two is best must not hang on the rounding of gamma.
    """
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n, seen = draw(st.integers(4, 60)), np.arange(5) < draw(st.integers(1, 4))
    y = np.append(np.arange(5), rng.integers(0, 5, n))
    scores = rng.normal(size=(len(y), 5)).round(1) + 0.013 * np.arange(5)
    scores[np.arange(len(y)), y] += 1
    dtype, offsets = draw(
        st.sampled_from([(np.float64, [0.0, 0.3, -7.7, 123.45, 1e6]), (np.float32, [0.0, 0.3, -7.7, 1000.1])])
    )
    return scores.astype(dtype) + dtype(draw(st.sampled_from(offsets))), y, seen


@settings(max_examples=150, deadline=None)
@given(rounded_problems(), weightings, st.sampled_from([{}, {"unseen_share": 40}]))
def test_the_optimum_is_reached_when_gamma_is_really_subtracted(problem, weights, goal):
    point = SeenUnseenCurve.from_scores(*problem, weights=weights).best(**goal)
    reached = oracle.subtracted_accuracies(*problem, point.gamma, weights)
    assert (point.unseen, point.seen, point.h) == pytest.approx(reached, abs=1e-9)


def test_gaps_of_rounding_are_no_optimum():
    d = np.array([0.3, 0.1 + 0.2, 0.3, 0.1 + 0.2])  # 0.1 + 0.2 is the float after 0.3
    scores, y = np.column_stack([d, np.zeros(4)]), np.array([1, 0, 1, 0])
    curve = SeenUnseenCurve.from_scores(scores, y, [True, False])
    assert curve.at(0.1 + 0.2).h == 100.0  # exact arithmetic would find it ...
    assert curve.h == 0.0  # ... but no gamma that anybody subtracts does
    assert mean_curve([curve, curve]).h == 0.0


def test_samples_denser_than_rounding_still_have_an_optimum():
    rng = np.random.default_rng(0)
    y = np.arange(40_000) % 2
    scores = (0.002 * rng.normal(size=(40_000, 2)) + 100).astype(np.float32)  # few distinct numbers
    scores[np.arange(40_000), y] += np.float32(0.003)
    curve = SeenUnseenCurve.from_scores(scores, y, np.array([True, False]))
    assert (np.diff(curve.breakpoints) <= curve.resolution).mean() > 0.8
    assert curve.h == pytest.approx(curve.h_curve.max())


@given(problems())
@settings(max_examples=100, deadline=None)
def test_zeros_and_ones_are_a_mask_and_the_repr_is_short(problem):
    scores, y, seen = problem
    curve = SeenUnseenCurve.from_scores(scores, y, seen)
    for numbers in (seen.astype(int), seen.astype(float), seen.astype(int).tolist()):
        assert SeenUnseenCurve.from_scores(scores, y, numbers).gamma == curve.gamma
    assert ScoreMaxima.from_scores(scores, seen.astype(int)).flips.tolist() == (
        ScoreMaxima.from_scores(scores, seen).flips.tolist()
    )
    assert repr(curve).startswith(f"SeenUnseenCurve(H={curve.h:.1f} at gamma={curve.gamma:.4g}")
    assert len(repr(curve)) < 110


@given(problems())
@settings(max_examples=100, deadline=None)
def test_per_sample_ausuc_is_the_openworld_auc(problem):
    scores, y, seen = problem
    scores = np.nan_to_num(scores, posinf=9.0, neginf=-9.0)
    curve = SeenUnseenCurve.from_scores(scores, y, seen, weights="per-sample")
    assert curve.ausuc == pytest.approx(oracle.openworld_auc(scores, y, seen), abs=1e-12)


def test_gamma_as_a_float32_bias_gives_what_is_promised():
    rng = np.random.default_rng(0)
    seen, y = np.arange(12) < 8, np.arange(600) % 12
    scores = (20 * rng.normal(size=(600, 12))).astype(np.float32)
    scores[np.arange(600), y] += 30
    curve = SeenUnseenCurve.from_scores(scores, y, seen)
    predicted = (scores - np.float32(curve.gamma) * seen.astype(np.float32)).argmax(axis=1)
    assert accuracy(y[~seen[y]], predicted[~seen[y]]) == pytest.approx(curve.unseen)
    assert accuracy(y[seen[y]], predicted[seen[y]]) == pytest.approx(curve.seen)


@pytest.mark.parametrize(
    ("goal", "message"),
    [
        ({"min_seen": 101}, "min_seen=101, but expected percent, from 0 to 100"),
        ({"unseen_share": -1}, "unseen_share=-1, but expected percent"),
        ({"min_seen": 0.8}, "min_seen=0.8, but expected percent, from 0 to 100. Pass min_seen=80 for 80 %"),
        ({"min_unseen": 1}, "Pass min_unseen=100 for 100 %"),
        ({"unseen_share": 0.1}, "Pass unseen_share=10 for 10 %"),
        ({"min_seen": 50, "min_unseen": 50}, "min_seen=50 and min_unseen=50"),
    ],
)
def test_goals_that_make_no_sense_are_refused(goal, message):
    curve = SeenUnseenCurve.from_scores(np.eye(2), [0, 1], [True, False])
    with pytest.raises(UnseenError, match=message):
        curve.best(**goal)


@pytest.mark.parametrize(
    ("y", "seen", "message"),
    [
        ([0, 1], [True, False, False], "y has shape"),
        ([0, 1, 3], [True, False, False], r"y\[2\] is 3"),
        ([0, 1, -1], [True, False, False], r"y\[2\] is -1"),
        ([0, 0, 0], [True, False, False], "No sample belongs to unseen"),
        ([1, 1, 2], [True, False, False], "No sample belongs to seen"),
        ([0, 1, 2], [True, False], "seen has shape"),
        ([0, 1, 2], [1, 1], "seen lists class '1' twice"),
    ],
)
def test_what_makes_no_sense_is_refused(y, seen, message):
    with pytest.raises(UnseenError, match=message):
        SeenUnseenCurve.from_scores(np.zeros((3, 3)), y, seen)


def test_nan_is_refused_by_place():
    scores = np.zeros((3, 3))
    scores[1, 2] = np.nan
    with pytest.raises(UnseenError, match=r"scores\[1, 2\] is NaN"):
        SeenUnseenCurve.from_scores(scores, [0, 1, 2], [True, False, False])


@pytest.mark.parametrize("scores", [np.zeros(3), np.zeros((3, 3, 3))])
def test_scores_that_are_no_table_are_refused(scores):
    with pytest.raises(UnseenError, match="expected numbers of shape"):
        SeenUnseenCurve.from_scores(scores, [0, 1, 2], [True, False, False])
    with pytest.raises(UnseenError, match="expected numbers of shape"):
        ScoreMaxima.from_scores(scores, [True, False, False])


def test_a_third_reaches_a_third():
    scores = [[2.0, 1.0, 0.0], [1.0, 2.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 1.0]]
    curve = SeenUnseenCurve.from_scores(scores, [0, 0, 0, 2], [True, True, False])
    assert curve.seen_alone < 100 / 3  # by rounding
    assert curve.best(min_seen=100 / 3).seen == curve.seen_alone
