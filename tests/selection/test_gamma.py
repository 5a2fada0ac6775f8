"""The retention rule against its literal formula, what it may depend on, and the operating points."""

from __future__ import annotations

import numpy as np
import pytest

import oracle
from unseen import ESZSL, GZSLClassifierCV, LinearSV, UnseenError
from unseen.datasets import load_dataset
from unseen.datasets.splits import make_split
from unseen.selection.gamma import (
    SHARES,
    choose_retention,
    finest_share,
    gamma_at_retention,
    retention_at,
    seen_alone,
    unseen_at_retention,
)
from unseen.selection.rehearsal import N_REHEARSALS, Trial, assign_parts, rehearsal_classes


@pytest.fixture(scope="module")
def small():
    data = load_dataset(
        "synthetic", n_samples=500, n_features=20, n_classes=13, n_attributes=8, random_state=3
    )
    return data, make_split(data)


def fit(small, method=LinearSV, grid=None, **options):
    data, split = small
    search = GZSLClassifierCV(method(data.prototypes), grid or {"alpha": [1e-2]}, cv=split.cv(), **options)
    return search.fit(data.X[split.train], data.y[split.train])


def literal_parts(small, search):
    """Scores of all rehearsals and cross-fitted samples, from plain fits."""
    data, split = small
    X, y = data.X[split.train], data.y[split.train]

    def make():
        return LinearSV(data.prototypes, **search.best_params_)

    part = assign_parts(y)
    parts = []
    for number, classes in enumerate(rehearsal_classes(y, int(data.unseen.sum()))):
        in_part, of_classes = part == number % 5, np.isin(y, classes)
        fold = np.flatnonzero(~in_part & ~of_classes), np.flatnonzero(in_part | of_classes)
        parts.append(oracle.rehearsal_scores(make, X, y, fold, len(data.seen)))
    held = [(make().fit(X[part != k], y[part != k]).similarity(X[part == k]), y[part == k]) for k in range(5)]
    scores, labels = (np.concatenate(column) for column in zip(*held))
    return parts, (scores, labels, data.seen)


def test_the_rule_equals_its_literal_formula(small):
    search = fit(small)
    parts, crossed = literal_parts(small, search)
    finest = 1 - 0.5 / min(len(part[1]) for part in parts)
    shares = SHARES[finest >= SHARES][::10]
    assert len(parts) == N_REHEARSALS
    retention = search.held_out_.retention
    found = oracle.expected_h(parts, crossed, retention)  # no retention has a better one
    assert found > max(oracle.expected_h(parts, crossed, share) for share in shares) - 1e-6
    gamma = oracle.gamma_at_retention(*(crossed[0].astype(float), *crossed[1:]), retention)
    assert search.gamma_ == pytest.approx(gamma, rel=1e-3)


def test_the_retention_with_the_best_mean_h_is_taken():
    """Half of the unseen samples are won by giving up 10 %, the others by giving up 60 % of the seen ones."""
    y = np.repeat([0, 1], [100, 10])
    flips = np.concatenate([np.arange(100) + 0.5, np.full(5, 10.0), np.full(5, 60.0)])
    trial = Trial(y, np.array([True, False]), np.full(110, True), flips)
    # H(50, 90) = 64.3 against H(100, 40) = 57.1
    assert choose_retention([trial], 100.0) == pytest.approx(0.9, abs=0.011)
    # H(50, 27) = 35.1 against H(100, 12) = 21.4
    assert choose_retention([trial, trial], 30.0) == pytest.approx(0.9, abs=0.011)


def test_no_retention_is_chosen_that_the_fewest_samples_cannot_show():
    few = Trial(np.array([0, 0, 1]), np.array([True, False]), np.full(3, True), np.array([1.0, 2.0, 0.0]))
    many = Trial(np.repeat([0, 1], [50, 1]), few.seen, np.full(51, True), np.append(np.arange(50.0), -1.0))
    assert finest_share([many, few]) == 0.75
    assert choose_retention([many, few], 90.0) <= 0.75 < choose_retention([many], 90.0)


