"""From a data set to a model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from unseen.datasets import load_dataset
from unseen.datasets.dataset import ZeroShotDataset
from unseen.datasets.splits import training_samples
from unseen.errors import UnseenError
from unseen.models.training import train
from unseen.selection.auto import fit_best
from unseen.selection.search import GZSLClassifierCV


@pytest.fixture(scope="module")
def data() -> ZeroShotDataset:
    return load_dataset(
        "synthetic", n_samples=600, n_features=16, n_classes=16, n_attributes=8, random_state=2
    )


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
    scores = [name for name in model.cv_results_ if name.endswith("_test_score")]
    assert len([name for name in scores if name.startswith("split")]) == 2


def test_auto_is_lda_with_the_scaling_that_the_folds_prefer(data):
    model, card = train(data)
    named = train(data, "lda")[0]
    assert set(card.compared) == {"lda", "lda standard"}
    assert card.method == "lda"
    assert_array_equal(model.coef_, named.coef_)
    assert set(train(data, normalize="l2")[1].compared) == {"lda l2"}


class Scored(GZSLClassifierCV):
    """A search whose folds have given scores."""

    def choose_params(self, samples):
        self.cv_results_ = {"mean_test_score": np.array([1.0])}
        self.cv_results_ |= {f"split{k}_test_score": np.array([h]) for k, h in enumerate(self.estimator)}
        self.best_score_ = float(np.mean(self.estimator))
        return [], []

    def finish(self, samples, folds, chosen):
        self.is_finished = True


@pytest.mark.parametrize(("by_mean", "expected"), [("", "aacc"), ("bcd", "abbd"), ("b", "abbb")])
def test_a_candidate_leads_if_every_fold_agrees_or_by_its_mean(by_mean, expected):
    scores = {"a": [1, 2, 3], "b": [4, 4, 2.9], "c": [2, 2.1, 4], "d": [2, 5, 9]}
    for n, leader in enumerate(expected, start=1):
        searches = {name: Scored(scores[name]) for name in list(scores)[:n]}
        assert fit_best(searches, None, by_mean) == leader
        assert [name for name in searches if hasattr(searches[name], "is_finished")] == [leader]


def test_raw_channels_are_standardized_if_the_folds_agree(data):
    scales = np.logspace(-2, 4, data.X.shape[1])
    raw = replace(data, X=data.X * scales + scales)
    model, card = train(raw, "lda")
    assert card.compared["lda standard"] > card.compared["lda"] + 5
    assert card.normalize == model.estimator_.normalize == "standard"
    assert "scaling           standard" in str(card)
    assert set(train(raw, "eszsl", normalize="none")[1].compared) == {"eszsl none"}


def test_square_roots_are_compared_if_no_feature_is_negative(data):
    positive = replace(data, X=np.maximum(data.X, 0) ** 4)
    assert {"lda", "lda sqrt", "lda standard"} == set(train(positive, "lda")[1].compared)
    assert "lda sqrt" not in train(data, "lda")[1].compared


def test_another_method_is_compared_with_cosine_if_widths_agree(data):
    """Noise in the space of the descriptions: the named method stays, and the check says what is better."""
    rng = np.random.default_rng(0)
    shared = replace(data, X=data.prototypes[data.y] + 0.3 * rng.normal(size=(len(data.y), 8)))
    with pytest.warns(UserWarning, match="U011"):
        model, card = train(shared, "linear-vs", normalize="l2")
    assert type(model.estimator_).__name__ == "LinearVS"
    assert card.compared["cosine"] >= card.compared["linear-vs l2"]
    assert [check.code for check in card.checks if check.code == "U011"] == ["U011"]
    assert "cosine" not in train(data, "linear-vs", normalize="l2")[1].compared


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


def test_what_may_be_wrong_is_a_warning_and_on_the_card(data):
    equal = replace(data, prototypes=data.prototypes.copy())
    equal.prototypes[1] = equal.prototypes[0]
    with pytest.warns(UserWarning, match="U001 Equal descriptions"):
        _, card = train(equal, "linear-sv", normalize="l2")
    assert "U001" in {check.code for check in card.checks}
