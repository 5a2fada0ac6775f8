"""From runs to one document per setting: means and standard deviations over the seeds.

The document is what ``unseen bench --json`` prints::

    {"dataset", "setting": description, "methods": {NAME: {
        "zsl": {"per_class": {"mean", "std"}, "per_sample": ...},
        "gzsl": {"none" | "calibrated" | "calibrated+lambda":
                 {"H" | "U" | "S": {"per_class": ..., "per_sample": ...}}},
        "ausuc": {"per_class": ..., "per_sample": ...},
        "regret": {"calibrated" | "calibrated+lambda": {"mean", "std"}},
        "params_zsl", "params_gzsl" (of the first seed), "gamma" (mean), "seconds" (sum over the seeds),
        "runs": [what each seed gave]}}}

The standard deviation is that of the runs themselves (divided by their number), 0 for a single run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean, pstdev
from typing import Any

from unseen.benchmark.store import Run, Store
from unseen.methods import METHODS

# what a run says about itself in the summary; the rest (curves, classes, ...) stays in the store
_RUN_FIELDS = (
    "seed",
    "version",
    "zsl",
    "gzsl",
    "ausuc",
    "params_zsl",
    "params_gzsl",
    "gamma_zsl",
    "gamma",
    "regret",
    "seconds",
)


def summarise(description: Mapping[str, Any], results: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the document for one setting from the results of its runs (see the module's text).

    Of a method and seed that ran twice (with two versions, or two grids) the later result counts.
    """
    latest = {(run["method"], run["seed"]): run for run in results}
    runs = sorted(latest.values(), key=lambda run: run["seed"])
    names = sorted({run["method"] for run in runs}, key=_paper_order)
    return {
        "dataset": description["dataset"],
        "setting": {k: v for k, v in description.items() if k != "class_counts"},
        "methods": {name: _method([run for run in runs if run["method"] == name]) for name in names},
    }


def summaries(store: Store, runs: Iterable[Run] | None = None) -> list[dict[str, Any]]:
    """Return one document per setting that has results: of all runs in a store, or of those named."""
    chosen = [run for run, _ in store.runs()] if runs is None else [r for r in runs if store.has(r.key)]
    results: dict[str, list[dict[str, Any]]] = {}
    for run in chosen:
        results.setdefault(run.setting, []).append(store.result(run.key))
    settings = store.settings()
    with store.reading():
        return [summarise(settings[key], found) for key, found in results.items()]


def spread(values: Sequence[float]) -> dict[str, float]:
    """Return {"mean", "std"}.

    >>> spread([1.0, 3.0])
    {'mean': 2.0, 'std': 1.0}
    """
    return {"mean": fmean(values), "std": pstdev(values)}


def _method(runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    first = runs[0]
    return {
        **{part: _spread_tree([run[part] for run in runs]) for part in ("zsl", "gzsl", "ausuc")},
        "regret": {name: spread([run["regret"][name]["loss"] for run in runs]) for name in first["regret"]},
        "params_zsl": first["params_zsl"],
        "params_gzsl": first["params_gzsl"],
        "gamma": fmean(run["gamma"] for run in runs),
        "seconds": round(sum(run["seconds"]["total"] for run in runs), 3),
        "runs": [{field: run[field] for field in _RUN_FIELDS} for run in runs],
    }


def _spread_tree(trees: Sequence[Any]) -> dict[str, Any]:
    """Replace the numbers of equally built trees by their mean and standard deviation."""
    if isinstance(trees[0], Mapping):
        return {key: _spread_tree([tree[key] for tree in trees]) for key in trees[0]}
    return spread(trees)


def _paper_order(name: str) -> tuple[int, str]:
    known = list(METHODS)
    return (known.index(name) if name in METHODS else len(known), name)
