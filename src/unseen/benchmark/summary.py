"""From runs to one document per experiment: means and standard deviations over the seeds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean, pstdev
from typing import cast

from unseen.benchmark.results import STEPS, Description, MethodSummary, RunResult, RunSummary, Spread, Summary
from unseen.benchmark.store import Run, Store
from unseen.methods import METHODS
from unseen.metrics import AVERAGINGS, Averaging


def summarize(description: Description, results: Iterable[RunResult]) -> Summary:
    """Return the document for one experiment from the results of its runs.

    If a method ran twice with the same seed (by two versions, or with two grids), the later result counts.
    """
    latest = {(run["method"], run["seed"]): run for run in results}
    runs = sorted(latest.values(), key=lambda run: run["seed"])
    names = sorted({run["method"] for run in runs}, key=_registry_order)
    described = {name: value for name, value in description.items() if name != "class_counts"}
    return {
        "dataset": description["dataset"],
        "experiment": cast(Description, described),
        "methods": {
            name: _summarize_method([run for run in runs if run["method"] == name]) for name in names
        },
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


def spread(values: Sequence[float]) -> Spread:
    """Return mean and standard deviation.

    >>> spread([1.0, 3.0])
    {'mean': 2.0, 'std': 1.0}
    """
    return {"mean": fmean(values), "std": pstdev(values)}


def _summarize_method(runs: Sequence[RunResult]) -> MethodSummary:
    first = runs[0]
    return {
        "zsl": _spreads([run["zsl"] for run in runs]),
        "gzsl": {
            step: {
                letter: _spreads([run["gzsl"][step][letter] for run in runs])
                for letter in first["gzsl"][step]
            }
            for step in STEPS
        },
        "ausuc": _spreads([run["ausuc"] for run in runs]),
        "regret": {step: spread([run["regret"][step]["loss"] for run in runs]) for step in first["regret"]},
        "params_zsl": first["params_zsl"],
        "params_gzsl": first["params_gzsl"],
        "gamma": fmean(run["gamma"] for run in runs),
        "seconds": round(sum(run["seconds"]["total"] for run in runs), 3),
        "runs": [_summarize_run(run) for run in runs],
    }


def _spreads(values: Sequence[dict[Averaging, float]]) -> dict[Averaging, Spread]:
    return {averaging: spread([value[averaging] for value in values]) for averaging in AVERAGINGS}


def _summarize_run(run: RunResult) -> RunSummary:
    kept = {name: value for name, value in run.items() if name in RunSummary.__annotations__}
    return cast(RunSummary, kept)


def _registry_order(name: str) -> tuple[int, str]:
    known = list(METHODS)
    return (known.index(name) if name in METHODS else len(known), name)
