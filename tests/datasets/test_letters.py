"""The embedded letters: nothing leaks, and the unseen letters follow from the descriptions alone."""

from __future__ import annotations

import csv
import inspect
import os
import re
import runpy
import subprocess
import sys
from dataclasses import replace
from importlib import resources
from types import SimpleNamespace

import numpy as np
import pytest
import sklearn
from sklearn.utils.fixes import parse_version

from conftest import ROOT
from unseen import GZSLClassifierCV
from unseen.calibration.curve import SeenUnseenCurve
from unseen.datasets import EMBEDDED, load_dataset
from unseen.datasets.dataset import ZeroShotDataset
from unseen.datasets.letters import SEGMENTS
from unseen.datasets.splits import GZSLFolds, GZSLSplit, make_split
from unseen.errors import UnseenError
from unseen.methods import METHODS, make_method


@pytest.fixture(scope="module")
def letters() -> ZeroShotDataset:
    return load_dataset("letters")


@pytest.fixture(scope="module")
def split(letters) -> GZSLSplit:
    return make_split(letters)


@pytest.fixture(scope="module")
def script() -> SimpleNamespace:
    """What the script that makes the file defines."""
    return SimpleNamespace(**runpy.run_path(str(ROOT / "docs" / "scripts" / "letters.py")))


# ---- the file -----------------------------------------------------------------------------------------


def test_every_letter_is_there_in_every_typeface(letters):
    assert letters.X.shape == (3276, 256) and letters.X.dtype == np.float32
    assert letters.X.min() == 0 and letters.X.max() == 1
    assert letters.class_names == tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
    assert np.array_equal(np.bincount(letters.y), [126] * 26)
    assert len(set(letters.sample_names)) == 3276


def test_descriptions_are_distinct_and_name_their_segments(letters):
    S = letters.prototypes
    assert S.shape == (26, 16) and set(np.unique(S)) == {0.0, 1.0}
    assert len(np.unique(S, axis=0)) == 26
    lit = [name for name, on in zip(letters.attribute_names, S[letters.class_names.index("L")]) if on]
    assert sorted(lit) == ["bottom left", "bottom right", "lower left", "upper left"]


def test_the_file_is_small_and_the_first_embedded_data():
    file = resources.files("unseen.datasets") / "data" / "letters.npz"
    assert len(file.read_bytes()) < 400_000
    assert next(iter(EMBEDDED)) == "letters"


def test_the_script_and_the_table_tell_what_is_in_the_file(letters, script):
    assert np.array_equal(script.describe(), letters.prototypes)
    assert tuple(SEGMENTS) == script.SEGMENTS
    with open(ROOT / "docs" / "letters_typefaces.csv", encoding="utf-8", newline="") as file:
        table = list(csv.DictReader(file))
    assert [f"A {row['family']}" for row in table] == letters.sample_names[:126].tolist()
    assert {row["license"] for row in table} <= set(script.LICENSES)
    groups = np.array([int(row["group"]) for row in table])
    assert np.array_equal(groups, letters.groups[:126])
    test = np.array([row["part"] == "test_seen" for row in table])
    assert np.array_equal(test, script.choose_test(groups))
    assert np.array_equal(np.flatnonzero(np.tile(test, 26) & letters.seen[letters.y]), letters.test_seen)


# ---- the split ----------------------------------------------------------------------------------------


def test_the_unseen_letters_follow_from_the_descriptions_alone(letters, script):
    chosen = script.choose_unseen(letters.prototypes)
    assert chosen == np.flatnonzero(letters.unseen).tolist()
    assert "".join(letters.class_names[i] for i in chosen) == "BFHLNZ"
    # the rule gets nothing but descriptions: no pixels, no results
    assert list(inspect.signature(script.choose_unseen).parameters) == ["S"]
    used = set(script.choose_unseen.__code__.co_names) & set(vars(script))
    assert used == {"np", "combinations", "N_UNSEEN"}


def test_a_family_is_on_one_side_only(letters, split):
    """Of seen train and seen test, and of every fold's train and seen validation part."""
    groups = letters.groups
    assert not set(groups[split.train]) & set(groups[split.test_seen])
    for fold in split.folds:
        assert not set(groups[fold.train]) & set(groups[fold.seen_val])
    by_face = groups.reshape(26, 126)
    assert (by_face == by_face[0]).all()  # a typeface has one group, whatever the letter


def test_sizes_of_the_split(letters, split):
    assert (len(split.train), len(split.test_seen), len(split.test_unseen)) == (1960, 560, 756)
    held_out = np.concatenate([np.unique(letters.y[fold.val]) for fold in split.folds])
    assert np.array_equal(np.sort(held_out), np.flatnonzero(letters.seen))  # each seen letter once
    for fold in split.folds:
        n_train_classes = len(fold.train) + len(fold.seen_val)
        assert 0.15 * n_train_classes < len(fold.seen_val) <= 0.2 * n_train_classes


