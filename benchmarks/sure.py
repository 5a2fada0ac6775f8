"""How sure and how right answers are on test, and how well samples of no described class are detected.

Every case is one fit on a data set with its own choice of unseen classes. Temperature, score and thresholds
come from held-out training samples; test samples only measure. For unknown classes half of the unseen classes
is left out of the descriptions, and a second model is fitted without them; its parameters are those of the
first, which do not depend on unseen classes. ``python -m benchmarks.sure --out FILE`` runs what the data at
hand allows, resumes an interrupted run, and prints both tables; ``--methods`` and ``--data`` choose others.
By default the choices of typeface letters and the official ones of birds are measured with all methods, and
the others with the three that have the best H.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from benchmarks import Row
from benchmarks._cases import Case, data_folder, measure_all
from unseen import GZSLClassifierCV
from unseen._core.blocks import FloatArray
from unseen._core.labels import KINDS
from unseen.datasets import ZeroShotDataset
from unseen.datasets.splits import GZSLSplit, make_split
from unseen.methods import METHODS, make_method
from unseen.metrics import Reliability, auroc, false_positive_rate, reliability

LEARNED = [name for name, row in METHODS.items() if not row.shared_space]
REJECT = 0.05
GOAL = (0.05, 0.08)  # ECE of seen and of unseen samples, at most; of all cases pooled
FIRST = 100  # seeds below, and from 1000 on, were looked at while temperature and rejection were designed


def all_cases() -> Iterator[Case]:
    """Yield every case that the data at hand allows."""
    yield Case("letters", "letters")
    yield from random_letters("letters, random", "letters")
    folder = data_folder()
    if folder is None:
        return
    letters = str(folder / "letters_handwritten.npz")
    yield from random_letters("handwritten, random", letters, ("lda", "eszsl", "sync"))
    cub = str(folder / "xlsa17" / "CUB")
    yield Case("CUB clip_b16", cub, "clip_b16")
    yield Case("CUB res50", cub, "res50")
    for features, methods in (("clip_b16", ("lda", "sync", "sje")), ("res50", ("lda", "ale", "sync"))):
        for seed in range(FIRST, FIRST + 3):
            yield Case(f"CUB {features}, random", cub, features, None, seed, 50, methods)


def random_letters(group: str, source: str, methods: tuple[str, ...] = (), n: int = 20) -> Iterator[Case]:
    """Yield choices of six unseen letters."""
    for seed in range(FIRST, FIRST + n):
        yield Case(group, source, seed=seed, n_unseen=6, methods=methods)


def measure(case: Case, method: str) -> dict[str, Any]:
    """Return calibration errors before and after, and how well unknown classes are detected."""
    data = case.load()
    if case.seed is not None:  # other seen test samples too: typefaces of other families
        data = replace(data, test_seen=None)
    split = make_split(data, random_state=case.seed or 0)
    model = GZSLClassifierCV(make_method(method, data.prototypes, 0), cv=split.cv())
    model.fit(data.X[split.train], data.y[split.train], groups=groups_of(data, split))
    return {
        "group": case.group,
        "seed": case.seed,
        "method": method,
        "temperature": model.temperature_,
        "seen": measure_sure(model, data, split.test_seen),
        "unseen": measure_sure(model, data, split.test_unseen),
        "validation": model.held_out_.rejection.auroc if model.held_out_.rejection else None,
        "unknown": measure_unknown(model, data, split),
    }


def groups_of(data: ZeroShotDataset, split: GZSLSplit) -> NDArray[Any] | None:
    """Return the groups of the training samples, such as typefaces of one family, where there are any."""
    return None if data.groups is None else data.groups[split.train]


# ---- how sure ------------------------------------------------------------------------------------------


def measure_sure(model: GZSLClassifierCV, data: ZeroShotDataset, test: Any) -> dict[str, Any]:
    """Return bins, ECE and NLL of test samples with temperature 1 and with the chosen one."""
    scores, y = model.similarity(data.X[test]).astype(np.float64), data.y[test]
    found: dict[str, Any] = {}
    for name, temperature in (("before", 1.0), ("after", model.temperature_)):
        log_p = log_softmax(scores / temperature, axis=1)
        sure = np.exp(log_p.max(axis=1))
        bins = reliability(sure, scores.argmax(axis=1) == y)
        found[name] = {
            "ece": bins.ece,
            "chance": chance_error(sure),
            "nll": float(-log_p[np.arange(len(y)), y].mean()),
            "bins": [bins.samples.tolist(), bins.confidence.tolist(), bins.accuracy.tolist()],
        }
    return found


def chance_error(sure: FloatArray, draws: int = 200) -> float:
    """Return the mean ECE of answers that are right exactly as often as they are sure: chance alone."""
    rng = np.random.default_rng(0)
    return float(np.mean([reliability(sure, rng.random(len(sure)) < sure).ece for _ in range(draws)]))


def pooled(rows: Iterable[dict[str, Any]], kind: str, when: str) -> float:
    """Return the ECE of the test samples of several cases together: luck with few classes averages out."""
    parts = [np.array(row[kind][when]["bins"]) for row in rows]  # (3, bins) each
    samples = np.sum([part[0] for part in parts], axis=0)
    sums = [np.sum([part[0] * part[k] for part in parts], axis=0) / np.maximum(samples, 1) for k in (1, 2)]
    return Reliability(samples.astype(np.intp), *sums).ece


# ---- none of these -------------------------------------------------------------------------------------


def measure_unknown(model: GZSLClassifierCV, data: ZeroShotDataset, split: GZSLSplit) -> dict[str, Any]:
    """Leave half of the unseen classes undescribed; return how well their samples are detected."""
    left_out = np.flatnonzero(data.unseen)[::2]
    described = np.setdiff1d(np.arange(len(data.class_names)), left_out)
    place = np.full(len(data.class_names), -1)
    place[described] = np.arange(len(described))
    known = replace_prototypes(model, data.prototypes[described], split)
    known.fit(data.X[split.train], place[data.y[split.train]], groups=groups_of(data, split))
    test = np.concatenate([split.test_seen, split.test_unseen])
    outside = np.isin(data.y[test], left_out)
    sure = known.predict_proba(data.X[test]).max(axis=1)
    rejected = sure < known.rejection_threshold(REJECT)
    described_kinds = (data.seen[data.y[test]], data.unseen[data.y[test]] & ~outside)
    return {
        "auroc": auroc(sure[~outside], sure[outside]),
        "fpr": false_positive_rate(sure[~outside], sure[outside]),
        # both kinds of known classes count the same, as they do for the threshold
        "rejected": [float(rejected[outside].mean()), np.mean([rejected[k].mean() for k in described_kinds])],
    }


def replace_prototypes(model: GZSLClassifierCV, prototypes: FloatArray, split: GZSLSplit) -> GZSLClassifierCV:
    """Return an unfitted search with the parameters of a fitted one, for other descriptions."""
    estimator = type(model.estimator_)(**{**model.estimator_.get_params(), "prototypes": prototypes})
    grid = {name: [value] for name, value in model.best_params_.items()}
    return GZSLClassifierCV(estimator, grid, cv=split.cv())


# ---- running and printing --------------------------------------------------------------------------------


def by_group(rows: list[dict[str, Any]]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield the rows of each data set and method, with its name."""
    for group, method in dict.fromkeys((row["group"], row["method"]) for row in rows):
        chosen = [row for row in rows if (row["group"], row["method"]) == (group, method)]
        yield f"{group} ({len(chosen)}) | {method}", chosen


