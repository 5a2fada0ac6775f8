"""The process against a literal version of it, and that nothing of the unseen classes leaks into it."""

from __future__ import annotations

import numpy as np
import pytest
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import oracle
from problems import LEARNED
from unseen import ESZSL, LDA, GZSLClassifierCV, LinearSV, LinearVS, UnseenError
from unseen.calibration.maxima import ScoresClasses
from unseen.datasets import load_dataset
from unseen.datasets.splits import GZSLFolds, make_split
from unseen.methods import find_method
from unseen.selection.search import RULES


@pytest.fixture(scope="module")
def small():
    """A small problem with a linear truth."""
    data = load_dataset(
        "synthetic", n_samples=700, n_features=24, n_classes=14, n_attributes=8, random_state=1
    )
    split = make_split(data)
    return data, split


def fit(small, estimator=LinearSV, grid=None, prototypes=None, **options):
    data, split = small
    prototypes = data.prototypes if prototypes is None else prototypes
    options.setdefault("gamma", "paper")
    search = GZSLClassifierCV(estimator(prototypes), grid, cv=split.cv(), **options)
    return search.fit(data.X[split.train], data.y[split.train])


@pytest.mark.parametrize("method", [LinearVS, LinearSV])
def test_process_equals_the_literal_one(small, method):
    data, split = small
    alphas = [1e-4, 1e-2, 1.0]
    search = fit(small, method, {"alpha": alphas})
    X, y = data.X[split.train], data.y[split.train]
    expected = oracle.process(
        lambda alpha: method(data.prototypes, alpha=alpha), alphas, X, y, split.cv(), grid=401
    )
    assert search.best_params_zsl_["alpha"] == expected["alpha_zsl"]
    assert_allclose(search.cv_results_["mean_zsl"], expected["zsl"], atol=1e-9)
    # no gamma of a fine grid beats the exact one, and the exact one holds what it promises
    assert np.all(search.cv_results_["mean_test_score"] >= np.array(expected["h"]) - 1e-9)
    for alpha, gamma, h in zip(alphas, search.cv_results_["gamma"], search.cv_results_["mean_test_score"]):
        literal = oracle.mean_h(lambda a=alpha: method(data.prototypes, alpha=a), X, y, split.cv(), gamma)
        assert_allclose(h, literal, atol=1e-9)


def test_retrained_on_all_training_samples_with_gamma_as_a_bias(small):
    data, split = small
    search = fit(small)
    alone = LinearSV(data.prototypes, **search.best_params_).fit(data.X[split.train], data.y[split.train])
    assert_array_equal(search.coef_, alone.coef_)
    assert_allclose(search.intercept_, alone.intercept_ - search.gamma_ * data.seen, rtol=1e-12)
    test = data.X[np.concatenate([split.test_seen, split.test_unseen])]
    assert_array_equal(search.predict(test), search.classes_[search.similarity(test).argmax(axis=1)])
    assert search.gamma_ == search.curve_.gamma


def without_path(prototypes=None, alpha=1.0):
    """The same model, but one plain fit per combination of parameters."""
    return PlainLinearSV(prototypes, alpha)


class PlainLinearSV(ClassifierMixin, BaseEstimator):
    """A stranger's model: fit, classes_, similarity, nothing else."""

    def __init__(self, prototypes=None, alpha=1.0):
        self.prototypes = prototypes
        self.alpha = alpha

    def fit(self, X, y):
        self.model_ = LinearSV(self.prototypes, alpha=self.alpha).fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def similarity(self, X):
        return self.model_.similarity(X)


def test_plain_fits_and_the_fast_path_agree(small):
    grid = {"alpha": [1e-3, 1e-1]}
    fast, plain = fit(small, LinearSV, grid), fit(small, without_path, grid)
    assert isinstance(plain.estimator_, ScoresClasses)
    assert fast.best_params_ == plain.best_params_
    assert_allclose(fast.gamma_, plain.gamma_)
    assert_allclose(fast.cv_results_["mean_test_score"], plain.cv_results_["mean_test_score"])


