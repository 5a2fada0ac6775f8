"""Splits: nothing leaks, and counts are the paper's."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
import small_data as small
from unseen.datasets import ZeroShotDataset, load_dataset
from unseen.datasets.splits import (
    GZSLFolds,
    GZSLSplit,
    _cell_counts,
    deal_classes,
    draw,
    make_split,
    seen_samples,
    share_of,
    training_samples,
)
from unseen.errors import UnseenError


def dataset(counts, n_unseen=2, class_folds=None, test_seen=None) -> ZeroShotDataset:
    """Return a data set with the given number of samples per class; the last classes are unseen."""
    y = np.random.default_rng(0).permutation(np.repeat(np.arange(len(counts)), counts))
    unseen = np.arange(len(counts)) >= len(counts) - n_unseen
    return ZeroShotDataset(
        name="counts",
        X=np.zeros((len(y), 1), dtype=np.float32),
        y=y,
        prototypes=np.eye(len(counts)),
        class_names=tuple(map(str, range(len(counts)))),
        unseen=unseen,
        class_folds=class_folds,
        test_seen=test_seen,
    )


def parts(split: GZSLSplit) -> list[np.ndarray]:
    return [split.train, split.test_seen, split.test_unseen]


# ---- properties ----------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(
    counts=st.lists(st.integers(3, 25), min_size=6, max_size=14),
    n_folds=st.integers(2, 5),
    rule=st.sampled_from(["official", "paper"]),
    seed=st.integers(0, 10),
)
def test_nothing_leaks(counts, n_folds, rule, seed):
    data = dataset(counts)
    split = make_split(data, rule=rule, n_folds=n_folds, random_state=seed)
    np.testing.assert_array_equal(np.sort(np.concatenate(parts(split))), np.arange(len(data.y)))
    assert set(data.y[split.test_unseen]) == set(np.flatnonzero(data.unseen))
    assert set(data.y[split.train]) == set(np.flatnonzero(data.seen))  # no class is lost to the test set
    assert len(split.folds) == n_folds
    for fold in split.folds:
        used = np.concatenate([fold.train, fold.seen_val, fold.val])
        np.testing.assert_array_equal(np.sort(used), split.train)
        assert not set(data.y[fold.train]) & set(data.y[fold.val])
        assert set(data.y[fold.seen_val]) <= set(data.y[fold.train])
        assert len(set(data.y[fold.val])) >= 2 and len(set(data.y[fold.train])) >= 2


@settings(max_examples=20, deadline=None)
@given(counts=st.lists(st.integers(3, 25), min_size=6, max_size=14), seed=st.integers(0, 10))
def test_cv_positions_name_the_same_samples(counts, seed):
    split = make_split(dataset(counts), random_state=seed)
    for fold, (train, validation) in zip(split.folds, split.cv(), strict=True):
        np.testing.assert_array_equal(split.train[train], fold.train)
        np.testing.assert_array_equal(split.train[validation], np.concatenate([fold.seen_val, fold.val]))


def test_a_seed_repeats_and_another_differs():
    data = load_dataset("digits")
    first, again, other = (make_split(data, random_state=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.test_seen, again.test_seen)
    np.testing.assert_array_equal(first.folds[1].seen_val, again.folds[1].seen_val)
    assert not np.array_equal(first.test_seen, other.test_seen)


@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_cell_counts_miss_as_little_as_possible(data):
    n_cells = data.draw(st.integers(1, 4))
    sizes = np.array(data.draw(st.lists(st.integers(1, 12), min_size=n_cells, max_size=n_cells)))
    row = st.lists(st.integers(0, 1), min_size=n_cells, max_size=n_cells)
    kinds = np.array(data.draw(st.lists(row, min_size=1, max_size=6)), dtype=float)
    targets = share_of(kinds @ sizes, 0.4)
    counts = _cell_counts(kinds, sizes, targets, 0.4, sizes - 1)
    assert np.all((counts >= 0) & (counts <= sizes - 1))
    miss = int(np.abs(targets - kinds @ counts).sum())
    assert miss == oracle.least_miss(kinds, sizes, targets, sizes - 1)


@pytest.mark.parametrize(
    ("n_train", "n_val", "row"),
    [(580, 65, (7424, 1856, 2320, 1040, 260)), (581, 64, (7437, 1859, 2324, 1024, 256))],
)
def test_the_papers_scenes(n_train, n_val, row):
    """SUN has 20 samples per class, so its rows of the paper's table follow from the class counts alone."""
    rng = np.random.default_rng(0)
    shuffled = [rng.permutation(n_train + n_val) for _ in range(3)]
    folds = tuple((np.sort(s[:n_train]), np.sort(s[n_train:])) for s in shuffled)
    data = dataset([20] * 717, n_unseen=72, class_folds=folds)
    split = make_split(data, rule="paper")
    for (train, val), fold in zip(folds, split.folds, strict=True):
        held = [np.count_nonzero(np.isin(data.y[split.test_seen], classes)) for classes in (train, val)]
        assert (len(fold.train), len(fold.seen_val), held[0], len(fold.val), held[1]) == row
    assert len(split.test_seen) == 2580 and len(split.test_unseen) == 1440


