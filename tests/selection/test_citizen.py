"""A scikit-learn citizen: tables, pipelines inside and around, folds, scorers and grids as anywhere."""

from __future__ import annotations

import pickle
import pydoc
import re
from inspect import signature
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from problems import linear_problem
from unseen import ESZSL, LDA, SAE, CalibratedClassifier, GZSLClassifierCV, LinearSV, UnseenError
from unseen.datasets.splits import GZSLFolds
from unseen.metrics import gzsl_accuracies, gzsl_scorer

GRID = {"alpha": [0.1, 1.0, 10.0]}


class Tables(NamedTuple):
    """What a user of pandas has: samples, their labels, and one row per class."""

    X: pd.DataFrame
    y: pd.Series
    P: pd.DataFrame


@pytest.fixture(scope="module")
def tables() -> Tables:
    X, y, S = linear_problem(400, features=12, attributes=6, classes=12, seen=10, seed=3)
    names = np.array([f"bird {c}" for c in "abcdefghijkl"])
    return Tables(
        pd.DataFrame(X, columns=[f"x{i}" for i in range(12)]),
        pd.Series(names[y], name="bird"),
        pd.DataFrame(S, index=names, columns=[f"attribute {i}" for i in range(6)]),
    )


@pytest.fixture(scope="module")
def fitted(tables):
    X, y, P = tables
    return GZSLClassifierCV(ESZSL(P), GRID).fit(X, y)


# ---- tables ----------------------------------------------------------------------------------------------


def test_polars_gives_what_pandas_gives(tables, fitted):
    pl = pytest.importorskip("polars")
    X, y, P = tables
    X_polars, y_polars = pl.DataFrame(dict(X)), pl.Series(y.to_list())
    search = GZSLClassifierCV(ESZSL(P), GRID).fit(X_polars, y_polars)
    assert search.best_params_ == fitted.best_params_
    assert search.gamma_ == pytest.approx(fitted.gamma_, rel=1e-6)  # another layout, another order of sums
    assert_array_equal(search.predict(X_polars), fitted.predict(X))
    method = LDA(P).fit(X_polars, y_polars)
    assert_allclose(method.similarity(X_polars), LDA(P).fit(X, y).similarity(X), rtol=1e-6, atol=1e-9)
    seen = list(P.index[:6])
    calibrated = CalibratedClassifier(method, seen=seen).fit(X_polars, y_polars)
    assert calibrated.gamma_ == pytest.approx(
        CalibratedClassifier(method, seen=seen).fit(X, y).gamma_, rel=1e-6
    )


@pytest.mark.parametrize("wrap", [lambda m: m, lambda m: make_pipeline(StandardScaler(), m)])
@pytest.mark.parametrize("method", [LDA, LinearSV, SAE])
def test_a_data_frame_gives_what_an_array_gives(tables, method, wrap):
    """No step may lose the names of the columns and warn of it."""
    X, y, P = tables
    framed = GZSLClassifierCV(wrap(method(P)), {}).fit(X, y)
    plain = GZSLClassifierCV(wrap(method(P)), {}).fit(X.to_numpy(), y.to_numpy())
    assert_allclose(framed.gamma_, plain.gamma_)  # columns lie otherwise
    new = P.iloc[[0]].rename(index={"bird a": "bird m"})
    few = method is LDA  # which takes samples of new classes
    framed.add_classes(new, X=X[:3] if few else None, y=["bird m"] * 3 if few else None)
    plain.add_classes(new, X=X[:3].to_numpy() if few else None, y=["bird m"] * 3 if few else None)
    assert_array_equal(framed.predict(X), plain.predict(X.to_numpy()))


def test_features_have_names_as_in_scikit_learn(tables, fitted):
    X = tables.X
    assert_array_equal(fitted.feature_names_in_, X.columns)
    assert fitted.n_features_in_ == 12
    with pytest.raises(ValueError, match="same order"):
        fitted.predict(X[X.columns[::-1]])
    unnamed = GZSLClassifierCV(ESZSL(tables.P), GRID).fit(X.to_numpy(), tables.y)
    assert not hasattr(unnamed, "feature_names_in_") and unnamed.n_features_in_ == 12