# ---- groups in general --------------------------------------------------------------------------------


def test_a_seen_validation_set_holds_whole_groups_and_leaves_every_class():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 6, 300)
    groups = rng.integers(0, 40, 300)
    groups[y == 0] = 99  # all that class 0 has is one group: it must stay in train
    for fold in GZSLFolds(3).folds(y, groups):
        assert not set(groups[fold.train]) & set(groups[fold.seen_val])
        assert len(fold.seen_val) and set(y[fold.seen_val]) <= set(y[fold.train])
        assert 99 not in groups[fold.seen_val]


def test_groups_determine_results_and_must_fit_the_samples(letters):
    other = replace(letters, groups=np.arange(len(letters.y)))
    assert other.checksum != letters.checksum
    with pytest.raises(UnseenError, match=r"3276 labels but groups has shape \(5,\)"):
        replace(letters, groups=np.arange(5))


# ---- the numbers --------------------------------------------------------------------------------------


@pytest.mark.skipif(
    parse_version(sklearn.__version__) < parse_version("1.9"),
    reason="older versions of scikit-learn assign groups to parts in another way, so gamma differs a little",
)
@pytest.mark.parametrize("name", ["linear-vs", "linear-sv", "eszsl", "sae", "lda"])
def test_calibration_improves_every_closed_form_as_the_pages_say(letters, split, name):
    """As in the demo: lambda and gamma come from held-out samples, H from test."""
    search = GZSLClassifierCV(make_method(name, letters.prototypes, 0), cv=split.cv(), refit_zsl=True)
    search.fit(letters.X[split.train], letters.y[split.train], groups=letters.groups[split.train])
    before = curve_on_test(search.zsl_.estimator, letters, split)
    after = curve_on_test(search.estimator_, letters, split)
    found = [before.unseen_alone, before.at(0.0).h, after.at(search.gamma_).h]
    assert found[2] > found[1]
    title = re.escape(METHODS[name].title)
    pages = [path.read_text("utf-8") for path in (ROOT / "docs/methods/index.md", ROOT / "README.md")]
    row, short = [re.search(rf"^\| {title} \|(.+)\|$", page, re.MULTILINE) for page in pages]
    assert row is not None and (short is None or short[1] == row[1])  # the README shows some
    told = [float(number) for number in row[1].split("|")]
    assert told[:3] == pytest.approx(found, abs=0.11)  # the last digit may differ between machines
    assert told[3] == pytest.approx(told[2] - told[1], abs=1e-6)


def curve_on_test(model, letters: ZeroShotDataset, split: GZSLSplit) -> SeenUnseenCurve:
    test = np.concatenate([split.test_seen, split.test_unseen])
    return SeenUnseenCurve.from_scores(model.similarity(letters.X[test]), letters.y[test], letters.seen)


def test_the_table_of_the_demo_goes_between_the_marks():
    table = SimpleNamespace(**runpy.run_path(str(ROOT / "docs" / "scripts" / "letters_table.py")))

    def method(*numbers: float) -> dict:
        zsl, none, calibrated = ({"per-class": {"mean": number}} for number in numbers)
        return {"zsl": zsl, "gzsl": {"none": {"H": none}, "calibrated+lambda": {"H": calibrated}}}

    summary = {"methods": {"sae": method(50, 40, 45), "eszsl": method(60, 50, 70), "lda": method(70, 60, 72)}}
    lines = table.demo_table(summary).splitlines()
    assert lines[-2] == "| average | 55.0 | 45.0 | 57.5 | +12.5 |"  # of the paper's methods
    assert lines[-1] == "| LDA | 70.0 | 60.0 | 72.0 | +12.0 |"
    lines = table.short_table(summary | {"methods": summary["methods"] | {"linear-vs": method(1, 2, 3)}})
    assert [line.split(" | ")[0] for line in lines.splitlines()[2:]] == ["| Linear V->S", "| ESZSL", "| LDA"]
    for page in (table.FULL, table.README):
        text = page.read_text("utf-8")
        assert table.fill(text, "| a |").count("| a |") == 1


@pytest.mark.slow
def test_the_figure_can_be_drawn_again(tmp_path):
    command = [sys.executable, ROOT / "docs" / "scripts" / "letters_figure.py", tmp_path / "letters.svg"]
    environment = {**os.environ, "MPLBACKEND": "agg", "PYTHONPATH": str(ROOT / "src")}
    subprocess.run(command, env=environment, check=True, timeout=600)
    drawn = (tmp_path / "letters.svg").read_text("utf-8")
    texts = [
        re.findall(r"<text[^>]*>([^<]+)", svg)
        for svg in (drawn, (ROOT / "docs/figures/letters.svg").read_text("utf-8"))
    ]
    assert texts[0] == texts[1]  # what was recognized, and how often that is right
