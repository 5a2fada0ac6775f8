"""The published checks: every method passes them, and each finds a method that breaks it."""

from __future__ import annotations

import numpy as np
import pytest

from unseen import SJE, LinearSV
from unseen._core.labels import label_positions
from unseen._core.training import Training
from unseen.methods import METHODS, make_method
from unseen.testing import CHECKS, check_fit_path, check_order_of_classes, check_zero_shot_classifier


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("method", METHODS)
def test_zero_shot_conventions(method, check):
    check(make_method(method, None, 0))


# ---- the published checks find what they are for: one broken method for each -------------------------------


class AllSeen:
    """Says that it has seen classes of which it has no sample."""

    def _set_mapping(self, mapping):
        self.seen_ = np.ones_like(self.seen_)
        return super()._set_mapping(mapping)


class LearnsNothing:
    """Gives every class the same scores."""

    def _set_mapping(self, mapping):
        return super()._set_mapping(0 * mapping)


class LooksAtUnseen:
    """Fits on prototypes from which the mean of all is subtracted, that of the unseen ones included."""

    def _solve_path(self, training, models):
        centered = training.S - self.prototypes_.mean(axis=0)
        yield from super()._solve_path(Training(training.X, training.y, centered), models)


class IgnoresItsSeed(LinearSV):
    """Takes a random_state and draws from another generator."""

    stochastic = True

    def __init__(self, prototypes=None, *, alpha=1e-3, normalize="l2", random_state=None):
        super().__init__(prototypes, alpha=alpha, normalize=normalize)
        self.random_state = random_state

    def _set_mapping(self, mapping):
        return super()._set_mapping(mapping * (1 + 1e-9 * np.random.default_rng().normal()))


class ForgetsNames:
    """Answers with the number of a class, whatever its name."""

    def predict(self, X, candidates=None):
        return label_positions(super().predict(X, candidates), self.classes_)


class PrefersTheFirstClass:
    """Scores depend on the place of a class in the list."""

    def _intercepts(self, S, coef):
        first = (self.prototypes_[0] == S).all(axis=1)
        return super()._intercepts(S, coef) + 0.05 * first


class IgnoresCandidates:
    """Answers with any class."""

    def predict(self, X, candidates=None):
        return super().predict(X)


class NewClassesDiffer:
    """Adds classes by a rule that is not quite that of the fit."""

    def add_classes(self, *new):
        known = len(self.classes_)
        super().add_classes(*new)
        self.coef_[known:] *= 1.001
        return self


class OneAlphaForAll:
    """Gives the first model of a path for all."""

    def _fit_models(self, models, *arguments, **options):
        mapping = None
        for model in super()._fit_models(models, *arguments, **options):
            mapping = model.mapping_ if mapping is None else mapping
            yield model._set_mapping(mapping)


class NotLinear:
    """Scores are not what coef_ and intercept_ say."""

    def similarity(self, X):
        return super().similarity(X) ** 3


BROKEN = {
    "check_fitted_attributes": AllSeen,
    "check_learns": LearnsNothing,
    "check_unseen_prototypes_do_not_influence_fit": LooksAtUnseen,
    "check_refit_is_identical": IgnoresItsSeed,
    "check_labels_are_only_names": ForgetsNames,
    "check_order_of_classes": PrefersTheFirstClass,
    "check_candidates": IgnoresCandidates,
    "check_add_classes": NewClassesDiffer,
    "check_fit_path": OneAlphaForAll,
    "check_linear": NotLinear,
}


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_a_published_check_finds_a_method_that_breaks_it(check):
    broken = type("Broken", (BROKEN[check.__name__], LinearSV), {})()
    with pytest.raises(AssertionError):
        check(broken)
    with pytest.raises(AssertionError):
        check_zero_shot_classifier(broken)


@pytest.mark.parametrize("check", [check_order_of_classes, check_fit_path], ids=lambda check: check.__name__)
def test_a_tolerance_does_not_hide_a_mistake(check):
    broken = type("Broken", (BROKEN[check.__name__], SJE), {})()
    with pytest.raises(AssertionError):
        check(broken)
