"""Thousands of classes: block products, the best few without a full sort, no classes x classes array."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal

from unseen import ESZSL, LDA, GZSLClassifierCV, LinearSV, LinearVS, SeenUnseenCurve
from unseen._core import blocks
from unseen._core.blocks import score_blocks, top_columns
from unseen._core.samples import TrainingSet
from unseen.benchmark.experiment import Experiment
from unseen.benchmark.protocol import class_table, evaluate_run
from unseen.benchmark.store import Run, Store
from unseen.benchmark.summary import summarize_store
from unseen.calibration.maxima import score_maxima
from unseen.datasets import load_dataset
from unseen.datasets.splits import make_split
from unseen.report import write_report
from unseen.selection.rehearsal import run_fold

N_CLASSES = 2000
SQUARE = N_CLASSES**2 * 4  # bytes of a classes x classes array, even in float32


@settings(max_examples=100, deadline=None)
@given(
    scores=arrays(np.float32, st.tuples(st.integers(1, 6), st.integers(1, 9)), elements=st.integers(-3, 3)),
    data=st.data(),
)
def test_the_best_few_are_those_of_a_full_stable_sort(scores, data):
    k = data.draw(st.integers(1, scores.shape[1]))
    assert_array_equal(top_columns(scores, k), np.argsort(-scores, axis=1, kind="stable")[:, :k])


@pytest.mark.parametrize("n_classes", [1, 200, 20_000, 10**7])
def test_blocks_cover_all_rows_and_hold_few_scores(n_classes):
    rows = list(score_blocks(10_000, n_classes))
    assert_array_equal(np.concatenate([np.arange(b.start, b.stop) for b in rows]), np.arange(10_000))
    longest = max(b.stop - b.start for b in rows)
    assert longest * n_classes <= blocks.SCORES or longest == 64


@pytest.fixture(scope="module")
def many():
    """A data set whose classes outnumber everything else about it."""
    return load_dataset(
        "synthetic",
        n_samples=5 * N_CLASSES,
        n_features=24,
        n_classes=N_CLASSES,
        n_attributes=16,
        random_state=0,
    )


def peak(job):
    """Return what a job allocates at its peak, in bytes, and its result."""
    tracemalloc.start()
    try:
        result = job()
        return tracemalloc.get_traced_memory()[1], result
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("method", [LinearVS, LinearSV])
def test_prediction_and_curve_need_no_square_of_the_classes(many, method, monkeypatch):
    monkeypatch.setattr(blocks, "SCORES", 2**18)
    seen = many.seen[many.y]
    model = method(many.prototypes).fit(many.X[seen], many.y[seen])
    X, y = many.X[::4], many.y[::4]
    used, predicted = peak(lambda: model.predict(X))
    assert used < SQUARE / 2
    scores = model.similarity(X)
    assert_array_equal(predicted, scores.argmax(axis=1))

    used, maxima = peak(lambda: score_maxima(model, X, np.arange(N_CLASSES), many.seen))
    assert used < SQUARE / 2
    curve = SeenUnseenCurve.from_maxima(maxima, y, many.seen)
    whole = SeenUnseenCurve.from_scores(scores, y, many.seen)
    assert curve.h == pytest.approx(whole.h, abs=0.1)  # float32 products of fewer columns round differently
    assert curve.gamma == pytest.approx(whole.gamma, rel=1e-4)


def test_candidates_are_found_among_many(many):
    seen = many.seen[many.y]
    model = LinearSV(many.prototypes).fit(many.X[seen], many.y[seen])
    candidates = np.flatnonzero(many.unseen)
    expected = candidates[model.similarity(many.X[:50])[:, candidates].argmax(axis=1)]
    assert_array_equal(model.predict(many.X[:50], candidates=candidates), expected)


def test_selection_predicts_as_its_scores_say(many, monkeypatch):
    monkeypatch.setattr(blocks, "SCORES", 2**18)
    split = make_split(many)
    search = GZSLClassifierCV(LinearSV(many.prototypes), {"alpha": [1e-3, 1e-1]}, cv=split.cv())
    search.fit(many.X[split.train], many.y[split.train])
    X = many.X[:300]
    assert_array_equal(search.predict(X), search.similarity(X).argmax(axis=1))


@settings(max_examples=60, deadline=None)
@given(pairs=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=30))
def test_confusions_are_those_of_the_full_matrix(pairs):
    y, predicted = np.array(pairs).T
    matrix = np.zeros((5, 5), dtype=int)
    np.add.at(matrix, (y, predicted), 1)
    table = class_table(y, predicted, 5)
    assert table["samples"] == matrix.sum(axis=1).tolist()
    wrong = matrix - np.diag(matrix.diagonal())
    expected = [int(row.argmax()) if row.any() else None for row in wrong]
    assert table["confusion"] == expected


def test_bench_and_report(many, tmp_path, monkeypatch):
    """The whole way from fit to the page."""
    monkeypatch.setattr(LinearSV, "default_grid", {"alpha": [1e-3, 1e-1]})
    experiment = Experiment(many, make_split(many), source="synthetic", features="res101")
    used, result = peak(lambda: evaluate_run(experiment, "linear-sv", 0))
    assert used < 20 * SQUARE
    assert len(result["classes"]["accuracy"]) == N_CLASSES
    with Store(tmp_path, create=True) as store:
        store.add_experiment(experiment.key, experiment.description)
        store.add_result(Run("run", experiment.key, "linear-sv", 0), {**result, "threads": 1, "warnings": []})
        (summary,) = summarize_store(store)
    assert summary["methods"]["linear-sv"]["zsl"]["per-class"]["mean"] == result["zsl"]["per-class"]
    assert write_report(tmp_path, tmp_path / "report.html").stat().st_size < 20e6


@pytest.mark.parametrize("normalize", ["l2", "standard", None])
@pytest.mark.parametrize("method", [ESZSL, LinearSV])
def test_scores_of_many_classes_are_those_of_coef(normalize, method):
    """Fewer attributes than features: samples are projected onto the span of the classifier rows first."""
    data = load_dataset(
        "synthetic", n_samples=7500, n_features=40, n_classes=1500, n_attributes=8, random_state=0
    )
    seen = data.seen[data.y]
    model = method(data.prototypes, normalize=normalize).fit(data.X[seen], data.y[seen])
    X = data.X.astype(np.float64)
    rows = X / np.linalg.norm(X, axis=1)[:, None] if normalize == "l2" else X
    expected = rows @ model.coef_.T + model.intercept_
    scores = model.similarity(X)
    assert np.abs(scores - expected).max() <= 1e-12 * np.abs(expected).max()
    single = model.similarity(data.X.astype(np.float32))
    assert np.abs(single - expected).max() <= 1e-5 * np.abs(expected).max()


def test_rows_outside_the_span_are_scored_as_they_are():
    """Samples of a new class give it a row that no description has."""
    data = load_dataset(
        "synthetic", n_samples=7500, n_features=40, n_classes=1500, n_attributes=8, random_state=0
    )
    seen = data.seen[data.y]
    model = LDA(data.prototypes, kappa=1.0).fit(data.X[seen], data.y[seen])
    shots = np.random.default_rng(0).normal(size=(2, 40))
    model.add_classes(data.prototypes[:1], [5000], shots, [5000, 5000])
    scores, X = model.similarity(data.X), data.X / np.linalg.norm(data.X, axis=1)[:, None]
    assert_allclose(scores, X @ model.coef_.T + model.intercept_, atol=1e-5)


def test_a_fold_holds_one_model_of_the_path_at_a_time(many):
    """However many parameters are tried: rows of all classes take the memory."""
    split = make_split(many)
    (fold, *_) = split.cv()
    samples = TrainingSet(many.X[split.train], many.y[split.train])
    one_model = 8 * N_CLASSES * many.X.shape[1]

    def run(n):
        alphas = [{"alpha": alpha} for alpha in np.geomspace(1e-3, 1e-1, n)]
        return peak(lambda: run_fold(LinearSV(many.prototypes), samples, fold, alphas))

    (few, _), (more, found) = run(2), run(12)
    assert len(found) == 12
    kept = sum(part.scores.nbytes for _, trial in found[2:] for part in trial.kept)
    assert more - few - kept < 5 * one_model


def test_calibrated_predictions_among_many_are_those_of_the_scores(many):
    split = make_split(many)
    search = GZSLClassifierCV(LinearSV(many.prototypes), {"alpha": [1e-3]}, cv=split.cv(), gamma="paper")
    search.fit(many.X[split.train], many.y[split.train])
    X, candidates = many.X[:300].astype(np.float64), np.arange(0, N_CLASSES, 3)
    scores = search.similarity(X)
    assert_array_equal(search.predict(X), scores.argmax(axis=1))
    assert_array_equal(search.predict(X, candidates), candidates[scores[:, candidates].argmax(axis=1)])
