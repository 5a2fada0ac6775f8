"""Two workers against one, on a Dask cluster of processes on this machine."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from benchmarks import Row, table
from unseen.benchmark.experiment import Experiment
from unseen.benchmark.runner import BenchTask, plan, run_bench
from unseen.benchmark.store import Store
from unseen.datasets import load_dataset
from unseen.datasets.splits import make_split


def run(small: bool = False) -> list[Row]:
    """Return rows (name, value, unit, demanded)."""
    n, features, seeds = (1000, 64, 4) if small else (6000, 512, 8)
    data = load_dataset(
        "synthetic", n_samples=n, n_features=features, n_classes=60, n_attributes=40, random_state=0
    )
    tasks = plan([Experiment(data, make_split(data), "paper")], ["ale"], seeds)
    one, two = (_bench_seconds(tasks, workers) for workers in (1, 2))
    demanded = "" if small or (os.cpu_count() or 1) < 2 else ">= 1.6"
    return [
        (f"{seeds} runs of ale on one worker", one, "s", ""),
        ("one worker / two workers", one / two, "times", demanded),
    ]


def _bench_seconds(tasks: list[BenchTask], workers: int) -> float:
    """Return the time of the runs, connecting included, on a cluster that has been started before."""
    with tempfile.TemporaryDirectory() as folder, dask_processes(Path(folder), workers) as address:
        with Store(Path(folder, "warm-up"), create=True) as store:  # the workers have imported everything
            run_bench(tasks[:workers], store, quiet=True, cluster=address)
        with Store(Path(folder, "run"), create=True) as store:
            start = time.perf_counter()
            run_bench(tasks, store, quiet=True, cluster=address)
            return time.perf_counter() - start


@contextmanager
def dask_processes(folder: Path, workers: int) -> Iterator[str]:
    """Start a scheduler and workers with one thread each; yields the scheduler's address."""
    file = folder / "scheduler.json"
    with ExitStack() as stack:
        _start(stack, "scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(file))
        for _ in range(workers):
            options = ["--nthreads", "1", "--no-nanny", "--local-directory", str(folder)]
            _start(stack, "worker", "--scheduler-file", str(file), *options)
        from distributed import Client

        while not file.exists():
            time.sleep(0.1)
        with Client(scheduler_file=str(file), set_as_default=False) as client:
            client.wait_for_workers(workers, timeout=60)
            address = client.scheduler.address
        yield address


def _start(stack: ExitStack, program: str, *options: str) -> None:
    command = [sys.executable, "-m", f"distributed.cli.dask_{program}", *options, "--no-dashboard"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command, env=environment, **quiet)
    stack.callback(process.wait)
    stack.callback(process.kill)


if __name__ == "__main__":
    print(table(run("--small" in sys.argv)))
