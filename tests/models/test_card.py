"""The card: where each number comes from, and its intervals against a literal resampling."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from unseen.datasets import load
from unseen.metrics import harmonic_mean, reliability
from unseen.models.card import Answers, Card, _estimate_seen, _estimate_unseen, expect, format_card
from unseen.models.training import train
from unseen.selection.gamma import gamma_at_retention, retention_at
from unseen.selection.rejection import FAMILIARITIES


@pytest.fixture(scope="module")
def trained():
    data = load("synthetic", n_samples=600, n_features=16, n_classes=16, n_attributes=8, random_state=2)
    return data, {rule: train(data, "linear-sv", gamma=rule) for rule in ("retention", "paper")}


@pytest.mark.parametrize("rule", ["retention", "paper"])
def test_the_card_states_what_held_out_samples_show(trained, rule):
    data, fitted = trained
    model, card = fitted[rule]
    assert (card.params, card.gamma, card.gamma_rule) == (model.best_params_, model.gamma_, rule)
    assert card.classes["unseen"] == [n for n, unseen in zip(data.class_names, data.unseen) if unseen]
    crossed = model.held_out_.cross_fitted
    right = crossed.correct(model.gamma_)
    seen = np.mean([right[crossed.y == c].mean() for c in np.unique(crossed.y)])
    assert card.expected.seen[0] == pytest.approx(100 * seen, abs=0.01)
    share, folds = retention_at(crossed, model.gamma_), []
    for trial in model.held_out_.rehearsals:
        right = trial.correct(gamma_at_retention(trial, np.clip(share - trial.shift, 0, 1)))
        unseen = [c for c in np.unique(trial.y) if not trial.seen[c]]
        folds.append(np.mean([right[trial.y == c].mean() for c in unseen]))
    assert card.expected.unseen[0] == pytest.approx(100 * np.mean(folds), abs=0.01)
    H = harmonic_mean(card.expected.unseen[0], card.expected.seen[0])
    assert card.expected.H[0] == pytest.approx(H, abs=0.02)
    for value, low, high in (card.expected.unseen, card.expected.seen, card.expected.H):
        assert 0 <= low <= value <= high <= 100


def test_another_rule_gives_another_card(trained):
    cards = [card for _, card in trained[1].values()]
    assert cards[0].gamma != cards[1].gamma
    assert cards[0].expected != cards[1].expected


def test_without_unseen_classes_the_folds_tell_about_both_kinds(trained):
    model = trained[1]["paper"][0]
    crossed, model.held_out_.cross_fitted = model.held_out_.cross_fitted, None
    try:
        expected = expect(model)
    finally:
        model.held_out_.cross_fitted = crossed
    np.testing.assert_allclose(expected.unseen[0], model.curve_.at(model.gamma_)[0], atol=0.01)


def test_seen_intervals_equal_a_literal_resampling():
    count, right = np.array([20, 15, 30]), np.array([12, 14, 21])
    rng = np.random.default_rng(5)
    draws = []
    for _ in range(4000):
        shares = []
        for n, k in zip(count, right):
            answers = rng.choice(np.repeat([1, 0], [k, n - k]), n)
            shares.append(rng.choice(answers, n // 5).mean())
        draws.append(100 * np.mean(shares))
    value, found = _estimate_seen([Answers(np.arange(3), count, right)], np.random.default_rng(0))
    assert value == pytest.approx(100 * (right / count).mean())
    np.testing.assert_allclose(np.percentile(found, [2.5, 97.5]), np.percentile(draws, [2.5, 97.5]), atol=3)


def test_unseen_intervals_equal_a_literal_resampling():
    folds = [
        Answers(np.array([0, 1, 2]), np.array([9, 5, 12]), np.array([6, 1, 9])),
        Answers(np.array([2, 3, 4]), np.array([12, 8, 10]), np.array([5, 8, 2])),
    ]
    rng = np.random.default_rng(5)
    draws = []
    for _ in range(6000):
        classes = rng.choice(5, 5)
        shares = []
        for c in rng.choice(classes, 3):
            fold = rng.choice([fold for fold in folds if c in fold.classes])
            at = list(fold.classes).index(c)
            n, k = fold.count[at], fold.right[at]
            shares.append(rng.choice(np.repeat([1, 0], [k, n - k]), n).mean())
        draws.append(100 * np.mean(shares))
    value, found = _estimate_unseen(folds, 3, np.random.default_rng(0))
    assert value == pytest.approx(100 * np.mean([fold.share.mean() for fold in folds]))
    np.testing.assert_allclose(np.percentile(found, [2.5, 97.5]), np.percentile(draws, [2.5, 97.5]), atol=3)


def test_a_card_survives_json(trained):
    card = trained[1]["retention"][1]
    assert Card.from_json(json.loads(json.dumps(card.to_json()))) == card


@pytest.mark.parametrize("rule", ["retention", "paper"])
def test_the_card_states_how_sure_held_out_samples_were(trained, rule):
    model, card = trained[1][rule]
    facts = card.confidence
    assert facts["temperature"] == model.temperature_
    assert (facts["reject"], set(facts["auroc"])) == (model.rejection_.score, set(FAMILIARITIES))
    if rule == "retention":
        kept = [part.calibrated(model.gamma_) for part in model.held_out_.cross_fitted.kept]
        z = np.concatenate([part.scores for part in kept]) / model.temperature_
        y = np.concatenate([part.y for part in kept])
        sure = 1 / np.exp(z - z.max(axis=1, keepdims=True)).sum(axis=1)
        assert facts["ece"]["seen"] == pytest.approx(reliability(sure, z.argmax(axis=1) == y).ece, abs=1e-4)
        assert facts["samples"]["seen"] == len(y)


def test_card_in_words(trained):
    card = trained[1]["retention"][1]
    text = format_card(card)
    for words in (
        "synthetic",
        "linear-sv (alpha",
        "gamma",
        "retention rule",
        "accuracy, unseen",
        "95 %",
        "temperature",
        "none of these",
    ):
        assert words in text
    two = replace(card, confidence={**card.confidence, "temperature": 0.25, "temperature_unseen": 0.2})
    assert "temperature 0.25, 0.2 for answers that are unseen classes (calibration error" in format_card(two)
    assert "for answers" not in text  # few classes have one temperature
    high = replace(card, confidence={**card.confidence, "temperature": 0.25, "temperature_power": 0.5})
    assert ", growing with the height to the power 0.5 (calibration error" in format_card(high)
    assert "height" not in text
    none = replace(card, classes={"seen": ["a"], "unseen": []}, params={})
    assert "none yet (unseen add-class adds them)" in format_card(none)
