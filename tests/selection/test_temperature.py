"""Temperatures make answers as sure as they are right, in whatever units the scores are."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import get_scorer
from sklearn.model_selection import cross_validate

from problems import fit_lda
from unseen import LDA, GZSLClassifierCV, LinearSV
from unseen.datasets import load
from unseen.datasets.splits import make_split
from unseen.metrics import reliability
from unseen.selection.evaluation import Kept
from unseen.selection.temperature import choose_temperature, fit_temperature, kind_weights


@pytest.fixture(scope="module")
def small():
    return load("synthetic", n_samples=600, n_features=12, n_classes=12, n_attributes=6, random_state=1)


@pytest.fixture(scope="module")
def fitted(small):
    return fit_lda(small)


def drawn(temperature: float, n: int = 4000, seed: int = 0) -> Kept:
    """Samples whose classes are drawn with the probabilities that their scores give at a temperature."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n, 6))
    # argmax of f / T + Gumbel noise has the distribution softmax(f / T)
    y = (scores / temperature + rng.gumbel(size=scores.shape)).argmax(axis=1)
    return Kept(scores, y, np.arange(6) < 4)


@pytest.mark.parametrize("true", [0.2, 1.0, 3.0])
def test_the_temperature_that_made_the_labels_is_found(true):
    assert fit_temperature([drawn(true, n=30_000)]) == pytest.approx(true, rel=0.1)


def test_answers_are_as_sure_as_they_are_right():
    kept = drawn(0.5)
    z = kept.scores / fit_temperature([kept])
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    weight = kind_weights(kept.of_seen)
    assert weight @ p.max(axis=1) == pytest.approx(weight @ (p.argmax(axis=1) == kept.y), abs=1e-6)
    assert weight[kept.of_seen].sum() == pytest.approx(0.5)


@pytest.mark.parametrize("y", [0, 1])
def test_answers_that_are_always_or_never_right_have_an_end_of_the_range(y):
    kept = Kept(np.tile([1.0, 0.0], (5, 1)), np.full(5, y), np.array([True, False]))
    found = fit_temperature([kept])
    assert np.isfinite(found) and ((found < 1e-3) if y == 0 else (found > 1e3))


def test_equal_scores_and_excluded_classes_do_no_harm():
    equal = Kept(np.zeros((3, 2)), np.zeros(3, dtype=int), np.array([True, False]))
    assert fit_temperature([equal]) == 1.0
    kept = drawn(0.5)
    excluded = Kept(np.column_stack([kept.scores, np.full(len(kept.y), -np.inf)]), kept.y, np.arange(7) < 4)
    assert fit_temperature([excluded]) == pytest.approx(fit_temperature([kept]))


def test_the_temperature_has_the_units_of_the_final_scores():
    folds, crossed = [drawn(0.5, seed=1), drawn(0.4, seed=2)], [drawn(0.7, seed=3)]
    once = choose_temperature(folds, crossed)
    scaled = [Kept(10 * kept.scores, kept.y, kept.seen) for kept in folds]
    assert choose_temperature(scaled, crossed).value == pytest.approx(once.value, rel=1e-4)
    far = [Kept(10 * kept.scores, kept.y, kept.seen) for kept in crossed]
    assert choose_temperature(folds, far).value == pytest.approx(10 * once.value, rel=1e-4)
    assert choose_temperature(folds, []).value == fit_temperature(folds)


# ---- in a fitted model


def test_probabilities_are_the_softmax_of_scores_over_the_temperature(small, fitted):
    z = fitted.similarity(small.X) / fitted.temperature_
    p = fitted.predict_proba(small.X)
    assert_allclose(p, np.exp(z) / np.exp(z).sum(axis=1, keepdims=True), rtol=1e-5)
    assert_array_equal(fitted.classes_[p.argmax(axis=1)], fitted.predict(small.X))


def test_no_test_sample_and_no_unseen_sample_decides(small, fitted):
    split = make_split(small)
    changed = small.X.copy()
    changed[split.test_seen] = changed[split.test_unseen] = 7.0
    model = GZSLClassifierCV(LDA(small.prototypes), {"alpha": [0.1]}, cv=split.cv())
    model.fit(changed[split.train], small.y[split.train])
    assert model.temperature_ == fitted.temperature_
    assert_array_equal(model.rejection_.thresholds, fitted.rejection_.thresholds)


