"""What all methods share: scikit-learn's checks, our own checks, labels, prototypes, new classes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.utils.estimator_checks import parametrize_with_checks

from unseen import LinearSV, LinearVS, UnseenError
from unseen._core.scaling import scale_rows
from unseen.methods import METHODS, find_method, make_method

ALL = [find_method(name) for name, method in METHODS.items() if not method.params]  # no class twice


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks([method() for method in ALL])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def test_every_method_carries_a_grid():
    for name in METHODS:
        method = make_method(name, None, 0)
        if "alpha" not in method.get_params():
            continue  # nothing to select
        sizes = [len(values) for values in method.default_grid.values()]
        assert np.prod(sizes) >= 10, name


def test_rows_of_unit_length():
    X = np.array([[3e38, 4e38], [3e-40, 4e-40], [0, 0]], dtype=np.float64)
    assert_allclose(scale_rows(X, "l2"), [[0.6, 0.8], [0.6, 0.8], [0, 0]])
    assert scale_rows(X, None) is X


def test_prototypes_as_a_frame_follow_names_not_order():
    S = pd.DataFrame([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], index=["stripes", "spots", "both"])
    model = LinearVS(S, alpha=1e-6).fit([[0.0, 3.0], [2.0, 0.0]], ["spots", "stripes"])
    assert_array_equal(model.predict([[5.0, 0.1], [1.0, 1.0]]), ["stripes", "both"])
    assert_array_equal(model.seen_, [True, True, False])


def test_new_class_by_name():
    S = pd.DataFrame([[1.0, 0.0], [0.0, 1.0]], index=["stripes", "spots"])
    model = LinearVS(S, alpha=1e-6).fit([[0.0, 3.0], [2.0, 0.0]], ["spots", "stripes"])
    model.add_classes(pd.DataFrame([[1.0, 1.0]], index=["both"]))
    assert_array_equal(model.predict([[1.0, 1.0]]), ["both"])


def message(call, *arguments, **options):
    with pytest.raises(UnseenError) as error:
        call(*arguments, **options)
    return str(error.value)


def test_label_without_prototype_is_named():
    text = message(LinearSV(np.eye(3)).fit, np.eye(3), [0, 1, 3])
    assert text == (
        "prototypes has 3 rows but y names class 3 (labels must be 0..2). Pass one prototype row per class."
    )


def test_numbers_and_text_are_told_apart():
    named = pd.DataFrame(np.eye(3), index=["0", "1", "2"])
    text = message(LinearSV(named).fit, np.eye(3), [0, 1, 2])
    assert text == "y names class 0 as a number, but the classes are text. Use astype(str)."
    for prototypes in (np.eye(3), pd.DataFrame(np.eye(3), index=[5, 1, 2])):
        text = message(LinearSV(prototypes).fit, np.eye(2, 3), ["1", "2"])
        assert text == "y names class 1 as text, but the classes are numbers. Use astype(int)."


def test_names_need_prototypes_that_name_their_classes():
    text = message(LinearSV(np.eye(2)).fit, np.eye(2), ["zebra", "okapi"])
    assert text.endswith("For names, pass a DataFrame indexed by class, or a mapping from class to row.")


def test_unknown_name_is_answered_with_the_nearest():
    S = pd.DataFrame(np.eye(2), index=["zebra", "okapi"])
    assert "Did you mean 'zebra'?" in message(LinearSV(S).fit, np.eye(2), ["zebro", "okapi"])
    model = LinearSV(S).fit(np.eye(2), ["zebra", "okapi"])
    assert "Did you mean 'okapi'?" in message(model.predict, np.eye(2), candidates=["okapy"])


@pytest.mark.parametrize(
    ("prototypes", "words"),
    [
        (np.ones(3), "shape (3,)"),
        (np.ones((0, 3)), "shape (0, 3)"),
        (np.array([[0.0, np.nan], [1, 1]]), "prototypes[0, 1] is nan"),
        (pd.DataFrame(np.eye(2), index=["a", "a"]), "'a' is described twice"),
    ],
)
def test_bad_prototypes(prototypes, words):
    assert words in message(LinearSV(prototypes).fit, np.eye(2), [0, 1])


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"alpha": -1.0}, "Got alpha=-1.0"),
        ({"alpha": np.inf}, "Got alpha=inf"),
        ({"alpha": "x"}, "Got alpha='x'"),
        ({"normalize": "l3"}, "Got normalize='l3'"),
    ],
)
def test_bad_parameters(parameters, words):
    assert words in message(LinearSV(np.eye(2), **parameters).fit, np.eye(2), [0, 1])


def test_bad_new_classes():
    model = LinearSV(np.eye(2)).fit(np.eye(2), [0, 1])
    assert "have 3 attributes, expected 2" in message(model.add_classes, np.ones((1, 3)))
    assert "already known" in message(model.add_classes, np.ones((1, 2)), classes=[1])
    named = LinearSV(pd.DataFrame(np.eye(2), index=["a", "b"])).fit(np.eye(2), ["a", "b"])
    assert "pass classes=" in message(named.add_classes, np.ones((1, 2)))


def test_unknown_method_is_answered_with_the_nearest():
    assert "Did you mean 'eszsl'?" in message(find_method, "eszl")
    assert "Cannot load method" in message(find_method, "nowhere:Method")
    assert find_method("unseen.methods.linear:LinearSV") is LinearSV


@pytest.fixture
def fitted() -> tuple[LinearSV, np.ndarray]:
    rng = np.random.default_rng(0)
    S, y = rng.normal(size=(6, 4)), np.repeat(np.arange(4), 5)
    X = S[y] @ rng.normal(size=(4, 7))
    return LinearSV(S).fit(X, y), X


def test_candidates_may_be_a_mask(fitted):
    model, X = fitted
    expected = model.predict(X, candidates=[4, 5])
    assert_array_equal(model.predict(X, candidates=~model.seen_), expected)
    assert set(expected) <= {4, 5}
    for wrong in ([], 4, {4, 5}):
        with pytest.raises(UnseenError, match="expected a list of at least one class"):
            model.predict(X, candidates=wrong)


@pytest.mark.parametrize("classes", [[7], [7, 8, 9], [7, 7], ["a", "b"], [7, np.nan], 7, [[7, 8]]])
def test_labels_of_new_classes_that_do_not_fit_change_nothing(fitted, classes):
    model, X = fitted
    before = model.similarity(X)
    with pytest.raises(UnseenError, match="expected 2 different labels, numbers as those of the other"):
        model.add_classes(np.eye(4)[:2], classes=classes)
    assert_array_equal(model.similarity(X), before)
    assert model.add_classes(np.eye(4)[:2], classes=[7, 9]).classes_.tolist()[-2:] == [7, 9]
