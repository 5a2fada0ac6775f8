"""From a data set to a model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from unseen.datasets import load
from unseen.datasets.dataset import ZeroShotDataset
from unseen.datasets.splits import training_samples
from unseen.errors import UnseenError
from unseen.models.training import train


@pytest.fixture(scope="module")
def data() -> ZeroShotDataset:
    return load("synthetic", n_samples=600, n_features=16, n_classes=16, n_attributes=8, random_state=2)


def test_classes_go_by_their_names(data):
    model, _ = train(data, "linear-sv")
    assert model.classes_.tolist() == list(data.class_names)
    assert set(model.predict(data.X)) <= set(data.class_names)
    assert model.seen_.tolist() == data.seen.tolist()


@pytest.mark.parametrize("rule", ["retention", "paper"])
def test_no_test_sample_takes_part(data, rule):
    own = replace(data, test_seen=None, trainval=None)
    test_seen = training_samples(own)[::5]
    official = replace(own, test_seen=test_seen)
    samples = training_samples(official)
    assert not np.intersect1d(samples, test_seen).size
    assert data.seen[data.y[samples]].all()
    # other test samples leave model and card as they are
    X = np.array(data.X)
    X[np.setdiff1d(np.arange(len(X)), samples)] = 7
    model, card = train(official, "linear-sv", gamma=rule)
    other, other_card = train(replace(official, X=X), "linear-sv", gamma=rule)
    np.testing.assert_array_equal(model.coef_, other.coef_)
    assert replace(card, checksum="") == replace(other_card, checksum="")
    # other descriptions of the unseen classes change neither weights nor parameters
    S = data.prototypes.copy()
    S[data.unseen] += 1
    other, other_card = train(replace(official, prototypes=S), "linear-sv", gamma=rule)
    np.testing.assert_array_equal(model.coef_[data.seen], other.coef_[data.seen])
    assert card.params == other_card.params
    assert (card.gamma == other_card.gamma) == (rule == "paper")


def test_folds_of_the_data_set_are_used(data):
    seen = np.flatnonzero(data.seen)
    folds = ((seen[3:], seen[:3]), (seen[:-4], seen[-4:]))
    model, _ = train(replace(data, class_folds=folds), "linear-sv", gamma="paper")
    assert len([name for name in model.cv_results_ if name.endswith("_h") and name.startswith("split")]) == 2


def test_without_features_there_is_no_training(data):
    with pytest.raises(UnseenError, match="feature"):
        training_samples(replace(data, X=None, missing=("There are no features.",)))