@pytest.mark.parametrize("kind", ["object", "string", "category", "column"])
def test_labels_in_any_column_of_pandas(tables, fitted, kind):
    X, y, P = tables
    if kind == "column":
        with pytest.warns(Warning, match="column-vector y"):
            search = GZSLClassifierCV(ESZSL(P), GRID).fit(X, y.to_frame())
    else:
        search = GZSLClassifierCV(ESZSL(P), GRID).fit(X, y.astype(kind))
    assert (search.best_params_, search.gamma_) == (fitted.best_params_, fitted.gamma_)


@pytest.mark.parametrize("dtype", ["object", "string", "category"])
def test_a_missing_label_is_refused_by_its_place(tables, dtype):
    X, y, P = tables
    with pytest.raises(UnseenError, match=r"y\[7\] is .*: every sample needs a label"):
        GZSLClassifierCV(ESZSL(P), GRID).fit(X, y.astype(dtype).mask(y.index == 7))
    with pytest.raises(UnseenError, match=r"y\[7\] is .*: every sample needs a label"):
        ESZSL(P).fit(X, y.astype(dtype).mask(y.index == 7))
    with pytest.raises(UnseenError, match=r"y\[7\] is empty: every sample needs a label"):
        GZSLClassifierCV(ESZSL(P), GRID).fit(X, y.mask(y.index == 7, ""))
    with pytest.raises(UnseenError, match=r"y\[7\] is nan"):
        GZSLClassifierCV(ESZSL(P), GRID).fit(X, np.where(y.index == 7, np.nan, 1.0))


def test_labels_without_a_description_are_named_all_at_once(tables):
    X, y, P = tables
    with pytest.raises(UnseenError, match=r"names 10 classes that have no prototype; 10 look alike: BIRD"):
        GZSLClassifierCV(make_pipeline(StandardScaler(), ESZSL(P))).fit(X, y.str.upper())


def test_a_column_of_class_names_is_found(tables):
    X, y, P = tables
    pl = pytest.importorskip("polars")
    expected = ESZSL(P).fit(X, y)
    for described in (P.reset_index(), pl.DataFrame(dict(P.reset_index()))):
        assert_array_equal(ESZSL(described).fit(X, y).coef_, expected.coef_)


# ---- pipelines -------------------------------------------------------------------------------------------


def test_a_pipeline_around_it_is_a_search_on_what_the_pipeline_gives(tables):
    X, y, P = tables
    pipeline = make_pipeline(StandardScaler(), GZSLClassifierCV(ESZSL(P), GRID)).fit(X, y)
    scaled = StandardScaler().fit_transform(X)
    search = GZSLClassifierCV(ESZSL(P), GRID).fit(scaled, y)
    assert pipeline[-1].gamma_ == search.gamma_
    assert_array_equal(pipeline.predict(X), search.predict(scaled))
    assert_array_equal(pipeline.decision_function(X), search.decision_function(scaled))
    assert_array_equal(pipeline.classes_, P.index)
    assert 0.5 < pipeline.score(X, y) <= 1


def test_gamma_is_subtracted_from_the_scores_of_a_pipeline_inside(tables):
    X, y, P = tables
    inside = GZSLClassifierCV(make_pipeline(StandardScaler(), ESZSL(P)), {}).fit(X, y)
    expected = inside.estimator_.decision_function(X) - np.where(inside.seen_, inside.gamma_, 0)
    assert inside.gamma_
    assert_array_equal(inside.similarity(X), expected)
    assert_array_equal(inside.predict(X), P.index.to_numpy()[expected.argmax(axis=1)])


def test_steps_may_give_data_frames(tables):
    """Inside and around; no step warns of names that it does not know."""
    X, y, P = tables
    inside = GZSLClassifierCV(make_pipeline(StandardScaler(), ESZSL(P)).set_output(transform="pandas"), {})
    around = make_pipeline(StandardScaler(), GZSLClassifierCV(ESZSL(P), {})).set_output(transform="pandas")
    plain = make_pipeline(StandardScaler(), GZSLClassifierCV(ESZSL(P), {})).fit(X, y)
    assert_array_equal(around.fit(X, y).predict(X), plain.predict(X))
    assert_array_equal(inside.fit(X, y).feature_names_in_, X.columns)


