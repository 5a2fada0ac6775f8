"""Every check finds what it is for, and nothing in data that has no such fault."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from conftest import ROOT
from unseen import UnseenError
from unseen._core.checks import TITLES, Check, in_lines, model_checks, select, warn_about
from unseen.datasets import load_dataset
from unseen.datasets.checks import attribute_readability, held_out_errors
from unseen.datasets.dataset import ZeroShotDataset


@pytest.fixture(scope="module")
def sound():
    """A data set without a fault."""
    rng = np.random.default_rng(0)
    S = rng.normal(size=(24, 6))
    y = np.repeat(np.arange(24), 20)
    X = S[y] @ rng.normal(size=(6, 30)) + 0.3 * rng.normal(size=(len(y), 30))
    names = tuple(f"class {c}" for c in range(24))
    attributes = ("red", "blue", "big", "small", "loud", "fast")
    return ZeroShotDataset("sound", X, y, S, names, np.arange(24) >= 18, attributes)


def changed(data, *, S=None, X=None, **fields):
    """Return the data set with other prototypes or features, as functions of a copy."""
    for name, change in (("prototypes", S), ("X", X)):
        if change is not None:
            array = getattr(data, name).copy()
            change(array)
            fields[name] = array
    return replace(data, **fields)


def codes(data, **options):
    return [check.code for check in data.checks(**options)]


def only(data):
    (check,) = data.checks()
    return check


# ---- what each finds -------------------------------------------------------------------------------------


def test_sound_data_have_no_fault(sound):
    assert codes(sound) == []


def test_equal_descriptions_are_found_in_groups(sound):
    def change(S):
        S[[5, 9]] = S[2]
        S[20] = S[1]

    found = changed(sound, S=change).checks()
    assert [check.subjects for check in found] == [("class 1", "class 20"), ("class 2", "class 5", "class 9")]
    assert {check.code for check in found} == {"U001"}


@pytest.mark.parametrize(("distance", "near"), [(0.09, True), (0.11, False)])
def test_nearly_equal_descriptions_are_measured_by_the_usual_distance(sound, distance, near):
    """The oracle is the root mean square of the distances of all pairs, whatever the unit."""
    S = sound.prototypes.copy()
    for _ in range(50):  # moving one class changes the usual distance a little
        pairs = np.triu_indices(24, 1)
        usual = np.sqrt(np.mean(np.sum((S[pairs[0]] - S[pairs[1]]) ** 2, axis=1)))
        S[20] = S[3] + distance * usual * np.eye(6)[0]
    for unit in (1.0, 1000.0):
        found = replace(sound, prototypes=unit * S).checks()
        assert [check.subjects for check in found] == ([("class 3", "class 20")] if near else [])
    assert not near or "are at 9 % of" in found[0].message


def test_constant_attributes_are_those_of_the_seen_classes(sound):
    def change(S):
        S[:18, 1] = 0.5

    assert only(changed(sound, S=change)).subjects == ("blue",)


def test_an_attribute_that_is_noise_cannot_be_read(sound):
    def change(S):
        S[:, 4] = np.random.default_rng(5).normal(size=24)

    data = changed(sound, S=change)
    assert only(data).code == "U004" and only(data).subjects == ("loud",)
    explained = attribute_readability(data)
    assert explained[4] < 0 and np.delete(explained, 4).min() > 0.5


def test_readability_uses_no_sample_of_the_test_sets(sound):
    def change(X):
        X[::5] = 1e3  # of every class

    before = attribute_readability(sound)
    test_seen = np.flatnonzero((np.arange(480) % 5 == 0) & (sound.y < 18))
    after = attribute_readability(changed(sound, X=change, test_seen=test_seen))
    assert np.abs(before - after).max() < 0.05


def test_errors_of_held_out_classes_are_those_of_refitting():
    """The oracle leaves out one row at a time."""
    rng = np.random.default_rng(0)
    M, S = rng.normal(size=(12, 5)) + 3, rng.normal(size=(12, 2)) + 1
    centered = M - M.mean(axis=0)
    ridge = 0.3 * np.trace(centered @ centered.T) / 12
    (errors,) = held_out_errors(M, S, [0.3])
    # with all centered by the mean of all rows, the intercept is free and the rest is penalized
    for i in range(12):
        rest = np.delete(np.arange(12), i)
        A = np.column_stack([np.ones(11), centered[rest]])
        penalty = ridge * np.diag([0, 1, 1, 1, 1, 1])
        W = np.linalg.solve(A.T @ A + penalty, A.T @ S[rest])
        np.testing.assert_allclose(S[i] - np.r_[1, centered[i]] @ W, errors[i], rtol=1e-8)


def test_zeros_are_no_description(sound):
    def change(S):
        S[4] = 0

    assert (only(changed(sound, S=change)).code, only(changed(sound, S=change)).subjects) == (
        "U005",
        ("class 4",),
    )


def test_features_of_different_scales_are_named(sound):
    def change(X):
        X[:, 3] *= 1e5

    check = only(changed(sound, X=change))
    assert check.code == "U006" and check.subjects[1] == "3" and "--normalize standard" in check.advice


def test_few_classes_are_counted(sound):
    found = codes(replace(sound, unseen=np.arange(24) >= 9))
    assert found == ["U007"]
    assert codes(replace(sound, unseen=np.arange(24) >= 10)) == []


def test_classes_with_one_sample_are_named(sound):
    keep = (sound.y != 6) | (np.cumsum(sound.y == 6) == 1)
    check = only(replace(sound, X=sound.X[keep], y=sound.y[keep]))
    assert check.code == "U008" and check.subjects == ("class 6",)


def test_an_attribute_in_another_unit_is_named(sound):
    def change(S):
        S[:, 2] *= 1e5

    assert only(changed(sound, S=change)).code == "U012"
    assert only(changed(sound, S=change)).subjects == ("big",)


def test_incomplete_data_are_checked_as_far_as_they_go(sound):
    assert codes(replace(sound, X=None, y=None, missing=("features",))) == []
    bare = replace(sound, prototypes=np.empty((24, 0)), attribute_names=None, missing=("descriptions",))
    assert codes(bare) == []


@pytest.mark.parametrize(
    ("results", "expected"),
    [
        ({"lost": ["D", "E"]}, ["U009"]),
        ({"unseen": (30.0, 21.0, 40.0), "chance": 20.0}, []),
        ({"unseen": (30.0, 19.0, 40.0), "chance": 20.0}, ["U010"]),
        ({"H": 60.0, "cosine_H": 61.0}, ["U011"]),
        ({"H": 61.0, "cosine_H": 60.0}, []),
        ({"H": 61.0}, []),
    ],
)
def test_results_of_a_model_are_checked(results, expected):
    found = model_checks(**results)
    assert [check.code for check in found] == expected
    assert all(check.subjects == ("D", "E") for check in found if check.code == "U009")


def test_several_constant_attributes_are_named_together(sound):
    def change(S):
        S[:, 1:3] = 0.5

    (check,) = changed(sound, S=change).checks()
    assert re.search("' have one value .* learned from them", check.message)


# ---- all together --------------------------------------------------------------------------------------


def test_checks_can_be_ignored(sound):
    def change(S):
        S[:, 1] = 0.5
        S[20] = 0

    data = changed(sound, S=change)
    assert codes(data) == ["U003", "U005"]
    assert codes(data, ignore=["U003"]) == ["U005"]
    with pytest.raises(UnseenError, match="There is no check 'U300'"):
        codes(data, ignore=["U300"])


def test_users_add_their_own(sound):
    def unbalanced(data):
        yield Check("MINE", "note", "Unbalanced", f"{len(data.y)} samples.", "Balance them.", ("all",))

    (check,) = sound.checks(more=[unbalanced])
    assert str(check) == "MINE Unbalanced: 480 samples. Balance them."
    assert sound.checks(more=[unbalanced], ignore=["MINE"]) == []


def test_checks_are_sorted_and_become_json():
    found = select([Check.of("U007", "Few.", "More."), Check.of("U001", "Same.", "Differ.", ["a", 1])])
    assert [check.code for check in found] == ["U001", "U007"]
    values = json.loads(json.dumps([check.to_json() for check in found]))
    assert values[0] == {
        "code": "U001",
        "severity": "warning",
        "title": "Equal descriptions",
        "message": "Same.",
        "advice": "Differ.",
        "subjects": ["a", "1"],
    }
    assert [Check.from_json(value) for value in values] == found


def test_only_warnings_warn():
    with pytest.warns(UserWarning, match="U007") as issued:
        warn_about([Check.of("U007", "Few.", "More."), Check.of("U008", "One.", "Add.")])
    assert [str(warning.message) for warning in issued] == ["U007 Few seen classes: Few. More."]
    assert issued[0].filename == __file__


def test_a_flood_of_one_check_is_counted():
    lines = in_lines([Check.of("U001", f"{n}.", "") for n in range(30)] + [Check.of("U007", "Few.", "")])
    assert len(lines) == 7 and lines[5] == "U001 Equal descriptions: 25 more."


# ---- the command and the page ----------------------------------------------------------------------------


def test_inspect_prints_checks_and_ignores_some(run):
    assert "U007 Few seen classes: The number of seen classes is only 7." in run("inspect", "digits").stdout
    facts = json.loads(run("inspect", "digits", "--json").stdout)
    assert [(c["code"], c["severity"]) for c in facts["checks"]] == [("U007", "warning")]
    without = json.loads(run("inspect", "digits", "--ignore", "U007", "--json").stdout)
    assert without["checks"] == without["warnings"] == []


def test_inspect_prints_the_checks_of_a_model(run, tmp_path):
    done = run("fit", "digits", "--method", "linear-sv", "--model", tmp_path / "model", "--quiet")
    assert "warning: U007 Few seen classes" in done.stderr and "U007" not in done.stdout
    assert "- U007 Few seen classes" in run("inspect", tmp_path / "model").stdout
    assert "U007" not in run("inspect", tmp_path / "model", "--ignore", "U007").stdout
    assert json.loads(run("inspect", tmp_path / "model", "--json").stdout)["checks"][0]["code"] == "U007"


def test_every_check_has_a_section_that_triggers_it():
    """The page runs with the other pages; here each section has its code, its title and its data set."""
    page = (ROOT / "docs" / "checks.md").read_text("utf-8")
    sections = dict(re.findall(r"^## (U\d{3}) (.*) \{#(?:u\d{3})\}$", page, re.MULTILINE))
    assert sections == {code: title for code, (_, title) in TITLES.items()}
    for code, text in zip(TITLES, re.split(r"^## U\d{3}.*$", page, flags=re.MULTILINE)[1:]):
        assert "```pycon" in text and re.search(f"['\"]{code}['\"]", text), code


def test_data_sets_of_the_package_have_no_surprise():
    assert {
        name: codes(load_dataset(name), ignore=["U004"]) for name in ("letters", "digits", "synthetic")
    } == {
        "letters": [],
        "digits": ["U007"],
        "synthetic": [],
    }
