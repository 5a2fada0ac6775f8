"""What ``unseen inspect`` says, in numbers and in words."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

import small_data as small
from image_files import save_image
from unseen.cli import main
from unseen.datasets import load_dataset
from unseen.datasets.inspection import PARTS, class_variance, describe, split_statistics
from unseen.datasets.splits import make_split
from unseen.errors import UnseenError

# the rows of the paper's table for CUB: samples of every part
PROPOSED = [
    (3760, 940, 1175, 2357, 589, 2967),
    (3760, 940, 1175, 2357, 589, 2967),
    (3806, 951, 1189, 2300, 575, 2967),
]
STANDARD = [
    (3773, 943, 1178, 2369, 592, 2933),
    (3798, 949, 1186, 2338, 584, 2933),
    (3784, 946, 1182, 2355, 588, 2933),
]


def inspect(*arguments: object) -> str:
    result = CliRunner().invoke(main, ["inspect", *map(str, arguments)])
    assert result.exit_code == 0, result.output
    return result.stdout


def facts(*arguments: object) -> dict:
    return json.loads(inspect(*arguments, "--json"))


def rows(table: list[dict]) -> list[tuple[int, ...]]:
    return [tuple(row[part] for part in PARTS) for row in table]


# ---- numbers -------------------------------------------------------------------------------------------


def test_variances_are_what_their_formulas_say():
    """Also in many blocks, far from the origin, in float32, and with a class that has no sample."""
    rng = np.random.default_rng(0)
    y = rng.choice([0, 1, 2, 3, 5], 9000, p=[0.4, 0.3, 0.2, 0.05, 0.05])
    X = (rng.standard_normal((6, 3))[y] + rng.standard_normal((9000, 3)) + 1000).astype(np.float32)
    variance = class_variance(X, y)
    exact = X.astype(float)
    assert variance["intra"] + variance["means"] == pytest.approx(exact.var(axis=0).sum())
    literal = sum(((exact[y == c] - exact[y == c].mean(axis=0)) ** 2).sum() for c in set(y)) / len(X)
    assert variance["intra"] == pytest.approx(literal)
    small = np.arange(0, 9000, 9)
    differ = y[small][:, None] != y[small][None]
    distances = ((exact[small][:, None] - exact[small][None]) ** 2).sum(axis=2)
    assert class_variance(X[small], y[small])["inter"] == pytest.approx(distances[differ].mean() / 2)
    assert variance["intra"] < variance["inter"]


def test_statistics_count_every_sample_once():
    data = load_dataset("digits")
    for row in split_statistics(make_split(data), data.y):
        assert sum(row[part] for part in PARTS) == len(data.y)
        assert row["classes"]["train"] + row["classes"]["val"] + row["classes"]["test"] == 10


def test_description_is_plain_and_complete():
    found = describe(load_dataset("digits"))
    assert found == json.loads(json.dumps(found))
    assert (found["samples"], found["features"], found["attributes"]) == (1797, 64, 7)
    assert (found["classes"], found["seen_classes"], found["unseen_classes"]) == (10, 7, 3)
    assert found["feature_range"]["min"] == 0 and found["feature_range"]["max"] == 16
    assert found["samples_per_class"] == {"min": 174, "median": 180.5, "max": 183}
    assert found["missing"] == []


# ---- the command -----------------------------------------------------------------------------------------


def test_text_says_what_a_person_wants_to_know():
    text = inspect("digits")
    for words in (
        "samples            1797",
        "10: 7 seen, 3 unseen",
        "intra-class",
        "seen_test_train",
        "val3",
    ):
        assert words in text


def test_inspect_has_letters_as_default_and_an_example():
    assert inspect() == inspect("letters")
    assert "unseen inspect letters" in inspect("--help")


def test_extracted_features_say_that_descriptions_are_missing(tmp_path):
    path = small.write_npz(tmp_path / "x.npz", drop=["prototypes", "unseen_classes"])
    found = facts(path)
    assert found["samples"] == 90 and found["classes"] == 9 and found["attributes"] == 0
    assert "--prototypes FILE.csv" in found["missing"][0]
    assert "no unseen classes" in found["missing"][1]
    assert found["variance"]["intra"] > 0
    assert "Missing\n- There are no class descriptions" in inspect(path)


def test_a_table_and_names_complete_them(tmp_path):
    path = small.write_npz(tmp_path / "x.npz", drop=["prototypes", "unseen_classes"])
    table = small.write_prototypes(tmp_path / "classes.csv")
    names = ",".join(small.CLASS_NAMES[c] for c in small.UNSEEN)
    found = facts(path, "--prototypes", table, "--unseen", names)
    assert found["missing"] == [] and found["unseen_classes"] == 3
    assert found["attribute_names"] == ["red", "blue", "big", "small"]


def test_classes_without_samples_are_enough_to_fit(tmp_path):
    X, y, _ = small.arrays()
    keep = ~np.isin(y, small.UNSEEN)
    found = facts(small.write_npz(tmp_path / "x.npz", drop=["unseen_classes"], X=X[keep], y=y[keep]))
    assert not found["missing"]  # thousands of candidates without samples are normal
    assert "The 3 unseen classes have no samples: the data is complete for fit" in found["notes"][0]


def test_three_seen_classes_are_still_described(tmp_path):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(3), 10)
    np.savez(tmp_path / "x.npz", X=rng.normal(size=(30, 4)), y=y, prototypes=rng.random((4, 3)))
    found = facts(tmp_path / "x.npz")
    assert found["seen_classes"] == 3 and found["samples_per_class"]["min"] == 10
    assert "There is no split to choose parameters on: The number of seen classes is 3" in found["missing"][0]
    with pytest.raises(UnseenError, match="expected official or paper"):
        describe(load_dataset(tmp_path / "x.npz"), "oficial")


def test_one_width_adds_methods(tmp_path):
    X, _, S = small.arrays()
    path = small.write_npz(tmp_path / "x.npz", X=X[:, : S.shape[1]])
    found = CliRunner().invoke(main, ["inspect", str(path)]).stdout
    assert f"Features and descriptions both have {S.shape[1]} numbers" in found and "cosine" in found
    assert "both have" not in CliRunner().invoke(main, ["inspect", "letters"]).stdout


def test_folders_of_images_are_described(tmp_path):
    for name in ("jay", "owl", "kea"):
        (tmp_path / "photos" / name).mkdir(parents=True)
    for seed in range(5):
        save_image(tmp_path / "photos" / ("jay" if seed < 3 else "owl") / f"{seed}.png", seed)
    found = facts(tmp_path / "photos")
    assert (found["samples"], found["seen_classes"], found["unseen_classes"]) == (5, 2, 1)
    assert "--backbone" in found["missing"][0] and "--encoder" in found["missing"][1]
    (tmp_path / "p.csv").write_text("class,red\njay,1\nowl,2\nkea,3\nemu,4\n")
    found = facts(tmp_path / "photos", "--prototypes", str(tmp_path / "p.csv"))
    assert found["unseen_classes"] == 2 and len(found["missing"]) == 1


def test_equal_descriptions_are_pointed_out(tmp_path):
    S = small.arrays()[2]
    S[5] = S[2]
    found = facts(small.write_npz(tmp_path / "x.npz", prototypes=S))
    assert "'007.bird', '004.bird' have the same description" in found["warnings"][0]


def test_attributes_that_do_not_differ_are_pointed_out(tmp_path):
    """Of the seen classes: what distinguishes unseen classes alone cannot be learned either."""
    S = small.arrays()[2]
    S[list(small.SEEN), 1] = 0.5
    path = small.write_npz(tmp_path / "x.npz", prototypes=S)
    assert "U003 Constant attribute: 'attribute 1' has one value for all seen classes" in inspect(path)
    S[:, 3] = 0
    found = facts(small.write_npz(tmp_path / "x.npz", prototypes=S))
    assert any(c["subjects"] == ["attribute 1", "attribute 3"] for c in found["checks"])
    table = small.write_prototypes(tmp_path / "classes.csv")
    table.write_text("\n".join(line.rpartition(",")[0] + ",1" for line in table.read_text().splitlines()))
    assert "'1' has one value for all seen classes" in inspect(path, "--prototypes", table)


def test_few_classes_are_pointed_out(tmp_path):
    assert "seen classes is only 7" in facts("digits")["warnings"][0]
    assert facts("synthetic")["warnings"] == []


@pytest.mark.parametrize(("factor", "warned"), [(1e5, True), (1e-5, True), (10, False)])
def test_features_on_different_scales_are_pointed_out(tmp_path, factor, warned):
    X = small.arrays()[0].copy()
    X[:, 2] *= factor
    X[:, 3] = 0  # a feature that is never used has no scale
    found = facts(small.write_npz(tmp_path / "x.npz", X=X))["warnings"]
    assert any("Features differ in scale" in warning for warning in found) == warned
    if warned:
        (warning,) = [warning for warning in found if "scale" in warning]
        assert "feature 2" in warning and "--normalize standard" in warning


def test_missing_features_are_described_as_far_as_the_files_go(tmp_path):
    folder = small.write_xlsa17(tmp_path / "B")
    found = facts(folder, "--features", "res50")
    assert found["samples"] == 90 and found["features"] is None
    assert found["seen_classes"] == 6 and found["split"] == {} and "Download" in found["missing"][0]
    assert "unknown" in inspect(folder, "--features", "res50")


def test_files_are_named_with_their_checksums(tmp_path):
    folder = small.write_xlsa17(tmp_path / "B")
    [splits, _] = facts(folder)["files"]
    assert splits["file"].endswith("att_splits.mat") and len(splits["sha256"]) == 64
    assert f"att_splits.mat: sha256 {splits['sha256'][:16]}" in inspect(folder)


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        (
            {"X": np.full((90, 5), np.nan)},
            "The features hold nan at sample 0, feature 0: expected a finite number",
        ),
        ({"y": np.array([object()])}, "pickled objects, which are never loaded"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(tmp_path, changes, match):
    result = CliRunner().invoke(main, ["inspect", str(small.write_npz(tmp_path / "bad.npz", **changes))])
    assert result.exit_code == 2
    assert result.stderr.startswith("error: ") and result.stderr.count("\n") == 1
    assert match in result.stderr
    assert result.stdout == ""


def test_the_command_itself_ends_with_2(run, tmp_path):
    done = run("inspect", tmp_path / "gone.npz")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"error: {tmp_path / 'gone.npz'} is missing.\n"


# ---- the paper's table -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("split_dir", "expected"), [("CUB", PROPOSED), ("standard_split/CUB", STANDARD)])
def test_the_papers_rows(real_data, split_dir, expected):
    data = load_dataset(
        real_data / "xlsa17/CUB", features="res50", split_dir=real_data / "xlsa17" / split_dir
    )
    found = split_statistics(make_split(data, rule="paper"), data.y)
    assert rows(found) == expected
    assert all(row["classes"] == dict(zip(PARTS, (100, 100, 100, 50, 50, 50))) for row in found)


@pytest.fixture(scope="module")
def birds(real_data):
    """What the command prints about CUB with the paper's rule."""
    return facts(real_data / "xlsa17/CUB", "--features", "res50", "--split-rule", "paper")


def test_the_command_prints_the_papers_rows(birds):
    assert rows(birds["splits"]) == PROPOSED


def test_the_variances_of_birds(birds):
    """In the paper's order."""
    assert {name: round(value, 1) for name, value in birds["variance"].items()} == {
        "intra": 431.9,
        "inter": 590.4,
        "means": 157.7,
    }


def test_one_class_alone_has_nothing_between_classes():
    assert class_variance(np.array([[0.0], [2.0]]), np.array([0, 0])) == {
        "intra": 1.0,
        "inter": 0.0,
        "means": 0.0,
    }
