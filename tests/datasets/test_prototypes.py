"""Class descriptions: tables, words, several sources."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper

from onnx_models import token_encoder, write_model, write_tokenizer
from unseen import LinearSV
from unseen._core.prototypes import Prototypes, combine
from unseen.datasets import load_dataset
from unseen.datasets.prototypes import read_sources
from unseen.encoders.text import TextEncoder
from unseen.errors import UnseenError


def table(seed: int, names: list[str], width: int = 3) -> Prototypes:
    values = np.random.default_rng(seed).normal(size=(len(names), width))
    return Prototypes(np.array(names), tuple(f"{seed}.{i}" for i in range(width)), values)


def letters(texts: list[str]) -> np.ndarray:
    """An encoder that counts three letters."""
    return np.array([[text.count(letter) for letter in "abc"] for text in texts], dtype=np.float32)


# ---- several sources


@settings(deadline=None)
@given(st.permutations(["jay", "owl", "tit"]))
def test_similarity_of_a_combination_is_the_sum(names):
    a, b = table(1, ["jay", "owl", "tit"]), table(2, list(names), 5)
    both = combine([a, b])

    def cosines(source: Prototypes) -> np.ndarray:
        rows = source.values[[source.index.tolist().index(name) for name in a.index]]
        rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return rows @ rows.T

    assert both.index.tolist() == a.index.tolist() and both.columns == a.columns + b.columns
    expected = cosines(a) + cosines(b)
    np.testing.assert_allclose(both.values @ both.values.T, expected, atol=1e-9)


def test_one_source_stays_as_it_is():
    source = table(1, ["jay", "owl"])
    assert combine([source]) is source


@pytest.mark.parametrize("names", [["jay", "owwl"], ["jay", "owl", "tit"], ["jay"]])
def test_sources_must_describe_the_same_classes(names):
    with pytest.raises(UnseenError, match="not described by every source"):
        combine([table(1, ["jay", "owl"]), table(2, names)])


def test_a_class_is_described_once():
    with pytest.raises(UnseenError, match="'jay' is described twice"):
        table(1, ["jay", "owl", "jay"])


def test_estimators_take_them_by_name():
    S = table(1, ["jay", "owl", "tit", "wren"])
    X = np.random.default_rng(0).normal(size=(20, 6))
    y = np.array(["owl", "tit"] * 10)
    model = LinearSV(S).fit(X, y)
    assert model.classes_.tolist() == S.index.tolist()
    rows = LinearSV(S.values).fit(X, [1, 2] * 10)
    np.testing.assert_array_equal(model.coef_, rows.coef_)
    model.add_classes(Prototypes(np.array(["rook"]), S.columns, table(3, ["rook"]).values))
    assert model.classes_[-1] == "rook"


# ---- words


class Sentences:
    """As sentence-transformers: the method is called encode."""

    def encode(self, texts):
        return letters(texts)


@pytest.mark.parametrize("encoder", [letters, Sentences(), lambda texts: letters(texts).tolist()])
def test_texts_count_the_same_whatever_their_length(encoder):
    found = Prototypes.from_text({"jay": ["a", "bbb"], "owl": "cc"}, encoder)
    np.testing.assert_allclose(found.values, [[0.5**0.5, 0.5**0.5, 0], [0, 0, 1]])
    assert found.index.tolist() == ["jay", "owl"]


def test_encoders_must_give_one_row_per_text():
    with pytest.raises(UnseenError, match=r"shape \(2,\) for 2 texts"):
        Prototypes.from_text({"jay": "a", "owl": "b"}, lambda texts: [1.0, 2.0])
    with pytest.raises(UnseenError, match="'jay' has no text"):
        Prototypes.from_text({"jay": [], "owl": "b"}, letters)


# ---- files


def test_tables_and_words_are_read_and_combined(tmp_path):
    (tmp_path / "a.csv").write_text("class,blue,small\njay,1,0\nowl,0,2\n")
    (tmp_path / "t.csv").write_text('class,description\nowl,"cc, c"\njay,a\njay,bb\n')
    attributes = read_sources([tmp_path / "a.csv"])
    assert attributes.columns == ("blue", "small")
    np.testing.assert_array_equal(attributes.values, [[1, 0], [0, 2]])
    both = read_sources([tmp_path / "a.csv", tmp_path / "t.csv"], letters)
    assert both.index.tolist() == ["jay", "owl"]
    np.testing.assert_allclose(both.values, [[1, 0, 0.5**0.5, 0.5**0.5, 0], [0, 1, 0, 0, 1]])
    with pytest.raises(UnseenError, match="--encoder"):
        read_sources([tmp_path / "t.csv"])


def test_one_attribute_is_not_taken_for_words(tmp_path):
    (tmp_path / "a.csv").write_text("class,size\njay,1\nowl,2.5\n")
    assert read_sources([tmp_path / "a.csv"]).values.tolist() == [[1.0], [2.5]]


def test_data_sets_take_a_table_in_memory(tmp_path):
    np.savez(tmp_path / "d.npz", X=np.ones((4, 2)), y=np.array(["tit", "owl", "owl", "jay"]))
    data = load_dataset(tmp_path / "d.npz", prototypes=table(1, ["jay", "owl", "tit", "wren", "rook"]))
    assert [data.class_names[i] for i in data.y] == ["tit", "owl", "owl", "jay"]
    assert data.attribute_names == ("1.0", "1.1", "1.2") and data.files == (tmp_path / "d.npz",)


# ---- text encoders in ONNX format


@pytest.mark.parametrize("mask", [True, False])
def test_tokens_are_averaged_without_padding(tmp_path, mask):
    write_tokenizer(tmp_path)
    found = TextEncoder(token_encoder(tmp_path, mask))(["blue bird", "brown"])
    np.testing.assert_allclose(found, [[1, 0.5], [0, 1]])


def test_text_encoders_that_cannot_be_used(tmp_path):
    with pytest.raises(UnseenError, match=r"Put the tokenizer\.json of the model there"):
        TextEncoder(token_encoder(tmp_path))(["blue"])
    write_tokenizer(tmp_path)
    nodes = [helper.make_node("Identity", ["pixels"], ["features"])]
    shape = ["batch", 2]
    image = write_model(
        tmp_path / "p.onnx", nodes, {"pixels": (TensorProto.FLOAT, shape)}, {"features": shape}
    )
    with pytest.raises(UnseenError, match="expected a text encoder"):
        TextEncoder(image)(["blue"])


@pytest.mark.parametrize("old", ["{", '"[PAD]": 0,'])
def test_a_damaged_tokenizer_is_one_clear_error(tmp_path, old):
    write_tokenizer(tmp_path)
    path = tmp_path / "tokenizer.json"
    path.write_text(path.read_text().replace(old, "", 1))
    with pytest.raises(UnseenError, match=r"tokenizer\.json' is not a tokenizer that can be used \("):
        TextEncoder(token_encoder(tmp_path))(["blue", "pink"])


# ---- tables in memory ------------------------------------------------------------------------------------

BIRDS = pd.DataFrame({"bird": ["jay", "owl", "kea"], "blue": [0.9, 0.1, 0.4], "big": [0.2, 0.8, 0.7]})
SAMPLES = np.random.default_rng(0).normal(size=(6, 4)), np.array(["jay", "owl"] * 3)


@pytest.mark.parametrize("frame", [BIRDS.set_index("bird"), BIRDS, pl.DataFrame(BIRDS.to_dict("list"))])
def test_a_frame_names_its_classes_in_the_index_or_first(frame, tmp_path):
    expected = LinearSV({row[0]: row[1:] for row in BIRDS.itertuples(index=False)}).fit(*SAMPLES)
    model = LinearSV(frame).fit(*SAMPLES)
    assert model.classes_.tolist() == ["jay", "owl", "kea"]
    assert model.attribute_names_.tolist() == ["blue", "big"]
    np.testing.assert_allclose(model.coef_, expected.coef_)
    np.savez(tmp_path / "x.npz", X=SAMPLES[0], y=SAMPLES[1])
    data = load_dataset(tmp_path / "x.npz", prototypes=frame)
    assert data.class_names == ("jay", "owl", "kea") and data.attribute_names == ("blue", "big")


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (BIRDS.assign(big=[0.2, "huge", 0.7]), "attribute 'big' of class 'owl' is 'huge', expected a number"),
        (BIRDS.set_index("bird").assign(big=[0.2, np.nan, 0.7]), "attribute 'big' of class 'owl' is nan"),
        ({"jay": [0.0, 1.0], "owl": [0.0, np.inf]}, "attribute number 1 of class 'owl' is inf"),
        ({"jay": {"big": 1.0}, "owl": {"big": "very"}}, "attribute 'big' of class 'owl' is 'very'"),
        ([[1.0, 2.0], [3.0, np.nan]], r"prototypes\[1, 1\] is nan, expected a finite number"),
    ],
)
def test_a_wrong_cell_of_a_frame_is_named(frame, message):
    with pytest.raises(UnseenError, match=message):
        LinearSV(frame).fit(*SAMPLES)


def test_files_of_classes_say_where_they_are_wrong(tmp_path):
    def message(*content: str) -> str:
        (tmp_path / "p.csv").write_text("\n".join(content))
        with pytest.raises(UnseenError) as caught:
            read_sources([tmp_path / "p.csv"])
        return str(caught.value)

    assert "line 4, column 'red' is empty, expected a number" in message("class,red", "a,1", "", "b,", "c,2")
    assert "line 3, column 'class' is empty" in message("class,red", "a,1", ",2")
    assert "Move the column 'bird' to the front" in message("id,bird,red", "1,jay,3", "2,owl,4")
    with pytest.raises(UnseenError, match=r"There is no file .*nothere.csv"):
        read_sources([tmp_path / "nothere.csv"])