def sure_table(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Yield a Markdown table: ECE and NLL of seen and unseen test samples, before → after."""
    yield (
        "| data (cases) | method | ECE, seen | unseen | by chance, seen | unseen | pooled, seen | unseen "
        "| goal | NLL, seen | unseen |"
    )
    yield "|---|---|" + "---:|" * 9
    for name, chosen in by_group(rows):
        cells = [_change(chosen, kind, "ece") for kind in KINDS]
        cells += [f"{np.mean([row[kind]['after']['chance'] for row in chosen]):.3f}" for kind in KINDS]
        errors = [pooled(chosen, kind, "after") for kind in KINDS]
        cells += [f"{error:.3f}" if len(chosen) > 1 else "" for error in errors]
        cells.append("met" if all(error <= most for error, most in zip(errors, GOAL)) else "missed")
        cells += [_change(chosen, kind, "nll") for kind in KINDS]
        yield f"| {name} | " + " | ".join(cells) + " |"


def _change(rows: list[dict[str, Any]], kind: str, what: str) -> str:
    before, after = (np.mean([row[kind][when][what] for row in rows]) for when in ("before", "after"))
    digits = 3 if what == "ece" else 2
    return f"{before:.{digits}f} → {after:.{digits}f}"


def unknown_table(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Yield a Markdown table: AUROC and FPR at 95 %, and what ``reject=0.05`` rejects."""
    yield "| data (cases) | method | AUROC | FPR | AUROC in rehearsals | rejected: unknown, known |"
    yield "|---|---|" + "---:|" * 4
    for name, chosen in by_group(rows):
        cells = [f"{np.mean([row['unknown'][what] for row in chosen]):.2f}" for what in ("auroc", "fpr")]
        cells.append(f"{np.mean([row['validation'] for row in chosen]):.2f}")
        unknown, known = np.mean([row["unknown"]["rejected"] for row in chosen], axis=0)
        yield f"| {name} | " + " | ".join([*cells, f"{100 * unknown:.0f} %, {100 * known:.1f} %"]) + " |"


def run(small: bool = False) -> list[Row]:
    """Return rows (name, value, unit, demanded) for the embedded letters."""
    cases = random_letters("letters, random", "letters", n=1 if small else 5)
    rows = [measure(case, "lda") for case in cases]
    return [
        (f"ECE of {kind} samples, LDA", pooled(rows, kind, "after"), "", "" if small else f"<= {most}")
        for kind, most in zip(KINDS, GOAL)
    ]


def main() -> None:
    """Measure, and print both tables."""
    rows = measure_all(__doc__, Path("runs/sure.jsonl"), LEARNED, all_cases(), measure)
    groups = list(dict.fromkeys(case.group for case in all_cases()))
    rows.sort(key=lambda row: (groups.index(row["group"]), LEARNED.index(row["method"])))
    print("\n".join([*sure_table(rows), "", *unknown_table(rows)]))


if __name__ == "__main__":
    main()
