"""From a data set to a model and its card."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from unseen.datasets import load
from unseen.datasets.dataset import ZeroShotDataset
from unseen.errors import UnseenError
from unseen.metrics import harmonic_mean
from unseen.models.training import Trial, expected_accuracy, format_card, train, training_samples


@pytest.fixture(scope="module")
def data() -> ZeroShotDataset:
    return load("synthetic", n_samples=600, n_features=16, n_classes=16, n_attributes=8, random_state=2)


@pytest.mark.parametrize("method", ["linear-sv", "eszsl"])  # the same bits when fitted alone
def test_the_card_states_what_selection_found(data, method):
    model, card = train(data, method)
    assert card["params"] == model.best_params_ and card["gamma"] == model.gamma_
    assert card["classes"]["unseen"] == [n for n, unseen in zip(data.class_names, data.unseen) if unseen]
    assert card["samples"] == len(training_samples(data))
    # the accuracies are those of the folds' models with the gamma that is best for them
    found = [card["expected"][kind][0] for kind in ("unseen", "seen", "H")]
    np.testing.assert_allclose(found, model.curve_.at(model.curve_.gamma), atol=0.005)
    for value, low, high in (card["expected"][kind] for kind in ("unseen", "seen", "H")):
        assert 0 <= low <= value <= high <= 100


def test_classes_go_by_their_names(data):
    model, _ = train(data, "eszsl")
    assert model.classes_.tolist() == list(data.class_names)
    assert set(model.predict(data.X)) <= set(data.class_names)
    assert model.seen_.tolist() == data.seen.tolist()


def test_no_test_sample_takes_part(data):
    own = replace(data, test_seen=None, trainval=None)
    test_seen = training_samples(own)[::5]
    official = replace(own, test_seen=test_seen)
    samples = training_samples(official)
    assert not np.intersect1d(samples, test_seen).size
    assert data.seen[data.y[samples]].all()
    # other test samples and other descriptions of unseen classes leave model and card as they are
    X, S = np.array(data.X), data.prototypes.copy()
    X[np.setdiff1d(np.arange(len(X)), samples)] = 7
    S[data.unseen] = 3
    model, card = train(official, "linear-sv")
    other, other_card = train(replace(official, X=X, prototypes=S), "linear-sv")
    np.testing.assert_array_equal(model.coef_[data.seen], other.coef_[data.seen])
    assert {**card, "checksum": ""} == {**other_card, "checksum": ""}


def test_folds_of_the_data_set_are_used(data):
    seen = np.flatnonzero(data.seen)
    folds = ((seen[3:], seen[:3]), (seen[:-4], seen[-4:]))
    model, card = train(replace(data, class_folds=folds), "linear-sv")
    assert len([name for name in model.cv_results_ if name.endswith("_h") and name.startswith("split")]) == 2
    chosen = np.isin(data.y, seen[:3]) | np.isin(data.y, seen[-4:])
    assert card["expected"]["samples"]["unseen"] == chosen[training_samples(data)].sum()


def test_without_features_there_is_no_training(data):
    with pytest.raises(UnseenError, match="feature"):
        training_samples(replace(data, X=None, missing=("There are no features.",)))


# ---- intervals


def literal_draws(trial: Trial, n: int, rng: np.random.Generator) -> np.ndarray:
    """Every replicate drawn answer by answer: unseen classes first, then the answers of each class."""
    answers = [np.repeat([1, 0], [k, m - k]) for k, m in zip(trial.right, trial.count)]
    seen, unseen = np.flatnonzero(trial.seen), np.flatnonzero(~trial.seen)
    rows = []
    for _ in range(n):
        sides = [rng.choice(unseen, len(unseen)), seen]
        share = [np.mean([rng.choice(answers[c], len(answers[c])).mean() for c in side]) for side in sides]
        rows.append([100 * share[0], 100 * share[1], harmonic_mean(*(100 * s for s in share))])
    return np.array(rows)


def test_intervals_equal_a_literal_bootstrap():
    trial = Trial(
        np.array([9, 5, 12, 8, 30]), np.array([6, 1, 9, 8, 21]), np.array([1, 0, 0, 0, 1], dtype=bool)
    )
    draws = literal_draws(trial, 3000, np.random.default_rng(5))
    found = expected_accuracy([trial])
    for kind, column in zip(("unseen", "seen", "H"), draws.T):
        np.testing.assert_allclose(found[kind][1:], np.percentile(column, [2.5, 97.5]), atol=3)
    shares = trial.right / trial.count
    np.testing.assert_allclose(found["unseen"][0], 100 * shares[1:4].mean(), atol=0.01)
    assert found["samples"] == {"unseen": 25, "seen": 39, "H": 64}


def test_card_in_words(data):
    _, card = train(data, "linear-sv")
    text = format_card(card)
    for words in ("synthetic", "linear-sv (alpha", "gamma", "accuracy, unseen", "95 % intervals"):
        assert words in text
    none = {**card, "classes": {"seen": ["a"], "unseen": []}, "params": {"targets": "01"}}
    assert "none yet (unseen add-class adds them)" in format_card(none)