class TextHead(ClassifierMixin, BaseEstimator):
    """Logistic regression for the seen classes, similarity to text prototypes for the others."""

    def __init__(self, prototypes, C=1.0):
        self.prototypes = prototypes
        self.C = C

    def fit(self, X, y):
        self.classes_ = np.arange(len(self.prototypes))
        self.head_ = LogisticRegression(C=self.C, max_iter=500).fit(X, y)
        return self

    def similarity(self, X):
        scores = X @ self.prototypes.T
        scores[:, self.head_.classes_] = self.head_.decision_function(X)
        return scores


def test_logistic_regression_with_text_prototypes_is_calibrated():
    """Images and texts live in one space, as with CLIP: class c's images scatter around its text."""
    rng = np.random.default_rng(0)
    texts = rng.normal(size=(12, 16))
    texts /= np.linalg.norm(texts, axis=1, keepdims=True)
    y = np.repeat(np.arange(12), 40)
    X = texts[y] + 0.2 * rng.normal(size=(480, 16))
    train = y < 9
    search = GZSLClassifierCV(TextHead(texts), {"C": [1.0, 10.0]}, cv=GZSLFolds(3)).fit(X[train], y[train])
    before = np.mean(
        search.estimator_.classes_[search.estimator_.similarity(X[~train]).argmax(1)] == y[~train]
    )
    after = np.mean(search.predict(X[~train]) == y[~train])
    assert search.gamma_ > 0
    assert after > before + 0.2
    assert not hasattr(search, "coef_")


class Votes(ClassifierMixin, BaseEstimator):
    """Whole numbers as scores, as voting gives them."""

    def fit(self, X, y):
        self.classes_ = np.arange(X.shape[1])
        return self

    def similarity(self, X):
        return np.rint(10 * X).astype(int)


def test_gamma_is_not_rounded_where_scores_are_whole_numbers():
    y = np.repeat(np.arange(6), 20)
    X = np.random.default_rng(0).normal(size=(120, 8)) + 2 * np.eye(8)[y]
    search = GZSLClassifierCV(Votes(), {}, gamma=1.25).fit(X, y)
    subtracted = search.estimator_.similarity(X) - search.similarity(X)
    assert_allclose(subtracted, np.broadcast_to(1.25 * search.seen_, X.shape))


# ---- leakage ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", LEARNED)
def test_unseen_prototypes_change_no_weight_and_no_parameter(small, name, rule):
    """With the paper's rule they do not change gamma either."""
    data, _ = small
    method = find_method(name)
    other = data.prototypes.copy()
    other[data.unseen] = np.random.default_rng(0).normal(size=other[data.unseen].shape)
    grid = {"alpha": [1e-3, 1e-1]}
    if method.stochastic:
        grid |= {"random_state": [0], "tol": [0.1]}  # far from the minimum, but always at the same place
    first, second = (fit(small, method, grid, prototypes=S, gamma=rule) for S in (data.prototypes, other))
    assert first.best_params_ == second.best_params_
    assert first.best_params_zsl_ == second.best_params_zsl_
    assert_array_equal(first.coef_[data.seen], second.coef_[data.seen])
    assert_array_equal(first.estimator_.intercept_[data.seen], second.estimator_.intercept_[data.seen])
    assert (first.gamma_ == second.gamma_) == (rule == "paper")
    if rule == "paper":
        assert first.held_out_.retention == second.held_out_.retention
    assert (first.coef_[data.unseen] != second.coef_[data.unseen]).any()


# ---- parameters, jobs, classes, mistakes -------------------------------------------------------------


def test_no_parameter_at_all(small):
    search = fit(small, LinearSV, {})
    assert search.best_params_ == search.best_params_zsl_ == {}
    assert fit(small, LinearSV, {}, refit_zsl=True).zsl_.gamma == search.gamma_


def test_several_parameters(small):
    search = fit(small, ESZSL, {"alpha": [0.1, 1.0], "beta": [0.1, 1.0], "targets": ["01", "-1+1"]})
    assert set(search.best_params_) == {"alpha", "beta", "targets"}
    assert len(search.cv_results_["params"]) == 8


@pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing"])
def test_jobs_change_nothing(small, backend):
    """Whatever joblib's backend: Ray's is of the kind of multiprocessing, without results one by one."""
    one = fit(small)
    with parallel_config(backend, n_jobs=2):
        two = fit(small)
    assert one.gamma_ == two.gamma_
    assert_array_equal(one.coef_, two.coef_)


def test_new_class_after_the_fit(small):
    data, _ = small
    extra = np.full((1, data.prototypes.shape[1]), 0.3)
    grown = fit(small).add_classes(extra)
    complete = fit(small, prototypes=np.vstack([data.prototypes, extra]))
    assert_allclose(grown.similarity(data.X[:5]), complete.similarity(data.X[:5]), rtol=1e-5)
    assert_array_equal(grown.seen_, complete.seen_)


def test_candidates(small):
    data, split = small
    predicted = fit(small).predict(data.X[split.test_unseen], candidates=[0, 1])
    assert set(predicted) <= {0, 1}


@pytest.mark.parametrize(
    ("train", "validation", "words"),
    [
        ([0, 1], [2, 3], "no sample of classes that are not in train"),
        ([0, 2], [1, 3], "no sample of classes that are in train"),
        ([0, 2], [0, 1], "Sample 0 is in train and validation"),
    ],
)
def test_folds_that_cannot_calibrate(train, validation, words):
    y = np.array([0, 1, 0, 1])
    folds = [(np.array(train), np.array(validation))]
    with pytest.raises(UnseenError, match=words):
        GZSLClassifierCV(LinearSV(np.eye(2)), cv=folds).fit(np.eye(4), y)


def test_lengths_must_match():
    with pytest.raises(UnseenError, match="X has 3 samples but y has 2 labels"):
        GZSLClassifierCV(LinearSV(np.eye(2))).fit(np.eye(3), [0, 1])


# ---- mistakes in words ---------------------------------------------------------------------------------


def test_unknown_rule_for_gamma(small):
    with pytest.raises(UnseenError, match="Got gamma='best'"):
        fit(small, gamma="best")


def test_folds_by_name_are_refused(small):
    data, split = small
    with pytest.raises(UnseenError, match="Got cv='kfold', but expected a number of folds or a splitter"):
        GZSLClassifierCV(LinearSV(data.prototypes), cv="kfold").fit(data.X[split.train], data.y[split.train])


def test_a_class_instead_of_an_estimator(small):
    data, split = small
    with pytest.raises(UnseenError, match=r"Got the class LinearSV, but expected .* LinearSV\(prototypes\)"):
        GZSLClassifierCV(LinearSV).fit(data.X[split.train], data.y[split.train])


def test_a_classifier_of_seen_classes_alone_is_explained(small):
    data, split = small
    with pytest.raises(UnseenError, match=r"LogisticRegression has no score for class .* pass prototypes="):
        GZSLClassifierCV(LogisticRegression(), {"C": [1.0]}).fit(data.X[split.train], data.y[split.train])
    with pytest.raises(UnseenError, match="ESZSL has no score for class"):
        GZSLClassifierCV(ESZSL()).fit(data.X[split.train], data.y[split.train])


# ---- what people pass ------------------------------------------------------------------------------------


def test_a_data_frame_with_named_classes_is_as_good_as_arrays(small):
    pd = pytest.importorskip("pandas")
    data, split = small
    names = np.array([f"bird {c}" for c in range(len(data.class_names))])
    X = pd.DataFrame(data.X, columns=[f"channel {i}" for i in range(data.X.shape[1])])
    y = pd.Series(names[data.y])
    S = pd.DataFrame(data.prototypes, index=names)
    train = split.train
    named = GZSLClassifierCV(ESZSL(S), {"alpha": [0.1, 1.0]}).fit(X.iloc[train], y.iloc[train])
    plain = GZSLClassifierCV(ESZSL(data.prototypes), {"alpha": [0.1, 1.0]}).fit(data.X[train], data.y[train])
    assert named.gamma_ == pytest.approx(plain.gamma_)
    assert_array_equal(named.predict(X), names[plain.predict(data.X)])
    assert named.estimator_.feature_names_in_.tolist() == list(X.columns)


