"""Methods x settings x seeds: what is not in the store yet is run, here or wherever joblib's back end is."""

from __future__ import annotations

import time
import traceback
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from joblib import cpu_count, delayed, parallel_config
from joblib.externals.loky import get_reusable_executor
from joblib.externals.loky.process_executor import BrokenProcessPool
from joblib.parallel import BACKENDS, get_active_backend
from threadpoolctl import threadpool_limits

from unseen._core.parallel import dependent, results
from unseen._core.progress import progress
from unseen.benchmark.experiment import Setting
from unseen.benchmark.protocol import evaluate_run, make_run
from unseen.benchmark.store import Failure, Run, Store
from unseen.methods import describe_method, find_method

_CUB = 7057 * 2048  # its training samples x features


@dataclass(frozen=True)
class Task:
    """A run that may have to be done, and what it is done on."""

    run: Run
    setting: Setting

    @property
    def cost(self) -> float:
        """How many seconds it would take on some machine; a small run is never free."""
        size = len(self.setting.split.train) * self.setting.dataset.X.shape[1]
        return 1 + describe_method(self.run.method).cost * size / _CUB


@dataclass(frozen=True)
class Outcome:
    """What a task ended in: a result, or an error with its traceback."""

    run: Run
    result: dict[str, Any] | None = None
    error: str = ""
    details: str = ""


@dataclass
class Report:
    """What a bench did: runs found in the store, done now, and failed."""

    found: int = 0
    done: int = 0
    failures: list[Failure] = field(default_factory=list)


def plan(settings: Iterable[Setting], methods: Sequence[str], n_seeds: int) -> list[Task]:
    """Return all runs of a bench; only methods that draw lots need several seeds."""
    return [
        Task(make_run(setting, method, seed), setting)
        for setting in settings
        for method in methods
        for seed in range(n_seeds if find_method(method).stochastic else 1)
    ]


def run_bench(
    tasks: Sequence[Task],
    store: Store,
    *,
    jobs: int | None = None,
    threads: int = 1,
    quiet: bool = False,
    cluster: str | None = None,
) -> Report:
    """Do every task that the store does not have, and store each as it ends.

    Parameters
    ----------
    tasks : sequence of Task
        From ``plan``.
    store : Store
        Where results go; a task found there is not repeated.
    jobs : int, optional
        Runs at the same time; by default one per processor.
    threads : int
        Threads of the linear algebra in each run. Sums are rounded in another order with another number:
        with the same number results are the same to the bit, however many jobs there are.
    quiet : bool
        No progress on stderr.
    cluster : str, optional
        Address of a Dask scheduler, to run there: as many runs at a time as its workers have threads.
    """
    settings = {task.setting.key: task.setting for task in tasks}
    for setting in settings.values():
        store.add_setting(setting.key, setting.description)
    longest_first = sorted(tasks, key=lambda task: -task.cost)  # so that all processors end together
    waiting = {task.run.key: task for task in longest_first if not store.has(task.run.key)}
    report = Report(found=len(tasks) - len(waiting))
    if waiting:
        with _place(cluster, list(settings.values()), jobs) as jobs:
            _run_all(waiting, store, report, jobs, threads, quiet)
    keys = {task.run.key for task in tasks}
    report.failures = [failure for failure in store.failures() if failure.run.key in keys]
    return report


def _place(cluster: str | None, settings: Sequence[Setting], jobs: int | None) -> AbstractContextManager[int]:
    """Return the context in which joblib sends runs to their place; it yields how many run at a time."""
    if cluster is None:
        return _processes(jobs or cpu_count())
    from unseen.benchmark.cluster import dask_cluster

    return dask_cluster(cluster, settings)


@contextmanager
def _processes(jobs: int) -> Iterator[int]:
    """Let joblib's own processes end with this one, unless the caller has chosen another back end."""
    own = type(get_active_backend()[0]) is BACKENDS["loky"]
    with parallel_config("loky", **dependent()) if own else nullcontext():
        yield jobs


def _run_all(
    waiting: dict[str, Task], store: Store, report: Report, jobs: int, threads: int, quiet: bool
) -> None:
    forecast = Forecast(waiting, jobs, store)
    with progress(len(waiting), "bench", unit="runs", quiet=quiet, left=forecast.left) as advance:
        for outcome in _outcomes(waiting, store, jobs, threads):
            forecast.finished(outcome)
            _keep(outcome, store, report)
            advance(1, f"{outcome.run.method} seed {outcome.run.seed}")


