"""The card: where each number comes from, and its intervals against a literal resampling."""

from __future__ import annotations

import json
from copy import copy
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import ks_2samp

from unseen import GZSLClassifierCV, LinearSV
from unseen._core.checks import model_checks, select
from unseen.calibration.classifier import CalibratedClassifier
from unseen.card import (
    Card,
    ClassCounts,
    card_lines,
    estimate_seen,
    estimate_unseen,
    expected_accuracies,
    held_out_checks,
    lost_classes,
    trade_off,
)
from unseen.datasets import load_dataset
from unseen.datasets.splits import make_split
from unseen.metrics import harmonic_mean, reliability
from unseen.models.io import load_model, save_model
from unseen.models.training import train
from unseen.selection.gamma import gamma_at_retention, retention_at


@pytest.fixture(scope="module")
def trained():
    data = load_dataset(
        "synthetic", n_samples=600, n_features=16, n_classes=16, n_attributes=8, random_state=2
    )
    return data, {rule: train(data, "linear-sv", gamma=rule) for rule in ("retention", "paper")}


@pytest.mark.parametrize("rule", ["retention", "paper"])
def test_the_card_states_what_held_out_samples_show(trained, rule):
    data, fitted = trained
    model, card = fitted[rule]
    assert (card.params, card.gamma, card.gamma_rule) == (model.best_params_, model.gamma_, rule)
    assert card.classes["unseen"] == [n for n, unseen in zip(data.class_names, data.unseen) if unseen]
    crossed = model.held_out_.cross_fitted
    if rule == "paper":  # the folds tell about both kinds
        assert crossed is None
        unseen, seen, _ = model.curve_.at(model.gamma_)
    else:
        right = crossed.correct(model.gamma_)
        seen = 100 * np.mean([right[crossed.y == c].mean() for c in np.unique(crossed.y)])
        share, folds = retention_at(crossed, model.gamma_), []
        for trial in model.held_out_.rehearsals:
            right = trial.correct(gamma_at_retention(trial, share))
            held_out = [c for c in np.unique(trial.y) if not trial.seen[c]]
            folds.append(np.mean([right[trial.y == c].mean() for c in held_out]))
        unseen = 100 * np.mean(folds)
        assert card.expected.samples["seen"] == len(crossed.y)
    assert card.expected.unseen[0] == pytest.approx(unseen, abs=0.01)
    assert card.expected.seen[0] == pytest.approx(seen, abs=0.5 if rule == "paper" else 0.01)
    H = harmonic_mean(card.expected.unseen[0], card.expected.seen[0])
    assert card.expected.H[0] == pytest.approx(H, abs=0.02)
    for value, low, high in (card.expected.unseen, card.expected.seen, card.expected.H):
        assert 0 <= low <= value <= high <= 100


def test_another_rule_gives_another_card(trained):
    cards = [card for _, card in trained[1].values()]
    assert cards[0].gamma != cards[1].gamma
    assert cards[0].expected != cards[1].expected


def test_the_trade_off_goes_from_no_calibration_to_gamma(trained):
    model, card = trained[1]["retention"]
    points = card.tradeoff
    assert [points[0]["gamma"], points[-1]["gamma"]] == [0.0, model.gamma_]
    assert points[-1]["unseen"] == card.expected.unseen[0] and points[-1]["seen"] == card.expected.seen[0]
    unseen, seen = ([point[kind] for point in points] for kind in ("unseen", "seen"))
    order = 1 if model.gamma_ > 0 else -1
    assert unseen[::order] == sorted(unseen) and seen[::-order] == sorted(seen)
    for point in points:
        assert point["H"] == pytest.approx(harmonic_mean(point["unseen"], point["seen"]), abs=0.02)


def test_an_option_of_the_trade_off_chooses_its_point(trained):
    data, fitted = trained
    point = fitted["retention"][1].tradeoff[2]
    bound = float(point["option"].removeprefix("--min-seen "))
    card = train(data, "linear-sv", min_seen=bound)[1]
    assert card.expected.seen[0] == pytest.approx(point["seen"], abs=2)


def test_each_option_of_the_trade_off_is_listed_once(trained):
    model = copy(trained[1]["retention"][0])
    for gamma in (model.gamma_, 1e-3 * model.gamma_, 0.0):
        model.gamma_ = gamma
        points = trade_off(model)
        options = [point["option"] for point in points]
        assert len(set(options)) == len(options) and options[-1] == "as fitted"
    assert len(points) == 1  # no calibration


def test_the_sign_of_gamma_is_explained(trained):
    card = trained[1]["retention"][1]
    words = {gamma: card_lines(replace(card, gamma=gamma))["gamma"] for gamma in (0.25, -0.25, 0.0)}
    assert words[0.25] == "0.25, subtracted from the scores of the seen classes (retention rule)"
    assert words[-0.25] == (
        "-0.25, so the seen classes are favored: 0.25 is added to their scores (retention rule)"
    )
    assert words[0.0] == "0, so the scores are not calibrated (retention rule)"


def test_the_card_says_how_to_keep_lost_classes(trained):
    last = str(replace(trained[1]["retention"][1], lost=["a", "b"])).splitlines()[-1]
    assert last.startswith("2 seen classes keep less than half") and "('a', 'b')" in last
    assert last.endswith("Protect them with --min-seen PERCENT.")


