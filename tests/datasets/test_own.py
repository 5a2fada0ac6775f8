"""Your own data: messages name the real cause, unseen classes are yours to choose."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import small_data as small
from unseen import ESZSL, LinearSV
from unseen._core.labels import label_positions, look_alikes
from unseen._core.prototypes import Prototypes, align
from unseen.cli import main
from unseen.datasets import load_dataset
from unseen.datasets.prototypes import read_prototypes
from unseen.datasets.splits import make_split
from unseen.errors import UnseenError

NAMES = np.array(["antelope", "bear", "cat", "deer", "emu", "fox"])


def animals(**changes: np.ndarray | None) -> dict[str, np.ndarray]:
    """Return the arrays of an ``.npz`` with six classes; None leaves one out."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(6), 10)
    content = {
        "X": rng.normal(size=(60, 5)).astype(np.float32),
        "y": NAMES[y],
        "prototypes": rng.random((6, 3)),
        "class_names": NAMES,
    }
    return {name: value for name, value in (content | changes).items() if value is not None}


def save(path: Path, **changes: np.ndarray | None) -> Path:
    np.savez(path, **animals(**changes))
    return path


def refusal(*arguments: object, **options: object) -> str:
    with pytest.raises(UnseenError) as caught:
        load_dataset(*arguments, **options)
    return str(caught.value)


def table(path: Path, header: str = "class,red,big,loud", separator: str = ",", names=NAMES) -> Path:
    rows = [f"{name},{i},1.5,{6 - i}" for i, name in enumerate(names)]
    lines = [header, *rows] if header else rows
    path.write_text("\n".join(lines).replace(",", separator) + "\n")
    return path


# ---- the real cause ------------------------------------------------------------------------------------


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_columns_may_be_separated_as_spreadsheets_do(tmp_path, separator):
    expected = read_prototypes(table(tmp_path / "p.csv"))
    found = read_prototypes(table(tmp_path / "q.csv", separator=separator))
    assert found.index.tolist() == expected.index.tolist() and found.columns == expected.columns
    np.testing.assert_array_equal(found.values, expected.values)


def test_semicolons_go_with_decimal_commas(tmp_path):
    (tmp_path / "p.csv").write_text("class;size;weight\nowl, small;0,5;-1,25e-2\nfox;2;,75\n")
    found = read_prototypes(tmp_path / "p.csv")
    assert found.index.tolist() == ["owl, small", "fox"]
    np.testing.assert_array_equal(found.values, [[0.5, -0.0125], [2, 0.75]])


def test_a_comma_is_no_decimal_point_between_tabs(tmp_path):
    """It may separate thousands there."""
    (tmp_path / "p.csv").write_text("class\tsize\nowl\t1,234\nfox\t2\n")
    with pytest.raises(UnseenError, match="column 'size' is '1,234', expected a number"):
        read_prototypes(tmp_path / "p.csv")


def test_another_encoding_is_named(tmp_path):
    (tmp_path / "p.csv").write_bytes("class;size\nM\xfcller;1\nfox;2\n".encode("cp1252"))
    with pytest.raises(UnseenError, match=r"p\.csv is not a CSV file in UTF-8 .* Save it as CSV UTF-8\."):
        read_prototypes(tmp_path / "p.csv")


def test_a_table_without_header_is_named(tmp_path):
    data = save(tmp_path / "a.npz", prototypes=None)
    message = refusal(data, prototypes=table(tmp_path / "p.csv", header=""))
    assert "p.csv has no header: its first line holds 0, 1.5, 6." in message


@pytest.mark.parametrize("header", [",0,1,2", "class,0,1,2", "animal,0,1,2"])
def test_numbers_may_name_attributes(tmp_path, header):
    """A DataFrame without column names is written like this."""
    found = read_prototypes(table(tmp_path / "p.csv", header=header))
    assert found.index.tolist() == NAMES.tolist() and found.columns == tuple(header.split(",")[1:])


def test_missing_class_names_are_named(tmp_path):
    message = refusal(save(tmp_path / "a.npz", class_names=None))
    assert "y holds labels such as 'antelope', but prototypes describes classes such as '0'" in message
    assert "in class_names" in message


def test_a_name_that_is_listed_twice_is_named_before_one_that_is_missing(tmp_path):
    twice = NAMES.copy()
    twice[1] = "cat"  # bear is missing now
    assert "Class 'cat' is listed twice" in refusal(save(tmp_path / "a.npz", class_names=twice))
    data = save(tmp_path / "b.npz", prototypes=None)
    message = refusal(data, prototypes=table(tmp_path / "p.csv", names=twice))
    assert "p.csv, line 4, column 'class' describes class 'cat' twice" in message


