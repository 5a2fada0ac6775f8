"""A sample of weight w counts as w equal samples, in every closed form and wherever it comes from."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from problems import linear_problem
from unseen import ALE, ESZSL, GZSLClassifierCV, Moments, UnseenError
from unseen.calibration.classifier import class_scores
from unseen.calibration.curve import SeenUnseenCurve
from unseen.datasets.splits import GZSLFolds
from unseen.methods import METHODS, find_method, make_method
from unseen.methods._closed_form import ClosedForm
from unseen.metrics import gzsl_scorer
from unseen.selection.rehearsal import assign_parts

CLOSED = [name for name in METHODS if issubclass(find_method(name), ClosedForm)]
CASES = [
    (name, normalize)
    for name in CLOSED
    for normalize in ("l2", "standard", None)
    if normalize == "l2" or not METHODS[name].shared_space  # which compare samples of unit length
]
SHAPES = {"N>D": (60, 9), "N<D": (24, 60)}


def weighted(shape, seed=0):
    """Samples with weights 0 to 3, and the same samples repeated as often; in a shared space."""
    n, features = shape
    X, y, S = linear_problem(n, features=features, attributes=features, seed=seed)
    w = np.random.default_rng(seed).integers(0, 4, size=n)
    w[:10] = 2  # no class vanishes
    return X, y, S, w, np.repeat(np.arange(n), w)


def assert_same(a, b, X, rtol=1e-7):
    assert_array_equal(a.seen_, b.seen_)
    scores = b.similarity(X)
    assert_allclose(a.similarity(X), scores, rtol=rtol, atol=rtol * np.ptp(scores))


def test_all_closed_forms_are_tested():
    assert {"linear-vs", "linear-sv", "eszsl", "sae", "lda"} <= set(CLOSED)


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize(("name", "normalize"), CASES)
def test_weights_are_repetitions(name, shape, normalize):
    X, y, S, w, repeated = weighted(shape)
    model, other = make_method(name, S, 0), make_method(name, S, 0)
    model.set_params(normalize=normalize).fit(X, y, sample_weight=w)
    other.set_params(normalize=normalize).fit(X[repeated], y[repeated])
    assert_same(model, other, X)
    unweighted = make_method(name, S, 0).set_params(normalize=normalize).fit(X, y)
    assert not np.allclose(model.coef_, unweighted.coef_)


@pytest.mark.parametrize("name", CLOSED)
def test_weights_of_one_are_no_weights(name):
    X, y, S, *_ = weighted(SHAPES["N>D"])
    model = make_method(name, S, 0).fit(X, y, sample_weight=np.ones(len(y)))
    assert_same(model, make_method(name, S, 0).fit(X, y), X, rtol=1e-12)


@pytest.mark.parametrize("name", CLOSED)
def test_a_class_without_weight_is_unseen(name):
    X, y, S, *_ = weighted(SHAPES["N>D"])
    model = make_method(name, S, 0).fit(X, y, sample_weight=(y != 2).astype(float))
    assert_same(model, make_method(name, S, 0).fit(X[y != 2], y[y != 2]), X)
    assert not model.seen_[2]


@pytest.mark.parametrize("name", CLOSED)
def test_paths_and_blocks_take_weights(name):
    X, y, S, w, _ = weighted(SHAPES["N>D"])
    whole = make_method(name, S, 0).fit(X, y, sample_weight=w)
    (path,) = make_method(name, S, 0).fit_path(X, y, [{"alpha": whole.alpha}], sample_weight=w)
    assert_array_equal(path.coef_, whole.coef_)
    blocks = make_method(name, S, 0)
    for part in (slice(0, 25), slice(25, None)):
        blocks.partial_fit(X[part], y[part], sample_weight=w[part])
    assert_same(blocks.solve(), whole, X)


def test_features_on_disk_take_weights(tmp_path):
    X, y, S, w, _ = weighted(SHAPES["N>D"])
    np.save(tmp_path / "X.npy", X)
    on_disk = ESZSL(S).fit(tmp_path / "X.npy", y, sample_weight=w)
    assert_same(on_disk, ESZSL(S).fit(X, y, sample_weight=w), X)


def test_moments_with_weights_are_the_literal_sums():
    X, y, _, w, _ = weighted(SHAPES["N>D"])
    moments = Moments.of(X, y, 7, weight=w + 0.5)
    assert_allclose(moments.count, [(w + 0.5)[y == c].sum() for c in range(7)])
    assert_allclose(moments.total[1], sum(v * x for v, x in zip((w + 0.5)[y == 1], X[y == 1])))
    assert_allclose(moments.gram, X.T @ np.diag(w + 0.5) @ X)


def test_the_samples_of_the_user_stay_as_they_are():
    X, y, S, w, _ = weighted(SHAPES["N>D"])
    before, weight = X.copy(), w.astype(float)
    ESZSL(S, normalize=None).fit(X, y, sample_weight=weight)
    assert_array_equal(X, before)
    assert_array_equal(weight, w)


@pytest.mark.parametrize(
    ("weight", "words"),
    [
        ([1.0] * 59 + [-1.0], "Negative values in data passed to `sample_weight`"),
        ([np.nan] + [1.0] * 59, "Input sample_weight contains NaN."),
        ([np.inf] * 60, "Input sample_weight contains infinity"),
        ([1.0] * 59, "sample_weight.shape == (59,), expected (60,)"),
        (np.ones((60, 2)), "Sample weights must be 1D array or scalar"),
        ([0.0] * 60, "Sample weights must contain at least one non-zero number"),
        (["heavy"] * 60, "could not convert string to float"),
    ],
)
def test_weights_that_make_no_sense_are_refused(weight, words):
    X, y, S, *_ = weighted(SHAPES["N>D"])
    for fit in (ESZSL(S).fit, ESZSL(S).partial_fit):
        with pytest.raises(ValueError, match=re.escape(words)):
            fit(X, y, sample_weight=weight)


def test_weights_of_blocks_belong_to_the_blocks():
    X, y, S, w, _ = weighted(SHAPES["N>D"])
    with pytest.raises(UnseenError, match="Pass the weights of a block to partial_fit"):
        ESZSL(S).fit(iter([(X, y)]), sample_weight=w)


# ---- through scikit-learn ---------------------------------------------------------------------------------


def test_a_pipeline_hands_weights_over_by_the_name_of_the_step():
    X, y, S, w, repeated = weighted(SHAPES["N>D"])
    pipeline = make_pipeline(StandardScaler(with_std=False), ESZSL(S)).fit(X, y, eszsl__sample_weight=w)
    centered = X - X.mean(axis=0)
    assert_same(pipeline[-1], ESZSL(S).fit(centered[repeated], y[repeated]), centered)


def test_metadata_routing_reaches_a_method_in_a_pipeline():
    X, y, S, w, repeated = weighted(SHAPES["N>D"])
    with sklearn.config_context(enable_metadata_routing=True):
        scaler = StandardScaler().set_fit_request(sample_weight=True)
        pipeline = make_pipeline(scaler, ESZSL(S).set_fit_request(sample_weight=True))
        pipeline.fit(X, y, sample_weight=pd.Series(w))
    other = make_pipeline(StandardScaler(), ESZSL(S)).fit(X[repeated], y[repeated])
    assert_allclose(pipeline.decision_function(X), other.decision_function(X), rtol=1e-7)


def test_metadata_routing_reaches_a_method_in_cross_validation():
    X, y, S, w, _ = weighted(SHAPES["N>D"])
    folds = list(GZSLFolds(2).split(X, y))
    with sklearn.config_context(enable_metadata_routing=True):
        found = cross_validate(
            ESZSL(S).set_fit_request(sample_weight=True), X, y, cv=folds, scoring=gzsl_scorer,
            params={"sample_weight": w}, return_estimator=True,
        )  # fmt: skip
    for model, (train, _) in zip(found["estimator"], folds):
        assert_array_equal(model.coef_, ESZSL(S).fit(X[train], y[train], sample_weight=w[train]).coef_)


def test_a_method_that_takes_no_weights_says_so():
    X, y, S, w, _ = weighted(SHAPES["N>D"])
    with pytest.raises(TypeError, match="sample_weight"):
        ALE(S).fit(X, y, sample_weight=w)


# ---- through selection -----------------------------------------------------------------------------------


@pytest.mark.parametrize("scaled", [False, True])
def test_selection_weighs_samples_in_every_fit(scaled):
    """Folds, cross-fitted and final model equal plain fits with the weights of their samples."""
    X, y, S = linear_problem(300, classes=12, seen=9, seed=3)
    w = np.random.default_rng(0).uniform(0.1, 5, size=len(y))
    folds = list(GZSLFolds().split(X, y))
    method = make_pipeline(StandardScaler(), ESZSL(S)) if scaled else ESZSL(S)
    name = "eszsl__" if scaled else ""
    search = GZSLClassifierCV(method, {f"{name}alpha": [0.1]}, cv=folds).fit(X, y, sample_weight=w)

    def plain(rows):
        model = clone(method).set_params(**{f"{name}alpha": 0.1})
        return model.fit(X[rows], y[rows], **{f"{name}sample_weight": w[rows]})

    for number, (train, validation) in enumerate(folds):
        present = np.union1d(y[train], y[validation])
        scores = class_scores(plain(train), X[validation])[:, present]
        columns, seen = np.searchsorted(present, y[validation]), np.isin(present, y[train])
        curve = SeenUnseenCurve.from_scores(scores, columns, seen)
        assert search.cv_results_[f"split{number}_test_score"][0] == pytest.approx(curve.h)
    part = assign_parts(y)
    flips = [
        scores[:, :9].max(axis=1) - scores[:, 9:].max(axis=1)
        for k in range(5)
        for scores in [class_scores(plain(np.flatnonzero(part != k)), X[part == k])]
    ]
    assert_allclose(search.held_out_.cross_fitted.flips, np.concatenate(flips), atol=1e-9)
    assert_allclose(class_scores(search.estimator_, X), class_scores(plain(np.arange(len(y))), X))


def test_selection_refuses_weights_where_nothing_takes_them():
    X, y, S = linear_problem(60, features=9)
    with pytest.raises(UnseenError, match="ALE does not take sample_weight"):
        GZSLClassifierCV(ALE(S)).fit(X, y, sample_weight=np.ones(len(y)))
