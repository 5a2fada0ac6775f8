"""A bench does what is missing, survives what goes wrong, and says honestly how long it will take."""

from __future__ import annotations

import pytest
from joblib import Parallel, delayed

from unseen.benchmark import runner
from unseen.benchmark.experiment import Setting
from unseen.benchmark.protocol import make_run
from unseen.benchmark.runner import Forecast, Outcome, Task, plan, run_bench
from unseen.benchmark.store import Store
from unseen.benchmark.summary import summaries
from unseen.datasets import load
from unseen.datasets.splits import make_split


@pytest.fixture(scope="module")
def setting():
    data = load("synthetic", n_samples=300, n_features=12, n_classes=12, n_attributes=5, random_state=1)
    asked = {"source": "synthetic", "features": "res101", "split_dir": None, "split_rule": "official"}
    return Setting(data, make_split(data), asked)


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path, create=True) as store:
        yield store


def test_only_methods_that_draw_lots_run_with_several_seeds(setting):
    tasks = plan([setting], ["linear-sv", "fake_methods:Chance"], 4)
    assert sorted((t.run.method, t.run.seed) for t in tasks) == [
        *[("fake_methods:Chance", seed) for seed in range(4)],
        ("linear-sv", 0),
    ]
    assert len({task.run.key for task in tasks}) == 5


def test_a_second_bench_repeats_nothing(setting, store, monkeypatch):
    tasks = plan([setting], ["linear-sv", "sae"], 1)
    assert run_bench(tasks[:1], store, jobs=1, quiet=True).done == 1
    done = []
    monkeypatch.setattr(
        runner, "evaluate_run", lambda s, method, seed: done.append(method) or _evaluate(s, method, seed)
    )
    report = run_bench(tasks, store, jobs=1, quiet=True)
    assert (report.found, report.done, done) == (1, 1, [tasks[1].run.method])
    assert run_bench(tasks, store, jobs=1, quiet=True).found == 2


_evaluate = runner.evaluate_run


def test_several_jobs_give_the_numbers_of_one(setting, tmp_path):
    tasks = plan([setting], ["linear-vs", "linear-sv", "fake_methods:Chance"], 5)
    found = []
    for jobs in (1, 2):
        with Store(tmp_path / str(jobs), create=True) as store:
            run_bench(tasks, store, jobs=jobs, threads=1, quiet=True)
            (summary,) = summaries(store)
            found.append(without_times(summary))
    assert found[0] == found[1]
    assert found[0]["methods"]["fake_methods:Chance"]["zsl"]["per_class"]["std"] > 0


def without_times(document):
    if isinstance(document, dict):
        return {k: without_times(v) for k, v in document.items() if k != "seconds"}
    return [without_times(v) for v in document] if isinstance(document, list) else document


def test_a_failing_method_is_recorded_and_the_others_go_on(setting, store):
    tasks = plan([setting], ["fake_methods:Failing", "linear-sv"], 1)
    report = run_bench(tasks, store, jobs=1, quiet=True)
    assert report.done == 1
    (failure,) = report.failures
    assert failure.error == "ZeroDivisionError: one half of nothing"
    assert "fit_path" in failure.details
    assert list(summaries(store)[0]["methods"]) == ["linear-sv"]


def test_a_killed_worker_costs_only_its_own_run(setting, store):
    tasks = plan([setting], ["fake_methods:Dying", "linear-sv", "linear-vs"], 1)
    report = run_bench(tasks, store, jobs=2, quiet=True)
    (failure,) = report.failures
    assert failure.run.method == "fake_methods:Dying"
    assert "memory" in failure.error
    assert set(summaries(store)[0]["methods"]) == {"linear-vs", "linear-sv"}
    assert Parallel(n_jobs=2)([delayed(abs)(-1)]) == [1]  # joblib works on in this process


def test_what_is_warned_of_is_kept_with_the_result(setting, store):
    run_bench(plan([setting], ["fake_methods:Warning"], 1), store, jobs=1, quiet=True)
    assert store.results(setting.key)[0]["warnings"] == ["not quite there"]


@pytest.mark.parametrize("threads", [1, 2])
def test_a_run_has_the_threads_it_was_given_and_says_so(setting, store, threads):
    run_bench(plan([setting], ["fake_methods:Threads"], 1), store, jobs=1, threads=threads, quiet=True)
    (found,) = store.results(setting.key)
    assert (found["threads"], found["warnings"]) == (threads, [f"{threads} threads"])


def test_what_another_bench_has_finished_meanwhile_is_left_alone(setting, store, monkeypatch):
    tasks = plan([setting], ["linear-sv", "linear-vs"], 1)

    def evaluate(setting, method, seed):
        for task in tasks:  # the other bench is quicker
            store.add_result(task.run, {"method": "other", "seconds": {"total": 1.0}})
        return {"method": method, "seconds": {"total": 1.0}}

    monkeypatch.setattr(runner, "evaluate_run", evaluate)
    run_bench(tasks, store, jobs=1, quiet=True)
    assert [result["method"] for result in store.results(setting.key)] == ["other", "other"]


def outcome(task, seconds):
    return Outcome(task.run, {"seconds": {"total": seconds}})


def test_the_forecast_learns_from_what_has_ended(setting, store):
    tasks = [
        Task(make_run(setting, m, s), setting) for m, s in [("eszsl", 0), ("eszsl", 1), ("linear-sv", 0)]
    ]
    forecast = Forecast({task.run.key: task for task in tasks}, 1, store)
    assert forecast.left() is None
    forecast.finished(outcome(tasks[0], 40.0))
    usual = 40.0 * tasks[2].cost / tasks[0].cost  # what linear-sv usually takes when eszsl takes 40 s
    assert forecast.left() == pytest.approx(40.0 + usual, abs=0.5)
    forecast.finished(outcome(tasks[1], 60.0))
    forecast.finished(outcome(tasks[2], 1.0))
    assert not forecast.left()


def test_the_forecast_knows_what_earlier_benches_took(setting, store):
    first, second = (Task(make_run(setting, "sae", seed), setting) for seed in (0, 1))
    store.add_setting(setting.key, setting.description)
    store.add_result(first.run, {"method": "sae", "seconds": {"total": 30.0}})
    forecast = Forecast({second.run.key: second}, 1, store)
    assert forecast.left() == pytest.approx(30.0, abs=0.5)