def write_folder(folder: Path, labels: str) -> Path:
    folder.mkdir()
    content = animals()
    np.save(folder / "features.npy", content["X"])
    (folder / "labels.csv").write_text(labels)
    table(folder / "prototypes.csv")
    return folder


def test_labels_without_header_are_named(tmp_path):
    rows = [f"{i}.jpg,{name}" for i, name in enumerate(animals()["y"])]
    message = refusal(write_folder(tmp_path / "a", "\n".join(rows)))
    assert "labels.csv has no header: its first line '0.jpg,antelope' is a label" in message
    complete = write_folder(tmp_path / "b", "\n".join(["file,class", *rows]))
    assert len(load_dataset(complete).y) == 60
    short = write_folder(tmp_path / "c", "\n".join(["file,class", *rows[1:]]))
    assert "60 rows of features but 59 labels" in refusal(short)


def test_what_a_file_holds_is_listed(tmp_path):
    np.savez(tmp_path / "a.npz", feats=np.eye(2), labels=np.arange(2))
    assert "It holds: feats, labels." in refusal(tmp_path / "a.npz")


def test_arrays_of_another_name_are_named_beside_what_is_missing(tmp_path):
    path = save(tmp_path / "a.npz", X=None, features=animals()["X"])
    ran = CliRunner().invoke(main, ["fit", str(path), "--model", str(tmp_path / "a.model")])
    assert ran.exit_code == 2
    assert "expected X" in ran.stderr and "The file also holds 'features', which is not used." in ran.stderr


def test_a_misspelled_key_is_pointed_out(tmp_path):
    path = save(tmp_path / "a.npz", unseen_class=NAMES[:2], owner=np.array("me"))
    notes = load_dataset(path).notes
    assert notes == (
        "the file also holds 'unseen_class', which is not used. Did you mean 'unseen_classes'?",
        "the file also holds 'owner', which is not used.",
    )
    assert "Did you mean 'unseen_classes'?" in CliRunner().invoke(main, ["inspect", str(path)]).stdout


def test_labels_that_count_from_one_are_recognized(tmp_path):
    y = np.repeat(np.arange(6), 10) + 1
    message = refusal(save(tmp_path / "a.npz", y=y, class_names=None))
    assert "labels must be 0..5" in message and "count from 1: subtract 1" in message
    message = refusal(save(tmp_path / "b.npz", y=y.astype(str), class_names=None))
    assert "count from 1: subtract 1" in message and "Did you mean" not in message
    with pytest.raises(UnseenError, match="count from 1: subtract 1"):
        LinearSV(np.eye(6)).fit(animals()["X"], y)
    with pytest.raises(UnseenError, match="Pass one prototype row per class"):
        LinearSV(np.eye(5)).fit(animals()["X"], y)


def test_classes_that_are_called_by_numbers_are_found_by_name(tmp_path):
    """A table of the classes 1 to 6 in any order, and labels 1 to 6: nothing to subtract."""
    y = np.repeat(np.arange(6), 10) + 1
    data = save(tmp_path / "a.npz", y=y, class_names=None, prototypes=None)
    names = ["3", "1", "2", "6", "5", "4"]
    found = load_dataset(data, prototypes=table(tmp_path / "p.csv", names=names))
    assert [found.class_names[c] for c in found.y] == y.astype(str).tolist()


def test_an_integer_is_a_position_in_class_names(tmp_path):
    """Whatever the order of the table; without class_names it is the name of a class."""
    y = np.repeat(np.arange(6), 10)
    shuffled = table(tmp_path / "p.csv", names=NAMES[::-1])
    data = load_dataset(save(tmp_path / "a.npz", y=y, prototypes=None), prototypes=shuffled)
    assert [data.class_names[c] for c in data.y] == NAMES[y].tolist()
    message = refusal(save(tmp_path / "b.npz", y=y, class_names=None, prototypes=None), prototypes=shuffled)
    assert "y holds labels such as '0', but prototypes describes classes such as 'fox'" in message


def test_names_that_look_alike_are_suggested():
    known = ["Apricot", "7", "012.red_apple", "mango"]
    found = look_alikes(["APRICOT", "007", "7.0", "Red  apple", "mangos"], known)
    assert found == {"APRICOT": "Apricot", "007": "7", "7.0": "7", "Red  apple": "012.red_apple"}
    with pytest.raises(UnseenError, match=r"2 look alike: APRICOT ~ Apricot, 007 ~ 7\..* The others: kiwi"):
        label_positions(["APRICOT", "007", "kiwi", "mango"], known)


def test_an_empty_label_is_named_by_its_line(tmp_path):
    rows = [f"{i}.jpg,{name}" for i, name in enumerate(animals()["y"])]
    rows[4] = "4.jpg, "
    message = refusal(write_folder(tmp_path / "a", "\n".join(["file,class", *rows])))
    assert "labels.csv, line 6, column 'class' is empty" in message


