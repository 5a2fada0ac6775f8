"""The transcribed tables agree with the averages and sums that the paper prints itself."""

from __future__ import annotations

import csv
from importlib.resources import files

import pytest

from unseen.benchmark.published import recognize, scores
from unseen.datasets import load_dataset
from unseen.methods import METHODS

PAPER = [name for name, method in METHODS.items() if method.in_paper]

DATASETS = ("CUB", "AwA2", "SUN", "aPY")
STEPS = ("none", "calibrated", "calibrated+lambda")
# the "Average" rows of the paper: Xian et al. (six methods), then ours (eight methods, three calibrations)
AVERAGES = {
    "CUB": (25.9, 28.5, 41.1, 42.2),
    "AwA2": (16.2, 28.2, 56.7, 57.1),
    "SUN": (18.0, 21.3, 28.8, 29.2),
    "aPY": (7.3, 15.7, 32.1, 31.8),
}


@pytest.mark.parametrize("dataset", DATASETS)
def test_averages_over_the_methods_are_those_the_paper_prints(dataset):
    ours = scores(dataset, "proposed")
    xian = scores(dataset, "proposed", source="xian")
    columns = [[xian.get((m, "none", "per-class")) for m in PAPER]]
    columns += [[ours[m, s, "per-class"] for m in PAPER] for s in STEPS]
    printed = [xian["average", "none", "per-class"], *(ours["average", s, "per-class"] for s in STEPS)]
    for column, stored, expected in zip(columns, printed, AVERAGES[dataset], strict=True):
        values = [score.mean for score in column if score]
        assert stored.mean == expected
        assert sum(values) / len(values) == pytest.approx(expected, abs=0.0501)  # printed with one decimal


@pytest.mark.parametrize("dataset", DATASETS)
def test_every_cell_of_the_tables_is_there(dataset):
    cells = {"zsl", *STEPS}
    assert {(m, s, "per-class") for m in PAPER for s in cells} <= scores(dataset, "proposed").keys()
    assert {m for m, s, _ in scores(dataset, "standard")} == set(PAPER)
    ten = scores(dataset, "proposed", 10)
    assert len(ten) == 8 * 5
    assert all(0 < ten[m, "ausuc", "per-sample"].mean < 1 for m in PAPER)
    for split in ("standard", "proposed"):
        xian = scores(dataset, split, source="xian")
        assert {m for m, s, _ in xian if s == "zsl"} == set(PAPER) - {"linear-vs", "linear-sv"}
        assert all(score.std is None for score in xian.values())


def splits(dataset, split):
    """Return the printed numbers of the three folds: samples by part, and classes as ``<part>_classes``."""
    with (files("unseen.benchmark") / "data" / "published_splits.csv").open(encoding="utf-8") as file:
        folds = [row for row in csv.DictReader(file) if (row["dataset"], row["split"]) == (dataset, split)]
    return [{key: int(value) for key, value in fold.items() if value.isdigit()} for fold in folds]


@pytest.mark.parametrize("dataset", DATASETS)
@pytest.mark.parametrize("split", ["standard", "proposed"])
def test_the_parts_of_every_split_add_up_to_the_data_set(dataset, split):
    folds = splits(dataset, split)
    assert [fold["fold"] for fold in folds] == [1, 2, 3]
    for fold in folds:
        parts = ("train", "seen_val", "seen_test_train", "val", "seen_test_val", "test")
        assert sum(fold[part] for part in parts) == fold["total"]
        assert sum(fold[f"{p}_classes"] for p in ("train", "val", "test")) == fold["total_classes"]


FOLDERS = {"CUB": "CUB", "AwA2": "AWA2", "SUN": "SUN", "aPY": "APY"}


@pytest.mark.parametrize("dataset", DATASETS)
@pytest.mark.parametrize("split", ["standard", "proposed"])
def test_a_data_set_is_recognized_by_its_classes_and_sizes(real_data, dataset, split):
    folder = real_data / "xlsa17" / FOLDERS[dataset]
    names = load_dataset(folder, features="none", require_features=False).class_names
    fold = splits(dataset, split)[0]
    sizes = {key: fold[key] for key in ("total", "test", "val_classes")}
    place = {"dataset": dataset, "split": split, "crops": 1}
    assert recognize(names, **sizes) == place
    assert recognize(reversed(names), **sizes, crops=10) == place | {"crops": 10}
    assert recognize([name.upper() for name in names], **sizes) is not None
    assert recognize(names[1:], **sizes) is None
    assert recognize(["another", *names[1:]], **sizes) is None
    assert recognize(names, **{**sizes, "test": 7}) is None
