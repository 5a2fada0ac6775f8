"""Predictions in blocks, whatever form the features have."""

from __future__ import annotations

import csv
import io
import subprocess
import sys
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest

from unseen import GZSLClassifierCV, LinearSV
from unseen._core.prototypes import Prototypes
from unseen.datasets import load_dataset
from unseen.errors import UnseenError
from unseen.models.prediction import open_samples, predict_tables, write_tables

N, WIDTH = 9000, 6  # more than two blocks


@pytest.fixture(scope="module")
def X() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(N, WIDTH)).astype(np.float32)


@pytest.fixture(scope="module")
def model(X) -> LinearSV:
    names = np.array(["jay", "owl", "tit", "wren"])
    S = Prototypes(names, (), np.random.default_rng(1).normal(size=(4, 3)))
    return LinearSV(S).fit(X[:50], names[np.arange(50) % 2])


def write_folder(path: Path, X: np.ndarray) -> None:
    path.mkdir()
    np.save(path / "features.npy", X)


WRITERS = {
    "x.npy": lambda path, X: np.save(path, X),
    "fortran.npy": lambda path, X: np.save(path, np.asfortranarray(X)),
    "x.npz": lambda path, X: np.savez(path, X=X),
    "packed.npz": lambda path, X: np.savez_compressed(path, X=X),
    "fortran.npz": lambda path, X: np.savez(path, X=np.asfortranarray(X)),
    "double.npz": lambda path, X: np.savez(path, X=X.astype(np.float64)),
    "folder": write_folder,
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_form_gives_the_same_predictions(tmp_path, X, model, name):
    WRITERS[name](tmp_path / name, X)
    samples = open_samples(tmp_path / name)
    assert samples.shape == (N, WIDTH)
    tables = list(predict_tables(model, samples, top=1))
    assert len(tables) > 2
    assert [c for table in tables for c in table["class"]] == model.predict(X).tolist()
    assert [i for table in tables for i in table["sample"]] == list(range(N))
    scores = np.concatenate([table["score"] for table in tables])
    np.testing.assert_allclose(scores, model.similarity(X).max(axis=1), rtol=1e-5, atol=1e-6)


def test_half_precision_and_integers_are_numbers_too(tmp_path, X, model):
    for kind in (np.float16, np.int8, np.uint8):
        rows = (10 * X[:20]).astype(np.int8).astype(kind)
        np.savez(tmp_path / "x.npz", X=rows)
        (table,) = predict_tables(model, open_samples(tmp_path / "x.npz"))
        assert table["class"] == model.predict(rows.astype(np.float32)).tolist()


def test_names_of_images_and_data_sets(tmp_path, X, model):
    np.savez(tmp_path / "x.npz", X=X[:2], files=np.array(["a.jpg", "b.jpg"]))
    (table,) = predict_tables(model, open_samples(tmp_path / "x.npz"))
    assert table["file"] == ["a.jpg", "b.jpg"]
    assert open_samples("digits").shape == load_dataset("digits").X.shape


def test_classes_are_ranked(X, model, tmp_path):
    np.save(tmp_path / "x.npy", X[:300])
    (table,) = predict_tables(model, open_samples(tmp_path / "x.npy"), top=99)
    scores = model.similarity(X[:300])
    order = np.argsort(-scores, axis=1, kind="stable")
    for rank in range(4):
        suffix = f"_{rank + 1}" if rank else ""
        assert table[f"class{suffix}"] == model.classes_[order[:, rank]].tolist()
        expected = ["seen" if model.seen_[c] else "unseen" for c in order[:, rank]]
        assert table[f"kind{suffix}"] == expected
    assert "class_5" not in table


def test_probabilities_are_those_of_the_model(X, model, tmp_path):
    np.save(tmp_path / "x.npy", X[:300])
    (table,) = predict_tables(model, open_samples(tmp_path / "x.npy"), top=4)
    p = np.sort(model.predict_proba(X[:300]), axis=1)[:, ::-1]
    for rank, suffix in enumerate(("", "_2", "_3", "_4")):
        np.testing.assert_allclose(table[f"probability{suffix}"], p[:, rank], rtol=1e-4)


def test_what_fits_no_class_is_unknown(tmp_path):
    data = load_dataset(
        "synthetic", n_samples=300, n_features=12, n_classes=12, n_attributes=6, random_state=1
    )
    seen, names = data.seen[data.y], np.array(data.class_names)
    search = GZSLClassifierCV(LinearSV(Prototypes(names, (), data.prototypes)), {"alpha": [0.1]})
    search.fit(data.X[seen], names[data.y[seen]])
    np.save(tmp_path / "x.npy", data.X)
    (table,) = predict_tables(search, open_samples(tmp_path / "x.npy"), 2, reject=0.2)
    assert table["class"] == search.predict(data.X, reject=0.2).tolist()
    unknown = np.array(table["class"]) == "unknown"
    assert unknown.any() and not unknown.all()
    np.testing.assert_array_equal(np.array(table["kind"]) == "unknown", unknown)
    np.testing.assert_allclose(table["probability"], search.predict_proba(data.X).max(axis=1), rtol=1e-4)


def test_a_method_alone_cannot_reject(X, model, tmp_path):
    np.save(tmp_path / "x.npy", X[:3])
    with pytest.raises(UnseenError, match="LinearSV has no calibration and no thresholds"):
        list(predict_tables(model, open_samples(tmp_path / "x.npy"), reject=0.05))


def test_memory_does_not_grow_with_the_file(tmp_path, model):
    n = 250_000  # six megabytes
    np.savez(tmp_path / "x.npz", X=np.ones((n, WIDTH), dtype=np.float32))
    tracemalloc.start()
    count = sum(len(table["class"]) for table in predict_tables(model, open_samples(tmp_path / "x.npz"), 1))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == n and peak < 4e6


def nan_at(row: int):
    def write(path: Path, X: np.ndarray) -> None:
        X = X.copy()
        X[row, 2] = np.nan
        np.savez(path, X=X)

    return write


def cut_short(path: Path, X: np.ndarray) -> None:
    """An archive that is whole, with an array that is not."""
    content = io.BytesIO()
    np.save(content, X)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("X.npy", content.getvalue()[:-10])


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (lambda path, X: np.savez(path, X=X[:, :5]), "5 features per sample, but the model takes 6"),
        (lambda path, X: np.savez(path, Y=X), "no array X"),
        (lambda path, X: np.savez(path, X=X[:0]), "holds no samples"),
        (lambda path, X: np.savez(path, X=X[0]), "expected \\(samples, features\\)"),
        (lambda path, X: np.savez(path, X=X.astype(str)), "type <U"),
        (lambda path, X: np.savez(path, X=X.astype(object)), "pickled objects"),
        (nan_at(5000), "nan at sample 5000, feature 2"),
        (cut_short, "announces shape"),
        (lambda path, X: path.write_bytes(b"no zip"), "not a whole .npz"),
        (lambda path, X: None, "is missing"),
    ],
)
def test_features_that_cannot_be_used(tmp_path, X, model, write, message):
    write(tmp_path / "x.npz", X)
    with pytest.raises(UnseenError, match=message):
        list(predict_tables(model, open_samples(tmp_path / "x.npz")))


