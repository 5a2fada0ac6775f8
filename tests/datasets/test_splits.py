"""Splits: nothing leaks, counts are the paper's, and every kind of leakage is refused by name."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
import small_data as small
from unseen.datasets import ZeroShotDataset, load_dataset
from unseen.datasets._seen_test import _cell_counts, draw, share_of
from unseen.datasets.splits import (
    Fold,
    GZSLFolds,
    GZSLSplit,
    deal_classes,
    make_split,
    seen_samples,
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


# ---- leakage and impossible splits ----------------------------------------------------------------------


def leaks():
    """Changes to a good split, each with the error it must give."""
    y = np.array([0, 0, 0, 1, 1, 1, 2, 2, 3, 3, 0, 4])
    good = {
        "train": np.arange(10),
        "test_seen": np.array([10]),
        "test_unseen": np.array([11]),
        "folds": (Fold(np.array([0, 1, 3, 4]), np.array([2, 5]), np.arange(6, 10)),),
        "y": y,
        "class_names": ("ant", "bee", "cat", "dog", "emu"),
    }
    fold = good["folds"][0]
    return good, {
        "sample in train and test": ({"test_seen": np.array([9, 10])}, "Sample 9 is in train and test_seen"),
        "test class in training": (
            {"y": np.where(y == 4, 0, y)},
            "Class 'ant' is in train and in test_unseen",
        ),
        "test class in test_seen": (
            {"y": np.where(np.arange(12) == 10, 4, y)},
            "Class 'emu' is in test_seen and in test_unseen",
        ),
        "seen test sample in a fold": (
            {"folds": (replace(fold, train=np.array([0, 1, 3, 4, 10])),)},
            "Fold 1 uses sample 10, which is not a training sample",
        ),
        "sample in two parts of a fold": (
            {"folds": (replace(fold, seen_val=np.array([0, 5])),)},
            "Sample 0 is in train of fold 1 and seen_val of fold 1",
        ),
        "class in train and val": (
            {"folds": (replace(fold, train=np.array([0, 1, 3, 4, 6]), val=np.array([7, 8, 9])),)},
            "Class 'cat' is in train of fold 1 and in its val",
        ),
        "seen_val of a class without training": (
            {"folds": (replace(fold, seen_val=np.array([2, 6]), val=np.array([8, 9])),)},
            "Class 'cat' is in seen_val of fold 1 but not in its train part",
        ),
        "empty part": (
            {"folds": (replace(fold, val=np.empty(0, dtype=np.intp)),)},
            "Fold 1 has no val sample",
        ),
    }


@pytest.mark.parametrize("case", leaks()[1])
def test_leakage_is_refused(case):
    good, bad = leaks()
    GZSLSplit(**good)
    changes, match = bad[case]
    with pytest.raises(UnseenError, match=match):
        GZSLSplit(**(good | changes))


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


# ---- a given assignment ----------------------------------------------------------------------------------


def write_assignment(path, order=None, y=None, drop=0):
    """Write an assignment of the small data: its two folds, and a column for other unseen classes."""
    y = small.arrays()[1] if y is None else y
    columns = []
    for train, val in small.FOLDS:
        column = np.where(np.isin(y, small.UNSEEN), "test", np.where(np.isin(y, val), "val", "train"))
        for c in small.SEEN:
            first, second, third = np.flatnonzero(y == c)[:3] if not columns else np.flatnonzero(y == c)[-3:]
            column = column.astype("U15")
            column[first] = f"seen_test_{'val' if c in val else 'train'}"
            if c in train:
                column[[second, third]] = "seen_val"
        columns.append(column)
    columns.append(np.where(y == 0, "test", "train"))
    order = np.arange(len(y)) if order is None else order
    lines = [",".join([f"{i}.jpg", str(y[i]), *(c[i] for c in columns)]) for i in order[drop:]]
    path.write_text("\n".join(["image,class,split_a1,split_a2,split_b1", *lines]))
    return columns


def test_an_assignment_is_matched_by_name_and_leaks_nothing(tmp_path):
    data = load_dataset(small.write_xlsa17(tmp_path / "B"))
    columns = write_assignment(tmp_path / "a.csv", order=np.random.default_rng(0).permutation(len(data.y)))
    split = make_split(data, rule=tmp_path / "a.csv")
    assert len(split.folds) == 2  # the column of the other unseen classes is left alone
    for column, given_parts in zip(columns, split.given):
        np.testing.assert_array_equal(column, given_parts)
    np.testing.assert_array_equal(
        split.test_seen, np.flatnonzero(np.char.startswith(columns[0], "seen_test"))
    )
    np.testing.assert_array_equal(split.folds[0].train, np.flatnonzero(columns[0] == "train"))
    second = np.setdiff1d(np.flatnonzero(columns[1] == "train"), split.test_seen)
    np.testing.assert_array_equal(split.folds[1].train, second)


def test_an_assignment_without_names_is_matched_in_order(tmp_path):
    data = load_dataset(small.write_npz(tmp_path / "own.npz"))
    write_assignment(tmp_path / "a.csv")
    assert len(make_split(data, rule=tmp_path / "a.csv").folds) == 2
    write_assignment(tmp_path / "short.csv", drop=1)
    with pytest.raises(UnseenError, match=r"short.csv has 89 rows but own has 90 samples"):
        make_split(data, rule=tmp_path / "short.csv")


def test_an_assignment_must_fit_the_data(tmp_path):
    data = load_dataset(small.write_xlsa17(tmp_path / "B"))
    write_assignment(tmp_path / "short.csv", drop=1)
    with pytest.raises(UnseenError, match=r"does not assign sample '0.jpg' \(1 missing\)"):
        make_split(data, rule=tmp_path / "short.csv")
    y = data.y
    (tmp_path / "other.csv").write_text(
        "\n".join(["image,split", *(f"{i}.jpg,{'test' if c == 0 else 'train'}" for i, c in enumerate(y))])
    )
    with pytest.raises(UnseenError, match="no column that tests the 3 unseen classes of B"):
        make_split(data, rule=tmp_path / "other.csv")
