"""A run's result equals what the formulas give on the full score matrix, and test data chooses nothing."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import softmax

from problems import LEARNED, small_experiment
from unseen.benchmark import protocol
from unseen.benchmark.experiment import Experiment, split_checksum
from unseen.benchmark.protocol import (
    ScoredModel,
    class_table,
    evaluate_run,
    make_run,
    measure_reliability,
    restore_curve,
)
from unseen.benchmark.protocol import TestSamples as Samples
from unseen.datasets import load_dataset
from unseen.datasets.splits import make_split
from unseen.methods.linear import LinearVS
from unseen.metrics import accuracy, frequent_mistakes, harmonic_mean, reliability
from unseen.selection.search import GZSLClassifierCV

FIELDS = {"method", "seed", "version", "model", "grid", "zsl", "gzsl", "ausuc", "params_zsl", "params_gzsl"}
FIELDS |= {"gamma_zsl", "gamma", "validation", "curve", "flips", "regret", "classes"}
FIELDS |= {"attribute_error", "seconds", "zsl_model", "by_class", "reliability"}


@pytest.fixture(scope="module")
def experiment():
    return small_experiment()


@pytest.fixture(scope="module")
def result(experiment):
    return evaluate_run(experiment, "linear-vs", 0)


@pytest.fixture(scope="module")
def search(experiment):
    data, train = experiment.dataset, experiment.split.train
    cv, gamma = experiment.split.cv(), experiment.gamma
    model = GZSLClassifierCV(LinearVS(data.prototypes), cv=cv, gamma=gamma, refit_zsl=True)
    return model.fit(data.X[train], data.y[train])


def literal(experiment, model, gamma):
    """H, U and S by the definition: all scores, gamma off the seen classes, arg-max."""
    data, split = experiment.dataset, experiment.split
    values = []
    for rows in (split.test_unseen, split.test_seen):
        scores = model.similarity(data.X[rows]) - gamma * data.seen
        values.append(accuracy(data.y[rows], scores.argmax(axis=1)))
    return harmonic_mean(*values), *values


def test_the_result_is_a_plain_document_with_all_fields(result):
    assert set(result) == FIELDS
    assert json.loads(json.dumps(result, allow_nan=False)) == result


def test_the_three_calibrations_follow_their_definition(experiment, search, result):
    expected = {
        "none": literal(experiment, search.zsl_.estimator, 0.0),
        "calibrated": literal(experiment, search.zsl_.estimator, search.zsl_.gamma),
        "calibrated+lambda": literal(experiment, search.estimator_, search.gamma_),
    }
    for name, values in expected.items():
        found = [result["gzsl"][name][letter]["per-class"] for letter in "HUS"]
        assert found == pytest.approx(values)


def test_zsl_accuracy_is_among_the_unseen_classes(experiment, search, result):
    data, rows = experiment.dataset, experiment.split.test_unseen
    predicted = search.zsl_.estimator.predict(data.X[rows], candidates=np.flatnonzero(data.unseen))
    for weights in ("per-class", "per-sample"):
        expected = accuracy(data.y[rows], predicted, weights)
        assert result["zsl"][weights] == pytest.approx(expected)


def test_what_selection_chose_is_told(search, result):
    assert result["params_gzsl"] == search.best_params_
    assert result["gamma"] == search.gamma_
    table = result["validation"]
    assert (
        len(table["params"])
        == len(table["zsl"])
        == len(table["gamma"])
        == len(LinearVS.default_grid["alpha"])
    )
    assert table["params"][table["best"]] == result["params_gzsl"]
    assert table["params"][table["best_zsl"]] == result["params_zsl"]
    assert table["h"][table["best"]] == max(table["h"])


def test_the_curve_holds_the_operating_point_and_both_ends(result):
    curve = result["curve"]
    assert len(curve["unseen"]) == len(curve["seen"]) == len(curve["gamma"]) + 1
    assert curve["gamma"] == sorted(curve["gamma"])
    k = np.searchsorted(curve["gamma"], result["gamma"])
    point = result["gzsl"]["calibrated+lambda"]
    assert curve["unseen"][k] == pytest.approx(point["U"]["per-class"], abs=1e-3)
    assert curve["seen"][k] == pytest.approx(point["S"]["per-class"], abs=1e-3)
    assert curve["unseen"][0] == 0 == curve["seen"][-1]


def test_regret_is_what_the_best_gamma_on_test_would_add(result):
    for name, regret in result["regret"].items():
        assert regret["loss"] >= 0
        assert regret["H"] - regret["loss"] == pytest.approx(result["gzsl"][name]["H"]["per-class"])


def test_classes_agree_with_the_accuracies(experiment, result):
    data, point = experiment.dataset, result["gzsl"]["calibrated+lambda"]
    by_class = np.array([np.nan if a is None else a for a in result["classes"]["accuracy"]])
    assert by_class[data.unseen].mean() == pytest.approx(point["U"]["per-class"], abs=1e-3)
    assert np.nanmean(by_class[data.seen]) == pytest.approx(point["S"]["per-class"], abs=1e-3)
    assert len(result["flips"]["unseen"]) == len(experiment.split.test_unseen)
    assert len(result["flips"]["seen"]) == len(experiment.split.test_seen)


def test_class_table_names_the_most_frequent_mistake():
    table = class_table(np.array([0, 0, 0, 0, 1]), np.array([0, 2, 2, 1, 1]), 3)
    assert table == {
        "samples": [4, 1, 0],
        "accuracy": [25.0, 100.0, None],
        "confusion": [2, None, None],
        "confused": [50.0, 0.0, None],
        "mistakes": [[[2, 2], [1, 1]], [], []],
    }


def test_at_most_five_mistakes_are_kept_the_most_frequent_first():
    predicted = np.array([1, 2, 2, 3, 3, 3, 4, 5, 6, 7, 7])
    (mistakes, *others) = frequent_mistakes(np.zeros(11, dtype=int), predicted, 8)
    assert mistakes == [[3, 3], [2, 2], [7, 2], [1, 1], [4, 1]]
    assert others == [[]] * 7


def test_accuracies_by_class_average_to_the_scores(experiment, result):
    unseen = np.array(experiment.dataset.unseen)
    zsl = np.array(result["by_class"]["zsl"], dtype=float)
    assert zsl[unseen].mean() == pytest.approx(result["zsl"]["per-class"], abs=1e-3)
    for step in ("none", "calibrated"):
        found = np.array(result["by_class"][step], dtype=float)
        point = result["gzsl"][step]
        assert found[unseen].mean() == pytest.approx(point["U"]["per-class"], abs=1e-3)
        assert np.nanmean(found[~unseen]) == pytest.approx(point["S"]["per-class"], abs=1e-3)


def test_the_other_model_has_the_points_without_its_lambda(result):
    assert result["params_zsl"] != result["params_gzsl"]
    stored = result["zsl_model"]
    curve = restore_curve(stored["curve"], stored["ausuc"])
    for step, gamma in (("none", 0.0), ("calibrated", result["gamma_zsl"])):
        point = result["gzsl"][step]
        expected = (point["U"]["per-class"], point["S"]["per-class"])
        assert curve.at(gamma)[:2] == pytest.approx(expected, abs=1e-3)


def test_attribute_error_is_that_of_the_first_fold(experiment, result):
    data, fold = experiment.dataset, experiment.split.folds[0]
    errors = result["attribute_error"]
    for i in (0, len(errors["alpha"]) - 1):
        model = LinearVS(data.prototypes, alpha=errors["alpha"][i]).fit(
            data.X[fold.train], data.y[fold.train]
        )
        for name, rows in (("seen", fold.seen_val), ("unseen", fold.val)):
            X = data.X[rows] / np.linalg.norm(data.X[rows], axis=1, keepdims=True)
            expected = np.mean((X @ model.mapping_.T - data.prototypes[data.y[rows]]) ** 2)
            assert errors[name][i] == pytest.approx(expected, rel=1e-5)
    assert evaluate_run(experiment, "linear-sv", 0)["attribute_error"] is None


def test_reliability_counts_how_sure_and_how_right_test_answers_are(experiment, search, result):
    data, found = experiment.dataset, result["reliability"]
    assert found["temperature"] == pytest.approx(search.temperature_, rel=1e-6)
    for kind, rows in (("seen", experiment.split.test_seen), ("unseen", experiment.split.test_unseen)):
        scores = search.similarity(data.X[rows]).astype(float)
        right = scores.argmax(axis=1) == data.y[rows]
        for when, temperature in (("before", 1.0), ("after", search.temperature_)):
            expected = reliability(softmax(scores / temperature, axis=1).max(axis=1), right)
            bins = found[when][kind]
            assert bins["samples"] == expected.samples.tolist()
            np.testing.assert_allclose(bins["confidence"], expected.confidence, atol=1e-4)
            np.testing.assert_allclose(bins["accuracy"], expected.accuracy, atol=1e-4)
            assert bins["ece"] == pytest.approx(expected.ece, abs=1e-4)


def test_of_many_scores_some_samples_are_enough_for_reliability(experiment, search, monkeypatch):
    monkeypatch.setattr(protocol, "SURE", 40 * len(experiment.dataset.class_names))
    scored = ScoredModel(search.estimator_, search.gamma_, Samples(experiment)).some
    found = measure_reliability(scored, search.temperature_)
    for when in ("before", "after"):
        assert sum(sum(found[when][kind]["samples"]) for kind in ("seen", "unseen")) == 40


CHOSEN = ("params_zsl", "params_gzsl", "gamma_zsl", "gamma", "validation", "attribute_error")


@pytest.fixture(scope="module", params=LEARNED)
def method_result(experiment, request):
    return evaluate_run(experiment, request.param, 0)


def with_other_tests(experiment, prototypes=None):
    """Return the experiment with other test samples and other labels on them."""
    data, split = experiment.dataset, experiment.split
    rng = np.random.default_rng(0)
    X, y = np.array(data.X), data.y.copy()
    for tests in (split.test_seen, split.test_unseen):
        X[tests] = rng.normal(size=(len(tests), X.shape[1]))
        y[tests] = rng.permutation(y[tests])
    other = replace(data, X=X, y=y, prototypes=data.prototypes if prototypes is None else prototypes)
    return replace(experiment, dataset=other)


def assert_same_choices(again, result):
    assert {field: again[field] for field in CHOSEN} == {field: result[field] for field in CHOSEN}
    assert again["gzsl"] != result["gzsl"]


def test_test_samples_and_unseen_prototypes_choose_nothing(experiment, method_result):
    """Other test samples, other labels on them, other prototypes of unseen classes: the same choices."""
    prototypes = experiment.dataset.prototypes.copy()
    unseen = experiment.dataset.unseen
    prototypes[unseen] = np.random.default_rng(1).normal(size=prototypes[unseen].shape)
    again = evaluate_run(with_other_tests(experiment, prototypes), method_result["method"], 0)
    assert_same_choices(again, method_result)


@pytest.mark.parametrize("name", ["linear-vs", "sje"])
def test_the_retention_rule_sees_no_test_sample(name):
    experiment = small_experiment(gamma="retention")
    again = evaluate_run(with_other_tests(experiment), name, 0)
    assert_same_choices(again, evaluate_run(experiment, name, 0))


def test_the_key_changes_with_everything_that_matters(experiment, monkeypatch):
    run = make_run(experiment, "linear-vs", 0)
    assert make_run(experiment, "linear-vs", 0) == run
    data = experiment.dataset
    other_split = replace(experiment, split=make_split(data, random_state=7))
    keys = {run.key, make_run(experiment, "linear-vs", 1).key, make_run(experiment, "linear-sv", 0).key}
    keys.add(make_run(other_split, "linear-vs", 0).key)
    with monkeypatch.context() as patch:
        patch.setattr(protocol, "__version__", "9.9")
        keys.add(make_run(experiment, "linear-vs", 0).key)
    with monkeypatch.context() as patch:
        patch.setattr(LinearVS, "default_grid", {"alpha": [1.0]})
        keys.add(make_run(experiment, "linear-vs", 0).key)
    assert len(keys) == 6
    assert split_checksum(experiment.split) != split_checksum(other_split.split)


def test_an_experiment_describes_its_data_and_split(experiment):
    described = experiment.description
    assert json.loads(json.dumps(described)) == described
    assert described["published"] is None
    assert described["counts"]["train"] == len(experiment.split.train)
    for fold, counts in zip(described["folds"], described["class_counts"], strict=True):
        for part in ("train", "seen_val", "val", "test_seen", "test"):
            assert fold[part] == [sum(counts[part]), sum(n > 0 for n in counts[part])]
    parts = described["class_counts"][0]
    assert sum(map(sum, parts.values())) == described["n_samples"]


def test_real_splits_are_recognized(real_data):
    folder = real_data / "xlsa17"
    proposed = Experiment.load(str(folder / "CUB"), features="res50")
    assert proposed.description["published"] == {"dataset": "CUB", "split": "proposed", "crops": 1}
    standard = Experiment.load(
        str(folder / "CUB"), features="res50", split_dir=str(folder / "standard_split" / "CUB")
    )
    assert standard.description["published"] == {"dataset": "CUB", "split": "standard", "crops": 1}
    assert standard.description["name"] == "CUB, standard split, res50"


def test_published_numbers_stand_beside_the_content_not_the_name(real_data, tmp_path):
    """CUB under any name is CUB, its features have no name; other data called CUB is not CUB."""
    cub = load_dataset(real_data / "xlsa17" / "CUB", features="res50")
    content = {
        "X": np.random.default_rng(0).normal(size=(len(cub.y), 2)).astype(np.float32),
        "y": cub.y,
        "prototypes": cub.prototypes,
        "class_names": np.array(cub.class_names),
        "trainval": cub.trainval,
        "test_seen": cub.test_seen,
        "test_unseen": cub.test_unseen,
    }
    np.savez(tmp_path / "mine.npz", **content)
    mine = Experiment.load(str(tmp_path / "mine.npz"))
    if mine.published:  # the random folds of an .npz validate on as many classes as the paper's
        assert mine.description["name"] == "CUB, proposed split, features as given"
    assert mine.description["features"] is None
    named = Experiment.load(str(tmp_path / "mine.npz"), features="ResNet-50")
    assert named.description["features"] == "ResNet-50"
    np.savez(tmp_path / "CUB.npz", **content | {"class_names": np.array([f"c{i}" for i in range(200)])})
    other = Experiment.load(str(tmp_path / "CUB.npz"))
    assert other.published is None
    assert other.description["name"] == "CUB"


def test_features_are_named_by_the_encoder_that_made_them(tmp_path):
    data = load_dataset(
        "synthetic", n_samples=300, n_features=12, n_classes=12, n_attributes=5, random_state=1
    )
    content = {
        "X": data.X,
        "y": data.y,
        "prototypes": data.prototypes,
        "unseen_classes": np.flatnonzero(data.unseen),
    }
    card = json.dumps({"name": "dino.onnx", "sha256": "ab"})
    np.savez(tmp_path / "x.npz", **content, encoder=np.array(card))
    assert "dino.onnx" in Experiment.load(str(tmp_path / "x.npz")).description["features"]
    assert Experiment.load("digits").description["features"] is None


def test_standardized_features_give_the_same_numbers_in_any_unit(experiment):
    units = np.logspace(-2, 3, experiment.dataset.X.shape[1])
    plain = replace(experiment, gamma="retention", normalize="standard")
    data = replace(experiment.dataset, X=experiment.dataset.X * units + units)
    scaled = replace(plain, dataset=data)
    assert plain.key != experiment.key and "normalize standard" in plain.description["name"]
    for method in ("linear-vs", "lda"):
        one, other = (evaluate_run(e, method, 0) for e in (plain, scaled))
        assert one["model"]["normalize"] == "standard"
        assert one["gzsl"]["calibrated"]["H"] == pytest.approx(other["gzsl"]["calibrated"]["H"], abs=2)
        if method == "linear-vs":
            np.testing.assert_allclose(
                one["attribute_error"]["unseen"], other["attribute_error"]["unseen"], rtol=1e-3
            )
