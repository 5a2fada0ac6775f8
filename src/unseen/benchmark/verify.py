"""Compute stored runs again and compare every number."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from unseen import __version__
from unseen.benchmark.experiment import Experiment, ReadPrototypes, read_tables
from unseen.benchmark.results import Asked, Description, RunResult
from unseen.benchmark.runner import attempt
from unseen.benchmark.store import Run, Store
from unseen.errors import UnseenError
from unseen.methods import METHODS

SAMPLE = 3  # runs that are computed again
_IGNORED = ("seconds", "version", "threads")


class VerifiedRun(NamedTuple):
    """A run that was computed again, and a line for every difference."""

    run: Run
    differences: list[str]


def verify(
    store: Store,
    methods: Collection[str] | None = None,
    sample: int = SAMPLE,
    seed: int | None = None,
    read_prototypes: ReadPrototypes = read_tables,
) -> Iterator[VerifiedRun]:
    """Check the whole store, then compute a random sample of its runs again and yield what differs.

    Only runs of ``methods`` are repeated, by default those of registered methods: a method of the form
    module:Class is code, and a store from elsewhere must not choose which code runs here.
    """
    store.check()
    stored = [run for run, _ in store.runs()]
    runs = [run for run in stored if run.method in (METHODS if methods is None else methods)]
    if not runs:
        others = ", ".join(sorted({run.method for run in stored}))
        hint = f"of these methods. Name what you trust with --methods: {others}" if others else "to verify"
        raise UnseenError(f"{store.folder} holds no finished run {hint}.")
    descriptions = store.experiments()
    experiments: dict[str, Experiment] = {}
    for run in random.Random(seed).sample(runs, min(sample, len(runs))):
        if run.experiment not in experiments:
            description = descriptions[run.experiment]
            experiments[run.experiment] = load_again(run.experiment, description, read_prototypes)
        yield VerifiedRun(run, check_run(run, store.result(run.key), experiments[run.experiment]))


def load_again(
    key: str, description: Description, read_prototypes: ReadPrototypes = read_tables
) -> Experiment:
    """Load the data of a stored experiment; data that has changed since is rejected."""
    asked: dict[str, Any] = {name: description.get(name) for name in (*Asked.__annotations__, "gamma")}
    experiment = Experiment.load(**asked, read_prototypes=read_prototypes)
    if experiment.key != key:
        raise UnseenError(
            f"{description['source']} is no longer the data of the stored runs: checksum "
            f"{experiment.dataset.checksum}, stored {description['checksum']}; split "
            f"{experiment.description['split_checksum']}, stored {description['split_checksum']}."
        )
    return experiment


def check_run(run: Run, stored: RunResult, experiment: Experiment) -> list[str]:
    """Return the differences between a stored result and the same run now, as lines for people."""
    outcome = attempt(run, experiment, stored["threads"])
    if outcome.result is None:
        return [f"now it fails: {outcome.error}"]
    found = [line for line in differences(stored, outcome.result) if not line.startswith(_IGNORED)]
    if found and stored["version"] != __version__:
        found.append(f"stored by version {stored['version']}, this is {__version__}")
    return found


def differences(stored: object, now: object, path: str = "") -> Iterator[str]:
    """Yield a line for every leaf that two documents do not share.

    >>> list(differences({"a": [1, 2.0]}, {"a": [1, 2.5]}))
    ['a.1: stored 2.0, now 2.5']
    """
    if type(stored) is not type(now) or not isinstance(stored, (dict, list)):
        if stored != now:
            yield f"{path}: stored {stored!r}, now {now!r}"
        return
    old, new = _entries(stored), _entries(now)
    for name in [*old, *(name for name in new if name not in old)]:
        yield from differences(old.get(name), new.get(name), path=f"{path}.{name}" if path else name)


def _entries(document: object) -> dict[str, object]:
    """Return the entries of a dict or list by name or position."""
    if isinstance(document, Mapping):
        return {str(name): value for name, value in document.items()}
    return {str(i): value for i, value in enumerate(document)} if isinstance(document, Sequence) else {}
