"""Class names and sentences to prototypes: lists, tables, folders, templates, files."""

from __future__ import annotations

import numpy as np
import pytest

from onnx_models import clip_folder
from unseen._core.prototypes import Prototypes
from unseen.datasets import load_dataset
from unseen.datasets.features import read_encoder_card
from unseen.datasets.prototypes import read_sources
from unseen.encoders.descriptions import (
    describe_classes,
    fill_templates,
    read_classes,
    read_templates,
    spoken_name,
    write_prototypes,
)
from unseen.encoders.text import TextEncoder
from unseen.errors import UnseenError


def count(texts):
    return [[len(text), text.count("b")] for text in texts]


def test_a_list_of_names_may_be_longer_than_a_file_name(tmp_path):
    names = [f"class {number}" for number in range(100)]
    assert list(read_classes(",".join(names))) == names
    assert read_templates(["a " * 200]) == ["a " * 200]


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.txt", "blue jay\n\nowl\n", {"blue jay": [], "owl": []}),
        ("a.csv", "class\njay\nowl\n", {"jay": [], "owl": []}),
        ("a.csv", "jay\nowl\n", {"jay": [], "owl": []}),  # a list without a header
        ("a.csv", "class,description\njay,blue\njay,loud\n", {"jay": ["blue", "loud"]}),
        ("a.csv", "name;text\njay;blue\n", {"jay": ["blue"]}),
    ],
)
def test_lists_and_tables(tmp_path, name, content, expected):
    (tmp_path / name).write_text(content)
    assert read_classes(tmp_path / name) == expected


def test_folders_and_names_on_the_command_line(tmp_path):
    for name in ("owl", "jay", ".hidden"):
        (tmp_path / "photos" / name).mkdir(parents=True)
    assert list(read_classes(tmp_path / "photos")) == ["jay", "owl"]
    assert list(read_classes("zebra, sports car")) == ["zebra", "sports car"]
    assert list(read_classes("Mallard")) == ["Mallard"]
    assert list(read_classes("St. John's wort")) == ["St. John's wort"]
    for path in ("nowhere.csv", "no/where", tmp_path / "nowhere"):
        with pytest.raises(UnseenError, match="There is no file or folder"):
            read_classes(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("jay\njay\n", "names the class 'jay' twice"),
        ("", "has no rows"),
        (
            "id,latin,english\n1,x,jay\n",
            "columns id, latin, english, expected class, or class and desc",
        ),
    ],
)
def test_lists_that_cannot_be_used(tmp_path, content, message):
    (tmp_path / "a.csv").write_text(content)
    with pytest.raises(UnseenError, match=message):
        read_classes(tmp_path / "a.csv")


def test_other_sources_that_cannot_be_used(tmp_path):
    with pytest.raises(UnseenError, match=r"no file or folder 'names\.txt'"):
        read_classes("names.txt")
    with pytest.raises(UnseenError, match="empty class name"):
        read_classes("zebra,,horse")
    (tmp_path / "a.txt").write_bytes(b"\xff\xfe\x80")
    with pytest.raises(UnseenError, match="not a text file"):
        read_classes(tmp_path / "a.txt")


def test_names_as_they_are_spoken():
    assert spoken_name("014.Indigo_Bunting") == "Indigo Bunting"
    assert spoken_name("7") == "7" and spoken_name("_") == "_"


def test_templates_are_averaged_as_unit_vectors():
    found = describe_classes({"blue_jay": []}, count, templates=["a {}", "a photo of a big {}."])
    rows = np.array([[len("a blue jay"), 1], [len("a photo of a big blue jay."), 2]], dtype=float)
    mean = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).mean(axis=0)
    np.testing.assert_allclose(found.values, [mean / np.linalg.norm(mean)])


def test_descriptions_go_before_templates():
    assert fill_templates({"jay": ["loud"], "owl": []}, ["a {}"]) == {"jay": ["loud"], "owl": ["a owl"]}


@pytest.mark.parametrize("template", ["a photo", "{} and {}"])
def test_a_template_has_one_place_for_the_name(template):
    with pytest.raises(UnseenError, match=r"expected \{\} once"):
        fill_templates({"jay": []}, [template])