def test_a_sample_of_an_unseen_class_changes_nothing(small):
    """Only training samples and prototypes go in: the test samples may be anything."""
    data, split = small
    search = fit(small)
    other = data.X.copy()
    other[np.setdiff1d(np.arange(len(other)), split.train)] = 1e6
    again = GZSLClassifierCV(LinearSV(data.prototypes), {"alpha": [1e-2]}, cv=split.cv())
    again.fit(other[split.train], data.y[split.train])
    assert again.gamma_ == search.gamma_
    assert again.held_out_.retention == search.held_out_.retention


class Watched(LinearSV):
    """Notes the groups and classes it was trained on; the first feature is the group."""

    def fit_path(self, X, y, params, **options):
        for model in super().fit_path(X, y, params, **options):
            model.trained, model.trained_classes = set(X[:, 0]), set(y)
            yield model


def test_groups_are_never_divided(small, monkeypatch):
    """In no fold, rehearsal or cross-fit a model is asked for samples of seen classes from its own groups."""
    data, split = small
    X, y = data.X[split.train].copy(), data.y[split.train]
    groups = np.random.default_rng(0).integers(40, size=len(y))
    X[:, 0] = groups
    class_of = {tuple(row): label for row, label in zip(X, y)}
    of_seen = []

    def check(self, rows):
        own = np.array([class_of.get(tuple(row)) in self.trained_classes for row in rows])
        of_seen.append(own.sum())
        assert not self.trained & set(rows[own, 0])
        return LinearSV.similarity(self, rows)

    monkeypatch.setattr(Watched, "similarity", check, raising=False)
    search = GZSLClassifierCV(Watched(data.prototypes, normalize=None), {"alpha": [1e-2]})
    search.fit(X, y, groups=groups)
    assert len(of_seen) >= 3 + 12 + 5 and all(of_seen)


def test_whole_groups_are_assigned_to_parts():
    rng = np.random.default_rng(1)
    y, groups = rng.integers(5, size=200), rng.integers(30, size=200)
    y[groups == 7] = 5  # a class of one group
    part = assign_parts(y, groups)
    assert set(part[y == 5]) == {-1}
    for group in set(groups) - {7}:
        assert len(set(part[groups == group])) == 1
    assert set(part[y != 5]) == set(range(5))


UNEVEN = Trial(  # two seen and two unseen classes, of different sizes; each kind has a wrong sample
    y=np.array([0, 0, 0, 0, 1, 1, 2, 2, 2, 3]),
    seen=np.array([True, True, False, False]),
    right=np.array([True, True, True, False, True, True, True, True, False, True]),
    flips=np.array([1.0, 2.0, 3.0, 9.0, 4.0, 5.0, 1.5, 3.5, 0.0, 2.5]),
)


@pytest.mark.parametrize(
    ("weights", "alone", "kept", "unseen", "best"),
    [
        # of the first seen class 3 of 4 samples are right, of the second 2 of 2
        ("per-class", (3 / 4 + 1) / 2, (1 / 4 + 1) / (3 / 4 + 1), [0, 2 / 3 + 1, 2 / 3 + 1], 5 / 7),
        ("per-sample", 5 / 6, 3 / 5, [0, 2 / 2, 3 / 2], 3 / 5),
    ],
)
def test_classes_or_samples_count_alike(weights, alone, kept, unseen, best):
    """Counted by hand. At gamma 3, of which a seen flip is still right, three right seen samples are left."""
    assert seen_alone(UNEVEN, weights) == pytest.approx(100 * alone)
    assert retention_at(UNEVEN, 3.0, weights) == pytest.approx(kept)
    found = unseen_at_retention(UNEVEN, np.array([1.0, 0.5, 0.0]), weights)
    assert found == pytest.approx(50 * np.array(unseen))
    chosen = choose_retention([UNEVEN], 100.0, weights=weights)  # the next of those that are compared
    assert best - 1.001e-3 < chosen < best


