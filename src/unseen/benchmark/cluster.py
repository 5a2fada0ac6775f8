"""A bench on a running Dask cluster, whose workers may come and go."""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from itertools import islice
from typing import Any

from unseen import __version__
from unseen.benchmark.experiment import Experiment
from unseen.benchmark.runner import BenchTask, Outcome, Outcomes, attempt
from unseen.benchmark.store import Failure, Run
from unseen.errors import UnseenError, import_extra, one_line, rephrase_errors

_CONNECT = 10.0  # seconds for the scheduler to answer
_STEP = 1.0  # seconds between two looks at the workers
_RESUME = (
    "What has finished is stored: the same command continues from there, with a new --cluster, or without "
    "it on this machine."
)


def cluster_outcomes(tasks: Iterable[BenchTask], address: str, timeout: float, threads: int) -> Outcomes:
    """Yield outcomes as they come from the workers of a cluster.

    Parameters
    ----------
    tasks : iterable of BenchTask
    address : str
        Of the scheduler, such as ``tcp://host:8786``. Its loss is a clear error.
    timeout : float
        How many seconds the cluster may be without any worker, at the start and later.
    threads : int
        Of the linear algebra in each run.
    """
    with _silence("distributed.client"), _connect(address, timeout) as client:
        from distributed.comm.core import CommClosedError

        try:
            yield from Cluster(client, address, timeout).outcomes(tasks, threads)
        except Exception as error:
            # a client that has reconnected has lost its futures: they are canceled
            if client.status == "running" and not isinstance(error, (CancelledError, CommClosedError)):
                raise
            raise UnseenError(f"Lost the Dask scheduler at {address}. {_RESUME}") from error


class Cluster:
    """Runs on the workers of a cluster; the data and the work of a lost worker are redone elsewhere.

    The data of an experiment is the result of a task that the scheduler can repeat. It goes to a worker with
    the first run there, from another worker or from the scheduler, and stays: a worker that joins later
    gets it, too.
    """

    def __init__(self, client: Any, address: str, timeout: float) -> None:
        self._client, self._address, self._timeout = client, address, timeout
        self._data: dict[str, Any] = {}  # futures by the key of their experiment
        self._last_worker = time.monotonic()  # when there was a worker

    def outcomes(self, tasks: Iterable[BenchTask], threads: int) -> Iterator[Outcome]:
        """Yield the outcome of each task."""
        waiting: dict[Any, Run] = {}
        tasks = iter(tasks)
        while True:
            # Few, because a worker that dies often fails all that wait there. But more than the workers
            # take at once: Dask removes copies of data beyond the number of runs that wait for it.
            room = 4 * max(1, self._count_threads()) - len(waiting)
            waiting |= {self._submit(task, threads): task.run for task in islice(tasks, max(0, room))}
            if not waiting:
                return
            for future in self._wait(list(waiting)):
                try:
                    outcome = future.result(timeout=self._timeout)
                except TimeoutError:  # lost with its worker, and computed again
                    continue
                except (ImportError, AttributeError, RuntimeError) as error:  # it cannot find what to call
                    raise UnseenError(
                        f"The cluster at {self._address} cannot run unseen {__version__} "
                        f"({one_line(error)}). Install the same version everywhere."
                    ) from error
                except Exception as error:
                    # errors of a method are an outcome; UnseenError is a worker with another version
                    if self._client.status != "running" or isinstance(error, CancelledError | UnseenError):
                        raise
                    outcome = waiting[future], _lost_run(waiting[future], error)
                del waiting[future]
                yield outcome

    def _count_threads(self) -> int:
        """Return the number of threads of all workers; none for too long is an error."""
        threads = int(sum(self._client.nthreads().values()))
        now = time.monotonic()
        if threads:
            self._last_worker = now
        elif now - self._last_worker > self._timeout:
            raise UnseenError(
                f"The Dask scheduler at {self._address} has had no workers for {self._timeout:g} s. {_RESUME}"
            )
        return threads

    def _submit(self, task: BenchTask, threads: int) -> Any:
        key = task.experiment.key
        if key not in self._data:
            with warnings.catch_warnings():
                # Dask would rather have large data scattered, but that is lost with the workers that hold it
                warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
                self._data[key] = self._client.submit(hand_over, task.experiment, pure=False)
        data = self._data[key]
        return self._client.submit(attempt_here, __version__, task.run, data, threads, pure=False)

    def _wait(self, futures: list[Any]) -> list[Any]:
        """Return the futures that have ended, after a moment at most."""
        import distributed

        wait: Any = distributed.wait  # distributed has no types
        try:
            with self._client.as_current():
                return list(wait(futures, timeout=_STEP, return_when="FIRST_COMPLETED").done)
        except TimeoutError:
            return []


def hand_over(experiment: Experiment) -> Experiment:
    """Return the data of an experiment: the result of a task, it can be computed again if it is lost."""
    return experiment


def attempt_here(version: str, run: Run, experiment: Experiment, threads: int) -> Outcome:
    """Do a run on a worker; one that has joined meanwhile may have another version of this package."""
    if version != __version__:
        problem = f"This is unseen {version}, but workers of the cluster have {__version__}"
        raise UnseenError(f"{problem}. Install the same version everywhere.")
    return attempt(run, experiment, threads)


def _lost_run(run: Run, error: Exception) -> Failure:
    """Return the failure of a run whose workers have died, or could not call it."""
    text = f"{type(error).__name__}: {error}"
    if type(error).__name__ == "KilledWorker":
        text = "Its workers were killed repeatedly, most likely because memory ran out."
    return Failure(run, text, str(error))


@contextmanager
def _silence(name: str) -> Iterator[None]:
    """Keep a logger quiet; its errors, which come with tracebacks, are reported once in our own words."""
    logger = logging.getLogger(name)
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before


def _connect(address: str, timeout: float) -> Any:
    base: Any = import_extra("distributed", "dask", "--cluster").Client

    class ClosingClient(base):  # type: ignore[misc]
        """A client that closes itself if it cannot start.

        Otherwise its destructor does, and if that runs while another client starts, it waits for a lock
        that the other one holds.
        """

        def start(self, **options: Any) -> None:
            try:
                super().start(**options)
            except BaseException:
                self.close()
                raise

    start = f"dask scheduler; then one or more workers with: dask worker {address} --nthreads 1"
    with rephrase_errors(f"No Dask scheduler answers at {address}", f"Start one with: {start}"):
        return ClosingClient(address, timeout=min(timeout, _CONNECT), set_as_default=False)