def test_a_misspelled_attribute_suggests_the_one_that_is_left():
    model = ("water", "waters", "large")
    new = Prototypes(np.array(["jay"]), ("water", "watrs", "large"), np.eye(3)[:1])
    with pytest.raises(UnseenError, match=r"'waters' is missing.*Did you mean 'watrs'\?"):
        align(new, model)
    more = Prototypes(np.array(["jay"]), (*model, "loud"), np.eye(4)[:1])
    with pytest.raises(UnseenError, match="'loud' is not an attribute of the model"):
        align(more, model)


# ---- mappings ------------------------------------------------------------------------------------------


def test_a_mapping_describes_classes(tmp_path):
    content = animals()
    rows = {name: row.tolist() for name, row in zip(NAMES[::-1], content["prototypes"][::-1])}
    found = load_dataset(save(tmp_path / "a.npz", prototypes=None), prototypes=rows)
    np.testing.assert_array_equal(found.prototypes[found.y], content["prototypes"][np.repeat(range(6), 10)])
    model = ESZSL(rows).fit(content["X"], content["y"])
    other = ESZSL(content["prototypes"]).fit(content["X"], np.repeat(range(6), 10))
    np.testing.assert_allclose(model.coef_, other.coef_[::-1])
    model.add_classes({"gnu": [0.1, 0.2, 0.3]})
    assert model.classes_[-1] == "gnu"


def test_prototypes_that_are_not_numbers_are_refused(tmp_path):
    with pytest.raises(UnseenError, match="prototypes must be numbers, one row of equal length per class"):
        ESZSL({"cat": [1.0], "bear": [1.0, 2.0]}).fit(np.eye(2), ["cat", "bear"])
    message = refusal(save(tmp_path / "a.npz", prototypes=None), prototypes=np.eye(6))
    assert "prototypes='ndarray', but expected a CSV file, a DataFrame" in message


# ---- which classes ------------------------------------------------------------------------


@pytest.mark.filterwarnings("default:No unseen class")
@pytest.mark.parametrize("count", [0, 1])
def test_one_unseen_class_or_none_is_enough(tmp_path, count):
    """To fit; a comparison of methods needs at least one."""
    data = load_dataset(save(tmp_path / "a.npz", unseen_classes=NAMES[:count]))
    assert data.unseen.sum() == count
    if count:
        split = make_split(data)
        assert set(data.y[split.test_unseen]) == {0}
    arguments = ["fit", tmp_path / "a.npz", "--method", "linear-sv", "--model", tmp_path / "m", "--json"]
    done = CliRunner().invoke(main, [*map(str, arguments), "--quiet"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["classes"]["unseen"] == NAMES[:count].tolist()
    lines = [line for line in done.stderr.splitlines() if "No unseen class is known yet" in line]
    assert len(lines) == 1 - count and all(line.startswith("warning: ") for line in lines)


def test_attribute_names_come_from_the_file(tmp_path):
    path = save(tmp_path / "a.npz", attribute_names=np.array(["red", "big", "loud"]))
    assert load_dataset(path).attribute_names == ("red", "big", "loud")


@pytest.mark.parametrize("name", ["digits", "letters", "xlsa17"])
def test_other_unseen_classes_for_any_data(tmp_path, name):
    source = small.write_xlsa17(tmp_path / "B") if name == "xlsa17" else name
    chosen = [load_dataset(source).class_names[c] for c in (0, 2)]
    data = load_dataset(source, unseen_classes=chosen)
    assert [data.class_names[c] for c in np.flatnonzero(data.unseen)] == chosen
    split = make_split(data)
    assert set(data.y[split.test_unseen]) == {0, 2} and len(split.test_seen)
    if data.groups is not None:  # typefaces stay on their side
        assert not set(data.groups[split.train]) & set(data.groups[split.test_seen])
    message = refusal(source, unseen_classes=["zebra"])
    assert "unseen_classes names class 'zebra', which is not a class of" in message
    found = CliRunner().invoke(main, ["inspect", str(source), "--unseen", ", ".join(chosen), "--json"])
    assert json.loads(found.stdout)["unseen_classes"] == 2


def test_groups_of_ones_own_are_on_one_side(tmp_path):
    rng = np.random.default_rng(0)
    content = animals()
    videos = np.array([f"video {k}" for k in rng.integers(40, size=len(content["y"]))])
    data = load_dataset(save(tmp_path / "animals.npz", groups=videos), unseen_classes=["emu", "fox"])
    split = make_split(data)
    assert len(split.test_seen) and not set(videos[split.train]) & set(videos[split.test_seen])
    for fold in split.folds:
        assert not set(videos[fold.train]) & set(videos[fold.seen_val])
    assert refusal(save(tmp_path / "few.npz", groups=videos[:5])).count("groups")
