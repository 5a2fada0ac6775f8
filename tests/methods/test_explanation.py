"""Explanations are what the model computes: parts that add up, and the segments a person would name."""

from __future__ import annotations

import csv
import io
from copy import deepcopy
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose

from problems import linear_problem
from unseen import ALE, ESZSL, LDA, SAE, SJE, Cosine, DeViSE, LinearSV, LinearVS, SynC, UnseenError
from unseen._core.prototypes import Prototypes, embedding_names
from unseen.datasets import load_dataset
from unseen.datasets.letters import SEGMENTS
from unseen.methods import METHODS as registry
from unseen.methods import make_method
from unseen.methods.explanation import Explanation
from unseen.models.explanation import write_reasons

METHODS = [ALE, DeViSE, SJE, ESZSL, SAE, LinearVS, LinearSV, SynC, LDA]
REGISTRY = sorted(registry)
ADDITIVE = [ALE, DeViSE, SJE, ESZSL, LinearVS]  # the score is a sum over attributes


def named(S, classes=None):
    return Prototypes(
        np.arange(len(S)) if classes is None else np.array(classes),
        tuple(f"a{k}" for k in range(S.shape[1])),
        S,
    )


def seeded(method):
    return {"random_state": 0} if method.stochastic else {}


@cache
def example():
    X, y, S = linear_problem(n=80, features=9)
    S[:, 1] = 0.5  # equal in all classes
    return X, y, named(S)


@cache
def fitted(method, normalize="l2"):
    X, y, S = example()
    alone = {"kappa": np.inf} if method is LDA else {}  # rows are functions of descriptions
    return method(S, normalize=normalize, **alone, **seeded(method)).fit(X, y)


@pytest.fixture
def problem():
    return example()


def attributes(reason):
    return {part.name: part.contribution for part in reason.of_kind("attribute")}


def total(reason):
    return sum(part.contribution for part in reason.parts)


