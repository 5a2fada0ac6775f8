"""Score files as people have them: tables that pandas wrote, other columns, other classes."""

from __future__ import annotations

import numpy as np
import pytest

from unseen.calibration.scores import Scores, read_scores
from unseen.errors import UnseenError

NAMES = ["ant", "bee", "cow"]
TABLE = np.array([[0.9, 0.2, 0.3], [0.1, 0.8, 0.2], [0.4, 0.5, 0.6]])


def frame(**columns: object):
    pd = pytest.importorskip("pandas")
    return pd.DataFrame(TABLE, columns=NAMES).assign(**columns)


@pytest.mark.parametrize("index", [[10, 4000, 7], ["x", "y", "z"]])
@pytest.mark.parametrize("kind", ["csv", "parquet", "csv twice"])
def test_the_index_of_pandas_is_not_a_class(tmp_path, index, kind):
    table = frame(y=NAMES).set_axis(index, axis=0)
    if kind == "parquet":
        pytest.importorskip("pyarrow")
        path = tmp_path / "scores.parquet"
        table.to_parquet(path)
    else:
        path = tmp_path / "scores.csv"
        table.to_csv(path)
    if kind == "csv twice":  # read without index_col, then written without index: "Unnamed: 0"
        pd = pytest.importorskip("pandas")
        pd.read_csv(path).to_csv(path, index=False)
    found = read_scores(path, ["ant"])
    assert found.class_names == tuple(NAMES)
    np.testing.assert_array_equal(found.scores, TABLE)
    np.testing.assert_array_equal(found.y, [0, 1, 2])


def test_only_the_first_column_may_have_no_name(tmp_path):
    path = tmp_path / "scores.csv"
    path.write_text("ant,,y\n1,2,ant\n")
    with pytest.raises(UnseenError, match="column 2 has no name"):
        read_scores(path, ["ant"])


@pytest.mark.parametrize("kind", ["csv", "parquet", "npz"])
def test_the_true_class_may_have_another_name(tmp_path, kind):
    path = tmp_path / f"scores.{kind}"
    if kind == "npz":
        np.savez(path, scores=TABLE, truth=NAMES, class_names=NAMES, seen=[1, 0, 0])
    elif kind == "csv":
        frame(truth=NAMES).to_csv(path, index=False)
    else:
        pytest.importorskip("pyarrow")
        frame(truth=NAMES).to_parquet(path)
    found = read_scores(path, ["ant"], label="truth")
    np.testing.assert_array_equal(found.y, [0, 1, 2])
    assert found.class_names == tuple(NAMES)
    np.testing.assert_array_equal(read_scores(path, like=CHOSEN, label="truth").y, [0, 1, 2])
    if kind == "npz":
        assert read_scores(path).y is None
    else:
        with pytest.raises(UnseenError, match=r"column 'truth' is 'ant', expected a number.*--label"):
            read_scores(path, ["ant"])


CHOSEN = Scores(TABLE, np.arange(3), np.array([True, False, True]), tuple(NAMES))


def write(path, **content):
    np.savez(path, **content)
    return path


def test_seen_classes_carry_over_by_name(tmp_path):
    path = write(tmp_path / "other.npz", scores=TABLE[:, :2], class_names=["cow", "bee"])
    assert read_scores(path, like=CHOSEN).seen.tolist() == [True, False]


def test_seen_classes_carry_over_by_position_without_names(tmp_path):
    path = write(tmp_path / "other.npz", scores=TABLE)
    assert read_scores(path, like=CHOSEN).seen.tolist() == [True, False, True]
    with pytest.raises(UnseenError, match="has 2 classes, but gamma was chosen with 3"):
        read_scores(write(tmp_path / "two.npz", scores=TABLE[:, :2]), like=CHOSEN)


def test_what_the_file_or_the_user_says_comes_first(tmp_path):
    path = write(tmp_path / "other.npz", scores=TABLE, class_names=["ant", "cow", "elk"], seen=[0, 0, 1])
    assert read_scores(path, like=CHOSEN).seen.tolist() == [False, False, True]
    assert read_scores(path, ["ant", "cow", "owl"], like=CHOSEN).seen.tolist() == [True, True, False]


def test_the_user_corrects_the_file_and_seen_comes_before_seen_classes(tmp_path):
    path = write(tmp_path / "scores.npz", scores=TABLE, class_names=NAMES, seen=[0, 0, 1], seen_classes=[1])
    assert read_scores(path).seen.tolist() == [False, False, True]
    assert read_scores(path, ["ant"]).seen.tolist() == [True, False, False]


def test_names_in_one_file_alone_are_matched_by_position(tmp_path):
    unnamed = Scores(TABLE, np.arange(3), np.array([True, False, True]))
    path = write(tmp_path / "other.npz", scores=TABLE, class_names=["elk", "ant", "owl"])
    assert read_scores(path, like=unnamed).seen.tolist() == [True, False, True]


def test_every_sample_has_a_true_class_or_none(tmp_path):
    path = write(tmp_path / "scores.npz", scores=TABLE, y=[0, 1], seen=[1, 0, 0])
    with pytest.raises(UnseenError, match=r"y has shape \(2,\), expected the class of each of 3 samples"):
        read_scores(path)


def test_an_unknown_class_is_not_guessed(tmp_path):
    path = write(tmp_path / "other.npz", scores=TABLE, class_names=["ant", "cow", "elk"])
    with pytest.raises(UnseenError, match="has class 'elk', which the scores that chose gamma lack"):
        read_scores(path, like=CHOSEN)


def test_true_classes_are_optional(tmp_path):
    path = write(tmp_path / "other.npz", scores=TABLE, seen=[1, 0, 1])
    assert read_scores(path, like=CHOSEN).y is None


def test_an_archive_without_scores_is_rejected(tmp_path):
    with pytest.raises(UnseenError, match="has no 'scores', expected the arrays scores, y and seen"):
        read_scores(write(tmp_path / "other.npz", y=[0, 1]))


def test_seen_classes_may_be_numbers_of_columns(tmp_path):
    path = write(tmp_path / "scores.npz", scores=TABLE, y=[0, 1, 2])
    assert read_scores(path, ["2", "0"]).seen.tolist() == [True, False, True]
    assert read_scores(path, [2, 0]).seen.dtype == bool
