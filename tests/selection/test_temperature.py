"""Temperatures make answers as sure as they are right, in whatever units the scores are."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import onnxruntime
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax
from sklearn.metrics import get_scorer
from sklearn.model_selection import cross_validate

from problems import fit_lda
from unseen import LDA, GZSLClassifierCV, LinearSV
from unseen.datasets import load
from unseen.datasets.dataset import hold_out
from unseen.datasets.splits import make_split
from unseen.methods import make_method
from unseen.metrics import reliability
from unseen.models.card import describe_confidence
from unseen.models.export import export
from unseen.models.io import load as load_model
from unseen.models.io import save
from unseen.selection import evaluation, search
from unseen.selection.evaluation import Kept, rehearsal_candidates
from unseen.selection.gamma import gamma_at_retention
from unseen.selection.temperature import (
    FACTORS,
    POWERS,
    Temperature,
    below_best,
    choose_factor,
    choose_power,
    choose_temperature,
    confidence,
    divide_heights,
    divide_unseen,
    dress_rehearsals,
    fit_temperature,
    in_units,
    kind_weights,
    mean_height,
    negative_log_likelihood,
    of_kind,
)


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


def test_answers_that_are_never_right_have_the_end_of_the_range():
    kept = Kept(np.tile([1.0, 0.0], (5, 1)), np.ones(5, dtype=int), np.array([True, False]))
    assert 1e3 < fit_temperature([kept]) < np.inf


@pytest.mark.parametrize("n", [1, 5, 500])
def test_answers_that_are_always_right_are_no_surer_than_their_number_shows(n):
    kept = Kept(np.tile([1.0, 0.0], (n, 1)), np.zeros(n, dtype=int), np.array([True, False]))
    sure = confidence(below_best(kept.scores), fit_temperature([kept]))
    assert_allclose(sure, np.clip(1 - 1 / (2 * n), 0.5 + 1e-5, 1), atol=1e-5)  # of two classes, .5 at least


def test_a_fold_without_samples_of_seen_classes_keeps_its_units():
    kept = of_kind(drawn(0.5), False)
    assert_array_equal(in_units(kept).scores, kept.scores)


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


# ---- two temperatures


def drawn_with(factor: float, seed: int = 0, n: int = 4000) -> Kept:
    """Samples whose classes are drawn at T = 0.5, times the factor where the best class is unseen."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n, 6))
    T = 0.5 * np.where(scores.argmax(axis=1) < 4, 1.0, factor)
    y = (scores / T[:, None] + rng.gumbel(size=scores.shape)).argmax(axis=1)
    return Kept(scores, y, np.arange(6) < 4)


def test_the_squared_factor_has_the_lowest_calibration_error_of_both_kinds_of_samples():
    rehearsed = [drawn_with(0.7, seed, 500) for seed in range(3)]
    errors = {}
    for factor in FACTORS:
        sure, right, seen = [], [], []
        T = fit_temperature([divide_unseen(kept, factor) for kept in rehearsed])
        for kept in rehearsed:
            best = kept.scores.argmax(axis=1)
            p = softmax(kept.scores / (T * np.where(best < 4, 1.0, factor))[:, None], axis=1)
            sure, right, seen = [*sure, p.max(axis=1)], [*right, best == kept.y], [*seen, kept.y < 4]
        sure, right, seen = map(np.concatenate, (sure, right, seen))
        errors[factor] = sum(reliability(sure[kind], right[kind]).ece for kind in (seen, ~seen))
    assert choose_factor(rehearsed) == np.sqrt(min(errors, key=errors.get))


def test_without_a_difference_the_factor_is_1():
    equal = Kept(np.zeros((4, 6)), np.array([0, 1, 4, 5]), np.arange(6) < 4)
    assert choose_factor([equal]) == 1.0


def test_dress_rehearsals_give_answers_of_each_kind_their_temperature():
    rehearsed, crossed = [drawn_with(0.7, 1), drawn_with(0.7, 3)], [drawn_with(0.7, 2)]
    found = choose_temperature(rehearsed, crossed, dressed=True)
    assert found.power == choose_power(rehearsed)
    by_height = [divide_heights(kept, found.power, mean_height([kept])) for kept in rehearsed]
    held_out = [in_units(kept) for kept in by_height]
    assert found.factor == choose_factor(held_out) != 1
    divided = [divide_unseen(kept, found.factor) for kept in held_out]
    assert found.ratio == fit_temperature(divided)
    assert found.height == mean_height(crossed)
    alone = fit_temperature([divide_heights(kept, found.power, found.height) for kept in crossed])
    assert found.value == found.ratio * alone
    few = choose_temperature(rehearsed, crossed)
    assert (few.factor, few.power) == (1, 0)


