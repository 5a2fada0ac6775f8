"""The bootstrap over classes agrees with its literal form, and pairs methods."""

from __future__ import annotations

import numpy as np
import pytest

from fake_runs import result
from unseen.benchmark import intervals
from unseen.benchmark.intervals import resample_classes
from unseen.metrics import harmonic_mean

UNSEEN = [0] * 20 + [1] * 10


def run(method, accuracy, seed=0, zsl=None):
    made = result(method, seed)
    made["classes"] = made["classes"] | {"accuracy": list(accuracy)}
    made["by_class"] = {
        "zsl": list(accuracy if zsl is None else zsl),
        "none": accuracy,
        "calibrated": accuracy,
    }
    return made


@pytest.fixture
def accuracy():
    return np.random.default_rng(0).uniform(20, 90, size=30)


def test_the_replicates_are_those_of_drawing_classes_again(accuracy):
    """Mean and spread of U over many draws are known: the mean over classes, and its standard error."""
    draws = resample_classes({"sae": [run("sae", accuracy)]}, UNSEEN, n_replicates=4000).draws
    unseen = accuracy[20:]
    zsl = draws["sae", "zsl"]
    assert zsl.mean() == pytest.approx(unseen.mean(), abs=0.5)
    assert zsl.std() == pytest.approx(unseen.std() / np.sqrt(10), rel=0.1)
    assert draws["sae", "none"].mean() == pytest.approx(
        harmonic_mean(unseen.mean(), accuracy[:20].mean()), abs=1
    )


def test_an_interval_holds_the_score_and_is_the_same_twice(accuracy):
    replicates = resample_classes({"sae": [run("sae", accuracy)]}, UNSEEN)
    low, high = replicates.interval("sae", "calibrated+lambda")
    assert low < harmonic_mean(accuracy[20:].mean(), accuracy[:20].mean()) < high
    assert resample_classes({"sae": [run("sae", accuracy)]}, UNSEEN).interval("sae", "zsl") == (
        replicates.interval("sae", "zsl")
    )


def test_methods_are_compared_on_the_same_classes(accuracy):
    """One point better in every class is better, though both intervals overlap widely."""
    runs = {"best": [run("best", accuracy)], "next": [run("next", accuracy - 1)]}
    rng = np.random.default_rng(1)
    runs["noisy"] = [run("noisy", accuracy - 0.5 + rng.normal(scale=8, size=30))]
    replicates = resample_classes(runs, UNSEEN)
    assert replicates.ties("best") == ["noisy"]
    first, second = (replicates.interval(name, "none") for name in ("best", "next"))
    assert first[0] < second[1]


def test_the_runs_of_a_method_are_averaged(accuracy):
    two = [run("sje", accuracy - 5, 0), run("sje", accuracy + 5, 1)]
    zsl = resample_classes({"sje": two}, UNSEEN).draws["sje", "zsl"]
    one = resample_classes({"sje": [run("sje", accuracy)]}, UNSEEN).draws["sje", "zsl"]
    np.testing.assert_allclose(zsl, one)


def test_classes_without_test_samples_are_never_drawn(accuracy):
    untested = [None if i in (3, 25) else float(value) for i, value in enumerate(accuracy)]
    draws = resample_classes({"sae": [run("sae", untested)]}, UNSEEN).draws
    assert np.isfinite(draws["sae", "calibrated+lambda"]).all()


def test_many_classes_are_resampled_in_blocks(accuracy, monkeypatch):
    whole = resample_classes({"sae": [run("sae", accuracy)]}, UNSEEN, 50).draws["sae", "zsl"]
    monkeypatch.setattr(intervals, "_AT_ONCE", 30 * 7)
    blocks = resample_classes({"sae": [run("sae", accuracy)]}, UNSEEN, 50).draws["sae", "zsl"]
    assert whole.shape == blocks.shape == (50,)
    assert len(np.unique(blocks)) > 40
