"""At the ends of what numbers and sizes can be: a finite answer or a clear error, never NaN, no warning.

Two are allowed, because they are true and clear: that a training has not converged, and that gamma comes from
the folds because no unseen class is known.
"""

from __future__ import annotations

import numpy as np
import pytest

from problems import LEARNED, Problem, linear_problem, make
from unseen.datasets.splits import GZSLFolds
from unseen.errors import UnseenError
from unseen.methods import find_method
from unseen.selection.search import GZSLClassifierCV

NORMALIZE = ["l2", None]
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*has not converged in:sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:No unseen class is known yet:UserWarning"),
]


def problem(per_class=6, seen=6, unseen=3, attributes=4, features=7, dtype=np.float64) -> Problem:
    sizes = {"classes": seen + unseen, "seen": seen, "attributes": attributes, "features": features}
    return linear_problem(per_class * seen, **sizes, noise=0.3, dtype=dtype)


def scaled(factor: float, dtype: type) -> Problem:
    plain = problem(dtype=dtype)
    return Problem(plain.X * dtype(factor), plain.y, plain.S)


def with_prototypes(change) -> Problem:
    plain = problem()
    return Problem(plain.X, plain.y, change(plain.S.copy()))


PROBLEMS = {
    "features of 1e-30": lambda: scaled(1e-30, np.float64),
    "features of 1e30": lambda: scaled(1e30, np.float64),
    "features of 1e-30 in float32": lambda: scaled(1e-30, np.float32),
    "features of 1e30 in float32": lambda: scaled(1e30, np.float32),
    "one sample per class": lambda: problem(per_class=1),
    "one sample in all": lambda: problem(per_class=1, seen=1),
    "one attribute": lambda: problem(attributes=1),
    "identical prototypes": lambda: with_prototypes(np.ones_like),
    "prototypes of zeros": lambda: with_prototypes(np.zeros_like),
    "prototypes of 1e-30": lambda: with_prototypes(lambda S: 1e-30 * S),
    "prototypes of 1e30": lambda: with_prototypes(lambda S: 1e30 * S),
    "features of zeros": lambda: Problem(0 * problem().X, problem().y, problem().S),
    "features that never change": lambda: Problem(0 * problem().X + 3, problem().y, problem().S),
    "one seen class": lambda: problem(seen=1),
    "one unseen class": lambda: problem(unseen=1),
    "no unseen class": lambda: problem(unseen=0),
    "fewer samples than attributes": lambda: problem(per_class=1, attributes=50),
    "fewer samples than features": lambda: problem(per_class=1, features=50),
    "one feature": lambda: problem(features=1),
    "one of everything": lambda: problem(1, 1, 1, 1, 1),
}


def check_answers(model, X: np.ndarray, n_classes: int) -> None:
    """Everything that a user can ask of a fitted model is a finite number or a class."""
    for name in ("coef_", "intercept_"):
        assert np.isfinite(getattr(model, name)).all(), name
    assert np.isfinite(model.similarity(X)).all()
    assert set(model.predict(X)) <= set(range(n_classes))
    assert len(np.unique(model.predict(X[:1].repeat(3, axis=0)))) == 1


@pytest.mark.parametrize("normalize", NORMALIZE)
@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("method", LEARNED)
def test_a_method_answers_with_finite_numbers(method, name, normalize):
    given = PROBLEMS[name]()
    model = make(method, given.S, normalize=normalize).fit(given.X, given.y)
    check_answers(model, given.X, len(given.S))
    model.add_classes(given.S[:1] + 1)
    check_answers(model, given.X, len(given.S) + 1)


# what cannot be calibrated, because validation needs held-out classes, with samples of both kinds
REFUSED = {
    "one sample per class",
    "one sample in all",
    "one seen class",
    "fewer samples than attributes",
    "fewer samples than features",
    "one of everything",
}


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("method", LEARNED)
def test_selection_answers_with_finite_numbers_or_refuses(method, name):
    given = PROBLEMS[name]()
    few = {"max_iter": 3} if find_method(method).stochastic else {}
    search = GZSLClassifierCV(make(method, given.S, **few), grid(method), cv=GZSLFolds(2))
    if name in REFUSED:
        with pytest.raises(UnseenError):
            search.fit(given.X, given.y)
        return
    search.fit(given.X, given.y)
    assert np.isfinite([search.gamma_, search.curve_.h, search.curve_.ausuc]).all()
    for column in ("mean_zsl", "mean_seen", "mean_test_score", "gamma"):
        assert np.isfinite(search.cv_results_[column]).all()
    check_answers(search, given.X, len(given.S))


def grid(method: str) -> dict[str, list[float]]:
    """Return both ends of a method's own grid."""
    return {name: [values[0], values[-1]] for name, values in find_method(method).default_grid.items()}


@pytest.mark.parametrize("factor", [1e-30, 1e30])
@pytest.mark.parametrize("method", LEARNED)
def test_predictions_do_not_depend_on_the_unit_of_the_features(method, factor):
    plain = problem(dtype=np.float32)
    near = (
        {"alpha": 1e-2, "tol": 1e-5} if find_method(method).stochastic else {}
    )  # the minimum, not a path to it
    unit = make(method, plain.S, **near).fit(plain.X, plain.y)
    other = make(method, plain.S, **near).fit(plain.X * np.float32(factor), plain.y)
    np.testing.assert_array_equal(other.predict(plain.X * np.float32(factor)), unit.predict(plain.X))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("method", LEARNED)
def test_what_is_no_number_is_refused(method, value):
    given = problem()
    X = given.X.copy()
    X[3, 2] = value
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        make(method, given.S).fit(X, given.y)
    S = given.S.copy()
    S[1, 1] = value
    with pytest.raises(UnseenError, match="expected a finite number"):
        make(method, S).fit(given.X, given.y)
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        make(method, given.S).fit(given.X, given.y).predict(X)
