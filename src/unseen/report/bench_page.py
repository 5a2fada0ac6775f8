"""The page of a bench: stored runs -> one plain document with everything that the page shows."""

from __future__ import annotations

from collections.abc import Sequence
from shlex import join
from statistics import fmean

from unseen.benchmark.formats import method_title, result_table
from unseen.benchmark.intervals import Replicates, resample_classes
from unseen.benchmark.results import LETTERS, STEPS, Description, MethodSummary, RunResult
from unseen.benchmark.store import Store
from unseen.benchmark.summary import latest_runs, summarize
from unseen.benchmark.tables import chance_levels, paper_tables
from unseen.card import format_params
from unseen.errors import UnseenError
from unseen.methods import describe_method
from unseen.plotting import selection_figure
from unseen.report.figures import hardest_classes, make_explorer, split_figure
from unseen.report.page import Document, render

# Segments of curves in the whole page: each is about 50 bytes, and the demo has to stay below 3 MB.
_PAGE_SEGMENTS = 20_000
_MANY = 1000  # classes; of more, the page has fewer segments, because each class takes about 90 bytes


def describe_bench(store: Store) -> Document:
    """Return all that the page shows of a store."""
    stored = [(experiment, store.results(key)) for key, experiment in store.experiments().items()]
    found = [(experiment, runs) for experiment, runs in stored if runs]
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


def render_bench(document: Document) -> str:
    """Return the page as text."""
    names = ("methods", "chance", "attribute_error", "classes", "splits")
    data = [
        {name: part[name] for name in names} | {"copy": [table["copy"] for table in part["tables"]]}
        for part in document["experiments"]
    ]
    return render("report.html", data, document, scripts=["panel.js", "report.js"])


def describe_experiment(experiment: Description, runs: Sequence[RunResult], limit: int) -> Document:
    """Return what the page shows of one experiment, with at most ``limit`` segments per curve."""
    summary = summarize(experiment, runs)
    by_method = latest_runs(runs)
    replicates = resample_classes(by_method, experiment["unseen"])
    described = [
        describe_method_runs(name, method, by_method[name][0], replicates, limit)
        for name, method in summary["methods"].items()
    ]
    ranked = sorted(described, key=lambda method: -method["steps"][STEPS[-1]]["mean"])
    ties = replicates.ties(ranked[0]["id"])
    zsl, gzsl, both = paper_tables(summary)
    warnings = (f"{method_title(run['method'])}: {text}" for run in runs for text in run["warnings"])
    errors = (runs[0]["attribute_error"] for runs in by_method.values())
    held_out = [fold["val"][1] for fold in experiment["folds"] if fold["val"][1]]  # classes
    return {
        "name": experiment["name"],
        "ranked": ranked,  # the best first
        "ties": [method["name"] for method in ranked if method["id"] in ties],
        "chance": {
            "h": chance_levels(experiment)["gzsl"].level,
            "validation": fmean(100 / n for n in held_out) if held_out else None,
        },
        "methods": described,
        "tables": [
            result_table(zsl, replicates),
            result_table(gzsl, replicates, ties),
            result_table(both, replicates),
        ],
        "warnings": list(dict.fromkeys(warnings)),
        "attribute_error": next(filter(None, errors), None),
        "data": describe_data(experiment),
        "classes": {"names": experiment["class_names"], "unseen": experiment["unseen"]},
        "splits": split_figure(experiment),
    }


def describe_method_runs(
    name: str, method: MethodSummary, run: RunResult, replicates: Replicates, limit: int
) -> Document:
    """Return what the page shows of one method; charts are those of its first run."""
    return {
        "id": name,
        "name": method_title(name),
        "color": describe_method(name).color,
        "steps": {step: method["gzsl"][step]["H"]["per-class"] for step in STEPS},
        "accuracies": {letter: method["gzsl"][STEPS[-1]][letter]["per-class"]["mean"] for letter in LETTERS},
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
