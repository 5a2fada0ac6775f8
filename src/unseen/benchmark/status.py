"""What a run folder holds, in words, and what somebody needs to repeat a command."""

from __future__ import annotations

import platform
import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from importlib.metadata import version

from unseen import __version__
from unseen.benchmark.store import Command, Failure, Run, Store


def describe_store(store: Store) -> Iterator[str]:
    """Yield lines for people: experiments, finished runs by method, failures, the last command."""
    store.check()
    with store.reading():
        yield from list(_store_lines(store))


def _store_lines(store: Store) -> Iterator[str]:
    finished = store.runs()
    done = [run for run, _ in finished]
    planned = list(dict.fromkeys([*store.planned(), *done]))
    for key, experiment in store.experiments().items():
        yield from _experiment_lines(
            experiment["name"],
            [run for run in done if run.experiment == key],
            [run for run in planned if run.experiment == key],
        )
    for failure in store.failures():
        yield failure_line(failure)
    if finished:
        yield f"last run finished {finished[-1][1]}"
    for command in store.commands()[-1:]:
        yield f"last command ({command['started']}): unseen {shlex.join(command['arguments'])}"


def _experiment_lines(name: str, done: list[Run], planned: list[Run]) -> Iterator[str]:
    yield f"{name}: {len(done)} of {len(planned)} runs finished"
    for method in dict.fromkeys(run.method for run in planned):
        seeds = {run.seed for run in done if run.method == method}
        missing = {run.seed for run in planned if run.method == method} - seeds
        words = [f"seeds {_join(seeds)}"] if seeds else []
        words += [f"missing {_join(missing)}"] if missing else []
        yield f"  {method:<10} {'; '.join(words)}"


def _join(seeds: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(seeds)))


def failure_line(failure: Failure) -> str:
    """Return one line about a failed run."""
    return f"failed: {failure.run.method} seed {failure.run.seed}: {failure.error}"


def this_command(arguments: list[str], planned: Sequence[Run] = ()) -> Command:
    """Return what somebody needs to repeat a command, and the runs it is to do."""
    from threadpoolctl import threadpool_info

    packages = ("numpy", "scipy", "scikit-learn", "joblib")
    blas = [f"{p['internal_api']} {p['version']}" for p in threadpool_info() if p["user_api"] == "blas"]
    return {
        "arguments": arguments,
        "versions": {
            "unseen": __version__,
            "python": sys.version.split()[0],
            **{package: version(package) for package in packages},
            "blas": ", ".join(sorted(set(blas))),
        },
        "machine": {"system": platform.platform(), "processor": platform.machine()},
        "planned": [asdict(run) for run in planned],
    }
