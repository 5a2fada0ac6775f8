"""Every replicate is a calibration of its own."""

from __future__ import annotations

import numpy as np
import pytest

from unseen.calibration.bootstrap import bootstrap
from unseen.calibration.curve import Goal, ScoreMaxima, SeenUnseenCurve
from unseen.errors import UnseenError

SEEN = np.array([True, True, True, False, False])


def problem(n: int, seed: int = 0) -> tuple[ScoreMaxima, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = np.append(np.arange(5), rng.integers(0, 5, n - 5))
    scores = (8 * rng.normal(size=(n, 5))).round() / 8  # some exact ties, and no differences of 1e-16
    scores[np.arange(n), y] += 1.5
    scores[:3] = np.inf, -np.inf, 0.0, 1.0, -np.inf
    return ScoreMaxima.from_scores(scores, SEEN), y


def drawn_rows(y: np.ndarray, n: int, seed: int) -> np.ndarray:
    """The samples of every replicate, (replicates, samples)."""
    rng = np.random.Generator(np.random.PCG64(seed))  # as the library draws, whatever seed tests use
    sides = [np.flatnonzero(SEEN[y]), np.flatnonzero(~SEEN[y])]
    return np.array([np.hstack([rng.choice(side, len(side)) for side in sides]) for _ in range(n)])


@pytest.mark.parametrize("weights", ["per-class", "per-sample"])
@pytest.mark.parametrize("goal", [Goal(), Goal(unseen_share=30), Goal(min_unseen=40)])
def test_each_replicate_is_the_curve_of_its_samples(weights, goal):
    maxima, y = problem(40)
    got = bootstrap(maxima, y, SEEN, weights=weights, goal=goal, n_replicates=50, random_state=3)
    for r, rows in enumerate(drawn_rows(y, 50, 3)):
        curve = SeenUnseenCurve.from_maxima(maxima.take(rows), y[rows], SEEN, weights)
        assert got.ausuc[r] == pytest.approx(curve.ausuc, abs=1e-12)
        U, S, H = curve.at(got.gamma[r])
        assert got.h[r] == pytest.approx(H, abs=1e-9)
        best = goal.value(curve.unseen_curve, curve.seen_curve, curve.h_curve)[
            np.isfinite(curve.gammas)
        ].max()
        assert goal.value(U, S, H) == pytest.approx(best, abs=1e-9)
        if goal == Goal():  # of equals, the one with the larger sum
            assert curve.unseen + curve.seen == pytest.approx(U + S, abs=1e-9)


def test_the_interval_holds_the_estimate_and_narrows_with_more_samples():
    widths = []
    for n in (100, 1600):
        maxima, y = problem(n)
        low, high = bootstrap(maxima, y, SEEN).interval("h")
        assert low < SeenUnseenCurve.from_maxima(maxima, y, SEEN).h < high + 5
        widths.append(high - low)
    assert widths[1] < widths[0] / 2


def test_replicates_are_all_there_and_seeded():
    maxima, y = problem(300)
    first, again = (bootstrap(maxima, y, SEEN, n_replicates=400, random_state=1) for _ in range(2))
    assert len(first.gamma) == 400
    np.testing.assert_array_equal(first.gamma, again.gamma)


def test_no_replicate_is_refused():
    maxima, y = problem(10)
    with pytest.raises(UnseenError, match="n_replicates=0"):
        bootstrap(maxima, y, SEEN, n_replicates=0)


def test_a_replicate_may_miss_the_goal():
    maxima, y = problem(40)
    goal = Goal(min_seen=SeenUnseenCurve.from_maxima(maxima, y, SEEN).seen_alone)
    found = bootstrap(maxima, y, SEEN, goal=goal, n_replicates=50)
    assert np.isfinite(found.gamma).all()
