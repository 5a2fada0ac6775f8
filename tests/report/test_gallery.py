"""A gallery shows every class, the doubtful and the unknown, in a page of bounded size that runs nothing."""

from __future__ import annotations

import base64
import io
import json
import re

import numpy as np
import pytest

from unseen import LinearSV
from unseen.errors import UnseenError
from unseen.models.prediction import Samples, predict_tables
from unseen.report import gallery as module
from unseen.report.gallery import Predictions, rows_at, showing_order, write_gallery
from unseen.report.thumbnails import Files, find_pixels, need_pictures, shrink

EVIL = '</script><img src=x onerror="window.harm = 1">'


def samples_of(X, names=None, labels=None):
    return Samples("some", X.shape, lambda: iter(np.array_split(X, 3)), names, labels)


def predict(model, samples):
    found = Predictions(model.classes_, samples.labels)
    tables = found.watch(predict_tables(model, samples))
    assert sum(len(table["class"]) for table in tables) == samples.shape[0]
    return found


@pytest.fixture
def model():
    """Four classes of two attributes, two without samples; one has a name that tries to be code."""
    S = {"a": [0.0, 1.0], "b": [1.0, 0.0], EVIL: [1.0, 1.0], "d": [0.0, 0.0]}
    X = np.random.default_rng(0).normal(size=(40, 4)) + np.repeat([[3, 0, 0, 1], [0, 3, 1, 0]], 20, axis=0)
    return LinearSV(S, normalize=None).fit(X, np.repeat(["a", "b"], 20))


def test_an_order_cut_anywhere_has_every_class_its_surest_and_its_least_sure():
    rng = np.random.default_rng(0)
    best, sure = rng.integers(0, 5, 200), rng.random(200)
    order = showing_order(best, sure, np.zeros(200, bool), np.zeros(200, bool))
    assert sorted(order) == list(range(200))
    assert set(best[order[:5]]) == set(range(5))
    for label in range(5):
        mine = [i for i in order if best[i] == label]
        assert [sure[i] for i in mine[:2]] == [sure[best == label].max(), sure[best == label].min()]


def test_wrong_samples_come_before_the_others_of_their_class_and_unknown_ones_before_all():
    rng = np.random.default_rng(1)
    best, sure, wrong = rng.integers(0, 3, 60), rng.random(60), rng.random(60) < 0.3
    first = best == 2
    order = showing_order(best, sure, wrong, first)
    assert set(order[: first.sum()]) == set(np.flatnonzero(first))
    for label in range(3):
        mine = wrong[[i for i in order if best[i] == label]]
        assert mine.tolist() == sorted(mine, reverse=True)


def test_rows_are_found_wherever_the_blocks_end():
    X = np.arange(20.0).reshape(10, 2)
    positions = np.array([9, 0, 4, 3])
    np.testing.assert_array_equal(rows_at(samples_of(X), positions), X[positions])


def test_predictions_count_unknown_and_foreign_classes():
    found = Predictions(np.array(["a", "b"]), np.array(["a", "z", "a"]))
    table = {"sample": [0, 1, 2], "class": ["a", "unknown", "b"], "probability": [0.5, 0.6, 0.7]}
    list(found.watch([table]))
    assert (found.best[:, 0].tolist(), found.true.tolist()) == ([0, 2, 1], [0, 3, 0])
    assert list(found.classes) == ["a", "b", "unknown", "z"]
    assert found.wrong.tolist() == [False, True, True]


def test_a_class_called_unknown_is_a_class():
    found = Predictions(np.array(["unknown", "b"]), np.array(["unknown"]))
    list(found.watch([{"sample": [0], "class": ["unknown"], "probability": [0.5]}]))
    assert found.wrong.tolist() == [False]


def data_of(path):
    return json.loads(re.search('<script id="data"[^>]*>(.*?)</script>', path.read_text("utf-8"), re.S)[1])


class Heavy:
    """Every image takes 10 000 letters."""

    def thumbnail(self, position, row):
        return "data:image/png;base64," + "A" * 10_000


def test_the_page_stays_below_its_size_and_says_what_is_left_out(model, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "PAGE_BYTES", 300_000)
    X = np.random.default_rng(0).normal(size=(500, 4))
    samples = samples_of(X, labels=np.array(model.classes_)[np.arange(500) % 4])
    path = tmp_path / "gallery.html"
    shown = write_gallery(predict(model, samples), samples, Heavy(), path, model=model, title="many")
    assert 280_000 < path.stat().st_size <= 300_000
    assert 10 < len(shown["samples"]) < 30
    assert f"Shown are {len(shown['samples'])} of 500" in path.read_text("utf-8")
    data = data_of(path)
    assert {sample["c"][0] for sample in data["samples"]} == {group["label"] for group in data["groups"]}
    assert sum(group["shown"] for group in data["groups"]) == len(data["samples"])
    assert sum(group["samples"] for group in data["groups"]) == 500


def test_names_are_text(model, tmp_path):
    samples = samples_of(np.ones((6, 4)), np.array([EVIL] * 6), np.array([EVIL] * 6))
    write_gallery(predict(model, samples), samples, Heavy(), tmp_path / "page.html", model=model, title=EVIL)
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "<img src=x" not in page
    assert data_of(tmp_path / "page.html")["samples"][0]["n"] == EVIL


def test_new_classes_come_first(model, tmp_path):
    samples = samples_of(np.random.default_rng(0).normal(size=(300, 4)) * 3)
    shown = write_gallery(
        predict(model, samples), samples, Heavy(), tmp_path / "p.html", model=model, title=""
    )
    kinds = [group["kind"] for group in shown["groups"]]
    assert kinds == sorted(kinds, key=["unseen", "unknown", "seen"].index)
    assert len(set(kinds)) == 2


