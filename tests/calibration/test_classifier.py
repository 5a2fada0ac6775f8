"""Other people's classifiers, calibrated."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from unseen import ESZSL
from unseen.calibration.classifier import CalibratedClassifier
from unseen.calibration.curve import SeenUnseenCurve
from unseen.errors import UnseenError
from unseen.metrics import accuracy, harmonic_mean

LABELS = np.array(["ant", "bee", "cow", "dog"])
SEEN = ["ant", "bee"]


def samples(per_class: list[int], seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(4), per_class)
    centers = 2.0 * np.array([[1, 0], [-1, 0], [0, 1], [0, -1]])
    return centers[y] + rng.normal(size=(len(y), 2)), LABELS[y]


def h_of(predicted: np.ndarray, y: np.ndarray) -> float:
    seen = np.isin(y, SEEN)
    return harmonic_mean(accuracy(y[~seen], predicted[~seen]), accuracy(y[seen], predicted[seen]))


@pytest.fixture(scope="module")
def biased():
    """A classifier that met some classes a hundred times more often than others."""
    return LogisticRegression().fit(*samples([400, 400, 4, 4], seed=0))


@pytest.mark.parametrize("kind", ["decision_function", "predict_proba"])
def test_predictions_reach_the_promised_harmonic_mean(biased, kind):
    X, y = samples([100] * 4, seed=1)
    if kind == "predict_proba":
        biased = GaussianNB().fit(*samples([400, 400, 4, 4], seed=0))
    calibrated = CalibratedClassifier(biased, seen=SEEN).fit(X, y)
    assert h_of(calibrated.predict(X), y) == pytest.approx(calibrated.curve_.h)
    assert calibrated.curve_.h > h_of(biased.predict(X), y) + 5
    X, y = samples([500] * 4, seed=2)
    assert h_of(calibrated.predict(X), y) > h_of(biased.predict(X), y) + 5
    assert calibrated.score(X, y) > biased.score(X, y)


def test_a_function_is_as_good_as_a_classifier(biased):
    X, y = samples([50] * 4, seed=1)
    wrapped = CalibratedClassifier(biased.decision_function, seen=SEEN, classes=LABELS).fit(X, y)
    direct = CalibratedClassifier(biased, seen=SEEN).fit(X, y)
    assert wrapped.gamma_ == direct.gamma_
    numbers = CalibratedClassifier(biased.decision_function, seen=[0, 1]).fit(X, np.searchsorted(LABELS, y))
    np.testing.assert_array_equal(LABELS[numbers.predict(X)], direct.predict(X))


def test_samples_need_not_be_arrays():
    words = ["a", "bb", "ccc", "dddd"] * 3
    calibrated = CalibratedClassifier(
        lambda X: np.eye(5)[[len(word) for word in X]] + [9, 9, 9, 0, 0], seen=[0, 1, 2]
    )
    calibrated.fit(words, [len(word) for word in words])
    assert calibrated.predict(words).tolist() == [1, 2, 3, 4] * 3


@pytest.mark.parametrize("goal", ["min_seen", "min_unseen", "unseen_share"])
def test_goals_and_weights_reach_the_curve(biased, goal):
    X, y = samples([100, 20, 50, 10], seed=1)
    index = np.searchsorted(LABELS, y)
    curve = SeenUnseenCurve.from_scores(
        biased.decision_function(X), index, np.isin(LABELS, SEEN), weights="per-sample"
    )
    # more than the best harmonic mean has, or hardly an unseen sample
    wanted = {"min_seen": curve.seen + 0.1, "min_unseen": curve.unseen + 0.1, "unseen_share": 2}
    given = {goal: wanted[goal]}
    calibrated = CalibratedClassifier(biased, seen=SEEN, weights="per-sample", **given).fit(X, y)
    assert calibrated.point_ == curve.best(**given) != curve.best()


def test_two_classes_have_two_columns():
    X, y = np.array([[-2.0], [-1.0], [0.5], [2.0]]), np.array([0, 0, 1, 1])
    model = LogisticRegression().fit(X, y)
    X, y = np.array([[-1.0], [-0.5], [-0.2], [1.0]]), np.array([0, 0, 1, 1])
    calibrated = CalibratedClassifier(model, seen=[0]).fit(X, y)
    np.testing.assert_array_equal(calibrated.predict(X), y)


def test_blocks_change_nothing(biased, monkeypatch):
    X, y = samples([30] * 4, seed=1)
    whole = CalibratedClassifier(biased, seen=SEEN).fit(X, y)
    monkeypatch.setattr("unseen._core.blocks.BLOCK", 7)
    assert CalibratedClassifier(biased, seen=SEEN).fit(X, y).gamma_ == whole.gamma_


def test_it_can_be_cloned_and_keeps_its_parameters(biased):
    copy = clone(CalibratedClassifier(biased, seen=SEEN, min_seen=80))
    assert copy.get_params(deep=False)["min_seen"] == 80


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, r"Pass seen="),
        ({"seen": ["ant", "cat"]}, "seen names class 'cat'"),
        ({"seen": SEEN, "classes": LABELS[:3]}, "y names class 'dog', which is none of the 3 classes"),
        ({"seen": SEEN, "classes": np.append(LABELS, "eel")}, "expected one column for each of 5"),
    ],
)
def test_what_does_not_fit_is_refused(biased, options, message):
    with pytest.raises(UnseenError, match=message):
        CalibratedClassifier(biased, **options).fit(*samples([5] * 4, seed=1))


def test_a_thing_without_scores_is_refused():
    with pytest.raises(UnseenError, match="gives no scores"):
        CalibratedClassifier(object(), seen=[0], classes=[0, 1]).fit(np.zeros((2, 1)), [0, 1])


def test_a_sample_without_a_candidate_is_refused():
    calibrated = CalibratedClassifier(lambda X: X, seen=[0]).fit(np.eye(2), [0, 1])
    with pytest.raises(UnseenError, match="sample 1"):
        calibrated.predict(np.array([[1.0, 0.0], [-np.inf, -np.inf]]))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_data_frames_give_what_arrays_give(biased, library):
    pd, frames = pytest.importorskip("pandas"), pytest.importorskip(library)
    X, y = samples([50] * 4, seed=1)
    table = frames.DataFrame({"width": X[:, 0], "height": X[:, 1]})
    expected = CalibratedClassifier(biased, seen=SEEN).fit(X, y)

    def scores(rows):
        assert list(rows.columns) == ["width", "height"]
        return frames.DataFrame(dict(zip(LABELS, biased.decision_function(np.asarray(rows)).T)))

    labels = pd.Series(y, index=np.arange(200) + 7).astype("string")
    for seen in (SEEN, [0, 1], np.array([True, True, False, False])):
        found = CalibratedClassifier(scores, seen=seen).fit(table, labels)
        assert found.gamma_ == expected.gamma_
        assert found.classes_.tolist() == LABELS.tolist()
        np.testing.assert_array_equal(found.predict(table), expected.predict(X))


def test_a_classifier_fitted_on_a_data_frame_gets_one():
    pd = pytest.importorskip("pandas")
    X, y = samples([400, 400, 4, 4], seed=0)
    model = LogisticRegression().fit(pd.DataFrame(X, columns=["width", "height"]), y)
    X, y = samples([50] * 4, seed=1)
    table = pd.DataFrame(X, columns=["width", "height"], index=np.arange(200) + 7)
    calibrated = CalibratedClassifier(model, seen=SEEN).fit(table, pd.Series(y))  # warnings are errors here
    assert h_of(calibrated.predict(table), y) == pytest.approx(calibrated.curve_.h)


def test_the_last_step_of_a_pipeline_says_what_was_seen():
    X, y = samples([20] * 4, seed=0)
    train, prototypes = np.isin(y, SEEN), np.array([[1.0, 0], [-1, 0], [0, 1], [0, -1]])
    pd = pytest.importorskip("pandas")
    model = make_pipeline(StandardScaler(), ESZSL(pd.DataFrame(prototypes, index=LABELS)))
    calibrated = CalibratedClassifier(model.fit(X[train], y[train])).fit(X, y)
    assert calibrated.classes_[calibrated.seen_].tolist() == SEEN


def test_unknown_labels_of_a_numbered_classifier_are_told():
    calibrated = CalibratedClassifier(lambda X: X, seen=[0])
    with pytest.raises(UnseenError, match=r"y\[1\] is 5, but there are 2 classes"):
        calibrated.fit(np.eye(2), [0, 5])


@pytest.mark.parametrize(
    "labels", [np.array([0.0, 1.0, 2.5]), np.array([10, 20, 30]), np.array([7, 8, 9], object)]
)
def test_labels_of_any_type_are_labels(labels):
    scores, y = np.eye(3)[[0, 1, 2, 2, 0]] + [2, 2, 0], labels[[0, 1, 2, 2, 0]]
    calibrated = CalibratedClassifier(lambda X: X, seen=labels[:2].tolist(), classes=labels).fit(scores, y)
    assert calibrated.predict(scores).tolist() == y.tolist()
