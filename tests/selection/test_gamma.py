"""The retention rule against its literal formula, what it may depend on, and the operating points."""

from __future__ import annotations

import numpy as np
import pytest

import oracle
from unseen import ESZSL, GZSLClassifierCV, LinearSV, UnseenError
from unseen.datasets import load
from unseen.datasets.splits import make_split
from unseen.selection import gamma as rule
from unseen.selection.evaluation import Trial, deal_parts
from unseen.selection.gamma import (
    SHARES,
    choose_retention,
    gamma_at_retention,
    rehearsal_folds,
    retention_at,
    seen_alone,
)


@pytest.fixture(scope="module")
def small():
    data = load("synthetic", n_samples=500, n_features=20, n_classes=13, n_attributes=8, random_state=3)
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

    folds = rehearsal_folds(y, int(data.unseen.sum()))
    parts = [oracle.fold_scores(make, X, y, fold) for fold in folds]
    part = deal_parts(y, 5)
    held = [(make().fit(X[part != k], y[part != k]).similarity(X[part == k]), y[part == k]) for k in range(5)]
    scores, labels = (np.concatenate(column) for column in zip(*held))
    return parts, (scores, labels, data.seen)


def test_the_rule_equals_its_literal_formula(small):
    search = fit(small)
    parts, crossed = literal_parts(small, search)
    shifts = [trial.shift for trial in search.held_out_.rehearsals]
    assert len(shifts) == len(parts) and np.std(shifts) > 0
    share = oracle.retention_rule(parts, shifts, crossed, SHARES[::10], caution=0.05)
    assert search.retention_ == pytest.approx(share, abs=0.006)  # a tenth of the retentions are compared
    gamma = oracle.gamma_at_retention(*(crossed[0].astype(float), *crossed[1:]), search.retention_)
    assert search.gamma_ == pytest.approx(gamma, rel=1e-3)


def test_scores_stay_as_they_are_where_calibration_hardly_gains():
    low, high = np.full(1001, 50.0), np.where(SHARES > 0.9, 10.0, 50.0)
    assert choose_retention(low[None], 80.0, uncalibrated=0.97) == 0.97
    assert choose_retention(high[None], 80.0, uncalibrated=0.97) == pytest.approx(0.88, abs=0.03)
    # the unseen classes flip as much later as the shift says
    assert choose_retention(high[None], 80.0, shifts=0.09, uncalibrated=0.97) == 0.97


def test_caution_goes_a_step_back_to_no_calibration():
    unseen = 100 * np.sqrt(1 - SHARES)[None]
    bold = choose_retention(unseen, 80.0, uncalibrated=0.98)
    assert choose_retention(unseen, 80.0, uncalibrated=0.98, caution=0.1) == pytest.approx(0.9 * bold + 0.098)


def test_without_rehearsals_the_folds_decide(small, monkeypatch):
    monkeypatch.setattr(rule, "rehearsal_folds", lambda y, n, groups: [])
    monkeypatch.setattr("unseen.selection.search.rehearsal_folds", lambda y, n, groups: [])
    assert len(fit(small).held_out_.rehearsals) == len(small[1].folds)


def test_a_sample_of_an_unseen_class_changes_nothing(small):
    """Only training samples and prototypes go in: the test samples may be anything."""
    data, split = small
    search = fit(small)
    other = data.X.copy()
    other[np.setdiff1d(np.arange(len(other)), split.train)] = 1e6
    again = GZSLClassifierCV(LinearSV(data.prototypes), {"alpha": [1e-2]}, cv=split.cv())
    again.fit(other[split.train], data.y[split.train])
    assert (again.gamma_, again.retention_) == (search.gamma_, search.retention_)


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
        own = np.array([class_of.get(tuple(row)) in self.trained_classes for row in rows])  # not simulated
        of_seen.append(own.sum())
        assert not self.trained & set(rows[own, 0])
        return LinearSV.similarity(self, rows)

    monkeypatch.setattr(Watched, "similarity", check, raising=False)
    search = GZSLClassifierCV(Watched(data.prototypes, normalize=None), {"alpha": [1e-2]})
    search.fit(X, y, groups=groups)
    assert len(of_seen) >= 3 + 12 + 5 and all(of_seen)


