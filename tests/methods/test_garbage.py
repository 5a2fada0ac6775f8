"""A model that is dropped is gone: no cycle keeps its features until garbage is collected."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from problems import LEARNED, linear_problem
from unseen import GZSLClassifierCV
from unseen.datasets.splits import GZSLFolds
from unseen.methods import make_method

PROBLEM = linear_problem(400, features=2000, classes=14, seen=10, dtype=np.float32)


def bytes_in_cycles(job) -> int:
    """Return the size of the arrays that a job leaves to the garbage collector."""
    job()  # what is loaded or cached once
    gc.collect()
    gc.disable()
    try:
        job()
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        arrays = [x for found in gc.garbage for x in gc.get_referents(found) if isinstance(x, np.ndarray)]
        return sum({id(x): x.nbytes for x in arrays}.values())
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


@pytest.mark.filterwarnings("ignore:.*max_iter")
@pytest.mark.parametrize("name", LEARNED)
def test_a_fit_leaves_no_features_behind(name):
    X, y, S = PROBLEM
    model = make_method(name, S, 0)
    path = [{"alpha": 0.01}, {"alpha": 0.1}]
    assert bytes_in_cycles(lambda: list(model.fit_path(X, y, path))) < X.nbytes / 4


def test_a_search_leaves_no_features_behind():
    X, y, S = PROBLEM
    search = GZSLClassifierCV(make_method("lda", S, 0), {"alpha": [0.1]}, cv=GZSLFolds(2))
    assert bytes_in_cycles(lambda: search.fit(X, y)) < X.nbytes / 4
