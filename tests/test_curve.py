"""The exact curve against counting predictions one gamma at a time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import oracle
from unseen.curve import ScoreMaxima, SeenUnseenCurve, mean_curve
from unseen.errors import UnseenError


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


@settings(max_examples=1000)
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


@settings(max_examples=300)
@given(problems(), weightings, st.sampled_from([-np.inf, -3.0, -0.25, 0.0, 0.5, 1.0, np.inf]))
def test_at_any_gamma_equals_brute_force(problem, weights, gamma):
    curve = SeenUnseenCurve.from_scores(*problem, weights=weights)
    assert curve.at(gamma) == pytest.approx(oracle.gzsl_accuracies(*problem, gamma, weights), abs=1e-12)


def test_ends_of_the_curve_are_the_accuracies_of_each_side_alone():
    scores = np.array([[3.0, 1.0, 0.0, 2.0], [5.0, 0.0, 1.0, 0.0], [0.0, 0.0, 9.0, 1.0]])
    curve = SeenUnseenCurve.from_scores(scores, [1, 2, 2], np.array([True, True, False, False]))
    assert curve.seen_alone == 0.0
    assert curve.unseen_alone == 100.0


def test_blocks_give_the_same_curve():
    rng = np.random.default_rng(0)
    scores, y, seen = rng.normal(size=(100, 9)), rng.integers(0, 9, 100), np.arange(9) < 6
    blocks = [ScoreMaxima.from_scores(scores[i : i + 7], seen) for i in range(0, 100, 7)]
    fed = SeenUnseenCurve.from_maxima(ScoreMaxima.concatenate(blocks), y, seen)
    whole = SeenUnseenCurve.from_scores(scores, y, seen)
    np.testing.assert_array_equal(fed.breakpoints, whole.breakpoints)
    assert fed.gamma == whole.gamma


@settings(max_examples=300)
@given(st.lists(problems(), min_size=1, max_size=3), weightings)
def test_mean_curve_equals_the_mean_at_every_gamma(problems, weights):
    curves = [SeenUnseenCurve.from_scores(*problem, weights=weights) for problem in problems]
    mean = mean_curve(curves)
    for gamma in [*mean.gammas, *mean.breakpoints, mean.gamma]:
        expected = np.mean([curve.at(gamma) for curve in curves], axis=0)
        np.testing.assert_allclose(mean.at(gamma), expected, rtol=0, atol=1e-12)
        assert mean.h >= expected[2] - 1e-11 or np.isinf(gamma)


@settings(max_examples=300)
@given(problems(), st.sampled_from([0.0, 0.01, 0.5, 1.0]))
def test_near_best_holds_exactly_the_gammas_that_are_near_best(problem, tolerance):
    curve = SeenUnseenCurve.from_scores(*problem)
    intervals = curve.near_best(tolerance)
    for gamma in curve.gammas[np.isfinite(curve.gammas)]:
        inside = any(low < gamma <= high for low, high in intervals)
        assert inside == (curve.at(gamma)[2] >= (1 - tolerance) * curve.h - 1e-11)


@pytest.mark.parametrize(
    ("y", "seen", "message"),
    [
        ([0, 1], [True, False, False], "y has shape"),
        ([0, 1, 3], [True, False, False], r"y\[2\] is 3"),
        ([0, 1, -1], [True, False, False], r"y\[2\] is -1"),
        ([0, 0, 0], [True, False, False], "No sample belongs to unseen"),
        ([1, 1, 2], [True, False, False], "No sample belongs to seen"),
        ([0, 1, 2], [True, False], "seen has shape"),
        ([0, 1, 2], [1, 0, 0], "seen has shape"),
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
