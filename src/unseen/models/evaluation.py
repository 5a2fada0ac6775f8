"""How good a fitted model is on labeled data: U, S, H, and which classes it takes for which."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from unseen._core.blocks import BoolArray, IndexArray
from unseen._core.labels import KINDS, LabelArray, distinct_labels, label_positions, shortened
from unseen._core.rows import choose_rows
from unseen._core.taxonomy import CONFIDENCE, Taxonomy
from unseen.calibration.prediction import Prediction
from unseen.datasets import ZeroShotDataset, load_dataset
from unseen.datasets.features import check_same_encoder
from unseen.datasets.tables import find_features
from unseen.errors import UnseenError
from unseen.metrics import AVERAGINGS, accuracy, auroc, false_positive_rate, frequent_mistakes, harmonic_mean
from unseen.models.levels import LevelResult, evaluate_levels, format_levels
from unseen.models.prediction import check_width, feature_names, matched_features
from unseen.models.predictor import facts_of

if TYPE_CHECKING:
    from unseen.models.prediction import AnyModel

HARDEST = 10  # classes whose confusions are shown
REJECT = 0.05  # share of known samples that the threshold for unknown ones gives up


@dataclass(frozen=True)
class Accuracy:
    """One accuracy, or harmonic mean of two, in percent, with both ways of averaging."""

    per_class: float
    per_sample: float


@dataclass(frozen=True)
class ClassResult:
    """The predictions for the samples of one class."""

    name: str
    kind: str  # "seen" or "unseen"
    samples: int
    accuracy: float  # percent
    taken_for: Mapping[str, int]  # wrong predictions, the most frequent first


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
    unknown: Unknown | None = None  # if labels are outside of the model
    levels: tuple[LevelResult, ...] = ()  # of the taxonomy, if there is one
    confidence: float = CONFIDENCE  # of the predictions at these levels

    def hardest(self, most: int = HARDEST) -> list[ClassResult]:
        """Return the classes with the lowest accuracies, without those that are always right."""
        wrong = [result for result in self.classes if result.taken_for]
        return sorted(wrong, key=lambda result: result.accuracy)[:most]

    def samples(self, kind: str) -> int:
        """Return the number of samples of the seen or of the unseen classes."""
        return sum(result.samples for result in self.classes if result.kind == kind)

    def to_json(self) -> dict[str, Any]:
        """Return JSON values."""
        accuracies = {"U": self.unseen, "S": self.seen, "H": self.harmonic}
        further: dict[str, Any] = {"unknown": vars(self.unknown)} if self.unknown else {}
        if self.levels:
            further |= {"confidence": self.confidence, "levels": [vars(level) for level in self.levels]}
        return {
            "data": self.data,
            "samples": {kind: self.samples(kind) for kind in KINDS},
            **{name: None if value is None else vars(value) for name, value in accuracies.items()},
            "classes": [
                {"class": r.name, "kind": r.kind, "samples": r.samples, "accuracy": r.accuracy}
                for r in self.classes
            ],
            "confusion": [
                {"class": r.name, "kind": r.kind, "accuracy": r.accuracy, "taken_for": dict(r.taken_for)}
                for r in self.hardest()
            ],
            **further,
            "notes": list(self.notes),
        }


def evaluation_data(source: str | PathLike[str], model: AnyModel, **reading: Any) -> ZeroShotDataset:
    """Return labeled data by name or path, with the features of the model, which has the descriptions.

    ``reading`` holds options of ``load_dataset``, such as ``label``.
    """
    data = load_dataset(source, require_features=False, **reading)
    if data.X is None or data.y is None:
        raise UnseenError(data.missing[0])
    return match_features(model, data)


def evaluate(
    model: AnyModel, data: ZeroShotDataset, *, taxonomy: Any = None, confidence: float = CONFIDENCE
) -> Evaluation:
    """Return how good a model is on labeled data; it predicts among all of its classes.

    If the data set has a seen test set, its test samples are used; otherwise all samples. A note warns if the
    model may have been trained on them.

    Parameters
    ----------
    model : fitted method or fitted GZSLClassifierCV
    data : ZeroShotDataset
        With features and labels. Samples of classes that the model does not know count as unknown: the
        result says how well the model detects them. It needs a GZSLClassifierCV for that.
    taxonomy : path of a CSV file, DataFrame or mapping, optional
        As in ``GZSLClassifierCV.predict``: the result has a part for every level.
    confidence : float
        Of the predictions at these levels.

    Examples
    --------
    >>> from unseen.datasets import load_dataset
    >>> from unseen.models.training import train
    >>> digits = load_dataset("digits")
    >>> model, card = train(digits, "linear-sv")
    >>> [result.name for result in evaluate(model, digits).classes if result.kind == "unseen"]
    ['3', '4', '6']
    """
    groups = None if taxonomy is None else Taxonomy.from_table(taxonomy, model.classes_)
    facts = facts_of(model)
    check_same_encoder(data.encoder, facts.get("encoder"), data.name)
    data = match_features(model, data)
    check_width(model, data.X.shape[1], data.name)
    names = np.array(data.class_names)[data.y].astype(str)
    rows = evaluation_rows(data)
    if not len(rows):
        raise UnseenError(f"{data.name} holds no samples.")
    classes = np.asarray(model.classes_).astype(str)
    outside = ~np.isin(names[rows], classes)
    unknown = None
    if outside.any() and not outside.all() and isinstance(model, Prediction):
        unknown = _detect_unknown(model, choose_rows(data.X, rows), names[rows], outside)
        rows = rows[~outside]
    y = label_positions(names[rows], classes, data.name, "the model does not know (unseen add-class adds it)")
    X = choose_rows(data.X, rows)
    with matched_features():
        found = np.asarray(model.predict(X)).astype(str)
        levels = () if groups is None else evaluate_levels(model, X, y, groups, confidence)
    predicted = label_positions(found, classes, "the model")
    unseen, seen = (_accuracy(y, predicted, of[y]) for of in (~model.seen_, model.seen_))
    harmonic = None
    if unseen is not None and seen is not None:
        harmonic = Accuracy(*map(harmonic_mean, vars(unseen).values(), vars(seen).values()))
    return Evaluation(
        data=data.name,
        unseen=unseen,
        seen=seen,
        harmonic=harmonic,
        classes=tuple(_class_results(y, predicted, classes.tolist(), model.seen_)),
        notes=(*data.notes, *_notes(data, facts)),
        unknown=unknown,
        levels=levels,
        confidence=confidence,
    )


def match_features(model: AnyModel, data: ZeroShotDataset) -> ZeroShotDataset:
    """Return the data with the features that the model takes, in its order, if both have names."""
    wanted, names = feature_names(model), data.feature_names
    if wanted is None or names is None or tuple(wanted) == names:
        return data
    columns = [names.index(name) for name in find_features(wanted, names, data.name)]
    extra = [name for name in names if name not in wanted]
    notes = [f"not a feature of the model, and not used: {shortened(extra, 8)}."] if extra else []
    return replace(data, X=data.X[:, columns], feature_names=tuple(wanted), notes=(*data.notes, *notes))


def _detect_unknown(model: Prediction, X: Any, names: LabelArray, outside: BoolArray) -> Unknown:
    """Return how well samples of unknown classes, marked in (samples,) bool, are detected."""
    with matched_features():
        sure = model.predict_proba(X).max(axis=1)
    known, unknown = sure[~outside], sure[outside]
    threshold = model.rejection_threshold(REJECT)
    return Unknown(
        classes=tuple(distinct_labels(names[outside]).tolist()),
        samples=int(outside.sum()),
        auroc=auroc(known, unknown),
        fpr95=false_positive_rate(known, unknown, 1 - REJECT),
        rejected=float(100 * np.mean(unknown < threshold)),
        rejected_known=float(100 * np.mean(known < threshold)),
    )


def evaluation_rows(data: ZeroShotDataset) -> IndexArray:
    """Return the samples to evaluate on: the test samples if there is a seen test set, otherwise all."""
    if data.test_seen is None:
        return np.arange(len(data.y))
    test_unseen = np.flatnonzero(data.unseen[data.y]) if data.test_unseen is None else data.test_unseen
    return np.sort(np.concatenate([data.test_seen, test_unseen]))


def _accuracy(y: IndexArray, predicted: IndexArray, chosen: BoolArray) -> Accuracy | None:
    """Return the accuracy on some of the samples."""
    if not chosen.any():
        return None
    return Accuracy(*(accuracy(y[chosen], predicted[chosen], weights) for weights in AVERAGINGS))


def _class_results(
    y: IndexArray, predicted: IndexArray, names: Sequence[str], seen: BoolArray
) -> list[ClassResult]:
    n = len(names)
    samples, right = np.bincount(y, minlength=n), np.bincount(y[y == predicted], minlength=n)
    mistakes = frequent_mistakes(y, predicted, n, most=n)
    return [
        ClassResult(
            name=names[c],
            kind="seen" if seen[c] else "unseen",
            samples=int(samples[c]),
            accuracy=100 * int(right[c]) / int(samples[c]),
            taken_for={names[other]: count for other, count in mistakes[c]},
        )
        for c in np.flatnonzero(samples).tolist()
    ]


def _notes(data: ZeroShotDataset, facts: Mapping[str, Any]) -> list[str]:
    if data.test_seen is not None or data.name != facts.get("data"):
        return []
    fitted = f"the model was fitted on data called {data.name!r}, which has no seen test set"
    advice = "evaluate on other samples, or set some apart (test_seen)."
    return [f"{fitted}. If it was trained on these samples, S and H are too high: {advice}"]


# ---- text ---------------------------------------------------------------------------------------------


def format_evaluation(found: Evaluation) -> str:
    """Return an evaluation as text for a terminal."""
    n_classes = Counter(result.kind for result in found.classes)
    counts = [f"{found.samples(kind)} of {n_classes[kind]} {kind} classes" for kind in KINDS]
    numbers = {
        "accuracy, unseen": found.unseen,
        "accuracy, seen": found.seen,
        "harmonic mean": found.harmonic,
    }
    lines = [f"samples           {', '.join(counts)}", f"{'':<17} {'per class':>11} {'per sample':>11}"]
    for name, value in numbers.items():
        words = "no samples" if value is None else f"{value.per_class:>9.1f} % {value.per_sample:>9.1f} %"
        lines.append(f"{name:<17} {words}")
    lines += _unknown_lines(found.unknown) if found.unknown else []
    lines += format_levels(found.levels, found.confidence) if found.levels else []
    lines += ["", "Hardest classes"] if found.hardest() else []
    for hard in found.hardest():
        others = ", ".join(f"{name} ({count})" for name, count in islice(hard.taken_for.items(), 3))
        lines.append(f"- {hard.name} ({hard.kind}): {hard.accuracy:.1f} %, taken for {others}")
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
