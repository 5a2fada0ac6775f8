"""The retention rule against its literal formula, what it may depend on, and the operating points."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import oracle
from unseen import ESZSL, GZSLClassifierCV, LinearSV, UnseenError
from unseen.datasets import load
from unseen.datasets.splits import make_split
from unseen.selection import gamma as rule
from unseen.selection.evaluation import Trial, deal_parts
from unseen.selection.gamma import SHARES, gamma_at_retention, rehearsal_folds, retained, retention_at


@pytest.fixture(scope="module")
def small():
    data = load("synthetic", n_samples=500, n_features=20, n_classes=13, n_attributes=8, random_state=3)
    return data, make_split(data)


def fit(small, method=LinearSV, grid=None, **options):
    data, split = small
    search = GZSLClassifierCV(method(data.prototypes), grid or {"alpha": [1e-2]}, cv=split.cv(), **options)
    return search.fit(data.X[split.train], data.y[split.train])


def literal_parts(small, search):
    """Scores of all folds, rehearsals and cross-fitted samples, from plain fits."""
    data, split = small
    X, y = data.X[split.train], data.y[split.train]

    def make():
        return LinearSV(data.prototypes, **search.best_params_)

    folds = [*split.cv(), *rehearsal_folds(y, int(data.unseen.sum()))]
    parts = [oracle.fold_scores(make, X, y, fold) for fold in folds]
    part = deal_parts(y, 5)
    held = [(make().fit(X[part != k], y[part != k]).similarity(X[part == k]), y[part == k]) for k in range(5)]
    scores, labels = (np.concatenate(column) for column in zip(*held))
    return parts, (scores, labels, data.seen)


def test_the_rule_equals_its_literal_formula(small):
    search = fit(small)
    parts, crossed = literal_parts(small, search)
    share = oracle.retention_rule(parts, crossed, SHARES[::10])
    assert search.retention_ == pytest.approx(share, abs=0.006)  # a tenth of the retentions are compared
    # gamma keeps at least that share, and beyond the next seen sample it no longer does
    alone = oracle.seen_accuracy(*crossed, -np.inf)
    kept = oracle.seen_accuracy(*crossed, search.gamma_) / alone
    flips = np.sort([row[crossed[2]].max() - row[~crossed[2]].max() for row in crossed[0]])
    beyond = flips[flips > search.gamma_][:30].max()
    assert kept >= search.retention_ - 1e-9 > oracle.seen_accuracy(*crossed, beyond) / alone


def test_without_rehearsals_the_folds_decide(small, monkeypatch):
    monkeypatch.setattr(rule, "rehearsal_folds", lambda y, n: [])
    monkeypatch.setattr("unseen.selection.search.rehearsal_folds", lambda y, n: [])
    assert len(fit(small).held_out_.folds) == len(small[1].folds)


def test_a_sample_of_an_unseen_class_changes_nothing(small):
    """Only training samples and prototypes go in: the test samples may be anything."""
    data, split = small
    search = fit(small)
    other = data.X.copy()
    other[np.setdiff1d(np.arange(len(other)), split.train)] = 1e6
    again = GZSLClassifierCV(LinearSV(data.prototypes), {"alpha": [1e-2]}, cv=split.cv())
    again.fit(other[split.train], data.y[split.train])
    assert (again.gamma_, again.retention_) == (search.gamma_, search.retention_)


def test_retention_and_gamma_are_each_others_inverse():
    rng = np.random.default_rng(0)
    y = rng.integers(6, size=300)
    trial = Trial(y, np.arange(6) < 4, rng.random(300) < 0.8, rng.normal(size=300))
    for share in (0.99, 0.9, 0.5, 0.1):
        gamma = gamma_at_retention(trial, share)
        assert retention_at(trial, gamma) >= share
        flips, retention, _ = retained(trial)
        above = flips[flips > gamma][0]
        assert retention_at(trial, np.nextafter(above, np.inf)) < share
    literal = np.mean([np.mean(trial.right[(y == c)]) for c in range(4)])
    assert retained(trial)[2] == pytest.approx(100 * literal)
    assert_allclose(retention[0], 1)


def test_every_class_has_its_turns_in_rehearsals():
    y = np.repeat(np.arange(20), 10)
    folds = rehearsal_folds(y, 6)
    assert len(folds) == 12
    turns = np.zeros(20)
    for train, validation in folds:
        held_out = np.setdiff1d(y[validation], y[train])
        assert len(held_out) == 5  # 20 * 6 / 26
        turns[held_out] += 1
    assert turns.min() >= 2 and np.ptp(turns) <= 2
    assert len(rehearsal_folds(np.repeat(np.arange(60), 5), 10)) == 6
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
    seen = retained(best.held_out_.cross_fitted)[2]
    asked = fit(small, min_seen=0.95 * seen)
    kept = seen * retention_at(asked.held_out_.cross_fitted, asked.gamma_)
    assert 0.95 * seen <= kept + 1e-6 < 0.95 * seen + 3
    unseen_heavy, seen_heavy = fit(small, unseen_share=95), fit(small, unseen_share=5)
    assert unseen_heavy.retention_ < best.retention_ < seen_heavy.retention_
    assert fit(small, min_unseen=40).retention_ >= best.retention_ - 0.3
    with pytest.raises(UnseenError, match=r"No gamma gives min_seen=99\.9"):
        fit(small, ESZSL, {"alpha": [1e3]}, min_seen=99.9)
