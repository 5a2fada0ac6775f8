"""Which samples to label next."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from click.testing import CliRunner

from unseen import LinearSV
from unseen.cli import main
from unseen.datasets import load_dataset
from unseen.datasets.prototypes import Prototypes
from unseen.errors import UnseenError
from unseen.models.io import save_model
from unseen.models.prediction import open_samples
from unseen.models.suggestion import suggest, take_turns


@pytest.fixture(scope="module")
def digits():
    data = load_dataset("digits")
    names = np.array(data.class_names)
    seen = data.seen[data.y]
    model = LinearSV(Prototypes(names, (), data.prototypes))
    return model.fit(data.X[seen], names[data.y[seen]]), data


def test_new_classes_take_turns(digits):
    model, data = digits
    found = suggest(model, open_samples("digits"), n=12)
    predicted = model.predict(data.X[found["sample"]])
    assert found["class"] == predicted.tolist() and len(set(found["sample"])) == 12
    new = Counter(model.predict(data.X)[np.isin(model.predict(data.X), model.classes_[~model.seen_])])
    counts = Counter(found["class"])
    assert set(counts) == set(new) and max(counts.values()) - min(counts.values()) <= 1
    assert suggest(model, open_samples("digits"), n=12) == found
    assert suggest(model, open_samples("digits"), n=12, random_state=1) != found


def test_seen_classes_come_last_and_every_sample_once():
    rng = np.random.default_rng(0)
    predicted, first = rng.integers(6, size=50), rng.random(50) < 0.3
    order = take_turns(predicted, first)
    assert sorted(order) == list(range(50))
    assert first[order[: first.sum()]].all()


def test_a_model_without_new_classes_raises(digits):
    _, data = digits
    model = LinearSV(data.prototypes).fit(data.X, data.y)
    with pytest.raises(UnseenError, match="no unseen class to find samples of"):
        suggest(model, open_samples("digits"))


def test_the_command_writes_the_same(digits, tmp_path):
    model, _ = digits
    save_model(model, tmp_path / "m")
    done = CliRunner().invoke(main, ["suggest", str(tmp_path / "m"), "digits", "--n", "3", "--quiet"])
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert lines[0].startswith("sample,class,score,probability,kind") and len(lines) == 4
    assert [int(line.split(",")[0]) for line in lines[1:]] == suggest(model, open_samples("digits"), 3)[
        "sample"
    ]
    done = CliRunner().invoke(
        main, ["suggest", str(tmp_path / "m"), "digits", "--out", str(tmp_path / "x.txt")]
    )
    assert done.exit_code == 2 and "expected a file ending in .csv" in done.stderr
    out = str(tmp_path / "x.csv")
    done = CliRunner().invoke(main, ["suggest", str(tmp_path / "m"), "digits", "--n", "3", "--out", out])
    assert done.stdout == "" and f"wrote {out}: 3 samples to label" in done.stderr
