"""From runs to one document per experiment: means and standard deviations over the seeds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean, pstdev
from typing import Any, cast

from unseen.benchmark.results import PRINTED, Description, MethodSummary, RunResult, Summary
from unseen.benchmark.store import Run, Store
from unseen.methods import METHODS
from unseen.metrics import AVERAGINGS


def latest_runs(results: Iterable[RunResult]) -> dict[str, list[RunResult]]:
    """Return the runs of each method by seed, methods in the order of the registry.

    If a method ran twice with the same seed (by two versions, or with two grids), the later result counts.
    """
    latest = {(run["method"], run["seed"]): run for run in results}
    known = {name: place for place, name in enumerate(METHODS)}
    by_method: dict[str, list[RunResult]] = {}
    for name, seed in sorted(latest, key=lambda key: (known.get(key[0], len(known)), key)):
        by_method.setdefault(name, []).append(latest[name, seed])
    return by_method


def summarize(description: Description, results: Iterable[RunResult]) -> Summary:
    """Return the document for one experiment from the results of its runs."""
    described = {name: value for name, value in description.items() if name != "class_counts"}
    return {
        "dataset": description["dataset"],
        "experiment": cast(Description, described),
        "methods": {name: _summarize_method(runs) for name, runs in latest_runs(results).items()},
    }


def summarize_store(store: Store, runs: Iterable[Run] | None = None) -> list[Summary]:
    """Return one summary per experiment that has results: of all runs in a store, or of those given."""
    chosen = [run for run, _ in store.runs()] if runs is None else [r for r in runs if store.has(r.key)]
    results: dict[str, list[RunResult]] = {}
    for run in chosen:
        results.setdefault(run.experiment, []).append(store.result(run.key))
    descriptions = store.experiments()
    with store.reading():
        return [summarize(descriptions[key], found) for key, found in results.items()]


def summary_json(document: object) -> object:
    """Return a summary as ``bench --json`` prints it: with the keys ``per_class`` and ``per_sample``."""
    if isinstance(document, list):
        return [summary_json(value) for value in document]
    if not isinstance(document, dict):
        return document
    keys = {averaging: averaging.replace("-", "_") for averaging in AVERAGINGS}
    return {keys.get(key, key): summary_json(value) for key, value in document.items()}


def spread(values: Sequence[Any]) -> Any:
    """Return mean and standard deviation of numbers; of documents, those of every entry.

    >>> spread([1.0, 3.0]), spread([{"H": 1.0}, {"H": 3.0}])
    ({'mean': 2.0, 'std': 1.0}, {'H': {'mean': 2.0, 'std': 1.0}})
    """
    if isinstance(values[0], Mapping):
        return {key: spread([value[key] for value in values]) for key in values[0]}
    return {"mean": fmean(values), "std": pstdev(values)}


def _summarize_method(runs: Sequence[RunResult]) -> MethodSummary:
    first = runs[0]
    printed = [{name: value for name, value in run.items() if name in PRINTED} for run in runs]
    return {
        "zsl": spread([run["zsl"] for run in runs]),
        "gzsl": spread([run["gzsl"] for run in runs]),
        "ausuc": spread([run["ausuc"] for run in runs]),
        "regret": {step: spread([run["regret"][step]["loss"] for run in runs]) for step in first["regret"]},
        "params_zsl": first["params_zsl"],
        "params_gzsl": first["params_gzsl"],
        "gamma": fmean(run["gamma"] for run in runs),
        "seconds": round(sum(run["seconds"]["total"] for run in runs), 3),
        "runs": cast(list[RunResult], printed),
    }