def test_whole_groups_are_dealt_to_parts():
    rng = np.random.default_rng(1)
    y, groups = rng.integers(5, size=200), rng.integers(30, size=200)
    y[groups == 7] = 5  # a class of one group
    part = deal_parts(y, 5, groups)
    assert set(part[y == 5]) == {-1}
    for group in set(groups) - {7}:
        assert len(set(part[groups == group])) == 1
    assert set(part[y != 5]) == set(range(5))


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
    assert gamma_at_retention(nothing_right, 0.5) == 0.0


def test_every_class_has_its_turns_in_rehearsals():
    y = np.repeat(np.arange(20), 10)
    folds = rehearsal_folds(y, 6)
    assert len(folds) == 24
    turns = np.zeros(20)
    for train, validation in folds:
        held_out = np.setdiff1d(y[validation], y[train])
        assert len(held_out) == 5  # 20 * 6 / 26
        turns[held_out] += 1
    assert turns.min() >= 5 and np.ptp(turns) <= 2
    assert len(rehearsal_folds(np.repeat(np.arange(60), 5), 10)) == 10
    assert rehearsal_folds(np.repeat(np.arange(150), 2), 50) == []


def test_without_an_unseen_class_the_papers_rule_is_taken_and_said(small):
    data, split = small
    X, y = data.X[split.train], data.y[split.train]
    S = data.prototypes.copy()
    labels = np.unique(y)
    to_index = np.searchsorted(labels, y)
    search = GZSLClassifierCV(LinearSV(S[labels]), {"alpha": [1e-2]})
    with pytest.warns(UserWarning, match="No unseen class is known yet"):
        search.fit(X, to_index)
    assert search.gamma_rule_ == "paper" and search.gamma_ == search.curve_.gamma
    with pytest.raises(UnseenError, match="no unseen class to calibrate for"):
        search.recalibrate(X, to_index)
    before = search.gamma_
    search.add_classes(S[data.unseen]).recalibrate(X, to_index)
    assert search.gamma_rule_ == "retention" and search.gamma_ != before
    # the same as if the classes had been known when calibration started, but for the folds of that fit
    crossed = search.held_out_.cross_fitted
    assert search.gamma_ == gamma_at_retention(crossed, search.retention_)


def test_recalibration_after_a_new_class_is_what_a_fit_with_it_would_choose(small):
    data, split = small
    X, y = data.X[split.train], data.y[split.train]
    grid, folds = {"alpha": [1e-2]}, split.cv()
    extra = np.vstack([data.prototypes, data.prototypes[:1] + 0.5])
    grown = GZSLClassifierCV(LinearSV(data.prototypes), grid, cv=folds).fit(X, y)
    grown.add_classes(extra[-1:]).recalibrate(X, y)
    whole = GZSLClassifierCV(LinearSV(extra), grid, cv=folds).fit(X, y)
    trial = whole.held_out_.cross_fitted
    assert grown.gamma_ == pytest.approx(gamma_at_retention(trial, grown.retention_))


def test_operating_points_hold_on_the_held_out_samples(small):
    best = fit(small)
    seen = seen_alone(best.held_out_.cross_fitted)
    asked = fit(small, min_seen=0.95 * seen)
    kept = seen * retention_at(asked.held_out_.cross_fitted, asked.gamma_)
    assert kept == pytest.approx(0.95 * seen, abs=1)
    unseen_heavy, seen_heavy = fit(small, unseen_share=95), fit(small, unseen_share=5)
    assert unseen_heavy.retention_ < best.retention_ < seen_heavy.retention_
    assert fit(small, min_unseen=40).retention_ >= best.retention_ - 0.3
    with pytest.raises(UnseenError, match=r"No gamma gives min_seen=99\.9"):
        fit(small, ESZSL, {"alpha": [1e3]}, min_seen=99.9)
