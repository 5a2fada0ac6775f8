"""The page of a model: its numbers are those of the card, of evaluate and of a class that is really added."""

from __future__ import annotations

import json
import re
from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest

from unseen import ALE, ESZSL, LDA, SAE, SJE, DeViSE, GZSLClassifierCV, LinearSV, LinearVS, SynC
from unseen.datasets import ZeroShotDataset, load_dataset
from unseen.datasets.checks import Check
from unseen.datasets.splits import make_split
from unseen.errors import UnseenError
from unseen.metrics import harmonic_mean
from unseen.models.evaluation import evaluate, evaluation_rows
from unseen.report import attributes
from unseen.report.model_page import (
    choose_gammas,
    describe_model,
    held_out_curve,
    measured_curve,
    score_samples,
    write_model_page,
)
from unseen.report.thumbnails import find_pixels
from unseen.report.try_class import describe_try, find_segments, row_form, scaled

EVIL = '</script><img src=x onerror="window.harm = 1">'
METHODS = {
    "lda": LDA(bandwidth=3.0),
    "lda, linear": LDA(kernel="linear", alpha=0.3),
    "linear-vs": LinearVS(alpha=0.1),
    "linear-sv": LinearSV(alpha=0.1),
    "eszsl": ESZSL(),
    "sae": SAE(),
    "sae, semantic": SAE(space="semantic"),
    "ale": ALE(alpha=0.01),
    "devise": DeViSE(alpha=0.01),
    "sje": SJE(alpha=0.01),
}


def named_data(names=tuple("abcdefghij")):
    """Ten classes of four attributes, seven of them with samples of nine features."""
    rng = np.random.default_rng(0)
    S, y = rng.random((10, 4)), np.repeat(np.arange(10), 12)
    X = np.abs((S @ rng.normal(size=(4, 9)))[y] + 0.3 * rng.normal(size=(120, 9)))
    test_seen = np.flatnonzero((y < 7) & (np.arange(120) % 4 == 0))
    return ZeroShotDataset(
        name="small",
        X=X,
        y=y,
        prototypes=S,
        class_names=names,
        unseen=np.arange(10) >= 7,
        attribute_names=("size", "color", EVIL, "legs"),
        test_seen=test_seen,
        test_unseen=np.flatnonzero(y >= 7),
    )


def fit(method, data, normalize="l2", grid=None):
    import pandas as pd

    names = np.array(data.class_names)
    S = pd.DataFrame(data.prototypes, index=names, columns=list(data.attribute_names))
    split = make_split(data)
    search = GZSLClassifierCV(deepcopy(method).set_params(prototypes=S, normalize=normalize), grid or [{}])
    return search.fit(data.X[split.train], names[data.y[split.train]])


@pytest.fixture(scope="module")
def data():
    return named_data()


@pytest.fixture(scope="module")
def model(data):
    return fit(METHODS["lda"], data)


# ---- the row of a class that does not exist ---------------------------------------------------------------


def scores(form, X, S):
    """The formula of the module, for classes with descriptions S: what the page computes."""
    k = S
    if form.kernel == "linear":
        k = S @ form.seen.T
    elif form.kernel == "rbf":
        k = np.exp(-((S[:, None] - form.seen) ** 2).sum(axis=2) / form.width)
    square = 0 if form.square is None else np.einsum("ij,jk,ik->i", k, form.square, k)
    return X @ form.mapping.T @ k.T + k @ form.linear - square / 2


@pytest.mark.parametrize("normalize", ["l2", "sqrt", "standard", None])
@pytest.mark.parametrize("method", METHODS)
def test_the_form_gives_the_scores_of_a_class_that_is_added(data, method, normalize):
    names = np.array(data.class_names)
    train = data.y < 7
    fitted = deepcopy(METHODS[method]).set_params(prototypes=dict(zip(names, data.prototypes)))
    fitted.set_params(normalize=normalize).fit(data.X[train], names[data.y[train]])
    S = np.random.default_rng(1).random((5, 4))
    got = scores(row_form(fitted), scaled(fitted, data.X), S)
    expected = fitted.add_classes(S, classes=list("vwxyz")).similarity(data.X)[:, -5:]
    np.testing.assert_allclose(got, expected, atol=1e-6 * np.abs(expected).max())


class OwnLDA(LDA):
    """A method of a user, which may make rows in any way."""


@pytest.mark.parametrize("method", [SynC(alpha=0.01), OwnLDA()], ids=["sync", "own"])
def test_other_methods_have_no_such_section(data, method):
    model = fit(method, data)
    assert describe_try(model, data, score_samples(model, data), None) is None


def test_segments_are_known_by_place_and_by_letter():
    letters = load_dataset("letters")
    assert find_segments(list(letters.attribute_names))[:3] == ["a1", "a2", "b"]
    assert find_segments(find_segments(list(letters.attribute_names)))[3] == "c"
    assert find_segments(["legs"]) is None


# ---- along gamma ------------------------------------------------------------------------------------------


def test_held_out_classes_are_classes_of_the_model(model):
    for trial in model.held_out_.trials():
        assert len(trial.seen) == len(model.classes_)
        assert model.seen_[trial.y].all()


