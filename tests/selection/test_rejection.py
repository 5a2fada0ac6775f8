"""None of these: thresholds keep what they promise, and unknown classes are told."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from problems import fit_lda
from unseen import LDA, GZSLClassifierCV
from unseen.datasets import load
from unseen.datasets.prototypes import Prototypes
from unseen.datasets.splits import make_split
from unseen.errors import UnseenError
from unseen.metrics import auroc
from unseen.selection.evaluation import Kept
from unseen.selection.rejection import FAMILIARITIES, RATES, choose_rejection, leave_out, seen_shares


@pytest.fixture(scope="module")
def small():
    return load("synthetic", n_samples=800, n_features=16, n_classes=16, n_attributes=8, random_state=2)


@pytest.fixture(scope="module")
def fitted(small):
    return fit_lda(small)


def test_the_scores_equal_their_formulas():
    f, T = np.random.default_rng(0).normal(size=(50, 4)), 0.3
    p = np.exp(f / T) / np.exp(f / T).sum(axis=1, keepdims=True)
    assert_allclose(FAMILIARITIES["max"](f, T), f.max(axis=1))
    assert_allclose(FAMILIARITIES["energy"](f, T), T * np.log(np.exp(f / T).sum(axis=1)))
    assert_allclose(FAMILIARITIES["probability"](f, T), p.max(axis=1))


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


def test_half_of_the_held_out_classes_is_unknown_in_turn():
    rng = np.random.default_rng(0)
    kept = Kept(rng.normal(size=(300, 6)), rng.integers(6, size=300), np.arange(6) < 4)
    found = leave_out(kept, 1.0)
    assert len(found) == 2
    expected = []
    for unknown in (4, 5):
        familiarity = np.delete(kept.scores, unknown, axis=1).max(axis=1)
        known = [familiarity[kept.y < 4], familiarity[kept.y == 9 - unknown]]
        expected.append(np.mean([auroc(k, familiarity[kept.y == unknown]) for k in known]))
    assert sorted(turn["max"] for turn in found) == pytest.approx(sorted(expected))


def test_the_best_score_of_the_folds_is_taken():
    """Unknown samples are far from all classes here: their best score tells, its probability cannot."""
    rng = np.random.default_rng(0)
    y = rng.integers(6, size=900)
    scores = rng.normal(size=(900, 6)) + 3 * np.eye(6)[y]
    kept = Kept(scores, y, np.arange(6) < 4)
    common = rng.normal(size=(900, 1)) * 30  # a shift that all classes share
    shifted = Kept(scores + common, y, kept.seen)
    assert choose_rejection([kept], [kept], 1.0).score in ("max", "energy")
    assert choose_rejection([shifted], [shifted], 1.0).score == "probability"


# ---- in a fitted model


def test_answers_are_unknown_below_the_threshold(small, fitted):
    plain, answers = fitted.predict(small.X), fitted.predict(small.X, reject=0.2)
    below = fitted.familiarity(small.X) < fitted.rejection_.threshold(0.2)
    assert 0 < below.sum() < len(below)
    assert_array_equal(answers == "unknown", below)
    assert_array_equal(answers[~below].astype(int), plain[~below])
    assert_array_equal(fitted.predict(small.X, reject=0).astype(int), plain)


def test_more_rejection_rejects_more(small, fitted):
    shares = [np.mean(fitted.predict(small.X, reject=r) == "unknown") for r in (0, 0.01, 0.05, 0.2, 0.5)]
    assert shares == sorted(shares) and shares[0] == 0 < shares[-1]


def test_known_samples_are_kept(small, fitted):
    split = make_split(small)
    for test in (split.test_seen, split.test_unseen):
        assert np.mean(fitted.predict(small.X[test], reject=0.05) == "unknown") < 0.15


def test_noise_is_unknown(small, fitted):
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(300, small.X.shape[1])) * small.X.std()
    lost = np.mean(fitted.predict(small.X, reject=0.05) == "unknown")
    assert np.mean(fitted.predict(noise, reject=0.05) == "unknown") > 3 * lost


def test_labels_that_are_text_stay_text(small):
    names = np.array([f"c{k:02}" for k in range(len(small.class_names))])
    split = make_split(small)
    S = Prototypes(names, (), small.prototypes)
    model = GZSLClassifierCV(LDA(S), {"alpha": [0.1]}, cv=split.cv())
    model.fit(small.X[split.train], names[small.y[split.train]])
    answers = model.predict(small.X, reject=0.2)
    assert answers.dtype.kind == "U" and set(answers) - set(names) == {"unknown"}


@pytest.mark.parametrize("reject", [-0.1, 1, 5, np.nan])
def test_shares_that_make_no_sense(small, fitted, reject):
    with pytest.raises(UnseenError, match=r"reject=.*a share of samples of known classes"):
        fitted.predict(small.X, reject=reject)


def test_a_class_called_unknown_is_refused(small, fitted):
    names = np.array(["unknown", *map(str, range(1, len(small.class_names)))])
    split = make_split(small)
    model = GZSLClassifierCV(LDA(Prototypes(names, (), small.prototypes)), {"alpha": [0.1]}, cv=split.cv())
    model.fit(small.X[split.train], names[small.y[split.train]])
    with pytest.raises(UnseenError, match="Rename it"):
        model.predict(small.X, reject=0.05)
