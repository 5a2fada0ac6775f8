"""Tables of samples: columns by name, messages with file, line and column."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from unseen.cli import main
from unseen.datasets import load_dataset
from unseen.datasets.tables import read_samples
from unseen.errors import UnseenError

FRUITS = ("apple", "banana", "cherry", "date", "elder", "fig", "grape", "honeydew", "kiwi", "lime")
UNSEEN = ("kiwi", "lime")
FEATURES = tuple(f"band {i}" for i in range(6))
RNG = np.random.default_rng(3)
S = RNG.uniform(size=(len(FRUITS), 4)).round(3)
Y = np.repeat(np.arange(8), 12)
X = (S[Y] @ RNG.normal(size=(4, 6)) + 0.05 * RNG.normal(size=(len(Y), 6))).round(4)


def lines(separator: str = ",", rows=None, names=FRUITS) -> list[str]:
    """Return the lines of a table: a row number, the fruit, a date, and six features."""
    header = ["id", "fruit", "picked", *FEATURES]
    rows = rows or [[i, names[c], f"2024-05-{1 + i % 28:02d}", *X[i]] for i, c in enumerate(Y)]
    texts = [[str(cell) for cell in row] for row in [header, *rows]]
    if separator == ";":  # as a German spreadsheet writes numbers
        texts = [texts[0], *([*row[:3], *(cell.replace(".", ",") for cell in row[3:])] for row in texts[1:])]
    return [separator.join(row) for row in texts]


def write(path: Path, content: list[str], bom: bool = False) -> Path:
    path.write_text("\n".join(content) + "\n", encoding="utf-8-sig" if bom else "utf-8")
    return path


def attributes(path: Path, names=FRUITS) -> Path:
    rows = [",".join([name, *map(str, row)]) for name, row in zip(names, S)]
    return write(path, ["fruit,red,round,sweet,big", *rows])


@pytest.fixture
def files(tmp_path):
    write(tmp_path / "samples.csv", lines())
    attributes(tmp_path / "attributes.csv")
    return tmp_path


def run(*arguments: object, code: int = 0):
    done = CliRunner().invoke(main, list(map(str, arguments)))
    assert done.exit_code == code, done.output
    return done


def rejection(path: Path, **options: object) -> str:
    with pytest.raises(UnseenError) as caught:
        load_dataset(path, **options)
    message = str(caught.value)
    assert "\n" not in message
    return message


# ---- what is read ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_table_is_a_data_set(tmp_path, separator):
    path = write(tmp_path / "samples.csv", lines(separator), bom=separator == ";")
    data = load_dataset(path, label="fruit", ignore=["id"], prototypes=attributes(tmp_path / "a.csv"))
    np.testing.assert_array_equal(data.X, X)
    assert [data.class_names[c] for c in data.y] == [FRUITS[c] for c in Y]
    assert data.feature_names == FEATURES and data.attribute_names == ("red", "round", "sweet", "big")
    assert [data.class_names[c] for c in np.flatnonzero(data.unseen)] == list(UNSEEN)
    assert data.notes == ("columns of samples.csv that are not used: 'picked' (text).",)


@pytest.mark.parametrize("index", [False, True])
def test_csv_and_parquet_give_the_same(files, index):
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_csv(files / "samples.csv", dtype={"fruit": "category"}).drop(columns="id")
    frame.to_parquet(files / "samples.parquet", index=index)
    frame.to_csv(files / "written.csv", index=index)  # the index has no name
    described = pandas.read_csv(files / "attributes.csv", index_col="fruit")
    described.to_parquet(files / "attributes.parquet")
    options = {"label": "fruit", "prototypes": files / "attributes.csv"}
    first = load_dataset(files / "samples.csv", ignore=["id"], **options)
    for path in (files / "samples.parquet", files / "written.csv"):
        other = load_dataset(path, **options | {"prototypes": files / "attributes.parquet"})
        np.testing.assert_array_equal(other.X, first.X)
        np.testing.assert_array_equal(other.prototypes, first.prototypes)
        assert other.feature_names == FEATURES and other.class_names == first.class_names
        assert (other.y == first.y).all()


def test_the_label_is_the_only_text(files):
    data = load_dataset(files / "samples.csv", ignore=["picked", "id"], prototypes=files / "attributes.csv")
    assert data.feature_names == FEATURES and not data.notes
    message = rejection(files / "samples.csv", prototypes=files / "attributes.csv")
    assert "2 columns hold text (fruit, picked)" in message and "--label fruit" in message
    message = rejection(files / "samples.csv", ignore=["fruit", "picked"])
    assert "no column holds text" in message and "--label" in message


def test_labels_of_digits_stay_as_written(tmp_path):
    rows = [[f"{c + 1:03d}", *X[i]] for i, c in enumerate(Y)]
    path = write(tmp_path / "s.csv", [",".join(map(str, row)) for row in [["number", *FEATURES], *rows]])
    names = [f"{c + 1:03d}" for c in range(len(FRUITS))]
    data = load_dataset(path, label="number", prototypes=attributes(tmp_path / "a.csv", names=names))
    assert data.class_names[0] == "001" and (data.y == Y).all()


def test_other_columns_are_other_data(files):
    options = {"label": "fruit", "prototypes": files / "attributes.csv"}
    first = load_dataset(files / "samples.csv", ignore=["id"], **options)
    assert load_dataset(files / "samples.csv", ignore=["id", "band 0"], **options).checksum != first.checksum


def test_long_tables_may_change_their_mind(tmp_path):
    """A column whose first four thousand cells are numbers is text if the others say so."""
    rows = [f"{i if i < 5000 else 'owl'},{i % 7}" for i in range(20000)]
    samples = read_samples(write(tmp_path / "s.csv", ["name,size", *rows]))
    assert samples.label == "name" and samples.y[4999] == "4999" and samples.feature_names == ("size",)


# ---- messages ---------------------------------------------------------------------------------------------


def changed(tmp_path: Path, row: int, column: int, cell: str) -> Path:
    content = lines()
    cells = content[row].split(",")
    cells[column] = cell
    content[row] = ",".join(cells)
    content.insert(3, "")  # an empty line counts
    return write(tmp_path / "samples.csv", content)


@pytest.mark.parametrize(
    ("column", "cell", "expected"),
    [
        (1, "", ("line 9, column 'fruit' is empty", "every sample needs a label")),
        (4, "n/a", ("line 9, column 'band 1' is 'n/a', expected a number", "--ignore band 1")),
        (4, "", ("line 9, column 'band 1' is empty, expected a number",)),
        (4, "inf", ("line 9, column 'band 1' is inf, expected a finite number",)),
        (4, "-1e200", ("line 9, column 'band 1' is -1e+200, too large to compute with", "--ignore band 1")),
        (1, "BANANA ", ("names class 'BANANA', which has no description in", "Did you mean 'banana'?")),
    ],
)
def test_a_wrong_cell_is_named_by_its_place(tmp_path, column, cell, expected):
    path = changed(tmp_path, 7, column, cell)
    message = rejection(path, label="fruit", prototypes=attributes(tmp_path / "attributes.csv"))
    assert all(part in message for part in (str(path), *expected))


def test_a_table_without_numbers_is_named(tmp_path):
    path = write(tmp_path / "s.csv", ["fruit;weight", "apple;1.234,50", "fig;-0,5 kg"])
    message = rejection(path, label="fruit", prototypes=attributes(tmp_path / "a.csv"))
    assert "s.csv has no column of numbers" in message


@pytest.mark.parametrize("name", ["no.csv", "no.parquet"])
def test_a_table_that_is_not_there(files, name):
    with pytest.raises(UnseenError, match=f"There is no file .*{name}"):
        load_dataset(files / "samples.csv", label="fruit", prototypes=files / name)


def test_lists_in_parquet_are_not_numbers(files):
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_csv(files / "samples.csv").drop(columns=["id", "picked"])
    frame.assign(pairs=[[1.0, 2.0]] * len(frame)).to_parquet(files / "lists.parquet")
    data = load_dataset(files / "lists.parquet", label="fruit", prototypes=files / "attributes.csv")
    assert data.feature_names == FEATURES and data.notes == (
        "columns of lists.parquet that are not used: 'pairs' (text).",
    )


def test_fit_says_which_columns_it_does_not_use(files):
    table = ["--label", "fruit", "--ignore", "id", "--prototypes", files / "attributes.csv", "--quiet"]
    done = run("fit", files / "samples.csv", *table, "--method", "linear-sv", "--model", files / "m")
    assert "note: columns of samples.csv that are not used: 'picked' (text).\n" in done.stderr


def test_columns_that_do_not_exist(files):
    message = rejection(files / "samples.csv", label="Fruit")
    assert "has no column 'Fruit'" in message and "Did you mean 'fruit'?" in message
    assert "has no column 'data'" in rejection(files / "samples.csv", label="fruit", ignore=["data"])
    twice = write(files / "t.csv", ["fruit,a,a", "x,1,2"])
    assert "two columns 'a'" in rejection(twice)
    assert "There is no file" in rejection(files / "nothere.csv")
    headless = write(files / "headless.csv", [line.partition(",")[2] for line in lines()[1:]])
    assert "headless.csv has no header" in rejection(headless, label="apple", prototypes=files / "a.csv")


def test_all_names_that_look_alike_are_named_at_once(tmp_path):
    names = ["APPLE", "002.banana", "cherry", "Date ", "elder_berry", *FRUITS[5:]]
    path = write(tmp_path / "samples.csv", lines(names=names))
    table = attributes(tmp_path / "attributes.csv")
    message = rejection(path, label="fruit", prototypes=table)
    assert f"{path}, column 'fruit', names 4 classes that have no description in {table}" in message
    assert "3 look alike: APPLE ~ apple, 002.banana ~ banana, Date ~ date." in message
    assert "The others: elder_berry." in message


def test_numbers_do_not_name_classes_that_have_names(tmp_path):
    path = write(tmp_path / "samples.csv", lines(names=[str(c + 1) for c in range(len(FRUITS))]))
    message = rejection(path, label="fruit", prototypes=attributes(tmp_path / "attributes.csv"))
    assert "'fruit', holds labels such as '1', but prototypes describes classes such as 'apple'" in message
    assert "Write the same names in both." in message


def test_a_row_number_is_no_feature(files):
    with pytest.warns(UserWarning, match=r"The column 'id' of .* counts the rows.* --ignore id"):
        load_dataset(files / "samples.csv", label="fruit", prototypes=files / "attributes.csv")


# ---- commands ---------------------------------------------------------------------------------------------


@pytest.fixture
def model(files):
    table = ["--label", "fruit", "--ignore", "id", "--prototypes", files / "attributes.csv"]
    options = ["--method", "linear-sv", "--model", files / "fruit.model", "--quiet"]
    run("fit", files / "samples.csv", *table, *options)
    return files / "fruit.model"


def test_features_are_found_by_name(files, model):
    expected = run("predict", model, files / "samples.csv", "--ignore", "id", "--quiet")
    shuffled = [2, 7, 3, 6, 4, 5, 8, 0, 1]
    content = [",".join(np.array(line.split(","))[shuffled]) for line in lines()]
    found = run("predict", model, write(files / "new.csv", content), "--quiet")
    assert found.stdout == expected.stdout
    assert "note: columns of new.csv that are not used: 'id' (not a feature of the model)." in found.stderr
    short = [line.rpartition(",")[0] for line in lines()]
    error = run("predict", model, write(files / "short.csv", short), code=2).stderr
    assert "short.csv lacks 1 of the 6 features that the model takes: band 5." in error
    renamed = write(files / "renamed.csv", [lines()[0].replace("band 5", "BAND 5"), *lines()[1:]])
    assert "takes: band 5. Did you mean 'BAND 5'?" in run("predict", model, renamed, code=2).stderr


@pytest.mark.parametrize(
    ("cell", "what"), [("", "is empty, expected a"), ("n/a", "is 'n/a'"), ("inf", "is inf")]
)
def test_a_cell_that_a_model_needs_is_not_to_be_ignored(files, model, cell, what):
    error = run("predict", model, changed(files, 7, 4, cell), code=2).stderr
    assert f"line 9, column 'band 1' {what}" in error and error.count("\n") == 1
    assert error.endswith("Correct it, or delete the line.\n")


def test_evaluate_matches_columns_and_classes(files, model):
    content = [",".join(np.array(line.split(","))[[1, *range(8, 2, -1)]]) for line in lines()]
    path = write(files / "test.csv", content)
    found = json.loads(run("evaluate", model, path, "--json").stdout)
    other = run("evaluate", model, files / "samples.csv", "--label", "fruit", "--json")
    assert found["S"] == json.loads(other.stdout)["S"] and found["S"]["per_sample"] > 30
    assert "not a feature of the model, and not used: id." in other.stderr


def test_samples_of_a_new_class_are_matched_by_name(files):
    """A few samples in a table whose columns have another order."""
    pandas = pytest.importorskip("pandas")
    from unseen.models.io import load_model

    table = ["--label", "fruit", "--ignore", "id", "--prototypes", files / "attributes.csv", "--quiet"]
    run("fit", files / "samples.csv", *table, "--method", "lda", "--model", files / "lda.model")
    write(files / "more.csv", ["fruit,big,red,round,sweet", "quince,0.5,0.1,0.2,0.3"])
    frame = pandas.read_csv(files / "samples.csv").iloc[:3].assign(fruit="quince")
    frame[[*FEATURES[::-1], "fruit"]].to_csv(files / "few.csv", index=False)
    options = ["--prototypes", files / "more.csv", "--samples", files / "few.csv"]
    run("add-class", files / "lda.model", *options, "--out", files / "more.model")
    model = load_model(files / "lda.model")
    new = pandas.DataFrame([[0.1, 0.2, 0.3, 0.5]], ["quince"], ["red", "round", "sweet", "big"])
    model.add_classes(new, X=frame[list(FEATURES)], y=frame["fruit"])
    np.testing.assert_allclose(load_model(files / "more.model").coef_, model.coef_)


def test_a_data_frame_gets_no_wrong_warning(files, model):
    """Warnings are errors here: the model knows the names of its features."""
    pandas = pytest.importorskip("pandas")
    from unseen.models.io import load_model

    fitted = load_model(model)
    assert fitted.feature_names_in_.tolist() == list(FEATURES)
    frame = pandas.read_csv(files / "samples.csv")
    found = fitted.predict(frame[list(FEATURES)])
    assert (found == frame["fruit"]).mean() > 0.3
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(frame[list(FEATURES[::-1])])


def test_bench_takes_tables(files):
    content = lines(rows=[[i, FRUITS[c], "x", *X[i]] for i, c in enumerate(Y)])
    write(files / "samples.csv", content)
    table = ["--label", "fruit", "--ignore", "id,picked", "--prototypes", files / "attributes.csv"]
    options = ["--unseen", "apple,fig,kiwi,lime", "--methods", "linear-sv", "--out", files / "run", "--quiet"]
    found = json.loads(run("bench", files / "samples.csv", *table, *options, "--json").stdout)
    assert list(found["methods"]) == ["linear-sv"]


def test_names_that_are_numbers_stay_text_in_parquet(tmp_path):
    pandas = pytest.importorskip("pandas")
    names = ["007", "7", "08", "8", "1", "2"]
    frame = pandas.DataFrame({"class": np.repeat(names, 3), "x": np.arange(18) / 7, "y": np.arange(18) % 5})
    described = pandas.DataFrame({"class": names, "a": np.arange(6.0), "b": np.arange(6.0) ** 2})
    for suffix in ("csv", "parquet"):
        for table, name in ((frame, "samples"), (described, "classes")):
            path = tmp_path / f"{name}.{suffix}"
            table.to_csv(path, index=False) if suffix == "csv" else table.to_parquet(path, index=False)
        options = {"label": "class", "prototypes": tmp_path / f"classes.{suffix}"}
        data = load_dataset(tmp_path / f"samples.{suffix}", **options)
        assert data.class_names == tuple(names) and data.seen.all()
        assert np.bincount(data.y).tolist() == [3] * 6


def test_a_comma_in_a_quoted_header_is_no_separator(tmp_path):
    text = 'fruit;"x, in mm";"y, in mm"\nkiwi;0,5;1\nfig;0,25;2\n'
    (tmp_path / "s.csv").write_text(text)
    found = read_samples(tmp_path / "s.csv", label="fruit")
    assert found.X.tolist() == [[0.5, 1.0], [0.25, 2.0]]
