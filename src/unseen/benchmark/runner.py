"""Methods x experiments x seeds: every run that the store lacks is done, wherever joblib's backend is."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Generator, Iterable, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, nullcontext
from functools import lru_cache
from typing import NamedTuple, cast

from joblib import cpu_count, delayed, parallel_config
from joblib.parallel import BACKENDS, get_active_backend
from threadpoolctl import threadpool_limits

from unseen._core.parallel import dependent, results
from unseen._core.progress import progress
from unseen._core.workspace import Workspace
from unseen.benchmark.experiment import Experiment
from unseen.benchmark.protocol import evaluate_run, make_run
from unseen.benchmark.results import RunResult
from unseen.benchmark.store import Failure, Run, Store
from unseen.methods import METHODS, find_method

Outcome = tuple[Run, RunResult | Failure]
Outcomes = Generator[Outcome, None, None]


class BenchTask(NamedTuple):
    """A run that may have to be done, and the experiment it belongs to."""

    run: Run
    experiment: Experiment


class Tally(NamedTuple):
    """How many runs of a bench were found in the store and how many were done now; which ones failed."""

    found: int
    done: int
    failures: list[Failure]


def plan(experiments: Iterable[Experiment], methods: Sequence[str] | None, n_seeds: int) -> list[BenchTask]:
    """Return all runs of a bench; only stochastic methods need several seeds.

    By default (None) every registered method that can run on the experiment takes part.
    """
    tasks = (
        BenchTask(make_run(experiment, method, seed), experiment)
        for experiment in experiments
        for method in (usable_methods(experiment) if methods is None else methods)
        for seed in range(n_seeds if find_method(method).stochastic else 1)
    )
    return list({task.run: task for task in tasks}.values())  # each once, if one was asked for twice


def usable_methods(experiment: Experiment) -> list[str]:
    """Return the registered methods, without those that compare features and prototypes of unequal size."""
    same_size = experiment.dataset.X.shape[1] == experiment.dataset.prototypes.shape[1]
    return [name for name in METHODS if same_size or not METHODS[name].shared_space]


def run_bench(
    tasks: Sequence[BenchTask],
    store: Store,
    *,
    jobs: int | None = None,
    threads: int = 1,
    quiet: bool = False,
    cluster: str | None = None,
    cluster_timeout: float = 60.0,
) -> Tally:
    """Do every task that the store does not have, and store each result as soon as it is ready.

    Parameters
    ----------
    tasks : sequence of BenchTask
        From ``plan``.
    store : Store
        Where results go; a task found there is not repeated.
    jobs : int, optional
        Runs at the same time; by default one per processor.
    threads : int
        Threads of the linear algebra in each run. Another number of threads sums in another order, which
        changes the last digits; with the same number results are bit-identical for any number of jobs.
    quiet : bool
        Show no progress on stderr.
    cluster : str, optional
        Address of a Dask scheduler to run on, with as many runs at a time as its workers have threads.
    cluster_timeout : float
        How many seconds the cluster may be without any worker; after that an error ends the bench.
    """
    for key, experiment in {task.experiment.key: task.experiment for task in tasks}.items():
        store.add_experiment(key, experiment.description)
    waiting = [task for task in tasks if not store.has(task.run.key)]
    if cluster:
        from unseen.benchmark.cluster import cluster_outcomes

        outcomes = cluster_outcomes(waiting, cluster, cluster_timeout, threads)
    else:
        outcomes = _local_outcomes(waiting, jobs or cpu_count(), threads)
    failures = _keep_all(outcomes, len(waiting), store, quiet) if waiting else []
    return Tally(len(tasks) - len(waiting), len(waiting) - len(failures), failures)


def _keep_all(outcomes: Outcomes, n: int, store: Store, quiet: bool) -> list[Failure]:
    """Store each of n outcomes as it comes, and return the failures."""
    failures = []
    with closing(outcomes), progress(n, "bench", unit="runs", quiet=quiet) as advance:
        for run, found in outcomes:
            if isinstance(found, Failure):
                store.add_failure(found)
                failures.append(found)
            else:
                store.add_result(run, found)
            advance(1, f"{run.method} seed {run.seed}")
    return failures


def _local_outcomes(waiting: list[BenchTask], jobs: int, threads: int) -> Outcomes:
    """Yield outcomes as they come; once a worker has died, go on one by one to find the run that did it."""
    left = {task.run: task for task in waiting}
    calls = (delayed(attempt)(*task, threads) for task in waiting)
    # joblib's worker processes end with this one, unless the caller has chosen another backend
    own = type(get_active_backend()[0]) is BACKENDS["loky"]
    with parallel_config("loky", **dependent()) if own else nullcontext():
        try:
            for outcome in results(calls, jobs, ordered=False):
                del left[outcome[0]]
                yield outcome
        except BrokenProcessPool:
            for task in left.values():
                yield _attempt_alone(task, threads)


def _attempt_alone(task: BenchTask, threads: int) -> Outcome:
    """Do a task while no other runs, so that the death of its process is known to be its own."""
    try:
        # One call in a pool of two: with n_jobs=1 joblib would run it in this process.
        (outcome,) = results([delayed(attempt)(*task, threads)], n_jobs=2)
        return cast(Outcome, outcome)
    except BrokenProcessPool as error:
        reason = "The process of this run was killed, most likely because memory ran out. Use fewer --jobs."
        return task.run, Failure(task.run, reason, str(error))


@lru_cache(maxsize=1)
def workspace_of(experiment: str) -> Workspace:
    """Return what the runs of an experiment in this process share; that of the last experiment is kept."""
    return Workspace()


def attempt(run: Run, experiment: Experiment, threads: int) -> Outcome:
    """Do one run with this many threads; an exception of the method becomes part of the outcome."""
    try:
        # Runs are parallel, here or on a cluster; the folds within a run are not.
        with (
            threadpool_limits(threads),
            parallel_config("sequential"),
            warnings.catch_warnings(record=True) as caught,
        ):
            warnings.simplefilter("always")
            result = evaluate_run(experiment, run.method, run.seed, workspace_of(run.experiment))
        texts = sorted({str(warning.message) for warning in caught})
        return run, {**result, "threads": threads, "warnings": texts}
    except Exception as error:  # whatever a method raises, the other runs go on
        name = type(error).__name__
        return run, Failure(run, f"{name}: {error}" if str(error) else name, traceback.format_exc())
