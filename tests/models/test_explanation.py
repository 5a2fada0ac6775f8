"""Explanations as text, as a table, and by the command."""

from __future__ import annotations

import csv
import io

import numpy as np
import pandas as pd
import pytest

from unseen import LDA, GZSLClassifierCV, UnseenError
from unseen._core.prototypes import Prototypes
from unseen.datasets import load_dataset
from unseen.methods.explanation import Part, Reason
from unseen.models.explanation import explain_samples, format_reason, sum_of_classes
from unseen.models.io import save_model
from unseen.models.prediction import open_samples


@pytest.fixture(scope="module")
def letters():
    return load_dataset("letters")


@pytest.fixture(scope="module")
def model(letters):
    """A calibrated model of letters; every fourth sample of the seen ones is for training."""
    names = np.array(letters.class_names)
    S = Prototypes(names, letters.attribute_names, letters.prototypes)
    train = np.flatnonzero(letters.seen[letters.y])[::4]
    search = GZSLClassifierCV(LDA(S), {"alpha": [0.03]}, gamma="paper")
    return search.fit(letters.X[train], names[letters.y[train]])


@pytest.fixture(scope="module")
def files(model, letters, tmp_path_factory):
    folder = tmp_path_factory.mktemp("explain")
    save_model(model, folder / "letters.model")
    chosen = np.arange(0, len(letters.y), 97)
    np.savez(folder / "some.npz", X=letters.X[chosen], files=letters.sample_names[chosen])
    return folder


def test_calibration_is_a_part_of_its_own(model, letters):
    X = letters.X[::97]
    scores, seen = model.similarity(X), dict(zip(model.classes_, model.seen_))
    reasons = model.explain(X).rows
    for row, reason in enumerate(reasons):
        order = np.argsort(-scores[row])[:2]
        assert [reason.predicted, reason.rival] == model.classes_[order].tolist()
        assert reason.difference == pytest.approx(scores[row, order[0]] - scores[row, order[1]], rel=1e-4)
        found = sum(part.contribution for part in reason.of_kind("calibration"))
        assert found == model.gamma_ * (int(seen[reason.rival]) - int(seen[reason.predicted]))
        assert sum(part.contribution for part in reason.parts) == pytest.approx(reason.difference, rel=1e-5)
    assert {seen[r.predicted] for r in reasons} == {True, False}


def test_other_estimators_are_rejected(model, letters):
    from sklearn.base import clone
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    other = clone(model)
    other.gamma_, other.estimator_ = 0.0, LinearDiscriminantAnalysis()
    with pytest.raises(UnseenError, match="LinearDiscriminantAnalysis cannot be explained"):
        other.explain(letters.X[:1])


def test_samples_in_files_are_explained_block_by_block(model, letters, files, monkeypatch):
    monkeypatch.setattr("unseen.models.explanation.BATCH", 5)
    samples = open_samples(files / "some.npz")
    found = list(explain_samples(model, samples, top=2))
    expected = model.explain(letters.X[::97], top=2).rows
    assert [reason.sample for reason in found] == list(map(str, samples.names))
    for one, other in zip(found, expected, strict=True):
        assert [part.name for part in one.parts] == [part.name for part in other.parts]
        values = [part.contribution for part in other.parts]
        assert [part.contribution for part in one.parts] == pytest.approx(values, rel=1e-6)


def test_features_of_another_width_are_rejected(model, tmp_path):
    np.save(tmp_path / "x.npy", np.ones((2, 7)))
    with pytest.raises(UnseenError, match="7 features per sample, but the model takes 256"):
        list(explain_samples(model, open_samples(tmp_path / "x.npy")))


def test_a_sample_that_is_not_finite_is_named(model, letters, tmp_path):
    X = letters.X[:5].copy()
    X[3, 7] = np.nan
    np.save(tmp_path / "x.npy", X)
    with pytest.raises(UnseenError, match="holds nan at sample 3, feature 7, expected a finite number"):
        list(explain_samples(model, open_samples(tmp_path / "x.npy")))


def test_text_names_what_speaks_for_and_against():
    parts = (
        Part("attribute", "leg", 6.0, 0.75, 0.0, 1.0),
        Part("attribute", "foot", -1.0, -0.125, 1.0, 0.0),
        Part("interaction", "", 3.0, 0.375),
    )
    head, *lines = format_reason(Reason("p.png", "P", "R", 8.0, parts)).splitlines()
    assert head == "sample p.png: P rather than R (difference 8)"
    assert [line.split()[0] for line in lines] == ["+", "-", "+"]
    assert "leg" in lines[0] and "0, rival 1" in lines[0] and lines[0].endswith("75 %")
    assert "attributes in combination" in lines[2]


def test_a_combination_reads_like_a_sum():
    assert sum_of_classes([("Smew", -0.25), ("Gadwall", 0.5)]) == "0.50 Gadwall - 0.25 Smew"
    assert sum_of_classes([("Smew", -0.25), ("Gadwall", 0.1)], most=1) == "- 0.25 Smew + ..."


# ---- the command ----------------------------------------------------------------------------------------


def test_the_command_prints_one_paragraph_per_sample(run, files):
    done = run("explain", files / "letters.model", files / "some.npz", "--top", 2)
    paragraphs = done.stdout.split("\n\n")
    assert done.returncode == 0 and len(paragraphs) == 34
    assert all(text.startswith("sample ") and " rather than " in text for text in paragraphs)


def test_the_command_writes_a_table_that_adds_up(run, files, tmp_path):
    run("explain", files / "letters.model", files / "some.npz", "--rival", "R", "--out", tmp_path / "why.csv")
    sums: dict[tuple[str, str], float] = {}
    for row in csv.DictReader(io.StringIO((tmp_path / "why.csv").read_text())):
        assert row["rival"] == "R" or row["class"] == "R"
        key = row["sample"], row["difference"]
        sums[key] = sums.get(key, 0.0) + float(row["contribution"])
    assert len(sums) == 34
    for (_, difference), total in sums.items():
        assert total == pytest.approx(float(difference), rel=1e-3, abs=1e-3)


def test_columns_of_a_table_are_matched_by_name(run, tmp_path):
    rng = np.random.default_rng(0)
    S = pd.DataFrame(rng.normal(size=(6, 3)), [*"abcdef"], ["red", "big", "loud"])
    y = np.repeat([*"abcd"], 9)
    X = pd.DataFrame(S.loc[y].to_numpy() @ rng.normal(size=(3, 4)), columns=["w", "h", "t", "v"])
    model = LDA(S).fit(X, y)
    save_model(model, tmp_path / "model")
    X[["v", "t", "h", "w"]].assign(note="text").to_csv(tmp_path / "x.csv", index=False)
    expected = "\n\n".join(map(format_reason, model.explain(X).rows))
    assert run("explain", tmp_path / "model", tmp_path / "x.csv").stdout == expected + "\n"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--rival", "r"], "rival names class 'r', which is not a class of the model"),
        (["--out", "why.txt"], "expected a file ending in .csv"),
        (["--top", "0"], "0 is not in the range"),
    ],
)
def test_what_the_user_got_wrong_is_one_line(run, files, options, message):
    done = run("explain", files / "letters.model", files / "some.npz", *options)
    assert done.returncode == 2 and done.stdout == ""
    assert message in done.stderr and done.stderr.count("\n") == 1
