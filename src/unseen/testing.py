"""Checks that every zero-shot classifier should pass, ours and yours.

>>> from unseen import LinearSV
>>> from unseen.testing import check_zero_shot_classifier
>>> check_zero_shot_classifier(LinearSV())

A method that is solved to a tolerance ``tol`` is compared with itself as precisely as ``tol`` promises.
A stochastic method is always fitted with the same ``random_state``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from unseen._core.blocks import FloatArray, IndexArray
from unseen._core.scaling import scale_rows
from unseen.base import ZeroShotClassifier

EstimatorCheck = Callable[[ZeroShotClassifier], None]

PRECISION = 1e-6  # of the range of the scores: what sums in another order may change
TOL = 1e-6  # set if an iterative method is compared with itself


def _problem_for(estimator: ZeroShotClassifier) -> tuple[FloatArray, IndexArray, FloatArray]:
    """Return (X, y, S): samples of the classes 0..5, and descriptions of the classes 0..7.

    The truth is linear, ``x = s M + noise``.

    For an estimator that compares features with prototypes directly, both have the same
    dimension, and M is the identity.
    """
    rng = np.random.default_rng(0)
    S = rng.uniform(size=(8, 5))
    y = np.repeat(np.arange(6), 15)
    M, noise = (np.eye(5), 0.1) if estimator.shares_space() else (rng.normal(size=(5, 12)), 0.3)
    X = S[y] @ M + noise * rng.normal(size=(len(y), M.shape[1]))
    return X, y, S  # (90, features), (90,), (8, attributes)


def _prepare(estimator: ZeroShotClassifier, S: Any, **params: Any) -> ZeroShotClassifier:
    """Return an unfitted copy with prototypes S, and with a fixed seed if it takes one."""
    if "random_state" in estimator.get_params():
        params["random_state"] = 0
    prepared: ZeroShotClassifier = clone(estimator).set_params(prototypes=S, **params)
    return prepared


def _precise(estimator: ZeroShotClassifier) -> dict[str, float]:
    """Return the parameters with which an iterative estimator is solved precisely; {} for a closed form."""
    tol = estimator.get_params().get("tol")
    return {} if tol is None else {"tol": min(tol, TOL)}


def _assert_same_scores(actual: FloatArray, expected: FloatArray, tol: float | None = None) -> None:
    """Compare the scores of two models of which each is within ``tol`` of the optimum.

    With the objective P = loss + alpha ||W||^2, both alpha ||W* - W||^2 <= P(W) - P(W*) <= tol P(0) and
    alpha ||W*||^2 <= P(0): W, and so a score, is known to sqrt(tol) of its size.
    """
    precision = PRECISION if tol is None else 2 * tol**0.5
    assert_allclose(actual, expected, rtol=0, atol=float(precision * np.ptp(expected)))


def check_fitted_attributes(estimator: ZeroShotClassifier) -> None:
    """``classes_``, ``seen_`` and ``similarity`` cover all classes, with or without samples."""
    X, y, S = _problem_for(estimator)
    model = _prepare(estimator, S).fit(X, y)
    assert_array_equal(model.classes_, np.arange(8))
    assert_array_equal(model.seen_, np.arange(8) < 6)
    scores = model.similarity(X)
    assert scores.shape == (90, 8)
    assert np.isfinite(scores).all()


def check_learns(estimator: ZeroShotClassifier) -> None:
    """Accuracy on the training samples is far above chance."""
    X, y, S = _problem_for(estimator)
    predicted = _prepare(estimator, S).fit(X, y).predict(X)
    assert np.mean(predicted == y) > 0.5  # chance is 1/8


def check_unseen_prototypes_do_not_influence_fit(estimator: ZeroShotClassifier) -> None:
    """Other prototypes of the unseen classes leave the scores of the seen classes bit-identical."""
    X, y, S = _problem_for(estimator)
    other = S.copy()
    other[6:] = 7.0
    first, second = _prepare(estimator, S).fit(X, y), _prepare(estimator, other).fit(X, y)
    assert_array_equal(first.similarity(X)[:, :6], second.similarity(X)[:, :6])


def check_refit_is_identical(estimator: ZeroShotClassifier) -> None:
    """Two fits with the same parameters, ``random_state`` included, are bit-identical."""
    X, y, S = _problem_for(estimator)
    first, second = _prepare(estimator, S).fit(X, y), _prepare(estimator, S).fit(X, y)
    assert_array_equal(first.similarity(X), second.similarity(X))


def check_labels_are_only_names(estimator: ZeroShotClassifier) -> None:
    """Strings as labels, with a prototype for each, change nothing but the names."""
    X, y, S = _problem_for(estimator)
    names = np.array([f"class {c}" for c in "abcdefgh"])
    named = _prepare(estimator, dict(zip(names, S))).fit(X, names[y])
    assert_array_equal(named.predict(X), names[_prepare(estimator, S).fit(X, y).predict(X)])


def check_order_of_classes(estimator: ZeroShotClassifier) -> None:
    """Prototypes in another order give the same scores in that order."""
    X, y, S = _problem_for(estimator)
    order = np.array([7, 2, 5, 0, 6, 4, 1, 3])  # new class k was class order[k]
    precise = _precise(estimator)
    expected = _prepare(estimator, S, **precise).fit(X, y).similarity(X)[:, order]
    reordered = _prepare(estimator, S[order], **precise).fit(X, np.argsort(order)[y])
    _assert_same_scores(reordered.similarity(X), expected, precise.get("tol"))


def check_candidates(estimator: ZeroShotClassifier) -> None:
    """``predict`` with candidates returns the best of these."""
    X, y, S = _problem_for(estimator)
    model = _prepare(estimator, S).fit(X, y)
    expected = np.array([2, 6, 7])[model.similarity(X)[:, [2, 6, 7]].argmax(axis=1)]
    assert_array_equal(model.predict(X, candidates=[2, 6, 7]), expected)


def check_add_classes(estimator: ZeroShotClassifier) -> None:
    """A class added after the fit gets the row that it would have had from the beginning."""
    X, y, S = _problem_for(estimator)
    complete = _prepare(estimator, S).fit(X, y)
    grown = _prepare(estimator, S[:6]).fit(X, y).add_classes(S[6:])
    assert_array_equal(grown.classes_, complete.classes_)
    assert_array_equal(grown.seen_, complete.seen_)
    _assert_same_scores(grown.similarity(X), complete.similarity(X))


def check_fit_path(estimator: ZeroShotClassifier) -> None:
    """``fit_path`` gives what one fit for each choice of parameters gives.

    The parameters come from ``default_grid``; an estimator without one is tried with three values of alpha.
    """
    X, y, S = _problem_for(estimator)
    precise = _precise(estimator)
    # two values of every parameter in the grid
    grid = {name: [values[len(values) // 3], values[-1]] for name, values in estimator.default_grid.items()}
    if not grid and "alpha" in estimator.get_params():
        grid = {"alpha": [1e-3, 1e-2, 1e-1]}
    params = list(ParameterGrid(grid))
    path = _prepare(estimator, S, **precise).fit_path(X, y, params)
    for chosen, model in zip(params, path, strict=True):
        assert chosen.items() <= model.get_params().items()
        alone = _prepare(estimator, S, **precise, **chosen).fit(X, y)
        _assert_same_scores(model.similarity(X), alone.similarity(X), precise.get("tol"))


def check_linear(estimator: ZeroShotClassifier) -> None:
    """Scores are one linear layer on the scaled features."""
    X, y, S = _problem_for(estimator)
    model = _prepare(estimator, S).fit(X, y)
    expected = scale_rows(X, model.normalize) @ model.coef_.T + model.intercept_
    _assert_same_scores(model.similarity(X), expected)


CHECKS: tuple[EstimatorCheck, ...] = (
    check_fitted_attributes,
    check_learns,
    check_unseen_prototypes_do_not_influence_fit,
    check_refit_is_identical,
    check_labels_are_only_names,
    check_order_of_classes,
    check_candidates,
    check_add_classes,
    check_fit_path,
    check_linear,
)


def check_zero_shot_classifier(estimator: ZeroShotClassifier) -> None:
    """Run every check on an unfitted estimator; the first that fails raises ``AssertionError``.

    With pytest, ``parametrize("check", unseen.testing.CHECKS)`` gives one test per check.
    """
    for check in CHECKS:
        check(estimator)