def test_trials_without_a_sample_of_one_kind_do_no_harm():
    alone = of_kind(drawn_with(0.7, 1), True)
    assert choose_temperature([alone], [drawn_with(0.7, 2)], dressed=True).factor == 1
    found = choose_temperature([drawn_with(0.7, 1), alone], [drawn_with(0.7, 2)], dressed=True)
    assert np.isfinite([found.value, found.factor]).all() and found.factor != 1


def test_a_dress_rehearsal_holds_out_a_tenth_of_many_classes():
    y = np.repeat(np.arange(120), 5)
    turns = [np.setdiff1d(y, y[train]) for train, _ in dress_rehearsals(y)]
    assert [len(turn) for turn in turns] == [12, 12, 12]
    assert len(np.unique(np.concatenate(turns))) == 36  # another tenth each time
    assert dress_rehearsals(y[y < 99]) == []


# ---- the height of a sample


def of_heights(power: float, seed: int = 0, n: int = 4000) -> Kept:
    """Samples of very different heights, whose classes are drawn at T(x) = 0.5 (h(x) / mean h)^power."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n, 6)) * rng.uniform(0.2, 3, size=(n, 1))
    h = scores.max(axis=1) - scores.mean(axis=1)
    T = 0.5 * (h / h.mean()) ** power
    y = (scores / T[:, None] + rng.gumbel(size=scores.shape)).argmax(axis=1)
    return Kept(scores, y, np.arange(6) < 4)


@pytest.mark.parametrize("power", POWERS)
def test_the_power_of_the_height_is_found(power):
    kept = [of_heights(power, seed) for seed in range(2)]
    assert choose_power(kept) == power
    scaled = [Kept(1e-6 * k.scores, k.y, k.seen) for k in kept]
    assert choose_power(scaled) == power


def test_the_temperature_of_a_sample_is_what_the_formula_says():
    chosen = Temperature(2.0, factor=0.8, power=0.5, height=3.0)
    scores = np.array([[4.0, 1.0, 1.0], [0.0, 0.0, 6.0]])  # heights 2 and 4; the best class is seen, unseen
    expected = [[2 * (2 / 3) ** 0.5], [2 * 0.8 * (4 / 3) ** 0.5]]
    assert_allclose(chosen.of(scores, np.array([True, True, False])), expected)
    assert chosen.of(scores.astype(np.float32), np.array([True, True, False])).dtype == np.float32


def test_scores_divided_by_heights_need_one_temperature():
    kept, seen = of_heights(0.5), np.arange(6) < 4
    divided = divide_heights(kept, 0.5, mean_height([kept]))
    T = Temperature(0.7, power=0.5, height=mean_height([kept])).of(kept.scores, seen)
    assert_allclose(divided.scores / 0.7, kept.scores / T)
    log_p = np.log(softmax(kept.scores / T, axis=1))[np.arange(len(kept.y)), kept.y]
    loss = -np.mean([log_p[kept.of_seen].mean(), log_p[~kept.of_seen].mean()])
    assert negative_log_likelihood(divided, 0.7) == pytest.approx(loss)


def test_heights_have_the_units_of_the_scores():
    found = choose_temperature([of_heights(0.5, 1)], [of_heights(0.5, 2)], dressed=True)
    far = [Kept(10 * of_heights(0.5, 2).scores, of_heights(0.5, 2).y, np.arange(6) < 4)]
    scaled = choose_temperature([of_heights(0.5, 1)], far, dressed=True)
    assert (found.power, scaled.power) == (0.5, 0.5)
    assert [scaled.value, scaled.height] == pytest.approx([10 * found.value, 10 * found.height], rel=1e-4)


def test_samples_without_height_and_excluded_classes_do_no_harm():
    chosen, seen = Temperature(1.0, power=0.5), np.array([True, False, False])
    assert_allclose(softmax(np.zeros((1, 3)) / chosen.of(np.zeros((1, 3)), seen), axis=1), 1 / 3)
    scores = np.array([[2.0, 0.0, -np.inf]])
    assert_allclose(chosen.of(scores, seen), chosen.of(scores[:, :2], seen[:2]))
    equal = Kept(np.zeros((3, 3)), np.zeros(3, dtype=int), seen)
    assert mean_height([equal]) == mean_height([of_kind(equal, False)]) == 1.0


# ---- many classes


@pytest.fixture(scope="module")
def many():
    """A model of 110 seen and 20 unseen classes, and its data."""
    data = load("synthetic", n_samples=1300, n_features=12, n_classes=130, n_attributes=8, random_state=0)
    data = hold_out(data, data.class_names[:20])
    split = make_split(data)
    model = GZSLClassifierCV(LinearSV(data.prototypes), {"alpha": [0.1]}, cv=split.cv())
    return model.fit(data.X[split.train], data.y[split.train]), data, split


def test_many_classes_have_dress_rehearsals_with_as_many_unseen_candidates(many):
    model, data, _ = many
    assert len(model.held_out_.dressed) == 3
    for trial in model.held_out_.dressed:
        assert trial.seen.sum() == 99 and (~trial.seen).sum() == data.unseen.sum() == 20
        held_out = trial.y[~trial.seen[trial.y]]
        assert len(np.unique(held_out)) == 11  # the other nine are unseen classes, and have no sample
    gammas = [gamma_at_retention(trial, model.retention_) for trial in model.held_out_.dressed]
    rehearsed = [
        kept.calibrated(gamma) for gamma, trial in zip(gammas, model.held_out_.dressed) for kept in trial.kept
    ]
    expected = choose_temperature(rehearsed, model._held_out_samples(), dressed=True)
    assert model._temperature() == expected and expected.factor != 1


def test_dress_rehearsals_without_samples_of_seen_classes_do_not_count(many, monkeypatch):
    _, data, split = many

    def without_seen(*arguments):
        trial = evaluation.hold_out_classes(*arguments)
        return replace(trial, kept=tuple(of_kind(kept, False) for kept in trial.kept))

    monkeypatch.setattr(search, "hold_out_classes", without_seen)
    model = GZSLClassifierCV(LinearSV(data.prototypes), {"alpha": [0.1]}, cv=split.cv())
    model.fit(data.X[split.train], data.y[split.train])
    assert model.held_out_.dressed == []
    assert model._temperature() == choose_temperature(model._rehearsed(), model._held_out_samples())


@pytest.mark.parametrize("power", [0.0, 0.5])
def test_probabilities_of_many_classes_are_what_the_formula_says(many, power):
    model, data, _ = many
    model = copy.copy(model)
    model.temperature_power_ = power
    p, f = model.predict_proba(data.X), model.similarity(data.X)
    T = np.where(model.seen_[f.argmax(axis=1)], 1.0, model.temperature_factor_) * model.temperature_
    T *= ((f.max(axis=1) - f.mean(axis=1)) / model.temperature_height_) ** power
    assert_allclose(p, softmax(f / T[:, None], axis=1), rtol=1e-4, atol=1e-9)
    assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(data.X))


@pytest.mark.parametrize("power", [0.0, 0.5])
def test_all_of_the_temperature_travels(many, tmp_path, power):
    model, data, _ = many
    model = copy.copy(model)
    model.temperature_power_ = power
    X, p = data.X.astype(np.float32), model.predict_proba(data.X)
    save(model, tmp_path / "m")
    assert_array_equal(load_model(tmp_path / "m").predict_proba(data.X), p)
    export(model, tmp_path / "m.onnx", "onnx", softmax=True)
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx", providers=["CPUExecutionProvider"])
    assert_allclose(session.run(["probabilities"], {"features": X})[0], p, rtol=1e-3, atol=1e-6)
    export(model, tmp_path / "m.npz", "npz")
    with np.load(tmp_path / "m.npz") as file:
        T = [float(file["temperature"]), float(file["temperature_unseen"])]
        shape = [float(file["temperature_power"]), float(file["temperature_height"])]
    assert shape == [power, model.temperature_height_]
    assert [model.temperature_, model.temperature_ * model.temperature_factor_] == T
    facts = describe_confidence(model)
    assert [facts["temperature"], facts["temperature_unseen"]] == T
    assert facts["temperature_power"] == power


@pytest.mark.parametrize("power", [0.0, 0.5])
def test_the_card_measures_the_probabilities_of_held_out_samples(many, power):
    model = copy.copy(many[0])
    model.temperature_power_ = power
    sure, right = [], []
    for kept in model._held_out_samples():
        p = model._probabilities(kept.scores)
        sure.append(p.max(axis=1))
        right.append(p.argmax(axis=1) == kept.y)
    found = reliability(np.concatenate(sure), np.concatenate(right))
    assert describe_confidence(model)["ece"]["seen"] == pytest.approx(found.ece, abs=1e-4)


@pytest.mark.parametrize(("n_unseen", "n_candidates"), [(20, 25), (2, 9)])
def test_held_out_classes_take_the_places_of_unseen_ones(n_unseen, n_candidates):
    train, held_out = np.arange(5), np.array([0, 4, 5, 5, 6, 7, 8])  # four classes are only held out
    labels = np.random.default_rng(0).permutation(9 + n_unseen)
    left = rehearsal_candidates(labels, train, held_out)
    assert len(left) == n_candidates and np.isin(np.arange(9), left).all()
    assert_array_equal(left, labels[np.isin(labels, left)])  # the order stays


def test_recalibration_keeps_factor_and_power(many):
    model, data, split = copy.deepcopy(many[0]), *many[1:]
    kept, p = (model.temperature_factor_, model.temperature_power_), model.predict_proba(data.X)
    model.recalibrate(data.X[split.train], data.y[split.train])
    assert (model.temperature_factor_, model.temperature_power_) == kept
    assert_allclose(model.predict_proba(data.X), p, rtol=1e-6)


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
    folds = [kept.calibrated(model.gamma_) for trial in model.held_out_.rehearsals for kept in trial.kept]
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


# ---- the calibration errors that docs/sure.md reports


def measure(method, data, split):
    """Fit a method; return it with how sure and how right it is on test, for seen and for unseen samples."""
    model = GZSLClassifierCV(make_method(method, data.prototypes, 0), cv=split.cv())
    groups = None if data.groups is None else data.groups[split.train]
    model.fit(data.X[split.train], data.y[split.train], groups=groups)
    found = []
    for test in (split.test_seen, split.test_unseen):
        p = model.predict_proba(data.X[test])
        found.append((p.max(axis=1), p.argmax(axis=1) == data.y[test]))
    return model, found


@pytest.mark.slow
@pytest.mark.parametrize("method", ["lda", "sync", "sje"])
def test_calibration_error_of_birds(real_data, method):
    data = load(real_data / "xlsa17" / "CUB", features="clip_b16")
    _, found = measure(method, data, make_split(data))
    for (sure, right), most in zip(found, (0.05, 0.08)):
        assert reliability(sure, right).ece <= most


@pytest.mark.slow
@pytest.mark.parametrize("method", ["lda", "eszsl"])
def test_calibration_error_of_many_choices_of_letters(method):
    """The test samples of ten choices together: the luck of a single choice averages out."""
    letters, found = load("letters"), []
    for seed in range(100, 110):
        drawn = np.sort(np.random.default_rng(seed).permutation(26)[:6])
        data = replace(hold_out(letters, [letters.class_names[k] for k in drawn]), test_seen=None)
        found.append(measure(method, data, make_split(data, random_state=seed))[1])
    for kind, most in ((0, 0.05), (1, 0.08)):
        sure, right = (np.concatenate([choice[kind][k] for choice in found]) for k in (0, 1))
        assert reliability(sure, right).ece <= most


@pytest.mark.slow
def test_calibration_error_of_letters():
    """The bounds are just above what docs/sure.md reports of LDA, and far below what T = 1 gives."""
    data = load("letters")
    split = make_split(data)
    model, found = measure("lda", data, split)
    model.temperature_ = 1.0
    for test, (sure, right), most in zip((split.test_seen, split.test_unseen), found, (0.08, 0.14)):
        assert reliability(sure, right).ece <= most
        assert reliability(model.predict_proba(data.X[test]).max(axis=1), right).ece > most