def test_the_probabilities_are_those_of_the_model(model):
    X = np.random.default_rng(0).normal(size=(30, 4))
    found = predict(model, samples_of(X))
    probabilities = np.sort(model.predict_proba(X), axis=1)[:, ::-1]
    np.testing.assert_allclose(found.sure, probabilities[:, :3])
    assert [model.classes_[i] for i in found.best[:, 0]] == model.predict(X).tolist()


def test_every_image_has_the_explanation_of_the_model(model, tmp_path, monkeypatch):
    samples = samples_of(np.random.default_rng(0).normal(size=(150, 4)))
    found = predict(model, samples)
    path = tmp_path / "page.html"
    shown = write_gallery(found, samples, Heavy(), path, model=model, title="all")["samples"]
    X = next(samples.blocks())
    first = next(sample for sample in shown if sample["n"] == "0")
    reason = model.explain(X[:1], top=4).rows[0]
    assert (first["e"]["c"], first["e"]["r"]) == (reason.predicted, reason.rival)
    expected = [part.contribution for part in reason.parts if part.contribution is not None]
    assert [part[1] for part in first["e"]["p"]] == pytest.approx(expected, rel=0.01)
    monkeypatch.setattr("unseen.models.explanation.BATCH", 40)
    again = write_gallery(found, samples, Heavy(), path, model=model, title="all")["samples"]
    assert len(again) == 150 and [sample["e"] for sample in again] == [sample["e"] for sample in shown]


# ---- images ----------------------------------------------------------------------------------------------


def test_pixels_are_told_from_other_features():
    rng = np.random.default_rng(0)
    noise = rng.random((200, 14, 14))
    smooth = sum(noise[:, i : i + 12, j : j + 12] for i in range(3) for j in range(3)).reshape(200, -1)
    assert find_pixels(smooth).side == 12
    assert find_pixels(smooth[:, rng.permutation(144)]) is None
    assert find_pixels(smooth[:, :143]) is None
    assert find_pixels(rng.random((200, 1)) + 0.1 * smooth[:, rng.permutation(144)]) is None  # all are alike
    assert find_pixels(smooth - 1e6) is None


@pytest.mark.parametrize("white_on_black", [False, True])
def test_pixels_are_drawn_as_they_are_in_dark_ink(white_on_black):
    image = pytest.importorskip("PIL.Image")
    rng = np.random.default_rng(0)
    ink = np.zeros((80, 10, 10))  # a block somewhere
    for each, (top, left) in zip(ink, rng.integers(1, 6, (80, 2))):
        each[top : top + 3, left : left + 3] = rng.uniform(0.5, 1)
    ink[0, 4, 4] = 1
    X = (ink if white_on_black else 1 - ink).reshape(80, -1)
    drawn = find_pixels(X).thumbnail(1, X[1])
    content = base64.b64decode(drawn.removeprefix("data:image/png;base64,"))
    got = np.asarray(image.open(io.BytesIO(content)))
    np.testing.assert_allclose(got, 255 * (1 - ink[1]), atol=0.5001)


def photo(path, size=(400, 200), **options):
    image = pytest.importorskip("PIL.Image")
    pixels = np.random.default_rng(0).integers(0, 255, (size[1], size[0], 3), np.uint8)
    image.fromarray(pixels).save(path, **options)
    return path


def opened(uri):
    return pytest.importorskip("PIL.Image").open(io.BytesIO(base64.b64decode(uri.split(",")[1])))


def test_files_become_small_and_upright(tmp_path):
    from PIL import Image

    exif = Image.Exif()
    exif[0x0112] = 6  # rotated by 90 degrees
    assert opened(shrink(photo(tmp_path / "a.jpg"))).size == (128, 64)
    assert opened(shrink(photo(tmp_path / "b.jpg", exif=exif))).size == (64, 128)
    assert opened(shrink(photo(tmp_path / "c.png"))).size == (128, 64)


def test_a_bomb_or_a_broken_file_has_no_thumbnail(tmp_path, monkeypatch):
    from PIL import Image

    (tmp_path / "broken.jpg").write_bytes(b"no image")
    assert shrink(tmp_path / "broken.jpg") is None
    assert shrink(tmp_path / "missing.jpg") is None
    path = photo(tmp_path / "bomb.png")
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 60_000)
    assert shrink(path) is None


def test_files_are_found_in_their_folder_and_beside_a_feature_file(tmp_path):
    (tmp_path / "photos" / "jay").mkdir(parents=True)
    photo(tmp_path / "photos" / "jay" / "1.png")
    samples = samples_of(np.ones((3, 2)), np.array(["jay/1.png"] * 3))
    for source in (tmp_path / "photos", tmp_path / "photos.npz", tmp_path / "photos" / "list.txt"):
        pictures = need_pictures(source, samples)
        assert isinstance(pictures, Files) and pictures.thumbnail(0, None)
    with pytest.raises(UnseenError, match="holds no images"):
        need_pictures(tmp_path / "else" / "features.npz", samples)


@pytest.mark.parametrize(("labels", "wrong"), [(None, [False, False]), (["b", "b"], [True, False])])
def test_a_wrong_sample_is_one_whose_class_is_another(labels, wrong):
    found = Predictions(np.array(["a", "b"]), labels and np.array(labels))
    list(found.watch([{"sample": [0, 1], "class": ["a", "b"], "probability": [0.5, 0.5]}]))
    assert found.wrong.tolist() == wrong
