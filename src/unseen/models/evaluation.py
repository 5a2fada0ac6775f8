"""How good a fitted model is on labeled data: U, S, H, and which classes it takes for which."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np

from unseen._core.blocks import BoolArray, IndexArray
from unseen._core.labels import LabelArray, distinct_labels, label_positions
from unseen._core.rows import choose_rows
from unseen.datasets import ZeroShotDataset, load
from unseen.datasets.features import check_same_encoder
from unseen.errors import UnseenError
from unseen.metrics import accuracy, auroc, false_positive_rate, harmonic_mean
from unseen.models.io import Model
from unseen.models.prediction import check_width
from unseen.selection.rejection import Rejection
from unseen.selection.search import GZSLClassifierCV

HARDEST = 10  # classes whose confusions are shown
REJECT = 0.05  # share of known samples that the threshold for unknown ones gives up


@dataclass(frozen=True)
class Accuracy:
    """One accuracy, or harmonic mean of two, in percent, with both ways of averaging."""

    per_class: float
    per_sample: float


@dataclass(frozen=True)
class ClassResult:
    """The answers for the samples of one class."""

    name: str
    kind: str  # "seen" or "unseen"
    samples: int
    accuracy: float  # percent
    taken_for: Mapping[str, int]  # wrong answers, the most frequent first


@dataclass(frozen=True)
class Unknown:
    """How well samples of classes that the model does not know are detected."""

    classes: tuple[str, ...]
    samples: int
    auroc: float  # 0 to 1
    fpr95: float  # 0 to 1, unknown samples above the threshold that 95 % of the known ones reach
    rejected: float  # percent of the unknown samples that predict(X, reject=0.05) rejects
    rejected_known: float  # percent of the known samples, expected 5


@dataclass(frozen=True)
class Evaluation:
    """What ``evaluate`` found; None for an accuracy that has no samples."""

    data: str
    unseen: Accuracy | None
    seen: Accuracy | None
    harmonic: Accuracy | None
    classes: tuple[ClassResult, ...]  # those with samples, in the order of the model
    notes: tuple[str, ...] = ()
    unknown: Unknown | None = None  # where labels are outside of the model

    def hardest(self, most: int = HARDEST) -> list[ClassResult]:
        """Return the classes with the lowest accuracies, without those that are always right."""
        wrong = [result for result in self.classes if result.taken_for]
        return sorted(wrong, key=lambda result: result.accuracy)[:most]

    def samples(self, kind: str) -> int:
        """Return the number of samples of the seen or of the unseen classes."""
        return sum(result.samples for result in self.classes if result.kind == kind)

    def as_json(self) -> dict[str, Any]:
        """Return JSON values."""
        return {
            "data": self.data,
            "samples": {kind: self.samples(kind) for kind in ("seen", "unseen")},
            **{
                name: None if value is None else vars(value)
                for name, value in (("U", self.unseen), ("S", self.seen), ("H", self.harmonic))
            },
            "classes": [
                {"class": r.name, "kind": r.kind, "samples": r.samples, "accuracy": r.accuracy}
                for r in self.classes
            ],
            "confusion": [
                {"class": r.name, "kind": r.kind, "accuracy": r.accuracy, "taken_for": dict(r.taken_for)}
                for r in self.hardest()
            ],
            **(
                {"unknown": {**vars(self.unknown), "classes": list(self.unknown.classes)}}
                if self.unknown
                else {}
            ),
            "notes": list(self.notes),
        }


def evaluation_data(
    source: str | PathLike[str], features: str = "res101", split_dir: str | PathLike[str] | None = None
) -> ZeroShotDataset:
    """Return labeled data by name or path; class descriptions are not needed, the model has them."""
    data = load(source, features=features, split_dir=split_dir, require_features=False)
    if data.X is None or data.y is None:
        raise UnseenError(data.missing[0])
    return data


def evaluate(model: Model, data: ZeroShotDataset, card: Mapping[str, Any] | None = None) -> Evaluation:
    """Return how good a model is on labeled data; it predicts among all of its classes.

    If the data set has a seen test set, its test samples are used; otherwise all samples.

    Parameters
    ----------
    model : fitted method or fitted GZSLClassifierCV
    data : ZeroShotDataset
        With features and labels. Samples of classes that the model does not know count as unknown: the
        result says how well the model detects them. It needs a GZSLClassifierCV for that.
    card : mapping, optional
        The model's card: with it, a note warns if the model may have been trained on this data.

    Examples
    --------
    >>> from unseen.datasets import load
    >>> from unseen.models.training import train
    >>> digits = load("digits")
    >>> model, card = train(digits, "linear-sv")
    >>> [result.name for result in evaluate(model, digits).classes if result.kind == "unseen"]
    ['3', '4', '6']
    """
    check_same_encoder(data.encoder, (card or {}).get("encoder"), data.name)
    check_width(model, data.X.shape[1], data.name)
    names = np.array(data.class_names)[data.y].astype(str)
    rows = _test_samples(data)
    if not len(rows):
        raise UnseenError(f"{data.name} holds no samples.")
    classes = np.asarray(model.classes_).astype(str)
    outside = ~np.isin(names[rows], classes)
    unknown = None
    if outside.any() and not outside.all() and isinstance(model, GZSLClassifierCV) and model.rejection_:
        unknown = _tell_unknown(model, model.rejection_, data.X, names, rows, outside)
        rows = rows[~outside]
    y = label_positions(names[rows], classes, data.name, "the model does not know (unseen add-class adds it)")
    predicted = label_positions(
        np.asarray(model.predict(choose_rows(data.X, rows))).astype(str), classes, "the model"
    )
    unseen = _accuracy(y, predicted, ~model.seen_)
    seen = _accuracy(y, predicted, model.seen_)
    return Evaluation(
        data=data.name,
        unseen=unseen,
        seen=seen,
        harmonic=_harmonic(unseen, seen),
        classes=tuple(_class_results(y, predicted, classes.tolist(), model.seen_)),
        notes=tuple(_notes(data, card or {})),
        unknown=unknown,
    )


def _tell_unknown(
    model: GZSLClassifierCV,
    rejection: Rejection,
    X: Any,
    names: LabelArray,
    rows: IndexArray,
    outside: BoolArray,
) -> Unknown:
    """Return how well samples of unknown classes, marked in (rows,) bool, are detected."""
    familiar = model.familiarity(choose_rows(X, rows))
    known, unknown = familiar[~outside], familiar[outside]
    threshold = rejection.threshold(REJECT)
    return Unknown(
        classes=tuple(distinct_labels(names[rows[outside]]).tolist()),
        samples=int(outside.sum()),
        auroc=auroc(known, unknown),
        fpr95=false_positive_rate(known, unknown, 1 - REJECT),
        rejected=float(100 * np.mean(unknown < threshold)),
        rejected_known=float(100 * np.mean(known < threshold)),
    )


def _test_samples(data: ZeroShotDataset) -> IndexArray:
    if data.test_seen is None:
        return np.arange(len(data.y))
    test_unseen = np.flatnonzero(data.unseen[data.y]) if data.test_unseen is None else data.test_unseen
    return np.sort(np.concatenate([data.test_seen, test_unseen]))


def _accuracy(y: IndexArray, predicted: IndexArray, of: BoolArray) -> Accuracy | None:
    """Return the accuracy on the samples of some classes, (classes,) bool."""
    chosen = of[y]
    if not chosen.any():
        return None
    return Accuracy(
        accuracy(y[chosen], predicted[chosen]), accuracy(y[chosen], predicted[chosen], "per-sample")
    )


def _harmonic(unseen: Accuracy | None, seen: Accuracy | None) -> Accuracy | None:
    if unseen is None or seen is None:
        return None
    return Accuracy(
        harmonic_mean(unseen.per_class, seen.per_class), harmonic_mean(unseen.per_sample, seen.per_sample)
    )


def _class_results(
    y: IndexArray, predicted: IndexArray, names: Sequence[str], seen: BoolArray
) -> list[ClassResult]:
    results = []
    for label in np.unique(y):
        answers = np.bincount(predicted[y == label], minlength=len(names))  # (classes,)
        total, right = int(answers.sum()), int(answers[label])
        answers[label] = 0
        order = np.argsort(-answers, kind="stable")[: np.count_nonzero(answers)]
        taken_for = {names[other]: int(answers[other]) for other in order}
        kind = "seen" if seen[label] else "unseen"
        results.append(ClassResult(names[label], kind, total, 100 * right / total, taken_for))
    return results


def _notes(data: ZeroShotDataset, card: Mapping[str, Any]) -> list[str]:
    same = data.name == card.get("data")
    if data.test_seen is None and same:
        return [
            f"the model was fitted on data called {data.name!r}, which has no seen test set. If it was "
            "trained on these samples, S and H are too high: evaluate on other samples, or set some "
            "apart (test_seen)."
        ]
    return []


# ---- text ---------------------------------------------------------------------------------------------


def format_evaluation(found: Evaluation) -> str:
    """Return an evaluation as text for a terminal."""
    kinds = ("seen", "unseen")
    counts = [f"{found.samples(kind)} of {_n_classes(found, kind)} {kind} classes" for kind in kinds]
    numbers = {
        "accuracy, unseen": found.unseen,
        "accuracy, seen": found.seen,
        "harmonic mean": found.harmonic,
    }
    lines = [
        f"samples           {', '.join(counts)}",
        f"{'':<17} {'per class':>11} {'per sample':>11}",
        *(f"{name:<17} {_percent(value)}" for name, value in numbers.items()),
    ]
    lines += _unknown_lines(found.unknown) if found.unknown else []
    hardest = found.hardest()
    if hardest:
        lines += ["", "Hardest classes", *(_class_line(result) for result in hardest)]
    return "\n".join(lines)


def _unknown_lines(unknown: Unknown) -> list[str]:
    names = ", ".join(unknown.classes[:6]) + (", ..." if len(unknown.classes) > 6 else "")
    return [
        "",
        f"{unknown.samples} samples of {len(unknown.classes)} classes that the model does not know: {names}",
        f"AUROC             {unknown.auroc:.3f}, false positive rate at 95 %: {unknown.fpr95:.3f}",
        f"--reject {REJECT:<8} rejects {unknown.rejected:.1f} % of them and "
        f"{unknown.rejected_known:.1f} % of the others",
    ]


def _n_classes(found: Evaluation, kind: str) -> int:
    return sum(result.kind == kind for result in found.classes)


def _percent(value: Accuracy | None) -> str:
    return "no samples" if value is None else f"{value.per_class:>9.1f} % {value.per_sample:>9.1f} %"


def _class_line(result: ClassResult) -> str:
    first = [f"{name} ({count})" for name, count in list(result.taken_for.items())[:3]]
    return f"- {result.name} ({result.kind}): {result.accuracy:.1f} %, taken for {', '.join(first)}"
