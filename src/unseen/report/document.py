"""The first step of a report: stored runs -> one plain, JSON-able dict with everything the page shows.

title, finished, version   what the page is called, when the last run ended, which unseen ran it
settings                   one part per setting (data, features, split): see ``setting_part``
commands, versions, machine, failures    for the reader who wants to do it again
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from unseen.benchmark import CALIBRATIONS
from unseen.benchmark.status import failure_line
from unseen.benchmark.store import Store
from unseen.benchmark.summary import summarise
from unseen.benchmark.tables import paper_tables
from unseen.errors import UnseenError
from unseen.methods import describe_method
from unseen.report.figures import explorer, selection_figure, split_figure
from unseen.report.tables import choice_table, fold_table, method_name, result_table

# Segments of curves in the whole page: each is about 50 bytes, and the page has to stay below 6 MB.
_SEGMENTS = 40_000


def make_document(store: Store) -> dict[str, Any]:
    """Return all that the page shows, as described at the top of this module."""
    found = {key: (setting, store.results(key)) for key, setting in store.settings().items()}
    found = {key: part for key, part in found.items() if part[1]}
    if not found:
        raise UnseenError(f"{store.folder} holds no finished run yet. Run: unseen bench --out {store.folder}")
    curves = sum(len({run["method"] for run in runs}) for _, runs in found.values())
    commands = store.commands()
    last = commands[-1] if commands else {}
    names = [setting["name"] for setting, _ in found.values()]
    return {
        "title": " · ".join(names) if len(names) < 4 else f"{len(names)} settings",
        "finished": store.runs()[-1][1],
        "settings": [setting_part(*part, limit=max(100, _SEGMENTS // curves)) for part in found.values()],
        "commands": list(dict.fromkeys("unseen " + _shell(command["arguments"]) for command in commands)),
        "versions": last.get("versions", {}),
        "machine": last.get("machine", {}),
        "failures": [failure_line(failure) for failure in store.failures()],
    }


def setting_part(setting: Mapping[str, Any], runs: Sequence[Mapping[str, Any]], limit: int) -> dict[str, Any]:
    """Return what the page shows of one setting: answer, tables, a part per method, data, splits."""
    summary = summarise(setting, runs)
    methods = summary["methods"]
    first = {name: _first_run(name, runs) for name in methods}
    return {
        "name": setting["name"],
        "answer": answer(methods),
        "methods": [method_part(name, method, first[name], limit) for name, method in methods.items()],
        "tables": [result_table(table) for table in paper_tables(summary)],
        "choices": choice_table(methods),
        "warnings": run_warnings(runs),
        "attribute_error": next(
            (run["attribute_error"] for run in first.values() if run["attribute_error"]), None
        ),
        "data": data_facts(setting),
        "classes": {"names": setting["class_names"], "unseen": setting["unseen"]},
        "folds": fold_table(setting),
        "splits": split_figure(setting),
    }


def _first_run(method: str, runs: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return the run of the smallest seed; of several with that seed the latest, as the tables do."""
    mine = [run for run in runs if run["method"] == method]
    seed = min(run["seed"] for run in mine)
    return [run for run in mine if run["seed"] == seed][-1]


def answer(methods: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the reader came for: the best method and what calibration did to it, and to all."""

    def harmonic(name: str, step: str) -> dict[str, float]:
        return methods[name]["gzsl"][step]["H"]["per_class"]

    before, after = CALIBRATIONS[0], CALIBRATIONS[-1]
    order = sorted(methods, key=lambda name: -harmonic(name, after)["mean"])
    best, point = order[0], methods[order[0]]["gzsl"][after]
    means = {
        step: sum(harmonic(name, step)["mean"] for name in methods) / len(methods) for step in CALIBRATIONS
    }
    return {
        "best": best,
        "name": method_name(best),
        "h": harmonic(best, after),
        "before": harmonic(best, before)["mean"],
        "gain": harmonic(best, after)["mean"] - harmonic(best, before)["mean"],
        "unseen": point["U"]["per_class"]["mean"],
        "seen": point["S"]["per_class"]["mean"],
        "zsl": methods[best]["zsl"]["per_class"]["mean"],
        "runs": len(methods[best]["runs"]),
        "next": method_name(order[1]) if len(order) > 1 else None,
        "next_h": harmonic(order[1], after)["mean"] if len(order) > 1 else None,
        "mean_before": means[before],
        "mean_after": means[after],
    }


def method_part(name: str, method: Mapping[str, Any], run: Mapping[str, Any], limit: int) -> dict[str, Any]:
    """Return what the page shows of one method: the mean of its runs, and its first run in detail."""
    return {
        "id": name,
        "name": method_name(name),
        "color": describe_method(name).color,
        "steps": {step: method["gzsl"][step]["H"]["per_class"] for step in CALIBRATIONS},
        "runs": len(method["runs"]),
        "seed": run["seed"],
        "explorer": explorer(run, limit),
        "selection": selection_figure(run),
        "classes": class_part(run["classes"]),
    }


def class_part(classes: Mapping[str, Any]) -> dict[str, Any]:
    """Return accuracy and confusion of each class, as precise as they are shown."""
    return {
        name: [round(value, 1) if isinstance(value, float) else value for value in values]
        for name, values in classes.items()
    }


def run_warnings(runs: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return what was warned of, each text once with its method."""
    found = (f"{method_name(run['method'])}: {text}" for run in runs for text in run.get("warnings", ()))
    return list(dict.fromkeys(found))


def data_facts(setting: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the description of the data as (name, value) in the order people ask."""
    counts = setting["counts"]
    facts = [
        ("Data", setting["source"]),
        ("Samples", f"{setting['n_samples']:,}"),
        ("Features", f"{setting['n_features']:,} numbers per sample"),
        ("Class descriptions", f"{setting['n_attributes']:,} numbers per class"),
        ("Classes", f"{setting['n_classes']:,}, of which {setting['n_unseen_classes']:,} unseen in training"),
        ("Training samples", f"{counts['train']:,}"),
        ("Test samples", f"{counts['test_seen']:,} of seen, {counts['test_unseen']:,} of unseen classes"),
        ("Split rule", setting["split_rule"]),
        ("Gamma carried over", {"paper": "as the folds gave it"}.get(setting["gamma"], setting["gamma"])),
        ("Split folder", setting["split_dir"]),
        ("Checksums", f"data {setting['checksum']}, split {setting['split_checksum']}"),
    ]
    return [(name, value) for name, value in facts if value]


def _shell(arguments: Sequence[str]) -> str:
    from shlex import join

    return join(arguments)
