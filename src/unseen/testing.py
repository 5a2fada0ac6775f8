"""Checks that every zero-shot classifier should pass, ours and yours.

>>> from unseen import LinearSV
>>> from unseen.testing import check_zero_shot_classifier
>>> check_zero_shot_classifier(LinearSV())
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray
from sklearn.base import clone

Check = Callable[[Any], None]


class _Problem(NamedTuple):
    X: NDArray[np.floating]  # (90, 12)
    y: NDArray[np.intp]  # (90,), classes 0..5
    S: NDArray[np.floating]  # (8, 5), classes 6 and 7 have no sample


def _problem(seed: int = 0) -> _Problem:
    """Return a small problem with a linear truth: x = s M + noise."""
    rng = np.random.default_rng(seed)
    S = rng.uniform(size=(8, 5))
    y = np.repeat(np.arange(6), 15)
    X = S[y] @ rng.normal(size=(5, 12)) + 0.3 * rng.normal(size=(len(y), 12))
    return _Problem(X, y, S)


def _fit(estimator: Any, problem: _Problem) -> Any:
    return clone(estimator).set_params(prototypes=problem.S).fit(problem.X, problem.y)


def check_fitted_attributes(estimator: Any) -> None:
    """``classes_``, ``seen_`` and ``similarity`` cover all classes, with or without samples."""
    problem = _problem()
    model = _fit(estimator, problem)
    assert_array_equal(model.classes_, np.arange(8))
    assert_array_equal(model.seen_, np.arange(8) < 6)
    scores = model.similarity(problem.X)
    assert scores.shape == (90, 8)
    assert np.isfinite(scores).all()


def check_learns(estimator: Any) -> None:
    """The model beats chance clearly on its own training samples."""
    problem = _problem()
    predicted = _fit(estimator, problem).predict(problem.X)
    assert np.mean(predicted == problem.y) > 0.5  # chance is 1/8


def check_unseen_prototypes_do_not_influence_fit(estimator: Any) -> None:
    """Other descriptions of the unseen classes leave the scores of the seen classes bit-identical."""
    problem = _problem()
    other = problem.S.copy()
    other[6:] = 7.0
    first, second = _fit(estimator, problem), _fit(estimator, problem._replace(S=other))
    assert_array_equal(first.similarity(problem.X)[:, :6], second.similarity(problem.X)[:, :6])


def check_refit_is_identical(estimator: Any) -> None:
    """Two fits with the same parameters, random_state included, give the same bits."""
    problem = _problem()
    if "random_state" in estimator.get_params():
        estimator = clone(estimator).set_params(random_state=0)
    first, second = _fit(estimator, problem), _fit(estimator, problem)
    assert_array_equal(first.similarity(problem.X), second.similarity(problem.X))


def check_labels_are_only_names(estimator: Any) -> None:
    """Strings as labels, with prototypes indexed by them, change nothing but the names."""
    pandas = _import_pandas()
    if pandas is None:
        return
    problem = _problem()
    names = np.array([f"class {c}" for c in "abcdefgh"])
    frame = pandas.DataFrame(problem.S, index=names)
    named = clone(estimator).set_params(prototypes=frame).fit(problem.X, names[problem.y])
    assert_array_equal(named.predict(problem.X), names[_fit(estimator, problem).predict(problem.X)])


def check_candidates(estimator: Any) -> None:
    """``predict`` with candidates answers with the best of these."""
    problem = _problem()
    model = _fit(estimator, problem)
    expected = np.array([2, 6, 7])[model.similarity(problem.X)[:, [2, 6, 7]].argmax(axis=1)]
    assert_array_equal(model.predict(problem.X, candidates=[2, 6, 7]), expected)


def check_add_classes(estimator: Any) -> None:
    """A class added after the fit gets the row it would have had from the beginning."""
    problem = _problem()
    complete = _fit(estimator, problem)
    grown = _fit(estimator, problem._replace(S=problem.S[:6])).add_classes(problem.S[6:])
    assert_array_equal(grown.classes_, complete.classes_)
    assert_array_equal(grown.seen_, complete.seen_)
    assert_allclose(grown.similarity(problem.X), complete.similarity(problem.X), rtol=1e-6, atol=1e-6)


def check_fit_path(estimator: Any) -> None:
    """``fit_path`` gives what one fit per setting gives."""
    if not hasattr(estimator, "fit_path") or "alpha" not in estimator.get_params():
        return
    problem = _problem()
    settings = [{"alpha": alpha} for alpha in (1e-3, 1e-2, 1e-1)]
    estimator = clone(estimator).set_params(prototypes=problem.S)
    for setting, model in zip(settings, estimator.fit_path(problem.X, problem.y, settings), strict=True):
        alone = clone(estimator).set_params(**setting).fit(problem.X, problem.y)
        assert model.get_params()["alpha"] == setting["alpha"]
        assert_allclose(model.similarity(problem.X), alone.similarity(problem.X), rtol=1e-4, atol=1e-4)


def check_linear(estimator: Any) -> None:
    """Where there is a ``coef_``, scores are one linear layer on the scaled features."""
    from unseen._core.scaling import scale_rows

    problem = _problem()
    model = _fit(estimator, problem)
    if hasattr(model, "coef_"):
        X = scale_rows(problem.X, getattr(model, "normalize", None))
        assert_allclose(
            model.similarity(problem.X), X @ model.coef_.T + model.intercept_, rtol=1e-5, atol=1e-6
        )


CHECKS: tuple[Check, ...] = (
    check_fitted_attributes,
    check_learns,
    check_unseen_prototypes_do_not_influence_fit,
    check_refit_is_identical,
    check_labels_are_only_names,
    check_candidates,
    check_add_classes,
    check_fit_path,
    check_linear,
)


def check_zero_shot_classifier(estimator: Any) -> None:
    """Run every check on an unfitted estimator; the first that fails raises ``AssertionError``.

    With pytest, ``parametrize("check", unseen.testing.CHECKS)`` gives one test per check.
    """
    for check in CHECKS:
        check(estimator)


def _import_pandas() -> Any:
    try:
        import pandas
    except ImportError:
        return None
    return pandas
