"""Accuracy at every level of a taxonomy."""

from __future__ import annotations

import numpy as np
import pytest

from unseen._core.taxonomy import Taxonomy
from unseen.metrics import accuracy, harmonic_mean, reliability
from unseen.models.levels import evaluate_levels, format_levels

CLASSES = np.array(["jay", "kite", "owl", "tit"])
GROUPS = {"jay": "songbird", "kite": "raptor", "owl": "raptor", "tit": "songbird"}
SEEN = np.array([True, True, False, False])


class Fixed:
    """A model whose samples are their own probabilities."""

    classes_, seen_ = CLASSES, SEEN

    def predict_proba(self, X):
        return X


@pytest.fixture(scope="module")
def samples() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.full(4, 0.4), size=300)
    return p, np.array([rng.choice(4, p=row) for row in p])  # right exactly as often as sure


def test_levels_count_what_is_answered_and_right(samples):
    p, y = samples
    taxonomy = Taxonomy.from_table(GROUPS, CLASSES)
    fine, coarse, none = evaluate_levels(Fixed(), p, y, taxonomy, 0.8)
    raptor = np.array([False, True, True, False])
    sure = np.maximum(p[:, raptor].sum(axis=1), p[:, ~raptor].sum(axis=1))
    of_raptor = p[:, raptor].sum(axis=1) > p[:, ~raptor].sum(axis=1)
    for kind, chosen in (("seen", SEEN[y]), ("unseen", ~SEEN[y])):
        at_class, at_group = chosen & (p.max(axis=1) >= 0.8), chosen & (p.max(axis=1) < 0.8) & (sure >= 0.8)
        assert fine.answered[kind] == pytest.approx(100 * at_class.sum() / chosen.sum())
        assert fine.right[kind] == pytest.approx(100 * (p.argmax(axis=1) == y)[at_class].mean())
        assert coarse.answered[kind] == pytest.approx(100 * at_group.sum() / chosen.sum())
        assert coarse.right[kind] == pytest.approx(100 * (of_raptor == raptor[y])[at_group].mean())
        assert none.right[kind] is None
    right = of_raptor == raptor[y]
    by_kind = (accuracy(y[kind], np.where(right, y, -1)[kind]) for kind in (SEEN[y], ~SEEN[y]))
    assert pytest.approx(harmonic_mean(*by_kind)) == coarse.H
    assert coarse.ece == pytest.approx(reliability(sure, right).ece)


def test_one_kind_of_samples_has_no_harmonic_mean(samples):
    p, y = samples
    taxonomy = Taxonomy.from_table(GROUPS, CLASSES)
    results = evaluate_levels(Fixed(), p[SEEN[y]], y[SEEN[y]], taxonomy, 0.8)
    assert all(result.H is None and set(result.answered) == {"seen"} for result in results)
    assert len(format_levels(results, 0.8)) == 6 and "nan" not in "".join(format_levels(results, 0.8))