def test_the_curve_passes_through_the_numbers_of_the_card(model):
    curve = held_out_curve(model, np.array([model.gamma_]))
    by_class = curve["by_class"]
    expected = model.card().expected
    assert curve["seen"][0] == pytest.approx(expected.seen[0], abs=0.01)
    assert curve["unseen"][0] == pytest.approx(expected.unseen[0], abs=0.01)
    known = [value is not None for value in by_class["seen"][0]]
    assert known == model.seen_.tolist()
    assert np.mean([v for v in by_class["seen"][0] if v is not None]) == pytest.approx(
        curve["seen"][0], abs=0.1
    )


def test_the_area_is_that_of_the_whole_curve(model, data):
    curves = describe_model(model, "m", data)["explorer"]["models"]
    for curve in curves.values():
        U, S = np.array(curve["unseen"]) / 100, np.array(curve["seen"]) / 100
        # S falls as U rises: the area holds every rectangle, and lies in that of both maxima
        assert (U * S).max() - 1e-9 <= curve["ausuc"] <= U.max() * S.max() + 1e-9


def test_measured_accuracies_are_those_of_evaluate(model, data):
    tested = score_samples(model, data)
    curve = measured_curve(model, tested, np.array([model.gamma_]))
    found = evaluate(model, data)
    assert curve["unseen"] == [pytest.approx(found.unseen.per_class)]
    assert curve["seen"] == [pytest.approx(found.seen.per_class)]
    accuracy = {result.name: result.accuracy for result in found.classes}
    for name, value in zip(model.classes_, curve["by_class"]["seen"][0]):
        assert value == pytest.approx(accuracy[name], abs=0.051)
    hardest = describe_model(model, "model", data)["hardest"]
    assert hardest[0]["accuracy"] == pytest.approx(min(accuracy.values()), abs=0.051)
    for each in hardest:
        assert each["accuracy"] + sum(share for _, share in each["taken_for"]) <= 100.5


def test_the_slider_has_no_calibration_and_the_gamma_of_the_model(model, data):
    gammas = choose_gammas(model, score_samples(model, data))
    assert {0.0, model.gamma_} <= set(gammas) and (np.diff(gammas) > 0).all()
    document = describe_model(model, "model", data)
    curve = document["explorer"]["models"]["held"]
    H = harmonic_mean(np.array(curve["unseen"]), np.array(curve["seen"]))
    assert curve["best"] == curve["gammas"][int(np.argmax(H))]
    inside = np.searchsorted(curve["breakpoints"], curve["gammas"])
    assert inside.tolist() == list(range(len(inside)))


# ---- how sure ---------------------------------------------------------------------------------------------


def test_sets_are_those_of_predict_set(model, data):
    rows = evaluation_rows(data)
    sets = model.predict_set(data.X[rows], coverage=0.9)
    own = sets[np.arange(len(rows)), data.y[rows]]  # classes are in the order of the data
    seen, new = describe_model(model, "model", data)["sets"]
    for part, kind in ((seen, data.seen), (new, ~data.seen)):
        of_kind = kind[data.y[rows]]
        assert part["samples"] == of_kind.sum()
        assert part["covered"] == pytest.approx(100 * own[of_kind].mean())
        assert part["size"] == pytest.approx(sets[of_kind].sum(axis=1).mean())
        assert part["empty"] == pytest.approx(100 * (sets[of_kind].sum(axis=1) == 0).mean())


def test_levels_are_those_of_evaluate(model, data, tmp_path):
    groups = {name: [EVIL if name < "e" else "late"] for name in data.class_names}
    found = evaluate(model, data, taxonomy=groups, confidence=0.7)
    document = describe_model(model, "model", data, taxonomy=groups, confidence=0.7)
    assert document["levels"] == [vars(level) for level in found.levels]
    options = {"data": data, "taxonomy": groups, "confidence": 0.7}
    page = write_model_page(model, tmp_path / "page.html", title="model", **options).read_text("utf-8")
    table = re.search("Levels of the taxonomy</h3>(.*?)</section>", page, re.S)[1]
    assert "reaches 0.7" in table
    for level in found.levels[:-1]:
        assert f"{level.answered['unseen']:.1f}&nbsp;%" in table
        assert f"{level.ece:.3f}" in table


def test_samples_of_unknown_classes_are_counted(data, tmp_path):
    known = replace(data, class_names=(*"abcdefghi", "other"))
    model = fit(METHODS["lda"], known)
    page = write_model_page(model, tmp_path / "page.html", title="model", data=data).read_text("utf-8")
    assert "12 samples of 1 class that the model does not know" in " ".join(page.split())


def test_training_samples_as_data_are_noted(tmp_path):
    data = replace(named_data(), test_seen=None, test_unseen=None, notes=("the file is old.",))
    model = fit(METHODS["lda"], data)
    model.held_out_.facts["data"] = data.name
    page = write_model_page(model, tmp_path / "page.html", title="model", data=data).read_text("utf-8")
    assert "Note: the model was fitted on data called" in page
    assert "the file is old" not in page