def test_arrays_that_cannot_be_read(tmp_path):
    (tmp_path / "x.npy").write_bytes(b"no array")
    for name in ("x.npy", "absent.npy", "absent"):
        with pytest.raises(UnseenError):
            open_samples(tmp_path / name)


def test_the_csv_holds_the_tables(tmp_path, X, model):
    np.save(tmp_path / "x.npy", X)
    text = io.StringIO()
    tables = list(predict_tables(model, open_samples(tmp_path / "x.npy"), 2))
    write_tables(tables, text)
    rows = list(csv.DictReader(io.StringIO(text.getvalue())))
    assert len(rows) == N
    names = ["class", "score", "probability", "kind"]
    assert list(rows[0]) == ["sample", *names, *(f"{name}_2" for name in names)]
    columns = {name: [value for table in tables for value in table[name]] for name in rows[0]}
    for number in range(0, N, 1000):
        row = rows[number]
        assert row["class"] == columns["class"][number] and row["kind_2"] == columns["kind_2"][number]
        assert float(row["score"]) == pytest.approx(columns["score"][number], rel=1e-5)


PREDICT = """
import resource, sys
import numpy as np
from unseen import LinearSV
from unseen.models.prediction import open_samples, predict_tables
rng = np.random.default_rng(0)
X = rng.normal(size=(20, 4096)).astype(np.float32)
model = LinearSV(rng.normal(size=(4, 3))).fit(X, np.arange(20) % 2)
for name in ("few.npy", "many.npy"):
    n = sum(len(table["class"]) for table in predict_tables(model, open_samples(name)))
    print(n, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss counts other units elsewhere")
def test_a_large_file_takes_no_more_memory_than_a_small_one(tmp_path):
    sizes = {"few.npy": 10_000, "many.npy": 60_000}
    for name, n in sizes.items():
        np.lib.format.open_memmap(tmp_path / name, "w+", np.float32, (n, 4096)).flush()
    done = subprocess.run(
        [sys.executable, "-c", PREDICT], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    (few, peak_of_few), (many, peak) = (map(int, line.split()) for line in done.stdout.splitlines())
    assert [few, many] == list(sizes.values())
    assert peak - peak_of_few < 0.1 * (many - few) * 4096 * 4  # a tenth of what else is in the file