def test_a_pipeline_inside_is_fitted_anew_in_every_fold(tables):
    """What a step learns from validation samples would leak into selection."""
    X, y, P = tables
    seen_sizes = []

    class Counting(StandardScaler):
        def fit(self, X, y=None, sample_weight=None):
            seen_sizes.append(len(X))
            return super().fit(X, y)

    folds = list(GZSLFolds(3).split(X, y))
    grid = {"eszsl__alpha": [0.1, 1.0]}
    search = GZSLClassifierCV(make_pipeline(Counting(), ESZSL(P)), grid, cv=folds, gamma="paper").fit(X, y)
    assert sorted(set(seen_sizes)) == sorted({len(X), *(len(train) for train, _ in folds)})
    assert list(search.best_params_) == ["eszsl__alpha"]
    assert_array_equal(search.feature_names_in_, X.columns)


def test_steps_around_and_parameters_inside_are_tuned_together(tables):
    X, y, P = tables
    pipeline = make_pipeline(PCA(random_state=0), GZSLClassifierCV(ESZSL(P), GRID))
    grid = {"pca__n_components": [6, 12], "gzslclassifiercv__estimator__beta": [0.1, 1.0]}
    search = GridSearchCV(pipeline, grid, cv=GZSLFolds(2), scoring=gzsl_scorer).fit(X, y)
    assert set(search.best_params_) == set(grid)
    assert (
        search.best_estimator_[-1].estimator.beta == search.best_params_["gzslclassifiercv__estimator__beta"]
    )
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


# ---- model selection -------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrap", [lambda m: m, lambda m: make_pipeline(StandardScaler(), m)])
def test_cross_validation_gives_the_harmonic_mean_of_every_fold(tables, wrap):
    X, y, P = tables
    estimator = wrap(GZSLClassifierCV(ESZSL(P), GRID))
    found = cross_validate(
        estimator, X, y, cv=GZSLFolds(3), scoring={"h": gzsl_scorer, "accuracy": "accuracy"}
    )
    for h, (train, test) in zip(found["test_h"], GZSLFolds(3).split(X, y), strict=True):
        model = clone(estimator).fit(X.iloc[train], y.iloc[train])
        assert h == gzsl_accuracies(y.iloc[test], model.predict(X.iloc[test]), y.iloc[train].unique()).h


def test_a_grid_search_chooses_the_best_harmonic_mean(tables):
    X, y, P = tables
    search = GridSearchCV(LinearSV(P), {"alpha": [1e-4, 1e4]}, cv=GZSLFolds(3), scoring=gzsl_scorer)
    search.fit(X, y)
    assert search.best_index_ == np.argmax(search.cv_results_["mean_test_score"])
    assert_array_equal(search.predict(X), clone(search.best_estimator_).fit(X, y).predict(X))


def test_probabilities_are_those_of_the_calibrated_scores(tables, fitted):
    X = tables.X
    found = fitted.predict_proba(X)
    assert_allclose(found.sum(axis=1), 1)
    assert_array_equal(fitted.classes_[found.argmax(axis=1)], fitted.predict(X))


@pytest.fixture
def routing():
    with config_context(enable_metadata_routing=True):
        yield


def test_groups_and_weights_are_routed_through_pipelines_and_cross_validation(tables, routing):
    X, y, P = tables
    groups, weight = np.arange(len(y)) // 4, np.linspace(1, 2, len(y))
    search = GZSLClassifierCV(ESZSL(P), GRID, gamma="paper").set_fit_request(groups=True, sample_weight=True)
    search.set_score_request(sample_weight=True)
    pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), search)
    fitted = pipeline.fit(X, y, groups=groups, sample_weight=weight)
    scaled = StandardScaler().fit_transform(X)
    alone = GZSLClassifierCV(ESZSL(P), GRID, gamma="paper").fit(
        scaled, y, groups=groups, sample_weight=weight
    )
    assert_allclose(fitted[-1].coef_, alone.coef_)
    params = {"groups": groups, "sample_weight": weight}
    found = cross_validate(search, X, y, cv=2, params=params, error_score="raise")
    assert np.isfinite(found["test_score"]).all()


def test_the_parameters_of_predict_are_not_metadata():
    assert hasattr(GZSLClassifierCV, "set_fit_request")
    assert not hasattr(GZSLClassifierCV, "set_predict_request")


def test_a_number_of_folds_is_enough(tables):
    X, y, P = tables
    found = GZSLClassifierCV(ESZSL(P), GRID, cv=5, gamma="paper").fit(X, y)
    given = GZSLClassifierCV(ESZSL(P), GRID, cv=GZSLFolds(5), gamma="paper").fit(X, y)
    numpy = GZSLClassifierCV(ESZSL(P), GRID, cv=np.int64(5), gamma="paper").fit(X, y)
    assert numpy.gamma_ == found.gamma_
    assert "split4_test_score" in found.cv_results_ and "split5_test_score" not in found.cv_results_
    assert found.gamma_ == given.gamma_