# ---- checks -----------------------------------------------------------------------------------------------


def test_the_page_has_the_checks_of_the_card(model, tmp_path):
    checked = deepcopy(model)
    mine = [Check("M001", "note", "Odd", f"Class {EVIL!r} is odd ({n}).", "Look at it.") for n in range(7)]
    found = [*mine, Check.of("U003", "Attribute 'legs' is constant.", "Remove it.", ["legs"])]
    checked.held_out_.facts["checks"] = [check.to_json() for check in found]
    page = write_model_page(checked, tmp_path / "page.html", title="model").read_text("utf-8")
    codes = re.findall("<dt class=[^>]*>([A-Z][0-9]+) ", page)
    assert codes[0] == "U003" and codes[-1] == "M001"  # warnings come first
    assert "U003 Constant attribute" in page and "Attribute &#39;legs&#39; is constant. Remove it." in page
    assert "is odd (4)" in page and "is odd (5)" not in page and "2 more like this" in page
    assert "<img src=x" not in page


# ---- descriptions -----------------------------------------------------------------------------------------


def test_an_attribute_that_features_do_not_show_has_no_correlation(data, model):
    found = {each["name"]: each["correlation"] for each in attributes.readable_attributes(model, data)}
    assert list(found) == list(data.attribute_names)
    blind = ZeroShotDataset(**{**vars(data), "X": np.random.default_rng(0).random(data.X.shape)})
    noise = {each["name"]: each["correlation"] for each in attributes.readable_attributes(model, blind)}
    assert min(found.values()) > 0.4 > max(noise.values())
    X = np.where(data.unseen[data.y][:, None], 7.0, data.X)
    other = attributes.readable_attributes(model, replace(data, X=X))
    assert {each["name"]: each["correlation"] for each in other} == found  # of seen classes alone


def test_twins_come_first():
    data = named_data()
    S = data.prototypes.copy()
    S[8] = S[2]
    S[5] = S[4] + [0, 0, 0, 1e-3]
    model = fit(METHODS["linear-sv"], ZeroShotDataset(**{**vars(data), "prototypes": S}))
    first, second = attributes.closest_classes(model)[:2]
    assert (first["classes"], first["distance"], first["differ"]) == ((2, 8), 0, [])
    assert (second["classes"], second["differ"]) == ((4, 5), ["legs"])


# ---- the page ---------------------------------------------------------------------------------------------


def data_of(page):
    return json.loads(re.search('<script id="data"[^>]*>(.*?)</script>', page, re.S)[1])


def test_names_are_text_and_the_document_is_plain(tmp_path):
    data = named_data((EVIL, *"bcdefghij"))
    model = fit(METHODS["lda"], data)
    page = write_model_page(model, tmp_path / "page.html", title=EVIL, data=data).read_text("utf-8")
    assert "<img src=x" not in page
    assert data_of(page)["names"][0] == EVIL and data_of(page)["attempt"]["attributes"][2] == EVIL
    assert json.loads(json.dumps(describe_model(model, "m", data), allow_nan=False))


def test_without_data_the_page_has_what_the_card_knows(model, tmp_path):
    page = write_model_page(model, tmp_path / "page.html", title="model").read_text("utf-8")
    shown = data_of(page)
    assert shown["attempt"] is None and list(shown["explorer"]["models"]) == ["held"]
    assert f"{model.card().expected.seen[0]:.1f}&nbsp;%" in page
    assert "Try a class" not in page


def test_a_model_without_unseen_classes_has_a_page(data, tmp_path):
    seen = ZeroShotDataset(
        **{**vars(data), "X": data.X[data.y < 7], "y": data.y[data.y < 7], "prototypes": data.prototypes[:7]}
        | {"class_names": tuple("abcdefg"), "unseen": np.zeros(7, bool), "test_unseen": None}
        | {"test_seen": None}
    )
    names = np.array(seen.class_names)
    search = GZSLClassifierCV(LDA(dict(zip(names, seen.prototypes))), [{}], gamma="paper")
    model = search.fit(seen.X, names[seen.y])
    page = write_model_page(model, tmp_path / "page.html", title="model", data=seen).read_text("utf-8")
    assert "of those of new classes" in page


def test_names_of_features_are_no_reason_to_warn(model, data, tmp_path):
    named = deepcopy(model)
    named.estimator_.feature_names_in_ = np.array([f"f{k}" for k in range(9)], dtype=object)
    assert write_model_page(named, tmp_path / "page.html", title="model", data=data).exists()


def test_a_plain_method_has_no_card(data):
    method = LinearSV(data.prototypes).fit(data.X, data.y)
    with pytest.raises(UnseenError, match="nothing was held out"):
        describe_model(method, "model")


def test_data_of_other_classes_is_a_clear_error(model):
    other = named_data(tuple("klmnopqrst"))
    with pytest.raises(UnseenError, match="does not know"):
        describe_model(model, "model", other)


def test_drawings_are_for_pixels_alone(model, data):
    assert find_pixels(data.X) is None
    assert describe_model(model, "model", data)["attempt"]["drawing"] is None