def test_templates_from_a_file(tmp_path):
    (tmp_path / "t.txt").write_text("a {}\nthe {}\n")
    assert read_templates([str(tmp_path / "t.txt"), "one {}"]) == ["a {}", "the {}", "one {}"]


@pytest.mark.parametrize("name", ["p.csv", "p.npz"])
def test_what_is_written_is_read_again(tmp_path, name):
    values = np.random.default_rng(0).normal(size=(4, 4))
    prototypes = Prototypes(np.array(["a", "b b", "c", "d"]), ("x", "y", "z", "w"), values)
    write_prototypes(tmp_path / name, prototypes, {"name": "hf:org/text", "revision": "12"})
    again = read_sources([tmp_path / name])
    assert list(again.index) == ["a", "b b", "c", "d"] and again.columns == prototypes.columns
    np.testing.assert_allclose(again.values, values, rtol=1e-8)
    np.savez(tmp_path / "d.npz", X=np.eye(3), y=np.array(["c", "a", "c"]))
    data = load_dataset(tmp_path / "d.npz", prototypes=tmp_path / name)
    assert data.class_names == ("a", "b b", "c", "d") and data.y.tolist() == [2, 0, 2]


def test_an_npz_of_prototypes_names_its_encoder(tmp_path):
    encoder = TextEncoder(clip_folder(tmp_path / "clip"))
    found = describe_classes({"blue bird": []}, encoder, templates=["{}"])
    write_prototypes(tmp_path / "p.npz", found, encoder.describe())
    card = read_encoder_card(tmp_path / "p.npz")
    assert card["file"] == "text_model.onnx" and len(card["sha256"]) == 64


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"X": np.eye(2)}, "describes no classes"),
        (
            {"prototypes": np.eye(2), "class_names": np.array(["a"])},
            "1 class names and 2 names of attributes",
        ),
        ({"prototypes": np.ones(2), "class_names": np.array(["a", "b"])}, r"prototypes has shape \(2,\) but"),
    ],
)
def test_npz_files_that_describe_nothing(tmp_path, arrays, message):
    np.savez(tmp_path / "p.npz", **arrays)
    with pytest.raises(UnseenError, match=message):
        read_sources([tmp_path / "p.npz"])


# ---- the command


def test_the_command(invoke, tmp_path):
    clip_folder(tmp_path / "clip")
    (tmp_path / "names.txt").write_text("001.blue_bird\nbrown bird\n")
    long = " ".join(["{}"] + ["brown"] * 20)
    options = ("--encoder", "clip", "--template", long, "--template", "{}", "--out", "p.csv")
    done = invoke("describe", "names.txt", *options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "warning: 2 of 4 texts are too long for the encoder and were cut to 8 tokens." in done.stderr
    assert "wrote p.csv: 2 classes, 4 texts, 6 numbers each" in done.stderr
    assert list(read_sources([tmp_path / "p.csv"]).index) == ["001.blue_bird", "brown bird"]
    again = invoke("describe", "names.txt", "--encoder", "clip", "--out", "p.csv", cwd=tmp_path)
    assert again.returncode == 2 and "exists already" in again.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["names.txt", "--encoder", "nowhere", "--out", "p.csv"], "There is no file"),
        (["names.txt", "--encoder", "clip", "--out", "p.txt"], "ending in .csv or .npz"),
        (["names.txt", "--encoder", "clip", "--out", "names.txt"], "ending in .csv or .npz"),
        (["nowhere.txt", "--encoder", "clip", "--out", "p.csv"], "There is no file or folder 'nowhere.txt'"),
        (["names.txt", "--encoder", "clip", "--template", "x", "--out", "p.csv"], "expected {} once"),
    ],
)
def test_the_command_refuses_in_one_line(invoke, tmp_path, arguments, message):
    clip_folder(tmp_path / "clip")
    (tmp_path / "names.txt").write_text("blue bird\n")
    done = invoke("describe", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr and done.stderr.startswith("error: ") and done.stderr.count("\n") == 1