def test_results_are_in_the_form_of_scikit_learn(tables, fitted):
    results = fitted.cv_results_
    best = int(np.argmin(results["rank_test_score"]))
    assert results["rank_test_score"][best] == 1
    assert results["params"][best] == fitted.best_params_
    assert results["mean_test_score"][best] == fitted.best_score_ == results["mean_test_score"].max()
    assert results["param_alpha"].tolist() == [params["alpha"] for params in results["params"]]


def test_a_frozen_classifier_is_calibrated(tables):
    X, y, P = tables
    frozen = FrozenEstimator(ESZSL(P).fit(X, y))
    new = X.iloc[:20] + 0.1
    labels = y.iloc[:20].where(np.arange(20) > 4, P.index[-1])
    found = CalibratedClassifier(frozen).fit(new, labels)
    assert found.gamma_ == CalibratedClassifier(frozen.estimator).fit(new, labels).gamma_


def test_the_best_classes_come_as_a_table(tables, fitted):
    top = fitted.predict_top(tables.X.iloc[:7], k=2)
    assert list(top.columns) == ["sample", "rank", "class", "probability", "kind"]
    assert_array_equal(top[top["rank"] == 1]["class"], fitted.predict(tables.X.iloc[:7]))
    p = fitted.predict_proba(tables.X.iloc[:7])
    assert_allclose(top[top["rank"] == 2]["probability"], np.sort(p, axis=1)[:, -2])
    with pytest.raises(UnseenError, match="Got k=0"):
        fitted.predict_top(tables.X, k=0)


def test_help_is_short_and_methods_of_scikit_learn_work_as_before(tables, fitted):
    text = pydoc.plain(pydoc.render_doc(GZSLClassifierCV))
    assert len(text.splitlines()) <= 250
    for name in ("predict_set", "recalibrate", "set_fit_request", "get_params", "score"):
        assert f" {name}(self" in text
    assert fitted.score(tables.X, tables.y) == np.mean(fitted.predict(tables.X) == tables.y)
    assert "sample_weight" in signature(GZSLClassifierCV.set_fit_request).parameters
    assert clone(fitted).set_params(estimator__alpha=3.0).estimator.alpha == 3.0

    class Own(GZSLClassifierCV):
        """A subclass has what its parent has."""

    assert Own(fitted.estimator).get_params().keys() == fitted.get_params().keys()
    assert hasattr(Own, "set_fit_request")


def test_what_was_held_out_is_shown_in_one_line(fitted):
    """Of numbers and sizes, not of arrays."""
    held_out = fitted.held_out_
    n = len(held_out.cross_fitted.y)
    form = r"HeldOut\(\d+ samples of seen classes, \d+ of held-out classes; retention 0\.\d+\)"
    assert re.fullmatch(form, repr(held_out))
    assert repr(held_out.rejection).startswith(f"Rejection(auroc={held_out.rejection.auroc:.3f}, ")
    assert repr(held_out.cross_fitted) == f"Trial({n} samples of seen classes, 0 of others)"


class Listener:
    """A callback that writes down which tasks end."""

    def __init__(self):
        self.ended, self.open = [], 0

    def setup(self, estimator, context):
        self.open += 1

    def teardown(self, estimator, context):
        self.open -= 1

    def on_fit_task_begin(self, estimator, context):
        """Nothing to note."""

    def on_fit_task_end(self, estimator, context):
        self.ended.append(context.task_name)


def test_callbacks_of_scikit_learn_hear_how_far_a_fit_is(tables, fitted):
    pytest.importorskip("sklearn.callback")
    X, y, P = tables
    heard = Listener()
    search = GZSLClassifierCV(ESZSL(P), GRID).set_callbacks(heard).fit(X, y)
    stages = ["choosing parameters", "rehearsing", "fit"]
    assert [name for name in heard.ended if name != "part"] == stages
    assert heard.ended.count("part") == 3 + 5 and heard.open == 0
    assert search.gamma_ == fitted.gamma_
    with pytest.raises(UnseenError, match="expected one goal"):
        search.set_params(min_seen=50.0, min_unseen=50.0).fit(X, y)
    assert heard.open == 0
    pickle.dumps(search.set_callbacks())