def _keep(outcome: Outcome, store: Store, report: Report) -> None:
    if outcome.result is None:
        store.add_failure(outcome.run, outcome.error, outcome.details)
    else:
        store.add_result(outcome.run, outcome.result)
        report.done += 1


def _outcomes(waiting: dict[str, Task], store: Store, jobs: int, threads: int) -> Iterator[Outcome]:
    """Yield outcomes as they come; after a worker has died, go on one by one to find out why."""
    open_tasks = dict(waiting)
    try:
        for outcome in _parallel(open_tasks.values(), store, jobs, threads):
            del open_tasks[outcome.run.key]
            yield outcome
    except BrokenProcessPool:
        for task in open_tasks.values():
            yield _alone(task, threads)


def _parallel(tasks: Iterable[Task], store: Store, jobs: int, threads: int) -> Iterator[Outcome]:
    # Asked when its turn comes: another bench on the same folder may have finished it meanwhile.
    waiting = (task for task in list(tasks) if not store.has(task.run.key))
    calls = (delayed(attempt)(t.run, t.setting, threads) for t in waiting)
    return results(calls, jobs, ordered=False)


def _alone(task: Task, threads: int) -> Outcome:
    """Do a task in a process of its own, so that its death is known to be its own."""
    try:
        # Shut down afterwards: joblib must not find a pool that it has not made.
        with get_reusable_executor(max_workers=1, **dependent()) as worker:
            return worker.submit(attempt, task.run, task.setting, threads).result()
    except BrokenProcessPool as error:
        reason = "The process of this run was killed, most likely because memory ran out. Use fewer --jobs."
        return Outcome(task.run, error=reason, details=str(error))


def attempt(run: Run, setting: Setting, threads: int) -> Outcome:
    """Do one run with so many threads; an error of the method becomes part of the outcome."""
    try:
        # Folds of the same run one after the other: the runs are what is parallel, here or on a cluster.
        with (
            threadpool_limits(threads),
            parallel_config("sequential"),
            warnings.catch_warnings(record=True) as caught,
        ):
            warnings.simplefilter("always")
            result = evaluate_run(setting, run.method, run.seed)
        said = sorted({str(warning.message) for warning in caught})
        return Outcome(run, {**result, "threads": threads, "warnings": said})
    except Exception as error:  # whatever a method raises, the others go on
        name = type(error).__name__
        return Outcome(run, error=f"{name}: {error}" if str(error) else name, details=traceback.format_exc())


class Forecast:
    """How long the rest takes: what a method took so far, else its usual cost at the speed seen so far."""

    def __init__(self, waiting: dict[str, Task], jobs: int, store: Store) -> None:
        self.waiting = dict(waiting)
        self.jobs = jobs
        self.seconds: dict[tuple[str, str], list[float]] = {}
        self.speed = [0.0, 0.0]  # seconds spent, their usual cost
        self._left: float | None = None
        self._since = time.monotonic()
        for key in {task.setting.key for task in waiting.values()}:
            for result in store.results(key):
                self._learn(key, result["method"], result["seconds"]["total"])
        self._update()

    def finished(self, outcome: Outcome) -> None:
        """Take note of a run that has ended."""
        task = self.waiting.pop(outcome.run.key)
        if outcome.result is not None:
            seconds = outcome.result["seconds"]["total"]
            self._learn(task.setting.key, outcome.run.method, seconds)
            self.speed = [self.speed[0] + seconds, self.speed[1] + task.cost]
        self._update()

    def _update(self) -> None:
        expected = [self._expected(task) for task in self.waiting.values()]
        known = [seconds for seconds in expected if seconds is not None]
        self._left = max(sum(known) / self.jobs, max(known)) if known else None
        self._since = time.monotonic()

    def left(self) -> float | None:
        """Return the seconds that are left, or None as long as nothing is known."""
        if self._left is None:
            return None
        return max(0.0, self._left - (time.monotonic() - self._since))

    def _learn(self, setting: str, method: str, seconds: float) -> None:
        self.seconds.setdefault((setting, method), []).append(seconds)

    def _expected(self, task: Task) -> float | None:
        past = self.seconds.get((task.setting.key, task.run.method))
        if past:
            return sum(past) / len(past)
        return self.speed[0] / self.speed[1] * task.cost if self.speed[1] else None