def test_a_pipeline_inside_is_tuned_and_calibrated(small):
    data, split = small
    X, y = data.X[split.train], data.y[split.train]
    pipeline = make_pipeline(StandardScaler(), ESZSL(data.prototypes, normalize=None))
    piped = GZSLClassifierCV(pipeline, {"eszsl__alpha": [0.1, 10.0]}, cv=split.cv()).fit(X, y)
    own = ESZSL(data.prototypes, normalize="standard")
    folded = GZSLClassifierCV(own, {"alpha": [0.1, 10.0]}, cv=split.cv()).fit(X, y)
    assert piped.best_params_["eszsl__alpha"] == folded.best_params_["alpha"]
    assert_array_equal(piped.predict(data.X), folded.predict(data.X))
    assert set(GZSLClassifierCV(pipeline, cv=split.cv()).fit(X, y).best_params_) == {
        "eszsl__alpha",
        "eszsl__beta",
    }


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("method", [LDA, LinearSV])
def test_the_whole_search_from_a_dask_array_is_that_from_one_array(small, method, rule):
    """Folds, curves, retraining, calibration, confidence."""
    dask_array = pytest.importorskip("dask.array")
    data, split = small
    X, y = data.X[split.train].astype(np.float64), data.y[split.train]
    chunked = dask_array.from_array(X, chunks=(100, 10)), dask_array.from_array(y, chunks=77)
    expected, found = (
        GZSLClassifierCV(method(data.prototypes), cv=split.cv(), gamma=rule).fit(*samples)
        for samples in ((X, y), chunked)
    )
    assert found.best_params_ == expected.best_params_
    assert found.best_params_zsl_ == expected.best_params_zsl_
    assert_allclose(found.cv_results_["mean_test_score"], expected.cv_results_["mean_test_score"], atol=1e-9)
    for name in ("gamma_", "temperature_", "best_score_"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name), rel=1e-9), name
    assert_allclose(found.coef_, expected.coef_, atol=1e-9 * np.abs(expected.coef_).max())
    assert_array_equal(found.predict(chunked[0]), expected.predict(X))


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"cv": []}, r"Got cv=\[\], but expected at least one fold"),
        ({"param_grid": []}, "expected at least one combination of parameters"),
        ({"cv": [(np.arange(20), np.array([30, -1]))]}, "expected positions of samples, from 0 to 59"),
        ({"cv": [(np.arange(20), np.array([30, 60]))]}, "expected positions of samples, from 0 to 59"),
        ({"cv": [(np.ones(60, bool), np.ones(60, bool))]}, "expected positions of samples, from 0 to 59"),
    ],
)
def test_folds_and_grids_that_make_no_sense_are_rejected(options, match):
    rng = np.random.default_rng(0)
    X, y, S = rng.normal(size=(60, 4)), np.arange(60) % 6, rng.normal(size=(7, 3))
    with pytest.raises(UnseenError, match=match):
        GZSLClassifierCV(LinearSV(S), **options).fit(X, y)


def test_a_class_without_weight_is_unseen(small):
    data, split = small
    X, y = data.X[split.train], data.y[split.train]
    gone, kept = y == y[0], y != y[0]
    found = GZSLClassifierCV(LDA(data.prototypes), {"alpha": [0.1]}).fit(X, y, sample_weight=1.0 * kept)
    expected = GZSLClassifierCV(LDA(data.prototypes), {"alpha": [0.1]}).fit(X[kept], y[kept])
    assert gone.any() and not found.seen_[y[0]]
    assert_array_equal(found.seen_, found.estimator_.seen_)
    assert found.gamma_ == pytest.approx(expected.gamma_)


def test_an_estimator_of_your_own_has_a_card_without_the_number_of_features(small):
    card = fit(small, PlainLinearSV, {"alpha": [0.1, 1.0]}).card()
    assert card.features is None and "None" not in str(card)