# ---- properties -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_a_contribution_is_the_difference_of_two_scores(problem, method):
    """The oracle is the same model with the changed descriptions as further classes."""
    X, _, S = problem
    model = fitted(method)
    for reason in model.explain(X[::9], top=20).rows:
        best, rival, row = reason.predicted, reason.rival, X[9 * reason.sample][None]
        columns = [int(name[1:]) for name in attributes(reason)]
        changed = np.repeat(S.values[best][None], len(columns), axis=0)
        changed[np.arange(len(columns)), columns] = S.values[rival, columns]
        scores = deepcopy(model).add_classes(changed).similarity(row)[0]
        assert [best, rival] == np.argsort(-scores[: len(S.values)])[:2].tolist()
        assert reason.difference == pytest.approx(scores[best] - scores[rival])
        expected = scores[best] - scores[len(S.values) :]
        assert_allclose(list(attributes(reason).values()), expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("normalize", ["l2", "standard", None])
def test_parts_add_up_to_the_difference(problem, method, normalize):
    X, _, _ = problem
    model = fitted(method, normalize)
    for top in (1, 20):
        for reason in model.explain(X, top=top).rows:
            assert total(reason) == pytest.approx(reason.difference, rel=1e-6, abs=1e-9)
            shares = [part.share for part in reason.parts]
            assert sum(shares) == pytest.approx(1, rel=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_an_attribute_that_is_equal_in_both_classes_is_not_named(problem, method):
    X, _, _ = problem
    model = fitted(method)
    assert all("a1" not in attributes(reason) for reason in model.explain(X, top=20).rows)


@cache
def in_one_space(name, unit=1.0):
    """A method of the registry, and samples with as many features as the descriptions have attributes."""
    rng = np.random.default_rng(0)
    S = rng.normal(size=(9, 6))
    S[:, 1] = 0.5  # equal in all classes
    y = np.repeat(np.arange(6), 12)
    X, new = (S[c] + 0.4 * rng.normal(size=(len(c), 6)) for c in (y, np.repeat(np.arange(9), 4)))
    return make_method(name, named(S), 0, "l2").fit(unit * X, y), unit * new, S


@pytest.mark.parametrize("name", REGISTRY)
def test_every_method_of_the_registry_has_these_properties(name):
    model, X, S = in_one_space(name)
    for reason in model.explain(X, top=9).rows:
        assert total(reason) == pytest.approx(reason.difference, rel=1e-6, abs=1e-9)
        assert "a1" not in attributes(reason)
        if model.has_samples(reason.predicted) or not attributes(reason):
            continue
        columns = [int(name[1:]) for name in attributes(reason)]
        changed = np.repeat(S[reason.predicted][None], len(columns), axis=0)
        changed[np.arange(len(columns)), columns] = S[reason.rival, columns]
        scores = deepcopy(model).add_classes(changed).similarity(X[reason.sample][None])[0]
        expected = scores[reason.predicted] - scores[9:]
        assert_allclose(list(attributes(reason).values()), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", REGISTRY)
def test_the_unit_of_all_features_changes_nothing_for_any_method(name):
    one, other = (model.explain(X).frame() for model, X, _ in (in_one_space(name), in_one_space(name, 100.0)))
    assert one["name"].tolist() == other["name"].tolist()
    assert_allclose(one["contribution"], other["contribution"], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("method", ADDITIVE)
def test_attributes_of_linear_methods_add_up_alone(problem, method):
    X, _, _ = problem
    model = fitted(method)
    for reason in model.explain(X, top=20).rows:
        assert sum(attributes(reason).values()) == pytest.approx(reason.difference, rel=1e-6)
        assert reason.of_kind("interaction") == []


@pytest.mark.parametrize("method", [LinearSV, SAE, LDA])
def test_attributes_of_other_methods_interact(problem, method):
    X, y, S = problem
    model = method(S).fit(X, y)
    assert all(abs(reason.of_kind("interaction")[0].share) > 1e-3 for reason in model.explain(X).rows)


@pytest.mark.parametrize("method", [LinearSV, LinearVS, ESZSL, LDA])
@pytest.mark.parametrize("normalize", ["standard", "l2"])
def test_the_unit_of_a_feature_changes_nothing(problem, method, normalize):
    """Of each feature if features are standardized; of all together if samples have unit length."""
    X, y, S = problem
    unit = np.array([1000.0, *[1.0] * 8]) if normalize == "standard" else 1000.0
    one, other = (method(S, normalize=normalize).fit(Z, y).explain(Z).frame() for Z in (X, X * unit))
    assert one["name"].tolist() == other["name"].tolist()
    assert_allclose(one["contribution"], other["contribution"], rtol=1e-6, atol=1e-9)


def test_a_sample_tells_as_much_alone_as_among_others(problem):
    X, y, S = problem
    model = LDA(S).fit(X, y)
    alone = Explanation([model.explain(X[i : i + 1]).rows[0] for i in range(5)]).frame()
    assert_allclose(alone["contribution"], model.explain(X[:5]).frame()["contribution"], rtol=1e-9, atol=1e-9)


def test_rivals_can_be_named(problem):
    X, y, S = problem
    model = ESZSL(S).fit(X, y)
    predicted = model.predict(X)
    for reason, best in zip(model.explain(X, rival=3).rows, predicted):
        assert reason.predicted == best
        assert (reason.rival == 3) == (best != 3)
        assert reason.rival != reason.predicted


@pytest.mark.parametrize(
    ("options", "match"),
    [({"rival": 99}, "rival names class '99'"), ({"top": 0}, "Got top=0, but expected at least 1")],
)
def test_what_cannot_be_explained_is_rejected(problem, options, match):
    X, y, S = problem
    with pytest.raises(UnseenError, match=match):
        ESZSL(S).fit(X, y).explain(X, **options)


def test_top_limits_what_is_listed_on_each_side(problem):
    X, y, S = problem
    for reason in LDA(S).fit(X, y).explain(X, top=1).rows:
        values = list(attributes(reason).values())
        assert len([v for v in values if v > 0]) <= 1 and len([v for v in values if v < 0]) <= 1
        assert all(part.name == "" for part in reason.of_kind("other attributes"))


# ---- samples of the classes themselves ------------------------------------------------------------------


def test_samples_and_description_are_told_apart(problem):
    """A class with the rival's description differs from the rival by its samples alone."""
    X, y, S = problem
    new = len(S.values)
    model = LDA(S).fit(X[y != 4], y[y != 4])
    model.add_classes(S.values[:1], X=X[y == 4], y=np.full((y == 4).sum(), new))
    reasons = [reason for reason in model.explain(X[y == 4], rival=0).rows if reason.predicted == new]
    assert reasons
    for reason in reasons:
        (samples,) = reason.of_kind("samples")
        assert attributes(reason) == {} and samples.share == pytest.approx(1)


# ---- prototypes without names ---------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [0.0, 0.1])
def test_weights_of_lda_make_its_means(problem, alpha):
    X, y, S = problem
    model = LDA(S.values, alpha=alpha, normalize=None, kernel="linear", shrinkage=1.0).fit(X, y)
    scale = np.mean([((X[y == c] - X[y == c].mean(0)) ** 2).sum() for c in np.unique(y)])
    means = np.zeros((len(S.values), X.shape[1]))
    for c in np.unique(y):
        means[c] = X[y == c].mean(axis=0) - X.mean(axis=0)
    weights = model.seen_weights(np.arange(len(S.values)))
    assert scale > 0 and not weights[:, ~model.seen_].any()
    # shrinkage 1 leaves P = I / t, so that rows are proportional to means
    rows = weights @ means
    ratio = np.linalg.norm(model.coef_) / np.linalg.norm(rows)
    assert_allclose(model.coef_, ratio * rows, rtol=1e-5, atol=1e-5)


def test_weights_of_linear_sv_make_its_means(problem):
    X, y, S = problem
    model = LinearSV(S.values, alpha=0.01, normalize=None).fit(X, y)
    means = np.array([X[y == c].mean(axis=0) if c in y else 0 * X[0] for c in range(len(S.values))])
    assert_allclose(model.seen_weights(np.arange(len(S.values))) @ means, model.coef_, rtol=1e-8, atol=1e-10)


def test_weights_of_sync_make_its_rows(problem):
    X, y, S = problem
    model = SynC(S.values, random_state=0).fit(X, y)
    weights = model.seen_weights(np.arange(len(S.values)))[:, model.seen_]
    assert_allclose(weights @ model.coef_[model.seen_], model.coef_, rtol=1e-4, atol=1e-6)
    assert_allclose(weights[model.seen_], np.eye(model.seen_.sum()), atol=1e-6)


def test_samples_of_a_new_class_have_a_weight(problem):
    X, y, S = problem
    model = LDA(S.values, kappa=3.0).fit(X[y != 4], y[y != 4])
    model.add_classes(S.values[:1] + 0.1, X=X[y == 4], y=np.full((y == 4).sum(), len(S.values)))
    n = (y == 4).sum()
    before = LDA(S.values).fit(X[y != 4], y[y != 4]).add_classes(S.values[:1] + 0.1)
    new = np.array([len(S.values)])
    assert model.seen_weights(new)[0, -1] == pytest.approx(n / (n + 3))
    assert_allclose(model.seen_weights(new)[:, :-1], 3 / (n + 3) * before.seen_weights(new)[:, :-1])


@pytest.mark.parametrize("method", [LDA, LinearSV, SynC])
def test_without_names_seen_classes_take_the_place_of_attributes(problem, method):
    X, y, S = problem
    model = method(S.values, **seeded(method)).fit(X, y)
    for reason in model.explain(X, top=3).rows:
        weights = model.seen_weights(np.array([reason.predicted, reason.rival]))
        listed = reason.of_kind("seen class")
        assert listed and all(part.contribution is None for part in listed)
        for part in listed:
            assert [part.value, part.rival_value] == weights[:, int(part.name)].tolist()
        described = sum(part.contribution or 0 for part in reason.parts)
        assert described == pytest.approx(reason.difference, rel=1e-6)


def test_dimensions_of_a_text_embedding_are_not_names(problem):
    X, y, S = problem
    text = Prototypes(S.index, embedding_names(S.values.shape[1]), S.values)
    assert LDA(text).fit(X, y).explain(X[:1]).rows[0].parts[0].kind == "seen class"


def test_without_names_and_weights_attributes_have_numbers(problem):
    X, y, S = problem
    reason = ESZSL(S.values).fit(X, y).explain(X[:1]).rows[0]
    assert all(name.startswith("attribute ") for name in attributes(reason))


def test_embeddings_in_one_space_can_be_explained():
    rng = np.random.default_rng(0)
    S = rng.normal(size=(4, 6))
    reason = Cosine(named(S)).fit(S, range(4)).explain(S[:1] + 0.1, top=6).rows[0]
    assert reason.predicted == 0 and total(reason) == pytest.approx(reason.difference)


# ---- tables ---------------------------------------------------------------------------------------------


def test_tables_have_one_row_per_part(problem):
    X, y, S = problem
    found = LDA(S).fit(X, y).explain(X[:4])
    frame = found.frame()
    assert len(frame) == sum(len(reason.parts) for reason in found.rows)
    sums = frame.groupby("sample")["contribution"].sum()
    assert_allclose(sums, [reason.difference for reason in found.rows], rtol=1e-6)
    text = io.StringIO()
    write_reasons(found.rows, text)
    rows = list(csv.DictReader(io.StringIO(text.getvalue())))
    assert list(rows[0]) == list(frame.columns) and len(rows) == len(frame)
    assert_allclose([float(row["contribution"]) for row in rows], frame["contribution"], rtol=1e-4, atol=1e-6)


# ---- what a person would say ----------------------------------------------------------------------------

# a letter, its rival, and the segments one of which a person would name
PAIRS = [
    ("P", "R", {"lower right diagonal"}),  # R has a leg
    ("O", "Q", {"lower right diagonal"}),  # Q has a tail
    ("E", "F", {"bottom left", "bottom right"}),
    ("C", "O", {"upper right", "lower right"}),
    ("I", "T", {"bottom left", "bottom right"}),  # I has a foot
    ("C", "G", {"lower right", "middle right"}),  # G has a bar
    (
        "U",
        "V",
        {
            "upper right",
            "lower right",
            "bottom left",
            "bottom right",
            "upper right diagonal",
            "lower left diagonal",
        },
    ),
]


@pytest.fixture(scope="module", params=["typeface", "handwritten"])
def letters(request):
    if request.param == "typeface":
        data = load_dataset("letters")
    else:
        data = load_dataset(request.getfixturevalue("real_data") / "letters_handwritten.npz")
    names, train = np.array(data.class_names), data.seen[data.y]
    S = Prototypes(names, tuple(SEGMENTS.values()), data.prototypes)
    return LDA(S).fit(data.X[train], names[data.y[train]]), data.X, names[data.y]


@pytest.mark.parametrize(("letter", "rival", "expected"), PAIRS)
def test_the_segment_that_a_person_would_name_comes_first(letters, letter, rival, expected):
    model, X, y = letters
    reasons = [r for r in model.explain(X[y == letter], rival=rival).rows if r.predicted == letter]
    assert len(reasons) > 20
    first = [reason.parts[0].name in expected for reason in reasons]
    assert np.mean(first) > 0.9
