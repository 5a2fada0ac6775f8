"""Sets of candidates: as many samples have their class in its set as was asked for."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from unseen import GZSLClassifierCV, LinearSV
from unseen.calibration.prediction import class_thresholds, probabilities
from unseen.datasets import load_dataset
from unseen.datasets.splits import make_split
from unseen.errors import UnseenError
from unseen.models.io import load_model, save_model
from unseen.selection.confidence import RATES, thresholds_of_seen, thresholds_of_unseen
from unseen.selection.rehearsal import Kept

GRID = {"alpha": [1.0]}


@pytest.fixture(scope="module")
def digits():
    data = load_dataset("digits")
    split = make_split(data)
    model = GZSLClassifierCV(LinearSV(data.prototypes), GRID, cv=split.cv())
    return model.fit(data.X[split.train], data.y[split.train]), data, split


def draw(rng, n: int) -> Kept:
    """Samples of five seen classes whose scores know a little about their class."""
    y = rng.integers(5, size=n)
    return Kept(rng.normal(size=(n, 5)) + np.eye(5)[y], y, np.ones(5, dtype=bool))


@pytest.mark.parametrize(("n", "coverage"), [(9, 0.9), (30, 0.8), (50, 0.95)])
def test_exchangeable_samples_are_covered(n, coverage):
    rng = np.random.default_rng(0)
    place, covered = round(100 * coverage), []
    for _ in range(2000):
        known, new = draw(rng, n), draw(rng, 20)
        threshold = thresholds_of_seen([known], [1.0])[place]
        covered.append(np.mean(probabilities(new.scores, 1.0)[np.arange(20), new.y] >= threshold))
    # between coverage and coverage + 1 / (n + 1), whatever the scores are
    error = 3 * np.std(covered) / np.sqrt(len(covered))
    assert coverage - error <= np.mean(covered) <= coverage + 1 / (n + 1) + error


def test_too_few_samples_give_all_classes():
    thresholds = thresholds_of_seen([draw(np.random.default_rng(0), 8)], [1.0])
    assert thresholds[90] == 0 and thresholds[88] > 0  # 9 samples are needed for 90 %
    assert not thresholds_of_seen([], []).any()


def draw_classes(rng, n: int, seen: int) -> Kept:
    """Twenty samples of each of n classes that are not seen; some classes are much harder than others."""
    y = np.repeat(np.arange(n), 20)
    ease = rng.exponential(size=n)
    scores = rng.normal(size=(len(y), n + seen))
    scores[np.arange(len(y)), y] += ease[y]
    return Kept(scores, y, np.arange(n + seen) >= n)


@pytest.mark.parametrize("n", [9, 15])
def test_a_further_class_is_covered(n):
    rng, covered = np.random.default_rng(0), []
    for _ in range(1500):
        drawn = draw_classes(rng, n + 1, seen=10)
        known, new = drawn.y < n, drawn.y == n
        part = Kept(drawn.scores[known], drawn.y[known], drawn.seen)
        threshold = thresholds_of_unseen([part], [1.0])[90]
        covered.append(np.mean(probabilities(drawn.scores[new], 1.0)[:, n] >= threshold))
    assert np.mean(covered) >= 0.9 - 3 * np.std(covered) / np.sqrt(len(covered))


def test_few_classes_do_not_show_how_an_unseen_one_fares():
    drawn = draw_classes(np.random.default_rng(0), 8, seen=0)
    thresholds = thresholds_of_unseen([drawn, drawn], [1.0, 1.0])  # the same classes, held out twice
    assert thresholds[90] == 0 and thresholds[88] > 0  # 9 classes are needed for 90 %


@pytest.mark.parametrize(("coverage", "percent"), [(0.9, 90), (0.905, 91), (0.56, 56)])  # rounded up
def test_every_kind_of_class_has_its_threshold(coverage, percent):
    by_kind = {"seen": 1 - RATES, "unseen": (1 - RATES) / 2}
    thresholds = class_thresholds(by_kind, coverage, np.array([True, False]))
    assert thresholds == pytest.approx([1 - percent / 100, (1 - percent / 100) / 2])


def test_larger_coverage_gives_larger_sets_that_hold_more(digits):
    model, data, split = digits
    for test in (split.test_seen, split.test_unseen):
        X, y = data.X[test], data.y[test]
        sets = [model.predict_set(X, share) for share in (0.5, 0.8, 0.9, 0.95)]
        assert sets[0].shape == (len(y), 10) and sets[0].dtype == bool
        assert all((small <= large).all() for small, large in itertools.pairwise(sets))
    seen = data.X[split.test_seen], data.y[split.test_seen]
    held = model.predict_set(seen[0], 0.9)[np.arange(len(seen[1])), seen[1]]
    assert held.mean() >= 0.85  # two standard errors of some 170 samples
    assert np.array_equal(model.predict_set(seen[0]), model.predict_set(seen[0], coverage=0.9))


@pytest.mark.parametrize("coverage", [0, 1, 90, -0.1, np.nan])
def test_coverage_is_a_share(digits, coverage):
    model, data, _ = digits
    with pytest.raises(UnseenError, match="expected a share of samples, above 0 and below 1"):
        model.predict_set(data.X[:2], coverage)


def test_sets_survive_a_file_and_follow_recalibration(digits, tmp_path):
    model, data, split = digits
    save_model(model, tmp_path / "m")
    loaded = load_model(tmp_path / "m")
    assert np.array_equal(loaded.predict_set(data.X), model.predict_set(data.X))
    loaded.add_classes({10: data.prototypes[0], 11: data.prototypes[1]})
    before = loaded.set_thresholds(0.9)
    loaded.recalibrate(data.X[split.train], data.y[split.train])
    after = loaded.set_thresholds(0.9)
    assert after.shape == (12,) and (after[loaded.seen_] < before[loaded.seen_]).all()  # twins share


def test_the_rule_of_the_paper_has_sets_too(digits):
    _, data, split = digits
    model = GZSLClassifierCV(LinearSV(data.prototypes), GRID, cv=split.cv(), gamma="paper")
    model.fit(data.X[split.train], data.y[split.train])
    assert model.predict_set(data.X[:5]).shape == (5, 10)
