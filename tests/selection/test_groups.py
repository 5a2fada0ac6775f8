"""Predictions at the level of a taxonomy that is sure enough."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from unseen import LDA, GZSLClassifierCV
from unseen._core.labels import UNKNOWN
from unseen.datasets import load_dataset
from unseen.datasets.splits import make_split
from unseen.errors import UnseenError

GRID = {"alpha": [0.03], "bandwidth": [2.0], "shrinkage": [0.7]}


@pytest.fixture(scope="module")
def digits():
    data = load_dataset("digits")
    split = make_split(data)
    model = GZSLClassifierCV(LDA(data.prototypes), GRID, cv=split.cv())
    test = np.concatenate([split.test_seen, split.test_unseen])
    return model.fit(data.X[split.train], data.y[split.train]), data.X[test], data.y[test]


def test_no_confidence_gives_classes_and_more_gives_coarser_groups(digits):
    model, X, _ = digits
    parity = {digit: ["even", "odd"][digit % 2] for digit in range(10)}
    assert model.predict(X, taxonomy=parity, confidence=0.0).tolist() == model.predict(X).astype(str).tolist()
    found = {share: model.predict(X, taxonomy=parity, confidence=share) for share in (0.6, 0.9)}
    p = model.predict_proba(X)
    even = p[:, ::2].sum(axis=1)
    for share, labels in found.items():
        assert labels.dtype.kind == "U"
        group = np.select([even >= share, even <= 1 - share], ["even", "odd"], UNKNOWN)
        best = model.predict(X).astype(str)
        assert np.array_equal(labels, np.where(p.max(axis=1) >= share, best, group))
    assert (found[0.6] == UNKNOWN).sum() < (found[0.9] == UNKNOWN).sum()


def test_candidates_and_rejection_apply_to_groups(digits):
    model, X, _ = digits
    parity = pd.DataFrame({"class": range(10), "parity": ["even", "odd"] * 5})
    labels = model.predict(X, [0, 2, 3], taxonomy=parity, confidence=0.7)
    assert set(labels) <= {"0", "2", "3", "even", "odd", UNKNOWN} and "even" in labels
    rejected = model.predict(X, reject=0.3) == -1
    labels = model.predict(X, taxonomy=parity, confidence=0.0, reject=0.3)
    assert np.array_equal(labels == UNKNOWN, rejected)
    assert model.predict(X[:2].tolist(), taxonomy=parity).shape == (2,)


def test_wrong_groups_raise(digits):
    model, X, _ = digits
    with pytest.raises(UnseenError, match="names 9 classes that have no line in taxonomy: 1, 2"):
        model.predict(X, taxonomy={0: "round"})
    with pytest.raises(UnseenError, match="Got confidence=80"):
        model.predict(X, taxonomy=dict.fromkeys(range(10), "any"), confidence=80)


def test_species_of_birds_are_answered_by_their_group_if_not_by_name(real_data):
    data = load_dataset(real_data / "xlsa17" / "CUB", features="clip_b16")
    split = make_split(data)
    names = np.array(data.class_names)
    groups = {name: name.split(".")[-1].split("_")[-1] for name in names}  # 001.Black_footed_Albatross
    model = GZSLClassifierCV(LDA(dict(zip(names, data.prototypes))), GRID, cv=split.cv())
    model.fit(data.X[split.train], names[data.y[split.train]])
    for test in (split.test_seen, split.test_unseen):
        y, labels = (
            names[data.y[test]],
            model.predict(data.X[test], taxonomy={n: [g] for n, g in groups.items()}),
        )
        species, unknown = np.isin(labels, names), labels == UNKNOWN
        group = ~species & ~unknown
        of_y = np.array([groups[name] for name in y])
        assert np.mean(labels[species] == y[species]) >= 0.75  # of a confidence of 0.8
        assert np.mean(labels[group] == of_y[group]) >= 0.75
        assert np.mean(~unknown) > np.mean(species) + 0.2
