"""Attributes have names: prototypes and new classes are matched by them, in memory and in model files."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from numpy.testing import assert_array_equal

from unseen import GZSLClassifierCV, LinearSV, UnseenError
from unseen.cli import main
from unseen.datasets import load_dataset
from unseen.methods import METHODS, make_method
from unseen.models.io import load_model, save_model

P = pd.DataFrame(
    [[1.0, 0.0, 0.5], [0.0, 1.0, 0.3], [0.4, 0.2, 0.9]],
    index=["stripes", "spots", "plain"],
    columns=["light", "dark", "long tail"],
)
X = np.array([[2.0, 0.1], [0.2, 3.0], [1.0, 1.1], [0.9, 1.2]])
Y = ["stripes", "spots", "plain", "plain"]
NEW = pd.DataFrame([[0.9, 0.1, 0.7]], index=["zebra"], columns=P.columns)


@pytest.mark.parametrize("name", [name for name in METHODS if not METHODS[name].shared_space])
def test_new_classes_find_their_columns_by_name(name):
    expected = make_method(name, P, 0).fit(X, Y)
    assert_array_equal(expected.attribute_names_, P.columns)
    expected.add_classes(NEW)
    reordered = make_method(name, P, 0).fit(X, Y).add_classes(NEW[["dark", "long tail", "light"]])
    assert_array_equal(reordered.coef_, expected.coef_)
    assert_array_equal(reordered.prototypes_, expected.prototypes_)


def message(call, *arguments, **options):
    with pytest.raises(UnseenError) as error:
        call(*arguments, **options)
    return str(error.value)


@pytest.mark.parametrize(
    ("new", "words"),
    [
        (
            NEW.rename(columns={"dark": "drak"}),
            "The attribute 'dark' is missing in the new descriptions. Did you mean 'drak'?",
        ),
        (NEW.drop(columns="dark"), "The attribute 'dark' is missing"),
        (NEW.assign(loud=1.0), "The attribute 'loud' is not an attribute of the model."),
        ({"zebra": {"light": 0.9, "long tail": 0.7}}, "The attribute 'dark' is missing"),
        (NEW.to_numpy()[:, :2], "have 2 attributes, expected 3"),
    ],
)
def test_new_classes_with_other_attributes_are_refused(new, words):
    model = LinearSV(P).fit(X, Y)
    assert words in message(model.add_classes, new, ["zebra"])
    assert len(model.classes_) == 3


@pytest.mark.parametrize("prototypes", [P.to_numpy(), P.to_dict("index"), P.T.to_dict("series"), P])
def test_names_are_known_where_they_are_given(prototypes):
    y = [0, 1, 2, 2] if isinstance(prototypes, np.ndarray) else Y
    model = LinearSV(prototypes).fit(X, y)
    assert_array_equal(model.prototypes_, P)
    assert hasattr(model, "attribute_names_") == (not isinstance(prototypes, np.ndarray))
    named = list(P.columns) if hasattr(model, "attribute_names_") else []
    assert list(model.described().columns) == named
    order = ["long tail", "light", "dark"] if named else list(P.columns)
    model.add_classes(NEW[order], classes=["zebra"] if named else [7])
    assert_array_equal(model.prototypes_[-1], NEW.iloc[0])


def test_columns_that_are_only_counted_have_no_names():
    for columns in (range(3), ["0", "1", "2"], ["a", "a", "b"]):
        model = LinearSV(P.set_axis(columns, axis=1)).fit(X, Y)
        assert not hasattr(model, "attribute_names_")
        assert_array_equal(model.add_classes(NEW).prototypes_[-1], NEW.iloc[0])


def test_names_of_a_former_fit_are_forgotten():
    model = LinearSV(P).fit(X, Y)
    model.set_params(prototypes=dict(zip(P.index, P.to_numpy()))).fit(X, Y)
    assert not hasattr(model, "attribute_names_")


def test_rows_of_a_mapping_are_found_by_name_too():
    shuffled = dict(P.T)
    shuffled["spots"] = shuffled["spots"][::-1]
    assert_array_equal(LinearSV(shuffled).fit(X, Y).prototypes_, P)
    shuffled["plain"] = P.loc["plain"].drop("dark")
    text = message(LinearSV(shuffled).fit, X, Y)
    assert text == (
        "Only one of the classes 'stripes' and 'plain' has the attribute 'dark'. "
        "Describe every class by the same attributes."
    )


def test_blocks_keep_the_names():
    model = LinearSV(P).partial_fit(X[:2], Y[:2]).partial_fit(X[2:], Y[2:])
    assert_array_equal(model.add_classes(NEW[NEW.columns[::-1]]).prototypes_[-1], NEW.iloc[0])


# ---- a whole selection, and its file -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def letters():
    """A calibrated model of named letters, and a new letter with its columns in another order."""
    data = load_dataset("letters")
    P = pd.DataFrame(data.prototypes, index=data.class_names, columns=data.attribute_names)
    seen = np.flatnonzero(data.seen[data.y])[::4]
    y = np.array(data.class_names)[data.y[seen]]
    search = GZSLClassifierCV(LinearSV(P), {"alpha": [0.01]}, gamma="paper").fit(data.X[seen], y)
    new = P.loc[["N"]].rename(index={"N": "Ñ"})
    return search, new[new.columns[::-1]]


def test_a_calibrated_model_takes_new_classes_by_the_names_of_their_columns(letters, tmp_path):
    search, new = letters
    save_model(search, tmp_path / "letters.model")
    model = load_model(tmp_path / "letters.model")
    assert_array_equal(model.estimator_.attribute_names_, new.columns[::-1])
    model.add_classes(new)
    column = list(model.classes_).index("N")
    assert_array_equal(model.estimator_.prototypes_[-1], model.estimator_.prototypes_[column])
    with pytest.raises(UnseenError, match="is missing in the new descriptions"):
        model.add_classes(new.rename(columns={new.columns[0]: "elsewhere"}, index={"Ñ": "Ö"}))


def test_the_command_knows_the_names_of_a_model_that_python_has_saved(letters, tmp_path):
    search, new = letters
    save_model(search, tmp_path / "letters.model")  # without a card
    new.to_csv(tmp_path / "new.csv", index_label="class")
    arguments = ["add-class", str(tmp_path / "letters.model"), "--prototypes", str(tmp_path / "new.csv")]
    ran = CliRunner().invoke(main, arguments)
    assert ran.exit_code == 0, ran.stderr
    model = load_model(tmp_path / "letters.model")
    column = list(model.classes_).index("N")
    assert_array_equal(model.estimator_.prototypes_[-1], model.estimator_.prototypes_[column])


def test_a_file_with_names_that_do_not_fit_is_refused(letters, tmp_path):
    search, _ = letters
    save_model(search, tmp_path / "letters.model")
    model = load_model(tmp_path / "letters.model")
    model.estimator_.attribute_names_ = model.estimator_.attribute_names_[1:]
    save_model(model, tmp_path / "short.model")
    with pytest.raises(UnseenError, match="attribute_names_"):
        load_model(tmp_path / "short.model")
