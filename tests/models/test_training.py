"""From a data set to a model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from unseen.datasets import load
from unseen.datasets.dataset import ZeroShotDataset
from unseen.datasets.splits import training_samples
from unseen.errors import UnseenError
from unseen.methods import find_method
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


def test_auto_takes_the_best_validation_h_and_says_what_it_compared(data):
    model, card = train(data)
    alone = {name: train(data, name)[0].curve_.h for name in ("linear-sv", "eszsl", "lda")}
    assert {name: card.compared[name] for name in alone} == pytest.approx(alone, abs=0.01)
    assert card.method == max(card.compared, key=card.compared.get)
    assert type(model.estimator_) is find_method(card.method)
    assert {"linear-vs", "linear-sv", "eszsl", "sae", "lda"} <= set(card.compared)
    assert not {"ale", "sync", "cosine"} & set(card.compared)  # slow, or not of this space


def test_raw_channels_are_standardized_where_that_is_better(data):
    scales = np.logspace(-2, 4, data.X.shape[1])
    raw = replace(data, X=data.X * scales + scales)
    model, card = train(raw)
    assert card.compared["lda, standard"] > card.compared["lda, l2"] + 5
    assert card.normalize == model.estimator_.normalize == "standard"
    assert set(train(raw, "eszsl", normalize="none")[1].compared) == {"eszsl, none"}
    assert all("," not in name for name in train(data)[1].compared)


def test_one_unseen_class_is_enough_and_none_is_said(data):
    names = np.flatnonzero(data.unseen)
    one = replace(data, unseen=np.arange(len(data.unseen)) == names[0], test_unseen=None, trainval=None)
    assert train(one, "linear-sv")[1].classes["unseen"] == [data.class_names[names[0]]]
    none = replace(data, unseen=np.zeros_like(data.unseen), test_unseen=None, trainval=None)
    with pytest.warns(UserWarning, match="No unseen class is known yet"):
        _, card = train(none, "linear-sv")
    assert card.gamma_rule == "paper" and card.classes["unseen"] == []
    assert card.expected.unseen[1] <= card.expected.unseen[0] <= card.expected.unseen[2]


def test_without_features_there_is_no_training(data):
    with pytest.raises(UnseenError, match="feature"):
        training_samples(replace(data, X=None, missing=("There are no features.",)))
