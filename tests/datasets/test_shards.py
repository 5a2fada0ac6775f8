"""Features in many files give the numbers of one file."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.testing import assert_array_equal

from unseen import UnseenError
from unseen.cli import main
from unseen.datasets import load_dataset
from unseen.datasets.own import find_shards

CUTS = [0, 30, 31, 120]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with features.npy, and the same rows as shards."""
    folder = tmp_path_factory.mktemp("shards")
    rng = np.random.default_rng(0)
    S, y = rng.normal(size=(8, 4)).round(3), np.arange(120) % 7
    X = (S[y] @ rng.normal(size=(4, 6)) + 0.3 * rng.normal(size=(120, 6))).astype(np.float32)
    np.save(folder / "features.npy", X)
    (folder / "labels.csv").write_text("class\n" + "".join(f"c{label}\n" for label in y))
    rows = [f"c{number}," + ",".join(map(str, row)) for number, row in enumerate(S)]
    (folder / "prototypes.csv").write_text("class,a,b,c,d\n" + "\n".join(rows) + "\n")
    for number, start, stop in zip((1, 2, 10), CUTS, CUTS[1:]):
        np.save(folder / f"part{number}.npy", X[start:stop])
    return folder


def test_rows_are_those_of_one_file(folder):
    data = load_dataset(folder, features_glob="part*.npy")
    whole = np.load(folder / "features.npy")
    assert data.X.dtype == whole.dtype
    assert_array_equal(data.X[:], whole)
    assert [path.stem for path in data.files[:3]] == ["part1", "part2", "part10"]


def test_a_fit_by_command_gives_the_same_numbers(folder, tmp_path):
    cards = []
    for shards in ([], ["--features-glob", "part*.npy"]):
        options = ["--method", "lda", "--unseen", "c0", "--model", str(tmp_path / "m"), "--json", "--quiet"]
        done = CliRunner().invoke(main, ["fit", str(folder), *options, *shards])
        assert done.exit_code == 0, done.output
        card = json.loads(done.stdout)
        cards.append({key: card[key] for key in ("params", "gamma", "classes", "expected")})
    assert cards[0] == cards[1]


def test_what_is_refused(folder, tmp_path):
    with pytest.raises(UnseenError, match=r"No file in .* matches"):
        find_shards("*.npy", tmp_path)
    with pytest.raises(UnseenError, match=r"labels.csv cannot be memory-mapped as an array"):
        load_dataset(folder, features_glob="labels.csv")
    with pytest.raises(UnseenError, match="There are 30 rows of features but 120 labels"):
        load_dataset(folder, features_glob=str(folder / "part1.npy"))
    with pytest.raises(UnseenError, match="does not take features_glob"):
        load_dataset("digits", features_glob="*.npy")


def test_damaged_shards_are_refused(folder, tmp_path):
    X = np.load(folder / "part10.npy")
    X[3, 2] = np.nan
    np.save(tmp_path / "x.npy", X)
    (tmp_path / "labels.csv").write_text("class\n" + "c0\nc1\nc2\n" * (len(X) // 3) + "c0\n" * (len(X) % 3))
    with pytest.raises(UnseenError, match="nan at sample 3, feature 2"):
        load_dataset(tmp_path, features_glob=str(tmp_path / "x.npy"), prototypes=folder / "prototypes.csv")