def test_classes_count_alike_by_default():
    """As the other tests of this file assume."""
    per_class, by_default = {"weights": "per-class"}, {}
    for function, given in ((seen_alone, ()), (retention_at, (3.0,)), (unseen_at_retention, (0.5,))):
        assert function(UNEVEN, *given, **by_default) == function(UNEVEN, *given, **per_class)
    assert choose_retention([UNEVEN], 100.0) == choose_retention([UNEVEN], 100.0, **per_class)


def test_retention_and_gamma_are_each_others_inverse():
    rng = np.random.default_rng(0)
    y = rng.integers(6, size=300)
    trial = Trial(y, np.arange(6) < 4, rng.random(300) < 0.8, rng.normal(size=300))
    accuracy = np.mean([np.mean(trial.right[y == c]) for c in range(4)])
    assert seen_alone(trial) == pytest.approx(100 * accuracy)
    step = 1 / (4 * min(np.sum(y == c) for c in range(4)) * accuracy)  # the largest weight of a sample
    for share in (1.0, 0.9, 0.5, 0.1):
        assert retention_at(trial, gamma_at_retention(trial, share)) == pytest.approx(share, abs=step)


def test_gamma_is_in_the_units_of_the_scores_even_with_one_sample():
    trial = Trial(np.array([0, 1]), np.array([True, False]), np.array([True, True]), np.array([2e-7, 1e-7]))
    assert gamma_at_retention(trial, 1.0) == gamma_at_retention(trial, 0.3) == 2e-7
    nothing_right = Trial(trial.y, trial.seen, np.array([False, True]), trial.flips)
    assert gamma_at_retention(nothing_right, 0.5) == retention_at(nothing_right, 0.0) == 0.0
    assert gamma_at_retention(nothing_right, np.array([0.1, 0.5])).tolist() == [0.0, 0.0]
    assert finest_share([trial]) == finest_share([nothing_right]) == 0.5


@pytest.mark.parametrize(("n_seen", "n_unseen", "n_held_out"), [(20, 6, 5), (60, 10, 9), (12, 988, 4)])
def test_every_class_has_its_turns_in_rehearsals(n_seen, n_unseen, n_held_out):
    """As large a share is held out as is really unseen, a third at most."""
    y = np.repeat(np.arange(n_seen), 10)
    sets, turns = rehearsal_classes(y, n_unseen), np.zeros(n_seen)
    assert len(sets) == N_REHEARSALS
    for held_out in sets:
        assert len(np.unique(held_out)) == n_held_out
        turns[held_out] += 1
    assert turns.min() >= 1 and np.ptp(turns) <= 2


def test_without_an_unseen_class_the_papers_rule_is_taken_and_said(small):
    data, split = small
    X, y = data.X[split.train], data.y[split.train]
    S = data.prototypes.copy()
    labels = np.unique(y)
    to_index = np.searchsorted(labels, y)
    search = GZSLClassifierCV(LinearSV(S[labels]), {"alpha": [1e-2]})
    with pytest.warns(UserWarning, match="No unseen class is known yet"):
        search.fit(X, to_index)
    assert search.held_out_.rule == "paper" and search.gamma_ == search.curve_.gamma
    with pytest.raises(UnseenError, match="no unseen class to calibrate for"):
        search.recalibrate(X, to_index)
    before = search.gamma_
    search.add_classes(S[data.unseen]).recalibrate(X, to_index)
    assert search.held_out_.rule == "retention" and search.gamma_ != before
    # the same as if the classes had been known when calibration started, but for the folds of that fit
    crossed = search.held_out_.cross_fitted
    assert search.gamma_ == gamma_at_retention(crossed, search.held_out_.retention)


def test_recalibration_after_a_new_class_is_what_a_fit_with_it_would_choose(small):
    data, split = small
    X, y = data.X[split.train], data.y[split.train]
    grid, folds = {"alpha": [1e-2]}, split.cv()
    extra = np.vstack([data.prototypes, data.prototypes[:1] + 0.5])
    grown = GZSLClassifierCV(LinearSV(data.prototypes), grid, cv=folds).fit(X, y)
    grown.add_classes(extra[-1:]).recalibrate(X, y)
    whole = GZSLClassifierCV(LinearSV(extra), grid, cv=folds).fit(X, y)
    trial = whole.held_out_.cross_fitted
    assert grown.gamma_ == pytest.approx(gamma_at_retention(trial, grown.held_out_.retention))


