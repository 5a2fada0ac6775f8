"""One iterator scores every kind of model, and gives what the model itself gives."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from problems import linear_problem
from unseen import LDA, GZSLClassifierCV, LinearSV
from unseen._core import blocks, scoring
from unseen._core.scoring import all_scores, class_scores, iter_scores
from unseen.errors import UnseenError


class Doubled(LinearSV):
    """A method with scores of its own."""

    def similarity(self, X):
        return 2 * super().similarity(X)


def gather(model, X, *groups):
    """Return the scores of each group, put together from copies of the blocks."""
    parts = [[scores.copy() for scores in found] for _, found in iter_scores(model, X, *groups)]
    return [np.concatenate(group) for group in zip(*parts)]


@pytest.fixture
def problem():
    return linear_problem(n=300, classes=12, seen=9)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(blocks, "SCORES", 64)  # blocks of 64 rows, however few classes


@pytest.mark.parametrize("normalize", ["l2", "standard", None])
@pytest.mark.parametrize("many", [False, True])
def test_groups_are_columns_of_the_linear_classifier(problem, normalize, many, monkeypatch):
    X, y, S = problem
    model = LDA(S, normalize=normalize).fit(X, y)
    rows = X / np.linalg.norm(X, axis=1, keepdims=True) if normalize == "l2" else X
    expected = rows @ model.coef_.T + model.intercept_
    if many:
        monkeypatch.setattr(scoring, "MANY_CLASSES", 3)
        monkeypatch.setattr("unseen.base.MANY_CLASSES", 3)
    columns = np.array([7, 2, 4, 9])
    first, second = gather(model, X, columns, slice(3, 8))
    assert_allclose(first, expected[:, columns], atol=1e-9)
    assert_allclose(second, expected[:, 3:8], atol=1e-9)


def test_rows_cover_all_samples_in_order(problem):
    X, y, S = problem
    places = [rows for rows, _ in iter_scores(LinearSV(S).fit(X, y), X)]
    assert len(places) > 1
    assert_array_equal(np.concatenate([np.arange(len(X))[rows] for rows in places]), np.arange(len(X)))


def test_every_kind_of_model_gives_its_own_scores(problem, tmp_path):
    X, y, S = problem
    np.save(tmp_path / "X.npy", X)
    linear, stranger = LinearSV(S).fit(X, y), LogisticRegression().fit(X, y)
    piped = make_pipeline(StandardScaler(), LinearSV(S)).fit(X, y)
    search = GZSLClassifierCV(LinearSV(S), gamma="paper").fit(X, y)
    for model, expected in [
        (linear, linear.similarity(X)),
        (Doubled(S).fit(X, y), 2 * linear.similarity(X)),
        (stranger, stranger.decision_function(X)),
        (piped, piped.decision_function(X)),
        (search, search.similarity(X)),
        (linear.similarity, linear.similarity(X)),
    ]:
        for samples in (X, tmp_path / "X.npy", np.load(tmp_path / "X.npy", mmap_mode="r")):
            assert_allclose(gather(model, samples)[0], expected, rtol=1e-12)
            assert_allclose(all_scores(model, samples), expected, rtol=1e-12)


def test_a_frame_is_scored_by_its_column_names(problem):
    X, y, S = problem
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])])
    model = LinearSV(S).fit(frame, y)
    assert_array_equal(all_scores(model, frame), model.similarity(frame))


def test_one_column_for_two_classes_becomes_two():
    X, y = np.array([[-1.0], [-0.5], [0.5], [1.0]]), [0, 0, 1, 1]
    model = LogisticRegression().fit(X, y)
    scores = class_scores(model, X)
    assert scores.shape == (4, 2)
    assert_array_equal(scores.argmax(axis=1), model.predict(X))


def test_what_gives_no_scores_is_rejected():
    with pytest.raises(UnseenError, match="str gives no scores"):
        next(iter_scores("model", np.zeros((1, 1))))
