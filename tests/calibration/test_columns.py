"""Classes by name, by number and by mask: every form gives the same curve."""

from __future__ import annotations

import numpy as np
import pytest

from unseen.calibration.columns import find_columns, seen_columns
from unseen.calibration.curve import SeenUnseenCurve
from unseen.errors import UnseenError

NAMES = np.array(["cow", "ant", "dog", "bee"])  # not sorted
SEEN = np.array([True, False, True, False])


@pytest.fixture(scope="module")
def problem() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = np.append(np.arange(4), rng.integers(0, 4, 46))
    scores = rng.normal(size=(50, 4)) + 1.5 * np.eye(4)[y] + SEEN
    return scores, y


@pytest.fixture(params=["pandas", "polars"])
def table(request, problem):
    library = pytest.importorskip(request.param)
    return library.DataFrame(dict(zip(NAMES.tolist(), problem[0].T)))


SEEN_FORMS = {
    "mask": SEEN,
    "list of bools": SEEN.tolist(),
    "names": ["dog", "cow"],
    "array of names": NAMES[SEEN],
    "indices": [2, 0],
    "range": range(0, 3, 2),
    "mask of integers": [1, 0, 1, 0],
}


@pytest.mark.parametrize("form", SEEN_FORMS)
@pytest.mark.parametrize("labels", ["names", "indices", "series", "strings", "categories"])
def test_every_form_gives_the_same_curve(problem, table, form, labels):
    pd = pytest.importorskip("pandas")
    scores, y = problem
    names = pd.Series(NAMES[y], index=np.arange(50) + 100)
    forms = {"names": NAMES[y].tolist(), "indices": y, "series": names}
    forms |= {"strings": names.astype("string"), "categories": names.astype("category")}
    expected = SeenUnseenCurve.from_scores(scores, y, SEEN)
    found = SeenUnseenCurve.from_scores(table, forms[labels], SEEN_FORMS[form])
    np.testing.assert_array_equal(found.breakpoints, expected.breakpoints)
    assert found.best() == expected.best()


def test_arrays_take_indices_and_masks_of_seen_classes(problem):
    scores, y = problem
    expected = SeenUnseenCurve.from_scores(scores, y, SEEN)
    assert SeenUnseenCurve.from_scores(scores, y, [0, 2]).best() == expected.best()
    assert SeenUnseenCurve.from_scores(scores.tolist(), y.tolist(), [2, 0]).h == expected.h


def test_a_mask_with_names_is_matched_by_name():
    pd = pytest.importorskip("pandas")
    mask = pd.Series({"ant": False, "bee": False, "cow": True, "dog": True})
    np.testing.assert_array_equal(seen_columns(mask, NAMES), SEEN)
    np.testing.assert_array_equal(seen_columns(pd.Series(SEEN), NAMES), SEEN)


def test_names_that_are_integers_are_names():
    assert find_columns([30, 10], np.array([10, 20, 30])).tolist() == [2, 0]
    with pytest.raises(UnseenError, match="y names class '2', which is none of the 3 classes 10"):
        find_columns([2], np.array([10, 20, 30]))


@pytest.mark.parametrize(
    ("seen", "message"),
    [
        ([True, False], r"seen has shape \(2,\), expected one bool per class: \(4,\)"),
        (
            [3, 1, 0, 1],
            r"^seen lists class '1' twice\. Pass class names or indices once each, "
            r"or one bool \(True or False\) per class\.$",
        ),
        (["cow", "cat"], "seen names class 'cat', which is none of the 4 classes"),
        ([0, 4], r"seen\[1\] is 4, but there are 4 classes"),
        ([0.0, 1.0], "expected a list of class names or indices"),
    ],
)
def test_what_names_no_class_is_refused(seen, message):
    with pytest.raises(UnseenError, match=message):
        seen_columns(seen, NAMES)


def test_names_need_names(problem):
    message = r"type <U3, expected a list of class indices \(scores has no column names\)"
    with pytest.raises(UnseenError, match=f"y has .*{message}"):
        find_columns(["cow"], np.arange(4))
    with pytest.raises(UnseenError, match=f"seen has .*{message}"):
        SeenUnseenCurve.from_scores(*problem, ["cow"])


def test_two_columns_of_one_name_are_refused():
    pd = pytest.importorskip("pandas")
    with pytest.raises(UnseenError, match="two columns with the same name"):
        SeenUnseenCurve.from_scores(pd.DataFrame(np.eye(2), columns=["a", "a"]), [0, 1], [True, False])


@pytest.mark.skipif(not hasattr(np.dtypes, "StringDType"), reason="needs NumPy 2")
def test_text_of_any_type_is_text():
    given = np.array(["dog", "cow"], dtype=np.dtypes.StringDType())
    assert find_columns(given, NAMES).tolist() == [2, 0]
    assert find_columns(["dog", "cow"], NAMES.astype(np.dtypes.StringDType())).tolist() == [2, 0]


def test_a_series_is_matched_by_its_index_if_that_names_the_columns(problem):
    pandas = pytest.importorskip("pandas")
    series = pandas.Series(SEEN)
    shuffled = series.sort_values(kind="stable")
    assert shuffled.index.tolist() != series.index.tolist()
    for given in (series, shuffled, series.set_axis([7, 8, 9, 10])):
        assert seen_columns(given, np.arange(4)).tolist() == SEEN.tolist()


@pytest.mark.parametrize("gamma", [np.nan, "a", None])
def test_a_curve_is_read_at_a_number(problem, gamma):
    curve = SeenUnseenCurve.from_scores(*problem, SEEN)
    with pytest.raises(UnseenError, match="but expected a number"):
        curve.at(gamma)
