"""Probabilities: mean confidence equals accuracy in whatever units; unknown classes are below a threshold."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import onnxruntime
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax
from sklearn.metrics import get_scorer
from sklearn.model_selection import cross_validate

from problems import fit_lda
from unseen import LDA, GZSLClassifierCV, LinearSV
from unseen.datasets import load_dataset
from unseen.datasets.dataset import hold_out
from unseen.datasets.prototypes import Prototypes
from unseen.datasets.splits import make_split
from unseen.errors import UnseenError
from unseen.methods import make_method
from unseen.metrics import auroc, reliability
from unseen.models.export import export
from unseen.models.io import load_model, save_model
from unseen.selection.confidence import (
    RATES,
    below_best,
    confidence,
    detect_left_out,
    fit_temperature,
    kind_weights,
    seen_shares,
    temperature_ratio,
)
from unseen.selection.rehearsal import Kept, rehearsal_candidates


@pytest.fixture(scope="module")
def small():
    return load_dataset(
        "synthetic", n_samples=600, n_features=12, n_classes=12, n_attributes=6, random_state=1
    )


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


def test_a_sample_at_its_very_flip_stays_with_the_seen_classes():
    """Whatever rounding makes of the difference: 0.3 - (0.3 - 0.1) is not 0.1."""
    rng = np.random.default_rng(0)
    scores = rng.normal(10, 1, (500, 4)).round(2)
    seen = np.array([False, True, True, False])
    flips = scores[:, seen].max(axis=1) - scores[:, ~seen].max(axis=1)
    y = np.where(scores[:, 1] >= scores[:, 2], 1, 2)
    kept = [Kept(scores[[i]], y[[i]], seen).calibrated(d) for i, d in enumerate(flips)]
    assert not all(np.argmax(part.scores) == part.y[0] for part in kept)  # rounding does decide
    assert all(part.right.all() for part in kept)


def test_mean_confidence_equals_accuracy():
    kept = drawn(0.5)
    z = kept.scores / fit_temperature([kept])
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    weight = kind_weights(kept.of_seen)
    assert weight @ p.max(axis=1) == pytest.approx(weight @ (p.argmax(axis=1) == kept.y), abs=1e-6)
    assert weight[kept.of_seen].sum() == pytest.approx(0.5)


def test_predictions_that_are_never_right_have_the_end_of_the_range():
    kept = Kept(np.tile([1.0, 0.0], (5, 1)), np.ones(5, dtype=int), np.array([True, False]))
    assert 1e3 < fit_temperature([kept]) < np.inf


@pytest.mark.parametrize("n", [1, 5, 500])
def test_predictions_that_are_always_right_are_no_surer_than_their_number_shows(n):
    kept = Kept(np.tile([1.0, 0.0], (n, 1)), np.zeros(n, dtype=int), np.array([True, False]))
    sure = confidence(below_best(kept.scores), fit_temperature([kept]))
    assert_allclose(sure, np.clip(1 - 1 / (2 * n), 0.5 + 1e-5, 1), atol=1e-5)  # of two classes, .5 at least


def ratio(rehearsed):
    """Return the temperature of all samples relative to that of the seen classes, fitted in each part."""
    return temperature_ratio(rehearsed, [fit_temperature([kept.of_kind(True)]) for kept in rehearsed])


def test_the_ratio_has_no_units():
    kinds = [drawn(0.5, seed=1), drawn(0.4, seed=2)]
    once = ratio(kinds)
    scaled = [Kept(10**k * kept.scores, kept.y, kept.seen) for k, kept in enumerate(kinds, 3)]
    assert ratio(scaled) == pytest.approx(once, rel=1e-4)
    assert once == pytest.approx(1, abs=0.1)  # both kinds were drawn at one temperature


def test_harder_held_out_classes_raise_the_ratio():
    easy = drawn(0.5)
    wrong = np.where(easy.of_seen, easy.y, (easy.y + 1) % 6)  # samples of unseen classes are often wrong
    assert ratio([Kept(easy.scores, wrong, easy.seen)]) > 1.2


def test_a_rehearsal_without_samples_of_seen_classes_does_not_count():
    both, alone = drawn(0.5), drawn(0.1, seed=3).of_kind(False)
    assert ratio([both, alone]) == ratio([both])


def test_equal_scores_and_excluded_classes_do_no_harm():
    equal = Kept(np.zeros((3, 2)), np.zeros(3, dtype=int), np.array([True, False]))
    assert fit_temperature([equal]) == 1.0
    kept = drawn(0.5)
    excluded = Kept(np.column_stack([kept.scores, np.full(len(kept.y), -np.inf)]), kept.y, np.arange(7) < 4)
    assert fit_temperature([excluded]) == pytest.approx(fit_temperature([kept]))


@pytest.mark.parametrize(("n_unseen", "n_candidates"), [(20, 25), (2, 9)])
def test_held_out_classes_take_the_places_of_unseen_ones(n_unseen, n_candidates):
    train, held_out = np.arange(5), np.array([0, 4, 5, 5, 6, 7, 8])  # four classes are only held out
    labels = np.random.default_rng(0).permutation(9 + n_unseen)
    left = rehearsal_candidates(labels, train, held_out)
    assert len(left) == n_candidates and np.isin(np.arange(9), left).all()
    assert_array_equal(left, labels[np.isin(labels, left)])  # the order stays


# ---- none of these


def test_thresholds_keep_their_share_of_both_kinds():
    rng = np.random.default_rng(0)
    of_seen = rng.random(4000) < 0.9  # many more samples of seen classes, which are more familiar
    familiarity = rng.normal(size=4000) + of_seen
    shares = seen_shares(familiarity, of_seen)
    for rate, share in zip(RATES[1:-1:7], shares[1:-1:7]):
        threshold = np.quantile(familiarity[of_seen], share)
        lost = [np.mean(familiarity[kind] < threshold) for kind in (of_seen, ~of_seen)]
        assert np.mean(lost) == pytest.approx(rate, abs=0.01)
        assert lost[0] < lost[1]


def test_half_of_the_held_out_classes_is_unknown():
    rng = np.random.default_rng(0)
    kept = [Kept(rng.normal(size=(300, 6)), rng.integers(6, size=300), np.arange(6) < 4) for _ in range(2)]
    temperatures = [1.0, 2.0]
    expected = []
    for left_out in product((4, 5), repeat=2):  # of the two held-out classes, one in each rehearsal
        known, others, unknown = [], [], []
        for part, temperature, c in zip(kept, temperatures, left_out):
            sure = softmax(np.delete(part.scores, c, axis=1) / temperature, axis=1).max(axis=1)
            known += [*sure[part.y < 4]]
            others += [*sure[part.y == 9 - c]]
            unknown += [*sure[part.y == c]]
        expected.append(np.mean([auroc(known, unknown), auroc(others, unknown)]))
    found = detect_left_out(kept, temperatures)
    assert np.abs(np.array(expected) - found).min() < 1e-12


def test_without_held_out_samples_detection_is_a_guess():
    kept = Kept(np.zeros((2, 4)), np.array([0, 1]), np.arange(4) < 2)
    assert detect_left_out([kept], [1.0]) == 0.5


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
    assert_array_equal(model.held_out_.rejection.thresholds, fitted.held_out_.rejection.thresholds)


def calibrated(model):
    """Cross-fitted samples with gamma subtracted."""
    return [kept.calibrated(model.gamma_) for kept in model.held_out_.cross_fitted.kept]


def test_confidence_equals_accuracy_on_the_samples_that_chose_the_temperature(fitted):
    crossed = calibrated(fitted)
    z = np.concatenate([kept.scores for kept in crossed]) * fitted.held_out_.ratio / fitted.temperature_
    p = np.exp(z - z.max(axis=1, keepdims=True))
    sure, right = 1 / p.sum(axis=1), z.argmax(axis=1) == np.concatenate([kept.y for kept in crossed])
    assert sure.mean() == pytest.approx(right.mean(), abs=0.01)


def test_the_papers_rule_takes_the_temperature_of_the_folds(small):
    split = make_split(small)
    model = GZSLClassifierCV(LinearSV(small.prototypes), {"alpha": [0.1]}, cv=split.cv(), gamma="paper")
    model.fit(small.X[split.train], small.y[split.train])
    folds = [kept.calibrated(model.gamma_) for trial in model.held_out_.rehearsals for kept in trial.kept]
    assert (model.temperature_, model.held_out_.ratio) == (fit_temperature(folds), 1.0)


def test_recalibration_gives_the_temperature_of_a_fit_with_the_new_class(small):
    split = make_split(small)
    X, y = small.X[split.train], small.y[split.train]
    new = np.random.default_rng(0).normal(size=(2, small.prototypes.shape[1]))
    model = GZSLClassifierCV(LDA(small.prototypes), {"alpha": [0.1]}, cv=split.cv()).fit(X, y)
    ratio, shares = model.held_out_.ratio, model.held_out_.rejection.shares
    model.add_classes(new).recalibrate(X, y)
    assert model.temperature_ == ratio * fit_temperature(calibrated(model))
    sure = np.concatenate([confidence(below_best(k.scores), model.temperature_) for k in calibrated(model)])
    assert_allclose(model.held_out_.rejection.thresholds, np.quantile(sure, shares))


def test_the_temperature_travels(small, fitted, tmp_path):
    X, p = small.X.astype(np.float32), fitted.predict_proba(small.X)
    save_model(fitted, tmp_path / "m")
    assert_array_equal(load_model(tmp_path / "m").predict_proba(small.X), p)
    export(fitted, tmp_path / "m.onnx", "onnx", softmax=True)
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx", providers=["CPUExecutionProvider"])
    assert_allclose(session.run(["probabilities"], {"features": X})[0], p, rtol=1e-3, atol=1e-6)
    export(fitted, tmp_path / "m.npz", "npz")
    with np.load(tmp_path / "m.npz") as file:
        assert float(file["temperature"]) == fitted.temperature_
        scores = file["coef"] @ (small.X / np.linalg.norm(small.X, axis=1, keepdims=True)).T
        z = (scores.T + file["intercept"]) / file["temperature"]
    assert_allclose(softmax(z, axis=1), p, rtol=1e-3, atol=1e-6)


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


def test_predictions_are_unknown_below_the_threshold(small, fitted):
    plain, found = fitted.predict(small.X), fitted.predict(small.X, reject=0.2)
    below = fitted.predict_proba(small.X).max(axis=1) < fitted.rejection_threshold(0.2)
    assert 0 < below.sum() < len(below)
    assert_array_equal(found == -1, below)
    assert found.dtype.kind == "i"
    assert_array_equal(found[~below], plain[~below])
    assert_array_equal(fitted.predict(small.X, reject=0), plain)


def test_more_rejection_rejects_more(small, fitted):
    shares = [np.mean(fitted.predict(small.X, reject=r) == -1) for r in (0, 0.01, 0.05, 0.2, 0.5)]
    assert shares == sorted(shares) and shares[0] == 0 < shares[-1]


def test_known_samples_are_kept(small, fitted):
    split = make_split(small)
    for test in (split.test_seen, split.test_unseen):
        assert np.mean(fitted.predict(small.X[test], reject=0.05) == -1) < 0.15


def test_noise_is_unknown(small, fitted):
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(300, small.X.shape[1])) * small.X.std()
    known, unknown = (fitted.predict(X, reject=0.05) == -1 for X in (small.X, noise))
    error = np.hypot(known.std() / len(known) ** 0.5, unknown.std() / len(unknown) ** 0.5)
    assert unknown.mean() > known.mean() + 2 * error


def test_labels_that_are_text_stay_text(small):
    names = np.array([f"c{k:02}" for k in range(len(small.class_names))])
    split = make_split(small)
    S = Prototypes(names, (), small.prototypes)
    model = GZSLClassifierCV(LDA(S), {"alpha": [0.1]}, cv=split.cv())
    model.fit(small.X[split.train], names[small.y[split.train]])
    found = model.predict(small.X, reject=0.2)
    assert found.dtype.kind == "U" and set(found) - set(names) == {"unknown"}


@pytest.mark.parametrize("reject", [-0.1, 1, 5, np.nan])
def test_shares_that_make_no_sense(small, fitted, reject):
    with pytest.raises(UnseenError, match=r"reject=.*a share of samples of known classes"):
        fitted.predict(small.X, reject=reject)


def test_a_class_called_unknown_is_rejected(small, fitted):
    names = np.array(["unknown", *map(str, range(1, len(small.class_names)))])
    split = make_split(small)
    model = GZSLClassifierCV(LDA(Prototypes(names, (), small.prototypes)), {"alpha": [0.1]}, cv=split.cv())
    model.fit(small.X[split.train], names[small.y[split.train]])
    with pytest.raises(UnseenError, match="Rename it"):
        model.predict(small.X, reject=0.05)


# ---- calibration errors on test samples


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
@pytest.mark.parametrize("method", ["lda", "linear-sv", "sje"])
def test_calibration_error_of_birds(real_data, method):
    data = load_dataset(real_data / "xlsa17" / "CUB", features="clip_b16")
    _, found = measure(method, data, make_split(data))
    for (sure, right), most in zip(found, (0.05, 0.12)):
        assert reliability(sure, right).ece <= most


@pytest.mark.slow
@pytest.mark.parametrize("method", ["lda", "eszsl"])
def test_calibration_error_of_many_choices_of_letters(method):
    """The test samples of ten choices together: the luck of a single choice averages out."""
    letters, found = load_dataset("letters"), []
    for seed in range(100, 110):
        drawn = np.sort(np.random.default_rng(seed).permutation(26)[:6])
        data = replace(hold_out(letters, [letters.class_names[k] for k in drawn]), test_seen=None)
        found.append(measure(method, data, make_split(data, random_state=seed))[1])
    for kind, most in ((0, 0.05), (1, 0.08)):
        sure, right = (np.concatenate([choice[kind][k] for choice in found]) for k in (0, 1))
        assert reliability(sure, right).ece <= most
