"""The same seed gives the same bits: again, in another process, with any number of jobs."""

from __future__ import annotations

import numpy as np
import pytest
from joblib import parallel_config

from problems import LEARNED, small_experiment
from unseen.benchmark.experiment import Experiment
from unseen.benchmark.runner import plan, run_bench
from unseen.benchmark.store import Store
from unseen.methods import find_method
from unseen.selection.search import GZSLClassifierCV


@pytest.fixture(scope="module")
def experiment():
    return small_experiment()


def search(experiment: Experiment, method: str, **options) -> GZSLClassifierCV:
    found = find_method(method)
    params = {"random_state": 7, "tol": 0.1} if found.stochastic else {}
    model = found(experiment.dataset.prototypes, **params)
    train = experiment.split.train
    grid = {name: values[len(values) // 2 :][:2] for name, values in found.default_grid.items()}
    selection = GZSLClassifierCV(model, grid, cv=experiment.split.cv(), **options)
    return selection.fit(experiment.dataset.X[train], experiment.dataset.y[train])


def bits(model: GZSLClassifierCV) -> dict[str, bytes]:
    """Return everything that was learned and chosen, to the bit."""
    arrays = {name: getattr(model, name) for name in ("coef_", "intercept_", "gamma_")}
    arrays |= {name: column for name, column in model.cv_results_.items() if name != "params"}
    return {name: np.asarray(array).tobytes() for name, array in arrays.items()}


@pytest.mark.parametrize("method", LEARNED)
def test_the_same_seed_gives_the_same_bits(experiment, method):
    """Once one fold after the other, once with folds at the same time."""
    first = search(experiment, method)
    with parallel_config("threading"):
        assert bits(search(experiment, method, n_jobs=3)) == bits(first)


@pytest.mark.parametrize("method", [name for name in LEARNED if find_method(name).stochastic])
def test_another_seed_gives_other_bits(experiment, method):
    train = experiment.split.train
    X, y = experiment.dataset.X[train], experiment.dataset.y[train]
    models = [
        find_method(method)(experiment.dataset.prototypes, random_state=seed).fit(X, y) for seed in (0, 1)
    ]
    assert not np.array_equal(models[0].coef_, models[1].coef_)


@pytest.mark.slow
def test_all_methods_give_the_same_numbers_with_one_job_and_with_two(experiment, tmp_path):
    """Other processes, other order: every stored digit is the same but for the times."""
    tasks = plan([experiment], LEARNED, 1)
    found = []
    for jobs in (1, 2):
        with Store(tmp_path / str(jobs), create=True) as store:
            assert run_bench(tasks, store, jobs=jobs, quiet=True).failures == []
            results = {run.key: store.result(run.key) for run, _ in store.runs()}
        found.append({key: {**result, "seconds": None} for key, result in results.items()})
    assert len(found[0]) == len(LEARNED)
    assert found[0] == found[1]