def test_lost_classes_keep_less_than_half_of_their_accuracy(trained):
    model = trained[1]["retention"][0]
    crossed, found = model.held_out_.cross_fitted, []
    for gamma in (model.gamma_, 1e9):
        kept = copy(model)
        kept.gamma_ = gamma
        found.append(lost_classes(kept))
        for c in np.unique(crossed.y):
            before, after = (crossed.correct(g)[crossed.y == c].mean() for g in (min(0, gamma), gamma))
            assert (model.classes_[c] in found[-1]) == (after < before / 2)
    assert len(found[1]) > len(found[0])  # all of them, when only unseen classes are predicted


def test_python_gives_the_same_card_as_the_file(trained, tmp_path):
    model, card = trained[1]["retention"]
    assert model.card() == card and str(card) == str(model.card())
    save_model(model, tmp_path / "m")
    assert load_model(tmp_path / "m").card() == card
    assert f"<td>{card.method}" in card._repr_html_()
    assert card._repr_html_().startswith(f"<p>Expect {card.expected.seen[0]:.1f} % of the samples")


def same_distribution(found, draws):
    """Whether two samples may come from one distribution: Kolmogorov and Smirnov rarely say no to equals."""
    return ks_2samp(found.round(6), np.round(draws, 6)).pvalue > 1e-4


def test_a_wider_distribution_is_noticed():
    draws = np.random.default_rng(0).normal(50, 10, 8000)
    assert same_distribution(draws[:2000], draws[2000:])
    assert not same_distribution(50 + 1.5 * (draws[:2000] - 50), draws[2000:])


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
    value, found = estimate_seen([ClassCounts(np.arange(3), count, right)], np.random.default_rng(0))
    assert value == pytest.approx(100 * (right / count).mean())
    assert same_distribution(found, draws)


def test_unseen_intervals_equal_a_literal_resampling():
    folds = [
        ClassCounts(np.array([0, 1, 2]), np.array([9, 5, 12]), np.array([6, 1, 9])),
        ClassCounts(np.array([2, 3, 4]), np.array([12, 8, 10]), np.array([5, 8, 2])),
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
    value, found = estimate_unseen(folds, 3, np.random.default_rng(0))
    assert value == pytest.approx(100 * np.mean([fold.share.mean() for fold in folds]))
    assert same_distribution(found, draws)


def test_a_card_survives_json(trained):
    card = trained[1]["retention"][1]
    assert Card.from_json(json.loads(json.dumps(card.to_json()))) == card
    assert str(Card.from_json(json.loads(json.dumps(card.to_json(), sort_keys=True)))) == str(card)


@pytest.mark.parametrize("rule", ["retention", "paper"])
def test_the_card_states_how_sure_held_out_samples_were(trained, rule):
    model, card = trained[1][rule]
    facts = card.confidence
    assert facts["temperature"] == model.temperature_
    assert facts["auroc"] == pytest.approx(model.held_out_.rejection.auroc, abs=1e-4)
    if rule == "retention":
        kept = [part.calibrated(model.gamma_) for part in model.held_out_.cross_fitted.kept]
        z = np.concatenate([part.scores for part in kept]) / model.temperature_
        y = np.concatenate([part.y for part in kept])
        sure = 1 / np.exp(z - z.max(axis=1, keepdims=True)).sum(axis=1)
        assert facts["ece"]["seen"] == pytest.approx(reliability(sure, z.argmax(axis=1) == y).ece, abs=1e-4)
        assert facts["samples"]["seen"] == len(y)


def test_card_in_words(trained):
    card = trained[1]["retention"][1]
    text = str(card)
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
    none = replace(card, classes={"seen": ["a"], "unseen": []}, params={})
    assert "none yet (unseen add-class adds them)" in str(none)


def test_the_card_holds_the_checks_of_data_and_model(trained, tmp_path):
    data, fitted = trained
    model, card = fitted["retention"]
    of_model = model_checks(lost=card.lost, unseen=card.expected.unseen, chance=100 / 16)
    assert card.checks == select([*data.checks(), *of_model])
    save_model(model, tmp_path / "model")
    assert load_model(tmp_path / "model").card().checks == card.checks
    assert Card.from_json(json.loads(json.dumps(card.to_json()))).checks == card.checks


@pytest.mark.parametrize(
    ("compared", "method", "found"),
    [
        ({"lda": 60.0, "cosine": 61.0}, "lda", ["U011"]),
        ({"lda": 60.0, "lda sqrt": 62.0, "cosine": 61.0}, "lda", []),
        ({"lda": 60.0, "cosine": 61.0}, "cosine", []),
        ({"lda": 60.0}, "lda", []),
    ],
)
def test_a_model_is_compared_with_cosine_if_it_was_tried(trained, compared, method, found):
    card = replace(trained[1]["retention"][1], compared=compared, method=method, lost=[])
    assert [check.code for check in held_out_checks(card) if check.code == "U011"] == found


@pytest.mark.parametrize("goal", [{}, {"unseen_share": 10.0}, {"unseen_share": 30.0}])
def test_intervals_hold_at_other_operating_points(goal):
    """Of twelve 95 % intervals, three or more that fail have a probability of 0.02."""
    inside = []
    for seed in range(12):
        data = load_dataset(
            "synthetic", n_samples=1000, n_features=48, n_classes=40, n_attributes=16, random_state=200 + seed
        )
        split = make_split(data, random_state=seed)
        model = GZSLClassifierCV(LinearSV(data.prototypes), {"alpha": [1.0]}, cv=split.cv(), **goal)
        model.fit(data.X[split.train], data.y[split.train])
        test = np.concatenate([split.test_seen, split.test_unseen])
        curve = CalibratedClassifier(model.estimator_).fit(data.X[test], data.y[test]).curve_
        _, low, high = expected_accuracies(model).unseen
        inside.append(low <= curve.at(model.gamma_)[0] <= high)
    assert np.count_nonzero(inside) >= 10