def test_operating_points_hold_on_the_held_out_samples(small):
    best = fit(small)
    seen = seen_alone(best.held_out_.cross_fitted)
    asked = fit(small, min_seen=0.95 * seen)
    kept = seen * retention_at(asked.held_out_.cross_fitted, asked.gamma_)
    assert kept == pytest.approx(0.95 * seen, abs=1)
    unseen_heavy, seen_heavy = fit(small, unseen_share=95), fit(small, unseen_share=5)
    retentions = [model.held_out_.retention for model in (unseen_heavy, best, seen_heavy)]
    assert retentions == sorted(retentions) and retentions[0] < retentions[2]
    assert fit(small, min_unseen=40).held_out_.retention >= best.held_out_.retention - 0.3
    with pytest.raises(UnseenError, match=r"No gamma gives min_seen=99\.9"):
        fit(small, ESZSL, {"alpha": [1e3]}, min_seen=99.9)


def test_only_the_chosen_model_decides_whether_a_goal_can_be_met():
    """The parameters that are best for ZSL may be far worse on seen samples: they have no vote."""
    data = load_dataset(
        "synthetic", n_samples=500, n_features=20, n_classes=13, n_attributes=8, random_state=3
    )
    split, grid = make_split(data), {"alpha": [1e-3, 1e3]}
    samples = data.X[split.train], data.y[split.train]
    alone = seen_alone(GZSLClassifierCV(ESZSL(data.prototypes), grid).fit(*samples).held_out_.cross_fitted)
    model = GZSLClassifierCV(ESZSL(data.prototypes), grid, min_seen=0.9 * alone).fit(*samples)
    crossed = model.held_out_.cross_fitted
    assert seen_alone(crossed) * retention_at(crossed, model.gamma_) >= 0.9 * alone - 1
    assert model.best_params_ != model.best_params_zsl_ and model.zsl_ is None


def test_a_given_gamma_is_used(small):
    assert fit(small, gamma=0.31).gamma_ == 0.31
    with pytest.raises(UnseenError, match="'retention', 'paper' or a number"):
        fit(small, gamma="best")
    with pytest.raises(UnseenError, match=r"gamma=0.31 and a goal .* Pass a number for gamma, or one of"):
        fit(small, gamma=0.31, min_seen=80.0)


def test_recalibration_needs_samples_of_all_seen_classes_and_of_no_other(small):
    data, split = small
    model = fit(small).add_classes(data.prototypes[:1] + 0.5)
    before = model.gamma_
    train, both = split.train, np.concatenate([split.train, split.test_unseen])
    for rows in (both, split.test_unseen, train[data.y[train] != data.y[train[0]]]):
        with pytest.raises(UnseenError, match="expected samples of all seen classes and of no other"):
            model.recalibrate(data.X[rows], data.y[rows])
    assert model.gamma_ == before


def test_a_gamma_that_was_given_cannot_be_carried_over(small):
    data, split = small
    model = fit(small, gamma=1.0).add_classes(data.prototypes[:1] + 0.5)
    with pytest.raises(UnseenError, match=r"Got gamma=1\.0, but expected a rule that chooses it"):
        model.recalibrate(data.X[split.train], data.y[split.train])


def test_the_card_offers_only_goals_that_a_fit_can_meet():
    rng = np.random.default_rng(2)
    S, y = rng.normal(size=(8, 5)), np.repeat(np.arange(6), 15)
    X = S[y] @ rng.normal(size=(5, 10)) + rng.normal(size=(90, 10))
    card = GZSLClassifierCV(LinearSV(S), {"alpha": [0.1]}).fit(X, y).card()
    goals = [float(p["option"].split()[1]) for p in card.tradeoff if p["option"].startswith("--min-seen")]
    assert goals
    for goal in goals:
        assert GZSLClassifierCV(LinearSV(S), {"alpha": [0.1]}, min_seen=goal).fit(X, y).gamma_ is not None
