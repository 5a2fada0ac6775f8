"""The page of a bench: stored runs -> one plain document with everything that the page shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from shlex import join
from statistics import fmean

from unseen.benchmark.intervals import Replicates, resample_classes
from unseen.benchmark.results import STEPS, Description, MethodSummary, RunResult, Spread, Step
from unseen.benchmark.store import Store
from unseen.benchmark.summary import latest_runs, summarize
from unseen.benchmark.tables import chance_levels, paper_tables
from unseen.errors import UnseenError
from unseen.methods import describe_method
from unseen.plotting import selection_figure
from unseen.report.bench_tables import format_params, method_title, result_table
from unseen.report.figures import hardest_classes, make_explorer, split_figure
from unseen.report.page import Part, render

# Segments of curves in the whole page: each is about 50 bytes, and the demo has to stay below 3 MB.
_PAGE_SEGMENTS = 20_000
_MANY = 1000  # classes; of more, the page has fewer segments, because each class takes about 90 bytes


def describe_bench(store: Store) -> Part:
    """Return all that the page shows of a store."""
    stored = {key: (experiment, store.results(key)) for key, experiment in store.experiments().items()}
    found = [part for part in stored.values() if part[1]]
    if not found:
        raise UnseenError(f"{store.folder} holds no finished run yet. Run: unseen bench --out {store.folder}")
    curves = sum(len({run["method"] for run in runs}) for _, runs in found)
    most_classes = max(len(experiment["class_names"]) for experiment, _ in found)
    segments = _PAGE_SEGMENTS * _MANY // max(_MANY, most_classes)
    commands = store.commands()
    names = [experiment["name"] for experiment, _ in found]
    return {
        "title": " · ".join(names) if len(names) < 4 else f"{len(names)} experiments",
        "finished": store.runs()[-1][1],
        "experiments": [describe_experiment(*part, limit=max(100, segments // curves)) for part in found],
        "commands": list(dict.fromkeys("unseen " + join(command["arguments"]) for command in commands)),
        "versions": commands[-1]["versions"] if commands else {},
        "machine": commands[-1]["machine"] if commands else {},
        "failures": [str(failure) for failure in store.failures()],
    }


def render_bench(document: Part) -> str:
    """Return the page as text."""
    names = ("methods", "chance", "attribute_error", "classes", "splits")
    data = [
        {name: part[name] for name in names} | {"copy": [table["copy"] for table in part["tables"]]}
        for part in document["experiments"]
    ]
    return render("report.html", data, document, scripts=["panel.js", "report.js"])


def describe_experiment(experiment: Description, runs: Sequence[RunResult], limit: int) -> Part:
    """Return what the page shows of one experiment, with at most ``limit`` segments per curve."""
    summary = summarize(experiment, runs)
    methods = summary["methods"]
    by_method = latest_runs(runs)
    replicates = resample_classes(by_method, experiment["unseen"])
    best = describe_answer(methods, replicates)
    zsl, gzsl, both = paper_tables(summary)
    warnings = (f"{method_title(run['method'])}: {text}" for run in runs for text in run["warnings"])
    errors = (runs[0]["attribute_error"] for runs in by_method.values())
    return {
        "name": experiment["name"],
        "answer": best,
        "chance": describe_chance(experiment),
        "methods": [
            describe_method_runs(name, method, by_method[name][0], replicates, limit)
            for name, method in methods.items()
        ],
        "tables": [
            result_table(zsl, replicates),
            result_table(gzsl, replicates, best["ties"]),
            result_table(both, replicates),
        ],
        "warnings": list(dict.fromkeys(warnings)),
        "attribute_error": next(filter(None, errors), None),
        "data": describe_data(experiment),
        "classes": {"names": experiment["class_names"], "unseen": experiment["unseen"]},
        "splits": split_figure(experiment),
    }


def describe_answer(methods: Mapping[str, MethodSummary], replicates: Replicates) -> Part:
    """Return the best method, those that cannot be distinguished from it, and what calibration gained."""

    def harmonic(name: str, step: Step) -> Spread:
        return methods[name]["gzsl"][step]["H"]["per-class"]

    before, after = STEPS[0], STEPS[-1]
    order = sorted(methods, key=lambda name: -harmonic(name, after)["mean"])
    best, point = order[0], methods[order[0]]["gzsl"][after]
    return {
        "best": best,
        "name": method_title(best),
        "ties": (ties := replicates.ties(best)),
        "tie_names": [method_title(name) for name in order if name in ties],
        "interval": replicates.interval(best, after),
        "h": harmonic(best, after),
        "before": harmonic(best, before)["mean"],
        "gain": harmonic(best, after)["mean"] - harmonic(best, before)["mean"],
        "unseen": point["U"]["per-class"]["mean"],
        "seen": point["S"]["per-class"]["mean"],
        "next": method_title(order[1]) if len(order) > 1 else None,
        "next_h": harmonic(order[1], after)["mean"] if len(order) > 1 else None,
        "mean_before": fmean(harmonic(name, before)["mean"] for name in methods),
        "mean_after": fmean(harmonic(name, after)["mean"] for name in methods),
    }


def describe_chance(experiment: Description) -> Part:
    """Return the level of guessing in every chart."""
    held_out = [fold["val"][1] for fold in experiment["folds"] if fold["val"][1]]
    validation = fmean(100 / n for n in held_out) if held_out else None
    return {"h": chance_levels(experiment)["gzsl"].level, "validation": validation}


def describe_method_runs(
    name: str, method: MethodSummary, run: RunResult, replicates: Replicates, limit: int
) -> Part:
    """Return what the page shows of one method; charts are those of its first run."""
    return {
        "id": name,
        "name": method_title(name),
        "color": describe_method(name).color,
        "steps": {step: method["gzsl"][step]["H"]["per-class"] for step in STEPS},
        "interval": replicates.interval(name, STEPS[-1]),
        "runs": len(method["runs"]),
        "seed": run["seed"],
        "explorer": make_explorer(run, limit),
        "params": {"zsl": format_params(run["params_zsl"]), "gzsl": format_params(run["params_gzsl"])},
        "gamma": {"zsl": f"{run['gamma_zsl']:.4g}", "gzsl": f"{run['gamma']:.4g}"},
        "regret": method["regret"]["calibrated+lambda"]["mean"],
        "seconds": method["seconds"] / len(method["runs"]),
        "selection": selection_figure(run),
        "reliability": run["reliability"],
        "classes": {name: value for name, value in run["classes"].items() if name != "mistakes"},
        "hardest": hardest_classes(run["classes"]),
    }


def describe_data(experiment: Description) -> list[tuple[str, str]]:
    """Return the description of the data as (name, value) in the order people ask."""
    counts, n_unseen = experiment["counts"], experiment["n_unseen_classes"]
    features = f"{experiment['features'] or 'as given'}, {experiment['n_features']:,} numbers per sample"
    facts = {
        "Data": experiment["source"],
        "Samples": f"{experiment['n_samples']:,}",
        "Features": features,
        "Class descriptions": f"{experiment['n_attributes']:,} numbers per class",
        "Classes": f"{experiment['n_classes']:,}, of which {n_unseen:,} unseen in training",
        "Training samples": f"{counts['train']:,}",
        "Test samples": f"{counts['test_seen']:,} of seen, {counts['test_unseen']:,} of unseen classes",
        "Split rule": experiment["split_rule"],
        "Rule for gamma": experiment["gamma"],
        "Split folder": experiment["split_dir"],
        "Checksum of the data": experiment["checksum"],
        "Checksum of the split": experiment["split_checksum"],
    }
    return [(name, value) for name, value in facts.items() if value]
