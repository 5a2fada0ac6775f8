"""A bench does what is missing, survives what goes wrong, and starts the longest runs first."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from joblib import Parallel, delayed

from problems import small_experiment
from unseen.benchmark import runner
from unseen.benchmark.runner import plan, run_bench
from unseen.benchmark.store import Store
from unseen.benchmark.summary import summarize_store
from unseen.methods import METHODS

pytestmark = pytest.mark.xdist_group("processes")


@pytest.fixture(scope="module")
def experiment():
    return small_experiment()


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path, create=True) as store:
        yield store


def test_only_stochastic_methods_run_with_several_seeds(experiment):
    tasks = plan([experiment], ["linear-sv", "fake_methods:Chance"], 4)
    assert sorted((t.run.method, t.run.seed) for t in tasks) == [
        *[("fake_methods:Chance", seed) for seed in range(4)],
        ("linear-sv", 0),
    ]
    assert len({task.run.key for task in tasks}) == 5


def test_a_second_bench_repeats_nothing(experiment, store, monkeypatch):
    tasks = plan([experiment], ["linear-sv", "sae"], 1)
    assert run_bench(tasks[:1], store, jobs=1, quiet=True).done == 1
    done = []
    monkeypatch.setattr(
        runner, "evaluate_run", lambda s, method, *more: done.append(method) or _evaluate(s, method, *more)
    )
    tally = run_bench(tasks, store, jobs=1, quiet=True)
    assert (tally.found, tally.done, done) == (1, 1, [tasks[1].run.method])
    assert run_bench(tasks, store, jobs=1, quiet=True).found == 2


_evaluate = runner.evaluate_run


def test_several_jobs_give_the_numbers_of_one(experiment, tmp_path):
    tasks = plan([experiment], ["linear-vs", "linear-sv", "fake_methods:Chance"], 5)
    found = []
    for jobs in (1, 2):
        with Store(tmp_path / str(jobs), create=True) as store:
            run_bench(tasks, store, jobs=jobs, threads=1, quiet=True)
            (summary,) = summarize_store(store)
            found.append(without_times(summary))
    assert found[0] == found[1]
    assert found[0]["methods"]["fake_methods:Chance"]["zsl"]["per-class"]["std"] > 0


def without_times(document):
    if isinstance(document, dict):
        return {k: without_times(v) for k, v in document.items() if k != "seconds"}
    return [without_times(v) for v in document] if isinstance(document, list) else document


def test_a_failing_method_is_recorded_and_the_others_go_on(experiment, store):
    tasks = plan([experiment], ["fake_methods:Failing", "linear-sv"], 1)
    tally = run_bench(tasks, store, jobs=1, quiet=True)
    assert tally.done == 1
    (failure,) = tally.failures
    assert failure.error == "ZeroDivisionError: one half of nothing"
    assert "fit_path" in failure.details
    assert list(summarize_store(store)[0]["methods"]) == ["linear-sv"]


def test_a_killed_worker_costs_only_its_own_run(experiment, store):
    tasks = plan([experiment], ["fake_methods:Dying", "linear-sv"], 1)
    tally = run_bench(tasks, store, jobs=2, quiet=True)
    (failure,) = tally.failures
    assert failure.run.method == "fake_methods:Dying"
    assert "memory" in failure.error
    assert set(summarize_store(store)[0]["methods"]) == {"linear-sv"}
    assert Parallel(n_jobs=2)([delayed(abs)(-1)]) == [1]  # joblib works on in this process


def test_what_is_warned_of_is_kept_with_the_result(experiment, store):
    run_bench(plan([experiment], ["fake_methods:Warning"], 1), store, jobs=1, quiet=True)
    assert store.results(experiment.key)[0]["warnings"] == ["not quite there"]


@pytest.mark.parametrize("threads", [1, 2])
def test_a_run_has_the_threads_it_was_given_and_says_so(experiment, store, threads):
    run_bench(plan([experiment], ["fake_methods:Threads"], 1), store, jobs=1, threads=threads, quiet=True)
    (found,) = store.results(experiment.key)
    assert (found["threads"], found["warnings"]) == (threads, [f"{threads} threads"])


def test_by_default_every_method_that_fits_the_data_takes_part(experiment):
    methods = {task.run.method for task in plan([experiment], None, 1)}
    # 40 features cannot be compared with 10 attributes
    assert methods == set(METHODS) - {"cosine", "lda-anchored"}
    data = experiment.dataset
    shared = replace(experiment, dataset=replace(data, prototypes=np.ones((16, 40)) + np.eye(16, 40)))
    assert {task.run.method for task in plan([shared], None, 1)} == set(METHODS)