def test_the_official_seen_test_set_is_the_default():
    data = dataset([10] * 8)
    seen = np.flatnonzero(data.y < 6)
    official = replace(data, test_seen=seen[:7])
    np.testing.assert_array_equal(make_split(official).test_seen, seen[:7])
    assert len(make_split(official, rule="paper").test_seen) == 12


def test_training_samples_are_in_no_test_set():
    data = dataset([10] * 8)
    seen = np.flatnonzero(data.y < 6)
    np.testing.assert_array_equal(seen_samples(data), seen)
    np.testing.assert_array_equal(training_samples(data), seen)
    official = replace(data, trainval=seen[7:50], test_seen=seen[:7])
    np.testing.assert_array_equal(seen_samples(official), seen[:50])
    np.testing.assert_array_equal(training_samples(official), seen[7:50])
    with pytest.raises(UnseenError, match="no features"):
        training_samples(replace(data, X=None, missing=("There are no features.",)))


def test_a_last_sample_is_never_drawn():
    """Whatever is asked for, every class of the group keeps one sample."""
    y = np.repeat([0, 1, 2], [1, 2, 5])
    drawn = draw(np.arange(8), y, 8, np.random.default_rng(0))
    assert len(drawn) == 5
    assert set(np.delete(y, drawn)) == {0, 1, 2}


@pytest.mark.parametrize(
    ("n", "share", "expected"), [(100, 0.29, 29), (5, 0.2, 1), (4, 0.2, 0), (15, 0.2, 3)]
)
def test_shares_round_down_safely(n, share, expected):
    assert share_of(n, share) == expected


# ---- the splitter ----------------------------------------------------------------------------------------


def test_folds_work_as_a_scikit_learn_splitter():
    from sklearn.dummy import DummyClassifier
    from sklearn.model_selection import cross_val_score

    y = np.repeat(np.array(["a", "b", "c", "d", "e", "f"]), 10)
    folds = GZSLFolds(3)
    assert folds.get_n_splits() == 3
    scores = cross_val_score(DummyClassifier(), np.zeros((60, 2)), y, cv=folds)
    assert len(scores) == 3


def test_given_class_folds_are_used():
    y = np.repeat(np.arange(5), 10)
    [fold] = GZSLFolds(class_folds=[([0, 1, 2], [3, 4])]).folds(y)
    assert set(y[fold.train]) == {0, 1, 2} and set(y[fold.val]) == {3, 4}
    assert GZSLFolds(class_folds=[([0], [1])]).get_n_splits() == 1


@pytest.mark.parametrize("n_classes", [4, 5, 7, 12, 20])
@pytest.mark.parametrize("n_folds", [2, 3, 5])
def test_every_class_validates_somewhere(n_classes, n_folds):
    folds = deal_classes(np.arange(n_classes), n_folds, np.random.default_rng(0))
    sizes = {len(val) for _, val in folds}
    assert len(sizes) == 1
    if n_classes % n_folds == 0 or n_classes < 2 * n_folds:
        assert set(np.concatenate([val for _, val in folds])) == set(range(n_classes))


# ---- impossible splits ----------------------------------------------------------------------


def test_an_empty_fold_is_refused():
    data = dataset([1] * 8)  # with one sample per class nothing is left to validate seen classes
    with pytest.raises(UnseenError, match="Fold 1 has no seen_val sample"):
        make_split(data)


def test_too_few_seen_classes_are_refused():
    with pytest.raises(UnseenError, match=r"seen classes is 3, expected at least 4.*fit --gamma 0"):
        make_split(dataset([10] * 5))


@pytest.mark.parametrize(
    "options", [{"seen_share": 1.0}, {"seen_share": 0}, {"n_folds": 1}, {"rule": "papper"}]
)
def test_impossible_options_are_refused(options):
    with pytest.raises(UnseenError, match=r"expected|Did you mean"):
        make_split(dataset([10] * 8), **options)


def test_a_description_cannot_be_split(tmp_path):
    folder = small.write_xlsa17(tmp_path / "B")
    with pytest.raises(UnseenError, match=r"is missing. Download"):
        make_split(load_dataset(folder, features="none", require_features=False))