def test_held_out_answers_are_as_sure_as_they_are_right(fitted):
    """The definition, on the samples that the temperature was chosen on."""
    crossed = fitted._held_out_samples()
    alone = fitted.temperature_ / fitted.temperature_ratio_
    z = np.concatenate([kept.scores for kept in crossed]) / alone
    p = np.exp(z - z.max(axis=1, keepdims=True))
    sure, right = 1 / p.sum(axis=1), z.argmax(axis=1) == np.concatenate([kept.y for kept in crossed])
    assert sure.mean() == pytest.approx(right.mean(), abs=0.01)


def test_the_papers_rule_takes_the_temperature_of_the_folds(small):
    split = make_split(small)
    model = GZSLClassifierCV(LinearSV(small.prototypes), {"alpha": [0.1]}, cv=split.cv(), gamma="paper")
    model.fit(small.X[split.train], small.y[split.train])
    folds = [kept.calibrated(model.gamma_) for trial in model.held_out_.folds for kept in trial.kept]
    assert (model.temperature_, model.temperature_ratio_) == (fit_temperature(folds), 1.0)


def test_recalibration_gives_the_temperature_of_a_fit_with_the_new_class(small):
    split = make_split(small)
    X, y = small.X[split.train], small.y[split.train]
    new = np.random.default_rng(0).normal(size=(2, small.prototypes.shape[1]))
    model = GZSLClassifierCV(LDA(small.prototypes), {"alpha": [0.1]}, cv=split.cv()).fit(X, y)
    ratio, shares = model.temperature_ratio_, model.rejection_.shares
    model.add_classes(new).recalibrate(X, y)
    crossed = [kept.calibrated(model.gamma_) for kept in model.held_out_.cross_fitted.kept]
    assert model.temperature_ == ratio * fit_temperature(crossed)
    familiar = np.concatenate([model.rejection_.familiarity(k.scores, model.temperature_) for k in crossed])
    assert_allclose(model.rejection_.thresholds, np.quantile(familiar, shares))


def test_scorers_of_scikit_learn_work(small, fitted):
    split = make_split(small)
    test = np.concatenate([split.test_seen, split.test_unseen])
    X, y = small.X[test], small.y[test]
    p = fitted.predict_proba(X)
    found = {name: get_scorer(name)(fitted, X, y) for name in ("neg_log_loss", "roc_auc_ovr")}
    assert found["neg_log_loss"] == pytest.approx(np.log(p[np.arange(len(y)), y]).mean(), rel=1e-6)
    assert 0.5 < found["roc_auc_ovr"] <= 1
    top = get_scorer("top_k_accuracy")(fitted, X, y)
    best = np.argsort(-fitted.decision_function(X), axis=1)[:, :2]
    assert top == pytest.approx((best == y[:, None]).any(axis=1).mean())


def test_scorers_work_in_cross_validation(small):
    """Folds of samples: every class is in every fold, as scikit-learn's AUROC demands."""
    seen = small.seen[small.y]
    X, y = small.X[seen], np.unique(small.y[seen], return_inverse=True)[1]
    names = ["neg_log_loss", "top_k_accuracy", "roc_auc_ovr"]
    search = GZSLClassifierCV(LinearSV(small.prototypes[small.seen]), {"alpha": [0.1]}, gamma="paper")
    found = cross_validate(search, X, y, cv=2, scoring=names, error_score="raise")
    assert all(np.isfinite(found[f"test_{name}"]).all() for name in names)


@pytest.mark.slow
def test_calibration_error_of_letters():
    """The bounds are just above what docs/sure.md reports of LDA, and far below what T = 1 gives."""
    data = load("letters")
    split = make_split(data)
    model = GZSLClassifierCV(LDA(data.prototypes), cv=split.cv()).fit(
        data.X[split.train], data.y[split.train]
    )
    for test, most in ((split.test_seen, 0.08), (split.test_unseen, 0.14)):
        p = model.predict_proba(data.X[test])
        right = p.argmax(axis=1) == data.y[test]
        assert reliability(p.max(axis=1), right).ece <= most
        model.temperature_, kept = 1.0, model.temperature_
        before = model.predict_proba(data.X[test]).max(axis=1)
        model.temperature_ = kept
        assert reliability(before, right).ece > most
