"""Model files, run stores and tables that somebody built to do harm: read as what they are, or rejected."""

from __future__ import annotations

import json
import os
import pickle
import struct
from pathlib import Path

import numpy as np
import pytest

from problems import linear_problem
from unseen import GZSLClassifierCV, LinearSV
from unseen._core.tables import read_csv
from unseen.benchmark.store import Run, Store
from unseen.errors import UnseenError
from unseen.models.files import checksum
from unseen.models.io import load_model, save_model

DEPTH = 100_000


@pytest.fixture
def model_file(tmp_path: Path) -> Path:
    X, y, S = linear_problem()
    save_model(LinearSV(S).fit(X, y), tmp_path / "m.model")
    return tmp_path / "m.model"


def take_apart(path: Path) -> tuple[dict, bytes]:
    """Return the header of a safetensors file as JSON, and the bytes of its tensors."""
    content = path.read_bytes()
    (size,) = struct.unpack("<Q", content[:8])
    return json.loads(content[8 : 8 + size]), content[8 + size :]


def put_together(path: Path, header: dict, tensors: bytes) -> None:
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + tensors)


def sign(header: dict, tensors: bytes) -> None:
    """Give a header the checksum of what it holds, as whoever writes a file can."""
    kinds = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "BOOL": "?"}
    arrays = {
        name: np.frombuffer(tensors[slice(*entry["data_offsets"])], kinds[entry["dtype"]]).reshape(
            entry["shape"]
        )
        for name, entry in header.items()
        if name != "__metadata__"
    }
    header["__metadata__"]["sha256"] = checksum(header["__metadata__"]["model"], arrays)


def test_a_file_that_is_taken_apart_and_put_together_is_read(model_file):
    """Else the tests below would prove nothing."""
    header, tensors = take_apart(model_file)
    sign(header, tensors)
    put_together(model_file, header, tensors)
    load_model(model_file)


@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("place", ["start", "end"])
def test_empty_tensors_that_share_an_offset_change_nothing(model_file, signed, place):
    """Without their checksum the file is rejected; with it, the model is the same."""
    expected = load_model(model_file)
    header, tensors = take_apart(model_file)
    at = 0 if place == "start" else len(tensors)
    for name in ("model/a_", "model/b_", "evil"):
        header[name] = {"dtype": "F64", "shape": [0, 7], "data_offsets": [at, at]}
    if signed:
        sign(header, tensors)
    put_together(model_file, header, tensors)
    if signed:
        np.testing.assert_array_equal(load_model(model_file).coef_, expected.coef_)
    else:
        with pytest.raises(UnseenError, match="its checksum does not match"):
            load_model(model_file)


@pytest.mark.parametrize("name", ["coef_", "intercept_", "classes_"])
def test_an_empty_tensor_in_place_of_a_real_one_is_rejected(model_file, name):
    header, tensors = take_apart(model_file)
    header["__metadata__"]["model"] = header["__metadata__"]["model"].replace(f'"{name}"', '"other_"')
    header.pop(f"model/{name}", None)
    header[f"model/{name}"] = {"dtype": "F64", "shape": [0], "data_offsets": [len(tensors)] * 2}
    put_together(model_file, header, tensors)
    with pytest.raises(UnseenError):
        load_model(model_file)


class Trap:
    """Pickles to a call that leaves a folder behind."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return (os.mkdir, (str(self.path),))


def test_bytes_behind_the_declared_extent_are_rejected_and_never_read(model_file, tmp_path):
    whole = model_file.read_bytes()
    for more in (b"\0", pickle.dumps(Trap(tmp_path / "sprung")), b"PK\x03\x04" + bytes(100)):
        model_file.write_bytes(whole + more)
        with pytest.raises(UnseenError, match="is not a model file of unseen") as caught:
            load_model(model_file)
        assert "\n" not in str(caught.value)
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize("depth", [1000, DEPTH])
@pytest.mark.parametrize("opening", ["[", '{"model":'])
def test_deeply_nested_json_in_a_model_is_rejected(model_file, depth, opening):
    header, tensors = take_apart(model_file)
    closing = "]" if opening == "[" else "}"
    header["__metadata__"]["model"] = opening * depth + "0" * (opening != "[") + closing * depth
    sign(header, tensors)
    put_together(model_file, header, tensors)
    with pytest.raises(UnseenError) as caught:
        load_model(model_file)
    assert "\n" not in str(caught.value)


def test_a_deeply_nested_header_is_rejected(model_file):
    _, tensors = take_apart(model_file)
    text = b'{"a":' * 1000 + b"1" + b"}" * 1000
    model_file.write_bytes(struct.pack("<Q", len(text)) + text + tensors)
    with pytest.raises(UnseenError, match="is not a model file of unseen"):
        load_model(model_file)


def test_deeply_nested_json_in_a_store_is_one_line(tmp_path):
    with Store(tmp_path, create=True) as store:
        store.add_experiment("e", {"dataset": "digits"})
        store.add_result(Run("k", "e", "sae", 0), {"seed": 0})
        store._connection.execute("UPDATE experiments SET description = ?", ["[" * DEPTH + "]" * DEPTH])
        with pytest.raises(UnseenError, match="is damaged") as caught:
            store.experiments()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("first", [True, False])
def test_a_line_of_a_billion_characters_is_not_read(tmp_path, first):
    """A sparse file: it needs no disk, and no memory if its reader stops early."""
    path = tmp_path / "long.csv"
    path.write_text("" if first else "class,a\njay,1\n")
    os.truncate(path, 10**9)
    with pytest.raises(UnseenError, match="a line has more than") as caught:
        read_csv(path)
    assert "\n" not in str(caught.value)


def test_a_signed_model_whose_held_out_figures_do_not_fit_is_rejected(tmp_path):
    X, y, S = linear_problem()
    path = tmp_path / "m.model"
    save_model(GZSLClassifierCV(LinearSV(S), {"alpha": [1.0]}, gamma="paper").fit(X, y), path)
    header, tensors = take_apart(path)
    text = header["__metadata__"]["model"]
    damages = (
        lambda held_out: held_out["reliability"]["seen"]["accuracy"].append(0.5),
        lambda held_out: held_out["reliability"].pop("unseen"),
        lambda held_out: held_out["sets"].pop("seen"),
    )
    for damage in damages:
        state = json.loads(text)
        damage(state["held_out"])
        header["__metadata__"]["model"] = json.dumps(state)
        sign(header, tensors)
        put_together(path, header, tensors)
        with pytest.raises(UnseenError, match="not a complete model"):
            load_model(path)


def test_a_signed_model_with_a_huge_integer_for_gamma_predicts(tmp_path):
    X, y, S = linear_problem()
    path = tmp_path / "m.model"
    save_model(GZSLClassifierCV(LinearSV(S), {"alpha": [1.0]}, gamma="paper").fit(X, y), path)
    header, tensors = take_apart(path)
    state = json.loads(header["__metadata__"]["model"])
    state["selection"]["gamma_"] = 2**70
    header["__metadata__"]["model"] = json.dumps(state)
    sign(header, tensors)
    put_together(path, header, tensors)
    model = load_model(path)
    assert not np.isin(model.predict(X), model.classes_[model.seen_]).any()
