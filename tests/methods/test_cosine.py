"""The training-free baseline: the angle between a sample and a description, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics.pairwise import cosine_similarity

from unseen import Cosine, UnseenError


@pytest.fixture
def embeddings():
    rng = np.random.default_rng(0)
    S = rng.normal(size=(8, 12))
    y = np.arange(60) % 6
    return S[y] + 0.8 * rng.normal(size=(60, 12)), y, S


def test_scores_are_cosines_whatever_the_samples(embeddings):
    X, y, S = embeddings
    model = Cosine(S).fit(X, y)
    assert_allclose(model.similarity(X), cosine_similarity(X, S), rtol=1e-12)
    fewer = Cosine(S).fit(X[:6], y[:6])
    assert_array_equal(fewer.coef_, model.coef_)


def test_a_new_class_is_one_more_direction(embeddings):
    X, y, S = embeddings
    model = Cosine(S[:7]).fit(X, y).add_classes(S[7:])
    assert_allclose(model.similarity(X), cosine_similarity(X, S), rtol=1e-12)


def test_descriptions_of_another_space_are_refused(embeddings):
    X, y, S = embeddings
    with pytest.raises(UnseenError, match="prototypes has 5 columns and X has 12 features"):
        Cosine(S[:, :5]).fit(X, y)


def test_without_prototypes_the_class_means_describe_the_classes(embeddings):
    X, y, _ = embeddings
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    means = np.array([unit[y == c].mean(axis=0) for c in range(6)])
    assert_allclose(Cosine().fit(X, y).similarity(X), cosine_similarity(X, means), rtol=1e-10)
