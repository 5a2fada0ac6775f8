"""Taxonomies in every form, and the finest group that a prediction is sure of."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unseen._core.labels import UNKNOWN
from unseen._core.taxonomy import Taxonomy
from unseen.errors import UnseenError

CLASSES = ["jay", "mallard", "owl", "tit"]
ROWS = [
    ["jay", "crow", "songbird"],
    ["mallard", "mallard", "waterfowl"],  # a genus may have the name of its only class
    ["owl", "", "raptor"],
    ["tit", "tit family", "songbird"],
    ["wren", "wren family", "songbird"],  # the model does not know it
]
HEADER = ["class", "genus", "order"]


def write(path, header, rows, separator=","):
    path.write_text("\n".join(separator.join(row) for row in [header, *rows]), encoding="utf-8")
    return path


def shape(taxonomy: Taxonomy) -> list[tuple[str, list[str], list[int]]]:
    return [(level.name, level.nodes.tolist(), level.of_class.tolist()) for level in taxonomy.levels]


def forms(tmp_path):
    yield write(tmp_path / "t.csv", HEADER, ROWS)
    yield str(write(tmp_path / "semicolons.csv", HEADER, ROWS, ";"))
    frame = pd.DataFrame(ROWS, columns=HEADER)
    yield frame
    yield frame[["genus", "class", "order"]]
    yield frame.set_index("class")
    yield frame.replace("", np.nan).set_index("class")
    yield pl.DataFrame(ROWS, schema=HEADER, orient="row")


def test_every_form_of_a_table_gives_the_same_levels(tmp_path):
    expected = [
        ("class", CLASSES, [0, 1, 2, 3]),
        ("genus", ["crow", "mallard", "tit family"], [0, 1, -1, 2]),
        ("order", ["songbird", "waterfowl", "raptor"], [0, 1, 2, 0]),
    ]
    for form in forms(tmp_path):
        assert shape(Taxonomy.from_table(form, CLASSES)) == expected
    mapping = {row[0]: row[1:] for row in ROWS}
    assert [level[1:] for level in shape(Taxonomy.from_table(mapping, CLASSES))] == [e[1:] for e in expected]


def test_pairs_may_be_of_any_depth(tmp_path):
    pairs = [
        ["jay", "crow"],
        ["crow", "songbird"],
        ["tit", "songbird"],
        ["songbird", "bird"],
        ["owl", "bird"],
    ]
    expected = [
        ("class", ["jay", "owl", "tit"], [0, 1, 2]),
        ("level 1", ["crow"], [0, -1, -1]),
        ("level 2", ["songbird"], [0, -1, 0]),
        ("level 3", ["bird"], [0, 0, 0]),
    ]
    frame = pd.DataFrame(pairs, columns=["child", "parent"])
    for form in (
        write(tmp_path / "t.csv", ["child", "parent"], pairs),
        frame,
        frame[["parent", "child"]],
        dict(pairs),
        dict(reversed(pairs)),
    ):
        assert shape(Taxonomy.from_table(form, ["jay", "owl", "tit"])) == expected


def test_labels_may_be_numbers():
    taxonomy = Taxonomy.from_table({0: "round", 1: "straight", 8: "round"}, np.array([0, 1, 8]))
    assert taxonomy.answer(np.array([[0.5, 0.1, 0.4]]), 0.8).label.tolist() == ["round"]
    assert taxonomy.answer(np.array([[0.9, 0.1, 0.0]]), 0.8).label.tolist() == ["0"]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            {"jay": ["crow"], "tit": ["songbird"]},
            "names class 'owl', which has no line in taxonomy.",
        ),
        ({"jay": "a", "Owl": "b"}, "class 'owl', which has no line in taxonomy. Did you mean 'Owl'?"),
        ({"jay": "a", "oowl": "b"}, "class 'owl', which has no line in taxonomy. Did you mean 'oowl'?"),
        ({"Jay": "a", "Owl": "b"}, "names 2 classes that have no line in taxonomy; 2 look alike: jay ~ Jay"),
        (pd.DataFrame({"class": ["jay"], "genus": ["a"]}), "class 'owl', which has no line in taxonomy."),
        ({"jay": "a", "owl": "b", "b": "c", "c": "b"}, "has a cycle: 'b' in 'c' in 'b'. Remove a line."),
        ({"jay": "owl", "owl": "bird"}, "has two different nodes called 'owl'. Rename one."),
        ({"jay": ["a", "b"], "owl": ["b", "c"]}, "has two different nodes called 'b'. Rename one."),
        ({"jay": "unknown", "owl": "b"}, "has a node called 'unknown', the name of the root. Rename it."),
        (
            pd.DataFrame({"class": ["jay", "owl", "jay"], "genus": ["a", "b", "c"]}),
            "puts 'jay' in 'a' and in 'c'.",
        ),
        (
            pd.DataFrame({"class": ["jay", "owl"], "genus": ["a", "a"], "family": ["b", "c"]}),
            "puts 'a' in 'b' and in 'c'. Give it one parent.",
        ),
        (pd.DataFrame({"class": ["jay", "owl"]}), "has one column, 'class'"),
        (pd.DataFrame({"class": ["jay", ""], "genus": ["a", "b"]}), "has a line without 'class': b."),
        (pl.DataFrame({"size": [1], "genus": ["a"]}), "has the columns size, genus, expected one called"),
        ([("jay", "a")], "Got taxonomy=list, but expected the path of a CSV file"),
        ("nowhere.csv", "There is no file nowhere.csv."),
    ],
)
def test_broken_tables_get_one_clear_line(table, message):
    with pytest.raises(UnseenError) as caught:
        Taxonomy.from_table(table, ["jay", "owl"])
    assert message in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("confidence", [-0.1, 1.1, np.nan])
def test_confidence_is_a_probability(confidence):
    taxonomy = Taxonomy.from_table({"jay": "bird"}, ["jay"])
    with pytest.raises(UnseenError, match="expected a probability from 0 to 1"):
        taxonomy.answer(np.ones((1, 1)), confidence)


# ---- answers ----------------------------------------------------------------------------------------------


@st.composite
def trees(draw) -> tuple[dict[str, str], list[str]]:
    """Child to parent, at random: every node hangs below a node with a smaller number."""
    n_inner, n_classes = draw(st.integers(1, 6)), draw(st.integers(2, 8))
    parents = {f"n{k}": f"n{draw(st.integers(0, k - 1))}" for k in range(1, n_inner)}
    classes = {f"c{k}": f"n{draw(st.integers(0, n_inner - 1))}" for k in range(n_classes)}
    return {**parents, **classes}, list(classes)


def members(node: str, parent: dict[str, str], classes: list[str]) -> set[int]:
    """The classes below a node, by walking up from each: the slow way."""
    found = set()
    for number, label in enumerate(classes):
        walk = label
        while walk != node and walk in parent:
            walk = parent[walk]
        if walk == node:
            found.add(number)
    return found


@settings(deadline=None)
@given(trees(), st.floats(0.51, 1), st.integers(0, 2**32 - 1))
def test_the_answer_is_the_smallest_group_that_reaches_the_confidence(tree, confidence, seed):
    parent, classes = tree
    p = np.random.default_rng(seed).dirichlet(np.full(len(classes), 0.5), size=5)
    found = Taxonomy.from_table(parent, classes).answer(p, confidence)
    below = {node: sorted(members(node, parent, classes)) for node in {*classes, *parent.values()}}
    for row, label, probability in zip(p, found.label, found.probability):
        reached = [node for node, of in below.items() if of and row[of].sum() >= confidence - 1e-9]
        if label == UNKNOWN:
            assert not reached and probability == 1
        else:
            assert label in reached and probability == pytest.approx(row[below[label]].sum())
            assert len(below[label]) == min(len(below[node]) for node in reached)


def test_no_confidence_is_the_best_class_and_all_of_it_is_the_root():
    p = np.random.default_rng(0).dirichlet(np.ones(3), size=20)
    taxonomy = Taxonomy.from_table(
        {"jay": "songbird", "tit": "songbird", "owl": "raptor"}, ["jay", "owl", "tit"]
    )
    best = np.array(["jay", "owl", "tit"])[p.argmax(axis=1)]
    assert taxonomy.answer(p, 0.0).label.tolist() == best.tolist()
    assert set(taxonomy.answer(p, 1.0).label) == {UNKNOWN}
    assert taxonomy.level_names == ("class", "level 1", UNKNOWN)
    bird = Taxonomy.from_table({"jay": "bird", "tit": "bird", "owl": "bird"}, ["jay", "owl", "tit"])
    assert set(bird.answer(p, 1.0).label) == {"bird"}  # it holds every class
