"""What a run folder holds, in words, and what somebody needs to repeat a command."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator
from importlib.metadata import version

from unseen import __version__
from unseen.benchmark.store import Command, Failure, Store


def describe_store(store: Store) -> Iterator[str]:
    """Yield lines for people: experiments, finished runs by method, failures, the last command."""
    store.check()
    with store.reading():
        yield from list(_lines(store))


def _lines(store: Store) -> Iterator[str]:
    runs = store.runs()
    for key, experiment in store.experiments().items():
        seeds: dict[str, list[int]] = {}
        for run, _ in runs:
            if run.experiment == key:
                seeds.setdefault(run.method, []).append(run.seed)
        yield f"{experiment['name']}: {sum(map(len, seeds.values()))} runs finished"
        for method, found in seeds.items():
            yield f"  {method:<10} seeds {', '.join(map(str, sorted(found)))}"
    for failure in store.failures():
        yield failure_line(failure)
    if runs:
        yield f"last run finished {runs[-1][1]}"
    for command in store.commands()[-1:]:
        yield f"last command ({command['started']}): unseen {' '.join(command['arguments'])}"


def failure_line(failure: Failure) -> str:
    """Return one line about a failed run."""
    return f"failed: {failure.run.method} seed {failure.run.seed}: {failure.error}"


def this_command(arguments: list[str]) -> Command:
    """Return what somebody needs to repeat a command: its arguments, the versions, the machine."""
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
    }
